"""What tools did, beside what it cost: calls, errors, time and lines, each call counted once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.ledger.sums import Sums
from hansard.model.ledger import UsageRow, Work
from hansard.query.duplicates import find_copies

if TYPE_CHECKING:
    from hansard.ledger.dimensions import Dimension
    from hansard.ledger.report import Ledger

# A call belongs to the message that made it: it is done at the place and time of that message.
_CALLS = """
    SELECT g.quarter AS quarter, g.session_id AS session_id, g.agent_id AS agent_id, g.branch AS branch, g.rate AS rate,
        g.first_ts AS first_ts, c.tool AS tool, c.is_error AS is_error,
        max(0, coalesce(c.result_ts - c.ts, 0)) AS duration, c.added AS added, c.removed AS removed
    FROM tool_calls c CROSS JOIN messages m ON m.id = c.message_id CROSS JOIN charges g ON g.key = m.key
    WHERE c.id NOT IN (SELECT value FROM json_each(?))
"""


def add_work(
    ledger: Ledger, dimensions: tuple[Dimension, ...], rows: list[UsageRow], totals: UsageRow, *, idle: bool
) -> tuple[list[UsageRow], UsageRow]:
    """The rows and the totals with the work that belongs to them.

    A message is found by the first tool it calls, a call by its own: with `idle`, tools that no message began with have rows too.
    """
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
        (json.dumps(find_copies(ledger.reader)), *selection.values),
    )
    for row in answers:
        if row[len(columns)]:
            key = key_of(row)
            found[key] = found.get(key, Work()) + Work(*row[len(columns) :])
    whole = Work()
    worked = []
    for row in rows:
        work = found.pop(tuple(row.key[name] for name in names), Work())
        whole += work
        worked.append(replace(row, work=work))
    for key, work in found.items() if idle else ():
        about = {
            name: text for item, value in zip(dimensions, key, strict=True) for name, text in item.about(value).items()
        }
        empty = Sums().row(dict(zip(names, key, strict=True)), about, ledger.rates, ledger.mode)
        whole += work
        worked.append(replace(empty, work=work))
    return worked, replace(totals, work=whole)
