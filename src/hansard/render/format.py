"""Numbers, sizes, times, names and amounts of money as people read them.

Amounts are exact until here. `$1.20+` is a lower bound: some messages have no final usage record. `$1.20+?` leaves out usage that has
no price, and `?` means that nothing has one. Marks are ASCII: a terminal that cannot show a character shows a question mark, which
would change the meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from hansard.model.time import DAYS, MONTHS
from hansard.model.tools import CLAUDE_CODE, mcp_parts
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.blame import BlameReport, Commit, CommitPage, CommitReport, Contribution, RecordedEdit
    from hansard.model.display import CallFacts, Turn
    from hansard.model.files import Problem, UnreadHistory
    from hansard.model.ledger import Budget, Tokens, UsageRow
    from hansard.model.search import PromptPage
    from hansard.model.sessions import Session, SessionGroup
    from hansard.model.threads import Agent
    from hansard.thread.structure import Neighbour, OutlineTurn

_NEVER_DELETED = 36_500  # days
_NOTICEABLE = timedelta(seconds=1)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size(count: int) -> str:
    value, unit = float(count), 0
    while value >= 1023.5 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    digits = 0 if unit == 0 or value >= 99.95 else 1
    return f"{value:.{digits}f} {_UNITS[unit]}"


def short(count: int | Decimal) -> str:
    """A number in at most five characters: 950, 12.3k, 4.5M."""
    value = float(count)
    for unit in ("", "k", "M", "B", "T", "P", "E"):
        if value < 999.5:
            return f"{value:.0f}{unit}" if not unit or value >= 99.95 else f"{value:.1f}{unit}"
        value /= 1000
    return f"{value * 10**18:.1e}"


def redaction_words(count: int) -> str:
    """The note in a redacted file."""
    return f"Redacted: {many(count, 'secret')} replaced by placeholders."


def many(count: int, thing: str, things: str | None = None) -> str:
    """A count with its noun: 1 session, 1,204 sessions."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def incomplete(problems: Sequence[Problem]) -> str:
    """The problems of a store in one sentence, with the first of them."""
    unkept = sum(not problem.is_kept for problem in problems)
    counts = []
    if unkept:
        counts.append(f"{many(unkept, 'file')} could not be kept")
    if len(problems) > unkept:
        counts.append(f"{many(len(problems) - unkept, 'file')} could not be indexed")
    first = problems[0]
    return f"{' and '.join(counts)}, first {one_line(first.subject)}: {one_line(first.reason)}"


def clean_up(days: int) -> str:
    """When a client deletes its transcripts."""
    return f"clean-up after {many(days, 'day')}" if days < _NEVER_DELETED else "no clean-up"


def of_client(name: str) -> str:
    """A prefix that names the client; empty for Claude Code."""
    return f"{one_line(name)}: " if name not in ("", CLAUDE_CODE) else ""


def describe_unread(item: UnreadHistory) -> str:
    """A history that is not read."""
    count = many(item.files, "file")
    return f"{item.client}: {count}, {size(item.bytes)} in {one_line(item.path)} ({item.reason})"


def odd_lines(count: int) -> str:
    """How many lines have issues."""
    return f"{many(count, 'line')} with issues"


