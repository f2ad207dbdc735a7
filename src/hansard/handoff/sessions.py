"""New sessions in a client's folder: planned, shown, journalled, and removed again on request."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hansard.changes.journal import journals
from hansard.changes.plan import ChangeSet, Write
from hansard.clients import WRITABLE, writer_of
from hansard.clients.protocol import SessionCopier
from hansard.errors import NotFound, UsageError
from hansard.handoff.conversation import compose_messages, read_steps, title_of
from hansard.model.sessions import SessionCopy

if TYPE_CHECKING:
    from hansard.clients.protocol import SessionWriter
    from hansard.model.sessions import Resumption
    from hansard.query.reader import Reader
    from hansard.record.store import Record
    from hansard.thread.thread import Thread

PURPOSE = "session"


class NewSession(Struct, frozen=True):
    """A planned session."""

    client: str
    session_id: str
    config: str  # the client's config directory
    cwd: str
    path: str
    command: tuple[str, ...]  # that resumes it
    changes: ChangeSet
    copy: SessionCopy | None = None  # how it differs from the session that it is a copy of
    messages: int = 0  # of another client's conversation
    left_out: int = 0  # messages that were over the budget


Progress = Callable[[int, int], None]
"""Told the bytes that were read so far and those of the whole file, each time that it is read."""


def plan_copy(
    reader: Reader, record: Record, resumed: Resumption, *, slim: bool, repair: bool, progress: Progress | None
) -> NewSession:
    """A copy of a session that its client can resume; with `repair` of the generation that has the most of it."""
    session = resumed.session
    writer = writer_of(session.client)
    if not isinstance(writer, SessionCopier):
        raise UsageError(f"sessions of {session.client} cannot be copied: this is for Claude Code")
    order = "current DESC, state <> 'gone' DESC, size DESC, generation DESC"
    order = f"unique_records DESC, {order}" if repair else order
    row = reader.one(
        f"SELECT id, path FROM transcripts WHERE session_id = ? AND kind = 'main' ORDER BY {order} LIMIT 1",
        (session.session_id,),
    )
    if row is None:
        raise NotFound(f"session {session.session_id} has no transcript of its own")
    transcript, former = row
    new_id = writer.new_id()

    def read() -> Iterator[bytes]:
        done, size = 0, record.size(transcript)
        for piece in record.read(transcript):
            yield piece
            done += len(piece)
            if progress is not None:
                progress(done, size)

    copy, pieces = writer.copy(read, session.session_id, new_id, slim=slim, join=repair)
    # The client looks in the folder of the working directory in which the session was started.
    path = f"{former.rpartition('/')[0]}/{new_id}.jsonl"
    source, kind = session.session_id, "slim" if slim else "repaired"
    title = f"{kind} copy of {source}"
    return _planned(writer, session.client, new_id, resumed.config, session.cwd, path, source, title, pieces, copy)


def plan_session(thread: Thread, to: str, config: str, cwd: str, tokens: int) -> NewSession:
    """A new session of a client with the newest messages of another's conversation, up to `tokens`."""
    writer = _writer(to)
    source, new_id = thread.session.session_id, writer.new_id()
    said, left_out = compose_messages(thread.session, read_steps(thread), tokens)
    pieces = list(writer.compose(new_id, cwd, title_of(thread.session), said))
    path, about = writer.path(new_id, cwd), f"hand-off of {source} to {to}"
    plan = _planned(writer, to, new_id, config, cwd, path, source, about, lambda: pieces)
    return replace(plan, messages=len(said), left_out=left_out)


def config_directory(to: str, variables: Mapping[str, str], home: str) -> str:
    """The config directory of a client that can be written to."""
    writer = _writer(to)
    return variables.get(writer.variable) or os.path.join(home, writer.usual)


def _writer(client: str) -> SessionWriter:
    writer = writer_of(client)
    if writer is None:
        raise UsageError(f"sessions of {client} cannot be written, only of {', '.join(WRITABLE)}")
    return writer


def _planned(
    writer: SessionWriter,
    client: str,
    new_id: str,
    config: str,
    cwd: str,
    relative: str,
    source: str,
    title: str,
    pieces: Callable[[], Iterable[bytes]],
    copy: SessionCopy | None = None,
) -> NewSession:
    """A plan to write one file that does not exist."""
    top, _, rest = relative.partition("/")
    # The folder of all sessions may be a link, as it often is to another disk; no other link is followed.
    base = os.path.realpath(os.path.join(config, top))
    path = os.path.join(base, *rest.split("/"))
    if os.path.lexists(path):
        raise UsageError(f"{path}: exists already")
    step = Write(path, pieces, summary=f"create {path}")
    facts = {"session_id": new_id, "source": source, "is_copy": "yes" if copy is not None else ""}
    bases = (base,) if os.path.isdir(base) else (os.path.realpath(config),)
    changes = ChangeSet(PURPOSE, title, bases, (step,), facts)
    return NewSession(client, new_id, config, cwd, path, (*writer.resume, new_id), changes, copy=copy)


def write_session(home: str, plan: NewSession) -> None:
    with journals(home) as found:
        found.apply(plan.changes)
