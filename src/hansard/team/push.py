"""`hansard team push`: bring the rows of this machine to the server.

1. Claim the machine: its row, and an advisory lock, so that two pushes of one machine do not mix.
2. Compare the fingerprint of each session with the one the server has; most are equal.
3. Read the changed sessions and group their rows into pages, and the texts of opened projects; pages whose digest the server has are skipped.
4. In transactions of a few megabytes: delete the old rows of each page, add the new ones, and note the page's digest.
5. When all pages of some sessions are there, note the fingerprints of these sessions.

Rows and digests commit together on the server, and nothing is noted on this machine. So a push that is killed anywhere goes on where the server
confirmed last, and pushing again changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from hansard.errors import StoreBusy, UsageError
from hansard.ledger.report import price_data
from hansard.sql.local_rows import PAGE_BITS, LocalRows, LocalSession, Page, PageKey
from hansard.sql.merging import USAGE_LINES
from hansard.sql.tables import EVERY, PRICES, Pushed
from hansard.sql.view import Column, Type
from hansard.storage.sqlite import to_json
from hansard.team.schema import TABLES, TYPES, check_version, lock_of
from hansard.team.texts import TEXTS, LocalTexts, characters

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.query.reader import Reader
    from hansard.record.store import Record
    from hansard.team.connect import Database

_BATCH = 40_000  # rows in one transaction
_TEXT_BATCH = 4 << 20  # characters of texts
_CHUNK = 32 << 20  # bytes of transcripts whose rows are read together
_MOST_SESSIONS = 200  # in a chunk
_PATIENCE = 3000  # milliseconds to wait for another push of the machine
_STAGED_TYPES = {**TYPES, Type.TIME: "bigint"}
_STAGED = {table.name: f"staged_{table.view.name}" for table in TABLES}


class _Pages(NamedTuple):
    """A kind of pages: where their digests are, and the tables of their rows."""

    table: str
    tables: tuple[Pushed, ...]


_ROWS = _Pages("pages", EVERY)
_TEXTS = _Pages("text_pages", (TEXTS,))


class PushReport(Struct, frozen=True):
    """What a push did."""

    machine: str
    sessions: int  # with changes
    removed: int  # sessions that are not here any more
    unchanged: int
    pages: int
    rows: int
    opened: tuple[str, ...]  # projects whose content is pushed
    seconds: float


class _Claim(NamedTuple):
    """The machine as the server knows it."""

    id: int
    label: str


def push(
    reader: Reader,
    record: Callable[[], Record],
    database: Database,
    *,
    machine: str,
    opened: Sequence[str] = (),
    redact: Redact | None = None,
    version: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> PushReport:
    """Push what changed since the last push of this machine; `version` is that of Hansard."""
    local = LocalRows(reader, opened, redact), LocalTexts(reader, record, redact)
    return _Push(reader, database, machine, *local, version).run(progress)


class _Push:
    def __init__(
        self,
        reader: Reader,
        database: Database,
        machine: str,
        local: LocalRows,
        texts: LocalTexts,
        version: str,
    ) -> None:
        if not machine.strip() or "\0" in machine:
            raise UsageError("a machine needs a name: give it with --machine")
        self._reader = reader
        self._db = database
        self._name = machine
        self._version = version
        self._local = local
        self._texts = texts
        self._scopes: dict[str, int] = {}
        self._pages = self._rows = 0

    def run(self, progress: Callable[[int, int], None] | None) -> PushReport:
        began = time.perf_counter()
        check_version(self._db)
        claim = self._claim()
        self._lock(claim)
        with self._db.errors():
            try:
                return self._pushed(claim, began, progress)
            finally:
                self._unlock(claim)

    def _lock(self, claim: _Claim) -> None:
        """Lock the machine. After a crash the server may need a moment to notice that the former push is gone."""
        with self._db.errors():
            self._db.run(f"SET lock_timeout = {_PATIENCE}")
            try:
                with self._db.errors():
                    self._db.run("SELECT pg_advisory_lock(%s)", (lock_of(f"{self._db.schema} {claim.id}"),))
            except StoreBusy:
                raise StoreBusy(f"another push of {claim.label} is running") from None
            self._db.run("SET lock_timeout = 0")

    def _unlock(self, claim: _Claim) -> None:
        if not self._db.connection.closed:
            self._db.run("SELECT pg_advisory_unlock(%s)", (lock_of(f"{self._db.schema} {claim.id}"),))

    def _claim(self) -> _Claim:
        with self._db.transaction():
            self._db.run("INSERT INTO machines (name) VALUES (%s) ON CONFLICT (owner, name) DO NOTHING", (self._name,))
            row = self._db.one("SELECT id, label FROM machines WHERE owner = session_user AND name = %s", (self._name,))
        return _Claim(*row)

    def _pushed(self, claim: _Claim, began: float, progress: Callable[[int, int], None] | None) -> PushReport:
        with self._reader.at_once():
            local = self._sessions()
            sizes = dict(self._reader.rows("SELECT session_id, sum(size) FROM transcripts GROUP BY session_id"))
        known = dict(self._db.rows("SELECT session_id, state FROM session_states WHERE machine = %s", (claim.id,)))
        self._prepare()
        self._note_scopes(claim, local)
        self._push_rates(claim)
        gone = [session_id for session_id in known if session_id not in local]
        self._remove(claim, gone)
        changed = [session_id for session_id, session in local.items() if known.get(session_id) != session.state]
        done, whole = 0, sum(sizes.get(session_id, 0) for session_id in changed)
        for chunk in _chunks(changed, sizes):
            self._push_sessions(claim, chunk, local)
            done += sum(sizes.get(session_id, 0) for session_id in chunk)
            if progress is not None:
                progress(done, whole)
        self._db.run("UPDATE machines SET version = %s, pushed_at = now() WHERE id = %s", (self._version, claim.id))
        return PushReport(
            machine=claim.label,
            sessions=len(changed),
            removed=len(gone),
            unchanged=len(local) - len(changed),
            pages=self._pages,
            rows=self._rows,
            opened=tuple(sorted(project for project in self._scopes if self._local.is_open(project))),
            seconds=time.perf_counter() - began,
        )

    def _sessions(self) -> dict[str, LocalSession]:
        """What there is to push; of opened projects with the state of their texts."""
        local = self._local.sessions()
        for session_id, state in self._texts.states().items():
            if session_id in local and self._local.is_open(local[session_id].project):
                known = local[session_id]
                local[session_id] = known._replace(state=known.state + state)
        return local

    # -- before the rows

    def _prepare(self) -> None:
        """Tables of this session for what arrives: rows enter the real ones in one statement, under row-level security."""
        self._db.run(
            "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"
        )  # nothing here reads a whole table
        for table in TABLES:
            columns = ", ".join(f"{column.name} {_STAGED_TYPES[column.type]}" for column in table.view.columns)
            scope = "" if table is PRICES else "scope integer, "
            self._db.run(f"DROP TABLE IF EXISTS pg_temp.{_STAGED[table.name]}")
            self._db.run(
                f"CREATE TEMP TABLE {_STAGED[table.name]} (machine integer, {scope}{columns}) ON COMMIT DELETE ROWS"
            )
        self._db.run("DROP TABLE IF EXISTS pg_temp.staged_pages")
        self._db.run(
            'CREATE TEMP TABLE staged_pages (session_id text COLLATE "C", transcript bigint, page bigint, digest bytea, is_known boolean) ON COMMIT DELETE ROWS'
        )

    def _note_scopes(self, claim: _Claim, local: dict[str, LocalSession]) -> None:
        """The scopes of all projects. Closing one hides its content at once, before that is removed."""
        projects = sorted({session.project for session in local.values()})
        closed = {self._local.shown_project(project) for project in projects if not self._local.is_open(project)}
        with self._db.transaction():
            for project in projects:
                shown = self._local.shown_project(project)
                row = self._db.one(
                    "INSERT INTO scopes (machine, project, is_open) VALUES (%s, %s, %s) ON CONFLICT (machine, project)"
                    " DO UPDATE SET is_open = excluded.is_open RETURNING id",
                    (claim.id, shown, shown not in closed),
                )
                self._scopes[project] = row[0]

    def _push_rates(self, claim: _Claim) -> None:
        rates = self._local.rates()
        data = price_data(self._reader)
        with self._db.transaction():
            self._db.run(f"DELETE FROM {PRICES.name} WHERE machine = %s", (claim.id,))
            self._copy(PRICES, ((claim.id, *row) for row in rates))
            self._insert(PRICES)
            fetched = "" if data.fetched_at is None else data.fetched_at.isoformat()
            stamp = to_json(
                [data.dated, data.version, fetched, data.overrides]
            )  # compared as text: the newest is the greatest
            self._db.run("UPDATE machines SET price_data = %s WHERE id = %s", (stamp, claim.id))

    def _remove(self, claim: _Claim, gone: Sequence[str]) -> None:
        """Remove sessions that this machine does not have any more."""
        for start in range(0, len(gone), _MOST_SESSIONS):
            some = list(gone[start : start + _MOST_SESSIONS])
            with self._db.transaction():
                for table in (*EVERY, TEXTS):
                    self._db.run(
                        f"DELETE FROM {table.name} WHERE machine = %s AND {table.owner} = ANY (%s)", (claim.id, some)
                    )
                for name in ("pages", "text_pages", "session_states"):
                    self._db.run(f"DELETE FROM {name} WHERE machine = %s AND session_id = ANY (%s)", (claim.id, some))

    # -- the rows

    def _push_sessions(self, claim: _Claim, chunk: Sequence[str], local: dict[str, LocalSession]) -> None:
        project_of = {session_id: local[session_id].project for session_id in chunk}
        opened = [session_id for session_id in chunk if self._local.is_open(project_of[session_id])]
        with self._reader.at_once():
            known = self._known(claim, _ROWS, chunk)
            self._push_pages(claim, _ROWS, known, self._local.pages(chunk, project_of), project_of)
            known = self._known(claim, _TEXTS, chunk)
            self._push_pages(claim, _TEXTS, known, self._texts.pages(opened, dict(known)), project_of)
        states = {session_id: local[session_id].state for session_id in chunk}
        with self._db.transaction():
            self._db.run(
                "INSERT INTO session_states SELECT %s, * FROM unnest(%s::text[], %s::bytea[])"
                " ON CONFLICT (machine, session_id) DO UPDATE SET state = excluded.state",
                (claim.id, list(states), list(states.values())),
            )

    def _known(self, claim: _Claim, kind: _Pages, chunk: Sequence[str]) -> dict[PageKey, bytes]:
        """The digests of the pages that the server has."""
        rows = self._db.rows(
            f"SELECT session_id, transcript, page, digest FROM {kind.table} WHERE machine = %s AND session_id = ANY (%s)",
            (claim.id, list(chunk)),
        )
        return {PageKey(*row[:3]): row[3] for row in rows}

    def _push_pages(
        self,
        claim: _Claim,
        kind: _Pages,
        known: dict[PageKey, bytes],
        pages: Generator[Page],
        project_of: Mapping[str, str],
    ) -> None:
        """Send the pages that differ from the known ones, and delete those of which nothing is left."""
        waiting: list[Page] = []
        size = 0
        with closing(pages):
            for page in pages:
                former = known.pop(page.key, None)
                if former == page.digest:
                    continue
                waiting.append(page._replace(is_known=former is not None))
                size += page.size if kind is _ROWS else characters(page)
                if size >= (_BATCH if kind is _ROWS else _TEXT_BATCH):
                    self._replace(claim, kind, waiting, project_of)
                    waiting, size = [], 0
        waiting += [Page(key, {}, b"", is_known=True) for key in known]
        if waiting:
            self._replace(claim, kind, waiting, project_of)

    def _replace(self, claim: _Claim, kind: _Pages, pages: Sequence[Page], project_of: Mapping[str, str]) -> None:
        """Replace the rows of some pages and note their digests, in one transaction."""
        with self._db.transaction():
            with self._db.connection.cursor().copy("COPY staged_pages FROM STDIN") as copy:
                for page in pages:
                    copy.write_row((*page.key, page.digest, page.is_known))
            if any(page.is_known for page in pages):
                self._delete(claim, kind)
            for table in kind.tables:
                named = [(page.key.session_id, page.rows[table.name]) for page in pages if table.name in page.rows]
                if named:
                    self._copy(
                        table,
                        (
                            (claim.id, self._scopes[project_of[session_id]], *row)
                            for session_id, rows in named
                            for row in rows
                        ),
                    )
                    self._insert(table)
            self._db.run(
                f"INSERT INTO {kind.table} SELECT %s, session_id, transcript, page, digest FROM staged_pages WHERE digest <> ''"
                " ON CONFLICT (machine, session_id, transcript, page) DO UPDATE SET digest = excluded.digest",
                (claim.id,),
            )
            keys = [row[0] for page in pages for row in page.rows.get(_USAGE, ())]
            if keys:
                self._db.run("SELECT note_shared(%s)", (keys,))
        self._pages += len(pages)
        self._rows += sum(page.size for page in pages)

    def _delete(self, claim: _Claim, kind: _Pages) -> None:
        """Delete the rows of pages that the server has; pages of which nothing is left go too."""
        self._db.run("ANALYZE staged_pages")  # a handful, so the rows are found by their keys
        for table in kind.tables:
            self._db.run(
                f"DELETE FROM {table.name} x USING staged_pages p WHERE p.is_known AND x.machine = %s"
                f" AND x.{table.owner} = p.session_id AND {_IN_PAGE if table.by_place else 'p.transcript = -1'}",
                (claim.id,),
            )
        self._db.run(
            f"DELETE FROM {kind.table} g USING staged_pages p WHERE g.machine = %s AND g.session_id = p.session_id"
            " AND g.transcript = p.transcript AND g.page = p.page AND p.digest = ''",
            (claim.id,),
        )

    def _copy(self, table: Pushed, rows: Iterable[Sequence[Any]]) -> None:
        with self._db.connection.cursor().copy(f"COPY {_STAGED[table.name]} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def _insert(self, table: Pushed) -> None:
        head = ["machine"] if table is PRICES else ["machine", "scope"]
        columns = [*head, *table.columns]
        values = [*head, *(_from_staged(column) for column in table.view.columns)]
        sql = f"INSERT INTO {table.name} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {_STAGED[table.name]}"
        if table.key:
            changed = [name for name in columns if name not in table.key]
            sql += f" ON CONFLICT ({', '.join(table.key)}) DO UPDATE SET " + ", ".join(
                f"{name} = excluded.{name}" for name in changed
            )
        self._db.run(sql)


_USAGE = f"pushed_{USAGE_LINES.name}"
_IN_PAGE = f"x.transcript = p.transcript AND x.byte_offset >= p.page << {PAGE_BITS} AND x.byte_offset < (p.page + 1) << {PAGE_BITS}"


def _from_staged(column: Column) -> str:
    if column.type is Type.TIME:
        return f"timestamptz '1970-01-01 00:00:00+00' + {column.name} * interval '1 millisecond'"
    return column.name


def _chunks(session_ids: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Sessions whose rows are read together."""
    chunk: list[str] = []
    size = 0
    for session_id in session_ids:
        if chunk and (size + sizes.get(session_id, 0) > _CHUNK or len(chunk) == _MOST_SESSIONS):
            yield chunk
            chunk, size = [], 0
        chunk.append(session_id)
        size += sizes.get(session_id, 0)
    if chunk:
        yield chunk
