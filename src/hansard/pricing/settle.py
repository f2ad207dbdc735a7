"""Bring the costs in the index up to date: rates for every model seen, sums per quarter of an hour, costs of sessions.

The index knows which quarters of which sessions changed; only these are summed again. When prices change, everything is
priced again from the rows of `usage`, without reading transcripts.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hansard.index.schema import QUARTER
from hansard.model.time import to_milliseconds

if TYPE_CHECKING:
    from hansard.index.sql import Sql
    from hansard.model.ledger import PriceData, PriceOverride, Rate
    from hansard.pricing.book import Book

FOREVER = 1 << 62
_AT_ONCE = 16  # sessions
_RULES = 1  # bump when the rules change: everything is then priced again
_SUMS = (
    "sum(messages), sum(lower_bounds), sum(input), sum(output), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h),"
    " sum(web_searches), sum(recorded), sum(progress_only), min(first_ts), max(last_ts)"
)
_KEY = "quarter, session_id, agent_id, branch, rate, has_recorded"

Isolated = Callable[[str], AbstractContextManager[Any]]


class Prices:
    """The prices of a store: the data in its home, and the user's overrides."""

    def __init__(self, home: str, overrides: Sequence[PriceOverride] = ()) -> None:
        self.home = home
        self.overrides = tuple(overrides)
        self._book: Book | None = None
        self._print = ""  # of the loaded data

    @property
    def book(self) -> Book:
        from hansard.pricing.book import load

        while self._book is None:
            # Loading may rewrite the file, and another process may fetch one meanwhile: sign what was read.
            self._print = fingerprint(self.home)
            book = load(self.home)
            if self._print == fingerprint(self.home):
                self._book = book
        return self._book

    def signature(self) -> str:
        """What the resolved rates depend on; computed without loading the data."""
        known = self._print if self._book is not None else fingerprint(self.home)
        return "\n".join([f"{_RULES} {known}", *map(repr, self.overrides)])

    def fetch(self, url: str | None = None) -> PriceData:
        """Fetch the newest data over the network."""
        from hansard.model.ledger import PriceData
        from hansard.pricing.book import fetch

        self._book = None
        book = fetch(self.home, url)
        fetched = datetime.fromisoformat(book.fetched_at) if book.fetched_at else None
        return PriceData("genai-prices", book.version, book.dated, fetched, len(self.overrides))


def settle(db: Sql, prices: Prices, isolated: Isolated = nullcontext) -> None:
    """Price what changed, or everything if the prices changed.

    Rates of a model are looked up inside `isolated(name)`, which may contain errors so that other models are unaffected.
    """
    if not is_settled(db, prices) and db.execute("SELECT 1 FROM usage LIMIT 1").fetchone() is not None:
        _ = prices.book  # may rewrite the data, which changes its fingerprint
    if not is_settled(db, prices):
        db.execute("DELETE FROM rates")
        db.execute("DELETE FROM spending")
        db.execute("DELETE FROM session_costs")
        db.execute(f"INSERT OR IGNORE INTO unsettled SELECT session_id, ts / {QUARTER} FROM usage")
        db.execute("INSERT OR REPLACE INTO meta VALUES ('prices', ?)", (prices.signature(),))
    if db.execute("SELECT 1 FROM unsettled LIMIT 1").fetchone() is None:
        return
    _resolve(db, prices, isolated)
    db.execute("DELETE FROM spending WHERE (quarter, session_id) IN (SELECT quarter, session_id FROM unsettled)")
    _sum(db)
    _sessions(db)
    db.execute("DELETE FROM unsettled")
    if db.execute("SELECT 1 FROM meta WHERE name = 'unused_rates'").fetchone() is not None:
        db.execute("DELETE FROM rates WHERE model NOT IN (SELECT model FROM usage)")
        db.execute("DELETE FROM meta WHERE name = 'unused_rates'")


def _sum(db: Sql) -> None:
    """Sum the unsettled quarters, a few sessions at a time: sorting all messages of a history would need memory in proportion."""
    sessions = [row[0] for row in db.execute("SELECT DISTINCT session_id FROM unsettled ORDER BY session_id")]
    key = f"c.{_KEY.replace(', ', ', c.')}"
    for at in range(0, len(sessions), _AT_ONCE):
        some = sessions[at : at + _AT_ONCE]
        db.execute(
            f"INSERT INTO spending SELECT {key}, {_SUMS} FROM unsettled n CROSS JOIN charges c ON c.session_id = n.session_id"
            f" AND c.first_ts BETWEEN n.quarter * {QUARTER} AND n.quarter * {QUARTER} + {QUARTER - 1}"
            f" WHERE n.session_id BETWEEN ? AND ? GROUP BY {key}",
            (some[0], some[-1]),
        )


def is_settled(db: Sql, prices: Prices) -> bool:
    """Whether everything was priced with these prices."""
    row = db.execute("SELECT value FROM meta WHERE name = 'prices'").fetchone()
    return row is not None and row[0] == prices.signature()


