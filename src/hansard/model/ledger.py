"""Tokens and money, as the ledger reports them. Money is an exact `Decimal` of US dollars, None if no price is known."""

from __future__ import annotations

from datetime import date
from operator import add
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, astuple

from hansard.model.fields import PlainDecimal, Timestamp


class Tokens(Struct, frozen=True):
    """Tokens that API messages used, by class."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*map(add, astuple(self), astuple(other)))


class Rate(Struct, frozen=True):
    """The price of one model, at a time, for a prompt size: dollars per million tokens and per thousand searches."""

    model: str  # as the transcripts name it
    service_tier: str
    speed: str
    inference_geo: str
    since: Timestamp | None  # valid from; None: always
    until: Timestamp | None  # exclusive
    above: int | None  # for prompts of more tokens than this
    upto: int | None  # at most this many
    priced_as: str | None  # the model in the price data; None: no price is known
    input: PlainDecimal | None
    output: PlainDecimal | None
    cache_read: PlainDecimal | None
    cache_write_5m: PlainDecimal | None
    cache_write_1h: PlainDecimal | None
    web_search: PlainDecimal | None
    source: str
    notes: tuple[str, ...] = ()

    @property
    def is_priced(self) -> bool:
        """Whether a price is known."""
        return self.priced_as is not None


class PriceOverride(Struct, frozen=True):
    """A price that the user sets for a model, in the units of `Rate`; omitted ones are derived from `input`."""

    model: str  # as the transcripts name it, with or without its date
    input: PlainDecimal
    output: PlainDecimal
    cache_read: PlainDecimal | None = None
    cache_write_5m: PlainDecimal | None = None
    cache_write_1h: PlainDecimal | None = None
    web_search: PlainDecimal | None = None
    since: date | None = None  # from the start of that day in UTC
    until: date | None = None  # to the start of that day
    above: int | None = None  # only for prompts of more tokens than this
    speed: str | None = None  # only at this speed
    service_tier: str | None = None  # only in this tier


class PriceData(Struct, frozen=True):
    """Where the rates come from."""

    source: str  # genai-prices
    version: str  # of the package that contains or fetched the data
    dated: str  # the day of the newest price
    fetched_at: Timestamp | None  # None: the data that came with the package
    overrides: int  # number of prices from the configuration


class Pricing(Struct, frozen=True):
    """The prices that a report used, and what is uncertain about them."""

    data: PriceData
    mode: str  # auto, calculate, recorded
    notes: tuple[str, ...] = ()

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self.data), "mode": self.mode, "notes": self.notes}


class Work(Struct, frozen=True):
    """What tools did."""

    calls: int = 0
    errors: int = 0
    duration_ms: int = 0  # of the calls whose result has a time
    lines_added: int = 0
    lines_removed: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(*map(add, astuple(self), astuple(other)))


class UsageRow(Struct, frozen=True):
    """One row of a report, or its total."""

    key: dict[str, str | None]  # dimension: value, in the requested order; None: unknown
    about: dict[str, str]  # more about the key: a session's title and project, a subagent's task
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    web_searches: int
    api_messages: int
    lower_bound_messages: int  # their output_tokens are only lower bounds
    unpriced_messages: int  # not in any cost
    recorded_messages: int  # their cost is the one the client wrote
    understated_messages: int  # fast, or in another region, at the standard rate because no other is known
    cost_usd: PlainDecimal | None  # of what has a price; None if nothing has
    cache_saved_usd: PlainDecimal | None  # what cache reads would have cost extra as plain input
    cache_extra_usd: PlainDecimal | None  # what cache writes cost beyond plain input
    unpriced_models: tuple[str, ...]
    first_at: Timestamp | None
    last_at: Timestamp | None
    progress_only_messages: int = 0  # of subagents whose transcripts are gone: only progress records show them
    work: Work | None = None
    breakdown: tuple[UsageRow, ...] = ()  # the same by model

    @property
    def is_lower_bound(self) -> bool:
        """Whether some messages used or cost more than is known."""
        return self.lower_bound_messages + self.understated_messages > 0

    @property
    def tokens(self) -> int:
        """All tokens of all classes."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_tokens
            + self.cache_write_5m_tokens
            + self.cache_write_1h_tokens
        )

    def as_plain(self) -> dict[str, Any]:
        """One flat object, the key first; without what was not requested."""
        rest = asdict(self)
        key, about = rest.pop("key"), rest.pop("about")
        flat = {**key, **about, **key, **rest}
        if not self.breakdown:
            del flat["breakdown"]
        if self.work is None:
            del flat["work"]
        return flat


