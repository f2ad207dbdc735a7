"""Known-item relevance: how well search finds what is known to be in a history, by questions made from it."""
