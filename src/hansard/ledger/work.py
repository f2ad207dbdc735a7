"""What tools did, beside what it cost: calls, errors, time and lines, each call counted once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hansard.index.schema import QUARTER
from hansard.model import UsageRow, Work

if TYPE_CHECKING:
    from hansard.ledger.dimensions import Dimension
    from hansard.ledger.report import Ledger

# A call that was copied into a fork, a replay or another generation counts where it was first.
_CALLS = f"""
    SELECT max(coalesce(c.ts, 0), 0) / {QUARTER} AS quarter, t.session_id, t.agent_id, u.branch, r.id AS rate, c.tool AS tool,
        c.is_error, max(coalesce(c.ts, 0), 0) AS first_ts, max(0, coalesce(c.result_ts - c.ts, 0)) AS duration, c.added, c.removed
    FROM tool_calls c CROSS JOIN transcripts t ON t.id = c.id >> 40
        LEFT JOIN messages m ON m.id = c.message_id LEFT JOIN usage u ON u.key = m.key
        LEFT JOIN rates r ON r.id = (SELECT min(x.id) FROM rates x WHERE x.model = m.model)
    WHERE c.tool_use_id = '' OR NOT EXISTS (
        SELECT 1 FROM tool_calls d WHERE d.tool_use_id = c.tool_use_id
            AND (coalesce(d.ts, 0), d.id) < (coalesce(c.ts, 0), c.id))
"""


def add_work(
    ledger: Ledger, dimensions: tuple[Dimension, ...], rows: list[UsageRow], totals: UsageRow
) -> tuple[list[UsageRow], UsageRow]:
    """The rows and the totals with the work that belongs to them."""
    columns = list(dict.fromkeys(column for item in dimensions for column in item.columns))
    names = tuple(item.name for item in dimensions)
    selection = ledger.selection
    chosen = "".join(f"{column}, " for column in columns)
    found: dict[tuple[str | None, ...], Work] = {}
    key_of = ledger.key_of(dimensions, columns)
    groups = "".join(f"{place}, " for place in range(1, len(columns) + 1)).removesuffix(", ")
    answers: Any = ledger.reader.rows(
        f"SELECT {chosen} count(*), sum(is_error), sum(duration), sum(added), sum(removed) FROM ({_CALLS})"
        f" WHERE {selection.where} {'GROUP BY ' + groups if groups else ''}",
        selection.values,
    )
    for row in answers:
        if row[len(columns)] and ("rate" not in columns or row[columns.index("rate")] is not None):
            key = key_of(row)
            found[key] = found.get(key, Work()) + Work(*row[len(columns) :])
    whole = Work()
    worked = []
    for row in rows:
        work = found.get(tuple(row.key[name] for name in names), Work())
        whole += work
        worked.append(replace(row, work=work))
    return worked, replace(totals, work=whole)
