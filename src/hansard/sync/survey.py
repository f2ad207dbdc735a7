"""Differences between the source roots and the record, by names and status alone."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hansard.record.files import GONE, Files, Known, Quarantined
from hansard.sources.databases import database_status, is_table_of
from hansard.sources.discover import Found, LeftOut, Walk, discover
from hansard.sources.names import printable
from hansard.sources.roots import LOG_KINDS, FileKind, Root
from hansard.sources.tail import file_status

if TYPE_CHECKING:
    from hansard.record.tombstones import Tombstones

RETRY_NS = 3600 * 1_000_000_000
"""A file that could not be stored and has not changed is tried again after this time."""


class RootSurvey(Struct):
    """One root's differences."""

    root: Root
    root_id: int | None
    changed: list[tuple[Found, Known | None]] = field(default_factory=list)
    gone: list[Known] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    left_out_before: frozenset[tuple[str, int, str]] = frozenset()
    unreadable: list[str] = field(default_factory=list)
    quarantined: dict[str, Quarantined] = field(default_factory=dict)  # what failed before, by path
    released: list[str] = field(default_factory=list)  # those of them that no longer exist
    logs: int = 0
    forgotten: int = 0  # files that are not stored because the user had them forgotten
    complete: bool = True  # every file of the root was checked
    walk: Walk | None = None  # as it was made for this

    @property
    def is_quiet(self) -> bool:
        if self.changed or self.gone or self.released or self.root_id is None:
            return False
        return self.left_out_before == {(item.path, item.size, item.reason) for item in self.left_out}

    @property
    def unfollowed_links(self) -> int:
        """How many links point out of the root to places that the user did not allow."""
        return sum(bool(item.target) and not self.root.is_own_data(item.target) for item in self.left_out)

    @property
    def bytes(self) -> int:
        """How many bytes there are to read, judging by sizes."""
        return sum(coming(file, known) for file, known in self.changed)

    @property
    def log_bytes(self) -> int:
        """How many of them are of logs."""
        return sum(coming(file, known) for file, known in self.changed if file.kind.is_log)


def coming(file: Found, known: Known | None) -> int:
    """How many bytes there are to read of a file, judging by its size."""
    if file.kind is FileKind.DATABASE and known is not None:
        return abs(file.size - known.size)
    grown = file.size - known.size if known is not None and file.kind.is_log else file.size
    return grown if grown >= 0 else file.size


def survey(record: Files, roots: Sequence[Root], max_file: int, *, reread: bool = False) -> list[RootSurvey]:
    """Walk the roots and compare with what is known; small files over `max_file` bytes are left out.

    With `reread` every file counts as changed, regardless of its status.
    """
    ids = {row.path: row.id for row in record.roots()}
    quarantined = record.quarantined()
    left_out: dict[int, list[tuple[str, int, str]]] = {}
    for row in record.left_out():
        left_out.setdefault(row.root_id, []).append((row.path, row.size, row.reason))
    results = []
    for root in roots:
        result = RootSurvey(root, ids.get(root.path))
        if result.root_id is not None:
            result.left_out_before = frozenset(left_out.get(result.root_id, ()))
            result.quarantined = {item.path: item for item in quarantined if item.root_id == result.root_id}
        _survey_root(record, result, max_file, reread=reread)
        results.append(result)
    return results


