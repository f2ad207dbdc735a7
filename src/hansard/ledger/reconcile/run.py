"""Our total compared with all others, client by client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hansard.model.tools import CLAUDE_CODE

if TYPE_CHECKING:
    from hansard.clients.statements import StatementReader
    from hansard.ledger.reconcile.line_store import Progress, UsageLines
    from hansard.ledger.reconcile.prices import LineRates
    from hansard.ledger.reconcile.rules import Count, MethodRules
    from hansard.model.ledger import PriceOverride, UsageReport, UsageRow
    from hansard.model.reconcile import ClientCheck, ClientPart, Counted, CountingMethod, Reconciliation, Uncompared
    from hansard.query.reader import Reader
    from hansard.record.store import Record


@dataclass(frozen=True, slots=True)
class Part:
    """A client's lines, ready to be counted by other methods."""

    client: str
    lines: UsageLines
    rates: LineRates
    count: Count
    report: UsageReport
    ours: Counted
    methods: tuple[MethodRules, ...]

    def ways(self) -> tuple[CountingMethod, ...]:
        """How other tools count it."""
        from hansard.ledger.reconcile.rules import walk

        return tuple(walk(self.count, method, self.ours) for method in self.methods)


def reconcile(
    reader: Reader,
    record: Record,
    *,
    peer: bytes | None = None,
    progress: Callable[[int, int], None] | None = None,
    overrides: Sequence[PriceOverride] = (),
) -> Reconciliation:
    """Compare the total with all others; `peer` is the JSON output of another tool, which is then explained too."""
    from hansard.ledger.reconcile.peers import check, read
    from hansard.model.reconcile import Reconciliation

    moment = datetime.now(UTC)
    sessions = _sessions(reader)
    readers = _readers(sessions)
    report = read(peer, (CLAUDE_CODE, *readers)) if peer is not None else None
    with ExitStack() as stack:
        parts = list(_parts(reader, record, sessions, readers, overrides, moment, progress, stack))
        claude, *others = parts
        whole = claude.report
        checked, client = _own_figures(reader, record, claude, moment)
        return Reconciliation(
            ours=claude.ours,
            lower_bound_messages=whole.totals.lower_bound_messages,
            lower_bound_output_tokens=_lower_bounds(reader),
            progress_only_messages=whole.totals.progress_only_messages,
            unpriced_models=whole.totals.unpriced_models,
            lines=claude.lines.count(),
            transcripts=claude.lines.transcripts,
            bytes_read=sum(part.lines.bytes_read for part in parts),
            damaged=sum(part.lines.damaged for part in parts),
            ways=(*claude.ways(), *checked),
            client=client,
            peer=check(parts, report) if report is not None else None,
            pricing=whole.pricing,
            clients=tuple(map(_client_part, others)),
            not_compared=tuple(_uncompared(reader, sessions, {part.client for part in parts}, moment)),
        )


def _sessions(reader: Reader) -> dict[str, list[str]]:
    """The sessions of each client; Claude Code is the first."""
    found: dict[str, list[str]] = {CLAUDE_CODE: []}
    for client, session_id in reader.rows("SELECT client, session_id FROM sessions ORDER BY client, session_id"):
        found.setdefault(client, []).append(session_id)
    return found


def _readers(sessions: Mapping[str, list[str]]) -> dict[str, StatementReader]:
    """What reads the statements of the other clients that can be compared."""
    from hansard.clients import client_of
    from hansard.clients.statements import StatingClient

    clients = {name: client_of(name) for name in sessions if name != CLAUDE_CODE}
    return {name: client.statement_reader() for name, client in clients.items() if isinstance(client, StatingClient)}


def _parts(
    reader: Reader,
    record: Record,
    sessions: Mapping[str, list[str]],
    readers: Mapping[str, StatementReader],
    overrides: Sequence[PriceOverride],
    moment: datetime,
    progress: Progress | None,
    stack: ExitStack,
) -> Iterator[Part]:
    from hansard.ledger.reconcile.line_store import UsageLines
    from hansard.ledger.reconcile.peer_rules import SHOWN, rules_of
    from hansard.ledger.reconcile.prices import LineRates
    from hansard.ledger.reconcile.rules import Count
    from hansard.model.calendar import find_zone

    zone = find_zone(None)
    stores = [UsageLines(reader, record, zone, client) for client in (CLAUDE_CODE, *readers)]
    size = sum(lines.size for lines in stores)
    before = 0
    for lines in stores:
        if progress is not None:
            lines.progress = _after(progress, before, size)
        before += lines.size
        stack.enter_context(lines)
        rates = LineRates(reader, overrides)
        count = Count(lines, rates, moment)
        report = _total(reader, sessions, lines.client, moment)
        methods = rules_of(readers[lines.client]) if lines.client in readers else SHOWN
        yield Part(lines.client, lines, rates, count, report, _counted(report.totals), methods)


def _after(progress: Progress, before: int, size: int) -> Callable[[int], None]:
    return lambda done: progress(before + done, size)


def _total(reader: Reader, sessions: Mapping[str, list[str]], client: str, moment: datetime) -> UsageReport:
    from hansard.ledger.report import total

    return total(reader, sessions=sessions[client] if len(sessions) > 1 else None, now=moment)


def _own_figures(
    reader: Reader, record: Record, claude: Part, moment: datetime
) -> tuple[list[CountingMethod], ClientCheck | None]:
    """What Claude Code says that its sessions used."""
    from hansard.ledger.reconcile.client import check_sessions, check_statistics, stated_sessions
    from hansard.ledger.report import total

    ways = []
    client = None
    sessions = stated_sessions(reader)
    if sessions:
        part = total(reader, sessions=sessions, now=moment)
        checked = check_sessions(reader, claude.lines, claude.rates, _counted(part.totals))
        if checked is not None:
            ways.append(checked[0])
            client = checked[1]
    statistics = check_statistics(reader, record, claude.lines, claude.count, claude.ours)
    if statistics is not None:
        ways.append(statistics)
    return ways, client


def _client_part(part: Part) -> ClientPart:
    from hansard.model.reconcile import ClientPart

    totals = part.report.totals
    return ClientPart(
        part.client,
        part.ours,
        totals.lower_bound_messages,
        totals.unpriced_models,
        part.lines.count(),
        part.lines.transcripts,
        part.ways(),
    )


def _uncompared(
    reader: Reader, sessions: Mapping[str, list[str]], compared: set[str], moment: datetime
) -> Iterator[Uncompared]:
    from hansard.model.reconcile import Uncompared

    counts = dict(reader.rows("SELECT client, count(*) FROM sessions WHERE api_messages > 0 GROUP BY client"))
    for client in sessions:
        if client not in compared:
            totals = _total(reader, sessions, client, moment).totals
            yield Uncompared(client, counts.get(client, 0), _counted(totals))


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
    """Output tokens of Claude Code's answers whose end is in no line."""
    row = reader.one(
        "SELECT coalesce(sum(output), 0) FROM usage WHERE final_output < output"
        " AND session_id NOT IN (SELECT session_id FROM sessions WHERE client <> ?)",
        (CLAUDE_CODE,),
    )
    return int(row[0])
