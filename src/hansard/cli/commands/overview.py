"""`hansard` without a command: recent activity, and the state of the store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hansard.cli.arguments import parse_moment
from hansard.cli.context import Context, has_store, note, now, program
from hansard.cli.output.session_table import session_table
from hansard.model.table import Column, Kind, Table
from hansard.render.format import ago, cost, incomplete, many, odd_lines, size
from hansard.render.terminal.health import cleanup_lines
from hansard.render.terminal.tables import draw_table
from hansard.render.text import fit, one_line, wrap

if TYPE_CHECKING:
    from hansard.config import Settings
    from hansard.engine import Hansard
    from hansard.model.health import Status
    from hansard.model.ledger import Budget
    from hansard.model.sessions import Activity, SessionPage

_RECENT = 10
_NEXT = ("show @last", "sessions", "usage", "status", "--help")
_COUNTS = (
    Column(""),
    Column("SESSIONS", Kind.COUNT),
    Column("PROMPTS", Kind.COUNT),
    Column("MESSAGES", Kind.COUNT, rank=3),
    Column("TOOL CALLS", Kind.COUNT, rank=1),
    Column("TOKENS OUT", Kind.ROUNDED, rank=2),
    Column("COST", right=True),
)


def overview(cli: Context) -> None:
    """Show the last days of the user's history, or of the demo if there is none."""
    settings = cli.settings()
    if not settings.roots and not has_store(settings):
        from hansard.cli.commands.demo import scratch_demo
        from hansard.cli.context import no_roots

        note(f"hansard: {str(no_roots()).partition(' Name one')[0]}")
        note("This is an invented demo history. Name your own with --root DIR or CLAUDE_CONFIG_DIR.\n")
        show_overview(cli, scratch_demo(settings), demo=True)
    else:
        show_overview(cli, settings)


def show_overview(cli: Context, settings: Settings, *, demo: bool = False) -> None:
    moment = now()
    if demo:
        cli.no_sync = False  # nothing is indexed yet
    with cli.reading(settings, early=True) as h:
        page = h.sessions(limit=_RECENT)
        answer = h.status(as_synced=True)
        counts = _counts(h, moment)
        budgets = h.budgets(settings.limits, timezone=settings.timezone, now=moment) if settings.limits else []
    said = {"demo": demo, "activity": counts, "sessions": page.sessions, "status": answer}
    cli.answer(
        {**said, "budgets": budgets} if settings.limits else said,
        lambda: _lines(cli, page, answer, counts, budgets, moment, demo=demo),
    )
    if demo:
        from shlex import quote

        note(f"\nNext: {program()} --home {quote(settings.home)} --root {quote(settings.roots[0])} show @last")


def _counts(h: Hansard, moment: datetime) -> dict[str, Activity]:
    return {
        "today": h.activity(since=parse_moment("today", moment)),
        "last_7_days": h.activity(since=moment - timedelta(days=7)),
        "last_30_days": h.activity(since=moment - timedelta(days=30)),
        "all": h.activity(),
    }


def _lines(
    cli: Context,
    page: SessionPage,
    answer: Status,
    counts: dict[str, Activity],
    budgets: list[Budget],
    moment: datetime,
    *,
    demo: bool,
) -> Iterator[str]:
    coverage, columns, paint = cli.coverage, cli.width(), cli.paint()
    title = "Hansard (demo)" if demo else "Hansard"
    facts = f"{many(answer.sessions, 'session')} in {many(answer.projects, 'project')}, {size(answer.kept_bytes)} kept, synced {ago(answer.last_sync, moment)}"
    if coverage is not None:
        facts = f"{many(answer.sessions, 'session')} in {many(answer.projects, 'project')} so far, {coverage.transcripts:,} of {coverage.transcripts_total:,} transcripts indexed"
    yield f"{paint(title, 'heading')}  {fit(facts, columns - len(title) - 2)}"
    yield ""
    names = {"today": "Today", "last_7_days": "Last 7 days", "last_30_days": "Last 30 days", "all": "All"}
    rows = [
        (
            names[key],
            item.sessions,
            item.prompts,
            item.messages,
            item.tool_calls,
            item.output_tokens,
            "-"
            if item.has_no_usage
            else cost(item.cost_usd, lower_bound=item.lower_bound_messages > 0, unpriced=item.unpriced_messages > 0),
        )
        for key, item in counts.items()
    ]
    yield from draw_table(Table(_COUNTS, rows), min(columns, 100), paint)
    yield ""
    if pressing := [item for item in budgets if item.is_pressing]:
        from hansard.render.terminal.costs import budget_lines

        yield from budget_lines(pressing, cli.names, columns, paint)
        yield ""
    if page.sessions:
        yield from cli.draw(session_table(page.sessions))
        if page.total > len(page.sessions):
            more = f"and {page.total - len(page.sessions):,} more"
            yield paint(more if demo else f"{more}: {program()} sessions", "dim")
    else:
        yield f"No sessions so far: {answer.sync_progress.words}." if answer.sync_progress else "No sessions yet."
    yield ""
    for line in cleanup_lines(answer, moment, syncing=coverage is not None):
        style = "red" if answer.doomed_unkept and coverage is None else "dim"
        yield from (paint(piece, style) for piece in wrap(f"Clean-up: {line}.", columns))
    if answer.sync_error:
        yield from (paint(piece, "red") for piece in wrap(f"Sync failed: {one_line(answer.sync_error)}", columns))
    if answer.problems:
        trouble = f"{incomplete(answer.problems)}: {program()} status"
        yield from (paint(piece, "red") for piece in wrap(trouble, columns))
    if answer.issues:
        yield from (paint(piece, "dim") for piece in wrap(f"{odd_lines(answer.issues)}: {program()} doctor", columns))
    if not demo:
        yield from (paint(piece, "dim") for piece in wrap(_next(program()), columns))


def _next(name: str) -> str:
    first, *others = _NEXT
    if name == "hansard":
        return f"Next: {', '.join(f'{name} {word}' for word in _NEXT)}"
    return f"Next: {name} {first} (or {', '.join(others)})"  # shows a path only once