def _resolve(db: Sql, prices: Prices, isolated: Isolated) -> None:
    """Find rates for everything that messages name and that has none yet."""
    unsettled = (
        f"unsettled n CROSS JOIN usage u ON u.session_id = n.session_id"
        f" AND u.ts BETWEEN n.quarter * {QUARTER} AND n.quarter * {QUARTER} + {QUARTER - 1}"
    )
    # Without any rates nothing is settled, and a plain scan is several times faster.
    has_rates = db.execute("SELECT 1 FROM rates LIMIT 1").fetchone() is not None
    new = db.execute(
        f"SELECT DISTINCT u.model, u.service_tier, u.speed, u.inference_geo FROM {unsettled if has_rates else 'usage u'}"
        " EXCEPT SELECT model, service_tier, speed, inference_geo FROM rates"
    ).fetchall()
    if not new:
        return
    import json

    from hansard.pricing.rates import RateKey, resolve, unpriced

    data = prices.book
    # In an empty store the data is written only now, which changes its fingerprint.
    db.execute("INSERT OR REPLACE INTO meta VALUES ('prices', ?)", (prices.signature(),))
    db.execute(
        "INSERT OR REPLACE INTO meta VALUES ('price_data', ?)",
        (json.dumps([data.version, data.dated, data.fetched_at, len(prices.overrides)]),),
    )
    for row in sorted(new):
        key = RateKey(*row)
        rates = [unpriced(key)]
        with isolated(" ".join(filter(None, key))):
            rates = resolve(data, prices.overrides, key)
        db.executemany(f"INSERT INTO rates VALUES (NULL,{','.join('?' * 17)})", map(_row, rates))


def _row(rate: Rate) -> tuple[Any, ...]:
    import json

    prices = (rate.input, rate.output, rate.cache_read, rate.cache_write_5m, rate.cache_write_1h, rate.web_search)
    return (
        rate.model,
        rate.service_tier,
        rate.speed,
        rate.inference_geo,
        _milliseconds(rate.since, -FOREVER),
        _milliseconds(rate.until, FOREVER),
        -1 if rate.above is None else rate.above,
        FOREVER if rate.upto is None else rate.upto,
        rate.priced_as,
        *(None if price is None else format(price, "f") for price in prices),
        rate.source,
        json.dumps(rate.notes),
    )


def _milliseconds(moment: datetime | None, default: int) -> int:
    return default if moment is None else to_milliseconds(moment)


def _sessions(db: Sql) -> None:
    """Update the costs of sessions whose quarters were summed again."""
    import json

    from hansard.model.ledger import Tokens
    from hansard.pricing.cost import EXACT, ZERO, cost, rates_of, recorded

    rates = rates_of(db.execute)
    db.execute("DELETE FROM session_costs WHERE session_id IN (SELECT session_id FROM unsettled)")
    rows = db.execute(
        "SELECT session_id, rate, has_recorded, sum(input), sum(output), sum(cache_read), sum(cache_write_5m),"
        " sum(cache_write_1h), sum(web_searches), sum(recorded) FROM spending"
        " WHERE session_id IN (SELECT session_id FROM unsettled) GROUP BY session_id, rate, has_recorded ORDER BY session_id"
    )

    def costs() -> Iterator[tuple[str, str | None, str]]:
        session, amount, priced, missing = None, ZERO, False, set[str]()
        for session_id, rate, has_recorded, *tokens, billionths in rows:
            if session_id != session:
                if session is not None:
                    yield session, format(amount, "f") if priced else None, json.dumps(sorted(missing))
                session, amount, priced, missing = session_id, ZERO, False, set()
            charged = recorded(billionths) if has_recorded else cost(rates[rate], Tokens(*tokens))
            if charged is None:
                missing.add(rates[rate].model)
            else:
                amount, priced = EXACT.add(amount, charged), True
        if session is not None:
            yield session, format(amount, "f") if priced else None, json.dumps(sorted(missing))

    db.executemany("INSERT INTO session_costs VALUES (?,?,?)", list(costs()))


FILE_NAME = "prices.json"


def installed() -> str:
    """A fingerprint of the installed price data, without importing it or the machinery that finds packages."""
    for folder in sys.path:
        with contextlib.suppress(OSError):
            size = os.path.getsize(os.path.join(folder, "genai_prices", "data.py"))
            return f"{_versions(folder or '.', os.stat(folder or '.').st_mtime_ns)} {size}"
    return "none"


@lru_cache(maxsize=1)
def _versions(folder: str, mtime_ns: int) -> str:  # noqa: ARG001 - installing another version changes the folder's time
    """The installed versions; the same in every environment with these, so that several can share a store."""
    return ",".join(sorted(name for name in os.listdir(folder) if name.startswith("genai_prices-")))


def fingerprint(home: str) -> str:
    """Identifies the prices in use without reading them."""
    kept = "none"
    with contextlib.suppress(OSError):
        known = os.stat(os.path.join(home, FILE_NAME))
        kept = f"{known.st_size}-{known.st_mtime_ns}"
    return f"{installed()} {kept}"
