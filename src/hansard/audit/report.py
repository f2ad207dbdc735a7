"""The audit report: one pass over the calls of a period, each judged by the rules, and what the record knows around them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hansard.audit.calls import SeenCall, read_calls
from hansard.audit.paths import Scene
from hansard.audit.rules import BY_NAME, VERSION, Risk, judge_commands, judge_file
from hansard.audit.scope import Scope
from hansard.errors import UsageError
from hansard.ledger.report import Ledger, make_report
from hansard.model.audit import (
    SEVERITIES,
    AddressCount,
    AuditReport,
    AuditTotals,
    DecisionCount,
    FileCount,
    ModeCount,
    ModelCount,
    Operation,
    ProgramCount,
    RuleCount,
    ToolCount,
)
from hansard.model.calendar import find_zone
from hansard.model.requests import UsageRequest, same_for
from hansard.model.store_requests import AuditRequest
from hansard.model.time import from_milliseconds
from hansard.model.tools import mcp_parts
from hansard.query.duplicates import count_calls
from hansard.shell.commands import Command, read_commands
from hansard.shell.operations import addresses, file_uses, host_of, is_local, is_private

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_EVIDENCE = 400  # characters
_BEFORE = 60  # of these, in front of what matched
_LONGEST_NAME = 60
_STEP = 200  # calls between two reports of progress
_VERBS = {"read": 0, "write": 1, "delete": 2}


class _Tally:
    """Occurrences, and the sessions they are in."""

    def __init__(self, figures: int = 1) -> None:
        self._figures = figures
        self.counts: dict[str, list[int]] = {}
        self._sessions: dict[str, set[int]] = {}

    def add(self, name: str, session: int, figure: int = 0, count: int = 1) -> None:
        self.counts.setdefault(name, [0] * self._figures)[figure] += count
        self._sessions.setdefault(name, set()).add(session)

    def rows(self, limit: int | None) -> list[tuple[str, list[int], int]]:
        """Names, figures and sessions, the most frequent first."""
        order = sorted(self.counts.items(), key=lambda item: (-sum(item[1]), item[0]))
        return [(name, counts, len(self._sessions[name])) for name, counts in order[:limit]]


class Audit:
    """The findings of one pass over the calls."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.operations: list[Operation] = []
        self.found: Counter[str] = Counter()  # by severity
        self.by_rule = _Tally()
        self.tools: dict[str, list[int]] = {}
        self.programs, self.files, self.hosts = _Tally(), _Tally(len(_VERBS)), _Tally()
        self.via: dict[str, set[str]] = {}
        self.modes = _Tally()
        self.decisions: Counter[tuple[str, str]] = Counter()
        self.commands = self.unclear = self.unread = self.unjudged = 0
        self._stretches: dict[tuple[str, int], int] = {}  # calls in a bypass mode, by session and place of it
        self._sessions: dict[str, int] = {}

    def see(self, call: SeenCall) -> None:
        """Count a call, and judge it."""
        session = self._sessions.setdefault(call.source.session_id, len(self._sessions))
        counts = self.tools.setdefault(call.tool, [0, 0, 0])
        counts[0] += 1
        counts[1] += call.is_error
        counts[2] += call.outcome == "denied"
        if call.decision is not None:
            self.decisions[call.decision, call.decided_by or "unknown"] += 1
        self._see_mode(call, session)
        self.unread += call.is_unread
        self.unjudged += call.kind in ("mcp", "other")
        risks = list(self._judge(call, session))
        if call.is_unsandboxed:
            risks.append((Risk("unsandboxed", call.tool), call.command or ""))
        for risk, evidence in risks:
            self._keep(call, session, risk, evidence)

    def _see_mode(self, call: SeenCall, session: int) -> None:
        timeline = self.scope.modes.get(call.source.session_id, ())
        place = bisect_right(timeline, call.at or 0, key=lambda row: row.at)
        mode = timeline[place - 1].mode if place else ""
        self.modes.add(mode, session)
        if mode == "bypass":
            key = (call.source.session_id, place - 1)
            self._stretches[key] = self._stretches.get(key, 0) + 1

    def _judge(self, call: SeenCall, session: int) -> Iterator[tuple[Risk, str]]:
        folder = call.folder or self.scope.folder_of(call.source.session_id)
        scene = self.scope.scene(call.source.session_id, folder, call.source.root)
        if call.command is not None:
            commands = read_commands(call.command, folder or None)
            self.unclear += not commands.is_complete
            if call.outcome != "denied":
                self.commands += 1
                for command in commands.found:
                    self._see_command(command, scene, session, is_done=call.outcome == "done")
            for risk in judge_commands(call.command, commands, scene):
                yield risk, call.command
        elif call.url is not None and call.outcome != "denied":
            self._see_host(host_of(call.url), call.tool, session)
        for verb, path in call.files:
            if call.outcome == "done":
                self.files.add(path, session, _VERBS[verb])
            for risk in judge_file(verb, path, scene):
                yield risk, path

    def _see_command(self, command: Command, scene: Scene, session: int, *, is_done: bool) -> None:
        if command.name:
            self.programs.add(command.name[:_LONGEST_NAME], session)
        for address in addresses(command):
            self._see_host(address.host, address.how, session)
        if not is_done:
            return
        for use in file_uses(command):
            path = scene.absolute(use.path, command.folder)
            if path is not None and not path.startswith("/dev/"):
                self.files.add(path, session, _VERBS[use.verb])

    def _see_host(self, host: str, via: str, session: int) -> None:
        host = host.lower()
        if host and not is_local(host):
            self.hosts.add(host, session)
            self.via.setdefault(host, set()).add(via)

    def _keep(self, call: SeenCall, session: int, risk: Risk, evidence: str) -> None:
        if self._is_listed(risk.rule, session):
            self.operations.append(
                Operation(
                    **_about(risk.rule),
                    detail=risk.detail,
                    evidence=_excerpt(evidence, risk.start, risk.end),
                    outcome=call.outcome,
                    at=from_milliseconds(call.at),
                    session_id=call.source.session_id,
                    agent_id=call.agent_id,
                    client=call.source.client,
                    project=self.scope.project_of(call.source.session_id),
                    tool=call.tool,
                    root=call.source.root,
                    transcript=call.source.path,
                    generation=call.source.generation,
                    offset=call.offset,
                    block=call.block,
                )
            )

    def _is_listed(self, rule: str, session: int) -> bool:
        """Count a risk; whether it is to be listed."""
        severity = BY_NAME[rule].severity
        self.found[severity] += 1
        self.by_rule.add(rule, session)
        request = self.scope.request
        return (not request.rules or rule in request.rules) and SEVERITIES.index(severity) <= SEVERITIES.index(
            request.min_severity
        )

    def finish(self) -> None:
        """Add the stretches of sessions in which nothing was asked, and order the list."""
        for (session_id, place), calls in self._stretches.items():
            row = self.scope.modes[session_id][place]
            source = self.scope.source(row.transcript)
            if self._is_listed("bypass-mode", self._sessions[session_id]):
                self.operations.append(
                    Operation(
                        **_about("bypass-mode"),
                        detail=f"{row.words or row.mode}: {calls:,} call{'s' if calls != 1 else ''}",
                        evidence="",
                        outcome="mode",
                        at=from_milliseconds(row.at or None),
                        session_id=session_id,
                        agent_id="",
                        client=source.client,
                        project=self.scope.project_of(session_id),
                        tool="",
                        root=source.root,
                        transcript=source.path,
                        generation=source.generation,
                        offset=row.offset,
                        block=0,
                    )
                )
        self.operations.sort(
            key=lambda one: (
                SEVERITIES.index(one.severity),
                one.at or datetime.min.replace(tzinfo=UTC),
                one.transcript,
                one.offset,
                one.block,
                one.rule,
                one.detail,
            )
        )


