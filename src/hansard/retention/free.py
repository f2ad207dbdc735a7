"""Freeing the clients' folders: what of them is in the record byte for byte, and removing it there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hansard.clients import client_of
from hansard.errors import NotFound
from hansard.model.freeing import FILE, Freed, FreeItem, FreePlan, NotStored
from hansard.query.forgetting import find_project
from hansard.query.sessions import find_session
from hansard.record.restore import Layout
from hansard.record.restore import plan as plan_files
from hansard.record.store import GONE, LIVE
from hansard.retention.files import HELD, LINKED, RUNNING, RunningClients, is_behind_link
from hansard.sources.roots import FileKind, path_inside
from hansard.sync.freeing import Candidate, compare, free

if TYPE_CHECKING:
    from hansard.model.files import RestoreItem
    from hansard.model.retention import Retention
    from hansard.model.store_requests import FreeRequest, Progress
    from hansard.query.reader import Reader
    from hansard.record.store import Known, Record
    from hansard.retention.files import StoreLocation
    from hansard.sources.roots import Root

DAY = 86_400
_KINDS = {
    FileKind.MAIN: "transcript",
    FileKind.LOG: "transcript",
    FileKind.CAST: "transcript",
    FileKind.AGENT: "subagent",
    FileKind.AGENT_META: "subagent",
    FileKind.JOURNAL: "subagent",
    FileKind.WORKFLOW: "subagent",
    FileKind.TOOL_RESULT: "tool_result",
    FileKind.FILE_HISTORY: "file_history",
    FileKind.PASTE: "paste",
    FileKind.SHELL: "shell",
    FileKind.TODO: "todo",
    FileKind.TASK: "todo",
}
_OF_NO_SESSION = frozenset({"paste", "shell"})
RECENT = "its session changed within a day"
IN_USE = "the client keeps using it"

Chosen = Callable[["ClientFile"], bool]


class ClientFile(NamedTuple):
    """A file of a client's folder that the record knows, and whose it is."""

    root: Root
    known: Known
    kind: str
    session_id: str
    project: str

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.root, self.known)

    def item(self, reason: str = "") -> FreeItem:
        """The file as answers have it."""
        return FreeItem(
            root=self.root.path,
            path=self.known.path,
            kind=self.kind,
            session_id=self.session_id,
            project=self.project,
            bytes=self.known.size,
            changed_at=datetime.fromtimestamp(self.known.mtime_ns / 1e9, UTC),
            reason=reason,
        )


def list_files(reader: Reader, record: Record, roots: Iterable[Root], home: str, state: str = LIVE) -> list[ClientFile]:
    """The files of the clients' folders that are in a state."""
    ids = {row.path: row.id for row in record.roots()}
    sessions = {
        (root, path): (session_id, project or "")
        for root, path, session_id, project in reader.rows(
            "SELECT t.root, t.path, t.session_id, s.project FROM transcripts t LEFT JOIN sessions s USING (session_id)"
        )
    }
    projects: dict[str, str] = dict(reader.rows("SELECT session_id, project FROM sessions"))
    found = []
    for root in _freeable(roots, home):
        info_of = client_of(root.client).path_info
        for known in record.known(ids[root.path]).values() if root.path in ids else ():
            if known.state != state or known.offset is None:
                continue
            info = info_of(known.path)
            session_id, project = sessions.get((root.path, known.path), (info.session_id or info.stem, ""))
            kind = _KINDS.get(FileKind(known.kind), FILE)
            if not session_id and kind not in _OF_NO_SESSION:
                kind = FILE  # of a folder that the client reserves
            found.append(ClientFile(root, known, kind, session_id, project or projects.get(session_id, "")))
    return found


def _freeable(roots: Iterable[Root], home: str) -> Iterator[Root]:
    """The clients' own folders, as far as their files belong to sessions; databases and imports are never freed."""
    for root in roots:
        if (
            root.config is not None
            and path_inside(home, root.path) is None
            and client_of(root.client).sessions_own_files
        ):
            yield root


class Selection(NamedTuple):
    """The sessions, project, time and kinds that a request names."""

    sessions: frozenset[str] | None
    project: str | None
    before_ns: int | None
    kinds: frozenset[str]

    def has(self, file: ClientFile) -> bool:
        return (
            (self.sessions is None or file.session_id in self.sessions)
            and (self.project is None or file.project == self.project)
            and (self.before_ns is None or file.known.mtime_ns < self.before_ns)
            and (not self.kinds or file.kind in self.kinds)
        )


def _selected(reader: Reader, request: FreeRequest) -> Selection:
    return Selection(
        frozenset(find_session(reader, name).session_id for name in request.names) if request.names else None,
        find_project(reader, request.project) if request.project else None,
        None if request.until is None else int(request.until.timestamp() * 1e9),
        frozenset(request.kinds),
    )


