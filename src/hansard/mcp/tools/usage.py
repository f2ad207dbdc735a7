"""`usage`: tokens and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from hansard.mcp.answer import Answer, Path, Title, copied, usd
from hansard.mcp.tools import Argument, Ask, Tool
from hansard.model.names import shown_id
from hansard.model.requests import UsageRequest

if TYPE_CHECKING:
    from hansard.model.ledger import UsageRow

DESCRIPTION = """Report tokens and cost of past sessions, by time, session, project, group of projects, model, client, agent, tool, branch, pull request (pr), commit or in total. query narrows it with dates and fields in the language of search; bare words are refused, match counts only sessions in which they occur.
Costs are US dollars, exact for what has a price; unpriced messages are counted apart.
Examples: {"by": "day", "query": "last-week"}; {"by": "model", "scope": "all"}; {"by": "session", "query": "branch:main", "limit": 5}"""


class UsageRows(UsageRequest, frozen=True, kw_only=True):
    """A report with at most `limit` rows."""

    limit: Annotated[int, Meta(ge=1, le=200, description="For times the latest, else the most expensive")] = 20


class UsageLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row of the report."""

    key: Path  # the id of a session
    title: Title = ""  # of a session, or the subject of a commit, quoted
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    api_messages: int = 0
    unpriced_messages: int = 0
    cost_usd: str = ""


class UsageAnswer(Answer):
    """What `usage` gives."""

    by: str = "total"
    total: UsageLine | None = None
    rows: list[UsageLine] = field(default_factory=list)


def run(ask: Ask, request: UsageRows) -> UsageAnswer:
    """Rows of the ledger, and their total."""
    packer = ask.packer
    by = str(request.by)
    report = ask.h.usage(replace(request, folder=ask.folder, now=ask.now))
    answer = packer.begin(UsageAnswer(scope=ask.scope, by=by, total=_line("total", report.totals)))
    rows = [] if by == "total" else list(report.rows)
    if by in ("hour", "day", "week", "month"):
        rows.sort(key=lambda row: str(row.key[by] or ""), reverse=True)
    else:
        rows.sort(key=lambda row: row.cost_usd or 0, reverse=True)
    missing = _MISSING.get(by, "unknown")
    keys = [str(row.key[by] or missing) for row in rows[: request.limit]]
    lines = (_line(shown_id(key) if by == "session" else key, row) for key, row in zip(keys, rows, strict=False))
    left = len(rows) - packer.fill(answer.rows, lines)
    parts = [ask.hint]
    if report.unrecorded is not None:
        parts.append(f"{report.unrecorded.words[0].upper()}{report.unrecorded.words[1:]}.")
    if left:
        parts.append(f"{left} more rows: narrow the query or raise limit and max_tokens. The total counts all.")
    return ask.packer.end(answer, parts)


def _line(key: str, row: UsageRow) -> UsageLine:
    title = row.about.get("title") or row.about.get("subject", "")
    written = row.cache_write_5m_tokens + row.cache_write_1h_tokens
    return copied(UsageLine, row, key=key, title=title, cache_write_tokens=written, cost_usd=usd(row.cost_usd, 6))


_GROUPS = (
    *("total", "hour", "day", "week", "month", "session", "project", "group", "model", "client", "agent", "tool"),
    *("branch", "pr", "commit"),
)
_MISSING = {"commit": "not committed", "pr": "no pull request", "group": "no group", "tool": "no tool"}
_TAKES = (
    Argument("by", choices=_GROUPS, default="total"),
    Argument("query", 'For example "2026-05", "since:7d" or "model:opus"', 2_000),
    Argument("match", "Only sessions that contain these words", 2_000),
    "limit",
)
TOOL = Tool("usage", "Tokens and cost", DESCRIPTION, UsageRows, _TAKES, UsageAnswer, run)
