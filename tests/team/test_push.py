"""What machines push is what they have, in whatever order, however often, and wherever a push ends."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import hansard
from benchmarks.load.metered import write_metered
from hansard.engine import Hansard
from hansard.errors import HansardError, StoreBusy
from hansard.sql.tables import EVERY, PRICES
from hansard.team import push as pushing
from hansard.team.connect import Database, ServerUnusable
from hansard.team.push import PushReport
from hansard.team.texts import TEXTS
from tests.team.conftest import HISTORIES, TOKEN, Place, Twice, everything_of, push, write_session

NUMBERS = (
    "count(*), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_5m_tokens),"
    " sum(cache_write_1h_tokens), sum(web_searches), count(*) FILTER (WHERE is_lower_bound),"
    " count(*) FILTER (WHERE is_progress_only), sum(cost_usd)"
)
KEYS = {
    "total": "''",
    "day": "to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    "model": "nullif(model, '')",
    "project": "nullif(project, '')",
    "session": "nullif(session_id, '')",
}


def content(place: Place) -> dict[str, list[Any]]:
    """Every pushed row, with names in place of the server's numbers."""
    with place.database() as database:
        found = {}
        for table in (*EVERY, TEXTS):
            columns = ", ".join(f"x.{name}" for name in table.columns)
            found[table.name] = database.rows(
                f"SELECT m.label, s.project, s.is_open, {columns} FROM {table.name} x"
                " JOIN machines m ON m.id = x.machine JOIN scopes s ON s.id = x.scope ORDER BY x::text"
            )
            found[table.name].sort(key=repr)
        found["rates"] = sorted(database.rows(f"SELECT {', '.join(PRICES.columns)} FROM {PRICES.name}"), key=repr)
        for name, columns in (
            ("pages", "x.session_id, x.transcript, x.page, x.digest"),
            ("text_pages", "x.session_id, x.transcript, x.page, x.digest"),
            ("session_states", "x.session_id, x.state"),
        ):
            found[name] = sorted(
                database.rows(f"SELECT m.label, {columns} FROM {name} x JOIN machines m ON m.id = x.machine"), key=repr
            )
        return found


def check_figures(h: Hansard, place: Place) -> None:
    """Totals, sessions, calls, prompts and projects are those of the reports, to the last digit."""
    with place.database() as database:
        for by, key in KEYS.items():
            report = h.usage(by=by, timezone="UTC")
            said = {
                tuple(row.key.values()) or ("",): (
                    *(row.api_messages, row.input_tokens, row.output_tokens, row.cache_read_tokens),
                    *(row.cache_write_5m_tokens, row.cache_write_1h_tokens, row.web_searches),
                    *(row.lower_bound_messages, row.progress_only_messages, row.cost_usd),
                )
                for row in report.rows
            }
            assert {row[:1]: row[1:] for row in database.rows(f"SELECT {key}, {NUMBERS} FROM usage GROUP BY 1")} == said
        names = (
            "session_id project prompts messages tool_calls tool_errors agents input_tokens output_tokens cache_read_tokens"
            " cache_write_tokens api_messages lower_bound_messages cost_usd started_at ended_at"
        ).split()
        listed = {
            tuple(getattr(session, name) for name in names) for session in h.sessions(limit=None, debris=True).sessions
        }
        assert set(database.rows(f"SELECT {', '.join(names)} FROM sessions")) == listed
        models = {
            session.session_id: session.unpriced_models for session in h.sessions(limit=None, debris=True).sessions
        }
        found = database.rows("SELECT session_id, unpriced_models FROM sessions")
        assert {key: tuple(json.loads(value)) for key, value in found} == models
        calls = database.one("SELECT count(*), count(*) FILTER (WHERE is_error) FROM tool_calls WHERE NOT is_copy")
        tools = h.tools().totals
        assert tuple(calls) == (tools.calls, tools.errors)
        projects = {
            (project.project, project.sessions, project.output_tokens, project.cost_usd) for project in h.projects()
        }
        assert set(database.rows("SELECT project, sessions, output_tokens, cost_usd FROM projects")) == projects


@pytest.mark.parametrize("name", HISTORIES)
def test_figures_are_those_of_the_reports(name: str, twice: Callable[[str], Twice]) -> None:
    """Also if the same history is pushed by two machines."""
    h, place = twice(name)
    assert place.rows("SELECT count(*) FROM machines") == [(2,)]
    check_figures(h, place)


