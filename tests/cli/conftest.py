"""A small history, the hard session, and a way to run commands on them."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hansard.cli.app import hansard
from tests.hard_session import write_hard_session

Run = Callable[..., Result]

SESSION = "11111111-aaaa-4aaa-8aaa-111111111111"
OTHER = "22222222-bbbb-4bbb-8bbb-222222222222"


@pytest.fixture(autouse=True)
def in_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times are shown in the user's zone: let it be one and the same everywhere."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    if hasattr(time, "tzset"):
        time.tzset()
    yield
    monkeypatch.undo()
    if hasattr(time, "tzset"):
        time.tzset()


def said(
    number: int, text: str, *, role: str = "user", session: str = SESSION, cwd: str = "/src/tide"
) -> dict[str, Any]:
    """One line of a conversation, as a client writes it."""
    message: dict[str, Any] = {"role": role, "content": text}
    if role == "assistant":
        message |= {
            "id": f"msg_{session[:4]}{number}",
            "model": "claude-opus-5-5",
            "type": "message",
            "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 3, "output_tokens": 5},
            "stop_reason": "end_turn",
        }
    return {
        "type": role,
        "uuid": f"{session[:8]}-{number:04}",
        "parentUuid": f"{session[:8]}-{number - 1:04}" if number > 1 else None,
        "sessionId": session,
        "timestamp": f"2026-05-01T10:00:{number:02}.000Z",
        "cwd": cwd,
        "version": "2.1.0",
        "gitBranch": "main",
        "message": message,
    }


def write_log(root: Path, session: str, records: list[dict[str, Any]], folder: str = "-src-tide") -> Path:
    """A transcript at its place."""
    path = root / "projects" / folder / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A config directory with two small sessions, which a test may change."""
    return write_small_history(tmp_path / "claude")


def write_small_history(place: Path) -> Path:
    write_log(place, SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")])
    write_log(
        place,
        OTHER,
        [
            said(1, "Wrap the sail [red]now[/red] \x1b[31m!", session=OTHER, cwd="/src/sail"),
            said(2, "Wrapped.", role="assistant", session=OTHER, cwd="/src/sail"),
        ],
        "-src-sail",
    )
    return place


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small history in `claude`, and its store after the first sync in `store`."""
    place = tmp_path_factory.mktemp("small")
    runner(write_small_history(place / "claude"), place / "store")("sync")
    return place


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Run a command on the small history: on the test's own `root` if it names one, otherwise on one that is synced already."""
    if "root" in request.fixturenames:
        return runner(request.getfixturevalue("root"), tmp_path / "store")
    small: Path = request.getfixturevalue("small")
    shutil.copytree(small / "store", tmp_path / "store")
    return runner(small / "claude", tmp_path / "store")


def runner(source: Path, store: Path) -> Run:
    """Run commands on a root and a store of one's own."""

    def go(*args: str, code: int | None = 0) -> Result:
        result = CliRunner().invoke(hansard, [*args, "--home", str(store), "--root", str(source)], prog_name="hansard")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if code is not None:
            assert result.exit_code == code, result.output
        return result

    return go


@pytest.fixture(scope="session")
def hard(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The session with everything in it, read only."""
    place = tmp_path_factory.mktemp("hard")
    return place, write_hard_session(place / "claude")


@pytest.fixture
def run_hard(hard: tuple[Path, str]) -> Run:
    """Run a command on the hard session."""
    return runner(hard[0] / "claude", hard[0] / "store")
