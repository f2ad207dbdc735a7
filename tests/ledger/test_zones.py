"""Hours, days, weeks and months where the user lives: compared with zoneinfo, message by message."""

from __future__ import annotations

import random
import time
import zoneinfo
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from hansard.errors import UsageError
from hansard.model.calendar import QUARTERS_PER_DAY, Zone, day_of, find_zone
from tests.ledger.conftest import Kept, keep
from tests.ledger.making import ONE, said
from tests.ledger.test_report import assert_slowly
from tests.sync.making import Line, Tree, main_path

if TYPE_CHECKING:
    from collections.abc import Iterator

ZONES = (
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",  # half an hour of summer time
    "Asia/Kathmandu",  # +5:45
    "America/St_Johns",  # -3:30, -2:30
    "Africa/Casablanca",  # back an hour in Ramadan
    "Pacific/Apia",
    "Pacific/Chatham",  # +12:45, +13:45
    "UTC",
)
QUARTER = timedelta(minutes=15)
ALL = sorted(
    name for name in zoneinfo.available_timezones() if not name.startswith(("posix", "right")) and name != "localtime"
)


def changes(zone: ZoneInfo, year: int) -> Iterator[datetime]:
    """The moments of a year at which the clocks of a zone are set."""
    moment = datetime(year, 1, 1, tzinfo=UTC)
    while moment.year == year:
        later = moment + timedelta(hours=1)
        if moment.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            while moment.astimezone(zone).utcoffset() == (moment + timedelta(minutes=1)).astimezone(zone).utcoffset():
                moment += timedelta(minutes=1)
            yield moment + timedelta(minutes=1)
        moment = later


def moments() -> list[datetime]:
    """Around both changes of the clocks and around midnight, in every zone; to the millisecond, and at the ends of years."""
    found = set()
    around = [timedelta(hours=hours, milliseconds=step) for hours in range(-3, 4) for step in (-1, 0, 1)]
    for name in ZONES:
        zone = ZoneInfo(name)
        set_at = list(changes(zone, 2026))
        days = {moment.astimezone(zone).date() for moment in set_at} | {date(2025, 12, 31), date(2026, 2, 28)}
        for moment in set_at:
            found |= {
                moment + step
                for step in (*around, timedelta(minutes=-15), timedelta(minutes=15), timedelta(minutes=31))
            }
        for day in days:
            for number in range(-1, 3):
                start = datetime(day.year, day.month, day.day, tzinfo=zone) + timedelta(days=number)
                found |= {
                    start.astimezone(UTC) + step
                    for step in (timedelta(milliseconds=-1), timedelta(), timedelta(hours=23))
                }
    return sorted(found)


def lines(times: list[datetime]) -> list[Line]:
    return [said(ONE, number, moment, (number + 1, 1)) for number, moment in enumerate(times)]


@pytest.fixture(scope="module")
def around(memory: Path) -> Iterator[Kept]:
    tree = Tree(memory / "zones" / "claude", memory / "zones" / "store")
    tree.write(main_path(ONE), [*lines(moments()), said(ONE, 99_999, None)])
    kept = keep(tree.config, tree.home)
    yield kept
    kept.h.close()


@pytest.mark.parametrize("by", ["hour", "day", "week", "month"])
@pytest.mark.parametrize("zone", ZONES)
def test_every_message_lies_where_a_clock_puts_it(around: Kept, zone: str, by: str) -> None:
    assert len(around.messages) > 500
    assert_slowly(around, by, zone)


@pytest.mark.parametrize("zone", ZONES)
def test_a_message_is_on_one_day_only(around: Kept, zone: str) -> None:
    """Asked for day by day, in the words of the query language, each is found once."""
    by_day = around.h.usage(by="day", timezone=zone).rows
    found = 0
    for row in by_day:
        if row.key["day"] is not None:
            asked = around.h.usage(f"on:{row.key['day']}", by="total", timezone=zone).totals
            assert asked.api_messages == row.api_messages
            assert asked.input_tokens == row.input_tokens
            found += asked.api_messages
    assert found == len(around.messages) - 1, "all but the one without a time"


def test_the_hour_that_is_twice_is_two_hours(tree: Tree) -> None:
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # half past two in Berlin, and again an hour later
    tree.write(main_path(ONE), lines([first, first + timedelta(hours=1)]))
    kept = keep(tree.config, tree.home)
    with kept.h as h:
        keys = [row.key["hour"] for row in h.usage(by="hour", timezone="Europe/Berlin").rows]
        assert keys == ["2026-10-25T02:00+01:00", "2026-10-25T02:00+02:00"]
        assert len(h.usage(by="day", timezone="Europe/Berlin").rows) == 1
        keys = [row.key["hour"] for row in h.usage(by="hour", timezone="UTC").rows]
        assert keys == ["2026-10-25T00:00Z", "2026-10-25T01:00Z"]


