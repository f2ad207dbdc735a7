"""The fields of a query, `name:value`: one class each, with how its value is parsed; its docstring is its help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, NoReturn, Self, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from hansard.errors import UsageError
from hansard.model.time import to_milliseconds
from hansard.query.language.dates import EXAMPLES, Span, parse_span
from hansard.query.language.error import QueryError, shown

if TYPE_CHECKING:
    from decimal import Decimal

_AMOUNT = r"(>=|<=|>|<|=)?\s*+(\$?)\s*+(\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})([kmgb]?)"  # compiled on first use
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
_MOST = 10**18  # still fits in 64 bits


class FieldValue(NamedTuple):
    """A field's value as typed, and the context needed to parse it."""

    value: str
    prefix: bool
    query: str
    start: int
    end: int
    at: int
    now: datetime
    zone: tzinfo | None

    def fail(self, problem: str, column: int | None = None) -> NoReturn:
        """Raise an error that says what is wrong with the value, and how to search for it as text."""
        quoted = self.query[self.at - 1] != ":"
        way_out = "" if quoted else "; or quote the whole term to search for it as text"
        raise QueryError(problem + way_out, self.query, self.at if column is None else column)


class QueryPart(Struct, frozen=True, eq=False):
    """A part of a query; its position in the text (the last two fields) is ignored in comparisons."""

    name: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._meaning() == other._meaning()

    def __ne__(self, other: object) -> bool:  # Struct's own compares identities
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), self._meaning()))

    def _meaning(self) -> tuple[Any, ...]:
        return astuple(self)[:-2]


class _Text(QueryPart, frozen=True, eq=False):
    """A field whose value is taken as is."""

    value: str
    start: int = 0
    end: int = 0

    @classmethod
    def read(cls, given: FieldValue) -> Iterator[Self]:
        yield cls(given.value, given.start, given.end)


class Project(_Text, frozen=True):
    """In a project: its name, its path, or part of it."""

    name = "project"
    examples = ("project:webshop", 'project:"my app"')


class Folder(_Text, frozen=True):
    """In a project in this folder or below it; give the whole path."""

    name = "folder"
    examples = ("folder:/home/me/code/webshop",)


class PullRequest(_Text, frozen=True):
    """In sessions that opened or named a pull request: its link, or the end of it."""

    name = "pr"
    examples = ("pr:https://github.com/me/webshop/pull/42", "pr:webshop/pull/42")


class Branch(_Text, frozen=True):
    """Said while that git branch was checked out."""

    name = "branch"
    examples = ("branch:main",)


class Model(_Text, frozen=True):
    """By a model; part of its name is enough."""

    name = "model"
    examples = ("model:opus",)


class File(_Text, frozen=True):
    """Calls and results of tools that read or changed a file: its name, the end of its path, or the path."""

    name = "file"
    examples = ("file:parser.py", "file:src/app/main.ts")


class Changed(_Text, frozen=True):
    """Calls and results of tools that changed a file, or sessions that did; `file:X changed` is the same."""

    name = "changed"
    examples = ("changed:parser.py",)


class InSession(_Text, frozen=True):
    """In one session: its id or the beginning of it."""

    name = "session"
    examples = ("session:3f2a91",)


class InAgent(_Text, frozen=True):
    """By a subagent: its id, the beginning of it, or its type."""

    name = "agent"
    examples = ("agent:Explore",)


class Title(_Text, frozen=True):
    """In sessions whose title contains these words."""

    name = "title"
    examples = ("title:login", 'title:"flaky login"')


class Version(_Text, frozen=True):
    """Written by a version of the client, or by all that start with it."""

    name = "version"
    examples = ("version:2.1", "version:2.1.104")


class Client(_Text, frozen=True):
    """In sessions of one client, the product that wrote them."""

    name = "client"
    examples = ("client:claude-code",)


class Note(_Text, frozen=True):
    """In sessions with a note of yours that contains these words."""

    name = "note"
    examples = ("note:deploy", 'note:"ask Mira"')


class _Prefix(QueryPart, frozen=True, eq=False):
    """A field whose value may be a prefix."""

    value: str
    prefix: bool = False
    start: int = 0
    end: int = 0


