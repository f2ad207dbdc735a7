"""Lost sessions put together again from what other files and the project's repository still say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hansard.errors import StoreCorrupt, UsageError
from hansard.git.repository import CommitInfo, GitFailed, Repository
from hansard.model.recovery import (
    FileVersion,
    KeptFile,
    LostSession,
    LostSessions,
    NearbyCommit,
    Reconstruction,
    RecoveredPaste,
    RecoveredPrompt,
    RecoveredTitle,
    RecoveredTodo,
)
from hansard.model.requests import LostSessionsRequest
from hansard.model.time import from_milliseconds, to_milliseconds
from hansard.query.lost import Lost, choose_lost, find_lost, read_pasted
from hansard.query.prompts import PASTED, Typed
from hansard.query.transcripts import list_side_files, list_todos
from hansard.sources.names import storable
from hansard.storage import OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_AFTER = 2 * 3600  # seconds after the last prompt in which a commit may still belong to it
_SOURCES = ("history", "sessions-index", "title", "todos", "file-history", "subagents", "other")
_NUMBER = re.compile(r"#(\d{1,9})")
_COPY = re.compile(r"([0-9a-f]{16})@v(\d{1,9})")  # of a file: the beginning of its path's SHA-256, and a number
_LONGEST_NAME = 1000  # characters of a paste's hash that are looked at


def list_lost(reader: Reader, record: Record | None, request: LostSessionsRequest) -> LostSessions:
    """The sessions without a transcript, the newest first, with how much is left of each."""
    if request.limit is not None and request.limit < 1:
        raise UsageError("a list has at least one session; no limit gives all of them")
    found = [lost for lost in find_lost(reader, record) if _is_wanted(lost, request)]
    shown = found[: request.limit]
    commits = _count_commits(shown)
    return LostSessions(tuple(_session(lost, commits.get(lost.name, 0)) for lost in shown), len(found))


def reconstruct(reader: Reader, record: Record, name: str) -> Reconstruction:
    """Everything that is known of a lost session."""
    lost = choose_lost(find_lost(reader, record), name)
    repository = _repository(lost.project)
    infos = _commits(repository, [lost]) if repository is not None else []
    commits = tuple(_commit(repository, info, lost.session_id) for info in reversed(infos)) if repository else ()
    pastes = _Pastes(reader, record)
    versions, files = _files(reader, lost, repository)
    return Reconstruction(
        _session(lost, len(commits)),
        lost.branch,
        tuple(RecoveredTitle(source, text) for source, text in lost.titles.items()),
        tuple(pastes.prompt(row) for row in lost.prompts),
        tuple(RecoveredTodo(todo.status, todo.content) for todo in list_todos(reader, lost.session_id or "")),
        versions,
        files,
        commits,
    )


def _is_wanted(lost: Lost, request: LostSessionsRequest) -> bool:
    project, since, until = request.project, request.since, request.until
    if project is not None and project.casefold() not in lost.project.casefold():
        return False
    if since is not None and (lost.ended is None or lost.ended < to_milliseconds(since)):
        return False
    return until is None or (lost.started is not None and lost.started < to_milliseconds(until))


def _session(lost: Lost, commits: int) -> LostSession:
    return LostSession(
        lost.name,
        lost.session_id,
        lost.project,
        lost.title,
        from_milliseconds(lost.started),
        from_milliseconds(lost.ended),
        len(lost.prompts),
        lost.pastes,
        lost.file_versions,
        lost.todos,
        commits,
        tuple(name for name in _SOURCES if name in lost.sources) + (("git",) if commits else ()),
    )


# -- the repository


def _repository(project: str) -> Repository | None:
    """The repository of a project that is on this machine; a folder that is gone is not looked for in those above it."""
    if not os.path.isabs(project) or "\0" in project or not os.path.isdir(project):
        return None
    try:
        return Repository.around(project)
    except GitFailed:
        return None


def _commits(repository: Repository, sessions: Iterable[Lost]) -> list[CommitInfo]:
    """The commits from the first of these sessions to the last."""
    spans = [span for lost in sessions if (span := _span(lost)) is not None]
    if not spans:
        return []
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    try:
        infos = repository.log(since=first - 1, until=last)
    except GitFailed:
        return []
    return [info for info in infos if first <= info.committed <= last]


def _span(lost: Lost) -> tuple[int, int] | None:
    """The seconds in which a commit may come from a session."""
    if lost.started is None or lost.ended is None:
        return None
    return lost.started // 1000, lost.ended // 1000 + _AFTER


def _count_commits(sessions: list[Lost]) -> dict[str, int]:
    """How many commits were made at the time of each session, asking each repository once."""
    by_project: dict[str, list[Lost]] = {}
    for lost in sessions:
        by_project.setdefault(lost.project, []).append(lost)
    counts: dict[str, int] = {}
    for project, some in by_project.items():
        repository = _repository(project)
        infos = _commits(repository, some) if repository is not None else []
        for lost in some:
            span = _span(lost)
            counts[lost.name] = sum(span[0] <= info.committed <= span[1] for info in infos) if span is not None else 0
    return counts


def _commit(repository: Repository, info: CommitInfo, session_id: str | None) -> NearbyCommit:
    return NearbyCommit(
        storable(os.fsencode(repository.root).decode("utf-8", "replace")),
        info.commit,
        info.author,
        from_milliseconds(info.committed * 1000),
        info.subject,
        session_id is not None and session_id in info.body,
    )


# -- pastes


class _Pastes:
    """Puts prompts and what was pasted into them together."""

    def __init__(self, reader: Reader, record: Record) -> None:
        self._reader = reader
        self._record = record

    def prompt(self, row: Typed) -> RecoveredPrompt:
        """A line of history.jsonl with its pastes in the order of their numbers."""
        text = row.text or ""
        told = read_pasted(self._record, row)
        numbers = {int(match[1]) for place in PASTED.findall(text) if (match := _NUMBER.search(place))}
        numbers |= {int(key) for key in told if key.isdecimal() and len(key) < 10}
        pastes = tuple(self._paste(number, told.get(str(number)), text) for number in sorted(numbers))
        return RecoveredPrompt(text, from_milliseconds(row.ts), pastes, row.root, row.id & OFFSET_MASK)

    def _paste(self, number: int, told: Any, text: str) -> RecoveredPaste:
        told = told if isinstance(told, dict) else {}
        kind = told.get("type")
        if not isinstance(kind, str):
            kind = "image" if f"[Image #{number}" in text else "text"
        content, digest = told.get("content"), told.get("contentHash")
        if isinstance(content, str) and kind == "text":
            return RecoveredPaste(number, kind, storable(content), "history")
        found = self._cached(digest) if isinstance(digest, str) and kind == "text" else None
        return RecoveredPaste(number, storable(kind), found, "" if found is None else "paste-cache")

    def _cached(self, digest: str) -> str | None:
        """The paste that the client kept under its hash."""
        if len(digest) > _LONGEST_NAME:
            return None
        row = self._reader.one(
            "SELECT id FROM side_files WHERE kind = 'paste' AND path IN (?, ?) ORDER BY current DESC, id DESC LIMIT 1",
            (f"paste-cache/{storable(digest)}.txt", f"paste-cache/{storable(digest)}"),
        )
        try:
            return None if row is None else self._record.read_snapshot(row[0]).decode("utf-8", "replace")
        except StoreCorrupt:
            return None


# -- files


def _files(
    reader: Reader, lost: Lost, repository: Repository | None
) -> tuple[tuple[FileVersion, ...], tuple[KeptFile, ...]]:
    """The former contents of files that are kept for a session, and its other files."""
    if lost.session_id is None:
        return (), ()
    versions: list[FileVersion] = []
    others: list[KeptFile] = []
    sides = list_side_files(reader, None, lost.session_id)
    names = _paths(reader, lost, repository) if any(side.kind == "file_history" for side in sides) else {}
    for side in sides:
        if side.kind == "file_history":
            copy = _COPY.fullmatch(side.path.rpartition("/")[2])
            file, version = (names.get(copy[1]), int(copy[2])) if copy else (None, None)
            versions.append(FileVersion(file, version, side.size, side.modified_at, side.root, side.path))
        elif side.kind not in ("todo", "task", "title"):
            others.append(KeptFile(side.kind, side.root, side.path, side.size))
    others += [
        KeptFile(*row)
        for row in reader.rows(
            "SELECT kind, root, path, size FROM transcripts WHERE session_id = ? AND current = 1 AND kind <> 'history'"
            " ORDER BY path, root",
            (lost.session_id,),
        )
    ]
    versions.sort(key=lambda one: (one.file or "", one.path.partition("@")[0], one.version or 0, one.root))
    return tuple(versions), tuple(others)


def _paths(reader: Reader, lost: Lost, repository: Repository | None) -> dict[str, str]:
    """Paths by the names that their copies have: of files that sessions changed, and of those in the repository."""
    known = [row[0] for row in reader.rows("SELECT DISTINCT path FROM tool_calls WHERE path IS NOT NULL")]
    if repository is not None:
        tracked = repository.files()
        for folder in sorted({*lost.folders, lost.project, repository.root}):
            known += [f"{folder.rstrip('/')}/{name}" for name in tracked]
    return {sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:16]: storable(path) for path in known}