def local(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """A time in a zone, or in the user's; unchanged at the ends of the calendar, where conversion fails."""
    try:
        return moment.astimezone(zone)
    except (OverflowError, OSError, ValueError):
        return moment


def full(moment: datetime | None, zone: tzinfo | None = None) -> str:
    """A time to the minute, as every page, list and table writes it."""
    if moment is None:
        return "-"
    here = local(moment, zone)
    return f"{here.year:04}-{here:%m-%d %H:%M}"


def clock(moment: datetime | None, zone: tzinfo | None = None) -> str:
    return f"{local(moment, zone):%H:%M}" if moment is not None else ""


def hit_time(moment: datetime | None, day: datetime | None = None) -> str:
    """The time of a search hit; without its date if it is that of `day`."""
    if moment is None:
        return ""
    is_same = day is not None and local(moment).date() == local(day).date()
    return clock(moment) if is_same else full(moment)


def span(start: datetime | None, end: datetime | None, zone: tzinfo | None = None) -> str:
    """A range of times; the day is not repeated."""
    first, last = full(start or end, zone), full(end or start, zone)
    if first == last:
        return first
    day, _, time = last.rpartition(" ")
    return f"{first} to {time if first.startswith(day) else last}"


def duration(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    if seconds < 0.95:
        return f"{milliseconds} ms"
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def timedelta_text(time: timedelta) -> str:
    """A duration in its two largest units: 2 h 5 min."""
    seconds = max(0.0, time.total_seconds())
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, name, lower, lower_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // lower
            return f"{whole // unit} {name}" + (f" {rest} {lower_name}" if rest else "")
    return f"{whole} s"


def ago(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "never"
    passed = now - moment
    if passed < timedelta(minutes=1):
        return "just now"
    if passed < timedelta(hours=1):
        return f"{passed // timedelta(minutes=1)} min ago"
    if passed < timedelta(days=2):
        return f"{passed // timedelta(hours=1)} h ago"
    return f"{passed.days} days ago"


def ahead(moment: datetime, now: datetime) -> str:
    left = moment - now
    if left <= timedelta(0):
        return "any time now"
    if left < timedelta(hours=2):
        return f"in {left // timedelta(minutes=1)} min"
    if left < timedelta(days=2):
        return f"in {left // timedelta(hours=1)} h"
    return f"in {left.days} days"


def date_text(day: date) -> str:
    """A date: 18 Apr 2026."""
    return f"{day.day} {MONTHS[day.month - 1][:3]} {day.year}"


def date_range(first: date, last: date) -> str:
    return date_text(first) if first == last else f"{date_text(first)} to {date_text(last)}"


def weekday_text(day: date) -> str:
    """A day in headings: Sat 18 Apr 2026."""
    return f"{DAYS[day.weekday()][:3]} {date_text(day)}"


def month(moment: datetime) -> str:
    return f"{MONTHS[moment.month - 1]} {moment.year}"


def machine(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def token_words(tokens: Tokens) -> str:
    """The tokens of each class that was used."""
    written = tokens.cache_write_5m + tokens.cache_write_1h
    named = (
        (tokens.input, "input"),
        (tokens.output, "output"),
        (tokens.cache_read, "cache read"),
        (written, "cache write"),
    )
    words = [f"{count:,} {name}" for count, name in named if count]
    if tokens.web_searches:
        words.append(many(tokens.web_searches, "web search", "web searches"))
    return ", ".join(words)


def total_tokens(tokens: Tokens) -> int:
    return tokens.input + tokens.output + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h


def call_facts(facts: CallFacts) -> list[str]:
    """The facts on a tool call's line, with its duration."""
    from msgspec.structs import replace  # the status line has no time for it

    timed = replace(facts, duration_ms=None).as_plain()
    if facts.duration_ms is not None:
        timed.insert(facts.change is not None, duration(facts.duration_ms))
    return timed


def titled(title: str) -> str:
    """A session's title on one line; the end of a very long one is dropped."""
    return one_line(title[:400]) or "(untitled)"


def title_of(session: Session) -> str:
    """A session's title, first prompt or id."""
    return session.title.strip() or session.first_prompt.strip() or session.session_id


def remark_marks(session: Session) -> str:
    """Signs before a session's title in lists: pinned, with notes."""
    return "◆ " * session.pinned + "✎ " * bool(session.notes)


TASK = "Task"
"""The speaker of a subagent's instructions, which are not human prompts."""


def model_name(model: str) -> str:
    """A model without the maker's name and the date."""
    name = one_line(model).removeprefix("claude-")
    if name == "<synthetic>":
        return "(client)"  # the client wrote the message itself: an error, an interruption
    head, _, tail = name.rpartition("-")
    return head if head and len(tail) == 8 and tail.isdigit() else name


def tool_name(tool: str) -> str:
    """A tool's name; those of MCP servers as server: tool."""
    name = one_line(tool)
    parts = mcp_parts(name)
    return ": ".join(parts) if parts is not None else name or "(no name)"


_CENT = Decimal("0.01")


def dollars(amount: Decimal | None) -> str:
    """An amount to the cent; `<$0.01` below that, and `?` if it is unknown."""
    if amount is None:
        return "?"
    if 0 < abs(amount) < _CENT:
        return "<$0.01"
    cents = amount.quantize(_CENT, ROUND_HALF_UP)
    return f"-${-cents:,}" if cents < 0 else f"${cents:,}"


def exact(amount: Decimal) -> str:
    from hansard.model.serialize import money

    digits = money(amount)
    whole, point, rest = digits.partition(".")
    return f"${int(whole):,}{point}{rest}"


def cost(amount: Decimal | None, *, lower_bound: bool, unpriced: bool) -> str:
    """An amount with its mark."""
    if amount is None:
        return dollars(amount)
    mark = "+?" if unpriced else "+" if lower_bound else ""
    return dollars(amount.quantize(_CENT, ROUND_DOWN) if mark and amount < _CENT else amount) + mark


def session_counts(session: Session) -> list[str]:
    """The numbers of prompts, messages and tool calls of a session."""
    failed = f" ({session.tool_errors:,} failed)" if session.tool_errors else ""
    return [
        many(session.prompts, "prompt"),
        many(session.messages, "message"),
        many(session.tool_calls, "tool call") + failed,
    ]


def agent_counts(agent: Agent) -> list[str]:
    """The numbers of messages and tool calls of a subagent, and whether it was reconstructed."""
    counts = [many(agent.messages, "message"), many(agent.tool_calls, "tool call")]
    return [*counts, "reconstructed from progress records"] if agent.is_reconstructed else counts


def prompt_counts(page: PromptPage) -> str:
    """The number of prompts in a list, and apart from them what else people typed."""
    of = page.sources.get
    counts = [
        (of("prompt", 0) + of("queued", 0), "prompt"),
        (of("command", 0), "command"),
        (of("bash", 0), "shell command"),
    ]
    words = [many(count, name) for count, name in counts if count]
    if lost := of("history", 0):
        words.append(f"{lost:,} only in history.jsonl")
    return ", ".join(words)


def changed_lines(session: Session) -> list[str]:
    """The lines that a session changed, if any."""
    if not session.lines_added and not session.lines_removed:
        return []
    return [f"+{session.lines_added:,} -{session.lines_removed:,} lines in {many(session.files_changed, 'file')}"]


def turn_time(turn: Turn | OutlineTurn, write: Callable[[timedelta], str] = timedelta_text) -> str:
    """Elapsed and active time of a turn; empty if unknown."""
    if turn.started_at is None or turn.ended_at is None or turn.ended_at <= turn.started_at:
        return ""
    elapsed = turn.ended_at - turn.started_at
    return elapsed_and_active(
        elapsed, elapsed if turn.active_ms is None else timedelta(milliseconds=turn.active_ms), write
    )


def elapsed_and_active(
    elapsed: timedelta, active: timedelta, write: Callable[[timedelta], str] = timedelta_text
) -> str:
    """Elapsed time, and the active part of it if that is much less."""
    if elapsed - active <= max(_NOTICEABLE, elapsed / 10):
        return write(elapsed)
    return f"{write(active)} active, {write(elapsed)} elapsed"


def turn_facts(turn: Turn) -> tuple[list[str], int]:
    """The duration of a turn, if it is known, and its input tokens."""
    time = turn_time(turn, lambda span: duration(int(span.total_seconds() * 1000)))
    facts = [time] if time else []
    used = turn.tokens
    return facts, used.input + used.cache_read + used.cache_write_5m + used.cache_write_1h


def listed_cost(session: Session) -> str:
    """The cost of a session with its mark; a dash if its client records no tokens."""
    if session.has_no_usage:
        return "-"
    return cost(session.cost_usd, lower_bound=session.lower_bound_messages > 0, unpriced=bool(session.unpriced_models))


def group_cost(group: SessionGroup) -> str:
    """The cost of a group of sessions, with its mark; a dash if no usage is recorded."""
    if group.tokens is None:
        return "-"
    return cost(group.cost_usd, lower_bound=group.is_lower_bound, unpriced=False)


def attributed_cost(work: RecordedEdit | BlameReport | CommitReport | Contribution | Commit | CommitPage) -> str:
    """The cost of lines or commits, with its mark."""
    return cost(work.cost_usd, lower_bound=work.is_lower_bound, unpriced=False)


def row_cost(row: UsageRow) -> str:
    """The cost of a row, with its mark; a dash if no usage is recorded."""
    if row.cost_usd is None and not row.api_messages:
        return "-"
    return cost(row.cost_usd, lower_bound=row.is_lower_bound, unpriced=row.unpriced_messages > 0)


def budget_cost(budget: Budget) -> str:
    """The spent part of a budget, with its mark."""
    unpriced = budget.unpriced_messages > 0
    known = None if unpriced and not budget.spent_usd else budget.spent_usd
    return cost(known, lower_bound=budget.lower_bound_messages > 0, unpriced=unpriced)


def session_cost(session: Session) -> str:
    """The cost of a session as a phrase; empty without API messages."""
    if session.has_no_usage:
        return "tokens not recorded"
    if session.cost_usd is None:
        return "no price known" if session.api_messages else ""
    is_more = session.lower_bound_messages or session.unpriced_models
    return f"{'at least ' if is_more else ''}{dollars(session.cost_usd)}"


ProjectNames = Mapping[str, str]
"""The names of projects by their paths: `Hansard.project_names()`."""


def project_name(path: str, names: ProjectNames) -> str:
    """The name of a project: its shortest unique suffix among those of the store, else the last part of its path."""
    name = names.get(path) or path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return one_line(name) or one_line(path) or "-"


_RELATIONS = {
    "fork": ("Forked{} into", "Forked{} from"),
    "branch": ("Forked{} into", "Forked{} from"),
    "continued_in": ("Continued in", "Continued from"),
    "resumed": ("Resumed in", "Resumed from"),
    "clear": ("Cleared, continued in", "Started by /clear in"),
    "context": ("Context passed to", "Context taken from"),
    "summary": ("Stores the title of", "Title stored in"),
}


def relation(neighbour: Neighbour) -> str:
    """How a session is linked with another."""
    leading, led = _RELATIONS.get(neighbour.relation, (neighbour.relation, neighbour.relation))
    place = f" at turn {neighbour.turn}" if neighbour.turn else ""
    return (leading if neighbour.leads else led).format(place)
