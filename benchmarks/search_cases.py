"""Search on a history of so many blocks: the engine, the command line, memory, grep, and ripgrep beside it."""

from __future__ import annotations

import json
import math
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import data
from benchmarks.measure import Failed, child, cli, environment, has_command, run
from benchmarks.queries import EVERYTHING, Query, draw, take_sample
from benchmarks.table import Figure

MB = 1e6
EACH = 11  # queries of a class
_WARM_EACH = 3
_CLI_TIMES = 10
_DEEP_PAGES = 10
_NO_LITERAL = "[g-z]{5}[0-9]{4}[g-z]{2}"
_CLI_CLASSES = ("rare word", "two words", "phrase", "identifier, parts", "filter, common word")

Tell = Callable[[str], None]


class SearchCases:
    """Measures search on one history and its store."""

    def __init__(self, dataset: data.DataSet, scratch: Path, runs: int, tell: Tell) -> None:
        self.dataset = dataset
        self.store = scratch / "search-store"
        self.home = scratch / "home"
        self.asked = scratch / "queries.json"
        self.runs = runs
        self.tell = tell
        self.env = environment(
            self.home, HANSARD_HOME=str(self.store), CLAUDE_CONFIG_DIR=str(dataset.root), NO_COLOR="1"
        )
        sample = take_sample(dataset.root, data.SEED)
        self.queries = draw(sample, data.SEED, EACH)
        known = {query.text for query in self.queries}
        self.warm = [query.text for query in draw(sample, data.SEED + 1, _WARM_EACH) if query.text not in known]

    def prepare(self, *, keep: bool) -> Iterator[Figure]:
        """Sync the history, unless a store of the last run is to be used."""
        if not keep or not self.store.exists():
            self.tell("cold sync")
            shutil.rmtree(self.store, ignore_errors=True)
            yield Figure("cold sync, whole process", (run(cli("sync"), self.env).seconds,), "s")
        else:
            run(cli("sync"), self.env)
        yield Figure(
            "rows of the full-text index", (run(child("rows", self.store), self.env).answer["rows"],), "blocks"
        )
        for names in ("record", "index", "text"):
            size = sum(path.stat().st_size for path in self.store.glob(f"{names}.db*"))
            yield Figure(f"{names}.db", (size / MB,), "MB")

    def parts(self) -> list[Iterator[Figure]]:
        """All figures, in the order of the table; one part can fail without the others."""
        search = (self.engine("flat"), self.engine("group"), self.first(), self.memory(), self.command_line())
        return [*search, self.grep(), self.ripgrep()]

    def engine(self, group: str) -> Iterator[Figure]:
        """Time the mixed set in one process with one open engine."""
        self.tell(f"{len(self.queries)} queries, {self.runs} times, {group}")
        texts = [query.text for query in self.queries]
        self.asked.write_text(json.dumps({"warm": self.warm, "measured": texts}), encoding="utf-8")
        told = run(child("search", self.store, self.asked, self.runs, group), self.env).answer
        times: list[list[float]] = told["seconds"]
        way = "search, engine" if group == "flat" else "search, engine, grouped by session"
        yield from overall(f"{way}: {len(texts)} queries", times)
        if group != "flat":
            return
        found = 100 * sum(map(bool, told["shown"])) / len(texts)
        yield Figure("  queries with hits", (found,), "%")
        for kind, places in classes(self.queries).items():
            some = [[values[place] for place in places] for values in times]
            hits = sum(bool(told["shown"][place]) for place in places)
            yield class_figure(f"  {kind} ({len(places)}, {hits} with hits)", some)

    def first(self) -> Iterator[Figure]:
        """Time the first query after opening, in fresh processes."""
        self.tell("first query")
        some = [query.text for query in self.queries if query.kind in _CLI_CLASSES][: 2 * _CLI_TIMES : 2]
        took = [run(child("first", self.store, text), self.env).answer["seconds"] * 1000 for text in some]
        yield Figure("first query of a process, from open() on (imports)", tuple(took), "ms")

    def memory(self) -> Iterator[Figure]:
        """Watch the memory of the query that matches everything, paged ten pages deep."""
        for group in ("flat", "group"):
            self.tell(f"memory of a query that matches everything, {group}")
            measured = run(child("pages", self.store, EVERYTHING[1], _DEEP_PAGES, group), self.env)
            peak = max(measured.peak_rss, measured.answer.get("rss", 0))
            seen = measured.answer["seen"]
            what = f"matches everything, {_DEEP_PAGES} pages ({seen} {'hits' if group == 'flat' else 'sessions'}): peak RSS"
            yield Figure(what, (peak / MB,), "MB", 300)

    def command_line(self) -> Iterator[Figure]:
        """Time `hansard search` from its start to its exit."""
        if not has_command(self.home, "search", "--help"):
            raise Failed("there is no `hansard search` in this tree")
        some = [query.text for query in self.queries if query.kind in _CLI_CLASSES]
        some = some[:: max(1, len(some) // _CLI_TIMES)][:_CLI_TIMES]
        self.tell("command line")
        for what, more in (("--no-sync", ["--no-sync"]), ("with a sync that finds nothing", [])):
            took = [self._cli(text, more) * 1000 for text in some]
            figure = Figure(f"hansard search X, {what}, whole process", tuple(took), "ms", 200)
            yield beside_max(figure)

    def _cli(self, text: str, more: Sequence[str]) -> float:
        return run(cli("search", *more, "--", text), self.env, codes=(0, 1)).seconds

    def literals(self) -> list[str]:
        """A rare and a common string as they stand in the sources."""
        kinds = classes(self.queries)
        return [self.queries[kinds[kind][0]].text for kind in ("identifier, whole", "rare word", "common word")]

    def grep(self) -> Iterator[Figure]:
        """Time grep against decompressing the record once in one thread, in turn."""
        self.tell("grep")
        name, rare, common = self.literals()
        patterns = {
            f"a literal ({name})": (name, False),
            f"-i ({rare})": (rare, True),
            f"a common literal ({common})": (common, False),
            f"a regex without a literal ({_NO_LITERAL})": (_NO_LITERAL, False),
        }
        told = [
            run(child("grep", self.store, json.dumps(list(patterns.values()))), self.env).answer
            for _ in range(self.runs)
        ]
        yield Figure(
            "decompressing the record once, one thread", tuple(statistics.median(t["decompress"]) for t in told), "s"
        )
        for place, what in enumerate(patterns):
            yield Figure(f"grep, {what}", tuple(t["grep"][place] for t in told), "s")
            ratios = tuple(t["grep"][place] / t["decompress"][place] for t in told)
            yield Figure("  divided by decompressing once", ratios, "x", 2)

    def ripgrep(self) -> Iterator[Figure]:
        """Time ripgrep over the sources for the same literals."""
        rg = shutil.which("rg")
        if rg is None:
            raise Failed("ripgrep is not installed: no `rg` on PATH")
        self.tell("ripgrep")
        name, rare, common = self.literals()
        asked = {
            name: ["-F", name],
            f"-i {rare}": ["-F", "-i", rare],
            common: ["-F", common],
            _NO_LITERAL: [_NO_LITERAL],
        }
        count = [rg, "--count", "--no-ignore", "--hidden"]
        place = str(self.dataset.root / "projects")
        run([*count, "-F", name, place], self.env, codes=(0, 1))  # so that all files are in the system's cache
        for what, options in asked.items():
            took = tuple(run([*count, *options, place], self.env, codes=(0, 1)).seconds for _ in range(self.runs))
            yield Figure(f"ripgrep over the sources: {what}", took, "s")


def classes(queries: Sequence[Query]) -> dict[str, list[int]]:
    """The places of each class's queries."""
    found: dict[str, list[int]] = {}
    for place, query in enumerate(queries):
        found.setdefault(query.kind, []).append(place)
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that such a share of all does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def overall(what: str, times: Sequence[Sequence[float]]) -> Iterator[Figure]:
    """Median, p95 and maximum of all queries in milliseconds, one value for each run."""
    yield Figure(f"{what}, median", tuple(statistics.median(run) * 1000 for run in times), "ms", 10)
    yield Figure("  p95", tuple(percentile(run, 0.95) * 1000 for run in times), "ms", 50)
    yield Figure("  max", tuple(max(run) * 1000 for run in times), "ms")


def class_figure(what: str, times: Sequence[Sequence[float]]) -> Figure:
    """The median of a class in milliseconds, with its p95 and maximum beside it."""
    middle = tuple(statistics.median(run) * 1000 for run in times)
    high = statistics.median(percentile(run, 0.95) for run in times) * 1000
    most = statistics.median(max(run) for run in times) * 1000
    return Figure(what, middle, "ms", beside=(("p95", high), ("max", most)))


def beside_max(figure: Figure) -> Figure:
    """A figure of single runs with the largest of them beside it."""
    return Figure(
        figure.what, figure.values, figure.unit, figure.limit, figure.at_least, (("max", max(figure.values)),)
    )
