"""Output for the terminal: sessions turn by turn, tables, charts, hits, explanations.

Transcript text is cleaned: the only control sequences written are colours of this package's own, also where a program's
colours are kept. No line is wider than the given width.
"""
