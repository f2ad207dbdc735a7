"""Trees of files to be compared, and a process that is killed at any of its steps."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hansard.changes import journal


def tree(*folders: Path) -> dict[str, Any]:
    """Every file with its bytes, mode and date, and every folder."""
    found: dict[str, Any] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            status = path.lstat()
            if path.is_symlink():
                found[str(path)] = os.readlink(path)
            elif path.is_dir():
                found[str(path)] = status.st_mode
            else:
                found[str(path)] = (path.read_bytes(), status.st_mode, status.st_mtime_ns)
    return found


class Killed(BaseException):
    """The end of a process, as far as its files are concerned."""


class Mortal:
    """The functions of a module that change files, until the one of this number; from then on nothing is done any more."""

    def __init__(self, module: Any, counter: list[int]) -> None:
        self._module, self._counter = module, counter

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name not in ("replace", "rename", "mkdir", "unlink", "rmdir", "open", "utime", "chmod", "fsync", "rmtree"):
            return found

        def function(*arguments: Any, **more: Any) -> Any:
            self._counter[0] -= 1
            if self._counter[0] < 0:
                raise Killed
            return found(*arguments, **more)

        return function


def is_killed(number: int, action: Callable[[], object]) -> bool:
    """Do something that is killed at the change of this number; tells whether it came that far."""
    counter = [number]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "os", Mortal(os, counter))
        patch.setattr(journal, "shutil", Mortal(shutil, counter))
        try:
            action()
        except Killed:
            return True
    return False
