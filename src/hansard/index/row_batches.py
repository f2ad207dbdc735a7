"""A transcript's bytes as stretches of rows: what is written to `index.db`, here or by whoever asked another process for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from hansard.clients.claude_code.decode import entry, items, unfinished
from hansard.clients.claude_code.fold import Fold
from hansard.clients.lines import Lines
from hansard.clients.records import Issue, ParsedLine
from hansard.clients.rows import Rows
from hansard.clients.state import State, dump
from hansard.index.history import HistoryFold
from hansard.index.store import internal_error
from hansard.storage.ids import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.index.rows import Transcript

# Rows wait in memory for so many lines and records, or so many bytes where lines are long: a prompt's row holds all of its text.
_FLUSH_LINES = 8000
_FLUSH_BYTES = 16 << 20
_FLUSH_BLOCKS = 50_000
_CHECKPOINT_BYTES = 32 << 20
_MAX_MESSAGES = 200_000  # of one transcript whose ids are in memory; no real one has that many

SeenMessage = Callable[[str], int | None]
"""Which id a message of the transcript has whose rows were written before, by its key."""


class RowBatch(msgspec.Struct, array_like=True):
    """The rows of some lines of a transcript, and the state after them."""

    rows: Rows
    state: State
    indexed: int  # where the lines end
    size: int  # where the bytes end: an unfinished line may follow
    cursor: bytes | None = None  # the state after the last whole line, where one may go on from here
    tail_state: bytes | None = None  # the state with an unfinished line that has rows of its own
    has_tail: bool = False


def read_stretches(
    transcript: Transcript, pieces: Iterable[bytes], start: int, state: State, seen_message: SeenMessage
) -> Iterator[RowBatch]:
    """Fold the bytes of a transcript from `start` on; each stretch is to be written before the next one is asked for."""
    base = transcript.id << OFFSET_BITS
    lines = Lines(pieces, start)
    fold: Fold | HistoryFold
    if transcript.kind == "history":
        fold = HistoryFold(base, state)
    else:
        fold = Fold(
            base,
            path=transcript.sort_path,
            session_id=transcript.session_id,
            agent_id=transcript.agent_id,
            is_agent=transcript.kind in ("agent", "journal"),
            state=state,
            seen_message=seen_message if start else lambda _key: None,
        )
    read = fold.items if isinstance(fold, HistoryFold) else items
    checkpoint = start
    flush = state.lines + state.records + _FLUSH_LINES
    flush_at = start + _FLUSH_BYTES
    take = fold.entry if isinstance(fold, Fold) else None
    last: bytes | None = None  # the last line, unless it was an intact record
    last_offset = 0
    for offset, line in lines:
        state.lines += 1
        if line == last and fold.issues.repeat_line(offset - last_offset, fold.rows.issues):
            more = lines.skip_equal(line)
            fold.issues.repeat_line(len(line) + 1, fold.rows.issues, more)
            state.lines += more
            last_offset = offset + more * (len(line) + 1)
        else:
            is_intact = has_records = False
            try:
                body = entry(line) if take is not None else None
                if take is not None and body is not None:
                    take(offset, len(line), body)
                    is_intact = True
                else:
                    for item in read(line, offset):
                        has_records |= isinstance(item, ParsedLine)
                        fold.feed(item)
            except Exception as error:  # noqa: BLE001 - whatever it is, it costs this line alone
                fold.feed(internal_error(error, line, offset))
            if is_intact:
                last = None
                if state.issue_runs:
                    fold.issues.end_runs()
            else:
                fold.issues.end_line(fold.rows.issues, has_records=has_records)
                last, last_offset = line or None, offset  # one that is too long stands here as an empty one
        if state.lines + state.records >= flush or lines.offset >= flush_at or len(fold.rows.blocks) >= _FLUSH_BLOCKS:
            flush = state.lines + state.records + _FLUSH_LINES
            flush_at = lines.offset + _FLUSH_BYTES
            stretch = RowBatch(fold.rows, state, lines.offset, lines.offset)
            if lines.offset - checkpoint > _CHECKPOINT_BYTES:
                checkpoint = lines.offset
                stretch.cursor = dump(state)
            fold.rows = Rows()
            yield stretch
            del stretch
            if isinstance(fold, Fold) and len(fold.messages) > _MAX_MESSAGES:
                fold.messages.clear()
                fold.seen_message = seen_message
    cursor = dump(state)
    fold.issues.end_runs()  # what the unfinished line gives is taken back when the line goes on
    rest: list[ParsedLine | Issue] = []
    try:
        rest = unfinished(lines.rest, lines.offset, read)
        for item in rest:
            fold.feed(item)
    except Exception as error:  # noqa: BLE001 - as above
        rest = [internal_error(error, lines.rest, lines.offset)]
        fold.feed(*rest)
    state.lines += 1 if rest else 0
    yield RowBatch(
        fold.rows, state, lines.offset, lines.end, cursor, tail_state=dump(state) if rest else None, has_tail=bool(rest)
    )
