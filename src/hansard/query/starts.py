"""Where the turns of a thread begin, and whether it can have branches: told by the index, without decoding its lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from hansard.index.schema import OFFSET_MASK
from hansard.query.branches import ASIDE

if TYPE_CHECKING:
    from hansard.query.conversation import ThreadReader
    from hansard.query.reader import Reader


class Start(NamedTuple):
    """Where a turn begins."""

    offset: int
    branch: int


class Typed(NamedTuple):
    """A line that somebody typed, or that tells a subagent what to do."""

    id: int
    uuid: str | None
    parent_uuid: str | None
    kind: str
    says: str
    sidechain: int


def typed_lines(reader: Reader, low: int) -> list[Typed]:
    """Those of a transcript, whose ids begin at `low`."""
    rows = reader.rows(
        "SELECT id, uuid, parent_uuid, kind, says, sidechain FROM records WHERE id BETWEEN ? AND ?"
        " AND says IN ('prompt', 'instruction', 'command', 'bash') ORDER BY id",
        (low, low + OFFSET_MASK),
    )
    return list(map(Typed._make, rows))


def may_fork(reader: Reader, low: int, typed: Iterable[Typed]) -> bool:
    """Whether a transcript can have branches: a short look, since nearly none has."""
    # An answer made again: the first lines of two messages hang on one line.
    answers = (
        "SELECT 1 FROM records WHERE id BETWEEN ? AND ? AND kind = 'assistant' AND parent_uuid IS NOT NULL"
        " AND (message_id IS id OR message_id IS NULL) GROUP BY parent_uuid HAVING count(*) > 1 LIMIT 1"
    )
    if reader.one(answers, (low, low + OFFSET_MASK)) is not None:
        return True
    # A prompt replaced: the ways up from two of them meet before they come to what they answer.
    passed: set[str] = set()
    for line in typed:
        step = line.parent_uuid if (line.kind, line.says) == ("user", "prompt") else None
        while step is not None:
            if step in passed:
                return True
            passed.add(step)
            row = reader.one(
                "SELECT kind, parent_uuid FROM records WHERE uuid = ? AND id BETWEEN ? AND ? ORDER BY id LIMIT 1",
                (step, low, low + OFFSET_MASK),
            )
            step = row[1] if row is not None and row[0] in ASIDE else None
    return False


def find_starts(thread: ThreadReader) -> list[Start]:
    """Where each turn of a thread begins; only its first entry is read."""
    found: dict[int, str | None] = {}
    for line in thread.typed:
        if thread.only is not None:
            if line.uuid not in thread.only:
                continue
        elif line.sidechain and not thread.is_agent_file:
            continue
        if (line.kind, line.says) == ("attachment", "prompt") and not thread.queued.get(line.id - thread.low):
            continue  # there is nothing in it
        found[line.id - thread.low] = line.uuid
    # Commands and queued prompts whose own lines do not say what they are.
    for record_id, kind, uuid, says, sidechain in thread.reader.rows(
        "SELECT p.id, r.kind, r.uuid, r.says, coalesce(r.sidechain, 0) FROM prompts p LEFT JOIN records r ON r.id = p.id"
        " WHERE p.id BETWEEN ? AND ?",
        thread.all_ids,
    ):
        is_inside = uuid in thread.only if thread.only is not None else thread.is_agent_file or not sidechain
        if says is None and is_inside and (kind is not None or record_id - thread.low in thread.queued):
            found[record_id - thread.low] = uuid
    starts = [Start(offset, thread.branch_of.get(found[offset] or "", 0)) for offset in sorted(found)]
    first = thread.first()
    if first is not None and (not starts or first.offset < starts[0].offset):
        starts.insert(0, Start(first.offset, first.branch))
    return starts
