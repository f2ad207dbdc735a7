"""Reading one session: branches, turns, windows, outline, neighbours, raw lines, what each turn used.

The only package that reads conversations; renderers get typed values from here.
"""
