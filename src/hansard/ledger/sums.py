"""Adding up: sums of tokens per rate, and the row of a report that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hansard.model import Rate, Tokens, UsageRow
from hansard.pricing.money import EXACT, ZERO, cache_effect, cost, recorded
from hansard.query.reader import moment

SUMS = (
    "sum(messages), sum(lower_bounds), sum(input), sum(output), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h),"
    " sum(web_searches), sum(recorded), min(CASE WHEN first_ts > 0 THEN first_ts END), max(last_ts)"
)
MODES = {
    "auto": "what the client wrote that a message cost, where it did (before 1.0.9), else tokens times rates",
    "calculate": "always tokens times rates",
    "recorded": "only what the client wrote",
}
"""How money is found, by name."""

Key = tuple[int, int]  # rate, has_recorded


class Sums:
    """What some messages add up to, kept apart by rate because money is tokens times rate."""

    __slots__ = ("first", "groups", "last")

    def __init__(self) -> None:
        self.groups: dict[Key, list[int]] = {}
        self.first: int | None = None
        self.last = 0

    def add(self, rate: int, has_recorded: int, numbers: Iterable[Any]) -> None:
        """Take the columns of `SUMS` of one group."""
        *counts, first, last = numbers
        known = self.groups.get((rate, has_recorded))
        if known is None:
            self.groups[rate, has_recorded] = counts
        else:
            for place, count in enumerate(counts):
                known[place] += count
        if first is not None and (self.first is None or first < self.first):
            self.first = first
        self.last = max(self.last, last or 0)

    def row(
        self,
        key: dict[str, str | None],
        about: dict[str, str],
        rates: Mapping[int, Rate],
        mode: str,
        breakdown: tuple[UsageRow, ...] = (),
    ) -> UsageRow:
        """The row of a report."""
        totals = [0] * 9
        unpriced = taken = 0
        amount = saved = extra = ZERO
        is_priced = False
        missing: set[str] = set()
        for (number, has_recorded), counts in self.groups.items():
            rate = rates[number]
            totals = [one + other for one, other in zip(totals, counts, strict=True)]
            tokens = Tokens(*counts[2:8])
            charged = charge(rate, tokens, has_recorded=bool(has_recorded), billionths=counts[8], mode=mode)
            if charged is None:
                unpriced += counts[0]
                missing.add(rate.model)
                continue
            is_priced = True
            amount = EXACT.add(amount, charged)
            taken += counts[0] if has_recorded and mode != "calculate" else 0
            effect = cache_effect(rate, tokens)
            if effect is not None:
                saved, extra = EXACT.add(saved, effect[0]), EXACT.add(extra, effect[1])
        is_known = is_priced or not self.groups
        return UsageRow(
            key=key,
            about=about,
            input_tokens=totals[2],
            output_tokens=totals[3],
            cache_read_tokens=totals[4],
            cache_write_5m_tokens=totals[5],
            cache_write_1h_tokens=totals[6],
            web_searches=totals[7],
            api_messages=totals[0],
            lower_bound_messages=totals[1],
            unpriced_messages=unpriced,
            recorded_messages=taken,
            cost_usd=amount if is_known else None,
            cache_saved_usd=saved if is_known else None,
            cache_extra_usd=extra if is_known else None,
            unpriced_models=tuple(sorted(missing)),
            first_at=moment(self.first),
            last_at=moment(self.last or None),
            breakdown=breakdown,
        )


def charge(rate: Rate, tokens: Tokens, *, has_recorded: bool, billionths: int, mode: str) -> Any:
    """What a group of messages costs in a mode, a Decimal; None where that is not known."""
    if has_recorded and mode != "calculate":
        return recorded(billionths)
    return None if mode == "recorded" else cost(rate, tokens)
