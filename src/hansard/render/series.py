"""The values of a chart: the amounts of a report, by time, by day or by name.

Amounts are money where any row of the report has a price, tokens otherwise. Usage without a price is kept
apart, so that it is not drawn as zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.model import time
from hansard.render.format import ProjectNames, cost, date_range, dollars, model_name, project_name, short, tool_name
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.ledger import UsageReport, UsageRow

Key = str | None

STEPS = ("hour", "day", "week", "month", "year")
MONTHS = [name[:3] for name in time.MONTHS]
DAYS = [name[:3] for name in time.DAYS]
WEEKS = 53
OTHERS = "others"
MARK = "?"  # beside what has no price
_SERIES = 6  # that can be distinguished
_UNTIL_TODAY = 7  # empty bars at most between the last usage and today
_HOUR = 3600
_MILLION = 1_000_000  # dollars; larger amounts are shown without cents
_UNKNOWN = {"tool": "no tool", "branch": "no branch", "project": "no project", "model": "no model"}


@dataclass(frozen=True, slots=True)
class Amount:
    """A sum; None if nothing has a price. `partly`: some usage has no price, `lower`: it is a lower bound."""

    value: Decimal | None = None
    partly: bool = False
    lower: bool = False

    def __add__(self, other: Amount) -> Amount:
        """The sum; an uncertain part makes it uncertain."""
        from hansard.pricing.cost import EXACT

        doubts = (self.partly or other.partly, self.lower or other.lower)
        if self.value is None or other.value is None:
            return Amount(other.value if self.value is None else self.value, *doubts)
        return Amount(EXACT.add(self.value, other.value), *doubts)

    @property
    def size(self) -> Decimal:
        return max(self.value or Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class Measure:
    """What a report's pictures measure."""

    is_money: bool

    @property
    def title(self) -> str:
        """Its name at the beginning of a sentence."""
        return "Cost" if self.is_money else "Tokens"

    @property
    def unit(self) -> str:
        """What its numbers count."""
        return "US dollars" if self.is_money else "tokens, cached ones included"

    def of(self, row: UsageRow) -> Amount:
        """The amount of a row."""
        lower = row.is_lower_bound
        if not self.is_money:
            return Amount(Decimal(row.tokens), lower=lower)
        return Amount(row.cost_usd, row.cost_usd is None or row.unpriced_messages > 0, lower)

    def text(self, amount: Amount) -> str:
        """An amount as people read it, with the marks of what is not certain."""
        if amount.value is None:
            return "unpriced"
        if self.is_money and abs(amount.value) < _MILLION:
            return cost(amount.value, lower_bound=amount.lower, unpriced=amount.partly)
        mark = "+?" if amount.partly else "+" if amount.lower else ""
        return self.number(amount.value) + mark

    def number(self, value: Decimal) -> str:
        """A value in few characters."""
        if not self.is_money:
            return short(value)
        return dollars(value) if abs(value) < _MILLION else f"{'-' if value < 0 else ''}${short(abs(value))}"


def measure_of(report: UsageReport) -> Measure:
    """Money where any row has a price, tokens otherwise."""
    return Measure(any(row.cost_usd is not None for row in report.rows))


def ratio(part: Decimal, whole: Decimal) -> float:
    return min(1.0, float(part / whole)) if whole > 0 else 0.0


def range_words(report: UsageReport) -> str:
    """The first and the last day with usage; empty if it has no time."""
    first, last = span_of(report)
    return "" if first is None or last is None else date_range(first, last)


def zone_of(report: UsageReport) -> Zone:
    """The time zone of a report; the system's own if its name is unknown here."""
    from hansard.model.calendar import Zone, find_zone

    try:
        return find_zone(report.timezone)
    except UsageError:
        return Zone()


def span_of(report: UsageReport) -> tuple[date | None, date | None]:
    """The first and the last day with usage."""
    zone = zone_of(report)
    first, last = (_day(moment, zone) for moment in (report.totals.first_at, report.totals.last_at))
    return first, last


def _day(moment: datetime | None, zone: Zone) -> date | None:
    try:
        return None if moment is None else zone.local(moment).date()
    except (OverflowError, ValueError, OSError):
        return None


# -- by time


