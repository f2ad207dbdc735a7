"""The ledger on a history of so many API messages: reports, prices, explanations; and its command beside ccusage on a gigabyte."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.measure import Failed, Run, child, cli, environment, has_command, run
from benchmarks.peers import Peers
from benchmarks.search_cases import beside_max
from benchmarks.table import Figure

MB = 1e6
_CLI_TIMES = 7
_ANSWERS = 9
_DAILY = ("usage", "--by", "day", "--json")
REPORTS: dict[str, tuple[dict[str, Any], float | None]] = {
    "day": ({"by": "day"}, 300),
    "hour": ({"by": "hour"}, None),
    "month": ({"by": "month"}, None),
    "model": ({"by": "model"}, None),
    "session": ({"by": "session"}, None),
    "project": ({"by": "project"}, None),
    "agent": ({"by": "agent"}, None),
    "branch": ({"by": "branch"}, None),
    "block": ({"by": "block"}, None),
    "tool, with the work done": ({"by": "tool"}, None),
    "day, model": ({"by": ["day", "model"]}, None),
    "day, project": ({"by": ["day", "project"]}, None),
    "day, with the models of each": ({"by": "day", "breakdown": True}, None),
    "day, of one project": ({"by": "day", "query": "project:ledger"}, None),
    "day, of one tool": ({"by": "day", "query": "tool:bash"}, None),
    "total": ({"by": "total"}, None),
}

Tell = Callable[[str], None]


class LedgerCases:
    """Measures the ledger on one history and its store."""

    def __init__(self, scratch: Path, source: Path, runs: int, tell: Tell, *, keep: bool) -> None:
        self.store, history = scratch / "ledger-store", scratch / "ledger-history"
        self.home = scratch / "home"
        self.runs = runs
        self.tell = tell
        self.keep = keep and self.store.exists() and history.exists()
        self.dataset = data.in_place("ledger", history) if self.keep else data.working_copy("ledger", source, history)
        self.env = environment(
            self.home, HANSARD_HOME=str(self.store), CLAUDE_CONFIG_DIR=str(self.dataset.root), NO_COLOR="1"
        )

    def parts(self) -> list[Iterator[Figure]]:
        """All figures, in the order of the table; one part can fail without the others."""
        reading = (self.engine(), self.first(), self.command_line(), self.explain())
        return [self.prepare(), *reading, self.repricing(), self.answer()]  # the last one changes the history

    def prepare(self) -> Iterator[Figure]:
        """Sync the history, unless a store of the last run is to be used."""
        if not self.keep:
            self.tell("cold sync")
            shutil.rmtree(self.store, ignore_errors=True)
            measured = run(child("settling", self.store, self.dataset.root), self.env)
            told = measured.answer
            yield Figure("cold sync, in process", (told["seconds"],), "s")
            yield Figure("  of which prices and sums", (told["settling"],), "s")
            yield Figure("  their share", (100 * told["settling"] / told["seconds"],), "%")
            if measured.peak_rss:
                yield Figure("  peak RSS, all processes at one moment", (measured.peak_rss / MB,), "MB", 300)
        found = run(child("counts", self.store), self.env).answer
        yield Figure("messages counted", (found["usage"],), "rows")
        yield Figure("  sums per quarter of an hour", (found["spending"],), "rows")
        yield Figure("index.db", (sum(path.stat().st_size for path in self.store.glob("index.db*")) / MB,), "MB")

    def engine(self) -> Iterator[Figure]:
        """Time reports in one process with one open engine."""
        self.tell(f"{len(REPORTS)} reports, {self.runs} times")
        given = [options for options, _ in REPORTS.values()]
        measured = run(child("usage", self.store, json.dumps(given), self.runs), self.env)
        times: list[list[float]] = measured.answer["seconds"]
        for place, (name, (_, limit)) in enumerate(REPORTS.items()):
            yield Figure(f"usage, engine, by {name}", tuple(row[place] * 1000 for row in times), "ms", limit)
        peak = max(measured.peak_rss, measured.answer.get("rss", 0))
        yield Figure("  peak RSS of the process with all of them", (peak / MB,), "MB", 300)

    def first(self) -> Iterator[Figure]:
        """Time the first report after opening, in fresh processes."""
        self.tell("first report")
        took = [run(child("first-usage", self.store), self.env).answer["seconds"] * 1000 for _ in range(_CLI_TIMES)]
        yield Figure("first report of a process, by day, from open() on (imports)", tuple(took), "ms")

    def command_line(self) -> Iterator[Figure]:
        """Time `hansard usage` from its start to its exit."""
        _needs_command(self.home)
        self.tell("command line")
        for what, more in (("--no-sync", ("--no-sync",)), ("with a sync that finds nothing", ())):
            took = [run(cli(*_DAILY, *more), self.env).seconds * 1000 for _ in range(_CLI_TIMES)]
            yield beside_max(Figure(f"hansard usage --by day --json, {what}, whole process", tuple(took), "ms"))

    def explain(self) -> Iterator[Figure]:
        """Time the explanations of the largest day and session."""
        self.tell("explanations")
        measured = run(child("explain", self.store, self.runs), self.env)
        told = measured.answer
        for place, what in enumerate(("day", "session")):
            took = tuple(row[place] * 1000 for row in told["seconds"])
            yield Figure(f"explain, engine, the {what} with most messages ({told['messages'][place]:,})", took, "ms")
        yield Figure("  peak RSS", (max(measured.peak_rss, told.get("rss", 0)) / MB,), "MB", 300)

    def repricing(self) -> Iterator[Figure]:
        """Time a sync that finds other prices, and nothing else."""
        self.tell("repricing")
        measured = run(child("repricing", self.store, self.runs), self.env)
        told = measured.answer
        yield Figure("sync after another price: everything priced again", tuple(told["seconds"]), "s")
        yield Figure("  peak RSS", (max(measured.peak_rss, told.get("rss", 0)) / MB,), "MB", 300)

    def answer(self) -> Iterator[Figure]:
        """Time the way of a new answer into the reports."""
        self.tell("append")
        told = run(child("answer", self.store, self.dataset.root, self.dataset.biggest, _ANSWERS), self.env).answer
        yield Figure("answer appended to the largest file → counted, path known", _ms(told["seconds"]), "ms", 50)
        yield Figure("  its CPU time; the rest waits for the disk", _ms(told["cpu"]), "ms")
        yield Figure("  of which prices and sums", _ms(told["settling"]), "ms")


class Daily:
    """`hansard usage --by day` on a gigabyte, in turn with ccusage where it is installed."""

    def __init__(self, scratch: Path, source: Path, runs: int, tell: Tell, peers: Peers | None, *, keep: bool) -> None:
        self.dataset = data.in_place("ledger, bulk", source)
        self.store = scratch / "ledger-bulk-store"
        self.home = scratch / "home"
        self.runs = runs
        self.tell = tell
        self.peers = peers
        self.keep = keep and self.store.exists()
        self.env = environment(self.home, HANSARD_HOME=str(self.store), CLAUDE_CONFIG_DIR=str(source), NO_COLOR="1")

    def figures(self) -> Iterator[Figure]:
        """Both, each run of one followed by one of the other."""
        _needs_command(self.home)
        if not self.keep:
            self.tell("cold sync")
            shutil.rmtree(self.store, ignore_errors=True)
        run(cli("sync"), self.env)
        ways = {"with a sync that finds nothing": _DAILY, "--no-sync": (*_DAILY, "--no-sync")}
        ours: dict[str, list[Run]] = {what: [] for what in ways}
        theirs: list[Run] = []
        for number in range(1, max(self.runs, _CLI_TIMES) + 1):
            for what, arguments in ways.items():
                ours[what].append(run(cli(*arguments), self.env))
            if self.peers is not None and number <= self.runs:
                self.tell(f"ccusage, {number} of {self.runs}")
                theirs.append(self.peers.daily(self.dataset))
        self._compare(ours["--no-sync"][0], theirs)
        for what, measured in ours.items():
            took = tuple(one.seconds * 1000 for one in measured)
            yield beside_max(Figure(f"hansard usage --by day --json, {what}, whole process", took, "ms"))
            yield Figure("  peak RSS", tuple(one.peak_rss / MB for one in measured), "MB", 300)
        if theirs:
            yield Figure("ccusage: daily --json --offline, whole process", tuple(one.seconds for one in theirs), "s")
            yield Figure("  peak RSS", tuple(one.peak_rss / MB for one in theirs), "MB")
            for what, measured in ours.items():
                middle = statistics.median(one.seconds for one in measured)
                ratios = tuple(one.seconds / middle for one in theirs)
                yield Figure(f"  divided by hansard's, {what}", ratios, "x", 5, at_least=True)

    def _compare(self, ours: Run, theirs: list[Run]) -> None:
        """Both must have counted something, and nearly the same days."""
        rows = json.loads(ours.output)["rows"]
        if not rows:
            raise Failed("hansard found nothing to count")
        if theirs and abs(len(rows) - len(json.loads(theirs[0].output)["daily"])) > 2:
            raise Failed(f"hansard tells of {len(rows)} days, ccusage of another number")


def _needs_command(home: Path) -> None:
    if not has_command(home, "usage", "--help"):
        raise Failed("there is no `hansard usage` in this tree")


def _ms(seconds: list[float]) -> tuple[float, ...]:
    return tuple(value * 1000 for value in seconds)
