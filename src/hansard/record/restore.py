"""Restoring files: a plan of what would be written, and writing it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from hansard.errors import HansardError, Incomplete, StoreCorrupt, StoreUnusable, UsageError, WouldOverwrite
from hansard.files import CREATE_FLAGS, DIRECTORY_MODE, FILE_MODE, is_alive
from hansard.lazy_regex import lazy_compile
from hansard.model.files import RestoreAction, RestoreItem
from hansard.record.chain import LOG, SNAPSHOT
from hansard.record.logs import Generation
from hansard.sources.names import printable, unescape
from hansard.storage.sqlite import NO_SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hansard.record.store import Record, RootRow, Snapshot

_TEMPORARY = lazy_compile(r"\.hansard-([0-9]{1,10})-[0-9a-f]{16}\.tmp")

NAMED_AT_ONCE = 5
"""How many files an error names before it only counts."""


class Layout(StrEnum):
    """Where a root's files go under the target."""

    AUTO = "auto"
    """FLAT when the record knows one root, else BY_ROOT."""
    FLAT = "flat"
    """DIR/projects/...: the layout of a config directory, also for putting files back into one."""
    BY_ROOT = "by_root"
    """DIR/<root name>/projects/..."""


class Restored(Struct, frozen=True):
    """What a restore did."""

    written: int
    same: int
    bytes: int


def plan(
    record: Record,
    selection: Iterable[int] | None,
    to: str,
    layout: Layout = Layout.AUTO,
    *,
    all_generations: bool = False,
    fuller: Mapping[int, int] | None = None,
) -> list[RestoreItem]:
    """What a restore of the selected files (all when None) into `to` would do; nothing is written.

    `fuller` names the generation of a file that is to be given back in place of its last one.

    Older generations and snapshots get their number at the end of the name, so that no client takes them for its own.
    """
    base = os.path.realpath(to)
    if os.path.lexists(base) and not os.path.isdir(base):
        raise UsageError(f"{printable(to)}: not a directory. Choose a directory to restore into.")
    wanted = None if selection is None else frozenset(selection)
    folders = _folders(record.roots(), layout)
    items: list[RestoreItem] = []
    taken: set[str] = set()
    for version, suffix in _versions(record, fuller or {}, all_generations):
        if wanted is None or version.file_id in wanted:
            target = os.path.join(base, folders[version.root_id], *map(unescape, version.path.split("/"))) + suffix
            key = os.path.normcase(target)
            if key in taken:
                raise UsageError(
                    f"{printable(target)}: two roots have this file, and both would be restored there. "
                    "Restore by root, or one root at a time."
                )
            taken.add(key)
            items.append(_item(record, version, base, target))
    return items


def apply(
    record: Record,
    items: Sequence[RestoreItem],
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
    *,
    touch: bool = False,
) -> Restored:
    """Write what a plan says, each file under a temporary name first; without `overwrite` nothing at all if any differs.

    A file that cannot be written does not stop the others; the error at the end names the first.
    `progress` is given the bytes done and to do; with `touch` files get the present as their date, also those that are there.
    """
    if not overwrite:
        _refuse_overwriting([item.target for item in items if item.action is RestoreAction.DIFFERS])
    for folder, item in {os.path.dirname(item.target): item for item in items}.items():
        with suppress(UsageError):
            _refuse_name(item.path)
            _refuse_escape(item.base, item.target)
            _remove_unfinished(folder)
    total = sum(item.bytes for item in items)
    written = same = done = size = 0
    failures: list[HansardError] = []
    for item in items:
        try:
            if item.action is RestoreAction.SAME:
                same += 1
                if touch:
                    os.utime(item.target, follow_symlinks=False)
            elif item.action is RestoreAction.IMPOSSIBLE:
                failures.append(UsageError(item.reason))
            else:
                _write(record, item, overwrite, touch)
                written += 1
                size += item.bytes
        except (StoreCorrupt, UsageError, WouldOverwrite) as error:
            failures.append(error)
        except OSError as error:
            place = printable(str(error.filename or item.target))
            failure = StoreUnusable(f"{place}: the file could not be restored ({error.strerror or error}).")
            if error.errno in NO_SPACE:
                raise StoreUnusable(
                    f"{failure} {written} files were written; free some space and run this again."
                ) from error
            failures.append(failure)
        done += item.bytes
        if progress is not None:
            progress(done, total)
    if failures:
        kinds = {type(error) for error in failures}
        alike = len(kinds) == 1 and kinds <= {StoreCorrupt, WouldOverwrite}
        raise (kinds.pop() if alike else Incomplete)(
            f"{len(failures)} of {len(items)} files could not be restored ({written} written, {same} already there). "
            f"The first: {failures[0]}"
        )
    return Restored(written, same, size)


def _versions(record: Record, fuller: Mapping[int, int], every: bool) -> Iterator[tuple[Generation | Snapshot, str]]:
    """The content of each file that is given back under its name, and with `every` the others under a suffix."""
    for generation in record.generations():
        if fuller.get(generation.file_id, generation.id if generation.current else None) == generation.id:
            yield generation, ""
        elif every:
            yield generation, f".generation-{generation.seq}"
    for snapshot in record.snapshots():
        if snapshot.current:
            yield snapshot, ""
        elif every:
            yield snapshot, f".snapshot-{snapshot.id}"