class Tag(_Prefix, frozen=True):
    """In sessions with a tag of yours, or one of several; end with a star to match a prefix."""

    name = "tag"
    examples = ("tag:infra", "tag:client/*", "tag:todo,later")

    @classmethod
    def read(cls, given: FieldValue) -> Iterator[Self]:
        """One field for each tag in a comma-separated list."""
        parts = [part.strip() for part in given.value.split(",") if part.strip()]
        for part in parts:
            value = part.removesuffix("*")
            if not value:
                given.fail("tag: needs a prefix before the star, for example tag:client*")
            prefix = value != part or (given.prefix and part is parts[-1])
            yield cls(value, prefix, given.start, given.end)
        if not parts:
            given.fail("tag: needs a tag, for example tag:infra")


class Tool(_Prefix, frozen=True):
    """Calls of a tool and their results; end with a star to match a prefix.

    Calls of Hansard's own MCP server are found only with tool:hansard.
    """

    name = "tool"
    examples = ("tool:Bash", "tool:mcp__git*", "tool:hansard")

    @classmethod
    def read(cls, given: FieldValue) -> Iterator[Self]:
        value = given.value if given.prefix else given.value.removesuffix("*")
        if not value:
            given.fail("tool: needs a name before the star, for example tool:mcp__*")
        yield cls(value, given.prefix or value != given.value, given.start, given.end)


class _Choice(_Text, frozen=True):
    """A field with few possible values."""

    values: ClassVar[dict[str, str]]
    """The allowed values and their meanings."""

    @classmethod
    def read(cls, given: FieldValue) -> Iterator[Self]:
        """One field for each value in a comma-separated list."""
        at = given.at
        found = 0
        for part in given.value.split(","):
            value = part.strip().lower()
            if value:
                found += 1
                if value not in cls.values:
                    cls._unknown(part.strip(), given, at + len(part) - len(part.lstrip()))
                yield cls(value, given.start, given.end)
            at += len(part) + 1
        if not found:
            cls._unknown(given.value, given, given.at)

    @classmethod
    def _unknown(cls, value: str, given: FieldValue, column: int) -> NoReturn:
        from difflib import get_close_matches

        close = get_close_matches(value[:40].lower(), cls.values, 1)
        guess = f" (did you mean {close[0]}?)" if close else ""
        given.fail(f"invalid value {shown(value)} for {cls.name}:{guess}; use one of {', '.join(cls.values)}", column)


class Role(_Choice, frozen=True):
    """Said by one side of the conversation."""

    name = "role"
    examples = ("role:user", "role:assistant,tool")
    values: ClassVar[dict[str, str]] = {
        "user": "what you typed",
        "assistant": "what the model wrote",
        "tool": "what tools returned",
        "system": "what the client added",
    }


class Kind(_Choice, frozen=True):
    """Of one kind of text, or of several."""

    name = "kind"
    examples = ("kind:prompt", "kind:prompt,reply")
    values: ClassVar[dict[str, str]] = {
        "prompt": "what you asked",
        "reply": "what the model answered",
        "thinking": "the model's thinking",
        "call": "what a tool was called with",
        "result": "what the tool returned",
        "title": "titles and summaries of sessions",
        "command": "commands you typed, and their output",
        "error": "what went wrong: failed tools and requests",
        "note": "what the client added",
        "reminder": "the client's reminders, found only this way",
    }


class Is(_Choice, frozen=True):
    """Only errors, subagents, or sessions that were forked, that you pinned, or whose files are gone."""

    name = "is"
    examples = ("is:error", "-is:subagent", "is:pinned")
    values: ClassVar[dict[str, str]] = {
        "error": "a failed tool or request",
        "fork": "in a session that was forked from another",
        "subagent": "by a subagent",
        "pinned": "in a session that you pinned",
        "live": "in a session whose files the client still has",
        "gone": "in a session whose files the client has deleted",
        "freed": "in a session whose files `hansard free` has removed",
    }


class Has(_Choice, frozen=True):
    """Only what includes an image, changed a file, or is in a session with a pinned message."""

    name = "has"
    examples = ("has:image", "has:diff", "has:pin")
    values: ClassVar[dict[str, str]] = {
        "image": "an image",
        "diff": "a change to a file",
        "pin": "in a session with a message that you pinned",
    }


class _Moment(QueryPart, frozen=True, eq=False):
    """A field with a time, in milliseconds since 1970 in UTC: Since and After mean t >= at, Before and Until t < at."""

    at: int
    start: int = 0
    end: int = 0

    @classmethod
    def read(cls, given: FieldValue) -> Iterator[Self]:
        yield cls(cls._bound(_span(given)), given.start, given.end)

    @classmethod
    def _bound(cls, span: Span) -> int:
        return to_milliseconds(span.start)


class Before(_Moment, frozen=True):
    """Before the start of that day, week, month or year, or before that time."""

    name = "before"
    examples = ("before:2026-05-01", "before:2w")


