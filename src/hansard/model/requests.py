"""One request type per question: its fields, with type, default, limits and description.

The engine takes requests, or their fields as keywords. Command line options, HTTP parameters and arguments of MCP tools are generated
from the fields, so an option, a parameter and a keyword of the same name have the same meaning. `Meta.extra` holds what differs between
front ends (MCP tools list their differences themselves, because models read them):

- `choices`: the values that a text may have; `several`: more than one of them, separated by commas;
- `option`: the name on the command line, if it is not `--name`; `metavar`: the placeholder of its value there;
- `http`: the name in a URL; `longest`: the maximum length of a text there.

A field without a description is for programs only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_args

from msgspec import NODEFAULT, Meta, Struct

if TYPE_CHECKING:
    from typing import TypeVar

    _Other = TypeVar("_Other", bound=Struct)

SESSION_SORTS = tuple("ended started prompts messages tools files errors tokens output cost size title project".split())
FILE_SORTS = ("last", "changes", "lines", "sessions", "path")
CALL_SORTS = ("newest", "slowest")
CALL_KINDS = ("all", "changes", "errors")
SEARCH_SORTS = ("best", "newest")
SOURCE_STATES = ("live", "gone", "freed", "rewritten")
PROMPT_SOURCES = ("prompt", "queued", "command", "bash", "history")
USAGE_SORTS = {
    "key": "by the row's key; times in order",
    "cost": "by cost",
    "tokens": "by tokens",
    "messages": "by number of messages",
}
MODES = {
    "auto": "the cost that the client recorded (before 1.0.9), else tokens times rates",
    "calculate": "always tokens times rates",
    "recorded": "only costs that the client recorded",
}
"""How cost is determined, by name."""
DIMENSIONS = {
    "hour": "hours in your time zone",
    "day": "days in your time zone",
    "week": "weeks that begin on Monday, as 2026-W46",
    "month": "months",
    "block": "five-hour blocks, by start time",
    "session": "sessions, each with its subagents",
    "project": "projects",
    "group": "groups of projects, as the configuration names them",
    "pr": "pull requests that sessions opened or named; a session with several counts for the last",
    "model": "models",
    "client": "clients: Claude Code and other agents",
    "agent": "the main threads, and subagents by their type",
    "subagent": "the main threads, and each subagent separately",
    "branch": "git branches",
    "commit": "git commits, each with the messages whose work went into it",
    "tool": "the first tool that a message calls",
    "total": "a single row",
}
"""Everything `--by` accepts, with what the rows are."""


def about(description: str, *, ge: int | None = None, le: int | None = None, **extra: object) -> Meta:
    """A field's description, its limits and what differs between front ends."""
    return Meta(description=description, ge=ge, le=le, extra=extra)


def at_or_after(when: str = "At") -> Meta:
    """The description of `since`."""
    return Meta(description=f"{when} or after: 2026-05-01, 7d, monday, '3 days ago'.")


def before(when: str = "Before") -> Meta:
    """The description of `until`."""
    return Meta(description=f"{when} the end of that day, or before that time.")


Project = Annotated[str | None, about("Only in this project: a path or part of one.", metavar="TEXT")]
Order = Annotated[bool | None, about("Ascending or descending; the default depends on `sort`.", http="order")]
Limit = Annotated[int | None, about("Maximum number.", ge=1, le=500)]
Cursor = Annotated[str | None, about("Where the last page ended: `next_cursor` of that answer.")]
Mode = Annotated[
    str,
    about(
        "How to compute cost: auto prefers costs that the client recorded, calculate uses only rates, recorded only recorded costs.",
        choices=MODES,
    ),
]
Under = Annotated[str | None, about("Only files below this folder: a path with a trailing slash.")]
PathWords = Annotated[str | None, about("Only files with all these words in their path.")]
ToolName = Annotated[str | None, about("Only this tool or MCP server; a trailing * matches a prefix.")]
ModelName = Annotated[str | None, about("Only models whose name contains this.", metavar="TEXT")]
Match = Annotated[str | None, about("Only sessions that match this query, as in `hansard search`.", metavar="WORDS")]
Timezone = Annotated[str | None, about("Time zone of days, e.g. Europe/Berlin; your own by default.", metavar="ZONE")]


