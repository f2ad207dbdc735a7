"""The text of a message and the code in it, to be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.model.display import Code

if TYPE_CHECKING:
    from hansard.model.display import Item


def message_text(item: Item) -> str:
    """What was said, or what a tool was given."""
    parts = item.parts or item.results
    return "\n\n".join(part.text for part in parts if hasattr(part, "text"))


def code_blocks(item: Item) -> list[str]:
    """The code of a message: blocks of its Markdown, and what tools were given and gave back."""
    found: list[str] = []
    for part in (*item.parts, *item.results):
        if isinstance(part, Code):
            found.append(part.text)
        elif part.part == "prose":
            found += _fenced(getattr(part, "text", "")[:200_000])
    return found


def _fenced(text: str) -> list[str]:
    """What stands between the fences of Markdown."""
    found: list[str] = []
    fence, inside = "", ""
    for line in text.splitlines(keepends=True):
        mark = line.strip()[:3]
        if not fence and mark in ("```", "~~~"):
            fence, inside = mark, ""
        elif fence and mark == fence:
            found.append(inside)
            fence = ""
        elif fence:
            inside += line
    return found
