"""Many status lines at once: the command and the shell script beside a Python that does nothing."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import data
from benchmarks.measure import Failed, cli, environment, run
from benchmarks.search_cases import percentile
from benchmarks.table import Figure

Tell = Callable[[str], None]

CROWDS = (1, 50, 200)
TITLE = "status lines: each of another live session"
_BASE = 60_000_000  # bytes of history behind the live sessions
_ROUNDS = {1: 20, 50: 5, 200: 3}
_PAUSE = 60.0


def figures(scratch: Path, tell: Tell) -> Iterator[Figure]:
    """What 1, 50 and 200 lines at once take, each of another live session."""
    if not hasattr(os, "posix_spawn"):
        raise Failed("many lines at once are started with posix_spawn, which this system does not have")
    tell("status line: preparing")
    crowd = _Crowd(scratch)
    for count in CROWDS:
        tell(f"status line: {count} at once")
        yield from crowd.figures(count)


class _Crowd:
    """Live sessions in a store, and ways to show their lines."""

    def __init__(self, scratch: Path) -> None:
        self.root, self.home = scratch / "statusline-claude", scratch / "statusline-store"
        for place in (self.root, self.home):
            shutil.rmtree(place, ignore_errors=True)
        roots = f"{data.bulk(scratch, _BASE)}{os.pathsep}{self.root}"
        self.env = environment(scratch / "home", HANSARD_HOME=str(self.home), CLAUDE_CONFIG_DIR=roots)
        self.inputs = [_session(self.root, scratch / "statusline-inputs", number) for number in range(max(CROWDS))]
        run(cli("sync"), self.env)
        script = scratch / "statusline.sh"
        script.write_text(run(cli("statusline", "--script"), self.env).output, encoding="utf-8")
        shell = shutil.which("sh") or "/bin/sh"
        self.ways = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "hansard statusline": cli("statusline"),
            f"the script in {os.path.basename(os.path.realpath(shell))}": [shell, str(script)],
        }
        for command in self.ways.values():
            for place in self.inputs:
                with place.open("rb") as said:
                    subprocess.run(command, env=self.env, stdin=said, stdout=subprocess.DEVNULL, check=True)
        self._rest()

    def figures(self, count: int) -> Iterator[Figure]:
        """Rounds of all ways in turn, so that a busy neighbour disturbs each of them."""
        walls: dict[str, list[list[float]]] = {name: [] for name in self.ways}
        used: dict[str, list[float]] = {name: [] for name in self.ways}
        for _ in range(_ROUNDS[count]):
            for name, command in self.ways.items():
                wall, cpu = self._burst(command, count)
                walls[name].append(wall)
                used[name].append(cpu)
                self._rest()
        for name in self.ways:
            every = [value for wall in walls[name] for value in wall]
            high = tuple(percentile(wall, 0.95) for wall in walls[name]) if count > 1 else (percentile(every, 0.95),)
            beside = (("median", statistics.median(every)), ("CPU each", statistics.median(used[name])))
            limit = None if name == "python -c pass" or count > 50 else 100
            yield Figure(f"{count} at once, {name}: p95", high, "ms", limit, beside=beside)

    def _burst(self, command: list[str], count: int) -> tuple[list[float], float]:
        """Milliseconds from each one's start to its end, and of processor time for each in the mean."""
        started: dict[int, float] = {}
        ended: dict[int, float] = {}
        used: list[float] = []
        codes: set[int] = set()
        running = threading.Semaphore(0)

        def reap() -> None:
            for _ in range(count):
                running.acquire()  # without a child there is nothing to wait for
                pid, status, usage = os.wait4(-1, 0)
                ended[pid] = time.perf_counter()
                used.append(usage.ru_utime + usage.ru_stime)
                codes.add(status)

        reaper = threading.Thread(target=reap)
        reaper.start()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for place in self.inputs[:count]:
            said = os.open(place, os.O_RDONLY)
            streams = [(os.POSIX_SPAWN_DUP2, said, 0), (os.POSIX_SPAWN_DUP2, nowhere, 1)]
            before = time.perf_counter()
            started[os.posix_spawn(command[0], command, self.env, file_actions=streams)] = before
            running.release()
            os.close(said)
        reaper.join()
        os.close(nowhere)
        if codes != {0}:
            raise Failed(f"{' '.join(command[:3])} ended with {max(codes)}")
        return [(ended[pid] - at) * 1000 for pid, at in started.items()], sum(used) / count * 1000

    def _rest(self) -> None:
        """Wait until nothing runs behind the lines any more."""
        until = time.monotonic() + _PAUSE
        while (self.home / "statusline" / "busy").exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.3)


def _session(root: Path, inputs: Path, number: int) -> Path:
    """A session that is going on, and what its client tells the status line."""
    session = str(uuid.uuid4())
    path = root / "projects" / f"-home-mira-src-p{number % 20}" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    now = time.time()
    lines = []
    for answer in range(20):
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - (20 - answer) * 60))
        message = {
            "id": f"msg_01{uuid.uuid4().hex[:22]}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 300 + answer, "cache_read_input_tokens": 40_000},
        }
        line = {
            "type": "assistant",
            "uuid": str(uuid.uuid4()),
            "parentUuid": None,
            "sessionId": session,
            "timestamp": at,
            "cwd": f"/home/mira/src/p{number % 20}",
            "version": "2.1.325",
            "message": message,
        }
        lines.append(json.dumps(line) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    inputs.mkdir(parents=True, exist_ok=True)
    said = inputs / f"{number}.json"
    said.write_text(json.dumps(_told(session, path, number)), encoding="utf-8")
    return said


def _told(session: str, path: Path, number: int) -> dict[str, object]:
    folder = f"/home/mira/src/p{number % 20}"
    return {
        "hook_event_name": "Status",
        "session_id": session,
        "transcript_path": str(path),
        "cwd": folder,
        "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
        "workspace": {"current_dir": folder, "project_dir": folder, "added_dirs": []},
        "version": "2.1.325",
        "output_style": {"name": "default"},
        "cost": {"total_cost_usd": 0.51, "total_duration_ms": 1_200_000, "total_lines_added": 3},
        "context_window": {"used_percentage": 31, "context_window_size": 200_000},
        "rate_limits": {"five_hour": {"used_percentage": 42, "resets_at": int(time.time()) + 9000}},
    }
