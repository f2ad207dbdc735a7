"""Reconstruct lost sessions from other files and the project's repository."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients import client_of
from hansard.clients.protocol import SideFacts
from hansard.errors import Ambiguous, NotFound, StoreCorrupt, UsageError
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
from hansard.model.store_requests import LostSessionsRequest
from hansard.model.time import from_milliseconds, to_milliseconds
from hansard.query.prompts import PASTED, Typed, lost_prompts, project_at
from hansard.query.transcripts import list_side_files, list_todos
from hansard.sources.names import storable
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_AFTER = 2 * 3600  # seconds after the last prompt in which a commit may still belong to the session
_SOURCES = ("history", "sessions-index", "title", "todos", "file-history", "subagents", "other")
_NUMBER = re.compile(r"#(\d{1,9})")
_COPY = re.compile(r"([0-9a-f]{16})@v(\d{1,9})")  # copy of a file: the beginning of its path's SHA-256, and a number
_LONGEST_NAME = 1000  # characters of a paste's hash that are examined


def list_lost(reader: Reader, record: Record | None, request: LostSessionsRequest) -> LostSessions:
    """Sessions without a transcript, newest first, and how much is left of each."""
    if request.limit is not None and request.limit < 1:
        raise UsageError("the limit must be at least 1; leave it out to get every session")
    found = [lost for lost in find_lost(reader, record) if _is_wanted(lost, request)]
    shown = found[: request.limit]
    commits = _count_commits(shown)
    return LostSessions(tuple(_session(lost, commits.get(lost.name, 0)) for lost in shown), len(found))


def reconstruct(reader: Reader, record: Record, name: str) -> Reconstruction:
    """Everything known about a lost session."""
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
    """The repository of a project on this machine; for a missing folder its parents are not searched."""
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
    """The time span, in seconds, in which a commit may come from a session."""
    if lost.started is None or lost.ended is None:
        return None
    return lost.started // 1000, lost.ended // 1000 + _AFTER


def _count_commits(sessions: list[Lost]) -> dict[str, int]:
    """Count the commits made during each session, querying each repository once."""
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
    """Combines prompts with what was pasted into them."""

    def __init__(self, reader: Reader, record: Record) -> None:
        self._reader = reader
        self._record = record

    def prompt(self, row: Typed) -> RecoveredPrompt:
        """A line of history.jsonl with its pastes in numerical order."""
        text = row.text or ""
        pasted = read_pasted(self._record, row)
        numbers = {int(match[1]) for place in PASTED.findall(text) if (match := _NUMBER.search(place))}
        numbers |= {int(key) for key in pasted if key.isdecimal() and len(key) < 10}
        pastes = tuple(self._paste(number, pasted.get(str(number)), text) for number in sorted(numbers))
        return RecoveredPrompt(text, from_milliseconds(row.ts), pastes, row.root, row.id & OFFSET_MASK)

    def _paste(self, number: int, pasted: Any, text: str) -> RecoveredPaste:
        pasted = pasted if isinstance(pasted, dict) else {}
        kind = pasted.get("type")
        if not isinstance(kind, str):
            kind = "image" if f"[Image #{number}" in text else "text"
        content, digest = pasted.get("content"), pasted.get("contentHash")
        if isinstance(content, str) and kind == "text":
            return RecoveredPaste(number, kind, storable(content), "history")
        found = self._cached(digest) if isinstance(digest, str) and kind == "text" else None
        return RecoveredPaste(number, storable(kind), found, "" if found is None else "paste-cache")

    def _cached(self, digest: str) -> str | None:
        """The paste that the client cached under its hash."""
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
    """A session's saved versions of files, and its other files."""
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
    """Paths by the names of their copies: files that sessions changed, and files in the repository."""
    known = [row[0] for row in reader.rows("SELECT DISTINCT path FROM tool_calls WHERE path IS NOT NULL")]
    if repository is not None:
        tracked = repository.files()
        for folder in sorted({*lost.folders, lost.project, repository.root}):
            known += [f"{folder.rstrip('/')}/{name}" for name in tracked]
    return {sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:16]: storable(path) for path in known}


_GAP = 2 * 3_600_000  # ms without a prompt after which old lines, which name no session, count as another session
_LONGEST_INDEX = 16 << 20  # bytes of a sessions-index.json that is read
_SOURCE_NAMES = {"file_history": "file-history", "title": "title"}
_KEPT = "SELECT session_id FROM sessions WHERE transcript IS NOT NULL"


@dataclass(slots=True)
class Lost:
    """What is left of one session."""

    name: str
    session_id: str | None
    project: str = ""
    folders: set[str] = field(default_factory=set)  # as they were called at the time
    prompts: list[Typed] = field(default_factory=list)
    pastes: int = 0
    times: list[int] = field(default_factory=list)  # ms
    dates: list[int] = field(default_factory=list)  # of files, ms: used only if nothing else has a time
    titles: dict[str, str] = field(default_factory=dict)  # by source
    first_prompt: str = ""
    branch: str = ""
    todos: int = 0
    file_versions: int = 0
    sources: set[str] = field(default_factory=set)

    @property
    def started(self) -> int | None:
        return min(self.times or self.dates, default=None)

    @property
    def ended(self) -> int | None:
        return max(self.times or self.dates, default=None)

    @property
    def title(self) -> str:
        """Its title, or its first prompt."""
        named = next((text for text in self.titles.values() if text.strip()), "")
        return named or next((row.text for row in self.prompts if row.text), "") or self.first_prompt


