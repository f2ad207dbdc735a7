"""Which rates apply to a model's messages: one for every period and every prompt size, without gaps or overlaps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from hansard.model.ledger import PriceOverride, Rate
from hansard.pricing.book import Book, Card, ModelPrices, Price

# Anthropic's price list gives these for every model whose own prices are missing.
_MAKER = "anthropic"
_OTHER_MAKERS = ("openai", "google")  # whose lists have their own models only, some with names that tell nothing: o3
_DERIVED = {
    "cache_write_5m": (Decimal("1.25"), "5-minute cache writes at 1.25 times the input rate"),
    "cache_write_1h": (Decimal(2), "1-hour cache writes at twice the input rate"),
    "cache_read": (Decimal("0.1"), "cache reads at a tenth of the input rate"),
}
# Others either state a price for the cache, or bill it as input.
_AS_INPUT = {
    "cache_write_5m": (Decimal(1), "cache writes at the input rate"),
    "cache_write_1h": (Decimal(1), "cache writes at the input rate"),
    "cache_read": (Decimal(1), "cache reads at the input rate"),
}
_WEB_SEARCH = Decimal(10)
_LONGEST_NAME = 200  # longest model name that is looked up
_HALF = Decimal("0.5")
AT_STANDARD = "at the standard rate"
_PLAIN_TIERS = frozenset({"", "standard"})
_PLAIN_PLACES = frozenset({"", "not_available", "global"})
CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_search")


class RateKey(NamedTuple):
    """What a message's price depends on, besides its time and size."""

    model: str
    service_tier: str
    speed: str
    inference_geo: str


class _Cell(NamedTuple):
    """The answer for one period and one prompt size."""

    priced_as: str | None
    prices: tuple[Decimal | None, ...]
    source: str
    notes: tuple[str, ...]


def resolve(book: Book, overrides: Sequence[PriceOverride], asked: RateKey) -> list[Rate]:
    """The rates of a model as messages name it, ordered by time, then size."""
    listed = find(book, asked.model)
    mine = [override for override in overrides if _applies(override, asked)]
    cards = (*listed.cards, *listed.variants) if listed is not None else ()
    days: set[date | None] = {None}
    days |= {card.since for card in cards}
    days |= {day for override in mine for day in (override.since, override.until) if day is not None}
    steps: set[int | None] = {None}
    steps |= {start for card in cards for price in card.prices.values() for start, _ in price.tiers}
    steps |= {override.above for override in mine}
    starts = sorted(days, key=lambda day: day or date.min)
    sizes = sorted(steps, key=lambda size: -1 if size is None else size)
    source = f"genai-prices {book.version}" + (f", fetched {book.fetched_at[:10]}" if book.fetched_at else "")
    grid = [[_cell(listed, mine, asked, day, size, source) for size in sizes] for day in starts]
    rates: list[Rate] = []
    for place, row in enumerate(grid):
        if place and row == grid[place - 1]:
            continue
        last = next((later for later in range(place + 1, len(grid)) if grid[later] != row), None)
        for number, cell in enumerate(row):
            if number and cell == row[number - 1]:
                continue
            above = next((later for later in range(number + 1, len(row)) if row[later] != cell), None)
            given: Any = (
                *asked,
                _midnight(starts[place]),
                _midnight(starts[last]) if last is not None else None,
                sizes[number],
                sizes[above] if above is not None else None,
                cell.priced_as,
                *cell.prices,
                cell.source,
                cell.notes,
            )
            rates.append(Rate(*given))
    return rates


def unpriced(key: RateKey) -> Rate:
    """The rate of a model whose price could not be looked up: none, at any time and size."""
    values: Any = (*key, *((None,) * (5 + len(CLASSES))), "")
    return Rate(*values)


def find(book: Book, name: str) -> ModelPrices | None:
    """The model in the price data that a name refers to: the maker's own list first, then the seller that the name itself gives."""
    names = spellings(name) if len(name) <= _LONGEST_NAME else []
    for provider in _sellers(book, name, names[-1] if names else ""):
        listed = [model for model in book.models if model.provider == provider]
        for spelling in names:
            for model in listed:
                if spelling in model.names or any(re.search(pattern, spelling) for pattern in model.patterns):
                    return model
    return None


def _sellers(book: Book, name: str, bare: str) -> Iterable[str]:
    claimed = (
        maker
        for maker, parts in book.makers.items()
        if any(part and (part in bare if maker == "anthropic" else bare.startswith(part)) for part in parts)
    )
    return dict.fromkeys((_MAKER, seller(name), *claimed, *_OTHER_MAKERS))


def _applies(override: PriceOverride, asked: RateKey) -> bool:
    return (
        override.model.strip().lower() in spellings(asked.model)
        and override.speed in (None, asked.speed)
        and override.service_tier in (None, asked.service_tier)
    )


