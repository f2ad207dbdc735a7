"""Restore sessions for the client: which files make a session complete, and what a resume needs.

The client looks for `projects/*/ID.jsonl` in its config directory, where ID is a UUID. It resumes neither subagents nor
runs saved elsewhere (`--output-format stream-json > run.jsonl`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import eq
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.clients import client_of
from hansard.errors import NotFound, StoreCorrupt, UsageError
from hansard.model.files import RestoreAction, RestoreItem
from hansard.model.names import follow_moves
from hansard.model.sessions import Resumption, Session
from hansard.query.sessions import find_session
from hansard.query.transcripts import find_transcript, fuller_generations, list_transcripts
from hansard.record.restore import Layout, plan
from hansard.record.store import FREED, GONE, Known, Record, RootRow
from hansard.sources.roots import FileKind, Root
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.store_requests import RestoreRequest
    from hansard.query.reader import Reader

_LONGEST = 1024  # bytes of a file name
_ROWS = "rows of a database, which are not written back; restore them into another directory"

Place = tuple[int, str]  # a file's root and path


def plan_restore(reader: Reader, record: Record, request: RestoreRequest) -> list[RestoreItem]:
    """What a restore of these sessions (None: everything) would write.

    A target that is a source root gets files where the client looks for them; of everything, it gets only its own.
    """
    names, to = request.names, os.path.expanduser(request.to)
    wanted = None if names is None else {find_session(reader, name).session_id for name in names}
    selection = restored_files(reader, record, wanted, moved=request.all_generations)
    target = os.path.normcase(os.path.realpath(to))
    layout = Layout.AUTO
    for root in record.roots():
        if os.path.normcase(root.path) == target:
            layout = Layout.FLAT
            if names is None:
                inside = {known.file_id for known in record.known(root.id).values()}
                selection = [file_id for file_id in selection if file_id in inside]
    fuller = fuller_generations(reader, record)
    items = plan(record, selection, to, layout, all_generations=request.all_generations, fuller=fuller)
    if layout is not Layout.FLAT:
        return items
    rows = {client_of(root.client).layout.rows for root in record.roots()} - {""}
    return [
        replace(item, action=RestoreAction.IMPOSSIBLE, reason=f"{item.path}: {_ROWS}")
        if item.path.split("/")[0] in rows
        else item
        for item in items
    ]


def cleanup_days(roots: Iterable[Root], items: Iterable[RestoreItem], to: str) -> int | None:
    """The cleanup period of the client that uses `to`, if restored transcripts are older than that."""
    target = os.path.normcase(os.path.realpath(os.path.expanduser(to)))
    dates = [item.mtime_ns for item in items if item.generation is not None]
    for root in roots:
        days = client_of(root.client).cleanup_days(root)
        limit = time.time_ns() - days * 86_400 * 1_000_000_000
        if os.path.normcase(root.path) == target and any(date < limit for date in dates):
            return days
    return None


def restored_files(
    reader: Reader, record: Record, sessions: Collection[str] | None, *, moved: bool = False
) -> list[int]:
    """The record's files that a restore of sessions (None: everything) writes; with `moved`, also at their former paths.

    A session comprises its transcripts, subagents, tool results, todos, tasks, file history, and what its text points
    to: a fork keeps referring to its parent's tool results.
    """
    roots = {root.id: root for root in record.roots()}
    known = {(root.id, path): file for root in roots.values() for path, file in record.known(root.id).items()}
    chosen = set(known)
    if sessions is not None:
        paths = {
            row
            for session_id in sessions
            for row in reader.rows("SELECT root, path FROM transcripts WHERE session_id = ?", (session_id,))
        }
        chosen = {
            (root, path)
            for root, path in known
            if (roots[root].path, path) in paths or _session(roots[root], path) in sessions
        }
        pointed = _pointed(record, roots, {place: known[place] for place in chosen})
        chosen |= {
            place for place in known if tuple(place[1].split("/")[-3::2]) in pointed and _is_result(known[place])
        }
    if not moved:
        chosen -= _left_behind(reader, record, roots, known, chosen)
    return [known[place].file_id for place in sorted(chosen)]


def _session(root: RootRow, path: str) -> str:
    info = client_of(root.client).path_info(path)
    return info.session_id or info.stem


def _is_result(file: Known) -> bool:
    return file.kind == FileKind.TOOL_RESULT


def _pointed(record: Record, roots: Mapping[int, RootRow], files: Mapping[Place, Known]) -> set[tuple[str, ...]]:
    """Session folders and names of all tool results that transcripts mention."""
    found: set[tuple[str, ...]] = set()
    for (root, _), file in files.items():
        mentioned = client_of(roots[root].client).mentioned_results
        rest = b""
        for piece in record.read(file.generation, mend=True) if FileKind(file.kind).is_log else ():
            text = rest + piece
            found.update(
                (folder.decode("utf-8", "replace"), name.decode("utf-8", "replace")) for folder, name in mentioned(text)
            )
            rest = text[-_LONGEST:]
    return found


def _left_behind(
    reader: Reader, record: Record, roots: Mapping[int, RootRow], known: dict[Place, Known], chosen: Collection[Place]
) -> set[Place]:
    """Files that are missing because their project's folder was renamed, and are complete in the new one."""
    copies: dict[Place, list[Place]] = {}
    for root, path in chosen:
        info = client_of(roots[root].client).path_info(path)
        if info.project_dir and (info.session_id or info.stem):
            copies.setdefault((root, path.partition(f"/{info.project_dir}/")[2]), []).append((root, path))
    left: set[Place] = set()
    for places in copies.values():
        if len(places) > 1:
            new = max(places, key=lambda place: (known[place].state != GONE, known[place].mtime_ns or 0, place))
            left.update(
                place
                for place in places
                if place != new and known[place].state == GONE and _has_all(reader, record, known[new], known[place])
            )
    return left