class Conditions(Struct, frozen=True, kw_only=True):
    """Conditions besides the text of a query; each means the same as the query field of that name."""

    project: Project = None
    folder: str | None = None
    since: Annotated[datetime | None, at_or_after()] = None
    until: Annotated[datetime | None, before()] = None  # the field `before:`
    branch: Annotated[str | None, about("Only on git branches whose name contains this.", metavar="TEXT")] = None
    model: Annotated[str | None, about("Only with models whose name contains this.", metavar="TEXT")] = None
    tool: Annotated[
        str | None,
        about("Only sessions that called this tool or MCP server; a trailing * matches a prefix.", metavar="NAME"),
    ] = None
    version: Annotated[
        str | None,
        about(
            "Only sessions written by this client version; 2.1 matches every 2.1.x.",
            option="--client-version",
            metavar="VERSION",
        ),
    ] = None
    file: str | None = None
    tag: Annotated[str | None, about("Only with this tag; a trailing * matches a prefix.")] = None
    has_errors: Annotated[
        bool, about("Only sessions in which a tool or the API failed.", option="--errors", http="errors")
    ] = False
    pinned: Annotated[bool, about("Only pinned sessions.")] = False
    source_state: Annotated[
        str | None,
        about(
            "Whether the transcript is on disk (live), deleted (gone), removed by `hansard free` (freed) or shortened (rewritten).",
            choices=SOURCE_STATES,
            http="state",
        ),
    ] = None
    filter: str | None = None  # a second query, parsed separately: quotes and OR in one do not affect the other

    def given(self) -> dict[str, Any]:
        """The conditions that are set."""
        named = ((name, getattr(self, name)) for name in Conditions.__struct_fields__)
        return {name: value for name, value in named if value is not None and value is not False}


class Dated(Conditions, frozen=True, kw_only=True):
    """Conditions, and how dates in them are read."""

    timezone: Timezone = None
    now: datetime | None = None

    @property
    def zone(self) -> tzinfo | None:
        """The time zone; None for the system's own."""
        if self.timezone is None:
            return None
        from hansard.model.calendar import find_zone

        return find_zone(self.timezone).info


class Query(Dated, frozen=True):
    """A query and additional conditions."""

    query: Annotated[str | None, about("Words and fields in the query language of `hansard search`.", http="q")] = None


class _ReportText(Query, frozen=True):
    query: Annotated[str | None, about("Dates and fields in the query language of `hansard search`.", http="q")] = None


class ReportQuery(_ReportText, frozen=True, kw_only=True):
    """A query of a report: bare dates in it are periods, and only `match` is searched for in texts."""

    match: Match = None


class SessionRequest(Struct, frozen=True, kw_only=True):
    """One session."""

    session: Annotated[str, about("The beginning of an id, words of a title, @last, or @2 for the one before it.")]


class SessionsRequest(Query, frozen=True, kw_only=True):
    """A page of sessions; `around` is the id of the one in the middle, `within` the kind and key of a group.

    `fuzzy` are words whose letters must be in the title or the project's path, in order and close together.
    """

    since: Annotated[datetime | None, at_or_after("Active at")] = None
    until: Annotated[datetime | None, before("Active before")] = None
    text: Annotated[
        str | None, about("Only with all these words in the title or the first prompt.", metavar="WORDS")
    ] = None
    debris: Annotated[bool, about("Include empty sessions.", option="--all", http="all")] = False
    within: tuple[str, str] | None = None
    fuzzy: str | None = None
    sort: Annotated[str, about("Sort by this.", choices=SESSION_SORTS)] = "ended"
    ascending: Order = None
    limit: Limit = 50
    cursor: Cursor = None
    around: str | None = None


class SessionGroupsRequest(Query, frozen=True, kw_only=True):
    """A page of sessions by project or by day, latest first."""

    by: str
    sort: str = "ended"
    ascending: bool | None = None
    each: int = 8  # sessions per group
    limit: int = 20
    cursor: str | None = None


