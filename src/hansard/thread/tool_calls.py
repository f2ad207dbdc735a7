"""Tool calls as a thread is read: what they were given, and what they changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.parse import meaning as m

if TYPE_CHECKING:
    from hansard.parse import wire
    from hansard.parse.decode import ParsedLine

_any = msgspec.json.Decoder().decode
_hunks = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_patch = msgspec.json.Decoder(list[dict[str, Any]]).decode

# Deeper than any real tool's input; whoever writes a value out goes down it by recursion.
_MAX_DEPTH = 100


class Pending:
    """A tool call that was read, and the line and the block with its result as soon as they were."""

    __slots__ = ("answer", "block", "model", "record")

    def __init__(self, record: ParsedLine, block: wire.Block, model: str | None) -> None:
        self.record = record
        self.block = block
        self.model = model
        self.answer: tuple[ParsedLine, wire.Block] | None = None


def blocks_of(record: ParsedLine) -> list[wire.Block]:
    """The content blocks of a record; none where its content is a text, or where it has none."""
    content = getattr(getattr(record.body, "message", None), "content", None)
    return content if isinstance(content, list) else []


def has_image(result: wire.Block) -> bool:
    """Whether there is an image in a result."""
    return not m.raw_is_string(result.content) and b'"image"' in bytes(result.content)


def given(raw: msgspec.Raw) -> Any:
    """A tool's input; as the JSON text that it is where it is nested too deep to be walked."""
    value = m.lenient(_any, raw)
    data = bytes(raw)
    if data.count(b"{") + data.count(b"[") <= _MAX_DEPTH:
        return value
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return value
    return m.string(raw)


def _inside(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, list) else ()


def patch_of(raw: msgspec.Raw) -> str | None:
    """The unified diff that a file-changing result carries."""
    if not raw:
        return None
    outcome = m.lenient(_hunks, raw)
    hunks = m.lenient(_patch, outcome["structuredPatch"]) if outcome and "structuredPatch" in outcome else None
    if not hunks:
        return None
    lines: list[str] = []
    for hunk in hunks:
        numbers = [hunk.get(name) for name in ("oldStart", "oldLines", "newStart", "newLines")]
        lines.append("@@ -{},{} +{},{} @@".format(*numbers))
        stated = hunk.get("lines")
        lines += [line for line in stated if isinstance(line, str)] if isinstance(stated, list) else []
    return "\n".join(lines)
