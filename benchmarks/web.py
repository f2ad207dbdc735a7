"""The web app: the first byte of every page, fifty readers while a sync runs, and what it costs when nobody looks."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from benchmarks import data
from benchmarks.measure import Failed, child, cli, environment, idle_share, peak_of, run
from benchmarks.peers import Peers
from benchmarks.search_cases import beside_max
from benchmarks.table import Figure

TITLE = "web"
_TIMES = 7
_RECORDS = 50_000
_LIMIT_MS = 100.0
_READERS = 50
_READING_SECONDS = 60
_LATE = 3  # one project of so many comes while the readers read
_STARTING_SECONDS = 120

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that runs."""

    pid: int
    host: str
    port: int
    cookie: str


@contextlib.contextmanager
def serving(env: dict[str, str], *options: str) -> Iterator[Serving]:
    """Start `hansard web` on any free port, and go through the link that it prints."""
    command = cli("web", "--no-open", "--port", "0", "--host-name", "127.0.0.1", "--json", *options)
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=env["HOME"]
    ) as process:
        try:
            link = json.loads(_first_line(process))["link"]
            told = run(child("enter", link), env).answer
            yield Serving(process.pid, told["host"], told["port"], told["cookie"])
            if process.poll() is not None:
                raise Failed(f"the server ended with {process.returncode}")
        finally:
            process.terminate()
            process.wait(30)


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    """What the server prints when it listens."""
    lines: queue.Queue[bytes] = queue.Queue()
    stream = process.stdout
    if stream is None:
        raise Failed("the server has no output")
    threading.Thread(target=lambda: lines.put(stream.readline()), daemon=True).start()
    try:
        return lines.get(timeout=_STARTING_SECONDS)
    except queue.Empty:
        raise Failed("the server printed no link") from None