def _survey_root(record: Files, result: RootSurvey, max_file: int, *, reread: bool) -> None:
    root = result.root
    failed = dict(result.quarantined)
    moment = time.time_ns()
    settled = record.settled_files(result.root_id) if result.root_id is not None else {}
    result.walk = found, unreadable, left_out = discover(root)
    result.left_out = list(left_out)
    unproved = []
    tombstones = record.tombstones()
    for file in found:
        status = settled.pop(file.path, None)
        if file.kind in root.skipped:
            failed.pop(file.path, None)
            continue
        if status is None and tombstones.key and is_forgotten(tombstones, root, file.path):
            result.forgotten += 1
            continue
        if file.kind in LOG_KINDS:
            result.logs += 1
        elif file.kind is not FileKind.DATABASE and file.size > max_file:
            result.left_out.append(LeftOut(file.path, file.size, f"larger than {max_file} bytes"))
            continue
        trouble = failed.pop(file.path, None) if failed else None
        if trouble is not None and not reread and _still_fails(trouble, file, moment):
            result.unreadable.append(f"{root.locate(file.path)}: {trouble.reason}")
        elif file.is_packed and status is not None:
            file.size = status[0]  # of its content, unless the other numbers tell that it is another one
            if reread or status != (file.size, file.mtime_ns, file.ctime_ns, file.inode):
                unproved.append(file)
        elif reread or status != (file.size, file.mtime_ns, file.ctime_ns, file.inode):
            unproved.append(file)
    if root.layout.rows:
        result.logs += sum(map(root.layout.holds_rows, settled))
    known = record.known(result.root_id) if result.root_id is not None and (unproved or settled) else {}
    for file in unproved:
        before = known.get(file.path)
        if (
            before is None
            or before.state == GONE
            or reread
            or not before.settled(file.size, file.mtime_ns, file.ctime_ns, file.inode)
        ):
            result.changed.append((file, before))
    result.unreadable += [f"{item.path}: {item.reason}" for item in unreadable]
    hidden = {item.relative for item in unreadable}
    if os.path.islink(root.transcripts) and not os.path.exists(root.transcripts):
        # As with a missing root: its disk may come back.
        result.unreadable.append(f"{printable(root.transcripts)}: broken link")
        hidden.add(root.layout.main)
    # Files kept through a link that is no longer followed keep their state: what became of them is unknown.
    unseen = {*hidden, *(item.path for item in result.left_out if item.target)}
    # What was live and was not found. Whether rows are still in their database is seen when that is read.
    has_databases = bool(hidden) or any(file.kind is FileKind.DATABASE for file in found)
    result.gone = [
        known[path]
        for path in settled
        if not _is_in(path, unseen) and not (has_databases and root.layout.holds_rows(path))
    ]
    result.released = [path for path in failed if not _is_in(path, hidden)]
    # Notes about what could not be checked stay, and those about tables of databases until these are read.
    databases = [file.path for file in found if file.kind is FileKind.DATABASE]
    result.left_out += [
        LeftOut(*item)
        for item in sorted(result.left_out_before)
        if _is_in(item[0], hidden) or any(is_table_of(item[0], database) for database in databases)
    ]


def is_forgotten(tombstones: Tombstones, root: Root, path: str) -> bool:
    """Whether a file must not be stored again."""
    from hansard.clients import client_of

    info = client_of(root.client).path_info(path)
    return tombstones.has_file(root.client, info.session_id or info.stem, root.path, path)


def _is_in(path: str, folders: Collection[str]) -> bool:
    """Whether a path is one of these folders or lies in one; "" is the whole root."""
    while path and path not in folders:
        path = path.rpartition("/")[0]
    return path in folders


def _still_fails(trouble: Quarantined, file: Found, moment: int) -> bool:
    """Whether it is too early to try a file again: it has not changed, and the last try was recent."""
    same = (trouble.size, trouble.mtime_ns, trouble.ctime_ns) == (file.size, file.mtime_ns, file.ctime_ns)
    return same and 0 <= moment - trouble.tried_ns < RETRY_NS


def _under(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


def survey_paths(
    record: Files, roots: Sequence[Root], paths: Collection[str], max_file: int
) -> list[RootSurvey] | None:
    """Compare only some files, by their absolute paths; None if only a whole walk can tell what happened."""
    ids = {row.path: row.id for row in record.roots()}
    results = []
    for root in roots:
        root_id = ids.get(root.path)
        if root_id is None:
            return None
        result = RootSurvey(root, root_id, complete=False)
        result.quarantined = {item.path: item for item in record.quarantined() if item.root_id == root_id}
        for path in paths:
            relative = root.relative(path)
            if relative is not None and not _look(record, result, relative, max_file):
                return None
        results.append(result)
    return results


def _look(record: Files, result: RootSurvey, relative: str, max_file: int) -> bool:
    """Compare one file; False if only a walk can tell what happened to it."""
    root, root_id = result.root, result.root_id
    place = root.locate(relative)
    kind = root.layout.kind_of(relative)
    if root_id is None:
        return False
    try:
        status = os.stat(place)
    except OSError:
        # A temporary file is gone, or one of ours.
        return kind is None and not any(_under(path, relative) for path in record.known(root_id))
    if stat.S_ISDIR(status.st_mode):
        return False
    if kind is None or kind in root.skipped:
        return True
    before = record.known_file(root_id, relative)
    if before is None and is_forgotten(record.tombstones(), root, relative):
        result.forgotten += 1
        return True
    if not stat.S_ISREG(status.st_mode) or not root.reaches(relative):
        return False
    if before is None and os.path.realpath(place) != place:
        return False  # the walk chooses between several names of one file
    if not kind.is_log and kind is not FileKind.DATABASE and status.st_size > max_file:
        return False
    numbers = database_status(place) if kind is FileKind.DATABASE else file_status(status)
    file = Found(relative, kind, *numbers)
    settled = before is not None and before.settled(file.size, file.mtime_ns, file.ctime_ns, file.inode)
    if before is None or before.state == GONE or not settled:
        result.changed.append((file, before))
    return True
