"""An audit report as sections of prose and tables, which every output draws in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.model.audit import OUTCOMES
from hansard.model.permissions import DECIDERS, MODES
from hansard.model.table import Column, Kind, Table
from hansard.render.cells import with_headings
from hansard.render.format import many, size, tool_name
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.audit import AuditReport, Operation

REVISION_MARK = "hansard-audit-revision:"
"""Precedes the revision in every format but JSON."""
STYLES = {"high": "red", "medium": "yellow", "low": "dim"}
_METHOD = (
    "Tool calls are read from the verbatim record, each once: forks, replays and former generations of a transcript repeat calls.",
    (
        "Command lines are parsed, not searched, and judged by the rules of docs/audit-rules.md in the version stated above; so are files and"
        " addresses that tools name. Code of other languages, and what programs did by themselves, is not read: files and addresses are those"
        " that calls name."
    ),
    "Outcomes: " + "; ".join(f"{name}: {about}" for name, about in OUTCOMES.items()) + ".",
    "Models and their cost are those of `hansard usage`. Secrets are redacted.",
)
_FACTS = (Column("", style="dim"), Column("", least=30))
_RULES = (
    Column("SEVERITY"),
    Column("RULE"),
    Column("FINDINGS", Kind.COUNT),
    Column("SESSIONS", Kind.COUNT, rank=1),
    Column("WHAT", least=24, rank=2),
)
_MODES = (
    Column("MODE"),
    Column("SESSIONS", Kind.COUNT),
    Column("CALLS", Kind.COUNT),
    Column("MEANS", least=24, rank=1),
)
_DECISIONS = (Column("DECISION"), Column("BY"), Column("CALLS", Kind.COUNT), Column("MEANS", least=24, rank=1))
_GAPS = (Column("GAP", least=20), Column("COUNT", Kind.COUNT), Column("WHAT IT MEANS", least=24, rank=1))
_TOOLS = (
    Column("TOOL", least=12),
    Column("CALLS", Kind.COUNT),
    Column("FAILED", Kind.COUNT),
    Column("DENIED", Kind.COUNT),
)
_PROGRAMS = (Column("PROGRAM", least=12), Column("RUNS", Kind.COUNT), Column("SESSIONS", Kind.COUNT))
_FILES = (
    Column("FILE", Kind.PATH, least=24),
    Column("READ", Kind.COUNT),
    Column("WRITTEN", Kind.COUNT),
    Column("DELETED", Kind.COUNT),
    Column("SESSIONS", Kind.COUNT, rank=1),
)
_ADDRESSES = (
    Column("ADDRESS", least=16),
    Column("SCOPE"),
    Column("TIMES", Kind.COUNT),
    Column("SESSIONS", Kind.COUNT, rank=1),
    Column("VIA", least=12, rank=2),
)
_AGENTS = (Column("TYPE", least=12), Column("SUBAGENTS", Kind.COUNT), Column("CALLS", Kind.COUNT))
_MODELS = (
    Column("MODEL", Kind.MODEL),
    Column("MESSAGES", Kind.COUNT),
    Column("TOKENS", Kind.COUNT),
    Column("COST", Kind.MONEY),
)


class Section(Struct, frozen=True):
    """A part of a report; `left_out` rows of its table are not shown."""

    title: str
    prose: Sequence[str] = ()
    table: Table | None = None
    left_out: int = 0


def summary(report: AuditReport) -> str:
    """The report in one sentence."""
    totals = report.totals
    risks = ", ".join(f"{count:,} {severity}" for severity, count in totals.operations.items())
    return (
        f"{many(totals.sessions, 'session')}, {many(totals.calls, 'tool call')}, {many(totals.commands, 'command line')},"
        f" {many(totals.subagents, 'subagent')}; risky operations: {risks}"
    )


def sections(report: AuditReport, rows: int | None = None, *, is_document: bool = True) -> Iterator[Section]:
    """The sections in order; `rows` limits each table. A document adds scope and method, and has everything in full."""
    if is_document:
        yield Section("Scope", table=_facts(_scope(report)))
        yield Section("Method", _METHOD)
    yield _cut("Risky operations by rule", None, _by_rule(report), report.by_rule, None)
    listed = operation_table(report.operations[:rows], is_document=is_document)
    chosen = "" if report.min_severity == "low" and not report.rules else _chosen(report)
    if report.operations:
        yield _cut("Risky operations", chosen, listed, report.operations, rows)
    modes = [(one.mode or "not recorded", one.sessions, one.calls, MODES.get(one.mode, "")) for one in report.modes]
    yield _cut("Permission modes", None, Table(_MODES, modes), modes, None)
    decisions = [
        (one.decision, one.decided_by, one.calls, DECIDERS.get(one.decided_by, "")) for one in report.decisions
    ]
    if decisions:
        yield _cut("Approvals and denials", None, Table(_DECISIONS, decisions), decisions, None)
    yield from _lists(report, rows, is_document=is_document)
    yield _kept(report)
    if is_document:
        yield Section("Record", _proof(report), _facts(_record(report)))


def _lists(report: AuditReport, rows: int | None, *, is_document: bool) -> Iterator[Section]:
    totals = report.totals
    tools = [
        (one.tool if is_document else tool_name(one.tool), one.calls, one.errors or None, one.denied or None)
        for one in report.tools
    ]
    yield _cut(
        "Tools",
        f"{many(totals.servers, 'MCP server')}" if totals.servers else None,
        Table(_TOOLS, tools[:rows]),
        tools,
        rows,
    )
    programs = [(one.program, one.runs, one.sessions) for one in report.programs]
    counts = (
        f"{many(totals.programs, 'program')}, {many(totals.runs, 'run')} in {many(totals.commands, 'command line')}"
    )
    yield _cut("Programs", counts, Table(_PROGRAMS, programs[:rows]), range(totals.programs), _least(rows, programs))
    files = [
        (one.path, one.reads or None, one.writes or None, one.deletions or None, one.sessions) for one in report.files
    ]
    counts = f"{many(totals.files, 'file')}: {totals.reads:,} times read, {totals.writes:,} written, {totals.deletions:,} deleted"
    yield _cut("Files", counts, Table(_FILES, files[:rows]), range(totals.files), _least(rows, files))
    hosts = [(one.host, one.scope, one.times, one.sessions, ", ".join(one.via)) for one in report.addresses]
    counts = f"{many(totals.addresses, 'address', 'addresses')} that commands and tools name; this machine's own are left out"
    yield _cut(
        "Network addresses", counts, Table(_ADDRESSES, hosts[:rows]), range(totals.addresses), _least(rows, hosts)
    )
    agents = [(one.agent_type or "(no type)", one.agents, one.tool_calls) for one in report.agents]
    yield _cut("Subagents", None, Table(_AGENTS, agents[:rows]), agents, rows)
    models = [(one.model, one.api_messages, one.tokens, one.cost_usd) for one in report.models]
    yield _cut("Models", None, Table(_MODELS, models[:rows]), models, rows)


def operation_table(operations: Iterable[Operation], *, is_document: bool) -> Table:
    """Risky operations; a document has whole ids, times in UTC and the place of the evidence."""
    rows = [
        (
            _utc(one.at) if is_document else one.at,
            one.severity,
            one.rule,
            one.outcome,
            one.session_id + (f" / {one.agent_id}" if one.agent_id else "") if is_document else one.session_id,
            one.project,
            one.detail,
            one.evidence,
            f"{one.transcript}, byte {one.offset:,}",
        )
        for one in operations
    ]
    columns = (
        Column("WHEN", Kind.TEXT if is_document else Kind.TIME),
        Column("SEVERITY", rank=3),
        Column("RULE"),
        Column("OUTCOME", rank=4),
        Column("SESSION", Kind.TEXT if is_document else Kind.ID),
        Column("PROJECT", Kind.TEXT if is_document else Kind.PROJECT, rank=5),
        Column("WHAT", least=20),
        Column("EVIDENCE", least=24, rank=2),
        Column("PLACE", Kind.PATH, least=24, rank=1),
    )
    kept = columns if is_document else columns[:-1]
    return Table(
        kept,
        [row[: len(kept)] for row in rows],
        styles={number: STYLES[row[1]] for number, row in enumerate(rows) if row[1] != "medium"},
    )


def _by_rule(report: AuditReport) -> Table:
    rows = [(one.severity, one.rule, one.operations, one.sessions, one.title) for one in report.by_rule]
    return Table(_RULES, rows, styles={number: STYLES[row[0]] for number, row in enumerate(rows)})


def _cut(title: str, counts: str | None, table: Table, every: Sequence[Any], rows: int | None) -> Section:
    """A section with a table, or with the word None."""
    prose = [counts] if counts else []
    if not every:
        return Section(title, [*prose, "None."] if not counts else prose)
    return Section(title, prose, table, max(0, len(every) - rows) if rows is not None else 0)


def _least(rows: int | None, listed: Sequence[Any]) -> int:
    return len(listed) if rows is None else min(rows, len(listed))


def _facts(facts: Iterable[tuple[str, str]]) -> Table:
    return Table(_FACTS, list(facts))


def _chosen(report: AuditReport) -> str:
    rules = f", found by {', '.join(report.rules)}" if report.rules else ""
    return f"Listed: severity {report.min_severity} and above{rules}. The counts by rule cover all."


def _scope(report: AuditReport) -> Iterator[tuple[str, str]]:
    if report.since or report.until:
        yield "Period", f"{_utc(report.since) or 'the beginning'} to {_utc(report.until) or 'now'}"
    else:
        yield "Period", "everything that the record has"
    for text in report.filters:
        yield "Only", one_line(text)
    yield "Sessions", f"{report.totals.sessions:,}"
    for client in report.clients:
        states = ", ".join(client.states) or "nothing"
        versions = f"; versions {', '.join(client.versions)}" if client.versions else ""
        yield (
            "Client",
            f"{client.client}: {many(client.sessions, 'session')}; its transcripts say about permissions: {states}{versions}",
        )
    yield "Made", f"{_utc(report.made_at)} by Hansard {report.hansard}"
    yield "Rules", f"version {report.rule_set}; days are those of {report.timezone}"


def _kept(report: AuditReport) -> Section:
    kept = report.completeness
    words = (
        f"The record has every byte of {many(kept.sessions, 'session')} that Hansard saw ({size(kept.bytes)}). The client still has"
        f" {kept.live:,} of them, has deleted {kept.gone:,} and shortened {kept.rewritten:,}; the record has these in full."
        if kept.sessions
        else "The record has no session in this scope."
    )
    gaps = [(gap.what, gap.count, gap.about) for gap in kept.gaps]
    if not gaps:
        return Section("Completeness", [words, "No gaps are known."])
    return Section("Completeness", [words], Table(_GAPS, gaps))


def _record(report: AuditReport) -> Iterator[tuple[str, str]]:
    yield "Store", report.store_id
    yield "Revision", f"{REVISION_MARK} {report.revision}"
    yield "Written", report.recorded_at


def _proof(report: AuditReport) -> list[str]:
    return [
        (
            "Every write to the record is a revision whose hash covers the former one. `hansard audit --verify REPORT`, or `hansard verify"
            f" --since {report.revision}`, proves that the record still has everything that this report was made from, byte for byte."
        ),
    ]


def _utc(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment is not None else ""


# -- documents


def markdown(report: AuditReport) -> Iterator[str]:
    """The report as Markdown, line by line."""
    from hansard.render.markdown_text import escape, table_lines

    yield "# Audit report"
    yield ""
    yield f"{escape(summary(report))}."
    for section in sections(report):
        yield ""
        yield f"## {section.title}"
        for text in section.prose:
            yield ""
            yield text if "`" in text else escape(text)
        if section.table is not None:
            yield ""
            yield from table_lines(with_headings(section.table))
        if section.left_out:
            yield ""
            yield f"{section.left_out:,} more."


def html(report: AuditReport) -> Iterator[str]:
    """The report as one HTML page that needs nothing beside it, in pieces."""
    from hansard.render.html.document import document

    return document(
        "audit.html",
        ("base.css", "audit.css"),
        (),
        {
            "title": "Audit report",
            "summary": _escaped(summary(report)),
            "sections": _html(report),
            "footer": _made(report),
        },
    )


def _html(report: AuditReport) -> Iterator[str]:
    from hansard.render.html.tables import draw_table

    for section in sections(report):
        yield f"<section><h2>{_escaped(section.title)}</h2>"
        for text in section.prose:
            yield f"<p>{_escaped(text.replace('`', ''))}</p>"
        if section.table is not None:
            css = "facts" if section.table.columns == _FACTS else "listed"
            yield f'<div class="wide">{draw_table(with_headings(section.table), css)}</div>'
        if section.left_out:
            yield f"<p>{section.left_out:,} more.</p>"
        yield "</section>\n"


def _made(report: AuditReport) -> str:
    return f"Written by Hansard {_escaped(report.hansard)}, {_utc(report.made_at)}."


def _escaped(text: str) -> str:
    from hansard.render.html.escaping import escaped

    return str(escaped(text))
