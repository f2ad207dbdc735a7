"""Our totals beside those of other ways of counting, each difference split by its causes."""

from __future__ import annotations

from decimal import Context
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, astuple

from hansard.model.fields import PlainDecimal
from hansard.model.ledger import Pricing


class Counted(Struct, frozen=True):
    """What a way of counting adds up to, or how much more it is than another; None where it does not say."""

    messages: int | None  # what it takes for one answer
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int | None  # of these, the ones kept for an hour
    web_searches: int
    cost_usd: PlainDecimal | None  # of what has a price
    unpriced_messages: int = 0  # in no cost

    @property
    def tokens(self) -> int:
        """All tokens, of every class."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Counted) -> Counted:
        return Counted(*map(_plus, astuple(self), astuple(other)))

    def __neg__(self) -> Counted:
        return Counted(*map(_minus, astuple(self)))

    def __sub__(self, other: Counted) -> Counted:
        """How much more it is."""
        return self + -other

    def __bool__(self) -> bool:
        """Whether there is anything in it."""
        return any(astuple(self))

    def as_plain(self) -> dict[str, Any]:
        """One object; what has no price at all costs nothing that is known."""
        plain = asdict(self)
        if self.messages and self.unpriced_messages == self.messages:
            plain["cost_usd"] = None
        return plain


def _minus(value: Any) -> Any:
    return None if value is None else -value


def _plus(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return None
    if isinstance(one, int):
        return one + other
    # The numbers of a history have more digits than a sum of the usual precision keeps.
    return Context(prec=200).add(one, other)


class DifferenceStep(Struct, frozen=True):
    """One cause of a difference, and its size."""

    cause: str  # a word for programs
    about: str  # a sentence for people
    amount: Counted


class CountingMethod(Struct, frozen=True):
    """A way of counting: from ours to its total, cause by cause; the steps add up to the difference."""

    name: str  # lines, ccusage, agentsview, tokscale, cost-state, stats-cache
    title: str
    rule: str  # how it counts, in a sentence
    compared: Counted  # ours, of the same part of the history
    total: Counted
    steps: tuple[DifferenceStep, ...]
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> Counted:
        """How much more it is than ours."""
        return self.total - self.compared

    def as_plain(self) -> dict[str, Any]:
        """One object, with the difference."""
        plain = asdict(self)
        steps, notes = plain.pop("steps"), plain.pop("notes")
        return {**plain, "difference": self.difference, "steps": steps, "notes": notes}


class ClientDifference(Struct, frozen=True):
    """A session in which the client's own totals of a model are not what its transcripts show."""

    session_id: str
    model: str
    stated: Counted  # by the client
    shown: Counted  # by its transcripts
    difference: Counted


class ClientCheck(Struct, frozen=True):
    """The client's own totals, session by session."""

    sessions: int  # that have any
    agreeing: int  # in every token of every model
    differing: tuple[ClientDifference, ...]


class PeerModel(Struct, frozen=True):
    """What is left over of one model."""

    model: str
    stated: Counted
    simulated: Counted
    unexplained: Counted


class PeerCheck(Struct, frozen=True):
    """The real output of another tool beside our simulation of its rule."""

    tool: str
    report: str  # daily, session, models, ...
    stated: Counted
    simulated: CountingMethod
    unexplained: Counted  # what the rule as we know it does not give
    models: tuple[PeerModel, ...]  # where something is left over; the greatest first
    notes: tuple[str, ...] = ()


class Reconciliation(Struct, frozen=True):
    """Our totals, and every other way of counting beside them."""

    ours: Counted
    lower_bound_messages: int  # whose output is only a lower bound
    lower_bound_output_tokens: int
    progress_only_messages: int  # of subagents whose transcripts are gone: only progress records show them
    unpriced_models: tuple[str, ...]
    lines: int  # that state usage
    transcripts: int
    bytes_read: int
    damaged: int  # places of the record that could not be read
    ways: tuple[CountingMethod, ...]
    client: ClientCheck | None
    peer: PeerCheck | None
    pricing: Pricing
