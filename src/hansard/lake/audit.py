"""Counts of risky operations over all machines of a lake."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.errors import UsageError
from hansard.lake.dimensions import RiskDimensions
from hansard.lake.usage import conditions
from hansard.ledger.report import key_function, names_of
from hansard.model.audit import SEVERITIES
from hansard.model.calendar import find_zone

if TYPE_CHECKING:
    from hansard.lake.engines import Engine
    from hansard.ledger.dimensions import Groups
    from hansard.model.store_requests import LakeAuditRequest

RELATIONS = ("risks", "tool_calls", "usage_lines", "sessions", "transcripts")
"""What counts are made of."""


class LakeAudit(Struct, frozen=True):
    """How many risky operations there were, each counted once."""

    by: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]  # the key of each, and its `operations`
    operations: dict[str, int]  # all of them, by severity


def count_risks(engine: Engine, request: LakeAuditRequest, groups: Groups = MappingProxyType({})) -> LakeAudit:
    """Count what a request selects, the most frequent first."""
    if request.min_severity not in SEVERITIES:
        raise UsageError(f"{request.min_severity!r} is not a severity; choose one of {', '.join(SEVERITIES)}")
    by = names_of(request.by)
    dimensions = RiskDimensions(engine, find_zone(request.timezone), groups).make(by)
    columns = list(dict.fromkeys(("severity", *(column for item in dimensions for column in item.columns))))
    where, values = conditions(request, {name: name for name in ("project", "person", "rule")})
    grave = SEVERITIES[: SEVERITIES.index(request.min_severity) + 1]
    names = ", ".join(columns)
    rows = engine.rows(
        f"SELECT {names}, count(*) FROM risks WHERE {where} AND severity IN ({', '.join('?' * len(grave))}) GROUP BY {names}",
        [*values, *grave],
    )
    key_of = key_function(dimensions, columns)
    counts: Counter[tuple[str | None, ...]] = Counter()
    severities = dict.fromkeys(SEVERITIES, 0)
    for row in rows:
        counts[key_of(row)] += row[-1]
        severities[row[0]] += row[-1]
    order = sorted(counts.items(), key=lambda item: (-item[1], tuple(part or "" for part in item[0])))
    return LakeAudit(
        tuple(item.name for item in dimensions),
        tuple(
            {**dict(zip((item.name for item in dimensions), key, strict=True)), "operations": count}
            for key, count in order
        ),
        severities,
    )
