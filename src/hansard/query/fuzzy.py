"""Fuzzy matching: the letters of each word in order, with small gaps, as in fzf."""

from __future__ import annotations

_GAP = 3  # letters that may be missing between two


def is_similar(text: str, words: str) -> bool:
    """Whether a text has the letters of every word in order and close together."""
    text = text.casefold()
    return all(_has(text, word) for word in words.casefold().split())


def _has(text: str, word: str) -> bool:
    """Whether a text has the letters of a word; a regular expression could try every combination of gaps."""
    ends = [place + 1 for place, letter in enumerate(text) if letter == word[0]]  # behind the letters found so far
    for wanted in word[1:]:
        near = sorted({place for end in ends for place in range(end, min(end + _GAP + 1, len(text)))})
        ends = [place + 1 for place in near if text[place] == wanted]
    return bool(ends)