class ProjectsRequest(Struct, frozen=True, kw_only=True):
    """All projects."""

    text: Annotated[str | None, about("Part of the path; fields such as client:codex select sessions.")] = None
    since: Annotated[datetime | None, at_or_after("With sessions active at")] = None
    until: Annotated[datetime | None, before("With sessions active before")] = None


class _Changes(Dated, frozen=True, kw_only=True):
    since: Annotated[datetime | None, at_or_after("Changed at")] = None
    until: Annotated[datetime | None, before("Changed before")] = None


class _FilesText(_Changes, frozen=True):
    text: Annotated[
        str | None, about("Only files with all these words in their path; fields such as client:codex select calls.")
    ] = None


class FilesRequest(_FilesText, frozen=True, kw_only=True):
    """A page of the files that tool calls changed."""

    under: Under = None
    sort: Annotated[str, about("Sort by this.", choices=FILE_SORTS)] = "last"
    ascending: Order = None
    limit: Limit = 50
    cursor: Cursor = None


class _Folder(_Changes, frozen=True):
    under: str | None = None


class FolderRequest(_Folder, frozen=True, kw_only=True):
    """The changed files and folders in a folder; `under` is a path with a trailing slash."""

    text: str | None = None


class _File(_Changes, frozen=True):
    path: Annotated[str, about("The file's path as it is in the calls.")]


class FileHistoryRequest(_File, frozen=True, kw_only=True):
    """A page of what tool calls did to one file."""

    reads: Annotated[bool, about("Include calls that did not change it.")] = False
    limit: Annotated[int | None, about("Maximum number of calls.", ge=1, le=500)] = 25
    cursor: Cursor = None


class CallsRequest(ReportQuery, frozen=True, kw_only=True):
    """A page of tool calls; `name` is a tool's exact name."""

    kind: Annotated[str, about("All calls, those that changed a file, or failed ones.", choices=CALL_KINDS)] = "all"
    tool: ToolName = None
    name: str | None = None
    text: PathWords = None
    under: Under = None
    sort: Annotated[str, about("Sort by this.", choices=CALL_SORTS)] = "newest"
    subjects: Annotated[bool, about("Add what each call is about.")] = False
    outputs: Annotated[bool, about("Add the beginning of each result.")] = False
    limit: Annotated[int | None, about("Maximum number.", ge=1, le=200)] = 50
    cursor: Cursor = None


class PromptsRequest(Query, frozen=True, kw_only=True):
    """A page of prompts; without `counted` its total is the number examined."""

    since: Annotated[datetime | None, at_or_after("Typed at")] = None
    until: Annotated[datetime | None, before("Typed before")] = None
    source: Annotated[
        str | None, about("Only this kind; history: found only in history.jsonl.", choices=PROMPT_SOURCES)
    ] = None
    unique: Annotated[bool, about("List identical prompts once, with a count.")] = False
    ascending: Annotated[bool, about("Oldest first.", http="reverse")] = False
    limit: Limit = 100
    cursor: Cursor = None
    counted: bool = True


class _Search(Dated, frozen=True):
    query: Annotated[str, about("Words and fields in the query language of `hansard search`.", http="q")]


class SearchRequest(_Search, frozen=True, kw_only=True):
    """A page of hits.

    `prepare` is applied to a whole text before its excerpt of `width` characters is cut; only texts that still match afterwards are
    hits, and `total` counts them up to the first one after the page. Without `command_output` the output of commands that a person
    typed is not searched.
    """

    since: Annotated[datetime | None, at_or_after("Said at")] = None
    until: Annotated[datetime | None, before("Said before")] = None
    group: Annotated[bool, about("Group hits by session.")] = False
    sort: Annotated[str, about("Sort by this.", choices=SEARCH_SORTS)] = "best"
    context: Annotated[int, about("Show N lines around each hit.", ge=0, le=100, option="-C --context")] = 0
    facets: Annotated[bool, about("Also count matches by project, tool, kind and month.")] = False
    limit: Annotated[int, about("Maximum number of hits, or of sessions.", ge=1, le=100)] = 10
    cursor: Cursor = None
    width: int | None = None
    prepare: Callable[[str], str] | None = None
    command_output: bool = True


