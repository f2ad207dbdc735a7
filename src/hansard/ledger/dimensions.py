"""What a report can be split by: the columns of each dimension, and how their values are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import Struct

from hansard.errors import UsageError
from hansard.model.calendar import QUARTERS_PER_DAY, Zone, day_of
from hansard.model.requests import DIMENSIONS
from hansard.storage.sqlite import from_json

if TYPE_CHECKING:
    from hansard.model.ledger import Rate
    from hansard.query.reader import Reader

TIMES = frozenset({"hour", "day", "week", "month", "block"})
MAIN = "main"
Groups = Mapping[str, Sequence[str]]
"""Several projects as one product: names, each with paths of projects or parts of them."""
_DAY = QUARTERS_PER_DAY


class Dimension(Struct, frozen=True):
    """One dimension: the SQL columns it groups by, and the key that their values form."""

    name: str
    columns: tuple[str, ...]
    key: Callable[..., str | None]
    about: Callable[[str | None], dict[str, str]] = lambda _key: {}
    is_fine: bool = False  # only available per message

    @property
    def is_time(self) -> bool:
        """Whether its keys are chronological."""
        return self.name in TIMES


def hour_key(hour: int, shift: int) -> str:
    """An hour since 1970 in local time, which is `shift` quarters of an hour ahead of UTC."""
    sign, minutes = ("-" if shift < 0 else "+"), abs(shift) * 15
    offset = f"{sign}{minutes // 60:02}:{minutes % 60:02}" if shift else "Z"
    return f"{day_of(hour // 24)}T{hour % 24:02}:00{offset}"


def week_key(number: int) -> str:
    """A week, by its number since the one that 1970 began in."""
    year, week, _ = (day_of(0) + timedelta(days=number * 7 - 3)).isocalendar()
    return f"{year:04}-W{week:02}"


def group_of(project: str, groups: Groups) -> str | None:
    """The first group that a project belongs to: by its path, one above it, or part of its path."""
    path = project.replace("\\", "/")
    for name, members in groups.items():
        for member in (one.replace("\\", "/").rstrip("/") for one in members):
            is_path = member.startswith("/") or ":" in member[:2]
            if path == member or path.startswith(member + "/") if is_path else member in path:
                return name
    return None


class MessageCommits(Protocol):
    """Maps messages to the commits they count for."""

    def commit_at(self, session_id: str, moment: int) -> str | None:
        """The hash of the commit, or None."""

    def about(self, commit: str | None) -> dict[str, str]:
        """The subject of a commit and its repository."""


class Dimensions:
    """Makes dimensions for one report; index lookups are done once."""

    offered: ClassVar[Mapping[str, str]] = DIMENSIONS
    counted: ClassVar[str] = "usage"

    def __init__(
        self,
        reader: Reader,
        rates: dict[int, Rate],
        zone: Zone,
        commits: Callable[[], MessageCommits] | None = None,
        groups: Groups = MappingProxyType({}),
    ) -> None:
        self._reader = reader
        self._commits = commits
        self._rates = rates
        self._zone = zone
        self._groups = groups

    def make(self, names: tuple[str, ...]) -> tuple[Dimension, ...]:
        unknown = [name for name in names if name not in self.offered]
        if unknown:
            raise UsageError(f"cannot group {self.counted} by {unknown[0]!r}; choose one of {', '.join(self.offered)}")
        if len(set(names)) < len(names):
            raise UsageError("each dimension can be given only once")
        return tuple(getattr(self, f"_{name}")() for name in names if name != "total")

    def _local(self) -> str:
        low, high = self._reader.one(
            "SELECT coalesce(min(quarter), 0), coalesce(max(quarter), 0) FROM spending WHERE quarter > 0"
        )
        return self._zone.sql(low, high)

    def _timed(self, name: str, sql: str, key: Callable[[int], str]) -> Dimension:
        column = f"CASE WHEN quarter = 0 THEN NULL ELSE {sql} END"
        return Dimension(name, (column,), lambda number: None if number is None else key(number))

    def _hour(self) -> Dimension:
        # The hour that clocks show twice in autumn is two hours, which differ in their UTC offset.
        local = self._local()

        columns = (f"CASE WHEN quarter = 0 THEN NULL ELSE {local} / 4 END", f"{local} - quarter")
        return Dimension("hour", columns, lambda hour, shift: None if hour is None else hour_key(hour, shift))

    def _day(self) -> Dimension:
        return self._timed("day", f"{self._local()} / {_DAY}", lambda number: day_of(number).isoformat())

    def _week(self) -> Dimension:
        return self._timed("week", f"({self._local()} / {_DAY} + 3) / 7", week_key)

    def _month(self) -> Dimension:
        return self._timed("month", f"{self._local()} / {_DAY}", lambda number: day_of(number).isoformat()[:7])

    def _block(self) -> Dimension:
        from hansard.ledger.blocks import block_of, find_blocks

        blocks = find_blocks(self._reader)
        names = {block.start: f"{block.started_at:%Y-%m-%dT%H:%M:%SZ}" for block in blocks}

        def key(quarter: int) -> str | None:
            block = block_of(blocks, quarter)
            return None if block is None else names[block.start]

        return Dimension("block", ("quarter",), key)

    def _session(self) -> Dimension:
        known = {
            row[0]: {"title": row[1], "project": row[2]}
            for row in self._reader.rows("SELECT session_id, coalesce(title, ''), project FROM sessions")
        }
        return Dimension("session", ("session_id",), lambda key: key or None, lambda key: known.get(key or "", {}))

    def _project(self) -> Dimension:
        known: dict[str, str] = dict(self._reader.rows("SELECT session_id, project FROM sessions"))
        return Dimension("project", ("session_id",), lambda session_id: known.get(session_id) or None)

    def _require_groups(self) -> None:
        if not self._groups:
            raise UsageError(
                "no group is set: to set one, add for example [groups] and below it"
                ' webshop = ["shop-api", "shop-web"] to the configuration, config.toml'
            )

    def _group(self) -> Dimension:
        self._require_groups()
        projects = dict(self._reader.rows("SELECT session_id, project FROM sessions"))
        known = {project: group_of(project, self._groups) for project in set(projects.values())}
        return Dimension("group", ("session_id",), lambda session_id: known.get(projects.get(session_id, "")))

    def _pr(self) -> Dimension:
        known: dict[str, str] = {
            session_id: from_json(links)[-1]
            for session_id, links in self._reader.rows(
                "SELECT session_id, pull_requests FROM sessions WHERE pull_requests <> '[]'"
            )
        }
        return Dimension("pr", ("session_id",), lambda session_id: known.get(session_id) or None)

    def _model(self) -> Dimension:
        return Dimension("model", ("rate",), lambda rate: self._rates[rate].model or None)

    def _client(self) -> Dimension:
        known: dict[str, str] = dict(self._reader.rows("SELECT session_id, client FROM sessions"))
        return Dimension("client", ("session_id",), lambda session_id: known.get(session_id) or None)

    def _agent(self) -> Dimension:
        known: dict[Any, str] = {
            (row[0], row[1]): row[2]
            for row in self._reader.rows("SELECT session_id, agent_id, agent_type FROM agents WHERE agent_type <> ''")
        }

        def key(session_id: str, agent_id: str) -> str:
            return known.get((session_id, agent_id)) or "subagent" if agent_id else MAIN

        return Dimension("agent", ("session_id", "agent_id"), key)

    def _subagent(self) -> Dimension:
        known = {
            row[0]: {"agent_type": row[1], "description": row[2]}
            for row in self._reader.rows("SELECT agent_id, agent_type, coalesce(description, '') FROM agents")
        }
        return Dimension(
            "subagent", ("agent_id",), lambda agent_id: agent_id or MAIN, lambda key: known.get(key or "", {})
        )

    def _branch(self) -> Dimension:
        return Dimension("branch", ("branch",), lambda branch: branch or None)

    def _commit(self) -> Dimension:
        if self._commits is None:
            raise UsageError("this report cannot be grouped by commit")
        known = self._commits()
        return Dimension("commit", ("session_id", "first_ts"), known.commit_at, known.about, is_fine=True)

    def _tool(self) -> Dimension:
        return Dimension("tool", ("tool",), lambda tool: tool or None, is_fine=True)
