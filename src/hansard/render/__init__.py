"""One render: a neutral display tree from a session (`tree`, `tools`), and what is drawn from it.

Texts in the tree are the transcript's own, hostile as they may be; each drawing makes them safe for its place.
"""