def make_audit(
    reader: Reader, record: Record, request: AuditRequest, *, version: str, erasures: int = 0
) -> AuditReport:
    """Audit the sessions and the period that a request names; `erasures` is the number of receipts of the record."""
    if unknown := [rule for rule in request.rules if rule not in BY_NAME]:
        raise UsageError(f"no rule {unknown[0]!r}: docs/audit-rules.md lists them")
    if request.min_severity not in SEVERITIES:
        raise UsageError(f"{request.min_severity!r} is not a severity; choose one of {', '.join(SEVERITIES)}")
    scope = Scope(reader, request)
    audit = Audit(scope)
    total = count_calls(reader) if request.progress is not None else 0
    for number, call in enumerate(read_calls(reader, record, scope.asked), 1):
        audit.see(call)
        if request.progress is not None and number % _STEP == 0:
            request.progress(min(number, total), total)
    audit.finish()
    revision, recorded_at = scope.revision(record)
    files = audit.files.counts.values()
    return AuditReport(
        made_at=request.now or datetime.now(UTC),
        hansard=version,
        rule_set=str(VERSION),
        timezone=find_zone(request.timezone).name,
        since=request.since,
        until=request.until,
        filters=scope.filters(),
        min_severity=request.min_severity,
        rules=request.rules,
        store_id=record.store_id,
        revision=str(revision),
        recorded_at=recorded_at,
        totals=AuditTotals(
            sessions=scope.sessions,
            calls=sum(counts[0] for counts in audit.tools.values()),
            errors=sum(counts[1] for counts in audit.tools.values()),
            denied=sum(counts[2] for counts in audit.tools.values()),
            commands=audit.commands,
            runs=sum(counts[0] for counts in audit.programs.counts.values()),
            programs=len(audit.programs.counts),
            files=len(files),
            reads=sum(counts[0] for counts in files),
            writes=sum(counts[1] for counts in files),
            deletions=sum(counts[2] for counts in files),
            addresses=len(audit.hosts.counts),
            servers=len({parts[0] for tool in audit.tools if (parts := mcp_parts(tool)) is not None}),
            subagents=scope.subagents,
            operations={severity: audit.found[severity] for severity in SEVERITIES},
        ),
        by_rule=_rules(audit),
        operations=tuple(audit.operations),
        clients=scope.clients(),
        completeness=scope.completeness(
            record,
            erasures,
            unclear=audit.unclear,
            unread=audit.unread,
            unjudged=audit.unjudged,
            modeless=sum(audit.modes.counts.get("", ())),
        ),
        modes=tuple(ModeCount(mode, sessions, counts[0]) for mode, counts, sessions in audit.modes.rows(None)),
        decisions=tuple(DecisionCount(*key, calls) for key, calls in sorted(audit.decisions.items())),
        tools=tuple(
            ToolCount(tool, parts[0] if (parts := mcp_parts(tool)) is not None else None, *counts)
            for tool, counts in sorted(audit.tools.items(), key=lambda item: (-item[1][0], item[0]))
        ),
        programs=tuple(
            ProgramCount(name, counts[0], sessions) for name, counts, sessions in audit.programs.rows(request.limit)
        ),
        files=tuple(
            FileCount(path, counts[0], counts[1], counts[2], sessions)
            for path, counts, sessions in _changed_first(audit, request)
        ),
        addresses=tuple(
            AddressCount(
                host, "private" if is_private(host) else "public", tuple(sorted(audit.via[host])), counts[0], sessions
            )
            for host, counts, sessions in audit.hosts.rows(request.limit)
        ),
        agents=scope.agents(),
        models=tuple(_models(reader, scope.asked)),
    )


