"""Which messages are wanted: the query language and the options of a report, as SQL over `spending` or `charges`.

Times, models, branches, subagents and tools are asked of each message; everything else of the session it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hansard.index.schema import QUARTER
from hansard.query.reader import like

if TYPE_CHECKING:
    from hansard.ledger.calendar import Zone
    from hansard.query.compile import Condition
    from hansard.query.language import Field
    from hansard.query.reader import Reader


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """What a report is to count; everything given must hold."""

    query: str | None = None
    project: str | None = None
    model: str | None = None
    since: datetime | None = None  # at or after
    until: datetime | None = None  # before
    sessions: tuple[str, ...] | None = None  # these ids only


class Selection:
    """A condition over the columns that `spending` and `charges` share, and which of the two it needs."""

    def __init__(self, reader: Reader, wanted: UsageFilter, zone: Zone, now: datetime) -> None:
        self.is_fine = False  # whether sums per quarter of an hour are too coarse
        self._terms: list[str] = []
        self._values: list[object] = []
        if wanted.since is not None:
            self._add(*self._time(">=", _milliseconds(wanted.since)))
        if wanted.until is not None:
            self._add(*self._time("<", _milliseconds(wanted.until)))
        if wanted.model is not None:
            self._add(_MODEL, like(wanted.model))
        if wanted.sessions is not None:
            import json

            self._add("session_id IN (SELECT value FROM json_each(?))", json.dumps(wanted.sessions))
        if wanted.project is not None:
            from hansard.query.compile import in_project

            self._require(_of_session(in_project(wanted.project)))
        if wanted.query is not None and wanted.query.strip():
            from hansard.query.search.sessions import of_query

            self._require(of_query(reader, wanted.query, now=now, zone=zone.info, ask=self._ask))

    @property
    def source(self) -> str:
        """The table or view to read."""
        return "charges" if self.is_fine else "spending"

    @property
    def where(self) -> str:
        """The condition."""
        return " AND ".join(self._terms) or "1"

    @property
    def values(self) -> tuple[object, ...]:
        """The values in it."""
        return tuple(self._values)

    def _add(self, term: str, *values: object) -> None:
        self._terms.append(term)
        self._values.extend(values)

    def _require(self, condition: Condition) -> None:
        self._add(condition.sql, *condition.values)

    def _time(self, sign: str, at: int) -> tuple[str, int]:
        """A bound of time; what has no time lies on neither side of it."""
        if at % QUARTER:
            self.is_fine = True
            return f"(first_ts > 0 AND first_ts {sign} ?)", at
        return f"(quarter > 0 AND quarter {sign} ?)", at // QUARTER

    def _ask(self, reader: Reader, node: Field) -> Condition | None:
        from hansard.query import language as q
        from hansard.query.compile import Condition, is_marked, of_whole_session

        match node:
            case q.Since(at) | q.After(at):
                sql, *values = self._time(">=", at)
                return Condition(sql, tuple(values))
            case q.Before(at):
                sql, *values = self._time("<", at)
                return Condition(sql, tuple(values))
            case q.On(first, last):
                low, high = self._time(">=", first), self._time("<", last)
                return Condition(f"({low[0]} AND {high[0]})", (low[1], high[1]))
            case q.Model(value):
                return Condition(_MODEL, (like(value),))
            case q.Branch(value):
                return Condition("branch LIKE ? ESCAPE '\\'", (like(value),))
            case q.Is("subagent"):
                return Condition("agent_id <> ''")
            case q.InAgent(value):
                return Condition(
                    "(agent_id LIKE ? ESCAPE '\\' OR (session_id, agent_id) IN (SELECT a.session_id, a.agent_id FROM agents a"
                    " WHERE a.agent_type LIKE ? ESCAPE '\\'))",
                    (like(value)[1:], like(value)[1:-1]),
                )
            case q.Tool(value, prefix):
                from hansard.index.marks import tool_mark

                self.is_fine = True
                reader.teach("marked", is_marked)
                return Condition("marked(tool, ?, ?)", (tool_mark(value), prefix))
            case _:
                found = of_whole_session(reader, node)
                return None if found is None else _of_session(found)


_MODEL = "rate IN (SELECT r.id FROM rates r WHERE r.model LIKE ? ESCAPE '\\')"


def _of_session(condition: Condition) -> Condition:
    from hansard.query.compile import Condition

    return Condition(f"session_id IN (SELECT session_id FROM sessions WHERE {condition.sql})", condition.values)


def _milliseconds(moment: datetime) -> int:
    return round(moment.astimezone(UTC).timestamp() * 1000)
