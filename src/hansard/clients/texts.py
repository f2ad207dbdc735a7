"""The texts of a transcript that can be found."""

from __future__ import annotations

from typing import Any, NamedTuple

from hansard.lazy_regex import lazy_compile

KINDS = ("prompt", "reply", "thinking", "call", "result", "title", "command", "note", "reminder")
_DATA_URI = lazy_compile(r"base64[,\"': ]{1,4}[A-Za-z0-9+/=\\]{64,}")


class Text(NamedTuple):
    """A text of one record: the number of its block, what kind of text it is, and what it says."""

    number: int
    kind: str  # one of KINDS
    text: str
    tool: str = ""  # of calls and results
    is_error: bool = False
    has_image: bool = False


class RecordTexts(NamedTuple):
    """The texts of one record."""

    offset: int
    is_aside: bool  # it belongs to a subagent
    texts: list[Text]


def without_base64(text: str) -> str:
    """The text without data URIs, which nobody searches for."""
    return _DATA_URI.sub("base64", text) if "base64" in text else text


def leaf_strings(value: Any, found: list[str]) -> None:
    """Collect every string in a tool's input, at any depth, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))
