"""What edits cost: a message counts for the next edit of its turn; messages after a turn's last edit count for that one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hansard.pricing.cost import SUMS, Sums, rates_of
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.ledger import Rate
    from hansard.query.reader import Reader

Target = TypeVar("Target", int, str)

_SHARE = Decimal("1e-9")  # of a dollar: shares of lines are rounded, sums are not
# Turns begin with what a person typed into the session's own thread; without times they cannot be distinguished.
_TURNS = (
    "SELECT p.ts FROM sessions s CROSS JOIN prompts p"
    f" ON p.id BETWEEN s.transcript << {OFFSET_BITS} AND (s.transcript << {OFFSET_BITS}) + {OFFSET_MASK}"
    " WHERE s.session_id = ? AND p.ts IS NOT NULL ORDER BY p.ts"
)


class WorkTimeline:
    """Maps every moment of a session to the call that its messages produced."""

    def __init__(self, turns: Sequence[int], calls: Iterable[tuple[int, int]]) -> None:
        """`turns` are the times at which turns begin, `calls` the times and ids of calls that did work."""
        self._turns = sorted(turns)
        self._calls = sorted(calls)
        self._moments = [moment for moment, _ in self._calls]

    @classmethod
    def of(cls, reader: Reader, session_id: str, calls: Iterable[tuple[int, int]]) -> WorkTimeline:
        return cls([row[0] for row in reader.rows(_TURNS, (session_id,))], calls)

    def call_at(self, moment: int) -> int | None:
        """The call that a message at this time counts for; None if its turn has none."""
        turn = bisect_right(self._turns, moment)
        start = self._turns[turn - 1] if turn else -1
        end = self._turns[turn] if turn < len(self._turns) else None
        place = bisect_left(self._moments, moment)
        if place < len(self._moments) and (end is None or self._moments[place] < end):
            return self._calls[place][1]
        if place and self._moments[place - 1] >= start:
            return self._calls[place - 1][1]
        return None


class Spent(NamedTuple):
    """An amount of money; None if no price is known."""

    cost_usd: Decimal | None
    is_lower_bound: bool = False


class AllocatedCosts:
    """What the messages of sessions cost, allocated by time to calls or commits."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @cached_property
    def _rates(self) -> Mapping[int, Rate]:
        return rates_of(self._reader.rows)

    def allocate(self, session_id: str, target_at: Callable[[int], Target | None]) -> dict[Target, Sums]:
        """Sums of a session's messages for each target they count for."""
        found: dict[Target, Sums] = {}
        for row in self._reader.rows(
            f"SELECT rate, has_recorded, first_ts, {SUMS} FROM charges WHERE session_id = ? GROUP BY first_ts, rate, has_recorded",
            (session_id,),
        ):
            target = target_at(row[2])
            if target is not None:
                found.setdefault(target, Sums()).add(row[0], row[1], row[3:])
        return found

    def spent(self, sums: Sums | None) -> Spent:
        if sums is None:
            return Spent(None)
        row = sums.row({}, {}, self._rates, "auto")
        return Spent(row.cost_usd, row.is_lower_bound)


def share(cost: Decimal | None, lines: int, of: int) -> Decimal | None:
    """The share of an edit's cost for some of its lines."""
    if cost is None or not of:
        return None
    return (cost * min(lines, of) / of).quantize(_SHARE, ROUND_HALF_EVEN)
