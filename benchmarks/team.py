"""A team's database in PostgreSQL: pushing to it, COPY beside that, and searching in it."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Failed, child, cli, run
from benchmarks.postgres import OLDEST, Server, find_programs
from benchmarks.search_cases import SearchCases, class_figure, classes, overall
from benchmarks.table import Figure

MB = 1e6
TITLE = "a team's database"
# As a small server has them: what a commit promises is on the disk.
_SETTINGS = "shared_buffers = 1GB\nmaintenance_work_mem = 256MB\nmax_wal_size = 4GB\nautovacuum = on\n"
_SCHEMA = "hansard"


class TeamCases:
    """Measures a push of the history of search, and search in what was pushed."""

    def __init__(self, cases: SearchCases, tell: Callable[[str], None]) -> None:
        self._cases = cases
        self._tell = tell

    def figures(self, *, keep: bool) -> Iterator[Figure]:
        """All figures, in the order of the table."""
        programs = find_programs()
        if programs is None:
            raise Failed(f"PostgreSQL {OLDEST} or newer is not installed: run `make postgres`")
        yield from self._cases.prepare(keep=keep)
        # Not in the scratch folder, which nobody else may enter, as the server must if it may not run as this user.
        server = Server(tempfile.mkdtemp(prefix="hansard-pg-"), programs)
        try:
            server.create(_SETTINGS, ("keeper",))
            yield from self._push(server.url("keeper"))
            yield from self._copy(server.url("keeper"))
            yield from self._search(server.url("keeper"))
        finally:
            server.remove()

    def _push(self, url: str) -> Iterator[Figure]:
        env, store = self._cases.env, self._cases.store
        run(cli("team", "init", url), env)
        self._tell("push")
        first = run(child("team-push", store, url), env)
        told, size = first.answer, self._cases.dataset.size
        yield Figure("push to an empty database", (told["seconds"],), "s")
        yield Figure("  transcripts of it per second", (size / MB / told["seconds"],), "MB/s")
        yield Figure("  rows", (told["rows"],), "rows")
        yield Figure("  peak RSS", (first.peak_rss / MB,), "MB", 300)
        again = [run(child("team-push", store, url), env).answer["seconds"] for _ in range(self._cases.runs)]
        yield Figure("push of nothing new", tuple(again), "s")

    def _copy(self, url: str) -> Iterator[Figure]:
        """COPY of the rows of texts into a table without keys, index, rights or checks: the least that a push can take."""
        import psycopg

        self._tell("COPY")
        with psycopg.connect(url, autocommit=True) as db, tempfile.TemporaryFile() as file:
            db.execute(f"SET search_path = {_SCHEMA}")
            with db.cursor().copy("COPY pushed_texts TO STDOUT") as copy:
                for piece in copy:
                    file.write(piece)
            size, took = file.tell(), []
            for _ in range(self._cases.runs):
                db.execute("CREATE TABLE copied (LIKE pushed_texts)")
                file.seek(0)
                before = time.perf_counter()
                with db.cursor().copy("COPY copied FROM STDIN") as into:
                    while piece := file.read(1 << 20):
                        into.write(piece)
                took.append(time.perf_counter() - before)
                db.execute("DROP TABLE copied")
            yield Figure("COPY of the texts into a bare table", tuple(size / MB / seconds for seconds in took), "MB/s")
            for name, what in (
                ("texts with their index", "pg_total_relation_size('pushed_texts')"),
                ("  the index of words", "pg_relation_size('texts_by_word')"),
                ("whole database", "pg_database_size(current_database())"),
            ):
                row: Any = db.execute(f"SELECT {what}").fetchone()
                yield Figure(name, (row[0] / MB,), "MB")

    def _search(self, url: str) -> Iterator[Figure]:
        cases = self._cases
        for group in ("flat", "group"):
            self._tell(f"{len(cases.queries)} queries, {cases.runs} times, {group}")
            texts = [query.text for query in cases.queries]
            cases.asked.write_text(json.dumps({"warm": cases.warm, "measured": texts}), encoding="utf-8")
            told = run(child("team-search", url, cases.asked, cases.runs, group), cases.env).answer
            times: list[list[float]] = told["seconds"]
            way = "team search" if group == "flat" else "team search, grouped by session"
            # The budgets are those of a local search: there are none for a server's.
            yield from (
                Figure(one.what, one.values, one.unit) for one in overall(f"{way}: {len(texts)} queries", times)
            )
            if told["refused"]:
                yield Figure("  refused as taking too long", (told["refused"],), "rows")
            if group == "flat":
                for kind, places in classes(cases.queries).items():
                    yield class_figure(
                        f"  {kind} ({len(places)})", [[run_[place] for place in places] for run_ in times]
                    )
        self._tell("command line")
        took = [
            run(cli("team", "search", "--database", url, "--", cases.queries[0].text), cases.env, codes=(0, 1)).seconds
        ]
        yield Figure("hansard team search X, whole process", (took[0] * 1000,), "ms")


def push(home: str, url: str) -> dict[str, float]:
    """Push everything in a store, with all texts."""
    import hansard

    with hansard.open(home) as h:
        projects = tuple(one.project for one in h.projects() if one.project)
        report = h.push_team(database=url, machine="bench", opened=projects, redact="off")
    return {"seconds": report.seconds, "rows": report.rows}


def search(url: str, queries: str, runs: str, group: str) -> dict[str, Any]:
    """Time every query once in each run, after a pass over other queries, with one connection."""
    from hansard.errors import UsageError
    from hansard.model.requests import SearchRequest
    from hansard.team.store import Team

    given = json.loads(Path(queries).read_text(encoding="utf-8"))
    took: list[list[float]] = []
    refused = 0
    with Team(url) as team:
        for number in range(-1, int(runs)):
            times = []
            for text in given["warm" if number < 0 else "measured"]:
                before = time.perf_counter()
                try:
                    team.search(SearchRequest(text, limit=10, group=group == "group"))
                except UsageError:  # it takes the server too long
                    refused += number == 0
                times.append(time.perf_counter() - before)
            took.append(times)
    return {"seconds": took[1:], "refused": refused}


CASES: dict[str, Callable[..., object]] = {"team-push": push, "team-search": search}
