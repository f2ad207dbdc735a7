"""A transcript's bytes as batches of rows: what is written to `index.db`, here or by whoever asked another process for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from hansard.clients import client_of
from hansard.clients.protocol import SeenMessage, Taken
from hansard.clients.rows import Rows
from hansard.clients.state import State, dump
from hansard.index.store import internal_error
from hansard.storage import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.index.rows import Transcript

# Rows wait in memory for so many lines and records, or so many bytes where lines are long: a prompt's row holds all of its text.
_FLUSH_LINES = 8000
_FLUSH_BYTES = 16 << 20
_FLUSH_BLOCKS = 50_000
_CHECKPOINT_BYTES = 32 << 20
_MAX_MESSAGES = 200_000  # of one transcript whose ids are in memory; no real one has that many


class RowBatch(msgspec.Struct, array_like=True):
    """The rows of some lines of a transcript, and the state after them."""

    rows: Rows
    state: State
    indexed: int  # where the lines end
    size: int  # where the bytes end: an unfinished line may follow
    cursor: bytes | None = None  # the state after the last whole line, where one may go on from here
    tail_state: bytes | None = None  # the state with an unfinished line that has rows of its own
    has_tail: bool = False


def read_row_batches(
    transcript: Transcript, pieces: Iterable[bytes], start: int, state: State, seen_message: SeenMessage
) -> Iterator[RowBatch]:
    """Fold the bytes of a transcript from `start` on; each batch is to be written before the next one is asked for."""
    base = transcript.id << OFFSET_BITS
    client = client_of(transcript.client)
    lines = client.lines(pieces, start)
    fold = client.fold(
        base,
        transcript.kind,
        transcript.sort_path,
        transcript.session_id,
        transcript.agent_id,
        state,
        seen_message if start else lambda _key: None,
    )
    checkpoint = start
    flush = state.lines + state.records + _FLUSH_LINES
    flush_at = start + _FLUSH_BYTES
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
            try:
                taken = fold.take(line, offset)
            except Exception as error:  # noqa: BLE001 - whatever it is, it costs this line alone
                fold.feed(internal_error(error, line, offset))
                taken = Taken.ISSUES
            if taken is Taken.INTACT:
                last = None
                if state.issue_runs:
                    fold.issues.end_runs()
            else:
                fold.issues.end_line(fold.rows.issues, has_records=taken is Taken.RECORDS)
                last, last_offset = line or None, offset  # one that is too long stands here as an empty one
        if state.lines + state.records >= flush or lines.offset >= flush_at or len(fold.rows.blocks) >= _FLUSH_BLOCKS:
            flush = state.lines + state.records + _FLUSH_LINES
            flush_at = lines.offset + _FLUSH_BYTES
            batch = RowBatch(fold.rows, state, lines.offset, lines.offset)
            if lines.offset - checkpoint > _CHECKPOINT_BYTES:
                checkpoint = lines.offset
                batch.cursor = dump(state)
            fold.rows = Rows()
            yield batch
            del batch
            if len(fold.messages) > _MAX_MESSAGES:
                fold.messages.clear()
                fold.seen_message = seen_message
    cursor = dump(state)
    fold.issues.end_runs()  # what the unfinished line gives is taken back when the line goes on
    try:
        has_tail = fold.take_rest(lines.rest, lines.offset)
    except Exception as error:  # noqa: BLE001 - as above
        fold.feed(internal_error(error, lines.rest, lines.offset))
        has_tail = True
    state.lines += has_tail
    yield RowBatch(
        fold.rows,
        state,
        lines.offset,
        lines.end,
        cursor,
        tail_state=dump(state) if has_tail else None,
        has_tail=has_tail,
    )