@dataclass(frozen=True, slots=True)
class Bar:
    """One period and the amounts of its series; no parts without usage, no start for usage without a time."""

    start: datetime | None
    parts: dict[int, Amount]  # by the series' number

    @property
    def whole(self) -> Amount:
        return sum(self.parts.values(), Amount())


@dataclass(frozen=True, slots=True)
class Timeline:
    """Bars in order, without gaps; the series by size, the smallest combined as the last."""

    asked: str
    split: str | None  # the dimension of the series
    step: str  # the time of one bar: longer than asked for if there would be too many
    bars: tuple[Bar, ...]
    series: tuple[str, ...]  # none where the report has one dimension
    length: int  # how many of the times that were asked for lie between the first and the last
    earlier: int = 0  # bars that were left out
    keys: tuple[Key, ...] = ()  # of the series that have a name of their own

    @property
    def most(self) -> Decimal:
        return max((bar.whole.size for bar in self.bars), default=Decimal(0))

    def series_amounts(self) -> dict[int, Amount]:
        sums: dict[int, Amount] = {}
        for bar in self.bars:
            for place, amount in bar.parts.items():
                sums[place] = sums.get(place, Amount()) + amount
        return sums


def timeline(
    report: UsageReport,
    today: date,
    most: int,
    projects: ProjectNames,
    measure: Measure | None = None,
    span: tuple[date, date] | None = None,
) -> Timeline:
    """A report's amounts by its time, and by its first other dimension, in at most `most` bars.

    With a span there are bars for all of it, from one day to another, also where nothing was used.
    """
    asked = next((name for name in report.by if name in STEPS), None)
    if asked is None:
        raise UsageError(f"bars need a unit of time; use --by {', '.join(STEPS[:-1])}")
    measure, zone = measure or measure_of(report), zone_of(report)
    second = next((name for name in report.by if name != asked), None)
    names, places, keys = series_of(report, measure, second, projects)
    rows: list[tuple[datetime | None, int, Amount]] = [
        (_start(asked, row.key[asked]), places[row.key[second]] if second else 0, measure.of(row))
        for row in report.rows
    ]
    known = [start for start, _, _ in rows if start is not None]
    ends = [datetime(day.year, day.month, day.day, tzinfo=UTC) for day in span or ()] if asked != "hour" else []
    times = [*known, *ends]
    step = next((step for step in STEPS[STEPS.index(asked) :] if _length(step, times) <= most), STEPS[-1])
    sums: dict[int | None, dict[int, Amount]] = {}
    for start, place, amount in rows:
        parts = sums.setdefault(None if start is None else _number(step, start), {})
        parts[place] = parts.get(place, Amount()) + amount
    numbers: Sequence[int] = sorted(
        {number for number in sums if number is not None} | {_number(step, end) for end in ends}
    )
    earlier = 0
    if _length(step, times) > most:  # impossible times: the gaps between them are left out
        earlier = max(0, len(numbers) - most)
        numbers = numbers[earlier:]
    elif numbers:
        last = numbers[-1]
        if report.until is None and step != "hour" and not ends:
            now = _number(step, datetime(today.year, today.month, today.day, tzinfo=UTC))
            last = now if last < now <= min(last + _UNTIL_TODAY, numbers[0] + most - 1) else last
        numbers = range(numbers[0], last + 1)
    bars = [Bar(_when(step, number, zone), sums.get(number, {})) for number in numbers]
    if len(known) > 1 and known[0] > known[-1] and known == sorted(known, reverse=True):
        bars.reverse()
    if None in sums:
        bars.append(Bar(None, sums[None]))
    return Timeline(asked, second, step, tuple(bars), names, _length(asked, known), earlier, keys)


def series_of(
    report: UsageReport, measure: Measure, dimension: str | None, projects: ProjectNames
) -> tuple[tuple[str, ...], dict[Key, int], tuple[Key, ...]]:
    """The names of the series, largest first, the series number of every key, and the keys of named series."""
    if dimension is None:
        return (), {}, ()
    sums = _sums(report, measure, dimension)
    shown = sums if len(sums) <= _SERIES else sums[: _SERIES - 1]
    names = names_of(dimension, [key for key, _ in shown], projects)
    places = {key: min(place, len(names)) for place, (key, _) in enumerate(sums)}
    more = (f"{OTHERS} ({len(sums) - len(shown)})",) if len(sums) > len(shown) else ()
    return (*names, *more), places, tuple(key for key, _ in shown)


