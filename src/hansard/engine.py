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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard import __version__
from hansard.clients import CLAUDE_CODE, client_of
from hansard.clients.roots import open_roots
from hansard.errors import HansardError, StoreBusy, StoreCorrupt, UsageError
from hansard.model.gate import release, verbatim
from hansard.model.questions import takes
from hansard.quick_imports import LazyPackage
from hansard.store import Store
from hansard.sync.report import DEFAULT_MAX_FILE

if TYPE_CHECKING:
    import hansard.audit.report
    import hansard.changes.journal
    import hansard.export.run
    import hansard.git.blame
    import hansard.git.commit_message
    import hansard.git.commits
    import hansard.git.notes
    import hansard.git.recovery
    import hansard.git.repository
    import hansard.grep.search
    import hansard.handoff.brief
    import hansard.handoff.sessions
    import hansard.index.schema
    import hansard.lake.push
    import hansard.ledger.blocks
    import hansard.ledger.current
    import hansard.ledger.explain
    import hansard.ledger.reconcile.run
    import hansard.ledger.report
    import hansard.ledger.tool_usage
    import hansard.model.audit
    import hansard.model.blame
    import hansard.model.calls
    import hansard.model.erasing
    import hansard.model.explain
    import hansard.model.files
    import hansard.model.freeing
    import hansard.model.ledger
    import hansard.model.recall
    import hansard.model.reconcile
    import hansard.model.recovery
    import hansard.model.requests
    import hansard.model.retention
    import hansard.model.search
    import hansard.model.secrets
    import hansard.model.sessions
    import hansard.model.sql
    import hansard.model.store_requests
    import hansard.model.threads
    import hansard.move
    import hansard.pricing.cost
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
    import hansard.record.verify
    import hansard.retention.elsewhere
    import hansard.retention.forget
    import hansard.retention.free
    import hansard.retention.location
    import hansard.retention.policy
    import hansard.retention.scrub
    import hansard.secrets.counts
    import hansard.secrets.lists
    import hansard.secrets.scan
    import hansard.sql.query
    import hansard.sql.snapshot
    import hansard.sync.erasing
    import hansard.sync.importing
    import hansard.sync.remarking
    import hansard.sync.report
    import hansard.sync.verify
    import hansard.team.connect
    import hansard.team.push
    import hansard.thread.locate
    import hansard.thread.reader
    import hansard.thread.store
    import hansard.thread.thread
    from hansard import model
else:
    hansard = LazyPackage("hansard")
    model = hansard.model

Progress = Callable[[int, int], None]  # done, total
_SEARCHED_AT_ONCE = 32 << 20  # bytes: so much is searched for secrets even if only some sessions are asked for
_SCAN_SECONDS = 10.0  # for another scan to end


def open(  # noqa: A001 - `hansard.open()` is how the library is entered
    home: str | os.PathLike[str],
    roots: Iterable[str | os.PathLike[str]] = (),
    *,
    follow_links: Iterable[str | os.PathLike[str]] = (),
    max_file: int = DEFAULT_MAX_FILE,
    prices: Iterable[model.ledger.PriceOverride] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    redact: bool | str = False,
    hold: Iterable[str] = (),
    not_stored: Iterable[str] = (),
) -> Hansard:
    """Open the store in `home` with its source roots; nothing is created or read before it is needed.

    Links in the roots are followed inside them and to `follow_links`, which are other directories. `groups` are names of products, each
    with paths of projects or parts of them. With `redact` ("on" or True), secrets are
    redacted in every text that the store gives out, except by `cat`, `restore`, raw lines and `reveal_secret`; with "strict" also
    what only looks random, or is only named like a secret. Of `hold`, which are projects and sessions, nothing is freed or forgotten.
    Files of the kinds `not_stored` are passed over: tool_result, file_history, paste, prompt_history, plan, todo, memory, shell, stats.
    """
    home = os.path.abspath(os.path.expanduser(os.fspath(home)))
    given = [os.fspath(root) for root in roots]
    if os.path.isdir(os.path.join(home, "imports")):
        given += hansard.sync.importing.import_folders(home)
    found = open_roots(
        given,
        follow_links=[os.fspath(folder) for folder in follow_links],
        data_directory=home,
        not_stored=not_stored,
    )
    return Hansard(home, found, max_file=max_file, prices=tuple(prices), groups=groups, redact=redact, hold=tuple(hold))


