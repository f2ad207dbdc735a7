"""Stores of two sessions that are going on, for the tests of the status line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from tests.cli.statusline.making import update, write_sessions


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions that are going on, and nothing kept of them yet."""
    place = tmp_path / "claude"
    write_sessions(place)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place))
    return place


@pytest.fixture(scope="session")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two sessions in `claude`, and their store in `store`; both read only."""
    place = tmp_path_factory.mktemp("statusline")
    write_sessions(place / "claude")
    with hansard.open(place / "store", [place / "claude"]) as h:
        h.sync()
    return place


@pytest.fixture
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, kept: of the test's own `root` if it names one, otherwise a copy of one that is synced already."""
    place = Path(os.environ["HANSARD_HOME"])
    if "root" in request.fixturenames:
        with hansard.open(place, [request.getfixturevalue("root")]) as h:
            h.sync()
    else:
        synced: Path = request.getfixturevalue("synced")
        shutil.copytree(synced / "store", place)
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(synced / "claude"))
    update()
    return place


@pytest.fixture
def h(store: Path) -> Iterator[Hansard]:
    with hansard.open(store) as h:
        yield h


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[list[str]]]:
    """Which refreshes were started, each with its streams and session."""
    folder = tmp_path / "marking"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if '--refresh' in sys.orig_argv:\n"
        "    where = [os.readlink(f'/proc/self/fd/{n}') if os.path.exists('/proc/self/fd') else os.devnull for n in range(3)]\n"
        f"    place = os.open({str(tmp_path / 'marks')!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "    os.write(place, ('\\t'.join([*where, str(os.getsid(0)), str(os.getpid())]) + '\\n').encode())\n"
        "    os.close(place)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))

    def read() -> list[list[str]]:
        path = tmp_path / "marks"
        return [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []

    return read
