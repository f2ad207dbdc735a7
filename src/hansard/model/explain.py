"""A figure of the ledger with everything it came from: rates, messages, lines. Counts and money are exact."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import PlainDecimal, Timestamp
from hansard.model.ledger import Pricing, Rate, UsageRow


class Charge(Struct, frozen=True):
    """One class of tokens at one rate: `count` at `price` is `cost_usd`."""

    name: str  # as a row of a report calls it: input_tokens, ..., web_searches
    count: int
    price: PlainDecimal | None  # dollars per million tokens, per thousand searches; None: not known
    cost_usd: PlainDecimal | None  # None: this is not how the cost was found


class ExplainedRate(Struct, frozen=True):
    """What the messages at one rate add up to; the costs of all of these are the figure."""

    rate: Rate
    found_by: str  # rate: tokens times rate; recorded: what the client wrote; unpriced: in no cost
    messages: int
    lower_bound_messages: int
    charges: tuple[Charge, ...]
    cost_usd: PlainDecimal | None


class ExplainedLine(Struct, frozen=True):
    """A line about a message: where it stands, what it states, and what of that counts."""

    number: int  # from 1, the owner first
    root: str
    transcript: str
    generation: int
    state: str  # live, gone; rewritten for former generations
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
    wins: tuple[str, ...]  # the classes that count as it states them
    copy: str | None  # in another transcript than the owner, by: fork, replay, ..., generation, file, session
    note: str = ""  # why it states nothing
    is_shown: bool = True  # False: in a generation of its file that the session is not read from


class ExplainedClass(Struct, frozen=True):
    """How one class of a message was counted and charged."""

    name: str
    count: int
    line: int | None  # number of the first line that states it; None: no line states any
    why: str  # only line, all lines agree, maximum of n lines, ...
    remainder: int  # of the flat cache write, which no lifetime claims: counted as 5 minutes
    price: PlainDecimal | None
    cost_usd: PlainDecimal | None


class ExplainedMessage(Struct, frozen=True):
    """An API message: whose it is, its lines, what won, and the arithmetic."""

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
    owner: str  # why the first of the lines owns it
    lines: tuple[ExplainedLine, ...]
    classes: tuple[ExplainedClass, ...]
    is_lower_bound: bool
    lower_bound: str  # why output is a lower bound
    prompt_tokens: int  # by which the rate's size is chosen
    rate: Rate
    found_by: str  # rate, recorded, unpriced
    recorded_usd: PlainDecimal | None
    cost_usd: PlainDecimal | None
    agrees: bool  # its lines, read again, give what the ledger has
    notes: tuple[str, ...]


class Explanation(Struct, frozen=True):
    """A figure, the arithmetic that gives it, and the dearest of its messages; `shown` and `rest` add up to it."""

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
