"""How the matches of a query spread over projects, tools, kinds and months."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from hansard.model import Facets
from hansard.query.reader import Reader, moment
from hansard.query.search.blocks import describe, name_tools

if TYPE_CHECKING:
    from hansard.query.search.candidates import Finder

MOST = 20_000
_AT_ONCE = 2000


def count_facets(reader: Reader, finder: Finder) -> Facets:
    """Count the newest matches, at most `MOST` of them."""
    projects: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    months: Counter[str] = Counter()
    known: dict[str, str] = {}
    ids = finder.ids()
    counted = 0
    while counted < MOST and (some := list(islice(ids, min(_AT_ONCE, MOST - counted)))):
        counted += len(some)
        blocks = describe(reader, some)
        name_tools(reader, blocks.values())
        for block in blocks.values():
            if block.session_id not in known:
                row = reader.one("SELECT project FROM sessions WHERE session_id = ?", (block.session_id,))
                known[block.session_id] = row[0] if row else ""
            projects[known[block.session_id]] += 1
            kinds[block.kind] += 1
            if block.tool:
                tools[block.tool] += 1
            at = moment(block.at)
            if at is not None:
                months[f"{at:%Y-%m}"] += 1
    return Facets(
        project=_most(projects),
        tool=_most(tools),
        kind=_most(kinds),
        month=tuple(sorted(months.items(), reverse=True)),
        counted=counted,
        truncated=next(ids, None) is not None,
    )


def _most(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
