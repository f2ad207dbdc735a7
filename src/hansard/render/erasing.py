"""What an erasure takes and leaves, and its receipt, in lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from hansard.render.format import many, size
from hansard.render.text import one_line, short_id

if TYPE_CHECKING:
    from hansard.model.erasing import ForgetPlan, Receipt
    from hansard.model.table import Table

_SESSIONS_SHOWN = 20
_LEFT_SHOWN = 10


def plan_lines(plan: ForgetPlan, draw: Callable[[Table], Iterable[str]]) -> Iterator[str]:
    """What would be erased, and what would be left; `draw` makes the lines of a table."""
    for session in plan.sessions[:_SESSIONS_SHOWN]:
        yield f"{short_id(session.session_id)}  {one_line(session.title)}"
    if len(plan.sessions) > _SESSIONS_SHOWN:
        yield f"and {many(len(plan.sessions) - _SESSIONS_SHOWN, 'more session')}"
    if plan.sessions:
        yield ""
    yield from draw(plan.summary)
    if plan.left:
        yield ""
        yield from left_lines(plan)


def left_lines(plan: ForgetPlan) -> Iterator[str]:
    """The copies that are left, by name."""
    if not plan.left:
        return
    yield f"{many(len(plan.left), 'copy stays', 'copies stay')}:"
    for item in plan.left[:_LEFT_SHOWN]:
        yield f"  {one_line(item.place)} ({item.reason})"
    if len(plan.left) > _LEFT_SHOWN:
        yield f"  and {len(plan.left) - _LEFT_SHOWN:,} more (hansard forget --json lists all)"


def receipt_words(receipt: Receipt) -> str:
    """What was erased, in one line."""
    erased = receipt.erased
    counts = (
        (erased.sessions, "session", None),
        (erased.transcripts, "transcript", None),
        (erased.files, "other file", None),
        (erased.stretches, "occurrence" if erased.reason == "secret" else "line", None),
        (erased.remarks, "tag, title or note", "tags, titles and notes"),
    )
    what = ", ".join(many(count, one, several) for count, one, several in counts if count)
    copies = f"; {many(erased.copies, 'copy', 'copies')} elsewhere removed" if erased.copies else ""
    left = f"; {many(erased.left, 'copy', 'copies')} left" if erased.left else ""
    state = "" if receipt.finished_at else "; not finished yet"
    return (
        f"Receipt {receipt.number} of {receipt.at}, revision {receipt.revision}: {what or 'nothing'} erased"
        f" ({size(erased.bytes)}){copies}{left}{state}"
    )
