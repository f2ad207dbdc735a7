"""Starts programs in a scratch home and watches what they cost: wall time, memory of all their processes, CPU time."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH")
_SAMPLE_SECONDS = 0.01
_HAS_PROC = os.path.exists("/proc/self/statm")
# The console script's own words: it need not be installed.
_ENTRY = "import sys; from hansard.cli import main; sys.exit(main())"


class Failed(Exception):
    """A program that was to be measured did not do its work."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a program cost."""

    seconds: float
    cpu_seconds: float  # of it and all its descendants; 0 on Windows
    peak_rss: int  # bytes, of it and all its descendants at the same moment; 0 where there is no /proc
    output: str

    @property
    def answer(self) -> Any:
        """The JSON document it printed last."""
        return json.loads(self.output.strip().splitlines()[-1])


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the user's own: a scratch HOME, and no variable that names a place or changes how Python runs.

    Above all no PYTHONDONTWRITEBYTECODE: with it every start would compile every module.
    """
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    places = dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), str(home))
    return {**kept, **places, "PYTHONPATH": os.pathsep.join((str(PROJECT / "src"), str(PROJECT))), **more}


@functools.cache
def has_command(home: Path, *arguments: str) -> bool:
    """Whether this tree's command line knows a command; the engine is measured directly where it does not."""
    try:
        run(cli(*arguments), environment(home))
    except Failed:
        return False
    return True


def cli(*arguments: str) -> list[str]:
    """The `hansard` command with these arguments."""
    return [sys.executable, "-c", _ENTRY, *arguments]


def child(*arguments: str | Path | int) -> list[str]:
    """One of the measurements in `benchmarks.child`."""
    return [sys.executable, "-m", "benchmarks.child", *map(str, arguments)]


def run(command: Sequence[str], env: Mapping[str, str], *, codes: Collection[int] = (0,)) -> Run:
    """Run a program to its end; `codes` are the exits that mean it did its work."""
    started, used = time.perf_counter(), _children_cpu()
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=env["HOME"]
    ) as process:
        with _sampling(process.pid) as peak:
            output, errors = process.communicate()
        seconds = time.perf_counter() - started
    if process.returncode not in codes:
        told = (errors or output).decode("utf-8", "replace").strip()[-2000:]
        raise Failed(f"{' '.join(command[:6])} ended with {process.returncode}: {told}")
    return Run(seconds, _children_cpu() - used, peak[0], output.decode("utf-8", "replace"))


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


@contextlib.contextmanager
def running(command: Sequence[str], env: Mapping[str, str]) -> Iterator[int]:
    """Keep a program running, and end it afterwards."""
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=env["HOME"]
    ) as process:
        try:
            yield process.pid
            if process.poll() is not None:
                raise Failed(f"{' '.join(command[:6])} did not stay: it ended with {process.returncode}")
        finally:
            process.terminate()


def peak_of(pid: int) -> contextlib.AbstractContextManager[list[int]]:
    """Watch the memory of a process that runs, and of its descendants: the most that they had at one moment."""
    return _sampling(pid)


@contextlib.contextmanager
def _sampling(pid: int) -> Iterator[list[int]]:
    peak = [0]
    done = threading.Event()

    def sample() -> None:
        while not done.wait(_SAMPLE_SECONDS):
            peak[0] = max(peak[0], sum(map(_rss, _family(pid))))

    if not _HAS_PROC:
        yield peak
        return
    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for member in found:
        with contextlib.suppress(OSError):
            found += map(int, Path(f"/proc/{member}/task/{member}/children").read_text().split())
    return found


def _rss(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):  # it ended between two looks
        return 0


def cpu_seconds(pid: int) -> float:
    """CPU time that a process and its descendants have used, to the nanosecond (the scheduler's own count)."""
    total = 0
    for member in _family(pid):
        for task in Path(f"/proc/{member}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def idle_share(pid: int, seconds: float) -> float:
    """Per cent of one core that a process uses once it has come to rest."""
    if not _HAS_PROC:
        raise Failed("idle CPU is read from /proc, which this system does not have")
    deadline = time.monotonic() + 60
    before = -1.0
    while time.monotonic() < deadline and (now := cpu_seconds(pid)) - before > 0.01:
        before = now
        time.sleep(4)  # longer than the pauses in which it looks around
    started, used = time.perf_counter(), cpu_seconds(pid)
    time.sleep(seconds)
    return 100 * (cpu_seconds(pid) - used) / (time.perf_counter() - started)
