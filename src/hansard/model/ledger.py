"""Tokens and money: what the ledger answers with. Money is an exact `Decimal` of US dollars, None where no price is known."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import date, datetime
    from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Tokens:
    """What API messages used, by class."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(self)))


@dataclass(frozen=True, slots=True)
class Rate:
    """What one model costs, at a time, for a size of prompt: dollars per million tokens and per thousand searches."""

    model: str  # as the transcripts name it
    service_tier: str
    speed: str
    inference_geo: str
    since: datetime | None  # valid from, None: always was
    until: datetime | None  # and before
    above: int | None  # for prompts of more tokens than this
    upto: int | None  # and of at most so many
    priced_as: str | None  # the model in the price data; None: no price is known
    input: Decimal | None
    output: Decimal | None
    cache_read: Decimal | None
    cache_write_5m: Decimal | None
    cache_write_1h: Decimal | None
    web_search: Decimal | None
    source: str
    notes: tuple[str, ...] = ()

    @property
    def is_understated(self) -> bool:
        """Whether messages were asked for at a dearer rate that nobody knows."""
        return any(note.endswith("at the standard rate") for note in self.notes)

    @property
    def is_priced(self) -> bool:
        """Whether a price is known."""
        return self.priced_as is not None


@dataclass(frozen=True, slots=True)
class PriceOverride:
    """A price that the user sets for a model, in the units of `Rate`; what is left out follows from `input`."""

    model: str  # as the transcripts name it, with or without its date
    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    web_search: Decimal | None = None
    since: date | None = None  # from the beginning of that day in UTC
    until: date | None = None  # to the beginning of that day
    above: int | None = None  # only for prompts of more tokens than this
    speed: str | None = None  # only at this speed
    service_tier: str | None = None  # only in this tier


@dataclass(frozen=True, slots=True)
class PriceData:
    """Where the rates come from."""

    source: str  # genai-prices
    version: str  # of the package whose data it is, or that fetched it
    dated: str  # the day of the newest price in it
    fetched_at: datetime | None  # None: the data that came with the package
    overrides: int  # how many prices the configuration adds


@dataclass(frozen=True, slots=True)
class Pricing:
    """By which prices a report was made, and what about them is not certain."""

    data: PriceData
    mode: str  # auto, calculate, recorded
    notes: tuple[str, ...] = ()

    def as_plain(self) -> dict[str, Any]:
        """One flat object."""
        return {
            **{item.name: getattr(self.data, item.name) for item in fields(self.data)},
            "mode": self.mode,
            "notes": self.notes,
        }


@dataclass(frozen=True, slots=True)
class Work:
    """What tools did."""

    calls: int = 0
    errors: int = 0
    duration_ms: int = 0  # of the calls whose result has a time
    lines_added: int = 0
    lines_removed: int = 0

    def __add__(self, other: Work) -> Work:
        """Both together."""
        return Work(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(self)))


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One row of a report, or its total."""

    key: dict[str, str | None]  # dimension: value, in the order asked for; None: not known
    about: dict[str, str]  # what else is known of the key: a session's title and project, a subagent's task
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    web_searches: int
    api_messages: int
    lower_bound_messages: int  # their output_tokens are only lower bounds
    unpriced_messages: int  # in no cost
    recorded_messages: int  # their cost is what the client wrote
    understated_messages: int  # fast, or elsewhere, at the standard rate because no other is known
    cost_usd: Decimal | None  # of what has a price; None where nothing has
    cache_saved_usd: Decimal | None  # what cache reads would have cost more as plain input
    cache_extra_usd: Decimal | None  # what cache writes cost more than plain input
    unpriced_models: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    progress_only_messages: int = 0  # of subagents whose transcripts are gone: only progress records show them
    work: Work | None = None
    breakdown: tuple[UsageRow, ...] = ()  # the same by model

    @property
    def tokens(self) -> int:
        """All tokens, of every class."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_tokens
            + self.cache_write_5m_tokens
            + self.cache_write_1h_tokens
        )

    def as_plain(self) -> dict[str, Any]:
        """One flat object, the key first; without what was not asked for."""
        rest = {item.name: getattr(self, item.name) for item in fields(self)}
        key, about = rest.pop("key"), rest.pop("about")
        flat = {**key, **about, **key, **rest}
        if not self.breakdown:
            del flat["breakdown"]
        if self.work is None:
            del flat["work"]
        return flat


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Rows that add up to the totals, by which dimensions, and at which prices."""

    by: tuple[str, ...]
    timezone: str
    since: datetime | None
    until: datetime | None
    rows: tuple[UsageRow, ...]
    totals: UsageRow
    pricing: Pricing


@dataclass(frozen=True, slots=True)
class BillingBlock:
    """Five hours from the first message after a pause, as the plans' limits count; or the pause between two."""

    start: datetime
    end: datetime
    is_gap: bool
    is_active: bool
    usage: UsageRow | None  # None in a gap
    burn_usd_per_hour: Decimal | None = None  # only of the active one
    burn_tokens_per_minute: int | None = None
    projected_usd: Decimal | None = None
    projected_tokens: int | None = None
    remaining_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks in order, at which prices."""

    blocks: tuple[BillingBlock, ...]
    pricing: Pricing


@dataclass(frozen=True, slots=True)
class Limit:
    """How much may be spent in a period, by a project or by all."""

    period: str  # day, week, month
    limit_usd: Decimal
    warn_at: Decimal  # the share of it from which on it is near
    project: str | None = None  # a path, or a part of one


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit of the configuration and how much of it is spent."""

    period: str  # day, week, month
    project: str | None  # None: everything
    limit_usd: Decimal
    spent_usd: Decimal | None  # None where nothing of it has a price
    unpriced_messages: int  # not in what is spent
    lower_bound_messages: int
    share: Decimal  # spent / limit
    state: str  # ok, near, over
    since: datetime
