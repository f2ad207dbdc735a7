"""Our totals beside those of other counting methods, each difference split by cause."""

from __future__ import annotations

from decimal import Context
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, astuple

from hansard.model.fields import PlainDecimal
from hansard.model.ledger import Pricing


class Counted(Struct, frozen=True):
    """The totals of a counting method, or a difference between two; None if it does not state a figure."""

    messages: int | None  # as it counts them
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int | None  # part of the above, stored for an hour
    web_searches: int
    cost_usd: PlainDecimal | None  # of what has a price
    unpriced_messages: int = 0  # not in any cost

    @property
    def tokens(self) -> int:
        """All tokens of all classes."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Counted) -> Counted:
        return Counted(*map(_plus, astuple(self), astuple(other)))

    def __neg__(self) -> Counted:
        return Counted(*map(_minus, astuple(self)))

    def __sub__(self, other: Counted) -> Counted:
        """The difference."""
        return self + -other

    def __bool__(self) -> bool:
        """Whether anything is nonzero."""
        return any(astuple(self))

    def as_plain(self) -> dict[str, Any]:
        """One object; the cost is null if nothing has a price."""
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
    # A history's numbers have more digits than the default decimal precision keeps.
    return Context(prec=200).add(one, other)


class DifferenceStep(Struct, frozen=True):
    """One cause of a difference, and its size."""

    cause: str  # for programs
    about: str  # a sentence for people
    amount: Counted


class CountingMethod(Struct, frozen=True):
    """A counting method: from our total to its total, cause by cause; the steps add up to the difference."""

    name: str  # lines, ccusage, agentsview, tokscale, cost-state, stats-cache
    title: str
    rule: str  # how it counts, in a sentence
    compared: Counted  # ours, for the same part of the history
    total: Counted
    steps: tuple[DifferenceStep, ...]
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> Counted:
        """How much its total exceeds ours."""
        return self.total - self.compared

    def as_plain(self) -> dict[str, Any]:
        """One object, including the difference."""
        plain = asdict(self)
        steps, notes = plain.pop("steps"), plain.pop("notes")
        return {**plain, "difference": self.difference, "steps": steps, "notes": notes}


class ClientDifference(Struct, frozen=True):
    """A session in which the client's own totals for a model differ from its transcripts."""

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
    """The unexplained remainder of one model."""

    model: str
    stated: Counted
    simulated: Counted
    unexplained: Counted


class PeerCheck(Struct, frozen=True):
    """The real output of another tool compared with our simulation of its rule."""

    tool: str
    report: str  # daily, session, models, ...
    stated: Counted
    simulated: CountingMethod
    unexplained: Counted  # not accounted for by the rule as we know it
    models: tuple[PeerModel, ...]  # with a remainder; greatest first
    notes: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()  # whose usage it reports, of those that are compared


class ClientPart(Struct, frozen=True):
    """The totals of another client than Claude Code, and every counting method beside them."""

    client: str
    ours: Counted
    lower_bound_messages: int
    unpriced_models: tuple[str, ...]
    lines: int  # that state usage
    transcripts: int
    ways: tuple[CountingMethod, ...]


class Uncompared(Struct, frozen=True):
    """A client that is not compared, because it is not known how other tools count it."""

    client: str
    sessions: int  # with recorded usage
    ours: Counted


class Reconciliation(Struct, frozen=True):
    """Our totals, and every other counting method beside them; the first fields are about Claude Code."""

    ours: Counted
    lower_bound_messages: int  # whose output is only a lower bound
    lower_bound_output_tokens: int
    progress_only_messages: int  # of subagents whose transcripts are gone: only progress records show them
    unpriced_models: tuple[str, ...]
    lines: int  # that state usage
    transcripts: int
    bytes_read: int
    damaged: int  # places in the record that could not be read
    ways: tuple[CountingMethod, ...]
    client: ClientCheck | None
    peer: PeerCheck | None
    pricing: Pricing
    clients: tuple[ClientPart, ...] = ()
    not_compared: tuple[Uncompared, ...] = ()
