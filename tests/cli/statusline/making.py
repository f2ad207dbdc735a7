"""Sessions, stores and processes that the tests of the status line share."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard as command_line
from hansard.cli.statusline import refresh, run, snapshot

SESSION = "5e551011-aaaa-4aaa-8aaa-000000000001"
OTHER = "5e551011-bbbb-4bbb-8bbb-000000000002"
STILL = "{model} · {session} session · {today} today · {block}"  # nothing that a second changes
SHELLS = [name for name in ("dash", "bash", "zsh", "busybox", "sh") if shutil.which(name)]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX system")


def write_session(root: Path, session: str, *, answers: int = 12, model: str = "claude-sonnet-4-5-20250929") -> None:
    """A session that is going on, all of it today."""
    path = root / "projects" / "-src-tide" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(answers):
        now = datetime.now(UTC)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        at = max(now - timedelta(minutes=3 * (answers - number)), midnight)
        message = {
            "id": f"msg_01{session[-4:]}{number:018}",
            "role": "assistant",
            "type": "message",
            "model": model,
            "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 900 + number, "output_tokens": 7000, "cache_read_input_tokens": 40_000},
        }
        line = {
            "type": "assistant",
            "uuid": f"{session[-4:]}-{number}",
            "parentUuid": None,
            "sessionId": session,
            "timestamp": at.isoformat().replace("+00:00", "Z"),
            "cwd": "/src/tide",
            "message": message,
        }
        lines.append(json.dumps(line) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def client(session: str = SESSION, **more: Any) -> bytes:
    """What a client writes to the line's stdin."""
    told = {
        "hook_event_name": "Status",
        "session_id": session,
        "transcript_path": f"/home/mira/.claude/projects/-src-tide/{session}.jsonl",
        "cwd": "/src/tide",
        "model": {"id": "claude-sonnet-4-5", "display_name": "Sonnet 4.5"},
        "workspace": {"current_dir": "/src/tide", "project_dir": "/src/tide"},
        "version": "2.1.325",
        "cost": {"total_cost_usd": 1.2345, "total_duration_ms": 12345},
        "context_window": {"used_percentage": 81.4},
        "rate_limits": {"five_hour": {"used_percentage": 42}, "seven_day": {"used_percentage": 93}},
    }
    return json.dumps({**told, **more}).encode()


def write_sessions(root: Path) -> None:
    write_session(root, SESSION)
    write_session(root, OTHER, answers=5, model="claude-opus-4-5-20251101")


def start(
    *args: str, said: bytes = b"", command: tuple[str, ...] = ("-W", "error", "-m", "hansard", "statusline")
) -> Any:
    process = subprocess.Popen(
        [sys.executable, *command, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(said)
    process.stdin.close()
    process.stdin = None
    return process


def update() -> None:
    """Bring the snapshot up to date, as the process behind the line does."""
    refresh.update_snapshot(os.environ["HANSARD_HOME"])


def show(*args: str, said: bytes | None = None) -> str:
    """The line without colours, of a snapshot that is up to date; nothing is left behind."""
    update()
    return shown(*args, said=said)


def shown(*args: str, said: bytes | None = None) -> str:
    """The line without colours, of the snapshot as it is, without a process of its own."""
    return drawn("--color", "never", *args, said=said)


def drawn(*args: str, said: bytes | None = None) -> str:
    """The same with the colours that are asked for."""
    options, out = run.Options(), io.TextIOWrapper(io.BytesIO())
    options.parse(["--no-sync", *args])
    assert not options.mistakes + options.words
    with redirect_stdout(out):
        run.run(options, io.TextIOWrapper(io.BytesIO(client() if said is None else said)))
    return only_line(out.buffer.getvalue())


def shown_by_process(*args: str, said: bytes | None = None) -> str:
    """The same by a process, which may start a refresh."""
    return printed(start("--no-sync", "--color", "never", *args, said=client() if said is None else said))


def by_click(*args: str, said: bytes | None = None) -> str:
    """The line that the command gives without its fast start."""
    done = CliRunner().invoke(command_line, args, input=client() if said is None else said, prog_name="hansard")
    assert (done.exit_code, done.stderr) == (0, "")
    return only_line(done.stdout_bytes)


def printed(process: Any) -> str:
    with process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    return only_line(out)


def only_line(out: bytes) -> str:
    text = out.decode()
    assert text.endswith("\n")
    assert len(text.splitlines()) == 1
    return text.rstrip("\r\n")


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something that another process does."""
    deadline = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
    return found


def at_rest(home: Path) -> bool:
    """Whether no refresh is running."""
    lock = run.refresh_lock(str(home))
    if not lock.acquire():
        return False
    lock.release()
    return True


def change(store: Path, **values: Any) -> None:
    """Change what the snapshot says, and what it says of the figures."""
    content = json.loads((store / snapshot.FILE).read_text())
    for name, value in values.items():
        (content if name in content else content["figures"])[name] = value
    (store / snapshot.FILE).write_text(json.dumps(content))


def spool(store: Path) -> Path:
    return store / "statusline"
