"""Usage reports of a lake: the ledger's, over sums that an engine makes of the merged messages."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.errors import UsageError
from hansard.index.schema import NO_USAGE
from hansard.lake.dimensions import LakeDimensions
from hansard.ledger.report import Ledger, RowKey, key_function
from hansard.model.calendar import find_zone
from hansard.model.ledger import PriceData, Rate
from hansard.model.requests import MODES
from hansard.model.time import to_milliseconds
from hansard.pricing.cost import RATE_COLUMNS, SUMS, Sums, rates_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hansard.lake.engines import Engine
    from hansard.ledger.dimensions import Dimension, Groups
    from hansard.model.store_requests import LakeUsageRequest

RELATIONS = ("usage_lines", "sessions", "transcripts", "agents", "rates", "machines")
"""What reports read."""
_RATES = f"SELECT id, {RATE_COLUMNS} FROM current_rates ORDER BY id".replace("source", "source_of_price")


def _as_text(row: Any) -> list[Any]:
    """A rate with prices as they were written, without the zeros that a column of decimals adds."""
    return [format(value.normalize(), "f") if isinstance(value, Decimal) else value for value in row]


class LakeLedger(Ledger):
    """The sums of a lake, for `make_report`."""

    def __init__(
        self,
        engine: Engine,
        request: LakeUsageRequest,
        groups: Groups = MappingProxyType({}),
        messages: Callable[[], Engine] | None = None,
    ) -> None:
        """`messages` gives an engine with the relation `messages`, where `engine` has only `RELATIONS`."""
        if request.mode not in MODES:
            raise UsageError(f"unknown mode {request.mode!r}; choose one of {', '.join(MODES)}")
        self.mode = request.mode
        self.request = request
        self.zone = find_zone(request.timezone)
        self.now = request.now or datetime.now(UTC)
        self._engine = engine
        self._groups = groups
        self._messages = messages or (lambda: engine)
        self.rates = rates_of(lambda _: map(_as_text, engine.rows(_RATES)))
        self._unpriced: dict[str, int] = {}

    def dimensions(self, by: tuple[str, ...]) -> tuple[Dimension, ...]:
        return LakeDimensions(self._engine, self.zone, self._groups).make(by)

    def sums(self, dimensions: tuple[Dimension, ...]) -> dict[RowKey, Sums]:
        columns = list(dict.fromkeys(column for item in dimensions for column in item.columns))
        columns += [name for name in ("rate", "model", "has_recorded") if name not in columns]
        where, values = conditions(self.request, {name: name for name in ("project", "model", "person")})
        names = ", ".join(columns)
        rows = self._engine.rows(f"SELECT {names}, {SUMS} FROM charges WHERE {where} GROUP BY {names}", values)
        key_of = key_function(dimensions, columns)
        rate, model, recorded, count = *map(columns.index, ("rate", "model", "has_recorded")), len(columns)
        found: dict[RowKey, Sums] = {}
        for row in rows:
            number = row[rate] or self._without_rate(row[model])
            found.setdefault(key_of(row), Sums()).add(number, row[recorded], row[count:])
        return found

    def without_usage(self) -> Iterable[tuple[str, int, int]]:
        # Few or no sessions: the view of sessions would merge the messages of all others too.
        if not self._engine.rows("SELECT 1 FROM pushed_sessions WHERE messages > api_messages LIMIT 1"):
            return []
        since, until = self.request.since, self.request.until
        asked = replace(self.request, since=None, until=None)
        where, values = conditions(asked, {"project": "project", "model": "models", "person": "person"})
        found: dict[str, tuple[str, int]] = {}
        spanning: list[str] = []
        for session_id, client, messages, *times in self._engine.rows(
            f"SELECT session_id, client, messages, started_at, ended_at FROM sessions WHERE {NO_USAGE} AND {where}",
            values,
        ):
            began, ended = (None if time is None else time.replace(tzinfo=UTC) for time in times)
            if (since and (ended is None or ended < since)) or (until and (began is None or began >= until)):
                continue
            found[session_id] = client, messages
            if since and until and began and ended and began < since and ended >= until:
                spanning.append(session_id)
        for session_id in set(spanning) - self._said_between(spanning, since, until):
            del found[session_id]
        counts: defaultdict[str, list[int]] = defaultdict(list)
        for client, messages in found.values():
            counts[client].append(messages)
        return [(client, len(each), sum(each)) for client, each in counts.items()]

    def _said_between(self, sessions: Sequence[str], since: datetime | None, until: datetime | None) -> set[str]:
        """Those of some sessions, which are longer than the period, that have a message in it."""
        if not sessions or since is None or until is None:
            return set()
        rows = self._messages().rows(
            f"SELECT session_id, at FROM pushed_messages WHERE session_id IN ({', '.join('?' * len(sessions))})",
            sessions,
        )
        return {name for name, at in rows if at is not None and since <= at.replace(tzinfo=UTC) < until}

    def _without_rate(self, model: str) -> int:
        """A rate for messages of which machines know parts, so that none has a price for the whole."""
        number = self._unpriced.get(model)
        if number is None:
            number = self._unpriced[model] = -1 - len(self._unpriced)
            self.rates[number] = Rate(model, "", "", "", None, None, None, None, None, *(None,) * 6, "")
        return number

    def price_data(self) -> PriceData:
        rows = self._engine.rows(
            "SELECT price_source, price_version, price_dated, price_fetched_at, price_overrides FROM pushed_machines"
            " ORDER BY price_data DESC, machine LIMIT 1"
        )
        if not rows:
            return PriceData("genai-prices", "", "", None, 0)
        source, version, dated, fetched, overrides = rows[0]
        return PriceData(source, version, dated, None if fetched is None else fetched.replace(tzinfo=UTC), overrides)


def conditions(request: Any, columns: Mapping[str, str]) -> tuple[str, list[Any]]:
    """The SQL of a request's period, and of the texts that columns must contain, by the fields of the request; and its values."""
    found: list[tuple[str, Any]] = []
    if request.since is not None:
        found.append(("ts >= ? AND ts > 0", to_milliseconds(request.since)))
    if request.until is not None:
        found.append(("ts < ? AND ts > 0", to_milliseconds(request.until)))
    for name, column in columns.items():
        text = getattr(request, name)
        if text is not None:
            found.append((f"contains(lower({column}), ?)", text.lower()))
    return " AND ".join(sql for sql, _ in found) or "true", [value for _, value in found]
