"""The calls of a thread according to the ledger: API messages with tokens and cost, and tool calls with times.

They come from the index only, without text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.clients.usage import FIRST_OF_ANSWER
from hansard.model.fields import PlainDecimal, Timestamp
from hansard.model.ledger import Tokens
from hansard.model.time import from_milliseconds as moment
from hansard.pricing.cost import charge
from hansard.query.duplicates import find_copies
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.ledger import Rate
    from hansard.query.reader import Reader
    from hansard.thread.reader import ThreadReader

_CHARGES = (
    "SELECT key, record_id, first_ts, lower_bounds, rate, has_recorded, recorded, input, output, cache_read,"
    " cache_write_5m, cache_write_1h, web_searches FROM charges WHERE session_id = ? ORDER BY first_ts, key"
)
_TOOLS = (
    "SELECT c.id, coalesce(b.n, 0), r.sidechain, c.tool_use_id, c.tool, c.ts, c.result_ts, c.is_error FROM tool_calls c"
    " LEFT JOIN blocks b ON b.id = c.id LEFT JOIN records r ON r.id = c.id - coalesce(b.n, 0)"
    " WHERE c.id BETWEEN ? AND ? AND c.part = 0 ORDER BY c.id"
)


class ModelCall(Struct, frozen=True):
    """An API message that counts for a session."""

    key: str
    transcript: int
    offset: int  # of the line that owns it
    at: Timestamp | None
    model: str
    tokens: Tokens
    cost_usd: PlainDecimal | None  # None: no price is known
    is_lower_bound: bool


class ToolTimes(Struct, frozen=True):
    """A tool call, without its input and output."""

    offset: int  # of its line
    block: int  # number in the line
    tool_use_id: str
    tool: str
    called_at: Timestamp | None
    returned_at: Timestamp | None
    is_error: bool


class AnswerTimes(Struct, frozen=True):
    """When the lines of an answer were written."""

    first: Timestamp | None
    last: Timestamp | None


class ThreadCalls(Struct, frozen=True):
    """The calls of one thread."""

    lines: dict[int, str]  # offsets of the lines of answers -> keys of their messages
    times: dict[str, AnswerTimes]  # by the same keys
    models: list[ModelCall]  # whose owner is a line of the thread
    copies: frozenset[str]  # keys of messages that count for another thread or session
    tools: list[ToolTimes]  # without those that forks and replays repeat
    borders: list[int]  # offsets at which an answer begins, or its usage is stated in a line by itself
    is_usage_first: bool  # such a line comes before the answer


def session_calls(reader: Reader, session_id: str, rates: Mapping[int, Rate]) -> list[ModelCall]:
    """All API messages that count for a session: their sums are the figures of the session."""
    calls = []
    for key, place, ts, is_lower_bound, rate, has_recorded, recorded, *counts in reader.rows(_CHARGES, (session_id,)):
        tokens = Tokens(*counts)
        cost = charge(rates[rate], tokens, has_recorded=bool(has_recorded), billionths=recorded, mode="auto")
        where = place >> OFFSET_BITS, place & OFFSET_MASK
        calls.append(ModelCall(key, *where, moment(ts or None), rates[rate].model, tokens, cost, bool(is_lower_bound)))
    return calls


def read_calls(thread: ThreadReader, of_session: Iterable[ModelCall]) -> ThreadCalls:
    """The calls of a thread, from those that count for its session."""
    lines: dict[int, str] = {}
    stamps: dict[str, tuple[int | None, int | None]] = {}
    owners: dict[str, int] = {}
    for record_id, sidechain, key, ts, owner in thread.reader.rows(
        "SELECT r.id, r.sidechain, m.key, r.ts, u.record_id FROM records r CROSS JOIN messages m ON m.id = r.message_id"
        " LEFT JOIN usage u ON u.key = m.key WHERE r.id BETWEEN ? AND ? ORDER BY r.id",
        thread.all_ids,
    ):
        if thread.has(record_id - thread.low, sidechain):
            if owner is not None:
                owners[key] = owner - thread.low
            lines[record_id - thread.low] = key
            first, last = stamps.get(key, (None, None))
            if ts is not None:
                stamps[key] = ts if first is None else min(ts, first), ts if last is None else max(ts, last)
    borders = [
        record_id - thread.low
        for record_id, sidechain in thread.reader.rows(
            f"SELECT id, sidechain FROM records WHERE id BETWEEN ? AND ? AND (sub = '{FIRST_OF_ANSWER}' OR role = 'usage') ORDER BY id",
            thread.all_ids,
        )
        if thread.has(record_id - thread.low, sidechain)
    ]
    copies = set(find_copies(thread.reader))
    tools = [
        ToolTimes(block_id - number - thread.low, number, use, tool, moment(ts), moment(result_ts), bool(is_error))
        for block_id, number, sidechain, use, tool, ts, result_ts, is_error in thread.reader.rows(
            _TOOLS, thread.all_ids
        )
        if block_id not in copies and thread.has(block_id - number - thread.low, sidechain or 0)
    ]
    return ThreadCalls(
        lines,
        {key: AnswerTimes(moment(first), moment(last)) for key, (first, last) in stamps.items()},
        [call for call in of_session if call.transcript == thread.transcript and call.offset in lines],
        frozenset(key for key, owner in owners.items() if owner not in lines),
        tools,
        borders,
        thread.client.is_usage_first,
    )
