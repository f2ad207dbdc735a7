"""Hooks beside a Python that does nothing: how long the client waits for one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import data
from benchmarks.measure import Failed, cli, environment, run
from benchmarks.table import Figure
from hansard.cli.hook.run import FOLDER, read_log, waiting, worker_lock

Tell = Callable[[str], None]

TITLE = "hooks: what the client waits for"
_BASE = 60_000_000  # bytes of history behind the session
_TIMES = 10
_PAUSE = 60.0
_SESSION = "5e551000-aaaa-4aaa-8aaa-000000000001"
_CASES = {
    "hansard hook Stop, starting a worker": ("Stop", 50),
    "hansard hook Stop, while one is running": ("Stop", 50),
    "hansard hook SessionEnd, until the transcript is stored": ("SessionEnd", 1200),
    "hansard hook UserPromptSubmit --secrets, a prompt in prose": ("UserPromptSubmit", 50),
    "hansard hook PreToolUse --secrets, a module of 12 kB": ("PreToolUse", 150),
}
"""The event of each, and how many milliseconds it may take beyond the interpreter."""
_GIVEN: dict[str, dict[str, object]] = {
    "UserPromptSubmit": {
        "prompt": "Please rename the function in the second file, and add a test for empty input. " * 4
    },
    "PreToolUse": {
        "tool_name": "Write",
        "tool_input": {
            "file_path": "tide.py",
            "content": "def sound(token: str) -> bool:  # the key is in API_KEY\n" * 220,
        },
    },
}


def figures(scratch: Path, tell: Tell) -> Iterator[Figure]:
    """What each hook takes, its ratio to `python -c pass`, and what it takes beyond that."""
    tell("hooks: preparing")
    session = _Session(scratch)
    bare: list[float] = []
    took: dict[str, list[float]] = {name: [] for name in _CASES}
    for number in range(_TIMES):
        tell(f"hooks: round {number + 1} of {_TIMES}")
        for name, (event, _) in _CASES.items():
            bare.append(session.time([sys.executable, "-c", "pass"], event))
            took[name].append(session.hook(event, is_running="running" in name))
    session.check()
    least = min(bare)
    yield Figure("python -c pass", tuple(bare), "ms", beside=(("least", least),))
    for name, (_, budget) in _CASES.items():
        yield Figure(name, tuple(took[name]), "ms", beside=(("least", min(took[name])),))
        yield Figure("  least / least of python -c pass", (min(took[name]) / least,), "x")
        yield Figure("  least beyond that of python -c pass", (min(took[name]) - least,), "ms", budget)


class _Session:
    """A live session over a store, and hooks that its client runs."""

    def __init__(self, scratch: Path) -> None:
        self.root, self.home = scratch / "hooks-claude", scratch / "hooks-store"
        for place in (self.root, self.home):
            shutil.rmtree(place, ignore_errors=True)
        self.transcript = self.root / "projects" / "-home-mira-src-tide" / f"{_SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        roots = f"{data.bulk(scratch, _BASE)}{os.pathsep}{self.root}"
        self.env = environment(scratch / "home", HANSARD_HOME=str(self.home), CLAUDE_CONFIG_DIR=roots)
        self.lines = 0
        self._grow()
        run(cli("sync"), self.env)
        (self.home / FOLDER).mkdir(mode=0o700, exist_ok=True)
        for event in ("Stop", "SessionEnd"):
            self.hook(event, is_running=False)

    def hook(self, event: str, *, is_running: bool) -> float:
        """Milliseconds that a hook takes after a line more, with or without a worker that is running already."""
        self._rest()
        self._grow()
        lock = worker_lock(str(self.home))
        if is_running and not lock.acquire():
            raise Failed("a worker does not end")
        try:
            taken = self.time(cli("hook", event, *(["--secrets=block"] if event in _GIVEN else [])), event)
        finally:
            if is_running:
                lock.release()
        return taken

    def time(self, command: list[str], event: str) -> float:
        """Milliseconds that a program takes with what the client tells a hook on its stdin."""
        told = {"session_id": _SESSION, "transcript_path": str(self.transcript), "cwd": "/home/mira/src/tide"}
        said = json.dumps({**told, "hook_event_name": event, **_GIVEN.get(event, {})}).encode()
        started = time.perf_counter()
        done = subprocess.run(command, env=self.env, input=said, stdout=subprocess.PIPE, check=False)
        taken = (time.perf_counter() - started) * 1000
        if done.returncode or done.stdout:
            raise Failed(f"hook {event} ended with {done.returncode}")
        return taken

    def check(self) -> None:
        """Fail if a hook did: it tells nobody but its log."""
        self._rest()
        if entries := read_log(str(self.home)):
            raise Failed(entries[-1])

    def _grow(self) -> None:
        self.lines += 1
        line = {
            "type": "user",
            "uuid": f"5e551000-bbbb-4bbb-8bbb-{self.lines:012}",
            "parentUuid": None,
            "sessionId": _SESSION,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
            "cwd": "/home/mira/src/tide",
            "version": "2.1.325",
            "message": {"role": "user", "content": f"Sounding number {self.lines}"},
        }
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _rest(self) -> None:
        """Wait until no worker is running or about to; what was left behind while we were the worker is for the next one."""
        until = time.monotonic() + _PAUSE
        while time.monotonic() < until:
            lock = worker_lock(str(self.home))
            if lock.acquire():
                is_waited_for = bool(lock.wait())
                lock.release()
                if not is_waited_for:
                    return
            time.sleep(0.05)
        raise Failed(f"a worker was still at work after {_PAUSE:g} s, with {len(waiting(str(self.home)))} requests")
