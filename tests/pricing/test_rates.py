"""Dated rates: what genai-prices itself would charge, one rate for every time and size, and what the user sets instead."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from genai_prices import Usage
from genai_prices.data import providers
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.model.ledger import PriceOverride, Rate, Tokens
from hansard.pricing.book import Book, Card, ModelPrices, Price
from hansard.pricing.cost import cost
from hansard.pricing.rates import CLASSES, RateKey, resolve

ANTHROPIC = next(provider for provider in providers if provider.id == "anthropic")
MODELS = {model.id: model for model in ANTHROPIC.models}
PLAIN = ("", "", "")
SIZES = [0, 1, 99_999, 100_000, 100_001, 199_999, 200_000, 200_001, 1_000_000]


def moments() -> list[datetime]:
    """Days around every change in the data, to the millisecond, and some in between."""
    days = {date(2024, 1, 1), date(2025, 6, 1), date(2026, 6, 1), date(2030, 1, 1)}
    for model in ANTHROPIC.models:
        dated = model.prices if isinstance(model.prices, list) else []
        for item in (*dated, *(model.price_variants or ())):
            start = getattr(item.constraint, "start_date", None)
            if start is not None:
                days.add(start)
    found = []
    for day in sorted(days):
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        found += [midnight - timedelta(milliseconds=1), midnight, midnight + timedelta(hours=13)]
    return found


def the_one(rates: list[Rate], moment: datetime, prompt: int) -> Rate:
    """The rate for a time and a size; there must be exactly one."""
    (found,) = (
        rate
        for rate in rates
        if (rate.since is None or moment >= rate.since)
        and (rate.until is None or moment < rate.until)
        and (rate.above is None or prompt > rate.above)
        and (rate.upto is None or prompt <= rate.upto)
    )
    return found


def of(rate: Rate, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(rate, name) for name in names)


def spread(prompt: int, known: set[str], moment: datetime) -> Tokens:
    """A prompt of this many tokens, of all classes that have a price, with an answer."""
    write = prompt // 7 if "cache_write_mtok" in known else 0
    hour = prompt // 5 if "cache_write_1h_mtok" in known else 0
    read = prompt // 3 if "cache_read_mtok" in known else 0
    searches = 3 if "web_searches_kcount" in known else 0
    return Tokens(prompt - write - hour - read, 100 + moment.day, read, write, hour, searches)


def theirs(model: Any, tokens: Tokens, moment: datetime, context: dict[str, str] | None = None) -> Decimal:
    usage = {
        "input_tokens": tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_write_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "cache_write_1h_tokens": tokens.cache_write_1h,
        "web_searches": tokens.web_searches,
    }
    given = Usage(**{name: count for name, count in usage.items() if count})
    if not tokens.input + tokens.cache_read:
        given.input_tokens = usage["input_tokens"]
    answer = model.calc_price(given, ANTHROPIC, genai_request_timestamp=moment, price_context=context)
    assert isinstance(answer.total_price, Decimal)
    return answer.total_price


def priced_keys(model: Any, moment: datetime) -> set[str]:
    return {name for name, value in vars(model.get_prices(moment)).items() if value is not None}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_same_as_genai_prices(book: Book, name: str) -> None:
    model = MODELS[name]
    rates = resolve(book, (), RateKey(name, *PLAIN))
    for moment in moments():
        for prompt in SIZES:
            tokens = spread(prompt, priced_keys(model, moment), moment)
            assert cost(the_one(rates, moment, prompt), tokens) == theirs(model, tokens, moment), (moment, prompt)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_batches(book: Book, name: str) -> None:
    """Where the data has a price for batches it is that, before it is half; a search costs what it always does."""
    model = MODELS[name]
    rates = resolve(book, (), RateKey(name, "batch", "", ""))
    for moment in moments():
        is_listed = any(
            variant.when == {"processing": "batch"}
            and (variant.constraint is None or variant.constraint.active(moment))
            for variant in model.price_variants or ()
        )
        for prompt in SIZES:
            tokens = spread(prompt, priced_keys(model, moment), moment)
            rate = the_one(rates, moment, prompt)
            if is_listed:
                assert cost(rate, tokens) == theirs(model, tokens, moment, {"processing": "batch"})
                assert not any("batch" in note for note in rate.notes)
            else:
                searches = Decimal(tokens.web_searches) / 100
                assert cost(rate, tokens) == (theirs(model, tokens, moment) - searches) / 2 + searches
                assert "batch at half the standard rate" in rate.notes


def test_models_with_a_date_cost_what_the_model_costs(book: Book) -> None:
    bare = resolve(book, (), RateKey("claude-opus-4-6", *PLAIN))
    dated = resolve(book, (), RateKey("us.anthropic.claude-opus-4-6-20260101-v1:0", *PLAIN))
    assert [(rate.since, rate.above, rate.priced_as, rate.input) for rate in bare] == [
        (rate.since, rate.above, rate.priced_as, rate.input) for rate in dated
    ]
    assert {rate.model for rate in dated} == {"us.anthropic.claude-opus-4-6-20260101-v1:0"}
    assert [of(rate, "since", "above", "upto", "input") for rate in bare] == [
        (None, None, 200_000, 5),
        (None, 200_000, None, 10),
        (datetime(2026, 3, 13, tzinfo=UTC), None, None, 5),
    ]


def test_unknown_models(book: Book) -> None:
    (rate,) = resolve(book, (), RateKey("claude-opus-4-6-turbo", *PLAIN))
    assert not rate.is_priced
    assert (rate.since, rate.until, rate.above, rate.upto) == (None, None, None, None)
    assert {getattr(rate, name) for name in CLASSES} == {None}
    assert rate.notes == ("the price data has no model with this name",)


def test_what_the_data_leaves_out_follows_from_input(book: Book) -> None:
    (rate,) = resolve(book, (), RateKey("claude-2", *PLAIN))
    assert of(rate, "input", "output") == (8, 24)
    assert of(rate, "cache_read", "cache_write_5m", "cache_write_1h") == (Decimal("0.8"), 10, 16)
    assert rate.web_search == 10
    assert rate.notes == (
        "5-minute cache writes at 1.25 times the input rate",
        "1-hour cache writes at twice the input rate",
        "cache reads at a tenth of the input rate",
    )
    (known,) = resolve(book, (), RateKey("claude-opus-5-5", *PLAIN))
    assert known.notes == ()
    assert known.cache_read == Decimal("0.2"), "its own price, not a tenth"


@pytest.mark.parametrize(
    ("tier", "speed", "place", "words"),
    [
        ("", "fast", "", ["fast"]),
        ("priority", "", "", ["'priority'"]),
        ("", "", "us", ["'us'"]),
        ("priority", "fast", "eu", ["'priority'", "fast", "'eu'"]),
        ("standard", "standard", "not_available", []),
        ("standard", "", "global", []),
        ("batch", "fast", "us", ["fast", "'us'"]),
    ],
)
def test_what_has_no_price_of_its_own_is_said(book: Book, tier: str, speed: str, place: str, words: list[str]) -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    rate = the_one(resolve(book, (), RateKey("claude-opus-5-5", tier, speed, place)), now, 1)
    assert rate.is_priced
    assert len(rate.notes) == len(words)
    for note, word in zip(rate.notes, words, strict=True):
        assert word in note
        assert "standard rate" in note


def made_book(*models: ModelPrices) -> Book:
    return Book("1", "2026-01-01", "p", None, models, {"anthropic": ("claude",)})


def test_prices_for_a_speed_and_a_place() -> None:
    special = (
        Card({"input": Price("6"), "output": Price("30")}, None, {"speed": "fast"}),
        Card({"output": Price("11")}, date(2026, 5, 1), {"inference_geo": "us"}),
    )
    listed = ModelPrices(
        "anthropic", "claude-x", ("claude-x",), (), (Card({"input": Price("2"), "output": Price("10")}),), special
    )
    book = made_book(listed)
    fast, *_ = resolve(book, (), RateKey("claude-x", "", "fast", ""))
    assert of(fast, "input", "output", "cache_read") == (6, 30, Decimal("0.6"))
    assert not any("standard" in note for note in fast.notes)
    before, after = resolve(book, (), RateKey("claude-x", "", "", "us"))
    assert (of(before, "output"), of(after, "output", "input")) == ((10,), (11, 2))
    assert any("surcharge" in note for note in before.notes)
    assert not any("surcharge" in note for note in after.notes)
    # One of two is known: the other is still said.
    both = resolve(book, (), RateKey("claude-x", "", "fast", "eu"))
    assert of(both[0], "input", "output") == (6, 30)
    assert any("'eu'" in note for note in both[0].notes)


# -- any data, any overrides, any message

DAYS = st.none() | st.dates(date(2025, 1, 1), date(2025, 1, 12))
AMOUNTS = st.integers(0, 5).map(str)
STEPS = st.sampled_from([100, 200, 300])
PRICES = st.builds(
    Price,
    AMOUNTS,
    st.dictionaries(STEPS, AMOUNTS, max_size=2).map(lambda tiers: tuple(sorted(tiers.items()))),
)
CARDS = st.builds(
    lambda more, needed, since: Card(more | needed, since),
    st.dictionaries(st.sampled_from(CLASSES), PRICES, max_size=3),
    st.fixed_dictionaries({"input": PRICES, "output": PRICES}),
    DAYS,
)
VARIANTS = st.builds(
    Card,
    st.dictionaries(st.sampled_from(CLASSES), PRICES, max_size=3),
    DAYS,
    st.sampled_from([{"processing": "batch"}, {"speed": "fast"}, {"speed": "fast", "inference_geo": "us"}]),
)
LISTED = st.builds(
    lambda cards, variants: ModelPrices("anthropic", "claude-x", ("claude-x",), (), tuple(cards), tuple(variants)),
    st.lists(CARDS, min_size=1, max_size=3),
    st.lists(VARIANTS, max_size=2),
)
OVERRIDES = st.builds(
    PriceOverride,
    model=st.sampled_from(["claude-x", "Claude-X", "claude-y", "claude-x-20250101"]),
    input=st.integers(0, 5).map(Decimal),
    output=st.integers(0, 5).map(Decimal),
    cache_read=st.none() | st.integers(0, 5).map(Decimal),
    web_search=st.none() | st.integers(0, 5).map(Decimal),
    since=DAYS,
    until=DAYS,
    above=st.none() | STEPS,
    speed=st.none() | st.sampled_from(["fast", "slow"]),
    service_tier=st.none() | st.just("batch"),
)
ASKED = st.builds(
    RateKey,
    st.sampled_from(["claude-x", "claude-x-20250101", "anthropic/claude-x", "claude-z"]),
    st.sampled_from(["", "standard", "batch"]),
    st.sampled_from(["", "fast"]),
    st.sampled_from(["", "us"]),
)
DERIVED = {"cache_read": Decimal("0.1"), "cache_write_5m": Decimal("1.25"), "cache_write_1h": Decimal(2)}


def at_size(price: Price, prompt: int) -> Decimal:
    return Decimal(next((amount for start, amount in sorted(price.tiers, reverse=True) if prompt > start), price.base))


def directly(
    listed: ModelPrices, overrides: list[PriceOverride], asked: RateKey, day: date, prompt: int
) -> dict[str, Any] | None:
    """The prices for one message, found without any grid."""
    names = {asked.model, asked.model.removeprefix("anthropic/"), asked.model.removesuffix("-20250101")}
    prices: dict[str, Any] | None = None
    has_batch = False
    for one in overrides:  # the last one that fits
        if (
            one.model.lower() in names
            and one.speed in (None, asked.speed)
            and one.service_tier in (None, asked.service_tier)
            and (one.since is None or day >= one.since)
            and (one.until is None or day < one.until)
            and (one.above is None or prompt > one.above)
        ):
            prices = {name: price for name in CLASSES if (price := getattr(one, name)) is not None}
            has_batch = one.service_tier is not None
    if prices is None:
        if not {"claude-x", "claude-x-20250101"} & names or asked.model == "claude-z":
            return None
        active = [card for card in listed.cards if card.since is None or day >= card.since]
        standard = active[-1] if active else listed.cards[0]
        prices = {name: at_size(price, prompt) for name, price in standard.prices.items()}
        context = {"speed": asked.speed, "inference_geo": asked.inference_geo, "processing": asked.service_tier}
        special: dict[str, Decimal] = {}
        for card in listed.variants:
            begun = card.since is None or day >= card.since
            if begun and all(context.get(name) == value for name, value in card.when.items()):
                has_batch = has_batch or "processing" in card.when
                for name, price in card.prices.items():
                    special.setdefault(name, at_size(price, prompt))
        prices |= special
    if asked.service_tier == "batch" and not has_batch:
        prices = {name: amount if name == "web_search" else amount / 2 for name, amount in prices.items()}
    for name, factor in DERIVED.items():
        if prices.get(name) is None:
            prices[name] = prices["input"] * factor
    if prices.get("web_search") is None:
        prices["web_search"] = Decimal(10)
    return prices


@settings(max_examples=80, deadline=None)
@given(LISTED, st.lists(OVERRIDES, max_size=3), ASKED, st.data())
def test_one_rate_for_any_message(
    listed: ModelPrices, overrides: list[PriceOverride], asked: RateKey, data: Any
) -> None:
    rates = resolve(made_book(listed), overrides, asked)
    assert {(rate.model, rate.service_tier, rate.speed, rate.inference_geo) for rate in rates} == {tuple(asked)}
    for _ in range(20):
        moment = datetime(2024, 12, 30, tzinfo=UTC) + timedelta(hours=data.draw(st.integers(0, 16 * 24)))
        prompt = data.draw(st.integers(0, 400) | st.sampled_from([100, 101, 200, 201, 300, 301]))
        rate = the_one(rates, moment, prompt)
        expected = directly(listed, overrides, asked, moment.date(), prompt)
        given = {name: getattr(rate, name) for name in CLASSES}
        assert given == (expected or dict.fromkeys(CLASSES))
        assert rate.is_priced == (expected is not None)


@settings(max_examples=60, deadline=None)
@given(LISTED, st.lists(OVERRIDES, max_size=3), ASKED)
def test_rates_follow_each_other(listed: ModelPrices, overrides: list[PriceOverride], asked: RateKey) -> None:
    rates = resolve(made_book(listed), overrides, asked)
    spans = list(dict.fromkeys((rate.since, rate.until) for rate in rates))
    assert spans[0][0] is None
    assert spans[-1][1] is None
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    for span in spans:
        sizes = [(rate.above, rate.upto) for rate in rates if (rate.since, rate.until) == span]
        assert (sizes[0][0], sizes[-1][1]) == (None, None)
        assert all(one[1] == other[0] for one, other in pairwise(sizes))


def test_an_override_for_a_time() -> None:
    listed = ModelPrices(
        "anthropic", "claude-x", ("claude-x",), (), (Card({"input": Price("2"), "output": Price("10")}),)
    )
    mine = PriceOverride("claude-x", Decimal(7), Decimal(9), since=date(2026, 1, 1), until=date(2026, 2, 1))
    before, during, after = resolve(made_book(listed), [mine], RateKey("claude-x-20250101", *PLAIN))
    assert [of(rate, "input") for rate in (before, during, after)] == [(2,), (7,), (2,)]
    assert (before.source, during.source) == ("genai-prices 1", "configuration")
    assert during.priced_as == "claude-x"
    assert (during.since, during.until) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
    assert of(during, "cache_read", "cache_write_1h", "web_search") == (Decimal("0.7"), 14, 10)
    assert len(during.notes) == 3


def test_an_override_prices_what_the_data_does_not_know() -> None:
    mine = PriceOverride("my-own-model", Decimal(1), Decimal(2), above=1000)
    small, large = resolve(made_book(), [mine], RateKey("my-own-model", *PLAIN))
    assert (small.is_priced, small.upto) == (False, 1000)
    assert of(large, "is_priced", "above", "output") == (True, 1000, 2)
