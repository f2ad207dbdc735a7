"""What the terminal is shown: a session, drawn turn by turn, tables, charts, hits, explanations.

Everything that came from a transcript is cleaned on its way here: the only control sequences that get out are colours, written
by this room itself, also where a program's own colours are kept. No line is wider than it is told to be.
"""
