"""Tags of indexed texts: their kind, their tool, and whether they are errors, pictures or asides.

They have a column of their own in the full-text index, so that `tool:Bash` or `is:error` is one more term.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hansard.model.tools import MCP, OWN_SERVER, is_own

if TYPE_CHECKING:
    from hansard.clients.texts import Text

ERROR, IMAGE, ASIDE = "iserror", "hasimage", "isaside"


def kind_mark(kind: str) -> str:
    return f"kind{kind}"


def tool_mark(name: str) -> str:
    """The tag of a tool's name, or of part of one: letters and digits only, even of a hostile name."""
    return "tool" + "".join(
        character
        if character.isascii() and character.isalnum()
        else ""
        if character.isascii()
        else f"u{ord(character):x}"
        for character in name.lower()
    )


def tool_marks(name: str) -> str:
    """The tags of a tool: its name, and of an MCP tool also its server and its short name; all of Hansard's own tools are `tool:hansard`."""
    names = [name]
    if name.startswith(MCP):
        names += name.split("__")[1:]
    if is_own(name):
        names.append(OWN_SERVER)
    return " ".join(sorted({tool_mark(part) for part in names}))


@lru_cache(maxsize=1024)
def _marks(kind: str, tool: str, is_error: bool, has_image: bool, is_aside: bool) -> str:
    words = [kind_mark(kind)]
    if tool:
        words.append(tool_marks(tool))
    words += [word for word, holds in ((ERROR, is_error), (IMAGE, has_image), (ASIDE, is_aside)) if holds]
    return " ".join(words)


def marks(text: Text, *, is_aside: bool) -> str:
    return _marks(text.kind, text.tool, text.is_error, text.has_image, is_aside)
