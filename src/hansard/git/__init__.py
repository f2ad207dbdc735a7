"""Git repositories against recorded edits: who wrote a line, which commits a session made, what a commit cost.

Reading needs nothing installed before and changes nothing: no hook of the repository and no program that it names is run. Only what the
user asks for by name writes: the trailer's hook (planned here, done by `changes`), and a note on a commit.
"""
