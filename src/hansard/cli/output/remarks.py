"""What the user says about sessions, as lines: pins, titles, tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.cli.context import Context
from hansard.render.text import fit, one_line, width

if TYPE_CHECKING:
    from hansard.model.sessions import Remarks


PINNED = "◆"


def say_remarks(cli: Context, found: Sequence[Remarks]) -> None:
    """One line per session: as it stands now."""
    paint = cli.paint()
    lines = []
    for item in found:
        head = one_line(item.session_id[:8])
        tags = " ".join(one_line(tag) for tag in item.tags)
        mark = f"{PINNED} " if item.pinned else ""
        room = cli.width() - width(head) - 2 - (width(tags) + 2 if tags else 0)
        title = fit(mark + (one_line(item.title) or "(untitled)"), max(room, 28))
        lines.append("  ".join(filter(None, (paint(head, "cyan"), title, paint(tags, "magenta") if tags else ""))))
    cli.say(lines)
