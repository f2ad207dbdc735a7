"""The list of sessions: its query, as typed and chosen by keys, and its rows."""

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
from hansard.model.table import Column, Kind
from hansard.query.activity import LIVE
from hansard.render.format import ProjectNames, group_cost, listed_cost, many, remark_marks
from hansard.render.text import fit, one_line, width
from hansard.tui.rows import COLOURS, row_line

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
_LONGEST_TITLE = 400  # characters that are looked at
_SOON = 7  # days before the clean-up that are marked
COLUMNS = (
    Column("WHEN", Kind.TIME, width=16, style="dim"),
    Column("PROJECT", Kind.PROJECT, width=16, least=8, style="green"),
    Column("TITLE", least=36),
    Column("ERRORS", Kind.ROUNDED, width=6, rank=4, style="red"),
    Column("PROMPTS", Kind.ROUNDED, width=7, rank=2),
    Column("COST", width=9, right=True, rank=1),
    Column("KEPT", width=5, right=True, rank=3),
)


class Filter(NamedTuple):
    """The typed text, the scope and the order."""

    text: str = ""
    scope: str = "all"  # project (of the directory), all, pinned, deleted, everything
    sort: str = "ended"
    ascending: bool | None = None
    group: str = ""

    def query(self) -> tuple[str | None, str | None]:
        """The query, and words of a title; the word that is being typed is the beginning of one."""
        query, title = typed_query(self.text)
        scope = _SCOPES.get(self.scope)
        return " ".join(filter(None, (f"({query})" if query and scope else query, scope))) or None, title

    def ask(self, h: Hansard, cursor: str | None = None, project: str | None = None) -> SessionPage:
        """A page of the sessions; `project` is that of the directory, if it is in one."""
        query, title = self.query()
        within = ("project", project) if self.scope == "project" and project is not None else None
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


class ListFacts(NamedTuple):
    """What the list shows beside its sessions."""

    now: datetime
    cleanup: Mapping[str, int]  # days after which the client of a root deletes
    secrets: Mapping[str, int] = MappingProxyType({})  # open ones by session
    groups: Mapping[str, Group] = MappingProxyType({})  # by their projects or days
    project: str | None = None  # of the directory


def group_row(group: Group, columns: int) -> str:
    """A heading with what its sessions add up to."""
    name, sums = one_line(group.name), group.sums
    if sums is None:
        return COLOURS(fit(name, columns), "bold")
    amount = group_cost(sums)
    facts = f"{many(sums.total, 'session')}  {amount}"
    return f"{COLOURS(fit(name, max(8, columns - width(facts) - 3)), 'bold')}  {COLOURS(facts, 'dim')}"


def session_row(session: Session, facts: ListFacts, columns: int, names: ProjectNames) -> str:
    """One session on one line."""
    is_live = session.ended_at is not None and abs(facts.now - session.ended_at) < LIVE
    held = facts.secrets.get(session.session_id, 0)
    before = "● " * is_live + remark_marks(session)
    before += f"[{session.client}] " if session.other_client else ""
    before += f"[{many(held, 'secret')}] " if held else ""
    title = (session.title.strip() or session.first_prompt)[:_LONGEST_TITLE]
    kept, style = _kept(session, facts)
    values = (
        session.ended_at,
        session.project,
        before + (one_line(title) or "(untitled)"),
        session.tool_errors + session.api_errors or None,
        session.prompts,
        listed_cost(session),
        kept,
    )
    styles = [*(column.style for column in COLUMNS[:-1]), style]
    styles[2] = "bold" if is_live else None
    return row_line(COLUMNS, values, columns, names, styles)


def _kept(session: Session, facts: ListFacts) -> tuple[str, str]:
    """Days until the client deletes it, or that it is kept only here; and its style."""
    if session.source_state in ("gone", "freed"):
        return "here", "cyan"
    days = facts.cleanup.get(session.root)
    if days is None or session.ended_at is None:
        return "", "dim"
    left = math.ceil((session.ended_at - facts.now + timedelta(days=days)).total_seconds() / 86_400)
    return f"{max(0, left)}d", "yellow" if left <= _SOON else "dim"
