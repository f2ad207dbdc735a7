"""Rates as a list for people: what costs the same is said once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.render.text import one_line
from hansard.render.words import short

if TYPE_CHECKING:
    from hansard.model.ledger import Rate

PRICED = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_search")
"""What has a price, as a `Rate` names it."""

_PLAIN = frozenset({"", "standard", "not_available", "global"})  # of a tier, a speed or a place that changes nothing


def grouped(rates: Sequence[Rate], *, everything: bool) -> Iterator[tuple[str, Rate]]:
    """The rates of each model; tiers, speeds and places that cost the same and have the same notes only once."""
    for model in dict.fromkeys(rate.model for rate in rates):
        kinds: dict[tuple[str, str, str], list[Rate]] = {}
        for rate in rates:
            if rate.model == model:
                kinds.setdefault((rate.service_tier, rate.speed, rate.inference_geo), []).append(rate)
        alike: dict[Any, list[tuple[str, str, str]]] = {}
        for kind, listed in kinds.items():
            alike.setdefault(kind if everything else tuple(map(_terms, listed)), []).append(kind)
        for group in alike.values():
            names = [
                " / ".join(word or "-" for word in kind)
                if everything
                else " ".join(word for word in kind if word not in _PLAIN)
                for kind in group
            ]
            name = "" if "" in names else ", ".join(dict.fromkeys(names))
            yield from ((one_line(name), rate) for rate in kinds[group[0]])


def _terms(rate: Rate) -> tuple[Any, ...]:
    prices = tuple(getattr(rate, name) for name in PRICED)
    return (rate.since, rate.until, rate.above, rate.upto, rate.priced_as, rate.source, rate.notes, *prices)


def prompt_size(rate: Rate) -> str:
    """Which sizes of prompts a rate is for."""
    parts = [f"over {short(rate.above)}" if rate.above else "", f"to {short(rate.upto)}" if rate.upto else ""]
    return " ".join(filter(None, parts))


def price(amount: Decimal | None) -> str:
    """All digits of a price, at least cents."""
    if amount is None:
        return ""
    text = format(amount.normalize(), "f")
    return f"{amount:.2f}" if len(text.partition(".")[2]) < 3 else text