def find_lost(reader: Reader, record: Record | None) -> list[Lost]:
    """All sessions without a transcript, newest first; reads the clients' session lists from `record`."""
    found = _of_history(reader)
    _add_files(reader, found)
    if record is not None:
        _add_lists(reader, record, found)
    return sorted(found.values(), key=lambda lost: (-(lost.started or 0), lost.name))


def choose_lost(found: list[Lost], name: str) -> Lost:
    """The session that a person means: a name or id, a unique prefix of one, `@last`."""
    if name == "@last" and found:
        return found[0]
    near = [lost for lost in found if lost.name == name] or [
        lost for lost in found if name and lost.name.startswith(name)
    ]
    if not near:
        raise NotFound(f"no lost session matches {name!r}; `hansard recover` lists them")
    if len(near) > 1:
        shown = "\n".join(f"  {lost.name}" for lost in near[:8])
        raise Ambiguous(f"{len(near)} lost sessions match {name!r}:\n{shown}")
    return near[0]


def _of_history(reader: Reader) -> dict[str, Lost]:
    """The sessions that lines of history.jsonl belong to; if lines name none, a pause separates sessions."""
    found: dict[str, Lost] = {}
    open_: dict[str, Lost] = {}  # the current session of each folder
    projects: dict[str, str] = {}
    for row in lost_prompts(reader):
        if row.project not in projects:
            projects[row.project] = project_at(reader, row.project)
        if row.session_id is not None:
            lost = found.setdefault(row.session_id, Lost(row.session_id, row.session_id))
        else:
            last = open_.get(row.project)
            if last is None or (row.ts or 0) - (last.prompts[-1].ts or 0) > _GAP:
                last = open_[row.project] = Lost(_name(row), None)
                found[last.name] = last
            lost = last
        lost.project = lost.project or projects[row.project]
        lost.folders.add(row.project)
        lost.prompts.append(row)
        lost.pastes += len(PASTED.findall(row.text or ""))
        lost.sources.add("history")
        if row.ts is not None:
            lost.times.append(row.ts)
    return found


def _name(row: Typed) -> str:
    return "history-" + hashlib.sha256(f"{row.project}\0{row.ts}".encode("utf-8", "replace")).hexdigest()[:8]


def _add_files(reader: Reader, found: dict[str, Lost]) -> None:
    """Count todos and small files, and subagents whose main transcript is gone."""
    for session_id, count in reader.rows(
        f"SELECT session_id, count(*) FROM todos WHERE session_id <> '' AND session_id NOT IN ({_KEPT}) GROUP BY session_id"
    ):
        lost = found.setdefault(session_id, Lost(session_id, session_id))
        lost.todos = count
        lost.sources.add("todos")
    for session_id, kind, facts, mtime in reader.rows(
        "SELECT session_id, kind, facts, mtime FROM side_files WHERE current = 1 AND session_id <> ''"
        f" AND session_id NOT IN ({_KEPT}) ORDER BY path, root"
    ):
        if kind in ("todo", "task"):  # an empty list is not evidence of a session
            if session_id in found and mtime is not None:
                found[session_id].dates.append(mtime)
            continue
        lost = found.setdefault(session_id, Lost(session_id, session_id))
        lost.sources.add(_SOURCE_NAMES.get(kind, "other"))
        lost.file_versions += kind == "file_history"
        if mtime is not None:
            lost.dates.append(mtime)
        if kind == "title" and (title := _title(facts)):
            lost.titles.setdefault("title", title)
    for session_id, project, cwd, started, ended in reader.rows(
        "SELECT session_id, project, cwd, started_at, ended_at FROM sessions WHERE transcript IS NULL"
    ):
        lost = found.setdefault(session_id, Lost(session_id, session_id))
        lost.sources.add("subagents")
        lost.project = lost.project or project
        lost.folders |= {cwd} - {""}
        lost.times += [ts for ts in (started, ended) if ts is not None]


def _title(facts: bytes | None) -> str:
    return msgspec.json.decode(facts, type=SideFacts).title if facts else ""


def _add_lists(reader: Reader, record: Record, found: dict[str, Lost]) -> None:
    """Add what each sessions-index.json, including its former versions, said about sessions; the latest wins."""
    kept = {row[0] for row in reader.rows(_KEPT)}
    clients = {root.path: root.client for root in record.roots()}
    for id_, root in reader.rows(
        "SELECT id, root FROM side_files WHERE kind = 'sessions_index' AND size <= ? ORDER BY current DESC, id DESC",
        (_LONGEST_INDEX,),
    ):
        try:
            listed = client_of(clients[root]).session_list(record.read_snapshot(id_))
        except StoreCorrupt:
            continue
        for entry in listed:
            if entry.session_id in kept:
                continue
            lost = found.setdefault(entry.session_id, Lost(entry.session_id, entry.session_id))
            if "sessions-index" in lost.sources:
                continue
            lost.sources.add("sessions-index")
            if entry.folder:
                lost.folders.add(entry.folder)
                lost.project = lost.project or project_at(reader, entry.folder)
            lost.branch = lost.branch or entry.branch
            lost.first_prompt = entry.first_prompt
            if entry.title:
                lost.titles.setdefault("sessions-index", entry.title)
            lost.times += entry.times


def read_pasted(record: Record, row: Typed) -> dict[str, Any]:
    """The pastes in a prompt's line of history.jsonl, by number."""
    generation = record.generation(row.id >> OFFSET_BITS)
    (client,) = (root.client for root in record.roots() if root.id == generation.root_id)
    lines = client_of(client).lines(record.read(generation.id, row.id & OFFSET_MASK), row.id & OFFSET_MASK)
    try:
        line = next((line for _, line in lines), b"") or lines.rest
    except StoreCorrupt:
        return {}
    return client_of(client).pasted(line)
