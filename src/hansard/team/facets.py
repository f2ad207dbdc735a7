"""How the matches of a query in a team's database are distributed over projects, tools, kinds, models, days and months."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.query.search.facets import FacetCounts
from hansard.storage.sqlite import from_json
from hansard.team.text_rows import OF_PLACES, of_places, read_sessions
from hansard.team.texts import TEXTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from hansard.model.search import Facets
    from hansard.team.reader import TeamReader
    from hansard.team.text_rows import Place


def count_facets(reader: TeamReader, places: Sequence[Place], zone: tzinfo | None, *, truncated: bool) -> Facets:
    """Count the texts at some places; days and months are in `zone`."""
    rows = list(
        reader.rows(
            "SELECT t.session_id, t.kind, t.tool, (extract(epoch FROM t.at) * 1000)::bigint FROM"
            f" {OF_PLACES}"
            f" JOIN {TEXTS.name} t USING ({', '.join(TEXTS.key)})",
            of_places(places),
        )
    )
    columns = ("project", "models", "client")
    sessions: dict[str, Any] = {
        session_id: (project or "", from_json(models) if models else [], client)
        for session_id, project, models, client in read_sessions(reader, columns, {row[0] for row in rows})
    }
    counts = FacetCounts()
    for session_id, kind, tool, at in rows:
        counts.add(*sessions.get(session_id, ("", [], "")), kind=kind, tool=tool, at=at)
    return counts.facets(zone, counted=len(rows), truncated=truncated)