class Unrecorded(Struct, frozen=True):
    """What a report leaves out, because its clients recorded no usage."""

    sessions: int
    messages: int  # answers of the model
    clients: tuple[str, ...]

    @property
    def words(self) -> str:
        """A sentence about it."""
        sessions = "1 session" if self.sessions == 1 else f"{self.sessions:,} sessions"
        messages = "1 message" if self.messages == 1 else f"{self.messages:,} messages"
        return f"no usage is recorded for {sessions} of {', '.join(self.clients)} ({messages})"


class UsageReport(Struct, frozen=True):
    """Rows that add up to the totals, with their dimensions and prices."""

    by: tuple[str, ...]
    timezone: str
    since: Timestamp | None
    until: Timestamp | None
    rows: tuple[UsageRow, ...]
    totals: UsageRow
    pricing: Pricing
    unrecorded: Unrecorded | None = None  # None: usage is recorded for every session in which the model answered


class BillingBlock(Struct, frozen=True):
    """Five hours from the first message after a pause, as plan limits count; or the pause between two blocks."""

    start: Timestamp
    end: Timestamp
    is_gap: bool
    is_active: bool
    usage: UsageRow | None  # None in a gap
    burn_usd_per_hour: PlainDecimal | None = None  # only for the active block
    burn_tokens_per_minute: int | None = None
    projected_usd: PlainDecimal | None = None
    projected_tokens: int | None = None
    remaining_minutes: int | None = None


class Blocks(Struct, frozen=True):
    """Blocks in order, and their prices."""

    blocks: tuple[BillingBlock, ...]
    pricing: Pricing


class Limit(Struct, frozen=True):
    """How much may be spent in a period, by a project or overall; or by each session."""

    period: str  # day, week, month, session
    limit_usd: PlainDecimal
    warn_at: PlainDecimal  # share of the limit from which it counts as near
    project: str | None = None  # a path, or part of one


class Budget(Struct, frozen=True):
    """A configured limit and how much of it is spent."""

    period: str  # day, week, month, session
    project: str | None  # None: everything
    limit_usd: PlainDecimal
    spent_usd: PlainDecimal | None  # None if nothing has a price
    unpriced_messages: int  # not included in spent_usd
    lower_bound_messages: int
    share: PlainDecimal  # spent / limit
    state: str  # ok, near, over
    since: Timestamp
    until: Timestamp | None = None  # the end of the period, exclusive
    forecast_usd: PlainDecimal | None = None  # at its end, if spending goes on at the same rate; None: too early to say

    @property
    def is_pressing(self) -> bool:
        """Whether it is near or over its limit, or will be over it at this rate."""
        return self.state != "ok" or (self.forecast_usd is not None and self.forecast_usd > self.limit_usd)


class CurrentTotal(Struct, frozen=True):
    """What some messages used and cost."""

    cost_usd: PlainDecimal | None  # of what has a price; None if nothing has
    tokens: int  # of all classes
    api_messages: int
    lower_bound_messages: int  # their output is only a lower bound
    unpriced_models: tuple[str, ...]  # not included in `cost_usd`


class CurrentUsage(Struct, frozen=True):
    """What a session, today and the current five-hour block have cost so far, as far as the store is up to date."""

    at: Timestamp
    session_id: str | None
    session: CurrentTotal | None  # with its subagents; None: not in the store
    today: CurrentTotal
    today_since: Timestamp
    block: CurrentTotal | None  # None: a message sent now would start a new block
    block_start: Timestamp | None
    block_end: Timestamp | None
    burn_usd_per_hour: PlainDecimal | None  # in the block, from its first message to now
    remaining_minutes: int | None  # of the block
    budgets: tuple[Budget, ...]
