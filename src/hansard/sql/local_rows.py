"""What a machine has to push: its sessions with a fingerprint each, and their rows page by page.

A page is a mebibyte of a transcript: what was appended to a session changes the last one. The rows of a session that lie at no place are one
page more. Every row passes the gate here: content of projects that are not opened is left out, and what is left is redacted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hansard.sql.merging import NAMES, is_content
from hansard.sql.provided import Provider
from hansard.sql.tables import BY_PLACE, EVERY, OF_SESSIONS, PRICES, Pushed
from hansard.sql.view import Type
from hansard.sql.views import VIEWS

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.query.reader import Reader

PAGE_BITS = 20
_IDS = frozenset("session_id agent_id message_key uuid parent_uuid tool_use_id parent_agent source target".split())
_encode = msgspec.msgpack.Encoder().encode
Row = list[Any]


class LocalSession(NamedTuple):
    """A session as it is here."""

    project: str
    state: bytes  # changes with anything that is pushed of it, except texts


class PageKey(NamedTuple):
    """A part of a session's rows that is replaced at a time; transcript and page are -1 for those at no place."""

    session_id: str
    transcript: int
    page: int


class Page(NamedTuple):
    """The rows of a page by table, and their digest."""

    key: PageKey
    rows: dict[str, list[Row]]
    digest: bytes  # empty: nothing is left of it
    is_known: bool = False  # the server has a former state of it

    @property
    def size(self) -> int:
        """How many rows it has."""
        return sum(map(len, self.rows.values()))


def is_opened(project: str, opened: Iterable[str]) -> bool:
    """Whether the owner opened a project: by its path, a folder above it, or the last parts of its path."""
    path = project.replace("\\", "/").rstrip("/")
    for given in opened:
        name = given.replace("\\", "/").rstrip("/")
        if name and (path == name or path.startswith(f"{name}/") or path.endswith(f"/{name}")):
            return True
    return False