def _has_all(reader: Reader, record: Record, new: Known, old: Known) -> bool:
    """Whether a file has everything another one had: its bytes, or each of its records by uuid."""
    try:
        if not FileKind(old.kind).is_log:
            return old.kind == new.kind and record.read_snapshot(old.generation) == record.read_snapshot(new.generation)
        if new.size >= old.size and all(
            map(eq, record.read(old.generation), record.read(new.generation, end=old.size))
        ):
            return True
    except StoreCorrupt:
        return False
    records, lacking = reader.one(
        "SELECT count(*), coalesce(sum(NOT EXISTS (SELECT 1 FROM records n WHERE n.uuid = o.uuid AND n.id BETWEEN ?2"
        " AND ?2 + ?3)), 0) FROM records o WHERE o.id BETWEEN ?1 AND ?1 + ?3 AND o.uuid IS NOT NULL",
        (old.generation << OFFSET_BITS, new.generation << OFFSET_BITS, OFFSET_MASK),
    )
    return bool(records) and not lacking


_IS_UUID = re.compile("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch


def plan_resume(reader: Reader, name: str, roots: Sequence[Root]) -> Resumption:
    """What the client needs to resume the named session; raises if it cannot."""
    session = _resumed_session(reader, name)
    if session.other_client:
        raise UsageError(
            f"session {session.session_id} cannot be resumed: it is of {session.client}, and only Claude Code's can be."
            f" To continue it in Claude Code: hansard handoff {session.session_id} --to claude-code"
        )
    files = list_transcripts(reader, session.session_id)
    if files and all(item.kind == "agent" for item in files):
        raise UsageError(
            f"session {session.session_id} cannot be resumed: only its subagents remain; its own transcript was deleted before"
            f" it was stored here. To read one: hansard show {session.session_id} --agent 1"
        )
    mains = [
        item for item in files if item.kind == "main" and item.path.rpartition("/")[2] == f"{session.session_id}.jsonl"
    ]
    if not mains or not _IS_UUID(session.session_id):
        raise UsageError(
            f"session {session.session_id} cannot be resumed: it is not one of the client's own transcripts"
            f" ({_where(reader, session)}). To read it: hansard show {session.session_id}"
        )
    live = next((item for item in mains if item.current and item.state not in (GONE, FREED)), None)
    moves = dict(reader.rows("SELECT path, target FROM moves"))
    session = replace(session, cwd=follow_moves(session.cwd, moves))
    return Resumption(session, _config(session, (live or mains[-1]).root, roots), is_gone=live is None)


def _resumed_session(reader: Reader, name: str) -> Session:
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
    """The config directory that holds or held a session."""
    known = {root.path: root.config for root in roots}
    config = known[path] if path in known else path if os.path.isdir(os.path.join(path, "projects")) else None
    if config is None:
        raise UsageError(
            f"session {session.session_id} is kept from {path}, where the client does not look."
            f" Put it into a config directory first: hansard restore {session.session_id} --to ~/.claude --touch"
        )
    return config
