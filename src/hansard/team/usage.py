"""`hansard team usage`: the ledger's reports over the messages of all machines, with machines and people as dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from hansard.errors import UsageError
from hansard.index.schema import NO_USAGE
from hansard.ledger.dimensions import Dimension, Dimensions
from hansard.ledger.report import Ledger, Selection, make_report
from hansard.model.ledger import PriceData, Rate, UsageReport
from hansard.model.requests import DIMENSIONS
from hansard.pricing.cost import rates_of
from hansard.query.compile import SESSIONS
from hansard.storage.sqlite import from_json
from hansard.team.compile import TeamCompiler
from hansard.team.reader import TeamReader

if TYPE_CHECKING:
    from hansard.ledger.dimensions import Groups
    from hansard.model.requests import UsageRequest
    from hansard.query.reader import Reader
    from hansard.team.connect import Database

OFFERED = {
    **{name: about for name, about in DIMENSIONS.items() if name not in ("commit", "total")},
    "machine": "machines, by the login that pushes and their name",
    "person": "the logins that push",
    "total": DIMENSIONS["total"],
}
"""Everything `--by` accepts."""


def team_usage(
    database: Database,
    request: UsageRequest,
    *,
    machine: str | None = None,
    person: str | None = None,
    groups: Groups = MappingProxyType({}),
) -> UsageReport:
    """The report of a request over what the caller may read, of one machine or person if named."""
    ledger = TeamLedger(TeamReader(database), request, groups=groups)
    ledger.only(machine=machine, person=person)
    return make_report(ledger, request)


def rates_of_team(database: Database) -> list[Rate]:
    """The dated rates of every model that the caller may read something of."""
    return list(rates_of(TeamReader(database).rows).values())


def newest_price_data(database: Database) -> PriceData:
    """The newest price data of the machines that the caller may read something of."""
    return _price_data(TeamReader(database))


def _price_data(reader: Reader) -> PriceData:
    row = reader.one("SELECT max(price_data) FROM machines")
    dated, version, fetched, overrides = from_json(row[0]) if row[0] else ("", "", "", 0)
    return PriceData("genai-prices", version, dated, datetime.fromisoformat(fetched) if fetched else None, overrides)


class TeamLedger(Ledger):
    """The ledger over a team's database."""

    def __init__(self, reader: TeamReader, request: UsageRequest, *, groups: Groups) -> None:
        super().__init__(reader, request, groups=groups)
        self.rates = _Rates(reader, self.rates)
        self._only, self._names = "", tuple[str, ...]()

    def only(self, **wanted: str | None) -> None:
        """Count only messages of this machine or person, of which a part of the name is enough."""
        for column, name in wanted.items():
            if name is not None:
                self._only += f" AND strpos({column}, ?) > 0"
                self._names += (name,)
        self.selection.where += self._only
        self.selection.values += self._names

    def _select(self, sessions: Sequence[str] | None) -> Selection:
        return Selection(self.reader, self.query, sessions, compiler=TeamCompiler)

    def calls(self, *, by_model: bool) -> tuple[str, tuple[object, ...]]:
        return f"SELECT * FROM calls{' WHERE rate IS NOT NULL' if by_model else ''}", ()

    def without_usage(self) -> Iterable[tuple[str, int, int]]:
        # Few or no sessions: the view of sessions would merge the messages of all others too.
        found = [
            row[0] for row in self.reader.rows("SELECT session_id FROM pushed_sessions WHERE messages > api_messages")
        ]
        if not found:
            return []
        asked = None if self.query is None else TeamCompiler(self.reader, SESSIONS).condition(self.query)
        where, values = ("true", ()) if asked is None else (asked.sql, asked.values)
        return self.reader.rows(
            "SELECT client, count(*), sum(messages)::bigint FROM sessions"
            f" WHERE session_id = ANY (?) AND {NO_USAGE} AND {where}{self._only} GROUP BY client",
            (found, *values, *self._names),
        )

    def price_data(self) -> PriceData:
        return _price_data(self.reader)

    def dimensions(self, by: tuple[str, ...]) -> tuple[Dimension, ...]:
        return _TeamDimensions(self.reader, self.rates, self.zone, None, self._groups).make(by)


class _TeamDimensions(Dimensions):
    offered: ClassVar[Mapping[str, str]] = OFFERED

    def make(self, names: tuple[str, ...]) -> tuple[Dimension, ...]:
        if "commit" in names:
            raise UsageError("a team's database has no commits: `hansard usage --by commit` reads the repositories")
        return super().make(names)

    def _model(self) -> Dimension:
        return replace(super()._model(), columns=("model",), key=lambda model: model or None)

    def _machine(self) -> Dimension:
        return Dimension("machine", ("machine",), lambda machine: machine)

    def _person(self) -> Dimension:
        return Dimension("person", ("person",), lambda person: person)


class _Rates(dict[int, Rate]):
    """The rates; a message merged from several machines can have a combination of tier, speed and place that none of them has a price for."""

    def __init__(self, reader: TeamReader, known: Mapping[int, Rate]) -> None:
        super().__init__(known)
        self._reader = reader

    def __missing__(self, number: int) -> Rate:
        row: Any = self._reader.one(
            "SELECT model, service_tier, speed, inference_geo FROM charged WHERE rate = ? LIMIT 1", (number,)
        )
        empty = dict.fromkeys(Rate.__struct_fields__)
        self[number] = Rate(
            **{**empty, **dict(zip(("model", "service_tier", "speed", "inference_geo"), row, strict=True)),
               "source": "", "notes": ()}
        )  # fmt: skip
        return self[number]