class FacetsRequest(SearchRequest, frozen=True, kw_only=True):
    """Counts of the newest matches, at most `most` of them."""

    most: int = 20_000


class RecallRequest(Dated, frozen=True, kw_only=True):
    """A question in plain words.

    `prepare` is applied to every text before it is scored, so what it removes cannot be found. `without` is a session to leave out.
    """

    question: str
    also: str = ""  # other words for the same thing that the sessions may have used; they count for half
    sessions: int = 12
    passages: int = 12
    session: str | None = None  # only this one
    like: str | None = None  # a message's uuid: its words are added to the question
    without: str | None = None
    prepare: Callable[[str], str] | None = None


class LedgerRequest(ReportQuery, frozen=True, kw_only=True):
    """A question about tokens and cost."""

    model: ModelName = None
    mode: Mode = "auto"
    repository: str | None = None  # a folder in a clone, whose commits are known besides those of the projects


class UsageRequest(LedgerRequest, frozen=True, kw_only=True):
    """A report of tokens and cost."""

    by: Annotated[
        str | Sequence[str], about("What to group rows by; several with commas.", choices=DIMENSIONS, several=True)
    ] = "day"
    breakdown: Annotated[bool, about("Break each row down by model.")] = False
    work: Annotated[bool, about("Add tool calls, errors, time and changed lines.")] = False
    sort: Annotated[
        str | None, about("Sort order; by default chronological for times, else by cost.", choices=USAGE_SORTS)
    ] = None
    ascending: Order = None


class BlocksRequest(LedgerRequest, frozen=True, kw_only=True):
    """Five-hour blocks."""


class ToolsRequest(LedgerRequest, frozen=True, kw_only=True):
    """Calls, durations and failures of every tool, or of the one called `name`."""

    tool: ToolName = None
    name: str | None = None


class _Target(Dated, frozen=True):
    target: Annotated[
        str | None, about("A session, a time as reports show it, a message's id, or the uuid of a line.")
    ] = None
    query: Annotated[
        str | None, about("Dates and fields in the query language of `hansard search`.", metavar="QUERY", http="q")
    ] = None


class ExplainRequest(_Target, frozen=True, kw_only=True):
    """What a figure consists of."""

    model: ModelName = None
    match: Match = None
    repository: str | None = None  # as of `LedgerRequest`
    by: Annotated[
        str | Sequence[str] | None, about("The report that `key` is a row of.", choices=DIMENSIONS, several=True)
    ] = None
    key: Annotated[
        Sequence[str | None], about("The row's values in the order of `by`, one parameter each; empty means unknown.")
    ] = ()
    mode: Mode = "auto"
    limit: Annotated[int | None, about("Maximum number of messages, the most expensive first.", ge=1, le=200)] = 20


def same_for(request: type[_Other], asked: Dated, **fields: Any) -> _Other:
    """Another request with the query and conditions of this one."""
    names = ReportQuery.__struct_fields__
    shared = {name: getattr(asked, name) for name in names if hasattr(asked, name) and hasattr(request, name)}
    return request(**(shared | fields))


class RequestField(Struct, frozen=True):
    """A field of a request, as front ends need it."""

    name: str
    type: Any  # without None
    default: Any  # NODEFAULT: required
    meta: Meta
    extra: dict[str, Any]

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values; empty if any value is allowed."""
        return tuple(self.extra.get("choices", ()))


@cache
def field_of(request: type[Struct], name: str) -> RequestField:
    """A field of a request; only its own annotation is evaluated, because that is slow."""
    owner = next(one for one in request.__mro__ if name in getattr(one, "__annotations__", ()))
    hint = eval(owner.__annotations__[name], sys.modules[owner.__module__].__dict__)  # noqa: S307 - our own source
    is_described = hasattr(hint, "__metadata__")
    kind, meta = (hint.__origin__, hint.__metadata__[0]) if is_described else (hint, Meta())
    if isinstance(kind, UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
    place = request.__struct_fields__.index(name) - len(request.__struct_fields__)
    defaults = request.__struct_defaults__
    default = defaults[place] if -place <= len(defaults) else NODEFAULT
    return RequestField(name, kind, default, meta, meta.extra or {})