class LocalRows:
    """Reads the rows of this machine's index."""

    def __init__(self, reader: Reader, opened: Sequence[str], redact: Redact | None) -> None:
        self._reader = reader
        self._opened = tuple(opened)
        self._redact: Callable[[str], str] = redact or str
        self._name = lru_cache(maxsize=50_000)(self._content)

    def is_open(self, project: str) -> bool:
        return is_opened(project, self._opened)

    def shown_project(self, project: str) -> str:
        """A project's path as it is pushed."""
        return self._name(project)

    def sessions(self) -> dict[str, LocalSession]:
        """Every session, also those that only messages or transcripts name."""
        states: dict[str, Any] = {}
        projects: dict[str, str] = {}
        view = VIEWS["sessions"]
        names = [column.name for column in view.columns]
        place = names.index("project")
        Provider(self._reader).provide(view.sql())
        for row in self._reader.rows(view.sql()):
            projects[row[0]] = row[place]
            states[row[0]] = hashlib.blake2b(_encode(row), digest_size=16)
        for sql in _STATES:
            for session_id, *rest in self._reader.rows(sql):
                if session_id:
                    states.setdefault(session_id, hashlib.blake2b(digest_size=16)).update(_encode(rest))
        return {
            session_id: LocalSession(project := projects.get(session_id, ""), self._state(state, project))
            for session_id, state in states.items()
        }

    def _state(self, state: Any, project: str) -> bytes:
        state.update(_encode((self.is_open(project), getattr(self._redact, "version", self._redact is str))))
        return bytes(state.digest())

    def pages(self, session_ids: Sequence[str], project_of: Mapping[str, str]) -> Generator[Page]:
        """All pages of some sessions, in no particular order."""
        for table in EVERY:  # before the first row is read: temporary tables cannot change while a SELECT runs
            Provider(self._reader).provide(table.view.sql(of_sessions=True))
        wanted = set(session_ids)
        whole: dict[str, dict[str, list[Row]]] = {session_id: {} for session_id in session_ids}
        for table in OF_SESSIONS:
            owner = table.columns.index(table.owner)
            for row in self._of(table, session_ids, project_of, owner):
                if row[owner] in wanted:  # a link belongs to its source
                    whole[row[owner]].setdefault(table.name, []).append(row)
        for session_id, rows in whole.items():
            yield self._page(PageKey(session_id, -1, -1), rows, project_of)
        streams = [self._placed(table, session_ids, project_of) for table in BY_PLACE]
        for key, found in groupby(merge(*streams, key=itemgetter(0)), key=itemgetter(0)):
            by_table: dict[str, list[Row]] = {}
            for _, name, row in found:
                by_table.setdefault(name, []).append(row)
            yield self._page(key, by_table, project_of)

    def _page(self, key: PageKey, rows: dict[str, list[Row]], project_of: Mapping[str, str]) -> Page:
        """The digest changes with the scope, too: every row has it."""
        project = project_of.get(key.session_id, "")
        digested = _encode((self.shown_project(project), self.is_open(project), sorted(rows.items())))
        return Page(key, rows, hashlib.blake2b(digested, digest_size=16).digest())

    def _placed(
        self, table: Pushed, session_ids: Sequence[str], project_of: Mapping[str, str]
    ) -> Iterator[tuple[PageKey, str, Row]]:
        columns = table.columns
        session, transcript, offset = (columns.index(name) for name in ("session_id", "transcript", "byte_offset"))
        order = f" ORDER BY {session + 1}, {transcript + 1}, {offset + 1}"
        for row in self._of(table, session_ids, project_of, session, order):
            yield PageKey(row[session], row[transcript], row[offset] >> PAGE_BITS), table.name, row

    def _of(
        self, table: Pushed, session_ids: Sequence[str], project_of: Mapping[str, str], owner: int, order: str = ""
    ) -> Iterator[Row]:
        sql = table.view.sql(of_sessions=True) + order
        clean = {is_open: self._cleaner(table, is_open=is_open) for is_open in (False, True)}
        is_open_of = cache(lambda session_id: self.is_open(project_of.get(session_id, "")))
        for row in self._reader.rows(sql, (json.dumps(list(session_ids)),)):
            yield clean[is_open_of(row[owner])](row)

    def of_table(self, table: Pushed, session_ids: Sequence[str], project_of: Mapping[str, str]) -> Iterator[Row]:
        """The rows of some sessions in one table; what their SELECT needs is provided already."""
        wanted = set(session_ids)
        owner = table.columns.index(table.owner)
        return (row for row in self._of(table, session_ids, project_of, owner) if row[owner] in wanted)

    def rates(self) -> list[Row]:
        """The rates of models, whose names are released as those of messages are: rows of both are joined by them."""
        clean = self._cleaner(PRICES, is_open=True)
        return [clean(row) for row in self._reader.rows(PRICES.view.sql())]

    def _cleaner(self, table: Pushed, *, is_open: bool) -> Callable[[Sequence[Any]], Row]:
        """A function that makes a row what may leave: without content, unless that is opened, and redacted."""
        releases: list[tuple[int, Callable[[str], str | None]]] = []
        for place, column in enumerate(table.view.columns):
            if column.type is not Type.TEXT:
                continue
            if is_content(column) and not is_open and column.name not in table.always:
                releases.append((place, _nothing))
            elif column.name in _IDS:
                releases.append((place, storable))
            else:
                releases.append((place, self._name if column.name in NAMES else self._content))

        def clean(row: Sequence[Any]) -> Row:
            cells = list(row)
            for place, release in releases:
                if (text := cells[place]) is not None:
                    cells[place] = release(text)
            return cells

        return clean

    def _content(self, text: str) -> str:
        return storable(self._redact(text))


def _nothing(_: str) -> None:
    return None


def storable(text: str) -> str:
    """A text as PostgreSQL can store it: without NUL and halves of surrogate pairs."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


# What else changes with a session: its files, what its messages add up to, its subagents and links.
_STATES = (
    "SELECT session_id, id, size, indexed, tail, current, state, copied, derived, issues FROM transcripts ORDER BY id",
    "SELECT * FROM session_usage",
    "SELECT * FROM agents ORDER BY session_id, agent_id",
    "SELECT * FROM links ORDER BY source, relation, target",
)
