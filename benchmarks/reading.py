"""Sessions as files and in the terminal: exports beside claude-code-log, their memory, and the end of a long session."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.measure import Failed, Run, child, cli, environment, has_command, run
from benchmarks.peers import Peers
from benchmarks.search_cases import beside_max
from benchmarks.table import Figure

MB = 1e6
FORMATS = ("html", "markdown", "json", "jsonl", "csv", "parquet")
_MEMORY = ("html", "json", "parquet")  # whose memory has a budget
_CLI_TIMES = 7
_RECORDS = 50_000
_MESSAGES = 10_000

Tell = Callable[[str], None]


class Exports:
    """Everything as files, again and again into a folder that is not there yet, and once more without any change."""

    def __init__(self, scratch: Path, source: Path, runs: int, tell: Tell, peers: Peers | None) -> None:
        self.dataset = data.in_place("reading, public", source)
        self.store, self.out, self.copy = (scratch / f"reading-{name}" for name in ("store", "out", "copy"))
        self.home = scratch / "home"
        self.runs = runs
        self.tell = tell
        self.peers = peers
        self.env = environment(self.home, HANSARD_HOME=str(self.store), CLAUDE_CONFIG_DIR=str(source), NO_COLOR="1")

    def figures(self) -> Iterator[Figure]:
        """HTML, each run followed by one of claude-code-log; then the other formats."""
        if not has_command(self.home, "export", "--help"):
            raise Failed("there is no `hansard export` in this tree")
        self.tell("cold sync")
        shutil.rmtree(self.store, ignore_errors=True)
        synced = run(cli("sync"), self.env)
        self._export("html")  # compiles what is imported
        ours: list[Run] = []
        theirs: list[tuple[Run, Run]] = []
        for number in range(1, self.runs + 1):
            self.tell(f"html, {number} of {self.runs}")
            ours.append(self._export("html"))
            if self.peers is not None:
                self.tell(f"claude-code-log, {number} of {self.runs}")
                theirs.append(self._peer(self.peers))
        yield from self._own("html", ours)
        if theirs:
            yield from _beside(synced, ours, theirs)
        for form in FORMATS[1:]:
            self.tell(form)
            yield from self._own(form, [self._export(form) for _ in range(self.runs)])

    def _own(self, form: str, measured: list[Run]) -> Iterator[Figure]:
        made = json.loads(measured[-1].output)
        what = f"export --all --format {form}, fresh folder ({made['written']:,} files, {made['bytes'] / MB:,.0f} MB)"
        yield Figure(what, tuple(one.seconds for one in measured), "s")
        if any(one.cpu_seconds for one in measured):
            yield Figure("  CPU time of all its processes", tuple(one.cpu_seconds for one in measured), "s")
        if any(one.peak_rss for one in measured):
            limit = 300 if form in _MEMORY else None
            yield Figure("  peak RSS, all of them", tuple(one.peak_rss / MB for one in measured), "MB", limit)
        again = [self._export(form, fresh=False) for _ in range(_CLI_TIMES)]
        if any(json.loads(one.output)["written"] for one in again):
            raise Failed(f"a second export of an unchanged history as {form} wrote something")
        yield beside_max(Figure("  again, which writes nothing", tuple(one.seconds * 1000 for one in again), "ms"))

    def _export(self, form: str, *, fresh: bool = True) -> Run:
        to = self.out / form
        if fresh:
            shutil.rmtree(to, ignore_errors=True)
        return run(cli("export", "--all", "--format", form, "--to", str(to), "--json"), self.env)

    def _peer(self, peers: Peers) -> tuple[Run, Run]:
        """Both from a copy of the history without its cache, and with the cache that it has made there."""
        copy = data.working_copy("copy", self.dataset.root, self.copy)  # its cache goes there
        return peers.pages(copy.root, self.out / "first"), peers.pages(copy.root, self.out / "second")


def _beside(synced: Run, ours: list[Run], theirs: list[tuple[Run, Run]]) -> Iterator[Figure]:
    first, cached = [one for one, _ in theirs], [one for _, one in theirs]
    yield Figure("claude-code-log --all-projects --combined no, first time", tuple(one.seconds for one in first), "s")
    yield Figure("  CPU time of all its processes", tuple(one.cpu_seconds for one in first), "s")
    yield Figure("  peak RSS, all of them", tuple(one.peak_rss / MB for one in first), "MB")
    pairs = list(zip(first, ours, strict=True))
    ratios = tuple(theirs.seconds / own.seconds for theirs, own in pairs)
    yield Figure("  divided by hansard's html, in turn with it", ratios, "x", 10, at_least=True)
    if all(own.cpu_seconds for own in ours):
        spent = tuple(theirs.cpu_seconds / own.cpu_seconds for theirs, own in pairs)
        yield Figure("  the same in CPU time", spent, "x", 10, at_least=True)
    both = tuple(theirs.seconds / (own.seconds + synced.seconds) for theirs, own in pairs)
    yield Figure("  divided by hansard's cold sync and html together", both, "x")
    yield Figure("claude-code-log with its cache, fresh folder", tuple(one.seconds for one in cached), "s")
    again = tuple(theirs.seconds / own.seconds for theirs, own in zip(cached, ours, strict=True))
    yield Figure("  divided by hansard's html", again, "x")


class LongSession:
    """Two generated sessions: one of many records to be read at its end, one to be looked at as a page."""

    def __init__(self, scratch: Path, runs: int, tell: Tell) -> None:
        self.home = scratch / "home"
        self.store, self.page = scratch / "reading-long-store", scratch / "reading-page.html"
        self.runs = runs
        self.tell = tell
        self.tell("preparing a long session")
        roots = {records: data.long_session(scratch, records) for records in (_RECORDS, _MESSAGES)}
        self.sessions = {records: data.biggest_of(root).stem for records, root in roots.items()}
        self.dataset = data.in_place(f"reading, a session of {_RECORDS:,} records", roots[_RECORDS])
        self.env = environment(self.home, HANSARD_HOME=str(self.store), NO_COLOR="1")
        self.env["CLAUDE_CONFIG_DIR"] = os.pathsep.join(map(str, roots.values()))

    def parts(self) -> list[Iterator[Figure]]:
        """All figures, in the order of the table; one part can fail without the others."""
        return [self.showing(), self.whole_page()]

    def showing(self) -> Iterator[Figure]:
        """Time `hansard show` from its start to its exit."""
        shutil.rmtree(self.store, ignore_errors=True)
        run(cli("sync"), self.env)
        if "--last" not in run(cli("show", "--help"), self.env).output:
            raise Failed("`hansard show` has no --last in this tree")
        self.tell("show")
        session = self.sessions[_RECORDS]
        for what, times, limit in (
            (("--last", "3"), _CLI_TIMES, 300.0),
            (("--last", "3", "--no-sync"), _CLI_TIMES, None),
            (("--last", "3", "--json"), _CLI_TIMES, None),
            (("--turn", "1"), _CLI_TIMES, None),
            (("--turn", "900"), _CLI_TIMES, None),
            ((), self.runs, None),
            (("--json",), self.runs, None),
        ):
            measured = [run(cli("show", session, *what), self.env) for _ in range(times)]
            if session not in measured[0].output and session[:8] not in measured[0].output:
                raise Failed(f"show {' '.join(what)} did not show the session")
            name = " ".join(("hansard show SESSION", *what))
            took = tuple(one.seconds * 1000 for one in measured)
            yield beside_max(Figure(f"{name}, whole process", took, "ms", limit))
            if times == self.runs:
                yield Figure("  peak RSS", tuple(one.peak_rss / MB for one in measured), "MB")

    def whole_page(self) -> Iterator[Figure]:
        """Export one session as a page, and open it."""
        self.tell("page")
        command = cli("export", self.sessions[_MESSAGES], "--to", str(self.page), "--force", "--json")
        measured = [run(command, self.env) for _ in range(self.runs)]
        yield Figure(f"page of a session of {_MESSAGES:,} messages", tuple(one.seconds for one in measured), "s")
        yield Figure("  its size", (self.page.stat().st_size / MB,), "MB")
        yield Figure("  peak RSS", tuple(one.peak_rss / MB for one in measured), "MB", 300)
        told: dict[str, Any] = run(child("load-page", self.page, self.runs), self.env).answer
        if "missing" in told:
            raise Failed(f"the page was not opened: {told['missing']}")
        yield Figure("  in headless Chromium: loaded", tuple(told["load"]), "ms")
        if told["paint"]:
            yield Figure("  first contentful paint", tuple(told["paint"]), "ms")
        yield Figure("  elements", tuple(told["elements"]), "rows")
