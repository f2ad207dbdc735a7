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
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard import __version__
from hansard.api.custody import CustodyMethods
from hansard.api.repositories import RepositoryMethods
from hansard.clients.roots import open_roots
from hansard.errors import HansardError, StoreCorrupt
from hansard.model.gate import release
from hansard.model.questions import takes
from hansard.quick_imports import LazyPackage
from hansard.sync.report import DEFAULT_MAX_FILE

if TYPE_CHECKING:
    import hansard.audit.report
    import hansard.export.run
    import hansard.git.notes
    import hansard.index.schema
    import hansard.lake.build
    import hansard.lake.push
    import hansard.ledger.blocks
    import hansard.ledger.current
    import hansard.ledger.explain
    import hansard.ledger.reconcile.run
    import hansard.ledger.report
    import hansard.ledger.tool_usage
    import hansard.model.audit
    import hansard.model.calls
    import hansard.model.explain
    import hansard.model.files
    import hansard.model.health
    import hansard.model.ledger
    import hansard.model.reconcile
    import hansard.model.requests
    import hansard.model.search
    import hansard.model.sessions
    import hansard.model.sql
    import hansard.model.store_requests
    import hansard.model.threads
    import hansard.pricing.cost
    import hansard.query.activity
    import hansard.query.diagnosis
    import hansard.query.health
    import hansard.query.prompts
    import hansard.query.recall.answer
    import hansard.query.related
    import hansard.query.search.blocks
    import hansard.query.search.pages
    import hansard.query.session_groups
    import hansard.query.sessions
    import hansard.query.suggestions
    import hansard.query.tool_calls
    import hansard.query.transcripts
    import hansard.record.salvage
    import hansard.record.schema
    import hansard.record.verify
    import hansard.sql.process
    import hansard.sql.snapshot
    import hansard.sync.importing
    import hansard.sync.verify
    import hansard.team.connect
    import hansard.team.push
    import hansard.thread.locate
    import hansard.thread.store
    from hansard import model
else:
    hansard = LazyPackage("hansard")
    model = hansard.model

Progress = Callable[[int, int], None]  # done, total
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
        given, follow_links=[os.fspath(folder) for folder in follow_links], data_directory=home, not_stored=not_stored
    )
    return Hansard(home, found, max_file=max_file, prices=tuple(prices), groups=groups, redact=redact, hold=tuple(hold))


class Hansard(RepositoryMethods, CustodyMethods):
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

    def live(self, since: datetime) -> dict[str, datetime]:
        """The sessions with a record after a time, and when their last one was written; the newest first."""
        return hansard.query.activity.list_live(self.reader, since)

    def related(self, name: str, *, limit: int | None = 10) -> list[model.sessions.Related]:
        """Similar sessions, the most similar first, each with what they have in common."""
        return hansard.query.related.list_related(self.reader, self.session(name), limit=limit)

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
    def recall(self, request: model.requests.RecallRequest) -> model.search.Recollection:
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

    # -- SQL

    @takes(lambda: model.store_requests.SqlRequest)
    def sql(self, request: model.store_requests.SqlRequest) -> model.sql.SqlResult:
        """Run a query over the public views, read-only; rows are computed while the answer is read."""
        redact = self._at_least(request.redact)
        redactor = (
            None
            if redact is None
            else ("hansard.secrets.redactor:store_redactor", self.home, getattr(redact, "mode", "on"))
        )
        return hansard.sql.process.query_in_process(self.home, request, redactor)

    def write_sql_snapshot(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Write the public views as tables of a new SQLite database."""
        hansard.sql.snapshot.write_snapshot(self.home, os.fspath(path), self.redact, progress)

    # -- notes on commits, audits

    def git_note(self, commit: str, repository: str, *, write: bool = False) -> str:
        """Which lines of a commit sessions wrote, as a git-ai note; with `write` it is added to `refs/notes/ai`."""
        threads, cache = self._threads(), self._edit_cache()
        return hansard.git.notes.note_commit(threads, cache, commit, repository, __version__, write=write)

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

    @takes(lambda: model.store_requests.LakeBuildRequest)
    def build_lake(self, request: model.store_requests.LakeBuildRequest) -> hansard.lake.build.LakeBuildReport:
        """Write what changed in raw histories of other machines to a lake, on a Spark cluster; of this store only prices and the key are used."""
        return hansard.lake.build.build(self.home, request, overrides=self.overrides, max_file=self.max_file)

    # -- health

    def problems(self) -> tuple[model.files.Problem, ...]:
        """What could not be stored or indexed, and why; it is tried again when it changes."""
        return hansard.query.health.list_problems(self.reader, self._record_or_none())

    def status(self, *, as_synced: bool = False) -> model.health.Status:
        """The store at a glance, and what the client's clean-up will delete next.

        `as_synced`: the sources as the last `sync()` found them, if it found nothing new; otherwise they are walked again.
        """
        walks = self._walks if as_synced else {}
        record = self._record_or_none()
        answer = hansard.query.health.read_status(self.reader, record, self.home, self.roots, walks=walks)
        if record is None:
            return answer
        return replace(answer, unscanned_bytes=hansard.secrets.counts.count_unscanned(self.home, record))

    def doctor(self) -> model.health.Diagnosis:
        """The store's health, permissions, issues and drift."""
        is_damaged = hansard.secrets.counts.is_damaged(self.home)
        return hansard.query.diagnosis.diagnose(
            self.reader, self._record_or_none(), self.home, self.roots, secrets_damaged=is_damaged
        )

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
