"""How many tokens a text takes in a model's context: an estimate on the safe side, the same on every machine."""

from __future__ import annotations

BYTES_PER_TOKEN = 3  # English prose has four, code and paths three, most other scripts one character of three bytes


def estimate_tokens(text: str) -> int:
    """The tokens of a text: one for every three bytes of its UTF-8, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def cut_to_tokens(text: str, tokens: int) -> str:
    """The longest beginning of a text that takes at most so many tokens."""
    room = max(0, tokens) * BYTES_PER_TOKEN
    if text.isascii():
        return text[:room]
    return text[:room].encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