class InUse:
    """The sessions in use: a client works in them, or did within a day."""

    def __init__(self, files: Iterable[ClientFile], roots: Collection[Root]) -> None:
        limit = time.time_ns() - DAY * 1_000_000_000
        self._recent = {file.session_id for file in files if file.session_id and file.known.mtime_ns > limit}
        self._limit = limit
        self._running = RunningClients(roots)

    def reason(self, file: ClientFile) -> str:
        """Why a file stays because of it; empty if it need not."""
        if self._running.has(file.session_id):
            return RUNNING
        return RECENT if file.session_id in self._recent or file.known.mtime_ns > self._limit else ""


def _rule(file: ClientFile, in_use: InUse, rules: Retention) -> str:
    """Why a file stays before anything is compared; empty if it may go."""
    if file.kind == FILE:
        return IN_USE
    if rules.holds(file.session_id, file.project):
        return HELD
    if reason := in_use.reason(file):
        return reason
    return LINKED if is_behind_link(file.root, file.known.path) else ""


def plan_free(
    reader: Reader,
    record: Record,
    request: FreeRequest,
    location: StoreLocation,
) -> FreePlan:
    """Plan what can be removed from the clients' folders, compared with the record byte for byte; nothing is changed."""
    selection = _selected(reader, request)
    plan = plan_chosen(reader, record, selection.has, location, request.progress)
    if selection != Selection(None, None, None, frozenset()):
        return plan
    return msgspec.structs.replace(plan, not_stored=tuple(_not_stored(location.roots, location.home)))


def plan_chosen(
    reader: Reader,
    record: Record,
    is_chosen: Chosen,
    location: StoreLocation,
    progress: Progress | None = None,
) -> FreePlan:
    """Plan the removal of the files that `is_chosen` selects."""
    files = list_files(reader, record, location.roots, location.home)
    in_use = InUse(files, location.roots)
    chosen = [file for file in files if is_chosen(file)]
    total = sum(file.known.size for file in chosen)
    done = 0
    items = []
    for file in chosen:
        items.append(file.item(_rule(file, in_use, location.rules) or compare(record, file.candidate)))
        done += file.known.size
        if progress is not None:
            progress(done, total)
    return FreePlan(items=tuple(items), at=datetime.now(UTC))


def free_files(location: StoreLocation, request: FreeRequest) -> Freed:
    """Remove what `plan_free` would name now; each file is compared once more right before it goes."""

    def choice(opened: Reader) -> Chosen:
        return _selected(opened, request).has

    return free_chosen(location, choice, request.progress)


def free_chosen(
    location: StoreLocation,
    choice: Callable[[Reader], Chosen],
    progress: Progress | None = None,
) -> Freed:
    """Remove the files that `choice` selects while no other process can write."""
    files: dict[int, ClientFile] = {}
    left: list[FreeItem] = []
    removed: list[int] = []
    done = total = 0

    def choose(record: Record) -> list[Candidate]:
        nonlocal total
        with closing(location.open_index()) as opened:
            every = list_files(opened, record, location.roots, location.home)
            is_chosen = choice(opened)
        in_use = InUse(every, location.roots)
        chosen = [file for file in every if is_chosen(file) and not _rule(file, in_use, location.rules)]
        files.update((file.known.file_id, file) for file in chosen)
        total = sum(file.known.size for file in chosen)
        return [file.candidate for file in chosen]

    def told(item: Candidate, reason: str) -> None:
        nonlocal done
        if reason:
            left.append(files[item.known.file_id].item(reason))
        else:
            removed.append(item.known.size)
        done += item.known.size
        if progress is not None:
            progress(done, total)

    free(location.home, choose, told, prices=location.prices)
    return Freed(files=len(removed), bytes=sum(removed), left=tuple(left))


def plan_undo_free(reader: Reader, record: Record, request: FreeRequest, location: StoreLocation) -> list[RestoreItem]:
    """The files that were freed, to be written back to their places."""
    freed = record.freed()
    selection = _selected(reader, request)
    files = [
        file for file in list_files(reader, record, location.roots, location.home, GONE) if file.known.file_id in freed
    ]
    items: list[RestoreItem] = []
    for root in location.roots:
        ids = [file.known.file_id for file in files if file.root == root and selection.has(file)]
        if ids and root.config is not None:
            items += plan_files(record, ids, root.config, Layout.FLAT)
    if not items:
        raise NotFound("nothing to bring back: none of it was freed")
    return items


def _not_stored(roots: Iterable[Root], home: str) -> Iterator[NotStored]:
    """Entries of the clients' folders that no sync reads, the largest first."""
    found: list[NotStored] = []
    for root in _freeable(roots, home):
        read = {name for name, folder in root.layout.folders.items() if folder.kinds - root.skipped or folder.folders}
        read |= {name for name, kind in root.layout.files.items() if kind not in root.skipped}
        with os.scandir(root.config or root.path) as entries:
            found += [NotStored(entry.path, _size(entry)) for entry in entries if entry.name not in read]
    yield from sorted((item for item in found if item.bytes), key=lambda item: (-item.bytes, item.path))


def _size(entry: os.DirEntry[str]) -> int:
    """The bytes of a file, or of all files in a folder; links are not followed."""
    if not entry.is_dir(follow_symlinks=False):
        return entry.stat(follow_symlinks=False).st_size
    size = 0
    for folder, _, names in os.walk(entry.path):
        for name in names:
            try:
                size += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return size
