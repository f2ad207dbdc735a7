"""What reports of a lake can be split by: columns of its views, and the keys that their values form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, cast

from hansard.index.schema import QUARTER
from hansard.lake.names import PART
from hansard.ledger.dimensions import Dimension, Dimensions, group_of, hour_key, week_key
from hansard.model.calendar import QUARTERS_PER_DAY, day_of
from hansard.model.requests import DIMENSIONS

if TYPE_CHECKING:
    from hansard.lake.engines import Engine
    from hansard.ledger.dimensions import Groups
    from hansard.model.calendar import Zone
    from hansard.query.reader import Reader

_MORE = {
    "person": "people who pushed, or whose machines were built",
    "machine": "machines",
    "rule": "rules of `hansard audit`",
    "severity": "high, medium, low",
    "outcome": "what became of the operation",
}


def _offer(names: str) -> Mapping[str, str]:
    return MappingProxyType({name: (DIMENSIONS | _MORE)[name] for name in names.split()})


class LakeDimensions(Dimensions):
    """Makes the dimensions of a report about usage."""

    offered: ClassVar[Mapping[str, str]] = _offer(
        "total hour day week month session project group model client agent branch person machine"
    )

    def __init__(self, engine: Engine, zone: Zone, groups: Groups) -> None:
        super().__init__(cast("Reader", engine), {}, zone, None, groups)  # they ask for rows only

    def _local_time(self, name: str, key: Callable[[int, int], str]) -> Dimension:
        """A dimension by the local quarter of an hour, and how many of these local time is ahead of UTC."""

        def of(began: int) -> str | None:
            if began == 0:
                return None
            quarter = began // QUARTER
            shift = self._zone.shift(quarter)
            return key(quarter + shift, shift)

        return Dimension(name, ("quarter_began",), of)

    def _hour(self) -> Dimension:
        return self._local_time("hour", lambda local, shift: hour_key(local // 4, shift))

    def _day(self) -> Dimension:
        return self._local_time("day", lambda local, _: day_of(local // QUARTERS_PER_DAY).isoformat())

    def _week(self) -> Dimension:
        return self._local_time("week", lambda local, _: week_key((local // QUARTERS_PER_DAY + 3) // 7))

    def _month(self) -> Dimension:
        return self._local_time("month", lambda local, _: day_of(local // QUARTERS_PER_DAY).isoformat()[:7])

    def _session(self) -> Dimension:
        known = {
            row[0]: {"title": row[1] or "", "project": row[2]}
            for row in self._reader.rows("SELECT session_id, title, project FROM session_places")
        }
        return Dimension("session", ("session_id",), lambda key: key or None, lambda key: known.get(key or "", {}))

    def _group(self) -> Dimension:
        self._require_groups()
        return Dimension("group", ("project",), lambda project: group_of(project, self._groups) if project else None)

    def _machine(self) -> Dimension:
        return Dimension("machine", ("machine",), lambda machine: machine.partition(PART)[0])

    def _column(self, name: str) -> Dimension:
        return Dimension(name, (name,), lambda value: value or None)

    def _model(self) -> Dimension:
        return self._column("model")

    def _project(self) -> Dimension:
        return self._column("project")

    def _client(self) -> Dimension:
        return self._column("client")

    def _person(self) -> Dimension:
        return self._column("person")


class RiskDimensions(LakeDimensions):
    """Makes the dimensions of counts of risky operations."""

    offered: ClassVar[Mapping[str, str]] = _offer(
        "total rule severity outcome hour day week month session project group client person machine"
    )
    counted: ClassVar[str] = "operations"

    def _rule(self) -> Dimension:
        return self._column("rule")

    def _severity(self) -> Dimension:
        return self._column("severity")

    def _outcome(self) -> Dimension:
        return self._column("outcome")
