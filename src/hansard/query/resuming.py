"""Whether the client can go on with a session, and what it needs for that.

The client looks for `projects/*/ID.jsonl` in its config directory, ID being a UUID. It resumes neither subagents nor what was
saved of a run elsewhere (`--output-format stream-json > run.jsonl`).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.errors import NotFound, UsageError
from hansard.model.moves import follow_moves
from hansard.model.sessions import Resumption
from hansard.query.sessions import find_session
from hansard.query.transcripts import find_transcript, list_transcripts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.model.sessions import Session
    from hansard.query.reader import Reader
    from hansard.sources.roots import Root

_IS_UUID = re.compile("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch


def plan_resume(reader: Reader, name: str, roots: Sequence[Root]) -> Resumption:
    """What the client needs to go on with the session that a person means; raises where it cannot."""
    session = _session(reader, name)
    mains = [
        item
        for item in list_transcripts(reader, session.session_id)
        if item.kind == "main" and item.path.rpartition("/")[2] == f"{session.session_id}.jsonl"
    ]
    if not mains or not _IS_UUID(session.session_id):
        raise UsageError(
            f"session {session.session_id} cannot be resumed: it is not one of the client's own transcripts"
            f" ({_where(reader, session)}). To read it: hansard show {session.session_id}"
        )
    live = next((item for item in mains if item.current and item.state != "gone"), None)
    moves = dict(reader.rows("SELECT path, target FROM moves"))
    session = replace(session, cwd=follow_moves(session.cwd, moves))
    return Resumption(session, _config(session, (live or mains[-1]).root, roots), is_gone=live is None)


def _session(reader: Reader, name: str) -> Session:
    try:
        return find_session(reader, name)
    except NotFound:
        try:
            _, transcript = find_transcript(reader, name)
        except NotFound:
            transcript = None
        if transcript is None or not transcript.agent_id:
            raise
        raise UsageError(
            f"{name} is a subagent, which cannot be resumed by itself. Resume its session: {transcript.session_id}"
        ) from None


def _where(reader: Reader, session: Session) -> str:
    paths = [item.path for item in list_transcripts(reader, session.session_id) if not item.agent_id]
    return f"it was read from {paths[0]}" if paths else "only its subagents are kept"


def _config(session: Session, path: str, roots: Sequence[Root]) -> str:
    """The config directory that holds a session, or held it."""
    known = {root.path: root.config for root in roots}
    config = known[path] if path in known else path if os.path.isdir(os.path.join(path, "projects")) else None
    if config is None:
        raise UsageError(
            f"session {session.session_id} is kept from {path}, where the client does not look."
            f" Put it into a config directory first: hansard restore {session.session_id} --to ~/.claude --touch"
        )
    return config
