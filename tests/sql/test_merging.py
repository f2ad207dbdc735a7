"""Rows of several machines, merged in SQL, are those of one store that has the files of all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.sql.merging import NAMES, USAGE_LINES, is_content, merged_usage, session_homes
from hansard.sql.session_views import SESSIONS, TRANSCRIPTS
from hansard.sql.view import Type, View
from hansard.sql.views import VIEWS
from tests.machines import two_machines
from tests.recordings import History, Recording

HERE = {"transcript", "machine"}  # numbered by each store


def select(h: Hansard, view: View) -> Iterator[Any]:
    h.reader.db.create_scalar_function("usage_cost", lambda *_: None)
    return h.reader.rows(view.sql())


def lines_of(h: Hansard) -> list[dict[str, Any]]:
    names = [column.name for column in USAGE_LINES.columns]
    return [dict(zip(names, row, strict=True)) for row in select(h, USAGE_LINES)]


def merged(machines: Mapping[str, Hansard]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The messages, and the home of each session."""
    with closing(sqlite3.connect(":memory:")) as db:
        for view in (USAGE_LINES, SESSIONS, TRANSCRIPTS):
            names = ", ".join(["machine", *(column.name for column in view.columns)])
            db.execute(f"CREATE TABLE {view.name} ({names})")
            marks = ",".join("?" * (len(view.columns) + 1))
            for machine, h in machines.items():
                db.executemany(
                    f"INSERT INTO {view.name} VALUES ({marks})", ((machine, *row) for row in select(h, view))
                )
        found = db.execute(merged_usage("usage_lines"))
        names_of = [item[0] for item in found.description]
        messages = [dict(zip(names_of, row, strict=True)) for row in found]
        return messages, dict(db.execute(session_homes("sessions", "transcripts")))


def by_key(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {row["message_key"]: {name: value for name, value in row.items() if name not in HERE} for row in rows}
    assert len(found) == len(rows)
    return found


def test_made_histories(tmp_path: Path) -> None:
    """Files on one machine, on both, and on both with fewer lines on one; forks whose original is elsewhere."""
    with two_machines(tmp_path, 1000) as stores:
        one, first, second = stores["both"], stores["ann"], stores["bob"]
        messages, homes = merged({"ann": first, "bob": second})
        assert len(messages) < len(lines_of(first)) + len(lines_of(second))
        assert by_key(messages) == by_key(lines_of(one))
        roots = {session.session_id: session.root for session in one.sessions(limit=None, debris=True).sessions}
        assert homes == {session_id: Path(root).name for session_id, root in roots.items()}


def test_real_histories(recordings: list[Recording], histories: dict[str, History]) -> None:
    """A machine for each recorded scenario; some of them begin with copies of others."""
    history = histories["real clients"]
    stores = {recording.id: hansard.open(recording.store) for recording in recordings}
    try:
        messages, _ = merged(stores)
    finally:
        for h in stores.values():
            h.close()
    with hansard.open(history.store, history.roots) as whole:
        assert by_key(messages) == by_key(lines_of(whole))


def test_a_line_of_its_own_replaces_progress_records() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        names = [column.name for column in USAGE_LINES.columns]
        db.execute(f"CREATE TABLE lines (machine, {', '.join(names)})")
        for machine, is_progress, tokens in (("ann", 1, 900), ("bob", 0, 5), ("cia", 0, 7)):
            row = dict.fromkeys(names, 0) | {
                "message_key": "m",
                "is_progress_only": is_progress,
                "input_tokens": tokens,
                "at": 1,
                "session_id": machine,
            }
            db.execute(f"INSERT INTO lines VALUES ({','.join('?' * (len(names) + 1))})", (machine, *row.values()))
        cursor = db.execute(merged_usage("lines"))
        (row,) = (dict(zip((item[0] for item in cursor.description), row, strict=True)) for row in cursor)
        assert (row["machine"], row["input_tokens"], row["is_progress_only"]) == ("bob", 7, 0)


@pytest.mark.parametrize("name", VIEWS)
def test_content_is_whatever_is_not_known_to_be_a_name(name: str) -> None:
    """Texts, titles, paths and remarks are content; a new column of text is, until it is listed."""
    content = {column.name for column in VIEWS[name].columns if is_content(column)}
    expected = {
        "sessions": "title first_prompt root cwd pull_requests tags notes pinned_messages team",
        "turns": "text",
        "tool_calls": "path description",
        "file_changes": "path",
        "prompts": "text",
        "agents": "description",
        "transcripts": "root path",
        "permissions": "detail",
        "issues": "detail",
        "remarks": "value",
    }
    assert content == set(expected.get(name, "").split())
    assert not [column.name for column in VIEWS[name].columns if column.name in NAMES and column.type is not Type.TEXT]
