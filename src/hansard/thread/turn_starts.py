"""Where the turns of a thread begin: told by the index, without decoding its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hansard.index.schema import OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.thread.reader import ThreadReader


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

    @property
    def is_prompt(self) -> bool:
        """Whether it is a line of its own, which may replace another."""
        return self.kind == "user" and self.says == "prompt"


def typed_lines(reader: Reader, low: int) -> list[Typed]:
    """Those of a transcript, whose ids begin at `low`."""
    rows = reader.rows(
        "SELECT id, uuid, parent_uuid, kind, says, sidechain FROM records WHERE id BETWEEN ? AND ?"
        " AND says IN ('prompt', 'instruction', 'command', 'bash') ORDER BY id",
        (low, low + OFFSET_MASK),
    )
    return list(map(Typed._make, rows))


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
    starts = [Start(offset, thread.branches.of(found[offset])) for offset in sorted(found)]
    first = thread.first(starts[0].offset if starts else None)
    if first is not None:
        starts.insert(0, Start(first.offset, first.branch))
    return starts
