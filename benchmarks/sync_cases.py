"""Hansard's own figures on one history."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import data
from benchmarks.measure import Failed, Run, child, cli, environment, has_command, idle_share, run, running
from benchmarks.table import Figure

MB = 1e6
_WARM_TIMES = 15
_APPEND_TIMES = 9
_START_TIMES = 15

Tell = Callable[[str], None]


class SyncCases:
    """Measures one data set; the store of the last cold sync is used by what follows it."""

    def __init__(self, dataset: data.DataSet, scratch: Path, runs: int, idle_seconds: float, tell: Tell) -> None:
        self.dataset = dataset
        self.store = scratch / "store"
        self.home = scratch / "home"
        self.runs = runs
        self.idle_seconds = idle_seconds
        self.tell = tell
        self.env = environment(
            self.home, HANSARD_HOME=str(self.store), CLAUDE_CONFIG_DIR=str(dataset.root), NO_COLOR="1"
        )

    def figures(self) -> Iterator[Figure]:
        """All figures, in the order of the table."""
        yield from self.first_answers()
        yield from self.cold()
        yield from self.memory()
        yield from self.disk()
        yield from self.warm()
        yield from self.commands()
        yield from self.idle()
        yield from self.append()  # last: it changes the history

    def first_answers(self) -> Iterator[Figure]:
        """Time the first answers of all, on an empty store, as in a terminal; the rest of the sync is waited for in between."""
        for name, arguments in (("overview", ()), ("sessions", ("sessions",)), ("usage", ("usage",))):
            took, cpu = [], []
            for number in range(1, self.runs + 1):
                self.tell(f"first {name}, {number} of {self.runs}")
                shutil.rmtree(self.store, ignore_errors=True)
                answered = run(cli("--no-wait", *arguments), self.env)
                took.append(answered.seconds)
                cpu.append(answered.cpu_seconds)
                run(cli("usage", "--by", "total", "--json"), self.env)  # which waits for the process in the background
            yield Figure(f"first {name} on an empty store", tuple(took), "s", 1)
            if any(cpu):
                yield Figure(f"first {name}, CPU time", tuple(cpu), "s")

    def cold_seconds(self) -> float:
        """Time a sync into an empty store."""
        return self._cold_sync().seconds

    def _cold_sync(self) -> Run:
        shutil.rmtree(self.store, ignore_errors=True)
        return self._sync()

    def _sync(self) -> Run:
        return run(self._command("sync"), self.env)

    def _command(self, name: str) -> list[str]:
        return cli(name) if has_command(self.home, name, "--help") else self._in_child(name)

    def _in_child(self, case: str, *more: str | Path | int) -> list[str]:
        return child(case, self.store, self.dataset.root, *more)

    def cold(self) -> Iterator[Figure]:
        """Time the floor and a cold sync, in turn."""
        parsing, whole, speed, cold, cpu = [], [], [], [], []
        for number in range(1, self.runs + 1):
            self.tell(f"floor and cold sync, {number} of {self.runs}")
            floor = run([*child()[:2], "benchmarks.floor", str(self.dataset.root)], self.env).answer
            parsing.append(floor["parsing"])
            whole.append(floor["whole"])
            speed.append(floor["bytes"] / floor["parsing"] / MB)
            synced = self._cold_sync()
            cold.append(synced.seconds)
            cpu.append(synced.cpu_seconds)
        yield Figure("floor: orjson.loads of every line, reading excluded", tuple(parsing), "s")
        yield Figure("floor: speed", tuple(speed), "MB/s")
        yield Figure("floor with reading and splitting", tuple(whole), "s")
        yield Figure("cold sync, whole process", tuple(cold), "s")
        if any(cpu):
            yield Figure("cold sync, CPU time of its processes", tuple(cpu), "s")
        for name, floors, limit in (("floor", parsing, 3), ("floor with reading", whole, 4)):
            ratios = [seconds / floor for seconds, floor in zip(cold, floors, strict=True)]
            yield Figure(f"cold sync / {name}", tuple(ratios), "x", limit)

    def memory(self) -> Iterator[Figure]:
        """Watch the memory of a cold sync, in a run that is not timed."""
        self.tell("memory of a cold sync")
        shutil.rmtree(self.store, ignore_errors=True)
        yield from peak_rss(run(self._in_child("sync"), self.env))

    def disk(self) -> Iterator[Figure]:
        """Weigh the databases against the source."""
        for what, names, limit in (
            ("record.db / source", ("record",), 35),
            ("index.db + text.db / source", ("index", "text"), 20),
            ("of which text.db", ("text",), None),
        ):
            size = sum(path.stat().st_size for name in names for path in self.store.glob(f"{name}.db*"))
            yield Figure(what, (100 * size / self.dataset.size,), "%", limit)

    def warm(self) -> Iterator[Figure]:
        """Time syncs with nothing to do."""
        self.tell("warm sync")
        took = run(self._in_child("warm", _WARM_TIMES), self.env).answer
        yield Figure("bare scandir+stat walk", _ms(took["walk"]), "ms")
        yield Figure("warm sync, in process", _ms(took["sync"]), "ms")
        ratio = statistics.median(took["sync"]) / statistics.median(took["walk"])
        yield Figure("warm sync / walk", (ratio,), "x", 2)
        yield Figure("warm sync, whole process", _ms([self._sync().seconds for _ in range(_WARM_TIMES)]), "ms")

    def commands(self) -> Iterator[Figure]:
        """Time warm commands from start to exit, in turn with a Python that does nothing."""
        self.tell("warm commands")
        asked: dict[str, list[str]] = {"overview": [], "sessions": ["sessions"], "search": ["search", "error"]}
        asked |= {"usage": ["usage"], "show": ["show", "@last"], "status": ["status"]}
        bare: list[Run] = []
        took: dict[str, list[Run]] = {name: [] for name in asked}
        for _ in range(_START_TIMES):
            bare.append(run([*cli()[:2], "pass"], self.env))
            for name, arguments in asked.items():
                took[name].append(run(cli(*arguments), self.env, codes=(0, 1)))
        yield Figure("python -c pass", _ms([one.seconds for one in bare]), "ms")
        least = min(one.seconds for one in bare)
        for name, runs in took.items():
            yield Figure(f"hansard {' '.join(asked[name])}".rstrip(), _ms([one.seconds for one in runs]), "ms", 100)
            yield Figure("  least / least of python -c pass", (min(one.seconds for one in runs) / least,), "x")

    def idle(self) -> Iterator[Figure]:
        """Watch `watch` while nothing happens."""
        self.tell("idle watch")
        run(cli("secrets", "scan", "--no-sync"), self.env)  # `watch` would do it in the background
        with running(self._command("watch"), self.env) as pid:
            share = idle_share(pid, self.idle_seconds)
        yield Figure("watch, nothing changing", (share,), "% of a core", 0.1)

    def append(self) -> Iterator[Figure]:
        """Time the way of a new line into the search."""
        self.tell("append")
        took = run(self._in_child("append", self.dataset.biggest, _APPEND_TIMES), self.env).answer
        first, *others = took["only"]
        yield Figure("line appended to the largest file → found, path known", _ms(others), "ms", 50)
        yield Figure("  the first time in a process (imports)", _ms([first]), "ms")
        yield Figure("  with a walk of the roots", _ms(took["full"]), "ms", 50)
        yield Figure("  a second walk right after (content compared)", _ms(took["again"]), "ms")


def peak_rss(measured: Run) -> Iterator[Figure]:
    """Both views of a sync's memory."""
    if measured.peak_rss:
        yield Figure("peak RSS, all processes at one moment", (measured.peak_rss / MB,), "MB", 300)
    told = measured.answer
    if "own_rss" in told:
        both = (told["own_rss"] + told["worker_rss"]) / MB
        yield Figure("sum of each process's own peak (getrusage)", (both,), "MB")


