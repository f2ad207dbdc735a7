"""What the store keeps verbatim, gives back, and erases: secrets, restores, forgetting, freeing, moving."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.api.sessions import SessionMethods
from hansard.clients import CLAUDE_CODE, client_of
from hansard.errors import StoreBusy, UsageError
from hansard.model.gate import verbatim
from hansard.model.questions import takes
from hansard.quick_imports import LazyPackage

if TYPE_CHECKING:
    import hansard.changes.journal
    import hansard.grep.search
    import hansard.model.erasing
    import hansard.model.files
    import hansard.model.freeing
    import hansard.model.retention
    import hansard.model.secrets
    import hansard.model.store_requests
    import hansard.move
    import hansard.query.restoring
    import hansard.query.sessions
    import hansard.query.transcripts
    import hansard.record.restore
    import hansard.retention.elsewhere
    import hansard.retention.files
    import hansard.retention.forget
    import hansard.retention.free
    import hansard.retention.policy
    import hansard.retention.scrub
    import hansard.secrets.counts
    import hansard.secrets.lists
    import hansard.secrets.scan
    import hansard.sync.erasing
    from hansard import model
else:
    hansard = LazyPackage("hansard")
    model = hansard.model

Progress = Callable[[int, int], None]  # done, total
_SEARCHED_AT_ONCE = 32 << 20  # bytes: so much is searched for secrets even if only some sessions are asked for


class CustodyMethods(SessionMethods):
    """Methods about what is kept and what is erased."""

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
        _ = self.record  # raises if the store has no record
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

    def unsearched_bytes(self) -> int:
        """How many bytes redaction knows by its rules alone: no scan has searched them, and they are not the newest."""
        record = self._record_or_none()
        return 0 if record is None else hansard.secrets.counts.count_unsearched(self.home, record)

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
        return self._safe(scrubbed)

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

    def other_transcripts(self, name: str) -> list[tuple[model.files.Transcript, int]]:
        """A session's transcripts besides the one that is shown, each with the number of messages only it has."""
        found = hansard.query.transcripts.other_transcripts(self.reader, self.session(name).session_id)
        return [(log, messages) for _, log, messages in found]

    def read_transcript(self, name: str, path: str) -> None:
        """Make this engine read another of a session's transcripts; use it for nothing else."""
        hansard.query.transcripts.read_transcript(self.reader, self.session(name).session_id, path)

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

    # -- restoring, erasing, moving

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

    def _location(self, rules: model.retention.Retention | None = None) -> hansard.retention.files.StoreLocation:
        return hansard.retention.files.StoreLocation(
            home=self.home,
            roots=self.roots,
            prices=self._prices(),
            rules=rules or model.retention.Retention(hold=self.hold),
        )

    def receipts(self) -> list[model.erasing.Receipt]:
        """What was erased, the oldest first: in numbers, without names or content."""
        return hansard.sync.erasing.receipts(self.home) if self._record_or_none() is not None else []

    def allow(self, session_id: str, *, client: str = CLAUDE_CODE) -> bool:
        """Let a session, or a message, that was forgotten be stored again, by its full id; False if it was not.

        A message that was forgotten by itself stays forgotten if only its session is allowed.
        """
        self.close()
        return hansard.retention.forget.allow(self._location(), client, session_id)

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