def test_a_day_that_never_was(tree: Tree) -> None:
    """Samoa went from 29 to 31 December 2011."""
    end = datetime(2011, 12, 30, 10, tzinfo=UTC)
    tree.write(main_path(ONE), lines([end - QUARTER, end, end + timedelta(days=1)]))
    kept = keep(tree.config, tree.home)
    with kept.h as h:
        days = [row.key["day"] for row in h.usage(by="day", timezone="Pacific/Apia").rows]
        assert days == ["2011-12-29", "2011-12-31", "2012-01-01"]
    assert Zone(ZoneInfo("Pacific/Apia")).midnight(date(2011, 12, 30)) == end


def quarter_of(moment: datetime) -> int:
    return int(moment.timestamp()) // 900


@pytest.mark.parametrize(
    ("name", "year"),
    [
        *((name, random.Random(name).randrange(1972, 2038)) for name in random.Random(11).sample(ALL, 12)),
        ("America/Recife", 2000),  # clocks were set twice within a week
        ("Africa/Casablanca", 2026),
        ("Africa/Cairo", 2010),
        ("Asia/Gaza", 2011),
    ],
)
def test_the_changes_of_a_zone(name: str, year: int) -> None:
    """What is looked up by halving is what a look at every quarter of an hour finds, from any quarter of the year on."""
    zone, info = Zone(ZoneInfo(name)), ZoneInfo(name)
    low, high = (quarter_of(datetime(at, 1, 1, tzinfo=UTC)) for at in (year, year + 1))
    slow: list[tuple[int, int]] = []
    for quarter in range(low, high + 1):
        offset = datetime.fromtimestamp(quarter * 900, UTC).astimezone(info).utcoffset() or timedelta()
        shift = offset // QUARTER
        if not slow or slow[-1][1] != shift:
            slow.append((quarter, shift))
    for start in range(low, low + 672, 97):
        later = [change for change in slow if change[0] > start]
        assert zone.shifts(start, high) == [(start, slow[0][1]), *later] or any(
            change[0] <= start for change in slow[1:]
        )


@pytest.mark.parametrize("name", random.Random(12).sample(ALL, 60))
def test_midnights(name: str) -> None:
    """A day begins with its first quarter of an hour, and days follow each other without a gap."""
    zone = Zone(ZoneInfo(name))
    dice = random.Random(name)
    for _ in range(15):
        day = date(1971, 1, 1) + timedelta(days=dice.randrange(66 * 365))
        starts = [zone.midnight(day + timedelta(days=number)) for number in range(3)]
        assert all(one < other for one, other in pairwise(starts)) or name in {"Pacific/Apia", "Pacific/Kwajalein"}
        first = quarter_of(starts[1])
        assert (first + zone.shift(first)) // QUARTERS_PER_DAY >= (day - date(1970, 1, 1)).days + 1
        assert (first - 1 + zone.shift(first - 1)) // QUARTERS_PER_DAY <= (day - date(1970, 1, 1)).days


@pytest.mark.parametrize("name", ALL[::6])
def test_midnights_of_these_years(name: str) -> None:
    """Since 2013 every zone is a multiple of fifteen minutes off, and its clocks are set at such times."""
    zone, info = Zone(ZoneInfo(name)), ZoneInfo(name)
    dice = random.Random(name)
    for _ in range(40):
        day = date(2013, 1, 1) + timedelta(days=dice.randrange(25 * 365))
        start = zone.midnight(day)
        assert start.astimezone(info).date() == day
        assert (start - timedelta(milliseconds=1)).astimezone(info).date() == day - timedelta(days=1)


def test_the_zones_of_these_years_fit_into_quarters() -> None:
    """What the sums per quarter of an hour rest on."""
    for name in ALL:
        info = ZoneInfo(name)
        offsets = Counter(
            (datetime(year, month, 15, tzinfo=UTC).astimezone(info).utcoffset() or timedelta()) % QUARTER
            for year in (2016, 2025, 2026, 2037)
            for month in range(1, 13)
        )
        assert set(offsets) == {timedelta()}, name


def test_names_of_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_zone("UTC").name == find_zone("utc").name == find_zone("z").name == "UTC"
    assert find_zone("Europe/Berlin").name == "Europe/Berlin"
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    if hasattr(time, "tzset"):
        time.tzset()
    try:
        assert find_zone(None).name == find_zone("local").name == "Asia/Kathmandu"
        if hasattr(time, "tzset"):
            assert find_zone(None).shift(quarter_of(datetime(2026, 1, 1, tzinfo=UTC))) == 23
            assert find_zone(None).midnight(date(2026, 1, 1)) == datetime(2025, 12, 31, 18, 15, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        if hasattr(time, "tzset"):
            time.tzset()
    for wrong in ("Mars/Olympus", "", "../etc/passwd", "/etc/passwd", "Europe/", "\x00", "+02:00", "a" * 5000):
        with pytest.raises(UsageError, match="unknown time zone"):
            find_zone(wrong)


def test_numbers_of_days() -> None:
    assert day_of(0) == date(1970, 1, 1)
    assert day_of(20_000) == date(1970, 1, 1) + timedelta(days=20_000)
