"""Commands that look at the whole history, each from its start to its exit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import data
from benchmarks.measure import Failed, Run, cli, environment, run
from benchmarks.table import Figure

Tell = Callable[[str], None]

_BUDGET = 2
_MB = 1e6


class Reports:
    """The generated history, in a store of its own."""

    def __init__(self, scratch: Path, source: Path, runs: int, tell: Tell, *, keep: bool) -> None:
        self.dataset = data.in_place("reports", source)
        self.runs = runs
        self.tell = tell
        store = scratch / "reports-store"
        if not keep:
            shutil.rmtree(store, ignore_errors=True)
        self.env = environment(scratch / "home", HANSARD_HOME=str(store), CLAUDE_CONFIG_DIR=str(source))

    def figures(self) -> Iterator[Figure]:
        """A row for each command, with a sync that finds nothing; CPU time of its first and least call and memory beside."""
        self.tell("syncing")
        run(cli("sync"), self.env)
        newest = json.loads(run(cli("sessions", "--limit", "1", "--json"), self.env).output)["sessions"]
        if not newest:
            raise Failed("there is no session to ask for")
        project = newest[0]["project"]
        for arguments in (
            ("doctor",),
            ("status",),
            ("sessions", "--project", project),
            ("sessions", "tool:Bash"),
            ("related", newest[0]["session_id"]),
            ("explain",),
            ("explain", "--project", project),
            ("tools",),
            ("tools", "--project", project),
            ("tools", "Bash"),
            ("usage", "--by", "tool"),
            ("files",),
            ("prompts",),
            ("reconcile",),
        ):
            yield self._figure(arguments)

    def _figure(self, arguments: tuple[str, ...]) -> Figure:
        shown = " ".join("SESSION" if arguments[0] == "related" and word != "related" else word for word in arguments)
        self.tell(shown)
        calls: list[Run] = [run(cli(*arguments, "--json"), self.env) for _ in range(self.runs)]
        first, least = calls[0].cpu_seconds, min(call.cpu_seconds for call in calls)
        peak = max(call.peak_rss for call in calls) / _MB
        what = f"hansard {shown} --json, whole process, peak RSS {peak:,.0f} MB"
        beside = (("first", calls[0].seconds), ("CPU of the first", first), ("least CPU", least))
        return Figure(what, tuple(call.seconds for call in calls), "s", _BUDGET, beside=beside)
