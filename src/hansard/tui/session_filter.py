"""What a list of sessions is asked for, as it is typed and chosen by keys."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import SessionPage

PAGE = 200  # sessions that are read at once
SORTS = ("ended", "started", "cost", "prompts", "errors", "tokens", "title", "project")
GROUPS = ("", "day", "project")
_LAST_WORD = re.compile(r"(?:^|(?<=[\s(]))[^\W_]+$")
_SHORTEST_BEGINNING = 3  # letters of a word that the full text is asked for
_SCOPES = {"pinned": "is:pinned", "deleted": "is:gone"}


class Filter(NamedTuple):
    """The text as it is typed, the scope, and the order."""

    text: str = ""
    scope: str = "all"  # project, all, pinned, deleted, everything
    project: str | None = None  # of the directory
    sort: str = "ended"
    ascending: bool | None = None
    group: str = ""

    def scopes(self) -> list[str]:
        """The scopes that there are."""
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
        return h.sessions(
            query,
            text=title,
            within=within,
            debris=self.scope == "everything",
            sort=self.sort,
            ascending=self.ascending,
            limit=PAGE,
            cursor=cursor,
        )


def typed_query(text: str) -> tuple[str, str | None]:
    """A query whose last word is a beginning; where that is very short, it is words of a title instead."""
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
