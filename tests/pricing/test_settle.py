"""The money side of the index: the same however it came about, and made anew when prices change."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.engine import Hansard
from hansard.model.ledger import PriceOverride
from hansard.pricing.settle import FILE_NAME, Prices
from tests.pricing.test_book import NEW, serving
from tests.sync.dumping import assert_same, dump
from tests.sync.making import Tree, agent_path, assistant, main_path, memory_folder, session, user

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE, TWO, THREE = session(1), session(2), session(3)
MINE = PriceOverride("claude-opus-4-1", Decimal(1), Decimal(2))
NEWER = PriceOverride("claude-opus-4-1", Decimal("0.3"), Decimal(7), since=date(2026, 3, 1))
OWN = PriceOverride("my-model", Decimal(100), Decimal(200))


def answer(
    session_id: str, number: int, minutes: float, model: str, usage: dict[str, Any], **more: Any
) -> dict[str, Any]:
    line = assistant(session_id, f"{session_id[-2:]}-{number}", f"msg_01{number}", "Yes.", minutes, **more)
    line["message"] |= {"model": model, "usage": usage}
    return line


def usage(input_: int, output: int, read: int = 0, five: int = 0, hour: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "input_tokens": input_,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": five + hour,
        "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour},
        **more,
    }


def files() -> dict[str, list[dict[str, Any]]]:
    """Three sessions and a subagent: known and unknown models, tiers, a batch, a fork with an earlier line, recorded costs."""
    opus, tiered, strange = "claude-opus-4-1", "claude-haiku-5-5-20260101", "my-model"
    fork = answer(THREE, 4, 50, tiered, usage(2, 2))
    return {
        main_path(ONE): [
            user(ONE, "u1", "Go."),
            answer(ONE, 1, 1, opus, usage(10, 20, 30, 40, 50)),
            answer(ONE, 1, 2, opus, usage(10, 90, 30, 40, 50, service_tier="standard")),
            answer(ONE, 2, 30, tiered, usage(100_001, 1)),
            answer(ONE, 3, 31, tiered, usage(1, 1, 100_000)),
            answer(ONE, 4, 60, tiered, usage(1, 2, 3, server_tool_use={"web_search_requests": 3})),
            answer(ONE, 5, 61, opus, usage(7, 7), costUSD=0.123456789),
        ],
        agent_path(ONE, "a1"): [answer(ONE, 6, 3, opus, usage(5, 5, service_tier="batch"), agentId="a1", isSidechain=True)],
        main_path(TWO): [user(TWO, "u2", "Go."), answer(TWO, 7, 5000, strange, usage(1, 1)), answer(TWO, 8, 9, strange, usage(1, 2))],
        # The same message, seen earlier and with other words in a session that is read later.
        main_path(THREE): [user(THREE, "u3", "Go."), fork, answer(THREE, 9, 70, opus, usage(1000, 1000)), answer(THREE, 10, 70, strange, usage(3, 4))],
    }  # fmt: skip


def made(tree: Tree, overrides: Sequence[PriceOverride] = ()) -> Tree:
    for path, lines in files().items():
        tree.write(path, lines)
    tree.sync(prices=Prices(str(tree.home), overrides))
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "claude", tmp_path / "store")


def costs(tree: Tree) -> dict[str, tuple[str | None, list[str]]]:
    return {row[0]: (row[1], json.loads(row[2])) for row in tree.rows("SELECT * FROM session_costs")}


def test_what_sessions_cost(tree: Tree) -> None:
    made(tree)
    opus = Fraction(10 * 15 + 90 * 75 + 30 * Fraction("1.5") + 40 * Fraction("18.75") + 50 * 30, 10**6)
    batch = Fraction(5 * 15 + 5 * 75, 2 * 10**6)
    large = Fraction(
        100_001 * Fraction("0.5") + Fraction("2.5") + Fraction("0.5") + Fraction("2.5") + 100_000 * Fraction("0.05"),
        10**6,
    )
    fork = Fraction(2 * Fraction("0.1") + 2 * Fraction("0.5") + 3 * Fraction("0.01"), 10**6) + Fraction(3, 100)
    found = costs(tree)
    assert Fraction(found[ONE][0] or 0) == opus + batch + large + Fraction(123_456_789, 10**9)
    assert found[ONE][1] == []
    assert found[TWO] == (None, ["my-model"])
    assert Fraction(found[THREE][0] or 0) == fork + Fraction(1000 * 15 + 1000 * 75, 10**6)
    assert found[THREE][1] == ["my-model"]


def test_sessions_cost_what_their_rows_add_up_to(tree: Tree) -> None:
    made(tree)
    with Hansard(str(tree.home), tree.roots) as h:
        report = h.usage(by="session")
        for row in report.rows:
            assert h.session(str(row.key["session"])).cost_usd == row.cost_usd
        assert (
            sum((row.cost_usd for row in report.rows if row.cost_usd is not None), Decimal(0)) == report.totals.cost_usd
        )


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_any_order_of_syncs_gives_the_same_money(seed: int) -> None:
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        _grow(random.Random(seed), Path(folder))


def _grow(dice: random.Random, place: Path) -> None:
    tree = Tree(place / "claude", place / "store")
    waiting = {path: list(lines) for path, lines in files().items()}
    changes: list[tuple[PriceOverride, ...]] = [(), (MINE,), (OWN, MINE)]
    while waiting:
        path = dice.choice(sorted(waiting))
        some = dice.randrange(1, 4)
        tree.append(path, waiting[path][:some])
        waiting[path] = waiting[path][some:]
        if not waiting[path]:
            del waiting[path]
        if dice.random() < 0.7:
            tree.sync(prices=Prices(str(tree.home), dice.choice(changes) if dice.random() < 0.3 else ()))
    tree.sync(prices=Prices(str(tree.home), (OWN, NEWER)))
    grown = dump(tree.home)
    fresh = Tree(tree.config, place / "fresh")
    fresh.sync(prices=Prices(str(fresh.home), (OWN, NEWER)))
    assert_same(dump(fresh.home), grown)


def test_a_changed_override_prices_everything_again(tree: Tree, tmp_path: Path) -> None:
    made(tree)
    before = costs(tree)
    for overrides in ((MINE,), (MINE, OWN), (NEWER,), ()):
        tree.sync(prices=Prices(str(tree.home), overrides))
        fresh = Tree(tree.config, tmp_path / "fresh")
        fresh.sync(prices=Prices(str(fresh.home), overrides))
        assert_same(dump(fresh.home), dump(tree.home))
        assert (costs(tree) == before) == (not overrides)
        shutil.rmtree(fresh.home)


def test_an_override_prices_what_had_no_price(tree: Tree) -> None:
    made(tree, (OWN,))
    amount, missing = costs(tree)[TWO]
    assert (Decimal(amount or 0), missing) == (Decimal("0.0008"), [])
    tree.sync(prices=Prices(str(tree.home)))
    assert costs(tree)[TWO] == (None, ["my-model"])


@pytest.mark.usefixtures("at_rest")
def test_nothing_is_priced_again_where_nothing_changed(tree: Tree) -> None:
    made(tree)
    before = (tree.home / "index.db").read_bytes()
    assert tree.sync(prices=Prices(str(tree.home))).changed == 0
    assert (tree.home / "index.db").read_bytes() == before


@pytest.mark.usefixtures("at_rest")
def test_the_first_message_of_a_store_is_priced_once(tree: Tree) -> None:
    """A store that was empty has no price data yet; that it is made then is no reason to price again."""
    tree.write(main_path(TWO), [user(TWO, "u2", "Go.")])
    tree.sync()
    assert not (tree.home / FILE_NAME).exists()
    made(tree)
    before = (tree.home / "index.db").read_bytes()
    tree.sync()
    assert (tree.home / "index.db").read_bytes() == before


def test_fetched_prices_are_used_at_the_next_sync(tree: Tree) -> None:
    made(tree)
    with Hansard(str(tree.home), tree.roots) as h:
        assert h.price_data().fetched_at is None
        with serving(json.dumps(NEW).encode()) as address:
            data = h.update_prices(address)
        h.sync()
        assert h.price_data() == data
        assert {rate.is_priced for rate in h.rates()} == {False}
        # What is left is what a client of old wrote.
        assert h.usage(by="total").totals.cost_usd == Decimal("0.123456789")
        assert h.usage(by="total", mode="calculate").totals.cost_usd is None
        os.unlink(tree.home / FILE_NAME)
        h.sync()
        assert h.price_data().fetched_at is None
        assert all(rate.is_priced or rate.model == "my-model" for rate in h.rates())


def test_the_price_data_is_told(tree: Tree) -> None:
    made(tree, (MINE, OWN))
    with Hansard(str(tree.home), tree.roots) as h:
        data = h.usage(by="total").pricing.data
        assert (data.source, data.overrides, data.fetched_at) == ("genai-prices", 2, None)
        assert "2026-01-01" < data.dated <= datetime.now(UTC).date().isoformat()
        assert data == h.price_data()


def test_asking_loads_no_price_data(tree: Tree) -> None:
    """The package takes longer to load than a question may take."""
    made(tree)
    code = (
        "import sys; from hansard.engine import Hansard\n"
        f"with Hansard({str(tree.home)!r}, ()) as h:\n"
        "    h.usage(by='day'); h.blocks(); h.rates(); h.price_data()\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"genai_prices", "pydantic", "httpx2"} & set(done.stdout.split())