class Until(Before, frozen=True):
    """Up to the end of that day, month or year, or up to that time."""

    name = "until"
    examples = ("until:2026-05-01", 'until:"3 days ago"')

    @classmethod
    def _bound(cls, span: Span) -> int:
        return to_milliseconds(span.end)


class After(_Moment, frozen=True):
    """After the end of that day, week, month or year, or after that time."""

    name = "after"
    examples = ("after:2026-04", "after:yesterday")

    @classmethod
    def _bound(cls, span: Span) -> int:
        return to_milliseconds(span.end)


class Since(_Moment, frozen=True):
    """Since the start of that day, week, month or year, or since that long ago."""

    name = "since"
    examples = ("since:7d", "since:monday", "since:2026-05-01")


class On(QueryPart, frozen=True, eq=False):
    """Within a day, week, month or year."""

    first: int  # first <= t < last
    last: int
    start: int = 0
    end: int = 0

    name = "on"
    examples: ClassVar[tuple[str, ...]] = ("on:2026-05-01", "on:yesterday", "on:last-week")

    @classmethod
    def read(cls, given: FieldValue) -> Iterator[Self]:
        span = _span(given, whole=True)
        if span.start == span.end:
            given.fail(
                f"{cls.name}: takes a day, week, month or year, but {shown(given.value)} is a point in time; use since: and before:"
            )
        yield cls(to_milliseconds(span.start), to_milliseconds(span.end), given.start, given.end)


class Date(On, frozen=True):
    """The same as on:."""

    name = "date"
    examples = ("date:2026-05-01", "date:last-monday")


_Number = TypeVar("_Number")


class _Amount(QueryPart, Generic[_Number], frozen=True, eq=False):
    """A field with a number; `compare` is one of > >= < <= =."""

    compare: str
    amount: _Number
    start: int = 0
    end: int = 0


class Cost(_Amount["Decimal"], frozen=True):
    """In sessions with this cost in dollars: > >= < <= or =; a bare number means at least."""

    name = "cost"
    examples = ("cost:>1", "cost:<=0.50", "cost:$2")

    @classmethod
    def read(cls, given: FieldValue) -> Iterator[Self]:
        sign, _, amount, unit = _amount(given)
        if amount is None or unit:
            given.fail(f"{shown(given.value)} is not a cost; use for example cost:>1, cost:<=0.50 or cost:$2")
        yield cls(sign, amount, given.start, given.end)


class Tokens(_Amount[int], frozen=True):
    """In sessions with this many tokens; k, m and g are thousands, millions and billions."""

    name = "tokens"
    examples = ("tokens:>100k", "tokens:<1.5m")

    @classmethod
    def read(cls, given: FieldValue) -> Iterator[Self]:
        sign, dollar, amount, unit = _amount(given)
        number = None if amount is None or dollar else amount * _UNITS[unit]
        if number is None or number != int(number) or number > _MOST:
            given.fail(f"{shown(given.value)} is not a number of tokens; use for example tokens:>100k or tokens:<1.5m")
        yield cls(sign, int(number), given.start, given.end)


Field = (
    Project | Folder | PullRequest | Branch | Model | Tool | File | Changed | Role | Kind | InSession | InAgent | Title | Version | Client
    | Tag | Note | Is | Has | Before | After | Since | On | Cost | Tokens
)  # fmt: skip

FIELDS: dict[str, type[Field]] = {
    cls.name: cls
    for cls in (
        *(Kind, Role, Tool, File, Changed, Title),
        *(Project, Folder, Branch, PullRequest, InSession, InAgent, Model, Version, Client),
        *(Tag, Note, Since, Until, On, Date, Before, After, Is, Has, Cost, Tokens),
    )
}


def help_of(element: type) -> str:
    """The help of a field or an operator: its docstring on one line."""
    return " ".join((element.__doc__ or "").split())


def _span(given: FieldValue, *, whole: bool = False) -> Span:
    try:
        return parse_span(given.value, given.now, given.zone, whole=whole)
    except UsageError:
        given.fail(f"invalid date {shown(given.value)}; use for example {EXAMPLES}")


def _amount(given: FieldValue) -> tuple[str, str, Decimal | None, str]:
    """The sign, the currency, the number if there is one, and its unit."""
    from decimal import Decimal

    found = re.fullmatch(_AMOUNT, given.value.strip(), re.IGNORECASE | re.ASCII)
    if not found:
        return "", "", None, ""
    return found[1] or ">=", found[2], Decimal(found[3]), found[4].lower()
