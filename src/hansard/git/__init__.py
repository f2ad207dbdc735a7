"""Match git repositories with recorded edits: who wrote a line, which commits a session made, what a commit cost.

Reading requires no setup and changes nothing: no hooks or programs configured in the repository are run. Writes happen only
on explicit request: the trailer's hook (planned here, applied by `changes`), and a note on a commit.
"""
