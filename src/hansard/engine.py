"""The library's public face: open a store, keep it current, ask it anything. Every front end goes through here.

    >>> import hansard
    >>> with hansard.open(home, roots=["~/.claude"]) as h:  # doctest: +SKIP
    ...     h.sync()
    ...     for session in h.sessions(since=yesterday).sessions:
    ...         print(session.started_at, session.title, session.output_tokens)

The engine reads no environment and no configuration: whoever opens it passes what it needs.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import asdict

from hansard.clients.roots import open_roots
from hansard.errors import NotFound, StoreCorrupt, StoreUnusable, UsageError
from hansard.model.gate import Redact, gated, verbatim
from hansard.model.requests import (
    BlocksRequest,
    CallsRequest,
    CommitsRequest,
    Dated,
    ExplainRequest,
    FacetsRequest,
    FileHistoryRequest,
    FilesRequest,
    FolderRequest,
    GrepRequest,
    LostSessionsRequest,
    ProjectsRequest,
    PromptsRequest,
    SearchRequest,
    SessionGroupsRequest,
    SessionsRequest,
    ToolsRequest,
    UsageRequest,
    VerifyRequest,
    takes,
)
from hansard.query.reader import Reader
from hansard.sources.roots import Root
from hansard.sync.report import DEFAULT_MAX_FILE, Listener, SyncReport, SyncRequest

if TYPE_CHECKING:
    from datetime import tzinfo

    from hansard.changes.journal import Journal, Undone
    from hansard.export import Exported
    from hansard.git.blame import Blamer
    from hansard.git.cache import EditCache
    from hansard.git.commit_message import SessionWords
    from hansard.git.commits import CommitMap
    from hansard.git.repository import Repository
    from hansard.grep.search import Grep
    from hansard.ledger.report import Ledger
    from hansard.model.blame import BlameReport, CommitPage, CommitReport
    from hansard.model.calls import Call, CallPage, FileHistory, FilePage, FolderPage, ToolReport
    from hansard.model.coverage import Coverage
    from hansard.model.current import CurrentUsage
    from hansard.model.explain import Explanation
    from hansard.model.files import Drift, FileChange, IssueKind, Link, RestoreItem, SideFile, Todo, Transcript
    from hansard.model.ledger import Blocks, Budget, Limit, PriceData, PriceOverride, Rate, UsageReport
    from hansard.model.problems import Problem
    from hansard.model.prompts import PromptPage
    from hansard.model.reconcile import Reconciliation
    from hansard.model.recovery import LostSessions, Reconstruction
    from hansard.model.related import Related
    from hansard.model.search import Facets, SearchPage
    from hansard.model.sessions import (
        Activity,
        Project,
        Remarks,
        Resumption,
        Session,
        SessionGroups,
        SessionPage,
        Tagged,
    )
    from hansard.model.threads import Agent, Conversation, ToolCall
    from hansard.move import MovePlan
    from hansard.pricing.settle import Prices
    from hansard.query.activity import PeriodActivity
    from hansard.query.health import Diagnosis, Status
    from hansard.query.language import Node
    from hansard.query.messages import MessagePlace
    from hansard.record.restore import Restored
    from hansard.record.salvage import SalvageReport
    from hansard.record.store import Record
    from hansard.record.verify import VerifyReport
    from hansard.sources.discover import Walk
    from hansard.storage.heartbeat import SyncProgress
    from hansard.sync.report import Change, Progress
    from hansard.thread.store import ThreadCache, ThreadStore
    from hansard.thread.thread import Thread


def open(  # noqa: A001 - `hansard.open()` is the library's door
    home: str | os.PathLike[str],
    roots: Iterable[str | os.PathLike[str]] = (),
    *,
    follow_links: Iterable[str | os.PathLike[str]] = (),
    max_file: int = DEFAULT_MAX_FILE,
    prices: Iterable[PriceOverride] = (),
    redact: bool = False,
) -> Hansard:
    """Open the store in `home` with its source roots; nothing is created or read before it is needed.

    Links in the roots are followed inside them and to `follow_links`, which are other directories. With `redact`, secrets are
    redacted in every text that the store gives out, except by `cat`, `restore` and raw lines.
    """
    home = os.path.abspath(os.path.expanduser(os.fspath(home)))
    found = open_roots(
        [os.fspath(root) for root in roots],
        follow_links=[os.fspath(folder) for folder in follow_links],
        data_directory=home,
    )
    return Hansard(home, found, max_file=max_file, prices=tuple(prices), redact=redact)


def _redact() -> Redact:
    from hansard.guard.redaction import redact

    return redact


class _WatchStoppedError(Exception):
    """A watch was stopped in the middle of a sync."""


@gated
class Hansard:
    """A store and its sources. Use it in a `with`, or call `close()`; one per thread."""

    def __init__(
        self,
        home: str,
        roots: Sequence[Root],
        *,
        max_file: int = DEFAULT_MAX_FILE,
        prices: Sequence[PriceOverride] = (),
        redact: bool = False,
    ) -> None:
        self.redact: Redact | None = _redact() if redact else None
        self.home = os.path.abspath(os.path.expanduser(home))
        self.roots = tuple(roots)
        self.max_file = max_file
        self.overrides = tuple(prices)
        self.thread_cache: ThreadCache | None = None  # for servers: opened threads, shared by the engines of one store
        self._reader: Reader | None = None
        self._record: Record | None = None
        self._edits: EditCache | None = None
        self._walks: dict[str, Walk] = {}  # of the last sync, where it found nothing new

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
        if self._edits is not None:
            self._edits.close()
            self._edits = None

    def close_unshared(self) -> None:
        """Close the databases if they had to be opened without shared memory, as on a full disk.

        Such a connection keeps this process from writing. A program that keeps an engine open calls this after each question, so
        that it can write as soon as there is space.
        """
        from hansard.storage.sqlite import has_shared_memory

        if not all(has_shared_memory(os.path.join(self.home, name)) for name in self._open_files()):
            self.close()

    def _open_files(self) -> Iterator[str]:
        if self._reader is not None and self._reader.is_open:
            yield "index.db"
        if self._record is not None:
            yield "record.db"

    # -- keeping current

    @takes(SyncRequest)
    def sync(self, request: SyncRequest) -> SyncReport:
        """Store and index whatever is new in the source roots."""
        from hansard.sync.run import sync

        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreUnusable(
                f"{self.home}: the data directory cannot be created ({error.strerror or error}). Name another with --home"
            ) from error
        self._walks = {}
        prices = self._prices()
        report = sync(self.home, self.roots, request, max_file=self.max_file, prices=prices, walks=self._walks)
        if not report.busy:
            self.close()  # an index may have been made again, in another file of the same name
        return report

    def sync_progress(self) -> SyncProgress | None:
        """How far the sync of this store is that is going on, in whatever process; None when none takes long."""
        from hansard.storage.heartbeat import sync_progress

        return sync_progress(self.home)

    def coverage(self) -> Coverage | None:
        """How much of a large history can be asked for while its first sync is not complete; None when all of it can."""
        from hansard.query.coverage import find_coverage

        return find_coverage(self.reader)

    def rebuild(self, *, listener: Listener | None = None) -> SyncReport:
        """Make both indexes again from the record alone."""
        from hansard.sync.rebuild import rebuild

        self.close()
        return rebuild(self.home, listener=listener, prices=self._prices())

    def watch(
        self,
        stop: threading.Event,
        *,
        poll: bool = False,
        early: bool = False,
        listener: Listener | None = None,
        wait_seconds: float = 60.0,
    ) -> Iterator[SyncReport]:
        """Stay current: sync whenever something changes, and give each report, until `stop` is set, even during a sync.

        With `early` the newest part of a large first sync has a report of its own, which is `partial`.
        """
        from hansard.sources.watch import watch

        def tell(progress: Progress) -> None:
            if stop.is_set():
                raise _WatchStoppedError
            if listener is not None:
                listener(progress)

        with contextlib.suppress(_WatchStoppedError):
            if early and (report := self.sync(newest_only=True, listener=tell)).partial:
                yield report
            changes = watch(self.roots, stop, poll=poll)
            report = self.sync(listener=tell, wait_seconds=wait_seconds)
            yield report
            for paths in changes:
                # After a sync that another process did not let in, everything is looked at: its paths are not told again.
                only = None if report.busy else paths
                report = self.sync(listener=tell, only=only, wait_seconds=wait_seconds)
                if report.changed or report.gone or report.busy:
                    yield report

    def _prices(self) -> Prices:
        from hansard.pricing.settle import Prices

        return Prices(self.home, self.overrides)

    # -- questions

    @property
    def reader(self) -> Reader:
        """The reading side of the index, for rooms that ask their own questions."""
        if self._reader is None:
            self._reader = Reader(self.home)
        return self._reader

    def at_once(self) -> contextlib.AbstractContextManager[object]:
        """One state of the index for all questions inside, whoever writes meanwhile."""
        return self.reader.at_once()

    def has_text(self) -> bool:
        """Whether the full text can be searched."""
        return self.reader.has_text

    @property
    def record(self) -> Record:
        """The verbatim record, for reading."""
        if self._record is None:
            from hansard.record.store import Record

            path = os.path.join(self.home, "record.db")
            if not os.path.exists(path):
                raise NotFound(f"nothing has been synced to {self.home} yet: run `hansard sync` first")
            self._record = Record.open(path, readonly=True)
        return self._record

    @takes(SessionsRequest)
    def sessions(self, request: SessionsRequest) -> SessionPage:
        """Sessions that fit the query and every other condition given, the newest first unless told otherwise."""
        from hansard.query.sessions import SessionFilter, list_sessions

        group = None
        if request.within is not None:
            from hansard.query.session_groups import of_group

            group = of_group(*request.within, _zone(request.timezone))
        wanted = SessionFilter(_node(request.query, request), request.text, request.debris, group)
        return list_sessions(self.reader, wanted, request)

    @takes(SessionGroupsRequest)
    def session_groups(self, request: SessionGroupsRequest) -> SessionGroups:
        """Sessions by project or by day, the latest first, each group with its sums and the first of its sessions."""
        from hansard.query.session_groups import list_groups
        from hansard.query.sessions import SessionFilter

        wanted = SessionFilter(_node(request.query, request))
        return list_groups(self.reader, wanted, request, zone=_zone(request.timezone))

    def session(self, name: str, *, folder: str | None = None) -> Session:
        """The session with that id, beginning of an id, title, or `@last`; with `folder` only of projects at or below it."""
        from hansard.query.sessions import find_session

        return find_session(self.reader, name, folder)

    def session_with_id(self, session_id: str, *, folder: str | None = None) -> Session | None:
        """The session with exactly that id, of a project at or below `folder`."""
        from hansard.query.sessions import session_with_id

        return session_with_id(self.reader, session_id, folder)

    def find_message(self, uuid: str, *, folder: str | None = None) -> MessagePlace:
        """Where the message with that uuid, or a beginning of it, stands; the session that wrote it goes before copies."""
        from hansard.query.messages import find_message

        return find_message(self.reader, uuid, folder)

    def suggestions(self, kind: str, beginning: str = "", *, limit: int = 100) -> list[tuple[str, str]]:
        """Values in the history that begin so, each with a description; `kind` is session, project, model, branch, version, tool or tag."""
        from hansard.query.suggestions import KINDS, suggest

        if kind not in KINDS:
            raise UsageError(f"no suggestions for {kind!r}; choose one of {', '.join(KINDS)}")
        return suggest(self.reader, kind, beginning, limit)

    @takes(ProjectsRequest)
    def projects(self, request: ProjectsRequest) -> list[Project]:
        """Projects and what happened in them, the most recent first."""
        from hansard.query.sessions import SessionFilter, list_projects

        wanted = Dated(project=request.text, since=request.since, until=request.until)
        return list_projects(self.reader, SessionFilter(_node(None, wanted)))

    def project_names(self) -> dict[str, str]:
        """What each project of the store is called: the last parts of its path that no other project ends in."""
        from hansard.query.sessions import project_names

        return project_names(self.reader)

    def activity(self, *, since: datetime | None = None, until: datetime | None = None) -> Activity:
        """How much happened between two times."""
        from msgspec.structs import replace

        from hansard.query.activity import count_activity

        used = self.usage(by="total", since=since, until=until).totals
        return replace(
            count_activity(self.reader, since, until),
            cost_usd=used.cost_usd,
            lower_bound_messages=used.lower_bound_messages,
            unpriced_messages=used.unpriced_messages,
        )

    def activity_by_period(self, *periods: tuple[datetime, datetime]) -> list[PeriodActivity]:
        """What happened in each of these periods: sessions, prompts, tool calls, errors, active time."""
        from hansard.query.activity import activity_by_period

        return activity_by_period(self.reader, periods)

    def session_counts(self, bounds: Sequence[datetime]) -> list[int]:
        """How many sessions were going on between each of these times and the next."""
        from hansard.query.activity import count_sessions

        return count_sessions(self.reader, bounds)

    def live(self, since: datetime) -> dict[str, datetime]:
        """The sessions whose files changed after a time, and when; the newest first."""
        from hansard.query.activity import list_live

        return list_live(self.reader, since)

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
        """A session's thread, or a subagent's: its turns, windows of them, its outline, its raw lines, what it used.

        `agent` is the beginning of a subagent's id; windows show `branch` as the line that the session went on with. Without
        `pictures` their data is left out, without `subagents` what they did. Without `long_lines` a line of more than 8 MiB says only so.
        """
        about = self.session(session) if isinstance(session, str) else session
        threads = self._threads(self.redact)
        return threads.read(about, agent, branch, pictures=pictures, subagents=subagents, long_lines=long_lines)

    def conversation(self, name: str, *, agent: str | None = None) -> Conversation:
        """The entries of a session's thread, or of a subagent's."""
        return self.read(name, agent).conversation()

    def agents(self, name: str) -> tuple[Agent, ...]:
        """A session's subagents."""
        from hansard.thread.reader import list_agents

        return list_agents(self.reader, self.session(name).session_id)

    def links(self, name: str) -> list[Link]:
        """How a session relates to others."""
        from hansard.query.transcripts import list_links

        return list_links(self.reader, self.session(name).session_id)

    def transcripts(self, name: str | None = None) -> list[Transcript]:
        """The logs of a session, or of the whole store, former generations included."""
        from hansard.query.transcripts import list_transcripts

        return list_transcripts(self.reader, self._id(name))

    def file_changes(self, name: str | None = None, *, path: str | None = None) -> list[FileChange]:
        """What tool calls did to files: in one session, to paths that contain `path`, or everywhere."""
        from hansard.query.prompts import list_file_changes

        return list_file_changes(self.reader, self._id(name), path)

    @takes(FilesRequest)
    def files(self, request: FilesRequest) -> FilePage:
        """Files that tool calls changed, the last changed first unless told otherwise."""
        from hansard.query.files import list_files
        from hansard.query.tool_calls import CallFilter

        wanted = CallFilter(_node(None, request), text=request.text, under=request.under)
        return list_files(self.reader, wanted, request)

    @takes(FolderRequest)
    def folder(self, request: FolderRequest) -> FolderPage:
        """The changed files of one folder, and the folders in it."""
        from hansard.query.files import list_folder
        from hansard.query.tool_calls import CallFilter

        wanted = CallFilter(_node(None, request), text=request.text, under=request.under)
        return list_folder(self.reader, wanted)

    @takes(FileHistoryRequest)
    def file_history(self, request: FileHistoryRequest) -> FileHistory:
        """What tool calls did to one file, the newest first; with `reads` also those that did not change it."""
        from hansard.query.files import read_history
        from hansard.query.tool_calls import CallFilter

        return read_history(self.reader, CallFilter(_node(None, request), path=request.path), request)

    @takes(CallsRequest)
    def calls(self, request: CallsRequest) -> CallPage:
        """Tool calls, the newest first unless told otherwise.

        `subjects` also says what each is about, and `outputs` how its result begins, which is read from the record.
        """
        from hansard.query.tool_calls import CallFilter, list_calls

        wanted = CallFilter(
            _node(request.query, request), request.kind, request.name, text=request.text, under=request.under
        )
        page = list_calls(self.reader, wanted, sort=request.sort, limit=request.limit, cursor=request.cursor)
        if not (request.subjects or request.outputs) or not page.calls:
            return page
        from hansard.thread.locate import with_subjects

        return with_subjects(self.reader, self.record, page, outputs=request.outputs)

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
        """One call with its input and its result, by the place of its block: a transcript's path and a byte offset."""
        from hansard.thread.locate import read_call

        return read_call(
            self.reader,
            self.record,
            transcript,
            offset,
            block,
            session_id=session_id,
            root=root,
            generation=generation,
        )

    def listed_call(self, call: Call) -> ToolCall | None:
        """A call of a list with its input and its result; None where the record has it no more."""
        from hansard.thread.locate import read_listed

        return read_listed(self.reader, self.record, call)

    @takes(PromptsRequest)
    def prompts(self, request: PromptsRequest) -> PromptPage:
        """Everything typed, newest first, also where only history.jsonl remembers it; `unique` gives equal texts once."""
        from hansard.query.prompts import PromptFilter, list_prompts

        return list_prompts(self.reader, PromptFilter(_node(request.query, request), request.source), request)

    def prompt_text(self, transcript: str, offset: int) -> str | None:
        """The prompt whose line begins at a byte of a transcript, which a `Prompt` names; None where there is none."""
        from hansard.query.prompts import read_prompt

        return read_prompt(self.reader, transcript, offset)

    # -- git

    def blame(self, path: str, lines: tuple[int, int] | None = None, rev: str | None = None) -> BlameReport:
        """For each line of a file the commit, and the session and turn whose edit wrote it; without `rev` as it is in the working tree."""
        from hansard.git.repository import Repository

        repository = Repository.find(os.path.dirname(os.path.abspath(path)))
        return self._blamer(repository).file(repository.relative(path), lines, rev)

    def blame_commit(self, commit: str, repository: str) -> CommitReport:
        """For each line that a commit added the session and turn whose edit wrote it; `repository` is a folder in it."""
        from hansard.git.repository import Repository

        return self._blamer(Repository.find(repository)).commit(commit)

    def find_commit(self, name: str, repository: str) -> str | None:
        """The whole hash of a commit; None where the repository has none of that name."""
        from hansard.git.repository import Repository

        return Repository.find(repository).resolve(name)

    @takes(CommitsRequest)
    def commits(self, request: CommitsRequest) -> CommitPage:
        """The commits that a session made or had a part in, or those of all sessions in a repository; the newest first."""
        from hansard.git.commits import list_commits

        about = self.session(request.session) if request.session is not None else None
        folders = [request.repository] if request.repository is not None else []
        if about is not None and not folders:
            folders = [about.project, about.cwd] if about.cwd != about.project else [about.project]
        return list_commits(
            self._threads(),
            self._edit_cache(),
            folders,
            session_id=about.session_id if about is not None else None,
            pull_requests=about.pull_requests if about is not None else (),
            limit=request.limit,
            progress=request.progress,
        )

    def git_words(self, session: str, *, prefix: str = "") -> SessionWords:
        """A branch name, a commit message and a trailer for a session; `prefix` stands before the branch name."""
        from hansard.git.commit_message import words_of

        return words_of(self._threads(), self.session(session), prefix)

    def git_note(self, commit: str, repository: str, *, write: bool = False) -> str:
        """What recorded edits say of a commit as a note of git-ai; with `write` it is added to `refs/notes/ai`."""
        from hansard import __version__
        from hansard.git.notes import NOTES, make_note
        from hansard.git.repository import Repository

        found = Repository.find(repository)
        report = self._blamer(found).commit(commit)
        text = make_note(report, __version__)
        if write:
            found.add_note(NOTES, report.commit.commit, text)
        return text

    @takes(LostSessionsRequest)
    def lost_sessions(self, request: LostSessionsRequest) -> LostSessions:
        """Sessions that have no transcript any more, neither in the record nor in a root, and what is left of them; the newest first."""
        from hansard.git.recovery import list_lost

        return list_lost(self.reader, self._record_or_none(), request)

    def reconstruct(self, name: str) -> Reconstruction:
        """A lost session as far as other files and the project's repository tell: no transcript, and marked so."""
        from hansard.git.recovery import reconstruct

        return reconstruct(self.reader, self.record, name)

    def _commit_map(self) -> CommitMap:
        """The commits of every repository that sessions worked in."""
        from hansard.git.commits import CommitMap, open_repositories
        from hansard.query.sessions import edited_projects

        threads = self._threads()
        return CommitMap(open_repositories(threads, self._edit_cache(), edited_projects(self.reader))[0], threads)

    def _blamer(self, repository: Repository) -> Blamer:
        from hansard.git.blame import Blamer

        return Blamer(self._threads(), self._edit_cache(), repository)

    def _edit_cache(self) -> EditCache:
        from hansard.git.cache import EditCache

        if self._edits is None:
            self._edits = EditCache(self.home)
        return self._edits

    def _threads(self, redact: Redact | None = None) -> ThreadStore:
        from hansard.thread.store import ThreadStore

        return ThreadStore(self.reader, self.record, self.thread_cache, redact)

    def related(self, name: str, *, limit: int | None = 10) -> list[Related]:
        """Sessions like this one, the most alike first, each with what they have in common."""
        from hansard.query.related import list_related

        return list_related(self.reader, self.session(name), limit=limit)

    @takes(SearchRequest)
    def search(self, request: SearchRequest) -> SearchPage:
        """What was ever said or done that answers a query, the best first; with `group` the best sessions."""
        from hansard.query.search.pages import Search

        return Search(self.reader, request, _zone(request.timezone)).page(self._record_or_none())

    def command_outputs(self, uuids: Collection[str]) -> set[str]:
        """Which of these messages are the output of a command that a person typed."""
        from hansard.query.search.blocks import command_outputs

        return command_outputs(self.reader, uuids)

    @takes(SearchRequest)
    def count(self, request: SearchRequest) -> int:
        """How many places answer a query, copies in forks and former generations included."""
        from hansard.query.search.pages import Search

        return Search(self.reader, request, _zone(request.timezone), exact=True).finder.count()

    @takes(FacetsRequest)
    def facets(self, request: FacetsRequest) -> Facets:
        """How the newest matches of a query spread over projects, tools, kinds, models, days and months."""
        from msgspec.structs import replace

        from hansard.query.search.facets import count_facets
        from hansard.query.search.pages import Search

        zone = _zone(request.timezone)
        search = Search(self.reader, request, zone)
        found = count_facets(self.reader, search.finder, most=request.most, zone=zone)
        return replace(found, truncated=True) if search.plan.is_cut else found

    def field_values(self, field: str, *, limit: int = 200) -> list[str]:
        """What a field of the query language can be asked for in this history, the most useful first."""
        from hansard.query.search.values import list_values

        return list_values(self.reader, field, limit)

    def todos(self, name: str) -> list[Todo]:
        """A session's todos and tasks, as their files last said."""
        from hansard.query.transcripts import list_todos

        return list_todos(self.reader, self.session(name).session_id)

    def side_files(self, *, kind: str | None = None, name: str | None = None) -> list[SideFile]:
        """Small files that are kept whole: of one kind (plan, memory, tool_result, ...), of one session, or all."""
        from hansard.query.transcripts import list_side_files

        return list_side_files(self.reader, kind, self._id(name))

    def read_side_file(self, file: SideFile) -> bytes:
        """The content of a small file as it was last seen."""
        from hansard.query.transcripts import read_side_file

        return read_side_file(self.reader, self.record, file)

    def _id(self, name: str | None) -> str | None:
        return None if name is None else self.session(name).session_id

    def problems(self) -> tuple[Problem, ...]:
        """What could not be kept or indexed, and why; it is tried again when it changes."""
        from hansard.query.problems import list_problems

        return list_problems(self.reader, self._record_or_none())

    def status(self, *, as_synced: bool = False) -> Status:
        """The store at a glance, and what the client's clean-up will delete next.

        `as_synced`: the sources as the last `sync()` found them, if that was all it found; otherwise they are walked again.
        """
        from hansard.query.health import read_status

        walks = self._walks if as_synced else {}
        return read_status(self.reader, self._record_or_none(), self.home, self.roots, walks=walks)

    def doctor(self) -> Diagnosis:
        """The store's health, permissions, issues and drift."""
        from hansard.query.health import diagnose

        return diagnose(self.reader, self._record_or_none(), self.home, self.roots)

    def issues(self) -> tuple[IssueKind, ...]:
        """What could not be read as it should, by kind, with examples; `doctor` tells the same and more, and takes longer."""
        from hansard.query.health import list_issues

        return list_issues(self.reader)

    def drift(self) -> tuple[Drift, ...]:
        """Records and fields that Hansard does not know, by client version, each with its first place."""
        from hansard.query.health import list_drift

        return list_drift(self.reader)

    def revision(self) -> int:
        """The state of the record that the index was last made from in full: a number that grows with every sync that brings something."""
        return self.reader.revision()

    def state(self) -> str:
        """What every answer depends on, as one text: it changes with a sync that brought something, and with prices."""
        return self.reader.state()

    def _record_or_none(self) -> Record | None:
        return self.record if os.path.exists(os.path.join(self.home, "record.db")) else None

    # -- what the user says about sessions

    def remarks(self, name: str) -> Remarks:
        """A session's pin, tags, title and notes; the session may be one that only history.jsonl knows."""
        from hansard.query.remarks import find_remarkable, read_remarks

        return read_remarks(self.reader, find_remarkable(self.reader, name))

    def tags(self) -> list[Tagged]:
        """Every tag and how many sessions have it, the most used first."""
        from hansard.query.remarks import list_tags

        return list_tags(self.reader)

    def pin(self, *names: str, remove: bool = False) -> list[Remarks]:
        """Pin sessions, or take their pins away: all of them or, where one is not known, none."""
        from hansard.sync.remarking import pinning, unpinning

        ids = [self.remarks(name).session_id for name in names]
        self._remark(*map(unpinning if remove else pinning, ids))
        return [self.remarks(id_) for id_ in ids]

    def tag(self, name: str, *tags: str, remove: bool = False) -> Remarks:
        """Give a session tags, or take them away; case and accents make no other tag."""
        from hansard.sync.remarking import tagging, untagging

        session_id = self.remarks(name).session_id
        self._remark((untagging if remove else tagging)(session_id, tags))
        return self.remarks(session_id)

    def rename(self, name: str, title: str | None) -> Remarks:
        """Give a session a title that goes before all others; None gives it back the one it had."""
        from hansard.sync.remarking import naming, unnaming

        session_id = self.remarks(name).session_id
        self._remark(unnaming(session_id) if title is None else naming(session_id, title))
        return self.remarks(session_id)

    def note(self, name: str, text: str) -> Remarks:
        """Add a note to a session."""
        from hansard.sync.remarking import noting

        session_id = self.remarks(name).session_id
        self._remark(noting(session_id, text))
        return self.remarks(session_id)

    def unnote(self, name: str, number: int) -> Remarks:
        """Take a note of a session back; the first one is number 1."""
        from hansard.sync.remarking import unnoting

        known = self.remarks(name)
        self._remark(unnoting(known.session_id, known.notes, number))
        return self.remarks(known.session_id)

    def _remark(self, *changes: Change) -> None:
        from hansard.sync.remarking import remark

        def change(record: Record) -> None:
            for one in changes:
                one(record)

        remark(self.home, change, prices=self._prices())
        self.close()  # an index may have been made again, in another file of the same name

    # -- the ledger

    @takes(UsageRequest)
    def usage(self, request: UsageRequest) -> UsageReport:
        """What was used and what it cost, by one dimension or several; the rows add up to the totals."""
        from hansard.ledger.report import make_report

        with self.reader.at_once():
            ledger = self._ledger(request, request.query, request.mode)
            return make_report(
                ledger,
                _names(request.by),
                breakdown=request.breakdown,
                work=request.work,
                sort=request.sort,
                ascending=request.ascending,
            )

    @takes(BlocksRequest)
    def blocks(self, request: BlocksRequest) -> Blocks:
        """Five-hour blocks in order, with the silences between them with a projection for the current one."""
        from hansard.ledger.blocks import make_blocks

        with self.reader.at_once():
            return make_blocks(self._ledger(request, request.query, request.mode))

    @takes(ToolsRequest)
    def tools(self, request: ToolsRequest) -> ToolReport:
        """How often each tool was called, how long that took, how often it failed; calls are counted as in `usage`."""
        from hansard.ledger.tool_usage import report_tools

        with self.reader.at_once():
            return report_tools(self._ledger(request, request.query), request.name)

    @takes(ExplainRequest)
    def explain(self, request: ExplainRequest) -> Explanation:
        """The messages, lines, rates and arithmetic behind a session, a time, a message, or a row of a report."""
        from hansard.ledger.explain import explain

        names = _names(request.by) if request.by is not None else None
        with self.reader.at_once():
            ledger = self._ledger(request, request.query, request.mode)
            return explain(ledger, self.record, request.target, by=names, key=tuple(request.key), limit=request.limit)

    def reconcile(
        self, *, peer: bytes | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Reconciliation:
        """Our totals beside what other ways of counting give, each difference split by its causes."""
        from hansard.ledger.reconcile import reconcile

        with self.reader.at_once():
            return reconcile(self.reader, self.record, peer=peer, progress=progress, overrides=self.overrides)

    def current(
        self,
        session_id: str | None = None,
        *,
        limits: Sequence[Limit] = (),
        timezone: str | None = None,
        now: datetime | None = None,
    ) -> CurrentUsage:
        """What a session, today and the present block have cost, without reading more than that."""
        from hansard.ledger.current import current_usage
        from hansard.model.calendar import find_zone

        with self.reader.at_once():
            return current_usage(self.reader, session_id, limits=limits, zone=find_zone(timezone), now=now)

    def budgets(
        self, limits: Sequence[Limit], *, timezone: str | None = None, now: datetime | None = None
    ) -> list[Budget]:
        """How much of each limit is spent in the present day, week or month."""
        from hansard.ledger.budgets import check_budgets
        from hansard.model.calendar import find_zone

        with self.reader.at_once():
            return check_budgets(self.reader, limits, zone=find_zone(timezone), now=now)

    def rates(self) -> list[Rate]:
        """The dated rates of every model in the history, as they were resolved."""
        from hansard.pricing.cost import rates_of

        return list(rates_of(self.reader.rows).values())

    def price_data(self) -> PriceData:
        """Where the rates come from."""
        from hansard.ledger.report import price_data

        return price_data(self.reader)

    def update_prices(self, url: str | None = None) -> PriceData:
        """Fetch the newest prices over the network; the next sync prices everything with them."""
        from hansard.model.ledger import PriceData

        book = self._prices().fetch(url)
        fetched = datetime.fromisoformat(book.fetched_at) if book.fetched_at else None
        return PriceData("genai-prices", book.version, book.dated, fetched, len(self.overrides))

    def _ledger(self, request: Dated, query: str | None, mode: str = "auto") -> Ledger:
        from hansard.ledger.filters import usage_filter
        from hansard.ledger.report import Ledger
        from hansard.model.calendar import find_zone

        now = request.now or datetime.now(UTC)
        wanted = usage_filter(query, request, now=now, zone=_zone(request.timezone))
        zone = find_zone(request.timezone)
        return Ledger(self.reader, wanted, zone=zone, mode=mode, now=request.now, commits=self._commit_map)

    # -- files out

    def export(
        self,
        sessions: Iterable[Session | str] | None,
        to: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - what everybody calls it
        tables: Sequence[str] = (),
        timezone: str | None = None,
        force: bool = False,
        prune: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Exported:
        """Write sessions (None: all) to files, one for each or one for each table; what did not change is left alone."""
        from hansard.export import export
        from hansard.model.calendar import find_zone
        from hansard.thread.store import ThreadStore

        chosen = (
            None if sessions is None else [self.session(item) if isinstance(item, str) else item for item in sessions]
        )
        own = [place for root in self.roots for place in (root.path, root.transcripts, root.config) if place]
        return export(
            ThreadStore(self.reader, self.record, redact=self.redact),
            self.sessions(limit=None).sessions if chosen is None else chosen,
            os.path.expanduser(to),
            format,
            home=self.home,
            roots=[*own, *self.known_roots()],
            tables=tables,
            whole=chosen is None,
            zone=find_zone(timezone),
            names=self.project_names(),
            force=force,
            prune=prune,
            progress=progress,
        )

    # -- verbatim bytes

    @takes(GrepRequest)
    def grep(self, request: GrepRequest) -> Grep:
        """Search every kept byte, line by line; iterate over the answer for lines, or ask it for `counts()`."""
        from msgspec.structs import replace

        from hansard.grep.search import grep

        if request.sessions is not None:
            request = replace(request, sessions={self.session(name).session_id for name in request.sessions})
        return grep(self.reader, self.record, request, self.redact)

    def find_transcript(self, name: str, *, generation: int | None = None) -> tuple[int, Transcript]:
        """The transcript that a person means: a session, a subagent's id, a path or the end of one."""
        from hansard.query.transcripts import find_transcript

        return find_transcript(self.reader, name, generation)

    def read_generation(self, name: str, generation: int) -> None:
        """Read another generation of a session's file from now on; ask with an engine that is used for nothing else."""
        from hansard.query.transcripts import read_generation

        read_generation(self.reader, self.session(name).session_id, generation)

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

    def unproven_from(self, transcript: int) -> int | None:
        """The offset from which on a transcript is unproven: read while its file was being written; None if all of it is proven."""
        return self.record.unproven_from("log", transcript)

    def transcript_size(self, transcript: int) -> int:
        """How many bytes are kept of a transcript."""
        return self.record.size(transcript)

    @takes(VerifyRequest)
    def verify(self, request: VerifyRequest) -> VerifyReport:
        """Check every stored byte against its hash, every write against the chain of revisions, and the indexes against the record.

        `deep` also compares with the sources that still exist, `full` derives all transcripts again and not a sample, `repair` puts
        right what can be, `since` is the revision of an earlier report: nothing may have been changed or removed since then.
        """
        from hansard.sync.verify import verify

        try:
            _ = self.record  # says clearly when there is none
        except StoreCorrupt:
            if not request.repair:
                raise
        if request.repair:
            self.close()
        return verify(self.home, self.roots, prices=self._prices(), **asdict(request))

    def salvage(self, to: str) -> SalvageReport:
        """Write all that is readable of a broken record into a new data directory; what is here is not changed."""
        from hansard.record.salvage import salvage

        self.close()
        to = os.path.abspath(os.path.expanduser(to))
        return salvage(os.path.join(self.home, "record.db"), os.path.join(to, "record.db"))

    def plan_restore(self, names: Iterable[str] | None, to: str, *, all_generations: bool = False) -> list[RestoreItem]:
        """What a restore of these sessions (None: of everything) would write under `to`.

        A config directory that the store knows as a root gets its files where the client looks for them.
        """
        from hansard.query.restoring import restored_files
        from hansard.query.transcripts import fuller_generations
        from hansard.record.restore import Layout, plan

        wanted = None if names is None else {self.session(name).session_id for name in names}
        selection = restored_files(self.reader, self.record, wanted, moved=all_generations)
        target = os.path.realpath(os.path.expanduser(to))
        layout = Layout.AUTO
        for root in self.record.roots():
            if os.path.normcase(root.path) == os.path.normcase(target):
                layout = Layout.FLAT
                if names is None:
                    inside = {known.file_id for known in self.record.known(root.id).values()}
                    selection = [file_id for file_id in selection if file_id in inside]
        return plan(
            self.record,
            selection,
            os.path.expanduser(to),
            layout,
            all_generations=all_generations,
            fuller=fuller_generations(self.reader, self.record),
        )

    @verbatim("restore")
    def restore(
        self,
        items: list[RestoreItem],
        *,
        overwrite: bool = False,
        touch: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Restored:
        """Write what `plan_restore` planned; with `touch` files get the present as their date and not the one they had."""
        from hansard.record.restore import apply

        return apply(self.record, items, overwrite, progress, touch=touch)

    def plan_move(self, old: str, new: str, *, rename: bool = False, rewrite_cwd: bool = False) -> MovePlan:
        """What tells the client that a project is elsewhere; `rename` moves its history folder and what names its path.

        By default a line in `.session-aliases` names the former history folder, and nothing else is touched.
        """
        from hansard.move import plan_move
        from hansard.query.sessions import list_history_folders

        known = list_history_folders(self.reader) if os.path.exists(os.path.join(self.home, "index.db")) else []
        return plan_move(self.roots, known, old, new, rename=rename, rewrite_cwd=rewrite_cwd)

    def move(self, plan: MovePlan) -> None:
        """Make a move that was planned; from now on both places are one project."""
        from hansard.changes.journal import journals

        known = [(item.facts["old"], item.facts["new"]) for item in self.moves()]
        if plan.changes.steps or (plan.old, plan.new) not in known:
            with journals(self.home) as open_journals:
                open_journals.apply(plan.changes)
        self._remark(lambda record: record.note_move(plan.old, plan.new))

    def moves(self) -> list[Journal]:
        """The moves that can be undone, the oldest first."""
        from hansard.changes.journal import list_journals
        from hansard.move import PURPOSE

        return list_journals(self.home, PURPOSE)

    def undo_move(self, move: Journal) -> Undone:
        """Undo a move: every file is as it was, but for what others have changed since."""
        from hansard.changes.journal import Undone, journals

        with journals(self.home) as open_journals:
            found = [item for item in open_journals.find(move.purpose) if item.id == move.id]
            # It is gone where its undo had begun before: then opening the journals has finished it.
            undone = open_journals.undo(found[0]) if found else Undone(move.title, (), (), ())
        self._remark(lambda record: record.forget_move(move.facts["old"]))
        return undone

    def plan_resume(self, name: str) -> Resumption:
        """What the client needs to go on with a session; raises where it cannot."""
        from hansard.query.resuming import plan_resume

        return plan_resume(self.reader, name, self.roots)

    def cleanup_periods(self) -> dict[str, int]:
        """After how many days the client of each root deletes transcripts, by the root's path."""
        from hansard.clients import client_of

        return {root.path: client_of(root.client).cleanup_days(root) for root in self.roots}

    def cleanup_days(self, items: Iterable[RestoreItem], to: str) -> int | None:
        """After how many days the client that uses `to` deletes transcripts, where that would take restored ones again."""
        from hansard.clients import client_of

        target = os.path.normcase(os.path.realpath(os.path.expanduser(to)))
        for root in self.roots:
            days = client_of(root.client).cleanup_days(root)
            limit = time.time_ns() - days * 86_400 * 1_000_000_000
            if os.path.normcase(root.path) == target and any(
                item.generation is not None and item.mtime_ns < limit for item in items
            ):
                return days
        return None


def _node(query: str | None, request: Dated) -> Node | None:
    """A query and the conditions beside it, parsed; None where nothing is asked."""
    from hansard.query.language.options import make_query

    return make_query(query, request, now=request.now or datetime.now(UTC), zone=_zone(request.timezone))


def _zone(timezone: str | None) -> tzinfo | None:
    """The zone of that name; None for the system's own."""
    if timezone is None:
        return None
    from hansard.model.calendar import find_zone

    return find_zone(timezone).info


def index_version() -> int:
    """The version of the index that this Hansard makes; another one is made again from the record."""
    from hansard.index.schema import VERSION

    return VERSION


def schemas() -> dict[str, str]:
    """The documented schema of each database, comments and all."""
    from hansard.index import schema as index
    from hansard.record import schema as record

    return {
        "record.db": record.SCHEMA.strip(),
        "index.db": f"{index.tables().strip()}\n\n{index.INDEXES.strip()}",
        "text.db": index.text_tables().strip(),
    }


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Dimensions as a list, or as words with commas."""
    names = by.split(",") if isinstance(by, str) else by
    found = tuple(name.strip() for name in names if name.strip())
    if not found:
        raise UsageError("give a dimension to group by, for example day, model or total")
    return found
