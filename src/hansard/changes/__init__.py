"""Changes of other programs' files: planned, shown, journalled, and undone exactly. What to change is the caller's business.

Every step is atomic, and the journal says before each one what it will do, so that a process that was killed half-way leaves
either the old or the new state of each file and the means to go back.
"""