def _cell(
    listed: ModelPrices | None,
    overrides: list[PriceOverride],
    asked: RateKey,
    day: date | None,
    size: int | None,
    source: str,
) -> _Cell:
    for override in reversed(overrides):
        begun = override.since is None or (day is not None and day >= override.since)
        over = override.until is not None and day is not None and day >= override.until
        large = override.above is None or (size is not None and size >= override.above)
        if begun and not over and large:
            given = {name: price for name in CLASSES if (price := getattr(override, name)) is not None}
            said = frozenset(name for name in ("service_tier", "speed") if getattr(override, name) is not None)
            notes = _modify(given, asked, said)
            return _finished(override.model, dict(given), "configuration", notes)
    if listed is None:
        return _Cell(None, (None,) * len(CLASSES), source, ("the price data has no model with this name",))
    standard = next((card for card in reversed(listed.cards) if _is_active(card, day)), listed.cards[0])
    found = {name: _priced(price, size) for name, price in standard.prices.items()}
    special, known = _special(listed, asked, day, size)
    found |= special
    notes = _modify(found, asked, known)
    return _finished(listed.model, dict(found), source, notes, maker=listed.provider)


def _modify(found: dict[str, Decimal], asked: RateKey, known: frozenset[str]) -> list[str]:
    """Halve the prices of a batch, and note what has a separate price that is unknown."""
    notes = []
    has_tier = not known.isdisjoint(("service_tier", "processing"))
    if asked.service_tier == "batch" and not has_tier:
        found |= {name: price * _HALF for name, price in found.items() if name != "web_search"}
        notes.append("batch at half the standard rate")
    elif asked.service_tier not in _PLAIN_TIERS and not has_tier:
        notes.append(f"no price is known for the tier {asked.service_tier!r}: {AT_STANDARD}")
    if asked.speed == "fast" and "speed" not in known:
        notes.append(f"no price is known for fast answers: {AT_STANDARD}")
    if asked.inference_geo not in _PLAIN_PLACES and "inference_geo" not in known:
        notes.append(f"no surcharge is known for inference in {asked.inference_geo!r}: {AT_STANDARD}")
    return notes


def _special(
    listed: ModelPrices, asked: RateKey, day: date | None, size: int | None
) -> tuple[dict[str, Decimal], frozenset[str]]:
    """Separate prices in the data for a tier, speed or region, and which of these they cover."""
    context = {"service_tier": asked.service_tier, "speed": asked.speed, "inference_geo": asked.inference_geo}
    if asked.service_tier == "batch":
        context["processing"] = "batch"
    found: dict[str, Decimal] = {}
    known: frozenset[str] = frozenset()
    for card in listed.variants:
        if _is_active(card, day) and all(context.get(name) == value for name, value in card.when.items()):
            known |= card.when.keys()
            for name, price in card.prices.items():
                found.setdefault(name, _priced(price, size))
    return found, known


def _is_active(card: Card, day: date | None) -> bool:
    return card.since is None or (day is not None and day >= card.since)


def _priced(price: Price, size: int | None) -> Decimal:
    """A class's price for prompts of more than `size` tokens: it applies to the whole request."""
    amount = price.base
    for start, higher in sorted(price.tiers):
        if size is not None and size >= start:
            amount = higher
    return Decimal(amount)


def _finished(
    priced_as: str, found: dict[str, Decimal | None], source: str, notes: list[str], *, maker: str = _MAKER
) -> _Cell:
    """Fill in what the price data omits."""
    base = found.get("input")
    if base is None or found.get("output") is None:
        return _Cell(None, (None,) * len(CLASSES), source, ("the price data has no price for input and output",))
    derived = _DERIVED if maker == _MAKER or priced_as.startswith("claude") else _AS_INPUT
    for name, (factor, note) in derived.items():
        if found.get(name) is None:
            found[name] = base * factor
            if note not in notes:
                notes.append(note)
    if found.get("web_search") is None:
        found["web_search"] = _WEB_SEARCH
    return _Cell(priced_as, tuple(found[name] for name in CLASSES), source, tuple(notes))


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)


# Gateways and clouds put the seller before the model's name, and the deployment's revision after it.
_SELLER = re.compile(r"^(?:[a-z0-9_.-]++/)*+(?:(?:us|eu|apac|global|jp|au|ca|sa|me|af|us-gov)\.)?(?:anthropic\.)?")
_REVISION = re.compile(r"(?:-v\d+(?::\d+)?)$")
_WINDOW = re.compile(r"\[[^\[\]]*\]$")
_DATE = re.compile(r"(?:[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})|[-@]latest|@default)$")


def spellings(name: str) -> list[str]:
    """Ways the price data may spell a model's name, the most exact first."""
    full = name.strip().lower()
    bare = _REVISION.sub("", _WINDOW.sub("", _SELLER.sub("", full)))
    return list(dict.fromkeys(spelling for spelling in (full, bare, _DATE.sub("", bare)) if spelling))


def seller(name: str) -> str:
    """The seller before a slash; empty if there is none."""
    return name.strip().lower().rpartition("/")[0].rpartition("/")[2]
