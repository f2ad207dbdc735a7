"""The library's public face: open a store, keep it current, ask it anything. Every front end goes through here.

    >>> import hansard
    >>> with hansard.open(home, roots=["~/.claude"]) as h:  # doctest: +SKIP
    ...     h.sync()
    ...     for session in h.sessions(since=yesterday).sessions:
    ...         print(session.started_at, session.title, session.output_tokens)

The engine reads no environment and no configuration: whoever opens it passes what it needs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hansard.errors import Ambiguous, NotFound, StoreUnusable
from hansard.model import (
    Activity,
    Agent,
    Conversation,
    FileChange,
    Link,
    Project,
    Prompt,
    Session,
    SessionPage,
    SideFile,
    Todo,
    Transcript,
)
from hansard.query.reader import Reader, like, moment
from hansard.query.sessions import SessionFilter, find_session, list_projects, list_sessions
from hansard.sources.claude_code import Root, open_roots
from hansard.sync.report import Listener, SyncReport

if TYPE_CHECKING:
    from hansard.query.health import Diagnosis, Status
    from hansard.record.restore import Restored, RestoreItem
    from hansard.record.store import Record
    from hansard.record.verify import VerifyReport

_DEFAULT_MAX_FILE = 64 << 20


def open(  # noqa: A001 - `hansard.open()` is the library's door
    home: str | os.PathLike[str], roots: Iterable[str | os.PathLike[str]] = (), *, max_file: int = _DEFAULT_MAX_FILE
) -> Hansard:
    """Open the store in `home` with its source roots; nothing is created or read before it is needed."""
    return Hansard(os.fspath(home), open_roots([os.fspath(root) for root in roots]), max_file=max_file)


class Hansard:
    """A store and its sources. Use it in a `with`, or call `close()`; one per thread."""

    def __init__(self, home: str, roots: Sequence[Root], *, max_file: int = _DEFAULT_MAX_FILE) -> None:
        self.home = os.path.abspath(os.path.expanduser(home))
        self.roots = tuple(roots)
        self.max_file = max_file
        self._reader: Reader | None = None
        self._record: Record | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the databases."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._record is not None:
            self._record.close()
            self._record = None

    # -- keeping current

    def sync(
        self, *, listener: Listener | None = None, only: Collection[str] | None = None, wait_seconds: float = 2.0
    ) -> SyncReport:
        """Keep and index whatever is new in the source roots."""
        from hansard.sync.run import sync

        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreUnusable(
                f"{self.home}: the data directory cannot be made ({error.strerror or error}). Name another with --home"
            ) from error
        report = sync(
            self.home, self.roots, max_file=self.max_file, listener=listener, only=only, wait_seconds=wait_seconds
        )
        if not report.busy:
            self.close()  # an index may have been made again, in another file of the same name
        return report

    def rebuild(self, *, listener: Listener | None = None) -> SyncReport:
        """Make both indexes again from the record alone."""
        from hansard.sync.rebuild import rebuild

        self.close()
        return rebuild(self.home, listener=listener)

    def watch(self, stop: threading.Event, *, poll: bool = False) -> Iterator[SyncReport]:
        """Stay current: sync whenever something changes, and give each report, until `stop` is set."""
        from hansard.sources.watch import watch

        changes = watch(self.roots, stop, poll=poll)
        yield self.sync(wait_seconds=60)
        for paths in changes:
            report = self.sync(only=paths, wait_seconds=60)
            if report.changed or report.gone:
                yield report

    # -- questions

    @property
    def reader(self) -> Reader:
        """The reading side of the index, for rooms that ask their own questions."""
        if self._reader is None:
            self._reader = Reader(self.home)
        return self._reader

    @property
    def record(self) -> Record:
        """The verbatim record, for reading."""
        if self._record is None:
            from hansard.record.store import Record

            path = os.path.join(self.home, "record.db")
            if not os.path.exists(path):
                raise NotFound(f"nothing is kept in {self.home} yet: run `hansard sync` first")
            self._record = Record.open(path, readonly=True)
        return self._record

    def sessions(
        self,
        *,
        project: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        branch: str | None = None,
        model: str | None = None,
        tool: str | None = None,
        version: str | None = None,
        text: str | None = None,
        has_errors: bool = False,
        source_state: str | None = None,
        debris: bool = False,
        sort: str = "ended",
        ascending: bool | None = None,
        limit: int | None = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        """Sessions that fit every condition given, the newest first unless told otherwise."""
        wanted = SessionFilter(
            project, since, until, branch, model, tool, version, text, has_errors, source_state, debris
        )
        return list_sessions(self.reader, wanted, sort=sort, ascending=ascending, limit=limit, cursor=cursor)

    def session(self, name: str) -> Session:
        """The session with that id, beginning of an id, title, or `@last`."""
        return find_session(self.reader, name)

    def projects(
        self, *, since: datetime | None = None, until: datetime | None = None, text: str | None = None
    ) -> list[Project]:
        """Projects and what happened in them, the most recent first."""
        return list_projects(self.reader, SessionFilter(project=text, since=since, until=until))

    def activity(self, *, since: datetime | None = None, until: datetime | None = None) -> Activity:
        """How much happened between two times."""
        from hansard.query.activity import count_activity

        return count_activity(self.reader, since, until)

    def conversation(self, name: str, *, agent: str | None = None) -> Conversation:
        """A session's thread, or a subagent's, ready to read."""
        from hansard.query.conversation import read_conversation

        return read_conversation(self.reader, self.record, self.session(name), agent)

    def agents(self, name: str) -> tuple[Agent, ...]:
        """A session's subagents."""
        from hansard.query.conversation import list_agents

        return list_agents(self.reader, self.session(name).session_id)

    def links(self, name: str) -> list[Link]:
        """How a session relates to others."""
        session_id = self.session(name).session_id
        rows = self.reader.rows(
            "SELECT source, target, relation FROM links WHERE source = ?1 OR target = ?1 ORDER BY relation, source, target",
            (session_id,),
        )
        return [Link(*row) for row in rows]

    def transcripts(self, name: str | None = None) -> list[Transcript]:
        """The logs of a session, or of the whole store, former generations included."""
        where, values = ("session_id = ?", (self.session(name).session_id,)) if name is not None else ("1", ())
        rows = self.reader.rows(
            "SELECT root, path, kind, generation, current, state, size, session_id, agent_id, lines, records, issues, version,"
            f" first_ts, last_ts FROM transcripts WHERE {where} ORDER BY agent_id <> '', path, root, generation",
            values,
        )
        return [_transcript(row) for row in rows]

    def file_changes(self, name: str | None = None, *, path: str | None = None) -> list[FileChange]:
        """What tool calls did to files: in one session, to paths that contain `path`, or everywhere."""
        terms, values = ["1"], []
        if name is not None:
            terms.append("session_id = ?")
            values.append(self.session(name).session_id)
        if path is not None:
            terms.append("path LIKE ? ESCAPE '\\'")
            values.append(like(path))
        rows = self.reader.rows(
            "SELECT session_id, agent_id, ts, path, change, added, removed, tool FROM file_changes"
            f" WHERE {' AND '.join(terms)} ORDER BY ts, id",
            tuple(values),
        )
        return [FileChange(row[0], row[1], moment(row[2]), *row[3:]) for row in rows]

    def prompts(self, *, limit: int | None = 100) -> list[Prompt]:
        """Everything typed, newest first, also where only history.jsonl remembers it."""
        rows = self.reader.rows(
            "SELECT p.text, p.source, p.ts, coalesce(p.session_id, t.session_id), coalesce(p.project, s.project, ''),"
            " EXISTS (SELECT 1 FROM sessions k WHERE k.session_id = coalesce(p.session_id, t.session_id) AND k.transcript IS NOT NULL)"
            " FROM prompts p JOIN transcripts t ON t.id = p.id >> 40 LEFT JOIN sessions s ON s.session_id = t.session_id"
            " WHERE t.current = 1 AND (p.source <> 'history' OR NOT EXISTS"
            "  (SELECT 1 FROM sessions k WHERE k.session_id = p.session_id AND k.transcript IS NOT NULL))"
            " ORDER BY coalesce(p.ts, 0) DESC, t.path, p.id LIMIT ?",
            (-1 if limit is None else limit,),
        )
        return [Prompt(row[0], row[1], moment(row[2]), row[3], row[4], bool(row[5])) for row in rows]

    def todos(self, name: str) -> list[Todo]:
        """A session's todos and tasks, as their files last said."""
        rows = self.reader.rows(
            "SELECT t.session_id, t.agent_id, t.status, t.content FROM todos t JOIN side_files f ON f.id = t.side_file"
            " WHERE t.session_id = ? ORDER BY f.path, t.n",
            (self.session(name).session_id,),
        )
        return [Todo(*row) for row in rows]

    def side_files(self, *, kind: str | None = None, name: str | None = None) -> list[SideFile]:
        """Small files that are kept whole: of one kind (plan, memory, tool_result, ...), of one session, or all."""
        rows = self.reader.rows(
            "SELECT root, path, kind, session_id, agent_id, size, mtime FROM side_files WHERE current = 1"
            " AND (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR session_id = ?2) ORDER BY path, root",
            (kind, None if name is None else self.session(name).session_id),
        )
        return [
            SideFile(root, path, of_kind, session_id, agent_id, size, moment(mtime))
            for root, path, of_kind, session_id, agent_id, size, mtime in rows
        ]

    def read_side_file(self, file: SideFile) -> bytes:
        """The content of a small file as it was last seen."""
        row = self.reader.one(
            "SELECT id FROM side_files WHERE current = 1 AND root = ? AND path = ?", (file.root, file.path)
        )
        if row is None:
            raise NotFound(f"no file {file.path} is kept")
        return self.record.read_snapshot(row[0])

    def status(self) -> Status:
        """The store at a glance, and what the client's clean-up will delete next."""
        from hansard.query.health import read_status

        return read_status(self.reader, self._record_or_none(), self.home, self.roots)

    def doctor(self) -> Diagnosis:
        """The store's health, permissions, issues and drift."""
        from hansard.query.health import diagnose

        return diagnose(self.reader, self._record_or_none(), self.home, self.roots)

    def _record_or_none(self) -> Record | None:
        return self.record if os.path.exists(os.path.join(self.home, "record.db")) else None

    # -- verbatim bytes

    def find_transcript(self, name: str, *, generation: int | None = None) -> tuple[int, Transcript]:
        """The transcript that a person means: a session, a subagent's id, a path or the end of one."""
        columns = (
            "id, root, path, kind, generation, current, state, size, session_id, agent_id, lines, records, issues, version,"
            " first_ts, last_ts"
        )
        path = name.replace("\\", "/")
        condition = "(path = ?1 OR root || '/' || path = ?1 OR substr(path, -length(?2)) = ?2 OR agent_id = ?3)"
        chosen = "current = 1" if generation is None else f"generation = {int(generation)}"
        rows = list(
            self.reader.rows(
                f"SELECT {columns} FROM transcripts WHERE {condition} AND {chosen} ORDER BY path, root",
                (path, "/" + path.lstrip("/"), name.removeprefix("agent-")),
            )
        )
        if not rows:
            session = self.session(name)
            rows = list(
                self.reader.rows(
                    f"SELECT {columns} FROM transcripts WHERE session_id = ? AND kind IN ('main', 'log') AND {chosen}"
                    " ORDER BY size DESC, path, root LIMIT 1",
                    (session.session_id,),
                )
            )
            if not rows and generation is not None:
                raise NotFound(f"the transcript of session {session.session_id} has no generation {generation}")
            if not rows:
                raise NotFound(
                    f"session {session.session_id} has no such transcript; `hansard show` lists its subagents"
                )
        if len(rows) > 1:
            shown = "\n".join(f"  {row[2]}" for row in rows[:8])
            raise Ambiguous(f"{len(rows)} transcripts are called {name!r}:\n{shown}")
        row = rows[0]
        return row[0], _transcript(row[1:])

    def cat(self, name: str, *, generation: int | None = None) -> Iterator[bytes]:
        """The verbatim bytes of a session's main transcript, or of any transcript."""
        transcript, _ = self.find_transcript(name, generation=generation)
        return self.record.read(transcript)

    def verify(self, *, deep: bool = False, progress: object = None) -> VerifyReport:
        """Check every chunk against its hash; `deep` also compares with the sources that still exist."""
        from hansard.record.verify import verify

        return verify(self.record, self.roots, deep, progress)  # type: ignore[arg-type]

    def plan_restore(self, names: Iterable[str] | None, to: str, *, all_generations: bool = False) -> list[RestoreItem]:
        """What a restore of these sessions (None: of everything) would write under `to`.

        A config directory that the store knows as a root gets its files where the client looks for them.
        """
        from hansard.record.restore import Layout, plan

        selection = self._files_of(names)
        target = os.path.realpath(os.path.expanduser(to))
        layout = Layout.AUTO
        for root in self.record.roots():
            if os.path.normcase(root.path) == os.path.normcase(target):
                layout = Layout.FLAT
                if selection is None:
                    selection = [known.file_id for known in self.record.known(root.id).values()]
        return plan(self.record, selection, os.path.expanduser(to), layout, all_generations=all_generations)

    def restore(self, items: list[RestoreItem], *, overwrite: bool = False, progress: object = None) -> Restored:
        """Write what `plan_restore` planned."""
        from hansard.record.restore import apply

        return apply(self.record, items, overwrite, progress)  # type: ignore[arg-type]

    def _files_of(self, names: Iterable[str] | None) -> list[int] | None:
        """The record's files that belong to sessions: transcripts, subagents, tool results, todos, tasks."""
        if names is None:
            return None
        from hansard.sources.claude_code import session_of

        wanted = {self.session(name).session_id for name in names}
        paths = {
            (row[0], row[1])
            for session_id in wanted
            for row in self.reader.rows("SELECT root, path FROM transcripts WHERE session_id = ?", (session_id,))
        }
        roots = {row.id: row.path for row in self.record.roots()}
        found = []
        for root_id, root in roots.items():
            for path, known in self.record.known(root_id).items():
                if (root, path) in paths or session_of(path) in wanted:
                    found.append(known.file_id)
        return found


def _transcript(row: Any) -> Transcript:
    values: Any = (*row[:4], bool(row[4]), *row[5:13], moment(row[13]), moment(row[14]))
    return Transcript(*values)
