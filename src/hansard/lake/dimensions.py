"""What reports of a lake can be split by: columns of its views, and the keys that their values form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.lake.names import PART
from hansard.lake.views import QUARTER
from hansard.ledger.dimensions import MAIN, Dimension, group_of, hour_key, week_key
from hansard.model.calendar import QUARTERS_PER_DAY, day_of

if TYPE_CHECKING:
    from hansard.lake.engines import Engine
    from hansard.ledger.dimensions import Groups
    from hansard.model.calendar import Zone

_PLAIN = frozenset({"model", "project", "client", "branch", "person", "rule", "severity", "outcome"})


class LakeDimensions:
    """Makes the dimensions of one report."""

    def __init__(self, engine: Engine, zone: Zone, groups: Groups) -> None:
        self._engine = engine
        self._zone = zone
        self._groups = groups

    def make(self, by: Sequence[str], known: Sequence[str]) -> tuple[Dimension, ...]:
        """Those with these names, which must be known."""
        if len(set(by)) < len(by):
            raise UsageError("each dimension can be given only once")
        for name in by:
            if name not in known:
                raise UsageError(f"cannot group by {name!r}; choose one of {', '.join(known)}")
        return tuple(self._dimension(name) for name in by if name != "total")

    def _dimension(self, name: str) -> Dimension:
        if name in _PLAIN:
            return Dimension(name, (name,), lambda value: value or None)
        made: Dimension = getattr(self, f"_{name}")()
        return made

    def _timed(self, name: str, key: Callable[[int, int], str]) -> Dimension:
        """A dimension by the local quarter of an hour, and how many of these local time is ahead of UTC."""

        def of(began: int) -> str | None:
            if began == 0:
                return None
            quarter = began // QUARTER
            shift = self._zone.shift(quarter)
            return key(quarter + shift, shift)

        return Dimension(name, ("quarter_began",), of)

    def _hour(self) -> Dimension:
        return self._timed("hour", lambda local, shift: hour_key(local // 4, shift))

    def _day(self) -> Dimension:
        return self._timed("day", lambda local, _: day_of(local // QUARTERS_PER_DAY).isoformat())

    def _week(self) -> Dimension:
        return self._timed("week", lambda local, _: week_key((local // QUARTERS_PER_DAY + 3) // 7))

    def _month(self) -> Dimension:
        return self._timed("month", lambda local, _: day_of(local // QUARTERS_PER_DAY).isoformat()[:7])

    def _session(self) -> Dimension:
        known = {
            row[0]: {"title": row[1] or "", "project": row[2]}
            for row in self._engine.rows("SELECT session_id, title, project FROM session_places")
        }
        return Dimension("session", ("session_id",), lambda key: key or None, lambda key: known.get(key or "", {}))

    def _group(self) -> Dimension:
        if not self._groups:
            raise UsageError(
                "no group is set: to set one, add for example [groups] and below it"
                ' webshop = ["shop-api", "shop-web"] to the configuration, config.toml'
            )
        return Dimension("group", ("project",), lambda project: group_of(project, self._groups) if project else None)

    def _agent(self) -> Dimension:
        known = {
            (row[0], row[1]): row[2]
            for row in self._engine.rows("SELECT session_id, agent_id, agent_type FROM agents WHERE agent_type <> ''")
        }

        def key(session_id: str, agent_id: str) -> str:
            return known.get((session_id, agent_id)) or "subagent" if agent_id else MAIN

        return Dimension("agent", ("session_id", "agent_id"), key)

    def _machine(self) -> Dimension:
        return Dimension("machine", ("machine",), lambda machine: machine.partition(PART)[0])