def step_key(step: str, start: datetime) -> str:
    """The key that reports use for the time of a bar."""
    if step == "hour":
        ahead = start.utcoffset() or timedelta()
        minutes = abs(ahead) // timedelta(minutes=1)
        sign = "-" if ahead < timedelta() else "+"
        return f"{start.isoformat()[:13]}:00" + (f"{sign}{minutes // 60:02}:{minutes % 60:02}" if minutes else "Z")
    if step == "week":
        year, week, _ = start.isocalendar()
        return f"{year:04}-W{week:02}"
    return start.date().isoformat()[: {"day": 10, "month": 7, "year": 4}[step]]


def _sums(report: UsageReport, measure: Measure, dimension: str) -> list[tuple[Key, Amount]]:
    """The sum of each key of a dimension, largest first, those without a price last."""
    sums: dict[Key, Amount] = {}
    for row in report.rows:
        key = row.key[dimension]
        sums[key] = sums.get(key, Amount()) + measure.of(row)
    return sorted(sums.items(), key=lambda item: (item[1].value is None, -item[1].size, item[0] is None, item[0] or ""))


def _start(step: str, key: Key) -> datetime | None:
    """Parse a key into the local time at which it begins, or None."""
    try:
        if key is None:
            return None
        if step == "hour":
            moment = datetime.fromisoformat(key)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        if step == "week":
            year, _, week = key.partition("-W")
            day = date.fromisocalendar(int(year), int(week), 1)
        else:
            day = date.fromisoformat(key if step == "day" else f"{key}-01")
    except ValueError:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _number(step: str, start: datetime) -> int:
    """The ordinal of the period that contains a time."""
    if step == "hour":
        return int((start - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() // _HOUR)
    if step == "day":
        return start.toordinal()
    if step == "week":
        return (start.toordinal() - 1) // 7  # the first day of the calendar is a Monday
    return start.year * 12 + start.month - 1 if step == "month" else start.year


def _when(step: str, number: int, zone: Zone) -> datetime:
    """When the period with that ordinal begins, in the zone's local time."""
    if step == "hour":
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=number)
        try:
            ahead = zone.local(moment).minute  # of zones that are off by half an hour
            return zone.local(moment + timedelta(minutes=-ahead % 60))
        except (OverflowError, ValueError, OSError):
            return moment
    if step in ("day", "week"):
        day = date.fromordinal(number if step == "day" else number * 7 + 1)
    else:
        day = date(number // 12, number % 12 + 1, 1) if step == "month" else date(number, 1, 1)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _length(step: str, starts: Iterable[datetime]) -> int:
    numbers = [_number(step, start) for start in starts]
    return max(numbers) - min(numbers) + 1 if numbers else 0


# -- by day


def days_of(report: UsageReport, measure: Measure | None = None) -> dict[date, Amount]:
    """The amount of every day that a report has, in order."""
    if "day" not in report.by:
        raise UsageError("a calendar needs days: use --by day")
    measure = measure or measure_of(report)
    sums: dict[date, Amount] = {}
    for row in report.rows:
        start = _start("day", row.key["day"])
        if start is not None:
            sums[start.date()] = sums.get(start.date(), Amount()) + measure.of(row)
    return dict(sorted(sums.items()))


def week_hours_of(report: UsageReport, measure: Measure | None = None) -> dict[tuple[int, int], Amount]:
    """The amounts of a report by hour for each weekday (Monday is 0) and hour."""
    if "hour" not in report.by:
        raise UsageError("hours of the week need hours: use --by hour")
    measure = measure or measure_of(report)
    sums: dict[tuple[int, int], Amount] = {}
    for row in report.rows:
        start = _start("hour", row.key["hour"])
        if start is not None:
            place = start.weekday(), start.hour
            sums[place] = sums.get(place, Amount()) + measure.of(row)
    return sums


def year_of(report: UsageReport, days: Iterable[date], today: date) -> tuple[date, date]:
    """The days of a calendar: the year up to today, or up to the last usage if that was long ago."""
    zone = zone_of(report)
    until = _day(report.until and report.until - timedelta(microseconds=1), zone)
    last = today if until is None else min(today, until)
    newest = max((day for day in days if day <= last), default=last)
    if (last - newest).days >= 7 * WEEKS:
        last = newest
    first = date.fromordinal(max(1, last.toordinal() - last.weekday() - 7 * (WEEKS - 1)))
    since = _day(report.since, zone)
    return (first if since is None else min(last, max(first, since))), last


def levels_of(amounts: Iterable[Amount], count: int = 4) -> list[Decimal]:
    """The lower bounds of the shades: quantiles of the amounts."""
    values = sorted(amount.value for amount in amounts if amount.value is not None and amount.value > 0)
    if not values:
        return []
    return sorted({values[len(values) * place // count] for place in range(count)})


def level(amount: Amount, bounds: Sequence[Decimal], count: int = 4) -> int:
    """The shade of an amount, from 1 to `count`; the greatest is always the darkest."""
    return max(1, count - len(bounds) + sum(amount.size >= bound for bound in bounds))


def streaks(days: Iterable[date], today: date) -> tuple[tuple[int, date | None], int]:
    """The longest streak and its last day, and the current streak, which may have ended yesterday."""
    longest, ended, current, run = 0, None, 0, 0
    before: date | None = None
    for day in sorted(days):
        run = run + 1 if before is not None and day.toordinal() == before.toordinal() + 1 else 1
        before = day
        if run >= longest:
            longest, ended = run, day
        if 0 <= today.toordinal() - day.toordinal() <= 1:
            current = run
    return (longest, ended), current


# -- by name


@dataclass(frozen=True, slots=True)
class Share:
    """One name's share of the total; None without a price."""

    name: str
    amount: Amount
    tokens: int
    part: float | None
    is_rest: bool = False


def shares_of(report: UsageReport, most: int, projects: ProjectNames) -> list[Share]:
    """The share of each key, largest first, the tail combined; shares are of what has a price."""
    measure = measure_of(report)
    rows = sorted(report.rows, key=lambda row: (measure.of(row).value is None, -measure.of(row).size, -row.tokens))
    shown = rows if len(rows) <= most else rows[: most - 1]
    whole = sum((measure.of(row).size for row in rows), Decimal(0))
    names = _row_names(report.by, shown, projects)
    found = [
        Share(name, amount, row.tokens, None if amount.value is None else ratio(amount.size, whole))
        for name, row in zip(names, shown, strict=True)
        for amount in (measure.of(row),)
    ]
    rest = rows[len(shown) :]
    if rest:
        amount = sum((measure.of(row) for row in rest), Amount())
        sizes = sum((measure.of(row).size for row in rest), Decimal(0))
        part = None if amount.value is None else ratio(sizes, whole)
        name = f"{OTHERS} ({len(rest):,})"
        found.append(Share(name, amount, sum(row.tokens for row in rest), part, is_rest=True))
    return found


def percent(part: float) -> str:
    """A part of the whole."""
    return "<0.1%" if 0 < part < 0.0005 else f"{part * 100:.1f}%"


def _row_names(by: Sequence[str], rows: Sequence[UsageRow], projects: ProjectNames) -> list[str]:
    columns = [
        [one_line(row.about.get("title", "")) or name for row, name in zip(rows, names, strict=True)]
        if dimension == "session"
        else names
        for dimension in by
        for names in (names_of(dimension, [row.key.get(dimension) for row in rows], projects),)
    ]
    return [" · ".join(parts) for parts in zip(*columns, strict=True)]


def names_of(dimension: str, keys: Sequence[Key], projects: ProjectNames) -> list[str]:
    """Keys as short as they stay distinct, clean."""
    known = {"model": model_name, "project": lambda path: project_name(path, projects), "tool": tool_name}
    shorten = known.get(dimension, one_line)
    brief = {key: shorten(key) or "(no name)" for key in keys if key is not None}
    every = list(brief.values())
    names = {key: name if every.count(name) == 1 else one_line(key) or name for key, name in brief.items()}
    return [_UNKNOWN.get(dimension, "not known") if key is None else names[key] for key in keys]
