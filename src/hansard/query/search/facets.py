"""How the matches of a query are distributed over projects, tools, kinds, models, days and months."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, tzinfo
from itertools import islice
from typing import TYPE_CHECKING

from hansard.index.schema import QUARTER
from hansard.model.search import Facets
from hansard.model.time import from_milliseconds
from hansard.query.reader import Reader
from hansard.query.search.blocks import describe, name_tools

if TYPE_CHECKING:
    from hansard.query.search.candidates import Finder

MOST = 20_000
_AT_ONCE = 2000


class FacetCounts:
    """Texts counted by what they have."""

    def __init__(self) -> None:
        self._projects: Counter[str] = Counter()
        self._tools: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._clients: Counter[str] = Counter()
        self._quarters: Counter[int] = Counter()

    def add(
        self, project: str, models: Sequence[str], client: str, *, kind: str, tool: str | None, at: int | None
    ) -> None:
        """Count a text; project, models and client are those of its session."""
        self._projects[project] += 1
        self._clients[client] += 1
        self._models.update(models)
        self._kinds[kind] += 1
        if tool:
            self._tools[tool] += 1
        if at is not None:
            self._quarters[at // QUARTER] += 1

    def facets(self, zone: tzinfo | None, *, counted: int, truncated: bool) -> Facets:
        """The counts; days and months are in `zone`."""
        by_day = _by_day(self._quarters, zone)
        months: Counter[str] = Counter()
        for day, count in by_day.items():
            months[day[:7]] += count
        return Facets(
            project=_most(self._projects),
            tool=_most(self._tools),
            kind=_most(self._kinds),
            month=tuple(sorted(months.items(), reverse=True)),
            counted=counted,
            truncated=truncated,
            model=_most(self._models),
            client=_most(self._clients),
            day=tuple(sorted(by_day.items(), reverse=True)),
        )


def count_facets(reader: Reader, finder: Finder, *, most: int = MOST, zone: tzinfo | None = UTC) -> Facets:
    """Count the newest matches, at most `most` of them; days and months are in `zone`."""
    counts = FacetCounts()
    known: dict[str, tuple[str, list[str], str]] = {}
    ids = finder.ids()
    counted = 0
    while counted < most and (some := list(islice(ids, min(_AT_ONCE, most - counted)))):
        counted += len(some)
        blocks = describe(reader, some)
        name_tools(reader, blocks.values())
        for block in blocks.values():
            if block.session_id not in known:
                row = reader.one(
                    "SELECT project, models, client FROM sessions WHERE session_id = ?", (block.session_id,)
                )
                known[block.session_id] = (row[0], json.loads(row[1]), row[2]) if row else ("", [], "")
            counts.add(*known[block.session_id], kind=block.kind, tool=block.tool, at=block.at)
    return counts.facets(zone, counted=counted, truncated=next(ids, None) is not None)


def _by_day(quarters: Counter[int], zone: tzinfo | None) -> Counter[str]:
    """Sum quarters of an hour into days; day boundaries fall on quarters in every zone."""
    days: Counter[str] = Counter()
    for quarter, count in quarters.items():
        at = from_milliseconds(quarter * QUARTER)
        with suppress(ValueError, OverflowError, OSError):  # zone offsets overflow at the ends of the calendar
            if at is not None:
                days[at.astimezone(zone).date().isoformat()] += count
    return days


def _most(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