def long_line(scratch: Path, tell: Tell) -> Iterator[Figure]:
    """Watch the memory of a sync that finds one very long line."""
    tell(f"a line of {data.LONG_LINE / MB:.0f} MB")
    root, store = data.long_line(scratch), scratch / "store"
    shutil.rmtree(store, ignore_errors=True)
    measured = run(child("sync", store, root), environment(scratch / "home"))
    told = measured.answer
    peak = measured.peak_rss or told.get("own_rss", 0) + told.get("worker_rss", 0)
    yield Figure(f"a line of {data.LONG_LINE / MB:.0f} MB alone: peak RSS", (peak / MB,), "MB")
    yield Figure("  as a multiple of its size", (peak / data.LONG_LINE,), "x", 5)
    if "own_rss" in told:
        both = told["own_rss"] + told["worker_rss"]
        yield Figure("  sum of each process's own peak (getrusage), the same", (both / data.LONG_LINE,), "x")


def start_up(scratch: Path, tell: Tell) -> Iterator[Figure]:
    """Time `hansard --version` against a Python that does nothing."""
    if not has_command(scratch / "home", "--version"):
        raise Failed("start-up: there is no command line in this tree")
    tell("start-up")
    env = environment(scratch / "home")
    bare, ours = [], []
    for _ in range(_START_TIMES):
        bare.append(run([*cli()[:2], "pass"], env).seconds)
        ours.append(run(cli("--version"), env).seconds)
    yield Figure("python -c pass", _ms(bare), "ms")
    more = (statistics.median(ours) - statistics.median(bare)) * 1000
    yield Figure("hansard --version, more than that", (more,), "ms", 60)


def _ms(seconds: list[float]) -> tuple[float, ...]:
    return tuple(value * 1000 for value in seconds)