def test_machines_merge_as_one_store_would(metered: dict[str, Hansard], place: Place) -> None:
    for machine in ("bob", "ann"):
        push(metered[machine], place, machine)
    assert place.rows("SELECT FROM pushed_usage_lines WHERE is_shared LIMIT 1")
    with place.database() as database:
        for by in ("total", "day", "model", "session"):
            report = metered["both"].usage(by=by, timezone="UTC")
            said = {
                tuple(row.key.values()) or ("",): (row.api_messages, row.output_tokens, row.cost_usd)
                for row in report.rows
            }
            rows = database.rows(
                f"SELECT {KEYS[by]}, count(*), sum(output_tokens), sum(cost_usd) FROM usage GROUP BY 1"
            )
            assert {row[:1]: row[1:] for row in rows} == said


def push_all(h: Hansard, place: Place, machine: str) -> PushReport:
    """Push with the texts of all projects."""
    return push(h, place, machine, opened=everything_of(h))


def test_pushing_again_changes_nothing(metered: dict[str, Hansard], place: Place) -> None:
    first = push_all(metered["ann"], place, "laptop")
    before = content(place)
    again = push_all(metered["ann"], place, "laptop")
    assert (again.sessions, again.rows, again.pages, again.unchanged) == (0, 0, 0, first.sessions)
    assert content(place) == before