class Hansard(Store):
    """Everything that can be asked of a store. Use it in a `with`, or call `close()`; one per thread."""

    # -- sessions and projects

    @takes(lambda: model.requests.SessionsRequest)
    def sessions(self, request: model.requests.SessionsRequest) -> model.sessions.SessionPage:
        """Sessions that match the query and every other condition, newest first by default."""
        return hansard.query.sessions.list_sessions(self.reader, request)

    @takes(lambda: model.requests.SessionGroupsRequest)
    def session_groups(self, request: model.requests.SessionGroupsRequest) -> model.sessions.SessionGroups:
        """Sessions by project or by day, the latest first, each group with its sums and the first of its sessions."""
        return hansard.query.session_groups.list_groups(self.reader, request)

    def session(self, name: str, *, folder: str | None = None) -> model.sessions.Session:
        """The session with that id, id prefix, title, or `@last`; with `folder` only in projects at or below it."""
        return hansard.query.sessions.find_session(self.reader, name, folder)

    def _id(self, name: str | None) -> str | None:
        return None if name is None else self.session(name).session_id

    def session_with_id(self, session_id: str, *, folder: str | None = None) -> model.sessions.Session | None:
        """The session with exactly that id, of a project at or below `folder`."""
        return hansard.query.sessions.session_with_id(self.reader, session_id, folder)

    def find_message(self, uuid: str, *, folder: str | None = None) -> hansard.query.transcripts.MessagePlace:
        """The location of the message with that uuid or uuid prefix; the session that wrote it goes before copies."""
        return hansard.query.transcripts.find_message(self.reader, uuid, folder)

    def suggestions(self, kind: str, beginning: str = "", *, limit: int = 100) -> list[tuple[str, str]]:
        """Values with this prefix, each with a description; `kind` is session, project, model, branch, version, tool or tag."""
        return hansard.query.suggestions.suggest(self.reader, kind, beginning, limit)

    @takes(lambda: model.requests.ProjectsRequest)
    def projects(self, request: model.requests.ProjectsRequest) -> list[model.sessions.Project]:
        """Projects and what happened in them, the most recent first."""
        return hansard.query.sessions.list_projects(self.reader, request)

    def project_names(self) -> dict[str, str]:
        """The display name of each project by its path: the shortest unique suffix."""
        return self.reader.project_names()

    def activity(self, *, since: datetime | None = None, until: datetime | None = None) -> model.sessions.Activity:
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

    def related(self, name: str, *, limit: int | None = 10) -> list[model.sessions.Related]:
        """Similar sessions, the most similar first, each with what they have in common."""
        return hansard.query.related.list_related(self.reader, self.session(name), limit=limit)

    # -- one session

    def read(
        self,
        session: model.sessions.Session | str,
        agent: str | None = None,
        branch: int = 0,
        *,
        pictures: bool = True,
        subagents: bool = True,
        long_lines: bool = True,
    ) -> hansard.thread.thread.Thread:
        """A session's thread, or a subagent's: its turns, windows of them, its outline, its raw lines, its usage.

        `agent` is the prefix of a subagent's id; windows show `branch` as the path that the session took. Without `pictures` their data
        is left out, without `subagents` what they did. Without `long_lines` a line of more than 8 MiB says only so.
        """
        about = self.session(session) if isinstance(session, str) else session
        threads = self._threads(self.redact)
        return threads.read(about, agent, branch, pictures=pictures, subagents=subagents, long_lines=long_lines)

    def conversation(self, name: str, *, agent: str | None = None) -> model.threads.Conversation:
        """The entries of a session's thread, or of a subagent's."""
        return self.read(name, agent).conversation()

    def agents(self, name: str) -> tuple[model.threads.Agent, ...]:
        """A session's subagents."""
        return hansard.thread.reader.list_agents(self.reader, self.session(name).session_id)

    def links(self, name: str) -> list[model.files.Link]:
        """How a session relates to others."""
        return hansard.query.transcripts.list_links(self.reader, self.session(name).session_id)

    def transcripts(self, name: str | None = None) -> list[model.files.Transcript]:
        """The logs of a session, or of the whole store, former generations included."""
        return hansard.query.transcripts.list_transcripts(self.reader, self._id(name))

    def todos(self, name: str) -> list[model.files.Todo]:
        """A session's todos and tasks, from the latest version of their files."""
        return hansard.query.transcripts.list_todos(self.reader, self.session(name).session_id)

    def side_files(self, *, kind: str | None = None, name: str | None = None) -> list[model.files.SideFile]:
        """Small files that are stored whole: of one kind (plan, memory, tool_result, ...), of one session, or all."""
        return hansard.query.transcripts.list_side_files(self.reader, kind, self._id(name))

    def read_side_file(self, file: model.files.SideFile) -> bytes:
        """The latest content of a small file."""
        return hansard.query.transcripts.read_side_file(self.reader, self.record, file)

    def plan_resume(self, name: str) -> model.sessions.Resumption:
        """What the client needs to resume a session; raises if it cannot be resumed."""
        return hansard.query.restoring.plan_resume(self.reader, name, self.roots)

    def plan_copy(
        self, name: str, *, slim: bool = False, repair: bool = False, progress: Progress | None = None
    ) -> hansard.handoff.sessions.NewSession:
        """A copy of a session for its client to resume: `slim` replaces old bulk, `repair` also joins a conversation that fell apart.

        `progress` is called with the bytes read so far and those to read, also when the copy is written.
        """
        return hansard.handoff.sessions.plan_copy(
            self.reader, self.record, self.plan_resume(name), slim=slim, repair=repair, progress=progress
        )

    def plan_handoff(
        self, name: str, to: str, config: str, *, cwd: str | None = None, tokens: int = 50_000
    ) -> hansard.handoff.sessions.NewSession:
        """A new session of the client `to` that continues a session of any client; secrets are redacted.

        `config` is the config directory of the client; `handoff_directory` finds the usual one. The newest messages are taken, up to `tokens`.
        """
        thread = self.read(name, pictures=False, subagents=False, long_lines=False)
        return hansard.handoff.sessions.plan_session(thread, to, config, cwd or thread.session.cwd, tokens)

    def handoff_directory(self, to: str, variables: Mapping[str, str], home: str) -> str:
        """The config directory of a client, as these environment variables say."""
        return hansard.handoff.sessions.config_directory(to, variables, home)

    def brief(self, name: str, *, tokens: int = 4_000) -> str:
        """A session in Markdown for the first prompt of another agent: task, decisions, files, state, open ends; secrets are redacted."""
        thread = self.read(name, pictures=False, subagents=False, long_lines=False)
        return hansard.handoff.brief.write_brief(thread, self.todos(thread.session.session_id), tokens)

    def write_session(self, plan: hansard.handoff.sessions.NewSession) -> None:
        """Write what `plan_copy` or `plan_handoff` planned: a new file, never an existing one."""
        hansard.handoff.sessions.write_session(self.home, plan)

    def written_sessions(self) -> list[hansard.changes.journal.Journal]:
        """The sessions that Hansard wrote and can remove again, the oldest first."""
        return hansard.changes.journal.list_journals(self.home, hansard.handoff.sessions.PURPOSE)

    def undo_session(self, journal: hansard.changes.journal.Journal) -> hansard.changes.journal.Undone:
        """Remove a session that Hansard wrote, unless its client has continued it."""
        return hansard.changes.journal.undo(self.home, journal)

    # -- calls, files, prompts

    def file_changes(self, name: str | None = None, *, path: str | None = None) -> list[model.files.FileChange]:
        """Changes that tool calls made to files: in one session, to paths that contain `path`, or everywhere."""
        return hansard.query.prompts.list_file_changes(self.reader, self._id(name), path)

    @takes(lambda: model.requests.FilesRequest)
    def files(self, request: model.requests.FilesRequest) -> model.calls.FilePage:
        """Files that tool calls changed, the last changed first by default."""
        return hansard.query.tool_calls.list_files(self.reader, request)

    @takes(lambda: model.requests.FolderRequest)
    def folder(self, request: model.requests.FolderRequest) -> model.calls.FolderPage:
        """The changed files of one folder, and its subfolders."""
        return hansard.query.tool_calls.list_folder(self.reader, request)

    @takes(lambda: model.requests.FileHistoryRequest)
    def file_history(self, request: model.requests.FileHistoryRequest) -> model.calls.FileHistory:
        """What tool calls did to one file, the newest first; with `reads` also those that did not change it."""
        return hansard.query.tool_calls.read_history(self.reader, request)

    @takes(lambda: model.requests.CallsRequest)
    def calls(self, request: model.requests.CallsRequest) -> model.calls.CallPage:
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
    ) -> model.threads.ToolCall:
        """One call with its input and its result, by the location of its block: a transcript's path and a byte offset."""
        return hansard.thread.locate.read_call(
            self.reader, self.record, transcript, offset, block, session_id=session_id, root=root, generation=generation
        )

    def listed_call(self, call: model.calls.Call) -> model.threads.ToolCall | None:
        """A listed call with its input and its result; None if the record no longer has it."""
        return hansard.thread.locate.read_listed(self.reader, self.record, call)

    @takes(lambda: model.requests.PromptsRequest)
    def prompts(self, request: model.requests.PromptsRequest) -> model.search.PromptPage:
        """Everything typed, newest first, including what only history.jsonl has; `unique` lists equal texts once."""
        return hansard.query.prompts.list_prompts(self.reader, request)

    def prompt_text(self, transcript: str, offset: int) -> str | None:
        """The text of the prompt at the location that a `Prompt` names, or None."""
        return hansard.query.prompts.read_prompt(self.reader, transcript, offset)

    # -- search

    @takes(lambda: model.requests.SearchRequest)
    def search(self, request: model.requests.SearchRequest) -> model.search.SearchPage:
        """The matches of a query, the best first; with `group` the best sessions."""
        return hansard.query.search.pages.Search(self.reader, request, redact=self.redact).page(self._record_or_none())

    @takes(lambda: model.requests.SearchRequest)
    def count(self, request: model.requests.SearchRequest) -> int:
        """The number of matches, copies in forks and former generations included."""
        return hansard.query.search.pages.Search(self.reader, request, exact=True).finder.count()

    @takes(lambda: model.requests.RecallRequest)
    def recall(self, request: model.requests.RecallRequest) -> model.recall.Recollection:
        """The passages of the whole history that best answer a question in plain words."""
        return hansard.query.recall.answer.Recall(self.reader, self._record_or_none(), request).answer()

    @takes(lambda: model.requests.FacetsRequest)
    def facets(self, request: model.requests.FacetsRequest) -> model.search.Facets:
        """The newest matches of a query counted by project, tool, kind, model, day and month."""
        return hansard.query.search.pages.Search(self.reader, request).facets(request.most)

    def command_outputs(self, uuids: Collection[str]) -> set[str]:
        """Which of these messages are the output of a command that a person typed."""
        return hansard.query.search.blocks.command_outputs(self.reader, uuids)

    def field_values(self, field: str, *, limit: int = 200) -> list[str]:
        """The values of a field of the query language in this history, the most useful first."""
        return hansard.query.suggestions.list_values(self.reader, field, limit)

    # -- git

    @takes(lambda: model.store_requests.BlameRequest)
    def blame(self, request: model.store_requests.BlameRequest) -> model.blame.BlameReport:
        """For each line of a file the commit, and the session and turn whose edit wrote it."""
        return hansard.git.blame.blame_file(self._threads(), self._edit_cache(), request)

    def blame_commit(self, commit: str, repository: str) -> model.blame.CommitReport:
        """For each line that a commit added the session and turn whose edit wrote it; `repository` is a folder in it."""
        return hansard.git.blame.blame_commit(self._threads(), self._edit_cache(), commit, repository)

    def find_commit(self, name: str, repository: str) -> str | None:
        """The full hash of a commit; None if the repository has no such commit."""
        return hansard.git.repository.Repository.find(repository).resolve(name)

    @takes(lambda: model.store_requests.CommitsRequest)
    def commits(self, request: model.store_requests.CommitsRequest) -> model.blame.CommitPage:
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

    @takes(lambda: model.store_requests.LostSessionsRequest)
    def lost_sessions(self, request: model.store_requests.LostSessionsRequest) -> model.recovery.LostSessions:
        """Sessions whose transcript is gone from the record and every root, and what is left of them; the newest first."""
        return hansard.git.recovery.list_lost(self.reader, self._record_or_none(), request)

    def reconstruct(self, name: str) -> model.recovery.Reconstruction:
        """A lost session as far as other files and the project's repository have it: not a transcript, and marked so."""
        return hansard.git.recovery.reconstruct(self.reader, self.record, name)

    def _commit_map(self, repository: str | None = None) -> hansard.git.commits.CommitMap:
        return hansard.git.commits.map_all(self._threads(), self._edit_cache(), repository)

    # -- the user's remarks on sessions

    def remarks(self, name: str) -> model.sessions.Remarks:
        """A session's pin, tags, title and notes; the session may be one that only history.jsonl knows."""
        return self._known(name)

    def _known(self, name: str) -> model.sessions.Remarks:
        """A session's remarks as they are stored, to change them."""
        return hansard.query.sessions.find_remarks(self.reader, name)

    def _remark(
        self, name: str, make: Callable[[model.sessions.Remarks], hansard.sync.report.Change]
    ) -> model.sessions.Remarks:
        known = self._known(name)
        self._write(make(known))
        return self._known(known.session_id)

    def tags(self) -> list[model.sessions.Tagged]:
        """Every tag and how many sessions have it, the most used first."""
        return hansard.query.sessions.list_tags(self.reader)

    def pin(self, *names: str, remove: bool = False) -> list[model.sessions.Remarks]:
        """Pin sessions, or remove their pins: all of them or, if one is unknown, none."""
        ids = [self._known(name).session_id for name in names]
        self._write(*(hansard.sync.remarking.pinning(id_, remove=remove) for id_ in ids))
        return [self._known(id_) for id_ in ids]

    def pin_message(self, name: str, uuid: str, *, remove: bool = False) -> model.sessions.Remarks:
        """Pin a message of a session, by its uuid or the beginning of it, or unpin it."""

        def change(known: model.sessions.Remarks) -> hansard.sync.report.Change:
            is_known = remove and uuid in known.pinned_messages
            message = uuid if is_known else hansard.query.pins.message_of(self.reader, known.session_id, uuid)
            return hansard.sync.remarking.pinning(known.session_id, message, remove=remove)

        return self._remark(name, change)

    def pinned_messages(self, name: str) -> list[model.sessions.PinnedMessage]:
        """The messages of a session that are pinned, in order."""
        return hansard.query.pins.list_pins(self.reader, self.record, self.session(name).session_id)

    def tag(self, name: str, *tags: str, remove: bool = False) -> model.sessions.Remarks:
        """Add tags to a session, or remove them; case and accents are ignored."""
        return self._remark(name, lambda known: hansard.sync.remarking.tagging(known.session_id, tags, remove=remove))

    def rename(self, name: str, title: str | None) -> model.sessions.Remarks:
        """Give a session a title that takes precedence over all others; None removes it."""
        return self._remark(name, lambda known: hansard.sync.remarking.naming(known.session_id, title))

    def note(self, name: str, text: str) -> model.sessions.Remarks:
        """Add a note to a session."""
        return self._remark(name, lambda known: hansard.sync.remarking.noting(known.session_id, text))

    def unnote(self, name: str, number: int) -> model.sessions.Remarks:
        """Remove a note of a session; the first one is number 1."""
        change = hansard.sync.remarking.unnoting
        return self._remark(name, lambda known: change(known.session_id, known.notes, number))

    # -- SQL

    @takes(lambda: model.store_requests.SqlRequest)
    def sql(self, request: model.store_requests.SqlRequest) -> model.sql.SqlResult:
        """Run a query over the public views, read-only; rows are computed while the answer is read."""
        redact = self._at_least(request.redact)
        return hansard.sql.query.query(self.home, self.reader, lambda: self.record, request, redact)

    def write_sql_snapshot(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Write the public views as tables of a new SQLite database."""
        hansard.sql.snapshot.write_snapshot(self.home, os.fspath(path), self.redact, progress)

    # -- secrets

    def scan_secrets(
        self,
        *,
        full: bool = False,
        progress: Progress | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
        wait_seconds: float = 0.0,
        sessions: Collection[str] | None = None,
    ) -> model.secrets.ScanReport:
        """Search what is new in the record for secrets; with `full`, all of it again.

        Of `sessions`, given by their ids, only the transcripts, unless little more is new.
        """
        logs: Collection[int] | None = None
        if sessions is not None and hansard.secrets.counts.count_unscanned(self.home, self.record) > _SEARCHED_AT_ONCE:
            logs = hansard.secrets.counts.transcripts_of(self.reader, sessions)
        _ = self.record  # raises a clear error if there is none
        return hansard.secrets.scan.scan(
            self.home, full=full, progress=progress, is_stopped=is_stopped, wait_seconds=wait_seconds, logs=logs
        )

    @takes(lambda: model.store_requests.SecretsRequest)
    def secrets(self, request: model.store_requests.SecretsRequest) -> model.secrets.SecretPage:
        """Secrets that a scan found, open ones first; never the secrets themselves."""
        session_id = None if request.session is None else self.session(request.session).session_id
        with self._findings() as findings:
            return self._safe(hansard.secrets.lists.list_secrets(findings, self.record, request, session_id))

    @takes(lambda: model.store_requests.SecretRequest)
    def secret(self, request: model.store_requests.SecretRequest) -> model.secrets.SecretReport:
        """One secret, every line and file of the record that holds it, and how to replace it."""
        with self._findings() as findings:
            report = hansard.secrets.lists.show_secret(findings, self.record, findings.find(request.secret))
            if request.elsewhere:
                report = hansard.retention.elsewhere.search_elsewhere(
                    findings, self.record, report, home=self.home, roots=self.roots
                )
            return self._safe(report)

    @verbatim("reveal")
    def reveal_secret(self, secret: str) -> str:
        """A secret itself, from where it is written."""
        with self._findings() as findings:
            return hansard.secrets.lists.reveal(findings, self.record, findings.find(secret))

    def secret_counts(self) -> dict[str, int]:
        """How many open secrets each session holds that holds any, by session id."""
        return hansard.secrets.counts.count_by_session(self.home, self.reader, lambda: self.record)

    def resolve_secret(self, secret: str, state: str, note: str = "") -> model.secrets.Secret:
        """Decide about a secret: open, rotated, false-alarm or accepted; a false alarm is no longer redacted."""
        if state not in model.secrets.STATES:
            raise UsageError(f"{state!r} is not a state of a secret; choose one of {', '.join(model.secrets.STATES)}")
        with self._findings() as findings:
            secret_id = findings.find(secret)
        self._write(lambda record: record.note_secret_state(secret_id, state, note))
        return self.secret(secret_id).secret

    @takes(lambda: model.store_requests.ScrubRequest)
    def plan_scrub(self, request: model.store_requests.ScrubRequest) -> model.erasing.ForgetPlan:
        """Where the client's own files of these sessions hold secrets, and what a scrub would overwrite."""
        planned = hansard.retention.scrub.plan_scrub(self.reader, self.record, request, self._location())
        return self._safe(planned.plan)

    @takes(lambda: model.store_requests.ScrubRequest)
    def scrub(self, request: model.store_requests.ScrubRequest) -> model.secrets.Scrubbed:
        """Put placeholders in place of the secrets, as long as these; without `backup` in the record too, for good."""
        self.close()
        scrubbed = hansard.retention.scrub.scrub(self._location(), request)
        self.sync(wait_seconds=60.0)  # the record gets what the files have now
        hansard.secrets.scan.drop_erased(self.home)
        return scrubbed

    def decided_secrets(self, values: Collection[str]) -> set[str]:
        """Which of some secrets the user accepted or called false alarms."""
        return hansard.secrets.lists.decided(self.record, values)

    def _scan_all(self) -> None:
        """Search what is new, so that no place of a secret is missed."""
        if self.scan_secrets(wait_seconds=60.0).busy:
            raise StoreBusy(
                "another process is searching this store for secrets; wait for it to end, then run this again"
            )

    def _findings(self) -> contextlib.closing[hansard.secrets.lists.Findings]:
        return contextlib.closing(hansard.secrets.lists.Findings(self.home, self.reader, self.record))

    @takes(lambda: model.store_requests.AuditRequest)
    def audit(self, request: model.store_requests.AuditRequest) -> model.audit.AuditReport:
        """What sessions did in a period, what of it was risky by which rules, and what the record cannot say; secrets are redacted."""
        with self.at_once():
            make_audit = hansard.audit.report.make_audit
            report = make_audit(self.reader, self.record, request, version=__version__, erasures=len(self.receipts()))
        return self._safe(report)

    # -- the ledger

    @takes(lambda: model.requests.UsageRequest)
    def usage(self, request: model.requests.UsageRequest) -> model.ledger.UsageReport:
        """Tokens and cost, by one dimension or several; the rows add up to the totals."""
        with self._ledger(request) as ledger:
            return hansard.ledger.report.make_report(ledger, request)

    @takes(lambda: model.requests.BlocksRequest)
    def blocks(self, request: model.requests.BlocksRequest) -> model.ledger.Blocks:
        """Five-hour blocks in order and the gaps between them, with a projection for the current one."""
        with self._ledger(request) as ledger:
            return hansard.ledger.blocks.make_blocks(ledger)

    @takes(lambda: model.requests.ToolsRequest)
    def tools(self, request: model.requests.ToolsRequest) -> model.calls.ToolReport:
        """How often each tool was called, how long that took, how often it failed; the same calls as in `usage`."""
        with self._ledger(request) as ledger:
            return hansard.ledger.tool_usage.report_tools(ledger, request.name)

    @takes(lambda: model.requests.ExplainRequest)
    def explain(self, request: model.requests.ExplainRequest) -> model.explain.Explanation:
        """The messages, lines, rates and arithmetic behind a session, a time, a message, or a row of a report."""
        with self._ledger(request) as ledger:
            return hansard.ledger.explain.explain(ledger, self.record, request)

    @contextlib.contextmanager
    def _ledger(
        self, request: model.requests.LedgerRequest | model.requests.ExplainRequest
    ) -> Iterator[hansard.ledger.report.Ledger]:
        with self.at_once():
            yield hansard.ledger.report.Ledger(
                self.reader, request, partial(self._commit_map, request.repository), groups=self.groups
            )

    def reconcile(
        self, *, peer: bytes | None = None, progress: Progress | None = None
    ) -> model.reconcile.Reconciliation:
        """Our totals next to those of other ways of counting, each difference split by its causes."""
        with self.at_once():
            return hansard.ledger.reconcile.run.reconcile(
                self.reader, self.record, peer=peer, progress=progress, overrides=self.overrides
            )

    def current(
        self,
        session_id: str | None = None,
        *,
        limits: Sequence[model.ledger.Limit] = (),
        timezone: str | None = None,
        now: datetime | None = None,
    ) -> model.ledger.CurrentUsage:
        """The cost of a session, of today and of the current block; it uses lookups only, so it is fast on any history."""
        with self.at_once():
            return hansard.ledger.current.current_usage(self.reader, session_id, limits, timezone, now)

    def budgets(
        self,
        limits: Sequence[model.ledger.Limit],
        *,
        session_id: str | None = None,
        timezone: str | None = None,
        now: datetime | None = None,
    ) -> list[model.ledger.Budget]:
        """How much of each limit is spent in the current day, week or month, and of a session's if one is given."""
        with self.at_once():
            return hansard.ledger.current.check_budgets(self.reader, limits, timezone, now, session_id=session_id)

    def rates(self) -> list[model.ledger.Rate]:
        """The dated rates of every model in the history, as they were resolved."""
        return list(hansard.pricing.cost.rates_of(self.reader.rows).values())

    def price_data(self) -> model.ledger.PriceData:
        """Where the rates come from."""
        return hansard.ledger.report.price_data(self.reader)

    def update_prices(self, url: str | None = None) -> model.ledger.PriceData:
        """Fetch the newest prices over the network; the next sync prices everything with them."""
        return self._prices().fetch(url)

    # -- verbatim bytes

    @takes(lambda: model.store_requests.GrepRequest)
    def grep(self, request: model.store_requests.GrepRequest) -> hansard.grep.search.Grep:
        """Search every stored byte, line by line; iterate over the answer for lines, or ask it for `counts()`."""
        if request.sessions is not None:
            request = replace(request, sessions={self.session(name).session_id for name in request.sessions})
        return hansard.grep.search.grep(self.reader, self.record, request, self.redact)

    def find_transcript(self, name: str, *, generation: int | None = None) -> tuple[int, model.files.Transcript]:
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

    @takes(lambda: model.store_requests.ExportRequest)
    def export(self, request: model.store_requests.ExportRequest) -> hansard.export.Exported:
        """Write sessions (None: all) to files, one for each or one for each table; unchanged files are left alone."""
        redact = self._at_least(request.redact)
        store = hansard.thread.store.ThreadStore(self.reader, self.record, redact=redact)
        chosen = self.sessions(limit=None).sessions if request.sessions is None else request.sessions
        sessions = [self.session(item) if isinstance(item, str) else item for item in chosen]
        if redact is not None:  # their titles become names of files
            with contextlib.suppress(HansardError, OSError):  # what was not searched is said
                ids = None if request.sessions is None else [session.session_id for session in sessions]
                self.scan_secrets(sessions=ids, wait_seconds=_SCAN_SECONDS)
            sessions = [release(session, redact) for session in sessions]
        done = hansard.export.run.export(
            store, request, sessions, home=self.home, roots=self.roots, names=self.project_names()
        )
        if redact is None:
            return done
        return replace(done, unscanned_bytes=hansard.secrets.counts.count_unscanned(self.home, self.record))

    @takes(lambda: model.store_requests.TeamPushRequest)
    def push_team(self, request: model.store_requests.TeamPushRequest) -> hansard.team.push.PushReport:
        """Bring what changed since the last push to a team's PostgreSQL database; texts only of the projects in `opened`."""
        redact = self._at_least(request.redact)
        with hansard.team.connect.Database(request.database, request.schema) as database:
            return hansard.team.push.push(
                self.reader,
                lambda: self.record,
                database,
                machine=request.machine,
                opened=request.opened,
                redact=redact,
                version=__version__,
                progress=request.progress,
            )

    @takes(lambda: model.store_requests.LakePushRequest)
    def push_lake(self, request: model.store_requests.LakePushRequest) -> hansard.lake.push.LakeReport:
        """Write what changed since the last push to a lake; texts only of the projects in `opened`."""
        redact = self._at_least(request.redact)
        return hansard.lake.push.push(self.reader, self.record, self.home, request, redact, __version__)

    @takes(lambda: model.store_requests.RestoreRequest)
    def plan_restore(self, request: model.store_requests.RestoreRequest) -> list[model.files.RestoreItem]:
        """What a restore of these sessions (None: of everything) would write under `to`.

        A config directory that the store knows as a root gets its files where the client looks for them.
        """
        return hansard.query.restoring.plan_restore(self.reader, self.record, request)

    @verbatim("restore")
    def restore(
        self,
        items: list[model.files.RestoreItem],
        *,
        overwrite: bool = False,
        touch: bool = False,
        progress: Progress | None = None,
    ) -> hansard.record.restore.Restored:
        """Write what `plan_restore` planned; with `touch` the files are dated now instead of as they were."""
        return hansard.record.restore.apply(self.record, items, overwrite, progress, touch=touch)

    @takes(lambda: model.store_requests.ForgetRequest)
    def plan_forget(self, request: model.store_requests.ForgetRequest) -> model.erasing.ForgetPlan:
        """What holds these sessions, this project, these messages or what a query finds, and what an erasure would leave."""
        if request.secrets:
            self._scan_all()
        plan, _ = hansard.retention.forget.plan_forget(self.reader, self.record, request, self._location())
        return self._safe(plan) if request.secrets else plan

    @takes(lambda: model.store_requests.ForgetRequest)
    def forget(self, request: model.store_requests.ForgetRequest) -> model.erasing.Receipt:
        """Erase what `plan_forget` names: from the record, the indexes, caches, exports and backups; no sync brings it back.

        The client's own files are changed only with `source`. It cannot be undone.
        """
        if request.secrets:
            self._scan_all()
        self.close()  # a database that is being read cannot be written anew
        receipt = hansard.retention.forget.forget(self._location(), request)
        hansard.secrets.scan.drop_erased(self.home)
        return receipt

    @takes(lambda: model.store_requests.FreeRequest)
    def plan_free(self, request: model.store_requests.FreeRequest) -> model.freeing.FreePlan:
        """What of Claude Code's folders the record has byte for byte, compared now; nothing is removed."""
        return hansard.retention.free.plan_free(self.reader, self.record, request, self._location())

    @takes(lambda: model.store_requests.FreeRequest)
    def free(self, request: model.store_requests.FreeRequest) -> model.freeing.Freed:
        """Remove what `plan_free` names from the client's folder, each file after it was compared once more."""
        self.close()
        return hansard.retention.free.free_files(self._location(), request)

    @takes(lambda: model.store_requests.FreeRequest)
    def plan_undo_free(self, request: model.store_requests.FreeRequest) -> list[model.files.RestoreItem]:
        """The files that `free` removed, for `restore` to write back to their places."""
        return hansard.retention.free.plan_undo_free(self.reader, self.record, request, self._location())

    def plan_retention(self, rules: model.retention.Retention) -> model.retention.RetentionPlan:
        """What the rules would free and delete now; nothing is changed."""
        return hansard.retention.policy.plan_retention(self.reader, self.record, self._location(rules))

    def apply_retention(self, rules: model.retention.Retention) -> model.retention.RetentionDone:
        """Free, then delete, what `plan_retention` names; what is deleted cannot be brought back."""
        self.close()
        done = hansard.retention.policy.apply_retention(self._location(rules))
        hansard.secrets.scan.drop_erased(self.home)
        return done

    def _location(self, rules: model.retention.Retention | None = None) -> hansard.retention.location.StoreLocation:
        return hansard.retention.location.StoreLocation(
            home=self.home,
            roots=self.roots,
            prices=self._prices(),
            rules=rules or model.retention.Retention(hold=self.hold),
        )

    def receipts(self) -> list[model.erasing.Receipt]:
        """What was erased, the oldest first: in numbers, without names or content."""
        return hansard.sync.erasing.receipts(self.home) if self._record_or_none() is not None else []

    def allow(self, session_id: str, *, client: str = CLAUDE_CODE) -> bool:
        """Let a session that was forgotten be stored again, by its full id; False if it was not."""
        self.close()
        return hansard.retention.forget.allow(self.home, client, session_id, prices=self._prices())

    def cleanup_periods(self) -> dict[str, int]:
        """After how many days the client of each root deletes transcripts, by the root's path."""
        return {root.path: client_of(root.client).cleanup_days(root) for root in self.roots}

    def cleanup_days(self, items: Iterable[model.files.RestoreItem], to: str) -> int | None:
        """The clean-up period of the client that uses `to`, if restored transcripts are older than that."""
        return hansard.query.restoring.cleanup_days(self.roots, items, to)

    def plan_move(
        self, old: str, new: str, *, rename: bool = False, rewrite_cwd: bool = False
    ) -> hansard.move.MovePlan:
        """The changes that make the client find a moved project; `rename` moves its history folder and what names its path.

        By default a line in `.session-aliases` names the former history folder, and nothing else is touched.
        """
        has_index = os.path.exists(os.path.join(self.home, "index.db"))
        known = hansard.query.sessions.list_history_folders(self.reader) if has_index else []
        return hansard.move.plan_move(self.roots, known, old, new, rename=rename, rewrite_cwd=rewrite_cwd)

    def move(self, plan: hansard.move.MovePlan) -> None:
        """Apply a planned move; from now on both places are one project."""
        hansard.move.apply_move(self.home, plan)
        self._write(lambda record: record.note_move(plan.old, plan.new))

    def moves(self) -> list[hansard.changes.journal.Journal]:
        """The moves that can be undone, the oldest first."""
        return hansard.changes.journal.list_journals(self.home, hansard.move.PURPOSE)

    def undo_move(self, move: hansard.changes.journal.Journal) -> hansard.changes.journal.Undone:
        """Undo a move: every file is as it was, except for what others have changed since."""
        undone = hansard.changes.journal.undo(self.home, move)
        self._write(lambda record: record.forget_move(move.facts["old"]))
        return undone

    # -- health

    def problems(self) -> tuple[model.files.Problem, ...]:
        """What could not be stored or indexed, and why; it is tried again when it changes."""
        return hansard.query.health.list_problems(self.reader, self._record_or_none())

    def status(self, *, as_synced: bool = False) -> hansard.query.health.Status:
        """The store at a glance, and what the client's clean-up will delete next.

        `as_synced`: the sources as the last `sync()` found them, if it found nothing new; otherwise they are walked again.
        """
        walks = self._walks if as_synced else {}
        record = self._record_or_none()
        answer = hansard.query.health.read_status(self.reader, record, self.home, self.roots, walks=walks)
        if record is None:
            return answer
        return replace(answer, unscanned_bytes=hansard.secrets.counts.count_unscanned(self.home, record))

    def doctor(self) -> hansard.query.health.Diagnosis:
        """The store's health, permissions, issues and drift."""
        return hansard.query.health.diagnose(self.reader, self._record_or_none(), self.home, self.roots)

    def issues(self) -> tuple[model.files.IssueKind, ...]:
        """Unreadable data by kind, with examples: a fast part of `doctor`."""
        return hansard.query.health.list_issues(self.reader)

    def drift(self) -> tuple[model.files.Drift, ...]:
        """Records and fields that Hansard does not know, by client version, each with its first location."""
        return hansard.query.health.list_drift(self.reader)

    @takes(lambda: model.store_requests.VerifyRequest)
    def verify(self, request: model.store_requests.VerifyRequest) -> hansard.record.verify.VerifyReport:
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