class Web:
    """The generated history with a session of 50,000 records beside it, in the browser's place."""

    def __init__(
        self, scratch: Path, size: int, tell: Tell, peers: Peers | None, *, seconds: int = _READING_SECONDS
    ) -> None:
        self.tell = tell
        self.peers = peers
        self.seconds = seconds
        self.home, self.scratch = scratch / "home", scratch
        self.store = scratch / "web-store"
        tell("preparing")
        source = data.bulk(scratch, size)
        long = data.long_session(scratch, _RECORDS)
        self.root = scratch / "web-history"
        self.dataset = data.working_copy(TITLE, source, self.root)
        self.long = data.biggest_of(long)
        place = self.root / self.long.relative_to(long)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.long, place)
        self.env = environment(self.home, HANSARD_HOME=str(self.store), CLAUDE_CONFIG_DIR=str(self.root), NO_COLOR="1")

    def parts(self) -> list[Iterator[Figure]]:
        """All figures, in the order of the table; one part can fail without the others."""
        return [self.pages(), self.idle(), *([self.beside(self.peers)] if self.peers else []), self.readers()]

    def pages(self) -> Iterator[Figure]:
        """Ask for every page in turn, over one connection; the clock stops at the first byte of the body."""
        self.tell("cold sync")
        shutil.rmtree(self.store, ignore_errors=True)
        run(cli("sync"), self.env)
        self.tell("every page")
        with serving(self.env, "--no-sync") as server:
            for name, path in self._places():
                took = self._ask(server, path)
                yield beside_max(Figure(f"first byte: {name}", tuple(took[1:]), "ms", _LIMIT_MS))

    def _places(self) -> list[tuple[str, str]]:
        session = self.long.stem
        middle = self.long.stat().st_size // 2
        path = self._a_file()
        return [
            ("overview", "/"),
            ("sessions", "/sessions"),
            ("sessions, with a query", "/sessions?q=cursor+tool:Bash"),
            (f"session of {_RECORDS:,} records", f"/sessions/{session}"),
            ("  its middle", f"/sessions/{session}?at={middle}"),
            ("search", "/search?q=cursor"),
            ("  its results", "/search/results?q=cursor"),
            ("usage by day and model", "/usage?by=day,model"),
            ("usage by project, all", "/usage?by=project&since="),
            ("files", "/files"),
            ("  one file's history", f"/files/history?path={quote(path, safe='')}"),
            ("tools", "/tools"),
            ("prompts", "/prompts"),
            ("SQL", "/sql?question=cost-by-day"),
            ("health", "/health"),
            ("api: sessions", "/api/sessions"),
            ("api: usage by day", "/api/usage?by=day"),
        ]

    def _a_file(self) -> str:
        """A file that the long session has changed often."""
        changes = json.loads(run(cli("show", self.long.stem, "--last", "5", "--json", "--no-sync"), self.env).output)
        text = json.dumps(changes)
        found = text.find("/home/mira/src/tidewater/")
        return text[found : text.index('"', found)].split("\\")[0] if found >= 0 else "/"

    def _ask(self, server: Serving, path: str, *, until: str = "seconds") -> list[float]:
        """Milliseconds to the first byte, or to the end with `until` as "whole"."""
        told = run(child("first-bytes", server.host, server.port, server.cookie, path, _TIMES), self.env).answer
        if told["status"] != 200:
            raise Failed(f"{path} answered {told['status']}")
        return [seconds * 1000 for seconds in told[until]]

    def idle(self) -> Iterator[Figure]:
        """Watch the server do nothing, with the watching of sources on."""
        self.tell("idle")
        with serving(self.env) as server:
            yield Figure("nobody looks, nothing changes", (idle_share(server.pid, 20),), "% of a core", 0.1)

    def beside(self, peers: Peers) -> Iterator[Figure]:
        """The same data from agentsview's server, in turn with ours over the API and as pages."""
        self.tell("agentsview")
        session = self.long.stem
        pairs = (
            ("sessions", "/sessions", "/api/v1/sessions?limit=50"),
            ("session", f"/sessions/{session}", f"/api/v1/sessions/{session}/messages?limit=100"),
            ("search", "/search/results?q=cursor", "/api/v1/search?q=cursor&limit=20"),
            ("usage", "/usage?by=day,model", "/api/v1/usage/summary"),
            ("tools", "/tools", "/api/v1/analytics/tools"),
            ("overview", "/", "/api/v1/analytics/heatmap"),
        )
        with peers.server(self.dataset) as (host, port), serving(self.env, "--no-sync") as server:
            for name, ours, theirs in pairs:
                own = self._ask(server, ours, until="whole")[1:]
                other = self._ask(Serving(0, host, port, ""), theirs, until="whole")[1:]
                yield beside_max(Figure(f"agentsview: data of {name} ({theirs.split('?')[0]})", tuple(other), "ms"))
                yield beside_max(Figure("  our whole page, drawn, in turn with it", tuple(own), "ms"))

    def readers(self) -> Iterator[Figure]:
        """Fifty readers for a minute, while a third of the history arrives and is synced, and a session grows."""
        self.tell(f"{_READERS} readers for {self.seconds} s")
        shutil.rmtree(self.store, ignore_errors=True)
        later = self._take_away()
        run(cli("sync"), self.env)
        paths = [path for name, path in self._places() if not name.startswith("api")]
        with serving(self.env) as server, peak_of(server.pid) as peak:
            arrive = threading.Thread(target=self._arrive, args=(later,), daemon=True)
            arrive.start()
            command = child("readers", server.host, server.port, server.cookie, _READERS, self.seconds, *paths)
            told = run(command, self.env).answer
            arrive.join()
            late = self._seconds_until_all()
        yield Figure(f"{_READERS} readers for {self.seconds} s while a sync runs: errors", (told["errors"],), "rows", 0)
        yield Figure("  pages read", (told["answers"],), "rows")
        took = sorted(told["seconds"])
        yield Figure(
            "  whole page, median",
            (took[len(took) // 2] * 1000,),
            "ms",
            beside=(("p95", took[int(len(took) * 0.95)] * 1000), ("max", took[-1] * 1000)),
        )
        yield Figure("  peak RSS of the server, its sync included", (peak[0] / 1e6,), "MB", 600)
        yield Figure("  after them, until everything that arrived was in the store", (late,), "s")

    def _seconds_until_all(self) -> float:
        """How long it takes the server to have every transcript."""
        wanted = sum(1 for _ in (self.root / "projects").rglob("*.jsonl"))
        begun = time.monotonic()
        while run(cli("status", "--json", "--no-sync"), self.env).answer["transcripts"] < wanted:
            if time.monotonic() - begun > _STARTING_SECONDS:
                raise Failed("the server did not find everything that arrived")
            time.sleep(1)
        return time.monotonic() - begun

    def _take_away(self) -> list[tuple[Path, Path]]:
        """Move some projects out of the history, to be put back later."""
        aside = self.scratch / "web-later"
        shutil.rmtree(aside, ignore_errors=True)
        moved = []
        for number, folder in enumerate(sorted((self.root / "projects").iterdir())):
            if number % _LATE == 0 and not (folder / self.long.name).exists():
                target = aside / folder.name
                target.parent.mkdir(parents=True, exist_ok=True)
                os.rename(folder, target)
                moved.append((target, folder))
        return moved

    def _arrive(self, later: list[tuple[Path, Path]]) -> None:
        time.sleep(3)
        for source, target in later:
            os.rename(source, target)
        live = self.root / "projects" / self.long.parent.name / self.long.name
        last = self.long.read_bytes().rstrip(b"\n").rpartition(b"\n")[2]
        end = time.monotonic() + self.seconds - 6
        while time.monotonic() < end:
            with live.open("ab") as file:
                file.write(last + b"\n")
            time.sleep(0.2)
