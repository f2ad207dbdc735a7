"""Where the money stands at this moment: a session, today, the present five-hour block, the budgets.

A status line asks for this many times a minute, each time in a new process, where imports take longer than the answer. So
nothing here imports more than the schema and SQLite before somebody asks for a `Standing`; until then times are milliseconds
or quarters of an hour, and exact amounts are decimal numbers as text. `find_standing` and the reports give the same figures.
"""

from __future__ import annotations

import os
import time

from hansard.index.schema import QUARTER, VERSION

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from typing import Any

    from hansard.ledger.calendar import Zone
    from hansard.model.current import CurrentUsage
    from hansard.model.ledger import Limit
    from hansard.query.reader import Reader

    Ask = Callable[[str, tuple[Any, ...]], Iterable[Any]]
    Shift = Callable[[int], int]

LENGTH = 5 * 3_600_000  # of a block
_HOUR, _MINUTE = 3_600_000, 60_000
_PER_DAY = 96  # quarters
_SECONDS = QUARTER // 1000
_LATELY = _PER_DAY  # sessions that were active in so many quarters are in every snapshot
_BUSY_MILLISECONDS = 40
_STEPS = 2000  # of SQLite's machine between two looks at the clock

_SUMS = (
    "sum(messages) m, sum(lower_bounds) l, sum(input) i, sum(output) o, sum(cache_read) c, sum(cache_write_5m) w,"
    " sum(cache_write_1h) h, sum(web_searches) s, sum(recorded) d"
)
_SPENT = (
    "SELECT x.*, r.model, r.priced_as, r.input, r.output, r.cache_read, r.cache_write_5m, r.cache_write_1h, r.web_search"
    f" FROM (SELECT rate, has_recorded, {_SUMS} FROM spending WHERE {{}} GROUP BY rate, has_recorded) x"
    " CROSS JOIN rates r ON r.id = x.rate"
)
_SESSIONS = (
    "SELECT u.session_id, c.cost_usd, u.input_tokens + u.output_tokens + u.cache_read_tokens + u.cache_write_tokens,"
    " u.api_messages, u.lower_bound_messages, c.unpriced_models FROM session_usage u"
    " CROSS JOIN session_costs c ON c.session_id = u.session_id WHERE u.session_id"
)
_ACTIVE = (
    "SELECT min(first_ts), max(last_ts) FROM spending WHERE quarter > 0 AND quarter <= ?"
    " GROUP BY quarter ORDER BY quarter DESC"
)


# -- the calendar


def here(quarter: int) -> int:
    """How many quarters of an hour the system's own time zone is ahead of UTC."""
    return time.localtime(quarter * _SECONDS).tm_gmtoff // _SECONDS


def find_periods(now: int, shift: Shift) -> dict[str, int]:
    """The quarters in which the present day, week and month began and the next day begins, where the clock is so far ahead."""
    quarter = now // QUARTER
    day = (quarter + shift(quarter)) // _PER_DAY
    local = time.gmtime(day * _PER_DAY * _SECONDS)
    first = {"day": day, "week": day - local.tm_wday, "month": day - local.tm_mday + 1, "next": day + 1}
    return {name: _midnight(number, shift) for name, number in first.items()}


def _midnight(day: int, shift: Shift) -> int:
    """As `Zone.midnight`."""
    quarter = day * _PER_DAY - shift(day * _PER_DAY)
    while (quarter + shift(quarter)) // _PER_DAY >= day:
        quarter -= 1
    while (quarter + shift(quarter)) // _PER_DAY < day:
        quarter += 1
    return quarter


# -- what the index knows


