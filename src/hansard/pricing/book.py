"""The price data: from genai-prices, or fetched by the user; stored in `prices.json` in a form that loads in milliseconds."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from hansard.errors import HansardError
from hansard.files import DIRECTORY_MODE, write_private
from hansard.pricing.settle import FILE_NAME, installed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from genai_prices.types import ModelInfo, ModelPrice, Provider

CONVERTED = os.path.join(os.path.dirname(__file__), "prices.json.zst")
"""Data of the pinned genai-prices in our format, made by `tools/make_prices.py`: importing and converting it takes 0.25 s."""
_FORMAT = 1
_CLASSES = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write_5m",
    "cache_write_5m_mtok": "cache_write_5m",
    "cache_write_1h_mtok": "cache_write_1h",
    "web_searches_kcount": "web_search",
}


# The file may have been edited by hand: prices must still be valid amounts.
Amount = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+(\.[0-9]+)?(E[+-]?[0-9]{1,2})?$")]


class Price(msgspec.Struct, frozen=True):
    """The price of one class: dollars as decimal text, and the prices for prompts above a size."""

    base: Amount
    tiers: tuple[tuple[int, Amount], ...] = ()


class Card(msgspec.Struct, frozen=True):
    """Prices that apply from a day on, to requests that match `when`."""

    prices: dict[str, Price]
    since: date | None = None
    when: dict[str, str] = {}


class ModelPrices(msgspec.Struct, frozen=True):
    """One model of one provider with every price it ever had; later cards come first."""

    provider: str
    model: str
    names: tuple[str, ...]
    patterns: tuple[str, ...]
    cards: tuple[Card, ...]
    variants: tuple[Card, ...] = ()


class Book(msgspec.Struct, frozen=True):
    """All prices, and where they come from."""

    version: str
    dated: str
    package: str  # fingerprint of the installed package
    fetched_at: str | None
    models: tuple[ModelPrices, ...]
    makers: dict[str, tuple[str, ...]]  # provider: prefixes and parts of model names that it claims
    format: int = _FORMAT


class PricesUnavailable(HansardError):
    """New prices could not be fetched; the current ones stay in use."""


def load(home: str) -> Book:
    """The prices in use: those fetched with the installed package, otherwise those that came with it."""
    package = installed()
    kept = read(home)
    if kept is not None and kept.package == package:
        return kept
    book = _embedded(package)
    with contextlib.suppress(OSError):  # a read-only store still gets an answer
        _write(home, book)
    return book


@cache
def _embedded(package: str) -> Book:
    book = read_converted()
    if book is not None and book.package == package:
        return msgspec.structs.replace(book, dated=_newest(book.models))
    from genai_prices.data import providers

    return _converted(providers, package, None)


def read_converted() -> Book | None:
    """Read the preconverted data; None if it is missing or in another format."""
    from zstandard import ZstdDecompressor, ZstdError

    try:
        with open(CONVERTED, "rb") as file:
            book = msgspec.json.decode(ZstdDecompressor().decompress(file.read()), type=Book)
    except (OSError, ZstdError, msgspec.DecodeError):
        return None
    return book if book.format == _FORMAT else None


def write_converted() -> Book:
    from genai_prices.data import providers
    from zstandard import ZstdCompressor

    book = msgspec.structs.replace(_converted(providers, installed(), None), dated="")
    with open(CONVERTED, "wb") as file:
        file.write(ZstdCompressor(19).compress(msgspec.json.encode(book)))
    return book


def read(home: str) -> Book | None:
    """Read the stored prices; None if they are missing or unreadable."""
    try:
        with open(os.path.join(home, FILE_NAME), "rb") as file:
            book = _decode(file.read())
    except (OSError, msgspec.DecodeError):
        return None
    return book if book.format == _FORMAT else None


@lru_cache(maxsize=1)  # a new store's prices are read again right after they were written
def _decode(data: bytes) -> Book:
    return msgspec.json.decode(data, type=Book)


def fetch(home: str, url: str | None = None) -> Book:
    """Fetch the newest prices over the network and store them."""
    from genai_prices.update_prices import DEFAULT_UPDATE_URL, UpdatePrices

    address = url or DEFAULT_UPDATE_URL
    try:
        snapshot = UpdatePrices(url=address).fetch()
    except Exception as error:  # any failure of the network, the server or the data
        raise PricesUnavailable(
            f"no prices could be fetched from {address} ({type(error).__name__}: {str(error).partition(chr(10))[0]}). The current prices stay in use"
        ) from error
    models = sum(len(provider.models) for provider in snapshot.providers) if snapshot else 0
    if snapshot is None or not models:
        raise PricesUnavailable(f"{address} has no prices. The current prices stay in use")
    book = _converted(snapshot.providers, installed(), datetime.now(UTC).isoformat(timespec="seconds"))
    _write(home, book)
    return book


def _write(home: str, book: Book) -> None:
    os.makedirs(home, mode=DIRECTORY_MODE, exist_ok=True)
    write_private(os.path.join(home, FILE_NAME), msgspec.json.encode(book))


# -- from genai-prices' values


def _converted(providers: Iterable[Provider], package: str, fetched_at: str | None) -> Book:
    from importlib.metadata import version

    providers = list(providers)
    listed = (_listed(provider.id, model) for provider in providers for model in provider.models)
    models = tuple(model for model in listed if model.cards)
    makers = {
        provider.id: tuple(_literals(provider.model_match, "starts_with", "contains", "equals"))
        for provider in providers
        if provider.model_match is not None
    }
    return Book(version("genai-prices"), _newest(models), package, fetched_at, models, makers)


def _newest(models: Iterable[ModelPrices]) -> str:
    """The date of the newest prices in force; some are announced for later."""
    today = datetime.now(UTC).date()
    days = (card.since for model in models for card in (*model.cards, *model.variants) if card.since is not None)
    return max((day.isoformat() for day in days if day <= today), default="")


def _listed(provider: str, model: ModelInfo) -> ModelPrices:
    from genai_prices.types import ModelPrice

    dated: list[tuple[Any, ModelPrice]] = (
        [(None, model.prices)]
        if isinstance(model.prices, ModelPrice)
        else [(item.constraint, item.prices) for item in model.prices]
    )
    names = [model.id.lower(), *_literals(model.match, "equals", "starts_with")]
    return ModelPrices(
        provider,
        model.id,
        tuple(dict.fromkeys(names)),
        tuple(pattern for pattern in _literals(model.match, "regex") if _is_whole(pattern)),
        tuple(_cards((constraint, prices, {}) for constraint, prices in dated)),
        tuple(_cards((item.constraint, item.prices, item.when) for item in model.price_variants or ())),
    )


def _cards(dated: Iterable[tuple[Any, ModelPrice, dict[str, str]]]) -> Iterator[Card]:
    for constraint, prices, when in dated:
        if constraint is not None and not hasattr(constraint, "start_date"):
            continue  # no model that we meet is priced by the hour of the day
        since = constraint.start_date if constraint is not None else None
        yield Card(_prices(prices), since, dict(when))


def _prices(prices: ModelPrice) -> dict[str, Price]:
    found = {}
    for theirs, ours in _CLASSES.items():
        price: Any = getattr(prices, theirs, None)
        if price is None:
            continue
        tiers = tuple((tier.start, str(tier.price)) for tier in getattr(price, "tiers", ()))
        found[ours] = Price(str(price.base if tiers or hasattr(price, "base") else price), tiers)
    return found


def _is_whole(pattern: str) -> bool:
    """Whether a pattern is anchored at both ends and compiles."""
    import re

    try:
        re.compile(pattern)
    except re.error:
        return False
    return pattern[:1] == "^" and pattern[-1:] == "$"


def _literals(clause: Any, *kinds: str) -> Iterator[str]:
    """The texts of a clause that are of one of these kinds; parts of an `and` are too vague by themselves."""
    for kind in kinds:
        text = getattr(clause, kind, None)
        if isinstance(text, str):
            yield text if kind == "regex" else text.lower()
    for part in getattr(clause, "or_", ()):
        yield from _literals(part, *kinds)
