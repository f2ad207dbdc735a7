"""What is asked of the terminal and of PATH without `shutil` is what `shutil` says."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from hansard.cli.output.pager import is_on_path, terminal_size

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = [None, "", "0", "-3", "x", "133"]


@pytest.mark.parametrize("columns", NUMBERS)
@pytest.mark.parametrize("lines", NUMBERS)
@pytest.mark.parametrize("told", [(0, 0), (91, 17), None])
def test_the_size_is_the_one_that_shutil_tells(
    columns: str | None, lines: str | None, told: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(_place: int) -> os.terminal_size:
        if told is None:
            raise OSError("no terminal")
        return os.terminal_size(told)

    for name, value in (("COLUMNS", columns), ("LINES", lines)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "get_terminal_size", ask)
    assert terminal_size() == shutil.get_terminal_size((80, 24))
    monkeypatch.setattr(sys, "__stdout__", None)
    assert terminal_size() == shutil.get_terminal_size((80, 24))


@pytest.mark.parametrize("path", ["", os.pathsep, "{bin}", "/nowhere" + os.pathsep + "{bin}", None])
def test_a_program_is_found_where_shutil_finds_it(
    path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    (folder / "folder").mkdir(parents=True)
    for name, mode in (("tool", 0o755), ("text", 0o644)):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(mode)
    (folder / "broken").symlink_to(folder / "nothing")
    if path is None:
        monkeypatch.delenv("PATH")
    else:
        monkeypatch.setenv("PATH", path.format(bin=folder))
    monkeypatch.chdir(folder)
    for name in ("tool", "text", "folder", "broken", "no-such-program"):
        assert is_on_path(name) == (shutil.which(name) is not None)
