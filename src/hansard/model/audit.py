"""An audit: what sessions did in a period, which of it was risky, and what the record can and cannot say about it."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import PlainDecimal, Timestamp

SEVERITIES = ("high", "medium", "low")
"""The severities of rules, the gravest first."""
AUDIT_FORMATS = ("markdown", "html", "json", "csv")
OUTCOMES = {
    "done": "it ran",
    "failed": "it ran and failed",
    "denied": "it was refused and did not run",
    "unanswered": "the record has no result of it",
    "mode": "not a call: the mode that the session was in",
}
"""What became of a risky operation."""


class Operation(Struct, frozen=True, kw_only=True):
    """A risky operation: the rule that found it, and the evidence."""

    rule: str
    severity: str
    title: str
    detail: str
    """What of it matched."""
    evidence: str
    """The command line around it, or the file; long ones are cut."""
    outcome: str
    """One of `OUTCOMES`."""
    at: Timestamp | None
    session_id: str
    agent_id: str
    """The subagent; empty: the session itself."""
    client: str
    project: str
    tool: str
    root: str
    transcript: str
    generation: int
    offset: int
    """Of its line in the transcript."""
    block: int


class RuleCount(Struct, frozen=True):
    """How often a rule found something."""

    rule: str
    severity: str
    title: str
    operations: int
    sessions: int


class ToolCount(Struct, frozen=True):
    """The calls of one tool, each once."""

    tool: str
    server: str | None
    """The MCP server, for its tools."""
    calls: int
    errors: int
    denied: int


class ProgramCount(Struct, frozen=True):
    """How often a program was started by command lines, also inside of others."""

    program: str
    runs: int
    sessions: int


class FileCount(Struct, frozen=True):
    """What calls did to a file, those of tools and those of command lines as far as their words say."""

    path: str
    reads: int
    writes: int
    deletions: int
    sessions: int


class AddressCount(Struct, frozen=True):
    """A host that calls talked to, as far as their words say."""

    host: str
    scope: str
    """public, private (a private network, or a name without a domain)."""
    via: tuple[str, ...]
    """Programs and tools."""
    times: int
    sessions: int


class ModeCount(Struct, frozen=True):
    """A permission mode, and what was done in it; an empty mode: no record of one."""

    mode: str
    sessions: int
    calls: int


class DecisionCount(Struct, frozen=True):
    """Calls that were allowed or denied, and by whom."""

    decision: str
    """allowed, denied."""
    decided_by: str
    calls: int


class AgentCount(Struct, frozen=True):
    """Subagents of one type."""

    agent_type: str
    agents: int
    tool_calls: int


class ModelCount(Struct, frozen=True):
    """What a model was used for, as `hansard usage` counts it."""

    model: str
    api_messages: int
    tokens: int
    cost_usd: PlainDecimal | None


class ClientScope(Struct, frozen=True):
    """Sessions of one client, and what its transcripts can say about permissions."""

    client: str
    sessions: int
    states: tuple[str, ...]
    """Of: modes, approvals, denials."""
    versions: tuple[str, ...]


class Gap(Struct, frozen=True):
    """Something that the report does not know, and how much of it."""

    what: str
    count: int
    about: str


class Completeness(Struct, frozen=True, kw_only=True):
    """What the record keeps of the period, and what is missing."""

    sessions: int
    bytes: int
    """Of their transcripts, in the record."""
    live: int
    """Sessions whose files the client still has."""
    gone: int
    """Sessions whose files the client has deleted; the record keeps them."""
    rewritten: int
    """Sessions whose files were shortened; the record keeps what was there before."""
    gaps: tuple[Gap, ...]


class AuditTotals(Struct, frozen=True, kw_only=True):
    """Totals over everything in scope; lists may be shorter."""

    sessions: int
    calls: int
    errors: int
    denied: int
    commands: int
    """Command lines."""
    runs: int
    """Programs that they started."""
    programs: int
    files: int
    reads: int
    writes: int
    deletions: int
    addresses: int
    servers: int
    """MCP servers."""
    subagents: int
    operations: dict[str, int]
    """Risky operations by severity, before `min_severity` and `rules` choose."""


class AuditReport(Struct, frozen=True, kw_only=True):
    """What sessions did, for people who must answer for it."""

    made_at: Timestamp
    hansard: str
    """The version that made it."""
    rule_set: str
    """The version of the rules."""
    timezone: str
    since: Timestamp | None
    until: Timestamp | None
    filters: tuple[str, ...]
    """The other conditions."""
    min_severity: str
    rules: tuple[str, ...]
    store_id: str
    revision: str
    """Of the record, `number:hash`: `hansard audit --verify` proves that it still has everything that it had then."""
    recorded_at: str
    """When that revision was written."""
    totals: AuditTotals
    by_rule: tuple[RuleCount, ...]
    operations: tuple[Operation, ...]
    clients: tuple[ClientScope, ...]
    completeness: Completeness
    modes: tuple[ModeCount, ...]
    decisions: tuple[DecisionCount, ...]
    tools: tuple[ToolCount, ...]
    programs: tuple[ProgramCount, ...]
    files: tuple[FileCount, ...]
    addresses: tuple[AddressCount, ...]
    agents: tuple[AgentCount, ...]
    models: tuple[ModelCount, ...]
