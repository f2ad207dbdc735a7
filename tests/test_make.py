"""`make browser`: installs Chromium where it can, and is never in the way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import BROWSERS, PROJECT

MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None or os.name == "nt", reason="there is no make")


def make(tmp_path: Path, programs: dict[str, str]) -> tuple[str, list[str]]:
    """What `make browser` says where there are only these programs, and which of them it called."""
    place, calls = tmp_path / "bin", tmp_path / "calls"
    place.mkdir()
    calls.touch()
    for name in ("sh", "cat", "env"):
        (place / name).symlink_to(shutil.which(name) or name)
    for name, does in programs.items():
        (place / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "{calls}"\n{does}\n')
        (place / name).chmod(0o755)
    done = subprocess.run(
        [MAKE or "make", "--no-print-directory", "-C", PROJECT, "browser"],
        env={"PATH": str(place), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == ""
    return done.stderr, [line for line in calls.read_text().splitlines() if not line.startswith("id ")]


ROOT, USER = "echo 0", "echo 1000"


def test_it_knows_the_browsers_that_the_tests_look_for() -> None:
    listed = re.search(r"for name in (.*); do", (PROJECT / "Makefile").read_text())
    assert listed is not None
    assert tuple(listed[1].split()) == BROWSERS


@pytest.mark.parametrize("name", BROWSERS)
def test_a_browser_that_is_there_is_enough(tmp_path: Path, name: str) -> None:
    assert make(tmp_path, {name: "exit 1", "id": ROOT, "apt-get": ""}) == ("", [])


def test_root_installs_it(tmp_path: Path) -> None:
    said, calls = make(tmp_path, {"id": ROOT, "apt-get": ""})
    assert "Installing Chromium" in said
    assert "skipped" not in said
    assert [call.split()[-1] for call in calls] == ["update", "chromium-headless-shell"]


def test_where_the_shell_has_no_package_the_whole_browser_is_installed(tmp_path: Path) -> None:
    said, calls = make(tmp_path, {"id": ROOT, "apt-get": 'case "$*" in *shell) exit 100;; esac'})
    assert "skipped" not in said
    assert [call.split()[-1] for call in calls] == ["update", "chromium-headless-shell", "chromium"]


def test_so_does_who_needs_no_password(tmp_path: Path) -> None:
    _, calls = make(tmp_path, {"id": USER, "sudo": 'shift; "$@"', "true": "", "apt-get": ""})
    assert [call.split()[-1] for call in calls if call.startswith("apt-get")] == ["update", "chromium-headless-shell"]
    assert all(call.startswith("sudo -n ") for call in calls if call.startswith("sudo"))


def test_nobody_is_asked_for_a_password(tmp_path: Path) -> None:
    said, calls = make(tmp_path, {"id": USER, "sudo": "exit 1", "apt-get": ""})
    assert "will be skipped. To run them: sudo apt-get install chromium" in said
    assert calls == ["sudo -n true"]


@pytest.mark.parametrize(
    ("programs", "words"),
    [
        ({"id": ROOT}, "no apt-get to install it"),
        ({"id": USER, "apt-get": ""}, "will be skipped"),
        ({"id": ROOT, "apt-get": "echo no network >&2; exit 100"}, "could not be installed"),
    ],
)
def test_where_it_cannot_be_had_that_is_told(tmp_path: Path, programs: dict[str, str], words: str) -> None:
    assert words in make(tmp_path, programs)[0]