def test_increments_end_where_one_push_does(tmp_path: Path, make_place: Callable[[], Place]) -> None:
    """Lines are appended, a file is rewritten and one more comes; each push sends the last pages only."""
    write_metered(tmp_path / "all", messages=700)
    paths = sorted((tmp_path / "all" / "projects").rglob("*.jsonl"))
    place = make_place()
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        for step in range(1, 4):
            for path in paths[: len(paths) * step // 3]:
                copy = tmp_path / "claude" / path.relative_to(tmp_path / "all")
                copy.parent.mkdir(parents=True, exist_ok=True)
                lines = path.read_bytes().splitlines(keepends=True)
                copy.write_bytes(b"".join(lines[len(lines) // 8 * (step == 2) : len(lines) * step // 3]))
            h.sync()
            push_all(h, place, "laptop")
        once = make_place()
        push_all(h, once, "laptop")
    assert content(place) == content(once)


def test_sessions_that_are_gone_are_removed(metered: dict[str, Hansard], make_place: Callable[[], Place]) -> None:
    place, once = make_place(), make_place()
    push_all(metered["both"], place, "laptop")
    report = push_all(metered["bob"], place, "laptop")
    push_all(metered["bob"], once, "laptop")
    assert report.removed
    assert content(place) == content(once)


class _KilledError(HansardError):
    """The process ended."""


def test_a_push_that_ends_anywhere_is_completed_by_the_next(
    metered: dict[str, Hansard], make_place: Callable[[], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before each commit; the connection is lost at once, as with a process."""
    monkeypatch.setattr(pushing, "_BATCH", 900)
    monkeypatch.setattr(pushing, "_TEXT_BATCH", 30_000)
    monkeypatch.setattr(pushing, "_MOST_SESSIONS", 3)
    once = make_place()
    push_all(metered["ann"], once, "laptop")
    wanted = content(once)
    whole = Database.transaction
    commits, ends_at = 0, 0

    @contextmanager
    def transaction(database: Database) -> Iterator[None]:
        nonlocal commits
        with whole(database):
            yield
            commits += 1
            if commits == ends_at:
                database.close()
                raise _KilledError

    monkeypatch.setattr(Database, "transaction", transaction)
    for number in count(1):
        place = make_place()
        commits, ends_at = 0, number
        with suppress(_KilledError, ServerUnusable):
            push_all(metered["ann"], place, "laptop")
        if commits < number:
            assert number > 6
            break
        ends_at = 0
        push_all(metered["ann"], place, "laptop")
        assert content(place) == wanted


def test_the_server_ends_the_connection(
    metered: dict[str, Hansard], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = pushing._Push._replace

    def interrupted(*given: Any) -> None:
        replace(*given)
        place.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'keeper'"
        )

    monkeypatch.setattr(pushing._Push, "_replace", interrupted)
    with pytest.raises(ServerUnusable, match="team's database"):
        push_all(metered["ann"], place, "laptop")
    monkeypatch.undo()
    push_all(metered["ann"], place, "laptop")
    check_figures(metered["ann"], place)


def test_two_machines_at_once(
    metered: dict[str, Hansard], make_place: Callable[[], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither misses that the other has the same messages."""
    monkeypatch.setattr(pushing, "_BATCH", 500)
    monkeypatch.setattr(pushing, "_TEXT_BATCH", 20_000)
    place, once = make_place(), make_place()
    homes = {machine: (metered[machine].home, metered[machine].roots[0].path) for machine in ("ann", "bob")}

    def run(machine: str) -> None:
        home, root = homes[machine]
        with hansard.open(home, [root]) as h:
            push_all(h, place, machine)

    threads = [threading.Thread(target=run, args=(machine,)) for machine in homes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for machine in homes:
        push_all(metered[machine], once, machine)
    assert content(place) == content(once)
    shared = "SELECT message_key, machine, is_shared FROM pushed_usage_lines"
    sums = "SELECT session_id, count(*), sum(output_tokens) FROM usage GROUP BY 1 ORDER BY 1"
    assert sum(row[2] for row in place.rows(shared)) == sum(row[2] for row in once.rows(shared)) > 0
    assert place.rows(sums) == once.rows(sums)


def test_one_push_of_a_machine_at_a_time(
    metered: dict[str, Hansard], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = pushing._Push._push_rates

    def meanwhile(*given: Any) -> None:
        monkeypatch.undo()
        monkeypatch.setattr(pushing, "_PATIENCE", 20)
        with pytest.raises(StoreBusy, match="another push of keeper@laptop is running"):
            push(metered["bob"], place, "laptop")
        push(metered["bob"], place, "desktop")
        rates(*given)

    monkeypatch.setattr(pushing._Push, "_push_rates", meanwhile)
    push(metered["ann"], place, "laptop")


def everything(place: Place) -> str:
    """The whole database as text."""
    with place.database() as database:
        tables = database.rows("SELECT tablename FROM pg_tables WHERE schemaname = %s", (place.schema,))
        return "\n".join(row[0] for (name,) in tables for row in database.rows(f'SELECT x::text FROM "{name}" x'))


def test_texts_of_opened_projects_only(tmp_path: Path, place: Place) -> None:
    write_session(tmp_path / "claude", "/src/webshop", "heron")
    write_session(tmp_path / "claude", "/src/secrets", "otter")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        push(h, place, "laptop")
        assert "heron" not in everything(place)
        assert "otter" not in everything(place)
        assert "/src/secrets" in everything(place)  # figures are by project
        report = push(h, place, "laptop", opened=("webshop",))
        assert report.opened == ("/src/webshop",)
        for words in ("heron title", "heron prompt", "heron.py"):
            assert words in everything(place)
        assert "otter" not in everything(place)
        assert TOKEN not in everything(place)  # redacted
        assert re.search(r"heron prompt \[[a-z-]+:[0-9a-f]{4}\]", everything(place))
        push(h, place, "laptop")
        assert "heron" not in everything(place)


def test_what_is_forgotten_is_removed(tmp_path: Path, place: Place) -> None:
    write_session(tmp_path / "claude", "/src/webshop", "heron")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        push(h, place, "laptop", opened=("webshop",))
        assert "heron answer" in everything(place)
        h.forget(messages=("-src-webshop-2",))
        push(h, place, "laptop", opened=("webshop",))
    assert "heron answer" not in everything(place)
    assert "heron prompt" in everything(place)


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE pushed_sessions; --", '"quoted" \\ %s {} \t', "\u202e\U0001f4a9 名前", "x" * 300]
)
def test_names_are_data(name: str, place: Place, tmp_path: Path) -> None:
    write_session(tmp_path / "claude", f"/src/{name[:60]}".replace("\t", ""), "heron")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        assert push(h, place, name).machine == f"keeper@{name}"
        push(h, place, name, opened=(name,))
        check_figures(h, place)


def test_a_machine_needs_a_name(metered: dict[str, Hansard], place: Place) -> None:
    with pytest.raises(HansardError, match="needs a name"):
        push(metered["ann"], place, " ")


def test_a_copy_of_a_store_is_another_machine(tmp_path: Path, hard: tuple[Hansard, Any], place: Place) -> None:
    """The same sessions pushed from a copy of the store count once, whoever pushes."""
    shutil.copytree(hard[0].home, tmp_path / "copy")
    with place.team() as team:
        team.grant("ann")
    with hansard.open(tmp_path / "copy") as h:
        push(h, place, "laptop", login="ann")
    push(hard[0], place, "laptop")
    check_figures(hard[0], place)
    assert place.rows("SELECT DISTINCT person FROM usage") == [("ann",)]
