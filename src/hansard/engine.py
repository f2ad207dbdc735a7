"""The library's public API: open a store, keep it current, ask it anything. Every front end goes through here.

    >>> import hansard
    >>> with hansard.open(home, roots=["~/.claude"]) as h:  # doctest: +SKIP
    ...     h.sync()
    ...     for session in h.sessions(since=yesterday).sessions:
    ...         print(session.started_at, session.title, session.output_tokens)

The engine reads no environment and no configuration: its caller passes what it needs. A question is a request of `model.requests`, or
its fields as keywords; the package that owns the question answers it, and is imported only then.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from hansard import __version__
from hansard.clients import client_of
from hansard.clients.roots import open_roots
from hansard.errors import NotFound, StoreCorrupt
from hansard.model.gate import Redact, put_behind_gate, release, verbatim
from hansard.model.questions import takes
from hansard.query.reader import Reader
from hansard.sources.roots import Root
from hansard.sync.report import DEFAULT_MAX_FILE, Listener, SyncReport, SyncRequest

if TYPE_CHECKING:
    import threading

    import hansard.changes.journal
    import hansard.export.formats
    import hansard.export.run
    import hansard.git.blame
    import hansard.git.cache
    import hansard.git.commit_message
    import hansard.git.commits
    import hansard.git.notes
    import hansard.git.recovery
    import hansard.git.repository
    import hansard.grep.search
    import hansard.guard.redaction
    import hansard.handoff.brief
    import hansard.handoff.conversation
    import hansard.handoff.sessions
    import hansard.index.schema
    import hansard.ledger.blocks
    import hansard.ledger.current
    import hansard.ledger.explain
    import hansard.ledger.reconcile.run
    import hansard.ledger.report
    import hansard.ledger.tool_usage
    import hansard.model.requests
    import hansard.model.store_requests
    import hansard.move
    import hansard.pricing.cost
    import hansard.pricing.settle
    import hansard.query.activity
    import hansard.query.health
    import hansard.query.pins
    import hansard.query.prompts
    import hansard.query.recall.answer
    import hansard.query.related
    import hansard.query.restoring
    import hansard.query.search.blocks
    import hansard.query.search.pages
    import hansard.query.session_groups
    import hansard.query.sessions
    import hansard.query.suggestions
    import hansard.query.tool_calls
    import hansard.query.transcripts
    import hansard.record.restore
    import hansard.record.salvage
    import hansard.record.schema
    import hansard.record.store
    import hansard.record.verify
    import hansard.sources.discover
    import hansard.sources.watch
    import hansard.storage.heartbeat
    import hansard.storage.sqlite
    import hansard.sync.importing
    import hansard.sync.rebuild
    import hansard.sync.remarking
    import hansard.sync.run
    import hansard.sync.verify
    import hansard.thread.locate
    import hansard.thread.reader
    import hansard.thread.store
    from hansard.changes.journal import Journal, Undone
    from hansard.export import Exported
    from hansard.grep.search import Grep
    from hansard.handoff.sessions import NewSession
    from hansard.ledger.report import Ledger
    from hansard.model.blame import BlameReport, CommitPage, CommitReport
    from hansard.model.calls import Call, CallPage, FileHistory, FilePage, FolderPage, ToolReport
    from hansard.model.explain import Explanation
    from hansard.model.files import (
        Coverage,
        Drift,
        FileChange,
        IssueKind,
        Link,
        Problem,
        RestoreItem,
        SideFile,
        Todo,
        Transcript,
    )
    from hansard.model.ledger import Blocks, Budget, CurrentUsage, Limit, PriceData, PriceOverride, Rate, UsageReport
    from hansard.model.recall import Recollection
    from hansard.model.reconcile import Reconciliation
    from hansard.model.recovery import LostSessions, Reconstruction
    from hansard.model.requests import (
        BlocksRequest,
        CallsRequest,
        ExplainRequest,
        FacetsRequest,
        FileHistoryRequest,
        FilesRequest,
        FolderRequest,
        LedgerRequest,
        ProjectsRequest,
        PromptsRequest,
        RecallRequest,
        SearchRequest,
        SessionGroupsRequest,
        SessionsRequest,
        ToolsRequest,
        UsageRequest,
    )
    from hansard.model.search import Facets, PromptPage, SearchPage
    from hansard.model.sessions import (
        Activity,
        PinnedMessage,
        Project,
        Related,
        Remarks,
        Resumption,
        Session,
        SessionGroups,
        SessionPage,
        Tagged,
    )
    from hansard.model.store_requests import (
        BlameRequest,
        CommitsRequest,
        ExportRequest,
        GrepRequest,
        LostSessionsRequest,
        RestoreRequest,
        VerifyRequest,
    )
    from hansard.model.threads import Agent, Conversation, ToolCall
    from hansard.move import MovePlan
    from hansard.pricing.settle import Prices
    from hansard.record.store import Record
    from hansard.sync.report import Change, Progress
    from hansard.thread.store import ThreadStore
    from hansard.thread.thread import Thread
else:

    class _Lazily:
        """A package whose modules are imported when they are first used: commands start faster."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            path = f"{self._name}.{name}"
            __import__(path)  # unlike importlib's function, it is seen by `python -X importtime`
            module = sys.modules[path]
            value = _Lazily(path) if hasattr(module, "__path__") else module
            setattr(self, name, value)
            return value

    hansard = _Lazily("hansard")


