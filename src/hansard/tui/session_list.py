"""The list of sessions: its query, as typed and chosen by keys, and its rows, in columns that fit the width."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from hansard.model.requests import SessionsRequest
from hansard.render.format import (
    ProjectNames,
    cost,
    full,
    listed_cost,
    many,
    project_name,
    remark_marks,
    short,
)
from hansard.render.terminal.spans import BOLD, CYAN, DIM, GREEN, RED, YELLOW, painted
from hansard.render.text import fit, one_line, pad, width

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session, SessionGroup, SessionPage

PAGE = 200  # sessions that are read at once
SORTS = ("ended", "started", "cost", "prompts", "errors", "tokens", "title", "project")
GROUPS = ("", "day", "project")
_PLAIN_WORDS = re.compile(r"[\w\s./-]*[^\W_]{3}[\w\s./-]*")  # enough for a fuzzy match, and no query syntax
_LAST_WORD = re.compile(r"(?:^|(?<=[\s(]))[^\W_]+$")
_SHORTEST_BEGINNING = 3  # letters of a word that the full text is asked for
_SCOPES = {"pinned": "is:pinned", "deleted": "is:gone"}
_GAP = "  "
_WHEN = 16
_PROJECT_SHARE = 5  # of the width, at most a fifth
_LONGEST_TITLE = 400  # characters that are looked at
_SOON = 7  # days before the clean-up that are marked
# The columns on the right, each with its width and how wide the list must be for it.
_RIGHT = (("ERRORS", 6, 110), ("PROMPTS", 7, 84), ("COST", 9, 60), ("KEPT", 5, 96))


class Filter(NamedTuple):
    """The text as it is typed, the scope, and the order."""

    text: str = ""
    scope: str = "all"  # project, all, pinned, deleted, everything
    project: str | None = None  # of the directory
    sort: str = "ended"
    ascending: bool | None = None
    group: str = ""

    def scopes(self) -> list[str]:
        """The available scopes."""
        return ["project"] * (self.project is not None) + ["all", "pinned", "deleted", "everything"]

    def query(self) -> tuple[str | None, str | None]:
        """The query, and words of a title; the word that is being typed is the beginning of one."""
        query, title = typed_query(self.text)
        scope = _SCOPES.get(self.scope)
        return " ".join(filter(None, (f"({query})" if query and scope else query, scope))) or None, title

    def ask(self, h: Hansard, cursor: str | None = None) -> SessionPage:
        """A page of the sessions."""
        query, title = self.query()
        within = ("project", self.project) if self.scope == "project" and self.project is not None else None
        request = SessionsRequest(
            query,
            text=title,
            within=within,
            debris=self.scope == "everything",
            sort=self.sort,
            ascending=self.ascending,
            limit=PAGE,
            cursor=cursor,
        )
        found = h.sessions(request)
        if found.sessions or cursor is not None or not _PLAIN_WORDS.fullmatch(self.text):
            return found
        similar = h.sessions(replace(request, query=_SCOPES.get(self.scope), text=None, fuzzy=self.text))
        return replace(similar, next_cursor=None)


def typed_query(text: str) -> tuple[str, str | None]:
    """A query whose last word is a prefix; if that is very short, the words are searched in titles instead."""
    query = text.strip()
    if text == text.rstrip() and (found := _LAST_WORD.search(query)):
        word = found[0]
        if len(word) < _SHORTEST_BEGINNING:
            return query[: found.start()].strip(), word
        if word not in ("OR", "AND", "NOT", "NEAR"):
            return query + "*", None
    return query, None


def project_of(h: Hansard, directory: str) -> str | None:
    """The project that a directory belongs to: its own, or that of the nearest folder above it."""
    known = {os.path.normcase(project.project): project.project for project in h.projects() if project.project}
    place = os.path.normcase(directory)
    while place not in known:
        place, below = os.path.dirname(place), place
        if place == below:
            return None
    return known[place]


# -- rows


class Group(NamedTuple):
    """A heading among sessions."""

    name: str
    sums: SessionGroup | None  # None: of another selection than the one that is listed


class RowStyle(NamedTuple):
    """What a row depends on beside its session."""

    now: datetime
    cleanup: Mapping[str, int]  # days after which the client of a root deletes
    names: ProjectNames = MappingProxyType({})  # of projects
    live: frozenset[str] = frozenset()  # sessions that are going on


def heading(columns: int) -> str:
    """The names of the columns."""
    return painted([(DIM, _GAP.join(_cells(("WHEN", "PROJECT", "TITLE"), [name for name, _, _ in _RIGHT], columns)))])


def group_row(group: Group, columns: int) -> str:
    """A heading with what its sessions add up to."""
    sums = group.sums
    if sums is None:
        return painted([(BOLD, fit(one_line(group.name), columns))])
    amount = cost(sums.cost_usd, lower_bound=sums.is_lower_bound, unpriced=False)
    facts = f"{many(sums.total, 'session')}  {amount}"
    name = fit(one_line(group.name), max(8, columns - width(facts) - 3))
    return painted([(BOLD, name), ("", _GAP), (DIM, facts)])


def session_row(session: Session, style: RowStyle, columns: int) -> str:
    """One session on one line."""
    marks = "● " * (session.session_id in style.live) + remark_marks(session)
    client = f"[{one_line(session.client)}] " if session.other_client else ""
    known = one_line((session.title.strip() or session.first_prompt)[:_LONGEST_TITLE])
    title = f"{marks}{client}{known or '(untitled)'}"
    errors = session.tool_errors + session.api_errors
    kept, kept_style = _kept(session, style)
    right = [short(errors) if errors else "", short(session.prompts), listed_cost(session), kept]
    texts = (full(session.ended_at), project_name(session.project, style.names), title)
    cells = _cells(texts, right, columns)
    styles = [
        DIM,
        GREEN,
        BOLD if session.session_id in style.live else "",
        *_of_right((RED, "", "", kept_style), columns),
    ]
    spans = [(name, cell) for name, cell in zip(styles, cells, strict=True)]
    return painted([piece for span in spans for piece in (("", _GAP), span)][1:])


def _kept(session: Session, style: RowStyle) -> tuple[str, str]:
    """Days until the client deletes it, or that it is kept only here."""
    if session.source_state == "gone":
        return "here", CYAN
    days = style.cleanup.get(session.root)
    if days is None or session.ended_at is None:
        return "", ""
    left = math.ceil((session.ended_at + timedelta(days=days) - style.now).total_seconds() / 86_400)
    return f"{max(0, left)}d", YELLOW if left <= _SOON else DIM


def _of_right(values: tuple[str, ...], columns: int) -> list[str]:
    return [value for value, (_, _, least) in zip(values, _RIGHT, strict=True) if columns >= least]


def _cells(texts: tuple[str, str, str], right: list[str], columns: int) -> list[str]:
    """Texts cut and padded to the columns; the title gets what the others leave."""
    time, project, title = texts
    project_columns = max(8, min(24, columns // _PROJECT_SHARE))
    left = [pad(fit(time, _WHEN), _WHEN), pad(fit(project, project_columns), project_columns)]
    shown = zip(right, _RIGHT, strict=True)
    tail = [pad(fit(text, room), room, right=True) for text, (_, room, least) in shown if columns >= least]
    room = max(8, columns - sum(width(cell) + len(_GAP) for cell in [*left, *tail]))
    return [*left, pad(fit(title, room), room), *tail]
