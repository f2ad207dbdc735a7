"""Reading one session: branches, turns, windows, outline, neighbours, raw lines, usage per turn.

The only package that reads conversations; renderers get typed values from here.
"""