def open(  # noqa: A001 - `hansard.open()` is how the library is entered
    home: str | os.PathLike[str],
    roots: Iterable[str | os.PathLike[str]] = (),
    *,
    follow_links: Iterable[str | os.PathLike[str]] = (),
    max_file: int = DEFAULT_MAX_FILE,
    prices: Iterable[PriceOverride] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    redact: bool = False,
) -> Hansard:
    """Open the store in `home` with its source roots; nothing is created or read before it is needed.

    Links in the roots are followed inside them and to `follow_links`, which are other directories. `groups` are names of products, each
    with paths of projects or parts of them. With `redact`, secrets are
    redacted in every text that the store gives out, except by `cat`, `restore` and raw lines.
    """
    home = os.path.abspath(os.path.expanduser(os.fspath(home)))
    given = [os.fspath(root) for root in roots]
    if os.path.isdir(os.path.join(home, "imports")):
        given += hansard.sync.importing.import_folders(home)
    found = open_roots(
        given,
        follow_links=[os.fspath(folder) for folder in follow_links],
        data_directory=home,
    )
    return Hansard(home, found, max_file=max_file, prices=tuple(prices), groups=groups, redact=redact)


class _WatchStoppedError(Exception):
    """A watch was stopped in the middle of a sync."""


class Hansard:
    """A store and its sources. Use it in a `with`, or call `close()`; one per thread."""

    def __init__(
        self,
        home: str,
        roots: Sequence[Root],
        *,
        max_file: int = DEFAULT_MAX_FILE,
        prices: Sequence[PriceOverride] = (),
        groups: Mapping[str, Sequence[str]] | None = None,
        redact: bool = False,
    ) -> None:
        self.redact: Redact | None = hansard.guard.redaction.redact if redact else None
        if self.redact is not None:
            put_behind_gate(self)
        self.home = os.path.abspath(os.path.expanduser(home))
        self.roots = tuple(roots)
        self.max_file = max_file
        self.overrides = tuple(prices)
        self.groups = dict(groups or {})
        # For servers: opened threads, shared by the engines of one store.
        self.thread_cache: hansard.thread.store.ThreadCache | None = None
        self._reader: Reader | None = None
        self._record: Record | None = None
        self._edits: hansard.git.cache.EditCache | None = None
        self._walks: dict[str, hansard.sources.discover.Walk] = {}  # of the last sync, if it found nothing new

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the databases."""
        for opened in (self._reader, self._record, self._edits):
            if opened is not None:
                opened.close()
        self._reader = self._record = self._edits = None

    def close_unshared(self) -> None:
        """Close the databases if they had to be opened without shared memory, as on a full disk.

        Such a connection keeps this process from writing. A program that keeps an engine open calls this after each question, so
        that it can write as soon as there is space.
        """
        opened = {"index.db": self._reader is not None and self._reader.is_open, "record.db": self._record is not None}
        for name, is_open in opened.items():
            if is_open and not hansard.storage.sqlite.has_shared_memory(os.path.join(self.home, name)):
                self.close()
                return

    # -- keeping current

    @takes(lambda: SyncRequest)
    def sync(self, request: SyncRequest) -> SyncReport:
        """Store and index what is new in the source roots."""
        self._walks = {}
        report = hansard.sync.run.sync(
            self.home, self.roots, request, max_file=self.max_file, prices=self._prices(), walks=self._walks
        )
        if not report.busy:
            self.close()  # an index may have been rebuilt in another file of the same name
        return report

    def import_file(self, path: str | os.PathLike[str], client: str = "") -> list[hansard.sync.importing.ImportReport]:
        """Keep the conversations of an exported file; open the store again and sync to have them in the indexes."""
        return hansard.sync.importing.import_file(self.home, os.fspath(path), client)

    def sync_progress(self) -> hansard.storage.heartbeat.SyncProgress | None:
        """Progress of the sync that runs on this store, in any process; None if there is none, or it has only begun."""
        return hansard.storage.heartbeat.sync_progress(self.home)

    def coverage(self) -> Coverage | None:
        """How much of a large history is indexed during its first sync; None once it is complete."""
        return self.reader.coverage()

    def rebuild(self, *, listener: Listener | None = None) -> SyncReport:
        """Rebuild both indexes from the record alone."""
        self.close()
        return hansard.sync.rebuild.rebuild(self.home, listener=listener, prices=self._prices())

    def watch(
        self,
        stop: threading.Event,
        *,
        poll: bool = False,
        early: bool = False,
        listener: Listener | None = None,
        wait_seconds: float = 60.0,
    ) -> Iterator[SyncReport]:
        """Stay current: sync whenever something changes, and yield each report, until `stop` is set, even during a sync.

        With `early` the newest part of a large first sync has a report of its own, which is `partial`.
        """

        def tell(progress: Progress) -> None:
            if stop.is_set():
                raise _WatchStoppedError
            if listener is not None:
                listener(progress)

        with contextlib.suppress(_WatchStoppedError):
            if early and (report := self.sync(newest_only=True, listener=tell)).partial:
                yield report
            changes = hansard.sources.watch.watch(self.roots, stop, poll=poll)
            report = self.sync(listener=tell, wait_seconds=wait_seconds)
            yield report
            for paths in changes:
                # A sync that found the store busy did not look at its paths, so look at everything.
                only = None if report.busy else paths
                report = self.sync(listener=tell, only=only, wait_seconds=wait_seconds)
                if report.changed or report.gone or report.busy:
                    yield report

    def _prices(self) -> Prices:
        return hansard.pricing.settle.Prices(self.home, self.overrides)

    # -- the databases

    @property
    def reader(self) -> Reader:
        """The index, for packages that ask their own questions."""
        if self._reader is None:
            self._reader = Reader(self.home)
        return self._reader

    @property
    def record(self) -> Record:
        """The verbatim record, for reading."""
        if self._record is None:
            path = os.path.join(self.home, "record.db")
            if not os.path.exists(path):
                raise NotFound(f"nothing has been synced to {self.home} yet: run `hansard sync` first")
            self._record = hansard.record.store.Record.open(path, readonly=True)
        return self._record

    def _record_or_none(self) -> Record | None:
        return self.record if os.path.exists(os.path.join(self.home, "record.db")) else None

    def _threads(self, redact: Redact | None = None) -> ThreadStore:
        return hansard.thread.store.ThreadStore(self.reader, self.record, self.thread_cache, redact)

    def at_once(self) -> contextlib.AbstractContextManager[object]:
        """One state of the index for all questions inside, even if another process syncs."""
        return self.reader.at_once()

    def has_text(self) -> bool:
        """Whether the full text can be searched."""
        return self.reader.has_text

    def revision(self) -> int:
        """The revision of the record that the index was built from: it grows with every sync that finds something new."""
        return self.reader.revision()

    def state(self) -> str:
        """A fingerprint of everything that answers depend on: it changes when a sync finds something new or prices change."""
        return self.reader.state()

    # -- sessions and projects

    @takes(lambda: hansard.model.requests.SessionsRequest)
    def sessions(self, request: SessionsRequest) -> SessionPage:
        """Sessions that match the query and every other condition, newest first by default."""
        return hansard.query.sessions.list_sessions(self.reader, request)

    @takes(lambda: hansard.model.requests.SessionGroupsRequest)
    def session_groups(self, request: SessionGroupsRequest) -> SessionGroups:
        """Sessions by project or by day, the latest first, each group with its sums and the first of its sessions."""
        return hansard.query.session_groups.list_groups(self.reader, request)

    def session(self, name: str, *, folder: str | None = None) -> Session:
        """The session with that id, id prefix, title, or `@last`; with `folder` only in projects at or below it."""
        return hansard.query.sessions.find_session(self.reader, name, folder)

    def _id(self, name: str | None) -> str | None:
        return None if name is None else self.session(name).session_id

    def session_with_id(self, session_id: str, *, folder: str | None = None) -> Session | None:
        """The session with exactly that id, of a project at or below `folder`."""
        return hansard.query.sessions.session_with_id(self.reader, session_id, folder)

    def find_message(self, uuid: str, *, folder: str | None = None) -> hansard.query.transcripts.MessagePlace:
        """The location of the message with that uuid or uuid prefix; the session that wrote it goes before copies."""
        return hansard.query.transcripts.find_message(self.reader, uuid, folder)

    def suggestions(self, kind: str, beginning: str = "", *, limit: int = 100) -> list[tuple[str, str]]:
        """Values with this prefix, each with a description; `kind` is session, project, model, branch, version, tool or tag."""
        return hansard.query.suggestions.suggest(self.reader, kind, beginning, limit)

    @takes(lambda: hansard.model.requests.ProjectsRequest)
    def projects(self, request: ProjectsRequest) -> list[Project]:
        """Projects and what happened in them, the most recent first."""
        return hansard.query.sessions.list_projects(self.reader, request)

    def project_names(self) -> dict[str, str]:
        """The display name of each project by its path: the shortest unique suffix."""
        return self.reader.project_names()

    def activity(self, *, since: datetime | None = None, until: datetime | None = None) -> Activity:
        """How much happened between two times."""
        with self.at_once():
            return hansard.ledger.report.count_activity(self.reader, since, until)

    def activity_by_period(self, *periods: tuple[datetime, datetime]) -> list[hansard.query.activity.PeriodActivity]:
        """What happened in each of these periods: sessions, prompts, tool calls, errors, active time."""
        return hansard.query.activity.activity_by_period(self.reader, periods)

    def session_counts(self, bounds: Sequence[datetime]) -> list[int]:
        """How many sessions were active between each of these times and the next."""
        return hansard.query.activity.count_sessions(self.reader, bounds)

    def active_time(self, session_id: str) -> timedelta:
        """How long a session was active, without pauses of more than five minutes."""
        return hansard.query.sessions.active_time(self.reader, session_id)

    def live(self, since: datetime) -> dict[str, datetime]:
        """The sessions with a record after a time, and when their last one was written; the newest first."""
        return hansard.query.activity.list_live(self.reader, since)

    def related(self, name: str, *, limit: int | None = 10) -> list[Related]:
        """Similar sessions, the most similar first, each with what they have in common."""
        return hansard.query.related.list_related(self.reader, self.session(name), limit=limit)

    # -- one session

    def read(
        self,
        session: Session | str,
        agent: str | None = None,
        branch: int = 0,
        *,
        pictures: bool = True,
        subagents: bool = True,
        long_lines: bool = True,
    ) -> Thread:
        """A session's thread, or a subagent's: its turns, windows of them, its outline, its raw lines, its usage.

        `agent` is the prefix of a subagent's id; windows show `branch` as the path that the session took. Without `pictures` their data
        is left out, without `subagents` what they did. Without `long_lines` a line of more than 8 MiB says only so.
        """
        about = self.session(session) if isinstance(session, str) else session
        threads = self._threads(self.redact)
        return threads.read(about, agent, branch, pictures=pictures, subagents=subagents, long_lines=long_lines)

    def conversation(self, name: str, *, agent: str | None = None) -> Conversation:
        """The entries of a session's thread, or of a subagent's."""
        return self.read(name, agent).conversation()

    def agents(self, name: str) -> tuple[Agent, ...]:
        """A session's subagents."""
        return hansard.thread.reader.list_agents(self.reader, self.session(name).session_id)

    def links(self, name: str) -> list[Link]:
        """How a session relates to others."""
        return hansard.query.transcripts.list_links(self.reader, self.session(name).session_id)

    def transcripts(self, name: str | None = None) -> list[Transcript]:
        """The logs of a session, or of the whole store, former generations included."""
        return hansard.query.transcripts.list_transcripts(self.reader, self._id(name))

    def todos(self, name: str) -> list[Todo]:
        """A session's todos and tasks, from the latest version of their files."""
        return hansard.query.transcripts.list_todos(self.reader, self.session(name).session_id)

    def side_files(self, *, kind: str | None = None, name: str | None = None) -> list[SideFile]:
        """Small files that are stored whole: of one kind (plan, memory, tool_result, ...), of one session, or all."""
        return hansard.query.transcripts.list_side_files(self.reader, kind, self._id(name))

    def read_side_file(self, file: SideFile) -> bytes:
        """The latest content of a small file."""
        return hansard.query.transcripts.read_side_file(self.reader, self.record, file)

    def plan_resume(self, name: str) -> Resumption:
        """What the client needs to resume a session; raises if it cannot be resumed."""
        return hansard.query.restoring.plan_resume(self.reader, name, self.roots)

    def plan_copy(
        self, name: str, *, slim: bool = False, repair: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> NewSession:
        """A copy of a session for its client to resume: `slim` replaces old bulk, `repair` also joins a conversation that fell apart.

        `progress` is called with the bytes read so far and those to read, also when the copy is written.
        """
        return hansard.handoff.sessions.plan_copy(
            self.reader, self.record, self.plan_resume(name), slim=slim, repair=repair, progress=progress
        )

    def plan_handoff(
        self, name: str, to: str, config: str, *, cwd: str | None = None, tokens: int = 50_000
    ) -> NewSession:
        """A new session of the client `to` that continues a session of any client; secrets are redacted.

        `config` is the config directory of the client; `handoff_directory` finds the usual one. The newest messages are taken, up to `tokens`.
        """
        thread = self.read(name, pictures=False, subagents=False, long_lines=False)
        session, conversation = thread.session, hansard.handoff.conversation
        said, left_out = conversation.compose_messages(session, conversation.read_steps(thread), tokens)
        title = conversation.title_of(session)
        return hansard.handoff.sessions.plan_session(
            to, config, cwd or session.cwd, title, said, source=session.session_id, left_out=left_out
        )

    def handoff_directory(self, to: str, variables: Mapping[str, str], home: str) -> str:
        """The config directory of a client, as these environment variables say."""
        return hansard.handoff.sessions.config_directory(to, variables, home)

    def brief(self, name: str, *, tokens: int = 4_000) -> str:
        """A session in Markdown for the first prompt of another agent: task, decisions, files, state, open ends; secrets are redacted."""
        thread = self.read(name, pictures=False, subagents=False, long_lines=False)
        return hansard.handoff.brief.write_brief(thread, self.todos(thread.session.session_id), tokens)

    def write_session(self, plan: NewSession) -> None:
        """Write what `plan_copy` or `plan_handoff` planned: a new file, never an existing one."""
        hansard.handoff.sessions.write_session(self.home, plan)

    def written_sessions(self) -> list[Journal]:
        """The sessions that Hansard wrote and can remove again, the oldest first."""
        return hansard.handoff.sessions.written_sessions(self.home)

    def undo_session(self, journal: Journal) -> Undone:
        """Remove a session that Hansard wrote, unless its client has continued it."""
        return hansard.handoff.sessions.undo_session(self.home, journal)

    # -- calls, files, prompts

    def file_changes(self, name: str | None = None, *, path: str | None = None) -> list[FileChange]:
        """Changes that tool calls made to files: in one session, to paths that contain `path`, or everywhere."""
        return hansard.query.prompts.list_file_changes(self.reader, self._id(name), path)

    @takes(lambda: hansard.model.requests.FilesRequest)
    def files(self, request: FilesRequest) -> FilePage:
        """Files that tool calls changed, the last changed first by default."""
        return hansard.query.tool_calls.list_files(self.reader, request)

    @takes(lambda: hansard.model.requests.FolderRequest)
    def folder(self, request: FolderRequest) -> FolderPage:
        """The changed files of one folder, and its subfolders."""
        return hansard.query.tool_calls.list_folder(self.reader, request)

    @takes(lambda: hansard.model.requests.FileHistoryRequest)
    def file_history(self, request: FileHistoryRequest) -> FileHistory:
        """What tool calls did to one file, the newest first; with `reads` also those that did not change it."""
        return hansard.query.tool_calls.read_history(self.reader, request)

    @takes(lambda: hansard.model.requests.CallsRequest)
    def calls(self, request: CallsRequest) -> CallPage:
        """Tool calls, newest first by default; `subjects` adds what each is about, `outputs` how its result begins."""
        page = hansard.query.tool_calls.list_calls(self.reader, request)
        if not (request.subjects or request.outputs) or not page.calls:
            return page
        return hansard.thread.locate.with_subjects(self.reader, self.record, page, outputs=request.outputs)

    def tool_call(
        self,
        transcript: str,
        offset: int,
        block: int = 0,
        *,
        session_id: str | None = None,
        root: str | None = None,
        generation: int | None = None,
    ) -> ToolCall:
        """One call with its input and its result, by the location of its block: a transcript's path and a byte offset."""
        return hansard.thread.locate.read_call(
            self.reader, self.record, transcript, offset, block, session_id=session_id, root=root, generation=generation
        )

    def listed_call(self, call: Call) -> ToolCall | None:
        """A listed call with its input and its result; None if the record no longer has it."""
        return hansard.thread.locate.read_listed(self.reader, self.record, call)

    @takes(lambda: hansard.model.requests.PromptsRequest)
    def prompts(self, request: PromptsRequest) -> PromptPage:
        """Everything typed, newest first, including what only history.jsonl has; `unique` lists equal texts once."""
        return hansard.query.prompts.list_prompts(self.reader, request)

    def prompt_text(self, transcript: str, offset: int) -> str | None:
        """The text of the prompt at the location that a `Prompt` names, or None."""
        return hansard.query.prompts.read_prompt(self.reader, transcript, offset)

    # -- search

    @takes(lambda: hansard.model.requests.SearchRequest)
    def search(self, request: SearchRequest) -> SearchPage:
        """The matches of a query, the best first; with `group` the best sessions."""
        return hansard.query.search.pages.Search(self.reader, request).page(self._record_or_none())

    @takes(lambda: hansard.model.requests.SearchRequest)
    def count(self, request: SearchRequest) -> int:
        """The number of matches, copies in forks and former generations included."""
        return hansard.query.search.pages.Search(self.reader, request, exact=True).finder.count()

    @takes(lambda: hansard.model.requests.RecallRequest)
    def recall(self, request: RecallRequest) -> Recollection:
        """The passages of the whole history that best answer a question in plain words."""
        return hansard.query.recall.answer.Recall(self.reader, self._record_or_none(), request).answer()

    @takes(lambda: hansard.model.requests.FacetsRequest)
    def facets(self, request: FacetsRequest) -> Facets:
        """The newest matches of a query counted by project, tool, kind, model, day and month."""
        return hansard.query.search.pages.Search(self.reader, request).facets(request.most)

    def command_outputs(self, uuids: Collection[str]) -> set[str]:
        """Which of these messages are the output of a command that a person typed."""
        return hansard.query.search.blocks.command_outputs(self.reader, uuids)

    def field_values(self, field: str, *, limit: int = 200) -> list[str]:
        """The values of a field of the query language in this history, the most useful first."""
        return hansard.query.suggestions.list_values(self.reader, field, limit)

    # -- git

    @takes(lambda: hansard.model.store_requests.BlameRequest)
    def blame(self, request: BlameRequest) -> BlameReport:
        """For each line of a file the commit, and the session and turn whose edit wrote it."""
        return hansard.git.blame.blame_file(self._threads(), self._edit_cache(), request)

    def blame_commit(self, commit: str, repository: str) -> CommitReport:
        """For each line that a commit added the session and turn whose edit wrote it; `repository` is a folder in it."""
        return hansard.git.blame.blame_commit(self._threads(), self._edit_cache(), commit, repository)

    def find_commit(self, name: str, repository: str) -> str | None:
        """The full hash of a commit; None if the repository has no such commit."""
        return hansard.git.repository.Repository.find(repository).resolve(name)

    @takes(lambda: hansard.model.store_requests.CommitsRequest)
    def commits(self, request: CommitsRequest) -> CommitPage:
        """The commits that a session contributed to, or those of all sessions in a repository; the newest first.

        `repository` is a folder in it; without it the session's project is used. `progress` is called with the number of commits
        read and the number to read.
        """
        about = self.session(request.session) if request.session is not None else None
        return hansard.git.commits.list_commits(self._threads(), self._edit_cache(), about, request)

    def git_words(self, session: str, *, prefix: str = "") -> hansard.git.commit_message.SessionWords:
        """A branch name, a commit message and a trailer for a session; `prefix` is put before the branch name."""
        return hansard.git.commit_message.words_of(self._threads(), self.session(session), prefix)

    def git_note(self, commit: str, repository: str, *, write: bool = False) -> str:
        """Which lines of a commit sessions wrote, as a git-ai note; with `write` it is added to `refs/notes/ai`."""
        threads, cache = self._threads(), self._edit_cache()
        return hansard.git.notes.note_commit(threads, cache, commit, repository, __version__, write=write)

    @takes(lambda: hansard.model.store_requests.LostSessionsRequest)
    def lost_sessions(self, request: LostSessionsRequest) -> LostSessions:
        """Sessions whose transcript is gone from the record and every root, and what is left of them; the newest first."""
        return hansard.git.recovery.list_lost(self.reader, self._record_or_none(), request)

    def reconstruct(self, name: str) -> Reconstruction:
        """A lost session as far as other files and the project's repository have it: not a transcript, and marked so."""
        return hansard.git.recovery.reconstruct(self.reader, self.record, name)

    def _commit_map(self, repository: str | None = None) -> hansard.git.commits.CommitMap:
        return hansard.git.commits.map_all(self._threads(), self._edit_cache(), repository)

    def _edit_cache(self) -> hansard.git.cache.EditCache:
        if self._edits is None:
            self._edits = hansard.git.cache.EditCache(self.home)
        return self._edits

    # -- the user's remarks on sessions

    def remarks(self, name: str) -> Remarks:
        """A session's pin, tags, title and notes; the session may be one that only history.jsonl knows."""
        return self._known(name)

    def _known(self, name: str) -> Remarks:
        """A session's remarks as they are stored, to change them."""
        remarks = hansard.query.sessions
        return remarks.read_remarks(self.reader, remarks.find_remarkable(self.reader, name))

    def tags(self) -> list[Tagged]:
        """Every tag and how many sessions have it, the most used first."""
        return hansard.query.sessions.list_tags(self.reader)

    def pin(self, *names: str, remove: bool = False) -> list[Remarks]:
        """Pin sessions, or remove their pins: all of them or, if one is unknown, none."""
        ids = [self.remarks(name).session_id for name in names]
        remarking = hansard.sync.remarking
        self._write(*map(remarking.unpinning if remove else remarking.pinning, ids))
        return [self.remarks(id_) for id_ in ids]

    def pin_message(self, name: str, uuid: str, *, remove: bool = False) -> Remarks:
        """Pin a message of a session, by its uuid or the beginning of it, or unpin it."""
        known = self._known(name)
        if not (remove and uuid in known.pinned_messages):
            uuid = hansard.query.pins.message_of(self.reader, known.session_id, uuid)
        remarking = hansard.sync.remarking
        self._write((remarking.unpinning if remove else remarking.pinning)(known.session_id, uuid))
        return self.remarks(known.session_id)

    def pinned_messages(self, name: str) -> list[PinnedMessage]:
        """The messages of a session that are pinned, in order."""
        return hansard.query.pins.list_pins(self.reader, self.record, self.session(name).session_id)

    def tag(self, name: str, *tags: str, remove: bool = False) -> Remarks:
        """Add tags to a session, or remove them; case and accents are ignored."""
        remarking = hansard.sync.remarking
        change = remarking.untagging if remove else remarking.tagging
        return self._remark(name, lambda known: change(known.session_id, tags))

    def rename(self, name: str, title: str | None) -> Remarks:
        """Give a session a title that takes precedence over all others; None removes it."""
        remarking = hansard.sync.remarking
        if title is None:
            return self._remark(name, lambda known: remarking.unnaming(known.session_id))
        return self._remark(name, lambda known: remarking.naming(known.session_id, title))

    def note(self, name: str, text: str) -> Remarks:
        """Add a note to a session."""
        return self._remark(name, lambda known: hansard.sync.remarking.noting(known.session_id, text))

    def unnote(self, name: str, number: int) -> Remarks:
        """Remove a note of a session; the first one is number 1."""
        remarking = hansard.sync.remarking
        return self._remark(name, lambda known: remarking.unnoting(known.session_id, known.notes, number))

    def _remark(self, name: str, make: Callable[[Remarks], Change]) -> Remarks:
        known = self._known(name)
        self._write(make(known))
        return self.remarks(known.session_id)

    def _write(self, *changes: Change) -> None:
        def change(record: Record) -> None:
            for one in changes:
                one(record)

        hansard.sync.remarking.remark(self.home, change, prices=self._prices())
        self.close()  # an index may have been rebuilt in another file of the same name

    # -- the ledger

    @takes(lambda: hansard.model.requests.UsageRequest)
    def usage(self, request: UsageRequest) -> UsageReport:
        """Tokens and cost, by one dimension or several; the rows add up to the totals."""
        with self._ledger(request) as ledger:
            return hansard.ledger.report.make_report(ledger, request)

    @takes(lambda: hansard.model.requests.BlocksRequest)
    def blocks(self, request: BlocksRequest) -> Blocks:
        """Five-hour blocks in order and the gaps between them, with a projection for the current one."""
        with self._ledger(request) as ledger:
            return hansard.ledger.blocks.make_blocks(ledger)

    @takes(lambda: hansard.model.requests.ToolsRequest)
    def tools(self, request: ToolsRequest) -> ToolReport:
        """How often each tool was called, how long that took, how often it failed; the same calls as in `usage`."""
        with self._ledger(request) as ledger:
            return hansard.ledger.tool_usage.report_tools(ledger, request.name)

    @takes(lambda: hansard.model.requests.ExplainRequest)
    def explain(self, request: ExplainRequest) -> Explanation:
        """The messages, lines, rates and arithmetic behind a session, a time, a message, or a row of a report."""
        with self._ledger(request) as ledger:
            return hansard.ledger.explain.explain(ledger, self.record, request)

    @contextlib.contextmanager
    def _ledger(self, request: LedgerRequest | ExplainRequest) -> Iterator[Ledger]:
        with self.at_once():
            yield hansard.ledger.report.Ledger(
                self.reader, request, partial(self._commit_map, request.repository), groups=self.groups
            )

    def reconcile(
        self, *, peer: bytes | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Reconciliation:
        """Our totals next to those of other ways of counting, each difference split by its causes."""
        with self.at_once():
            return hansard.ledger.reconcile.run.reconcile(
                self.reader, self.record, peer=peer, progress=progress, overrides=self.overrides
            )

    def current(
        self,
        session_id: str | None = None,
        *,
        limits: Sequence[Limit] = (),
        timezone: str | None = None,
        now: datetime | None = None,
    ) -> CurrentUsage:
        """The cost of a session, of today and of the current block; it uses lookups only, so it is fast on any history."""
        with self.at_once():
            return hansard.ledger.current.current_usage(self.reader, session_id, limits, timezone, now)

    def budgets(
        self, limits: Sequence[Limit], *, timezone: str | None = None, now: datetime | None = None
    ) -> list[Budget]:
        """How much of each limit is spent in the current day, week or month."""
        with self.at_once():
            return hansard.ledger.current.check_budgets(self.reader, limits, timezone, now)

    def rates(self) -> list[Rate]:
        """The dated rates of every model in the history, as they were resolved."""
        return list(hansard.pricing.cost.rates_of(self.reader.rows).values())

    def price_data(self) -> PriceData:
        """Where the rates come from."""
        return hansard.ledger.report.price_data(self.reader)

    def update_prices(self, url: str | None = None) -> PriceData:
        """Fetch the newest prices over the network; the next sync prices everything with them."""
        return self._prices().fetch(url)

    # -- verbatim bytes

    @takes(lambda: hansard.model.store_requests.GrepRequest)
    def grep(self, request: GrepRequest) -> Grep:
        """Search every stored byte, line by line; iterate over the answer for lines, or ask it for `counts()`."""
        if request.sessions is not None:
            request = replace(request, sessions={self.session(name).session_id for name in request.sessions})
        return hansard.grep.search.grep(self.reader, self.record, request, self.redact)

    def find_transcript(self, name: str, *, generation: int | None = None) -> tuple[int, Transcript]:
        """The transcript that a person means: a session, a subagent's id, a path or the end of one."""
        return hansard.query.transcripts.find_transcript(self.reader, name, generation)

    def read_generation(self, name: str, generation: int) -> None:
        """Make this engine read another generation of a session's file; use it for nothing else."""
        hansard.query.transcripts.read_generation(self.reader, self.session(name).session_id, generation)

    @verbatim("cat")
    def cat(self, name: str, *, generation: int | None = None) -> Iterator[bytes]:
        """The verbatim bytes of a session's main transcript, or of any transcript."""
        transcript, _ = self.find_transcript(name, generation=generation)
        return self.record.read(transcript)

    def known_roots(self) -> list[str]:
        """The paths of every root that was ever synced, the oldest first."""
        return [root.path for root in self.record.roots()]

    @verbatim("raw lines")
    def transcript_bytes(self, transcript: int, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes of a transcript, by the id that `find_transcript` gives, from `start` to `end`."""
        return self.record.read(transcript, start, end)

    def transcript_size(self, transcript: int) -> int:
        """How many bytes of a transcript are stored."""
        return self.record.size(transcript)

    def unproven_from(self, transcript: int) -> int | None:
        """The offset from which a transcript is unproven: read while its file was being written; None if all of it is proven."""
        return self.record.unproven_from("log", transcript)

    # -- files out

    @takes(lambda: hansard.model.store_requests.ExportRequest)
    def export(self, request: ExportRequest) -> Exported:
        """Write sessions (None: all) to files, one for each or one for each table; unchanged files are left alone."""
        form = hansard.export.formats.find_format(request.format, os.path.expanduser(request.to))
        redacts = form in hansard.export.formats.SHARED if request.redact is None else request.redact
        redact = hansard.guard.redaction.redact if redacts else self.redact
        store = hansard.thread.store.ThreadStore(self.reader, self.record, redact=redact)
        chosen = self.sessions(limit=None).sessions if request.sessions is None else request.sessions
        sessions = [self.session(item) if isinstance(item, str) else item for item in chosen]
        if redact is not None:  # their titles become names of files
            sessions = [release(session, redact) for session in sessions]
        return hansard.export.run.export(
            store, request, sessions, home=self.home, roots=self.roots, names=self.project_names()
        )

    @takes(lambda: hansard.model.store_requests.RestoreRequest)
    def plan_restore(self, request: RestoreRequest) -> list[RestoreItem]:
        """What a restore of these sessions (None: of everything) would write under `to`.

        A config directory that the store knows as a root gets its files where the client looks for them.
        """
        return hansard.query.restoring.plan_restore(self.reader, self.record, request)

    @verbatim("restore")
    def restore(
        self,
        items: list[RestoreItem],
        *,
        overwrite: bool = False,
        touch: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> hansard.record.restore.Restored:
        """Write what `plan_restore` planned; with `touch` the files are dated now instead of as they were."""
        return hansard.record.restore.apply(self.record, items, overwrite, progress, touch=touch)

    def cleanup_periods(self) -> dict[str, int]:
        """After how many days the client of each root deletes transcripts, by the root's path."""
        return {root.path: client_of(root.client).cleanup_days(root) for root in self.roots}

    def cleanup_days(self, items: Iterable[RestoreItem], to: str) -> int | None:
        """The clean-up period of the client that uses `to`, if restored transcripts are older than that."""
        return hansard.query.restoring.cleanup_days(self.roots, items, to)

    def plan_move(self, old: str, new: str, *, rename: bool = False, rewrite_cwd: bool = False) -> MovePlan:
        """The changes that make the client find a moved project; `rename` moves its history folder and what names its path.

        By default a line in `.session-aliases` names the former history folder, and nothing else is touched.
        """
        has_index = os.path.exists(os.path.join(self.home, "index.db"))
        known = hansard.query.sessions.list_history_folders(self.reader) if has_index else []
        return hansard.move.plan_move(self.roots, known, old, new, rename=rename, rewrite_cwd=rewrite_cwd)

    def move(self, plan: MovePlan) -> None:
        """Apply a planned move; from now on both places are one project."""
        hansard.move.apply_move(self.home, plan)
        self._write(lambda record: record.note_move(plan.old, plan.new))

    def moves(self) -> list[Journal]:
        """The moves that can be undone, the oldest first."""
        return hansard.changes.journal.list_journals(self.home, hansard.move.PURPOSE)

    def undo_move(self, move: Journal) -> Undone:
        """Undo a move: every file is as it was, except for what others have changed since."""
        undone = hansard.move.undo_move(self.home, move)
        self._write(lambda record: record.forget_move(move.facts["old"]))
        return undone

    # -- health

    def problems(self) -> tuple[Problem, ...]:
        """What could not be stored or indexed, and why; it is tried again when it changes."""
        return hansard.query.health.list_problems(self.reader, self._record_or_none())

    def status(self, *, as_synced: bool = False) -> hansard.query.health.Status:
        """The store at a glance, and what the client's clean-up will delete next.

        `as_synced`: the sources as the last `sync()` found them, if it found nothing new; otherwise they are walked again.
        """
        walks = self._walks if as_synced else {}
        return hansard.query.health.read_status(self.reader, self._record_or_none(), self.home, self.roots, walks=walks)

    def doctor(self) -> hansard.query.health.Diagnosis:
        """The store's health, permissions, issues and drift."""
        return hansard.query.health.diagnose(self.reader, self._record_or_none(), self.home, self.roots)

    def issues(self) -> tuple[IssueKind, ...]:
        """Unreadable data by kind, with examples: a fast part of `doctor`."""
        return hansard.query.health.list_issues(self.reader)

    def drift(self) -> tuple[Drift, ...]:
        """Records and fields that Hansard does not know, by client version, each with its first location."""
        return hansard.query.health.list_drift(self.reader)

    @takes(lambda: hansard.model.store_requests.VerifyRequest)
    def verify(self, request: VerifyRequest) -> hansard.record.verify.VerifyReport:
        """Check every stored byte against its hash, every write against the hash chain, and the indexes against the record."""
        try:
            _ = self.record  # raises a clear error if there is none
        except StoreCorrupt:
            if not request.repair:
                raise
        if request.repair:
            self.close()
        return hansard.sync.verify.verify(self.home, self.roots, request, prices=self._prices())

    def salvage(self, to: str) -> hansard.record.salvage.SalvageReport:
        """Write everything readable of a broken record into a new data directory; this one is not changed."""
        self.close()
        to = os.path.abspath(os.path.expanduser(to))
        return hansard.record.salvage.salvage(os.path.join(self.home, "record.db"), os.path.join(to, "record.db"))


def index_version() -> int:
    """The version of the index that this Hansard makes; an index of another version is rebuilt from the record."""
    return hansard.index.schema.VERSION


def schemas() -> dict[str, str]:
    """The documented schema of each database, comments and all."""
    index = hansard.index.schema
    return {
        "record.db": hansard.record.schema.SCHEMA.strip(),
        "index.db": f"{index.tables().strip()}\n\n{index.INDEXES.strip()}",
        "text.db": index.text_tables().strip(),
    }
