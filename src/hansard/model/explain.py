"""A ledger figure with everything it was computed from: rates, messages, lines. Counts and money are exact."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import PlainDecimal, Timestamp
from hansard.model.ledger import Pricing, Rate, UsageRow


class Charge(Struct, frozen=True):
    """One class of tokens at one rate: `count` at `price` is `cost_usd`."""

    name: str  # as in a report row: input_tokens, ..., web_searches
    count: int
    price: PlainDecimal | None  # dollars per million tokens, per thousand searches; None: unknown
    cost_usd: PlainDecimal | None  # None: the cost was not computed this way


class ExplainedRate(Struct, frozen=True):
    """Totals of the messages at one rate; the costs of all rates add up to the figure."""

    rate: Rate
    found_by: str  # rate: tokens times rate; recorded: what the client wrote; unpriced: not in any cost
    messages: int
    lower_bound_messages: int
    charges: tuple[Charge, ...]
    cost_usd: PlainDecimal | None


class ExplainedLine(Struct, frozen=True):
    """A line about a message: where it is, what it states, and which of that counts."""

    number: int  # from 1, the owner first
    root: str
    transcript: str
    generation: int
    state: str  # live, gone, freed; rewritten for former generations
    offset: int
    length: int
    uuid: str | None
    at: Timestamp | None
    session_id: str
    agent_id: str
    stop_reason: str | None
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int  # the flat figure
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    web_searches: int
    recorded_usd: PlainDecimal | None
    is_owner: bool
    wins: tuple[str, ...]  # the classes that count as this line states them
    copy: str | None  # if in another transcript than the owner, why: fork, replay, ..., generation, file, session
    note: str = ""  # why it states nothing
    is_shown: bool = True  # False: in a generation of its file that is not used for the session


class ExplainedClass(Struct, frozen=True):
    """How one class of a message was counted and charged."""

    name: str
    count: int
    line: int | None  # number of the first line that states it; None: no line states one
    why: str  # only line, all lines agree, maximum of n lines, ...
    remainder: int  # of the flat cache write, not assigned to a lifetime: counted as 5 minutes
    price: PlainDecimal | None
    cost_usd: PlainDecimal | None


class ExplainedMessage(Struct, frozen=True):
    """An API message: its session, its lines, which values won, and the arithmetic."""

    key: str
    at: Timestamp | None
    model: str
    session_id: str
    title: str
    project: str | None
    agent_id: str
    agent_type: str
    branch: str | None
    tool: str | None
    owner: str  # why the first line owns it
    lines: tuple[ExplainedLine, ...]
    classes: tuple[ExplainedClass, ...]
    is_lower_bound: bool
    lower_bound: str  # why output is a lower bound
    prompt_tokens: int  # determines the rate's size
    rate: Rate
    found_by: str  # rate, recorded, unpriced
    recorded_usd: PlainDecimal | None
    cost_usd: PlainDecimal | None
    agrees: bool  # its lines, read again, match the ledger
    notes: tuple[str, ...]


class Explanation(Struct, frozen=True):
    """A figure, the arithmetic behind it, and its most expensive messages; `shown` and `rest` add up to it."""

    by: tuple[str, ...]
    key: dict[str, str | None]
    timezone: str
    since: Timestamp | None
    until: Timestamp | None
    figure: UsageRow
    rates: tuple[ExplainedRate, ...]
    messages: tuple[ExplainedMessage, ...]
    shown: UsageRow
    rest: UsageRow
    pricing: Pricing
    notes: tuple[str, ...]
