"""Reading one session: branches, turns, windows, outline, neighbours, raw lines, what each turn used.

The only room that reads conversations; what draws them gets typed values from here.
"""
