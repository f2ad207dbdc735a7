"""One session: found, read, continued, and remarked on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from hansard.quick_imports import LazyPackage
from hansard.store import Store

if TYPE_CHECKING:
    import hansard.changes.journal
    import hansard.handoff.brief
    import hansard.handoff.sessions
    import hansard.model.files
    import hansard.model.sessions
    import hansard.model.threads
    import hansard.query.pins
    import hansard.query.restoring
    import hansard.query.sessions
    import hansard.query.transcripts
    import hansard.sync.remarking
    import hansard.sync.report
    import hansard.thread.store
    import hansard.thread.thread
    from hansard import model
else:
    hansard = LazyPackage("hansard")
    model = hansard.model

Progress = Callable[[int, int], None]  # done, total


class SessionMethods(Store):
    """Methods about one session."""

    def session(self, name: str, *, folder: str | None = None) -> model.sessions.Session:
        """The session with that id, id prefix, title, or `@last`; with `folder` only in projects at or below it."""
        return hansard.query.sessions.find_session(self.reader, name, folder)

    def _id(self, name: str | None) -> str | None:
        return None if name is None else self.session(name).session_id

    def active_time(self, session_id: str) -> timedelta:
        """How long a session was active, without pauses of more than five minutes."""
        return hansard.query.sessions.active_time(self.reader, session_id)

    # -- reading and continuing it

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
        return hansard.thread.store.list_agents(self.reader, self.session(name).session_id)

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

    # -- the user's remarks on it

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
