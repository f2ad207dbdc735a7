"""Disks that are full, and a store whose last sync is in the logs of its databases only."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import apsw
import pytest

from tests.sync.making import Tree, assistant, main_path, session, user

if sys.platform == "win32":
    pytest.skip("limits and mounts are those of POSIX", allow_module_level=True)

import resource

SESSION = session(1)
_FILES = ("record.db", "index.db", "text.db")


@contextlib.contextmanager
def small_disk(kind: str, folder: Path) -> Iterator[tuple[Path, AbstractContextManager[None]]]:
    """A place for a store, and a context in which its disk is full."""
    if kind == "limit":
        yield folder, _limited()
        return
    place = folder / "disk"
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount")
    command = [mount, "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system is not permitted")
    try:
        yield place, _filled(place / "filler")
    finally:
        subprocess.run([umount, str(place)], check=True)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """No file can grow: files can be made, as on most full disks, but nothing can be written to them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def _filled(filler: Path) -> Iterator[None]:
    """A file takes all that is left of a small file system."""
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    try:
        yield
    finally:
        filler.unlink()


def crashed_store(tree: Tree, place: Path) -> Path:
    """A copy of a store as it is after a crash and a restart: one prompt is in the logs only, and there are no -shm files."""
    tree.write(main_path(SESSION), [user(SESSION, "u1", "walrus"), assistant(SESSION, "a1", "m1", "a reply", 1, "u1")])
    tree.sync()
    held = [apsw.Connection(str(tree.home / name)) for name in _FILES]
    for db in held:  # so that no log is folded into its database when the sync ends
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    tree.append(main_path(SESSION), [user(SESSION, "u2", "narwhal", 2, "a1")])
    tree.sync()
    copy = place / "copy"
    copy.mkdir(mode=0o700)
    for name in _FILES:
        assert (tree.home / f"{name}-wal").stat().st_size > 0
        for file in (name, f"{name}-wal"):
            shutil.copy(tree.home / file, copy / file)
    for db in held:
        db.close()
    return copy
