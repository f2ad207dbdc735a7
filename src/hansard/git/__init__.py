"""Git repositories against recorded edits: who wrote a line, which commits a session made, what a commit cost.

Nothing in here writes to a repository, runs its hooks or any program that it names, or needs anything to have been installed
before: all is worked out from what sessions recorded and what git has.
"""