def look(
    ask: Ask, session_id: str | None, limits: Sequence[Sequence[Any]], periods: dict[str, int], now: int
) -> dict[str, Any]:
    """Everything a status line of any session may show, as JSON knows it; of older sessions only the one asked for."""
    sessions = {row[0]: _session(row) for row in ask(f"{_SESSIONS} IN ({_RECENT})", (now // QUARTER - _LATELY,))}
    if session_id is not None and session_id not in sessions:
        sessions |= {row[0]: _session(row) for row in ask(f"{_SESSIONS} = ?", (session_id,))}
    return {
        "at": now,
        "sessions": sessions,
        "today": _spent(ask, "quarter >= ? AND quarter < ?", (periods["day"], periods["next"])),
        "block": _block(ask, now),
        "budgets": [_budget(ask, limit, periods) for limit in limits],
    }


_RECENT = "SELECT session_id FROM spending WHERE quarter > ?"


def _session(row: Any) -> dict[str, Any]:
    return dict(zip(("cost", "tokens", "messages", "lower_bounds", "models"), row[1:], strict=True))


def _spent(ask: Ask, where: str, values: tuple[Any, ...]) -> dict[str, Any]:
    """What the messages cost that a condition on `spending` holds for."""
    rows = list(ask(_SPENT.format(where), values))
    # Whole numbers of the smallest part of a dollar that can occur are exact, and cost no import.
    digits = max((len(_fraction(price)) for row in rows for price in row[13:]), default=0) + 9
    units = messages = lower_bounds = unpriced = tokens = 0
    is_priced = not rows
    missing = set()
    for _, has_recorded, count, lower, *used, searches, billionths, model, priced_as, i, o, c, w, h, s in rows:
        messages, lower_bounds, tokens = messages + count, lower_bounds + lower, tokens + sum(used)
        if not has_recorded and priced_as is None:
            unpriced += count
            missing.add(model)
            continue
        is_priced = True
        if has_recorded:
            units += billionths * 10 ** (digits - 9)
        else:
            each = zip((*used, searches), (i, o, c, w, h, s), (6, 6, 6, 6, 6, 3), strict=True)
            units += sum(number * _units(price, digits - scale) for number, price, scale in each)
    return {
        "cost": decimal(units, digits) if is_priced else None,
        "tokens": tokens,
        "messages": messages,
        "lower_bounds": lower_bounds,
        "unpriced": unpriced,
        "models": sorted(missing),
    }


def _fraction(price: str | None) -> str:
    return (price or "").partition(".")[2]


def _units(amount: str | None, digits: int) -> int:
    """A decimal number as whole units of so many digits after the point."""
    whole, _, fraction = (amount or "0").partition(".")
    return int(whole + fraction.ljust(digits, "0"))


def decimal(units: int, digits: int) -> str:
    """Whole units as a decimal number, without zeros that say nothing."""
    text = str(units).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")


def _block(ask: Ask, now: int) -> dict[str, Any] | None:
    """The present block. A silence of five hours ends every block, so nothing before the last one matters."""
    run: list[tuple[int, int]] = []
    # Blocks begin with an hour, so also a message of the rest of this hour may have begun this one: clocks differ.
    for first, last in ask(_ACTIVE, ((now // _HOUR + 1) * _HOUR // QUARTER - 1,)):
        if (run[-1][0] if run else now) - last > LENGTH:
            break
        run.append((first, last))
    start = begun = 0
    for first, _ in reversed(run):
        if first >= start + LENGTH:
            start, begun = first - first % _HOUR, first
    if not run or now >= start + LENGTH:
        return None
    spent = _spent(ask, "quarter >= ? AND quarter < ?", (start // QUARTER, (start + LENGTH) // QUARTER))
    return {"start": start, "end": start + LENGTH, "first": begun, "last": run[0][1], **spent}


def _budget(ask: Ask, limit: Sequence[Any], periods: dict[str, int]) -> dict[str, Any]:
    period, limit_usd, warn_at, project = limit
    where, values = "quarter >= ?", (periods[period],)
    if project is not None:
        from hansard.query.compile import in_project

        inside = in_project(project)
        where += f" AND session_id IN (SELECT session_id FROM sessions WHERE {inside.sql})"
        values += inside.values
    spent = _spent(ask, where, values)
    amount = spent["cost"] or "0"
    digits = max(map(len, map(_fraction, (amount, limit_usd, warn_at)))) + 1
    used, most, share = (_units(text, digits) for text in (amount, limit_usd, warn_at))
    state = "over" if used > most else "near" if used * 10**digits >= share * most else "ok"
    return {"period": period, "project": project, "limit": limit_usd, "state": state, **spent}


# -- two ways to ask


def read_store(
    path: str,
    session_id: str | None,
    limits: Sequence[Sequence[Any]],
    periods: dict[str, int],
    now: int,
    seconds: float,
) -> dict[str, Any]:
    """`look` at the index in a file, within so many seconds; raises whatever keeps it from an answer in that time."""
    import apsw

    deadline = time.monotonic() + seconds
    db = _open(path, apsw)
    try:
        db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        if db.pragma("user_version") != VERSION:
            raise LookupError(f"{path} was made by another version")
        db.execute("BEGIN")  # one and the same state for all questions
        return look(db.execute, session_id, limits, periods, now)
    finally:
        db.close()


def _open(path: str, apsw: Any) -> Any:
    """As `hansard.query.reader` does, but it waits for nobody."""
    slashed = os.path.abspath(path).replace(os.sep, "/")
    for character in "%?#":
        slashed = slashed.replace(character, f"%{ord(character):02x}")
    address = "file:" + ("" if slashed.startswith("/") else "/") + slashed
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"{address}?mode=ro", flags=flags)
    try:
        db.set_busy_timeout(_BUSY_MILLISECONDS)
        db.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # In a read-only directory SQLite cannot make its -shm file, and needs none while no log is pending.
        db.close()
        if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
            raise
        return apsw.Connection(f"{address}?immutable=1", flags=flags)
    except BaseException:
        db.close()
        raise
    return db


def find_standing(
    reader: Reader, session_id: str | None, *, limits: Sequence[Limit], zone: Zone, now: datetime | None
) -> CurrentUsage:
    """Where a session, today, the present block and the budgets stand."""
    import json
    from datetime import UTC, datetime
    from decimal import Decimal

    from hansard.ledger.budgets import check_budgets
    from hansard.model.current import CurrentTotal, CurrentUsage

    def spent(found: dict[str, Any]) -> CurrentTotal:
        models = found["models"]
        return CurrentTotal(
            cost_usd=None if found["cost"] is None else Decimal(found["cost"]),
            tokens=found["tokens"],
            api_messages=found["messages"],
            lower_bound_messages=found["lower_bounds"],
            unpriced_models=tuple(json.loads(models) if isinstance(models, str) else models),
        )

    def moment(milliseconds: int) -> datetime:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)

    now = now or datetime.now(UTC)
    at = int(now.timestamp() * 1000)
    periods = find_periods(at, zone.shift)
    found = look(reader.rows, session_id, (), periods, at)
    session, block = found["sessions"].get(session_id), found["block"]
    used = spent(block) if block else None
    passed = at - block["first"] if block else 0
    cost = used.cost_usd if used is not None and passed >= _MINUTE else None
    return CurrentUsage(
        at=now,
        session_id=session_id,
        session=spent(session) if session else None,
        today=spent(found["today"]),
        today_since=moment(periods["day"] * QUARTER),
        block=used,
        block_start=moment(block["start"]) if block else None,
        block_end=moment(block["end"]) if block else None,
        burn_usd_per_hour=None if cost is None else cost * _HOUR / passed,
        remaining_minutes=(block["end"] - at) // _MINUTE if block else None,
        budgets=tuple(check_budgets(reader, limits, zone=zone, now=now)),
    )