def _folders(roots: Sequence[RootRow], layout: Layout) -> dict[int, str]:
    """The folder of each root under the target, "" for none; roots that share a name are numbered."""
    if layout is Layout.FLAT or (layout is Layout.AUTO and len(roots) <= 1):
        return {root.id: "" for root in roots}
    result: dict[int, str] = {}
    for root in roots:
        name = root.name if _plain(root.name) and _is_encodable(root.name) else f"root-{root.id}"
        number = 1
        folder = name
        while folder in result.values():
            number += 1
            folder = f"{name}-{number}"
        result[root.id] = folder
    return result


def _plain(part: str) -> bool:
    """Whether a name is a single path component on this system, and not `..`."""
    separators = {"/", "\0", os.sep, os.altsep or "/"}
    if os.name == "nt":
        separators.add(":")
    return part not in {"", ".", ".."} and not any(mark in part for mark in separators)


def _is_encodable(name: str) -> bool:
    """Whether this system can have a file of that name: a lone surrogate encodes a byte only in a certain range."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def _item(record: Record, version: Generation | Snapshot, base: str, target: str) -> RestoreItem:
    is_log = isinstance(version, Generation)
    generation, snapshot = (version.id, None) if is_log else (None, version.id)
    reason = ""
    try:
        _refuse_name(version.path)
        _refuse_escape(base, target)
        action = _action(record, version, target)
    except UsageError as error:
        action, reason = RestoreAction.IMPOSSIBLE, str(error)
    unproven_from = record.unproven_from(LOG if is_log else SNAPSHOT, version.id)
    return RestoreItem(
        version.path, target, version.size, action, version.mtime_ns, base, generation, snapshot, reason, unproven_from
    )


def _refuse_name(path: str) -> None:
    names = [unescape(part) for part in path.split("/")]
    if not all(map(_plain, names)) or not _is_encodable("/".join(names)):
        raise UsageError(f"{printable(path)}: this name cannot be a file under the target on this system.")


def _action(record: Record, version: Generation | Snapshot, target: str) -> RestoreAction:
    try:
        status = os.lstat(target)
    except (FileNotFoundError, NotADirectoryError):
        return RestoreAction.WRITE
    # Links are never followed: a link itself is replaced or left alone.
    if not stat.S_ISREG(status.st_mode) or status.st_size != version.size:
        return RestoreAction.DIFFERS
    try:
        with open(target, "rb") as file:
            same = is_as_kept(record, version, file)
    except OSError:
        return RestoreAction.DIFFERS
    return RestoreAction.SAME if same else RestoreAction.DIFFERS


def is_as_kept(record: Record, version: Generation | Snapshot, file: BinaryIO) -> bool:
    """Whether an open file has the content that the record has."""
    if isinstance(version, Generation):
        return record.first_difference(version.id, file) is None
    return record.has_content(version, file)


def _refuse_overwriting(targets: Sequence[str]) -> None:
    if targets:
        named = ", ".join(map(printable, targets[:NAMED_AT_ONCE]))
        more = f" and {len(targets) - NAMED_AT_ONCE} more" if len(targets) > NAMED_AT_ONCE else ""
        raise WouldOverwrite(
            f"{named}{more}: already exists with different content. Nothing was written. "
            "Restore into an empty directory, or overwrite."
        )


def _refuse_escape(base: str, target: str) -> None:
    """Raise when a link among the directories above the target leads out of the base."""
    parent = os.path.dirname(target)
    real = os.path.realpath(parent)
    if real != base and not real.startswith(base.rstrip(os.sep) + os.sep):
        raise UsageError(
            f"{printable(parent)}: a symbolic link there points outside {printable(base)}, to {printable(real)}. "
            "Remove the link, or restore into another directory."
        )


def _write(record: Record, item: RestoreItem, overwrite: bool, touch: bool) -> None:
    parent = os.path.dirname(item.target)
    # Checked again: the plan may be out of date.
    _refuse_name(item.path)
    _refuse_escape(item.base, item.target)
    _make_directories(parent)
    if os.path.isdir(item.target) and not os.path.islink(item.target):
        raise UsageError(f"{printable(item.target)}: a directory is in the way of a file to restore. Move it away.")
    if not overwrite and os.path.lexists(item.target):
        raise WouldOverwrite(f"{printable(item.target)}: created after the restore was planned. Run the restore again.")
    temporary = os.path.join(parent, f".hansard-{os.getpid()}-{os.urandom(8).hex()}.tmp")
    try:
        with open(os.open(temporary, CREATE_FLAGS, FILE_MODE), "wb") as file:
            file.writelines(_pieces(record, item))
        if not touch:
            os.utime(temporary, ns=(item.mtime_ns, item.mtime_ns))
        os.replace(temporary, item.target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _remove_unfinished(folder: str) -> None:
    """Remove what a killed restore left in a folder: files of our own user, whose names contain the id of the process."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        made = _TEMPORARY.fullmatch(name)
        if made is not None and os.name == "posix" and not is_alive(int(made[1])):
            path = os.path.join(folder, name)
            with suppress(OSError):
                status = os.lstat(path)
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid():
                    os.unlink(path)


def _pieces(record: Record, item: RestoreItem) -> Iterator[bytes]:
    if item.generation is not None:
        return record.read(item.generation)
    if item.snapshot is not None:
        return iter((record.read_snapshot(item.snapshot),))
    return iter(())


def _make_directories(path: str) -> None:
    missing: list[str] = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for directory in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(directory, DIRECTORY_MODE)
