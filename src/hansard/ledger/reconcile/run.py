"""Our total compared with all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hansard.model.tools import CLAUDE_CODE

if TYPE_CHECKING:
    from hansard.model.ledger import PriceOverride, UsageRow
    from hansard.model.reconcile import Counted, Reconciliation
    from hansard.query.reader import Reader
    from hansard.record.store import Record


def reconcile(
    reader: Reader,
    record: Record,
    *,
    peer: bytes | None = None,
    progress: Callable[[int, int], None] | None = None,
    overrides: Sequence[PriceOverride] = (),
    now: datetime | None = None,
) -> Reconciliation:
    """Compare the total with all others; `peer` is the JSON output of another tool, which is then explained too."""
    from hansard.ledger.reconcile.client import check_sessions, check_statistics, stated_sessions
    from hansard.ledger.reconcile.line_store import UsageLines
    from hansard.ledger.reconcile.peer_rules import SHOWN
    from hansard.ledger.reconcile.peers import check, read
    from hansard.ledger.reconcile.prices import LineRates
    from hansard.ledger.reconcile.rules import Count, walk
    from hansard.ledger.report import total
    from hansard.model.calendar import find_zone
    from hansard.model.reconcile import Reconciliation

    report = read(peer) if peer is not None else None
    zone = find_zone(None)
    moment = now or datetime.now(UTC)
    whole = total(reader, sessions=_compared(reader), now=moment)
    ours = _counted(whole.totals)
    with UsageLines(reader, record, zone, progress) as lines:
        rates = LineRates(reader, overrides)
        count = Count(lines, rates, moment)
        ways = [walk(count, habit, ours) for habit in SHOWN]
        sessions = tuple(stated_sessions(reader))
        client = None
        if sessions:
            part = total(reader, sessions=sessions, now=moment)
            checked = check_sessions(reader, lines, rates, _counted(part.totals))
            if checked is not None:
                ways.append(checked[0])
                client = checked[1]
        statistics = check_statistics(reader, record, lines, count, ours)
        if statistics is not None:
            ways.append(statistics)
        return Reconciliation(
            ours=ours,
            lower_bound_messages=whole.totals.lower_bound_messages,
            lower_bound_output_tokens=_lower_bounds(reader),
            progress_only_messages=whole.totals.progress_only_messages,
            unpriced_models=whole.totals.unpriced_models,
            lines=lines.count(),
            transcripts=lines.transcripts,
            bytes_read=lines.bytes_read,
            damaged=lines.damaged,
            ways=tuple(ways),
            client=client,
            peer=check(count, report, ours) if report is not None else None,
            pricing=whole.pricing,
        )


def _compared(reader: Reader) -> list[str] | None:
    """The sessions of Claude Code, which are all that other tools are compared on; None if there are no others."""
    if reader.one("SELECT EXISTS (SELECT 1 FROM sessions WHERE client <> ?)", (CLAUDE_CODE,))[0]:
        return [row[0] for row in reader.rows("SELECT session_id FROM sessions WHERE client = ?", (CLAUDE_CODE,))]
    return None


def _counted(row: UsageRow) -> Counted:
    from hansard.model.reconcile import Counted
    from hansard.pricing.cost import ZERO

    return Counted(
        row.api_messages,
        row.input_tokens,
        row.output_tokens,
        row.cache_read_tokens,
        row.cache_write_5m_tokens + row.cache_write_1h_tokens,
        row.cache_write_1h_tokens,
        row.web_searches,
        row.cost_usd or ZERO,
        row.unpriced_messages,
    )


def _lower_bounds(reader: Reader) -> int:
    """Output tokens of answers whose end is in no line."""
    row = reader.one("SELECT coalesce(sum(output), 0) FROM usage WHERE final_output < output")
    return int(row[0])