def find_operations(reader: Reader, record: Record, sessions: Collection[str]) -> list[Operation]:
    """The risky operations of some sessions, each once."""
    request = AuditRequest()
    audit = Audit(Scope(reader, request, sessions))
    for call in read_calls(reader, record, request, sessions):
        audit.see(call)
    audit.finish()
    return audit.operations


def _about(rule: str) -> dict[str, Any]:
    known = BY_NAME[rule]
    return {"rule": rule, "severity": known.severity, "title": known.title}


def _excerpt(text: str, start: int, end: int) -> str:
    """The part of a command line that matched and what is around it, on one line."""
    first = max(0, min(start - _BEFORE, max(start, end) - _EVIDENCE)) if len(text) > _EVIDENCE else 0
    cut = text[first : first + _EVIDENCE]
    return " ".join(f"{'… ' if first else ''}{cut}{' …' if first + _EVIDENCE < len(text) else ''}".split())


def _rules(audit: Audit) -> tuple[RuleCount, ...]:
    rows = [
        RuleCount(rule, BY_NAME[rule].severity, BY_NAME[rule].title, counts[0], sessions)
        for rule, counts, sessions in audit.by_rule.rows(None)
    ]
    return tuple(sorted(rows, key=lambda row: (SEVERITIES.index(row.severity), -row.operations, row.rule)))


def _changed_first(audit: Audit, request: AuditRequest) -> Sequence[tuple[str, list[int], int]]:
    """Files that were deleted or written before those that were only read."""
    rows = audit.files.rows(None)
    return sorted(rows, key=lambda row: (-(row[1][1] + row[1][2]), -row[1][0], row[0]))[: request.limit]


def _models(reader: Reader, request: AuditRequest) -> Iterator[ModelCount]:
    usage = same_for(UsageRequest, request, by=("model",), sort="messages")
    for row in make_report(Ledger(reader, usage), usage).rows:
        tokens = (
            row.input_tokens
            + row.output_tokens
            + row.cache_read_tokens
            + row.cache_write_5m_tokens
            + row.cache_write_1h_tokens
        )
        yield ModelCount(row.key["model"] or "", row.api_messages, tokens, row.cost_usd)
