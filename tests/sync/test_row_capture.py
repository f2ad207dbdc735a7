"""Rows of databases that other programs are writing: kept once, in order, without a trace in their folders."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hansard
from hansard.clients.cursor import databases
from hansard.engine import Hansard
from hansard.errors import HansardError
from hansard.model.store_requests import RestoreRequest
from hansard.sources import foreign
from hansard.sources.foreign import open_foreign
from hansard.sync import row_capture
from tests.clients.cursor import history as cursor
from tests.clients.goose import history as goose
from tests.clients.opencode import history as opencode
from tests.clients.opencode.history import BEGAN, SESSION, Database, answer, prompt, tool
from tests.clients.zed import history as zed

PROJECT = Path(__file__).resolve().parents[2]
USER = opencode.USER


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "opencode"
    made.mkdir()
    return made


@pytest.fixture
def writer(root: Path) -> Iterator[Database]:
    """OpenCode at work: its database is open, and what it wrote is in the write-ahead log."""
    database = Database(root / "opencode.db", wal=True)
    yield database
    database.close()


def seen(folder: Path) -> dict[str, tuple[Any, ...]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *sorted(folder.rglob("*"))]
    }


def answers(h: Hansard) -> dict[str, Any]:
    """What a reader can ask, without what tells how many syncs it took."""
    found: dict[str, Any] = {}
    for session in h.sessions(limit=None).sessions:
        thread = h.read(session.session_id)
        said = [(entry.kind, entry.text, _tool(entry)) for entry in thread.entries()]
        found[session.session_id] = (session.title, session.prompts, session.tool_calls, session.cwd, said)
    totals = h.usage(by="total").totals
    found["totals"] = (totals.api_messages, totals.input_tokens, totals.output_tokens, totals.cache_read_tokens)
    return found


def _tool(entry: Any) -> dict[str, Any]:
    """A call without the places of its lines."""
    call = msgspec.to_builtins(entry.tool) if entry.tool is not None else {}
    return {name: value for name, value in call.items() if not name.endswith("offset")}


def lines_of(h: Hansard, session: str) -> list[dict[str, Any]]:
    """The lines of the current generation of a session's log."""
    ((generation,),) = h.reader.rows(
        "SELECT id FROM transcripts WHERE session_id = ? AND agent_id = '' AND current = 1", (session,)
    )
    return [json.loads(line) for line in b"".join(h.record.read(generation)).splitlines()]


def fresh(root: Path, home: Path) -> dict[str, Any]:
    with hansard.open(home, [root]) as h:
        h.sync()
        return answers(h)


def test_a_live_database_is_read_without_a_trace(root: Path, writer: Database, tmp_path: Path) -> None:
    opencode.fill(writer)
    assert (root / "opencode.db-wal").stat().st_size > 0
    before = seen(root)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        assert answers(h)[SESSION][1] == 2
        assert seen(root) == before
        writer.message(SESSION, BEGAN + 10_000, USER, prompt("Anything else?"))
        before = seen(root)
        assert h.sync().changed
        assert seen(root) == before
        assert answers(h)[SESSION][1] == 3
        assert not [name for name in os.listdir(tmp_path / "home") if name.startswith("reading-")]


def test_a_database_at_rest_is_read_in_place(root: Path, tmp_path: Path) -> None:
    with closing(Database(root / "opencode.db", wal=True)) as database:
        opencode.fill(database)
    assert sorted(os.listdir(root)) == ["opencode.db"]
    before = seen(root)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        assert answers(h)[SESSION][1] == 2
    assert seen(root) == before


def test_nothing_new_is_quiet(root: Path, tmp_path: Path) -> None:
    opencode.write(root)
    old = time.time_ns() - 10**10
    for path in root.rglob("*"):
        os.utime(path, ns=(old, old))
    time.sleep(2.1)  # the times of status changes cannot be set
    with hansard.open(tmp_path / "home", [root]) as h:
        assert h.sync().changed == 4
        revision = h.record.head()
        assert h.sync().changed == 0
        assert h.record.head() == revision


def test_a_message_waits_until_it_is_complete(root: Path, writer: Database, tmp_path: Path) -> None:
    now = int(time.time() * 1000)
    writer.session(SESSION, "Tides", moment=now)
    with hansard.open(tmp_path / "home", [root]) as h:
        writer.message(SESSION, now, USER, prompt("How deep is it?"))
        begun = {**answer(now + 5), "time": {"created": now + 5}, "tokens": {}}
        id_ = writer.message(SESSION, now + 5, begun, prompt("Four"))
        h.sync()
        assert [line["id"] for line in lines_of(h, SESSION) if "id" in line] == [opencode.message_id(now)]
        writer.message(SESSION, now + 5, answer(now + 5, output=9), prompt("Four metres."), id_=id_)
        h.sync()
        assert [line["id"] for line in lines_of(h, SESSION) if "id" in line] == [opencode.message_id(now), id_]
        assert answers(h) == fresh(root, tmp_path / "other")


def test_a_change_behind_a_message_that_waits_is_kept(root: Path, writer: Database, tmp_path: Path) -> None:
    now = int(time.time() * 1000)
    old = now - 20 * 60_000
    first, second = "msg_1", "msg_2"

    def begun(moment: int, **more: int) -> dict[str, Any]:
        """An answer that a row was written for at a moment; only `completed` makes it complete."""
        return {**answer(old), "time": {"created": old, **more}, "moment": moment}

    def write(id_: str, data: dict[str, Any], text: str, moment: int) -> None:
        writer.message(SESSION, old, data, prompt(text), id_=id_)
        writer.db.execute("UPDATE message SET time_updated = ? WHERE id = ?", (moment, id_))

    writer.session(SESSION, "Tides", moment=old)
    write(first, begun(old), "Long work", old)
    write(second, USER, "Queued", old + 1)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        write(second, USER, "Queued and edited", now - 5000)
        write(first, begun(now - 1000), "Long work", now - 1000)
        h.sync()
        write(first, begun(now, completed=now), "Long work", now)
        h.sync()
        assert "Queued and edited" in [said[1] for said in answers(h)[SESSION][4]]
        assert answers(h) == fresh(root, tmp_path / "other")


def test_a_message_that_was_left_unfinished_is_kept(
    root: Path, writer: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = int(time.time() * 1000)
    writer.session(SESSION, "Tides", moment=now)
    writer.message(SESSION, now, {**answer(now), "time": {"created": now}}, prompt("Four"))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        assert not [line for line in lines_of(h, SESSION) if "id" in line]
        monkeypatch.setattr(row_capture, "WAIT_MS", -60_000)
        h.sync()
        assert [line for line in lines_of(h, SESSION) if "id" in line]


def test_changes_without_meaning_are_appended(root: Path, writer: Database, tmp_path: Path) -> None:
    opencode.fill(writer)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        before = answers(h)
        id_ = opencode.message_id(BEGAN + 5000)
        writer.message(SESSION, BEGAN + 5000, {**USER, "summary": {"diffs": []}}, id_=id_)
        writer.db.execute("UPDATE message SET time_updated = ? WHERE id = ?", (BEGAN + 99_000, id_))
        h.sync()
        assert [line["update"] for line in lines_of(h, SESSION) if "update" in line] == [id_]
        assert list(h.reader.rows("SELECT max(generation) FROM transcripts")) == [(1,)]
        h.sync()
        assert len([line for line in lines_of(h, SESSION) if "update" in line]) == 1
        assert answers(h) == before == fresh(root, tmp_path / "other")


def test_changed_rows_replace_what_they_were(root: Path, writer: Database, tmp_path: Path) -> None:
    opencode.fill(writer)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        moment = BEGAN + 6000
        later = {**answer(moment, input=30, output=44), "time": {"created": moment, "completed": BEGAN + 95_000}}
        writer.message(SESSION, moment, later, prompt("Written, at last."))
        writer.session(SESSION, "Another title", moment=BEGAN + 95_000)
        h.sync()
        assert answers(h) == fresh(root, tmp_path / "other")
        assert answers(h)[SESSION][0] == "Another title"
        assert not h.verify(full=True).mismatches
        before = answers(h)
        h.rebuild()
        assert answers(h) == before


def test_deleted_rows_stay(root: Path, writer: Database, tmp_path: Path) -> None:
    opencode.fill(writer)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        before = answers(h)
        id_ = opencode.message_id(BEGAN + 5000)
        writer.db.execute("DELETE FROM part WHERE message_id = ?", (id_,))
        writer.db.execute("DELETE FROM message WHERE id = ?", (id_,))
        h.sync()
        assert lines_of(h, SESSION)[-1] == {"deleted": id_}
        assert answers(h) == before
        # What is written anew later leaves it where it was.
        writer.message(SESSION, BEGAN + 2000, answer(BEGAN + 2000, output=3), prompt("Another answer"))
        writer.db.execute(
            "UPDATE message SET time_updated = ? WHERE id = ?", (BEGAN + 9**9, opencode.message_id(BEGAN + 2000))
        )
        h.sync()
        kinds = [next(iter(line.items())) for line in lines_of(h, SESSION)]
        place = kinds.index(("deleted", id_))
        assert kinds[place - 1 : place + 2] == [
            ("id", id_),
            ("deleted", id_),
            ("id", opencode.message_id(BEGAN + 6000)),
        ]
        assert answers(h)[SESSION][1] == 2


def test_a_deleted_session_is_gone_and_stays(root: Path, writer: Database, tmp_path: Path) -> None:
    opencode.fill(writer)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        before = answers(h)
        for table, column in (("part", "session_id"), ("message", "session_id"), ("session", "id")):
            writer.db.execute(f"DELETE FROM {table} WHERE {column} = ?", (SESSION,))
        assert h.sync().gone == 1
        assert answers(h) == before
        assert ("gone",) in list(h.reader.rows("SELECT state FROM transcripts WHERE session_id = ?", (SESSION,)))
        writer.close()
        for path in root.iterdir():
            path.unlink()
        (root / "storage" / "session").mkdir(parents=True)
        h.sync()
        assert set(h.reader.rows("SELECT state FROM transcripts")) == {("gone",)}
        assert answers(h) == before


def test_the_older_folder_counts_once(root: Path, tmp_path: Path) -> None:
    opencode.write_tree(root)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        assert answers(h)[opencode.OLDER][1] == 1
    with closing(Database(root / "opencode.db")) as database:  # which takes over what is in the folder
        database.session(opencode.OLDER, "Older", moment=BEGAN - 5000)
        database.message(opencode.OLDER, BEGAN - 5000, {"role": "user"}, prompt("Is there a ferry?"), id_="msg_a")
        made = answer(BEGAN - 4000, input=7, output=8)
        database.message(opencode.OLDER, BEGAN - 4000, made, prompt("Twice a day."), id_="msg_b")
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        many = answers(h)
        assert many[opencode.OLDER][1] == 1
        assert many["totals"][1:3] == (7, 8)
        assert many == fresh(root, tmp_path / "other")


def test_subagents_of_subagents_count_once(root: Path, tmp_path: Path) -> None:
    """The folder and the database name the same log for a session, however deep it is."""
    chain = [("ses_a", None), ("ses_b", "ses_a"), ("ses_c", "ses_b")]
    made = {id_: answer(BEGAN + 10_000 * number, input=7, output=8) for number, (id_, _) in enumerate(chain)}
    for id_, parent in chain:
        about = {"id": id_, "title": "Older", "directory": "/work", **({"parentID": parent} if parent else {})}
        for path, content in (
            (f"session/p/{id_}.json", about),
            (f"message/{id_}/msg_{id_}.json", {"id": f"msg_{id_}", **made[id_]}),
        ):
            place = root / "storage" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps(content))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        before = sorted(h.reader.rows("SELECT session_id, agent_id FROM transcripts"))
    with closing(Database(root / "opencode.db")) as database:
        for id_, parent in chain:
            database.session(id_, "Older", parent)
            database.message(id_, BEGAN, made[id_], id_=f"msg_{id_}")
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        assert len(before) == 3
        assert sorted(h.reader.rows("SELECT session_id, agent_id FROM transcripts WHERE current = 1")) == before
        assert answers(h)["totals"][1:3] == (21, 24)


def test_a_conversation_with_new_numbers_is_the_same_one(tmp_path: Path) -> None:
    root = tmp_path / "goose" / "sessions"
    root.mkdir(parents=True)
    goose.write(root)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        before = answers(h)
        with closing(sqlite3.connect(root / "sessions.db")) as db:
            db.execute("DELETE FROM messages")
            goose.insert(db)
            db.commit()
        h.sync()
        assert answers(h) == before
        assert before[goose.SESSION][1] == 1  # not those of the older file of the same name
        assert "20250101_9" in before


def test_transcripts_of_agents_give_way_to_the_database(tmp_path: Path) -> None:
    user, other = tmp_path / "User", tmp_path / ".cursor"
    user.mkdir()
    cursor.write(user)
    for session in (cursor.SESSION, "44444444-0000-4000-8000-000000000004"):
        folder = other / "projects" / "work" / "agent-transcripts" / session
        folder.mkdir(parents=True)
        said = {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nDraw\n</user_query>"}]}}
        (folder / f"{session}.jsonl").write_text(json.dumps(said) + "\n")
    (other / "argv.json").write_text("{}")
    with hansard.open(tmp_path / "home", [other, user]) as h:
        h.sync()
        found = answers(h)
        assert found[cursor.SESSION][1] == 1
        assert found["44444444-0000-4000-8000-000000000004"][4][0][1] == "Draw"
        assert h.session(cursor.SESSION).cwd == "/work"  # from the workspace that lists it


def test_odd_types_of_composers_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "User"
    root.mkdir()
    cursor.write(root)

    def change(**fields: Any) -> None:
        with closing(sqlite3.connect(root / "globalStorage" / "state.vscdb")) as db:
            cursor.write_composer(db, [*cursor.BUBBLES, {"type": 2, "text": "And painted."}], **fields)
            db.commit()

    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        before = answers(h)
        change(generatingBubbleIds=[{"id": "x"}], conversation={"odd": 1}, status=7)
        assert not h.sync().unreadable
        after = answers(h)
        assert [said[1] for said in after[cursor.SESSION][4]][-1] == "And painted."
        assert len(after[cursor.SESSION][4]) == len(before[cursor.SESSION][4]) + 1
        change(fullConversationHeadersOnly={"b0": 1})
        unreadable = h.sync().unreadable
        assert any("fullConversationHeadersOnly" in line for line in unreadable)
        assert answers(h) == after
        with closing(sqlite3.connect(root / "globalStorage" / "state.vscdb")) as db:
            cursor.put(db, "cursorDiskKV", f"composerData:{cursor.SESSION}", '{"composerId":')
            cursor.put(db, "cursorDiskKV", "composerData:new", "[]")
            db.commit()
        assert any("2 sessions in all" in line for line in h.sync().unreadable)
        assert answers(h) == after
        assert set(h.reader.rows("SELECT state FROM transcripts")) == {("live",)}
        change()
        with closing(sqlite3.connect(root / "globalStorage" / "state.vscdb")) as db:
            db.execute("DELETE FROM cursorDiskKV WHERE key = 'composerData:new'")
            db.commit()
        assert not h.sync().unreadable


@pytest.mark.parametrize(
    ("history", "table"),
    [
        (opencode, "session"),
        (opencode, "part"),
        (cursor, "cursorDiskKV"),
        (cursor, "ItemTable"),
        (goose, "messages"),
        (zed, "threads"),
    ],
    ids=["session", "part", "cursorDiskKV", "ItemTable", "messages", "threads"],
)
def test_a_table_with_a_new_name_deletes_nothing(history: Any, table: str, tmp_path: Path) -> None:
    root = tmp_path / {opencode: "opencode", cursor: "User", goose: "goose/sessions", zed: "threads"}[history]
    root.mkdir(parents=True)
    history.write(root)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        before = answers(h)
        for path in root.rglob("*"):
            if path.suffix in (".db", ".vscdb"):
                with closing(sqlite3.connect(path)) as db:
                    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).fetchone():
                        db.execute(f"ALTER TABLE {table} RENAME TO new_{table}")
        report = h.sync()
        assert any(f"new_{table}" in line and "unknown tables" in line for line in report.unreadable)
        assert report.gone == 0
        assert answers(h) == before


def test_the_list_of_composers_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "User"
    root.mkdir()
    cursor.write(root)
    with closing(sqlite3.connect(root / "globalStorage" / "state.vscdb")) as db:
        for number in range(5):
            said = {"workspaceIdentifier": {"id": "w"}, "fullConversationHeadersOnly": [{"bubbleId": "b"}]}
            cursor.put(db, "cursorDiskKV", f"composerData:c{number}", said)
            cursor.put(db, "cursorDiskKV", f"bubbleId:c{number}:b", {"type": 1, "text": "Hello"})
        db.commit()
    asked = list[str]()
    value = databases._value

    def count(database: foreign.ForeignDatabase, table: str, key: str) -> bytes | None:
        asked.append(key)
        return value(database, table, key)

    monkeypatch.setattr(databases, "_value", count)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        assert {f"c{number}" for number in range(5)} <= set(answers(h))
        assert any("header" in line for line in lines_of(h, cursor.SESSION))
    assert asked.count(databases.HEADERS) == 1


@pytest.mark.parametrize("history", [opencode, cursor], ids=["opencode", "cursor"])
def test_other_tables_and_keys_are_never_stored(history: Any, tmp_path: Path) -> None:
    root, home = tmp_path / "User", tmp_path / "home"
    root.mkdir()
    history.write(root)
    database = next(path for path in root.rglob("*") if path.name in ("opencode.db", "state.vscdb"))
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE other (value)")
        db.execute("INSERT INTO other VALUES (?)", (history.SECRET,))
        db.commit()
        with hansard.open(home, [root]) as h:
            h.sync()
            kept = b"".join(b"".join(h.record.read(item.id)) for item in h.record.generations())
    assert history.SECRET.encode() in b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert kept
    assert history.SECRET.encode() not in kept
    for path in home.rglob("*"):
        assert history.SECRET.encode() not in (path.read_bytes() if path.is_file() else b""), path


def test_killed_at_any_moment(root: Path, tmp_path: Path) -> None:
    with closing(Database(root / "opencode.db", wal=True)) as database:
        opencode.fill(database)
        template = tmp_path / "template"
        with hansard.open(template, [root]) as h:
            h.sync()
        database.message(SESSION, BEGAN + 5000, {**USER, "summary": {"diffs": []}})
        database.message(opencode.CHILD, BEGAN + 80_000, answer(BEGAN + 80_000, output=5), prompt("Five, in fact"))
        database.message(opencode.FORK, BEGAN + 91_000, USER, prompt("And in Weener?"))
        database.db.execute("UPDATE message SET time_updated = ?", (BEGAN + 99_000,))
        expected = fresh(root, tmp_path / "once")
        script = Path(__file__).with_name("crashing.py")
        given = [sys.executable, str(script), "sync", str(root), str(template), str(tmp_path / "out"), "4"]
        (tmp_path / "out").mkdir()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT / "src"), str(PROJECT)])}
        done = subprocess.run(given, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        homes = done.stdout.split()
        assert len(homes) > 5
        lengths = set()
        for home in homes:
            with hansard.open(home, [root]) as h:
                h.sync()
                assert answers(h) == expected
                assert not h.verify().mismatches
                lengths.add(h.record.kept_bytes())
            assert not [name for name in os.listdir(home) if name.startswith("reading-")]
        assert len(lengths) == 1  # nothing is kept twice


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is read from /proc")
def test_large_values_are_read_in_pieces(root: Path, tmp_path: Path) -> None:
    with closing(Database(root / "opencode.db")) as database:
        opencode.fill(database)
        message = opencode.message_id(BEGAN + 2000)
        database.db.execute(
            'UPDATE part SET data = \'{"type":"text","text":"\' || hex(zeroblob(100000000)) || \'"}\''
            " WHERE id = (SELECT max(id) FROM part WHERE message_id = ?)",
            (message,),
        )
    code = (
        "import hansard\n"
        f"with hansard.open({str(tmp_path / 'home')!r}, [{str(root)!r}]) as h:\n"
        "    h.sync(workers=False)\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 250 << 10
    with hansard.open(tmp_path / "home", [root]) as h:
        size = sum(item.size for item in h.record.generations())
        assert size > 200_000_000
        assert not h.verify().mismatches
        assert answers(h)[SESSION][1] == 2


def test_rows_are_restored_elsewhere_only(root: Path, tmp_path: Path) -> None:
    opencode.write(root)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        items = h.plan_restore(RestoreRequest(None, to=str(root)))
        assert {item.action for item in items} == {"impossible"}
        with pytest.raises(HansardError, match="rows of a database"):
            h.restore(items)
        h.restore(h.plan_restore(RestoreRequest(None, to=str(tmp_path / "back"))))
    found = sorted(str(path.relative_to(tmp_path / "back")) for path in (tmp_path / "back").rglob("*.jsonl"))
    assert found == ["rows/ses_0.jsonl", "rows/ses_1.jsonl", "rows/ses_1/ses_2.jsonl", "rows/ses_3.jsonl"]


def test_cells_are_found_again(root: Path, writer: Database, tmp_path: Path) -> None:
    """The text of every cell can be told from the line."""
    texts = [
        '{"type": "text", "text": "a\\nb"}',
        '{\n  "type": "text",\n  "text": "c"\n}',
        "not JSON \x01 \U0001f600",
        "[1, 2]",
        '"x"',
    ]
    id_ = writer.message(SESSION, BEGAN, USER)
    writer.session(SESSION, 'A "title"\n')
    for number, text in enumerate(texts):
        writer.part(SESSION, id_, number, BEGAN, {})
        writer.db.execute("UPDATE part SET data = ? WHERE id LIKE ?", (text, f"%{number}"))
    writer.db.execute("UPDATE part SET data = CAST(x'ff41' AS TEXT) WHERE id LIKE '%4'")
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        ((generation,),) = h.reader.rows("SELECT id FROM transcripts")
        line = b"".join(h.record.read(generation)).splitlines()[-1]
    for text in texts[:1]:
        assert b'"data":' + text.encode() in line
    found = [part["data"] for part in json.loads(line)["part"]]
    assert found[1:3] == texts[1:3]
    assert found[3] == [1, 2]
    assert found[4].encode("utf-8", "surrogateescape") == b"\xffA"


def test_odd_paths_and_damaged_databases(tmp_path: Path) -> None:
    folder = tmp_path / "50%? #é"
    folder.mkdir()
    with closing(Database(folder / "opencode.db", wal=True)) as database:
        opencode.fill(database)
        with open_foreign(str(folder / "opencode.db"), str(tmp_path)) as found:
            assert list(found.rows("SELECT count(*) FROM session")) == [(3,)]
    with open_foreign(str(folder / "opencode.db"), str(tmp_path)) as found:
        assert list(found.rows("SELECT count(*) FROM session")) == [(3,)]
        with pytest.raises(OSError, match="cannot be read"):
            list(found.rows("DELETE FROM session"))
    content = (folder / "opencode.db").read_bytes()
    (folder / "opencode.db").write_bytes(content[:4096] + b"\x55" * (len(content) - 4096))
    with hansard.open(tmp_path / "home", [folder]) as h:
        report = h.sync()
        assert any("cannot be read" in line for line in report.unreadable)
        (folder / "opencode.db").write_bytes(content)
        h.sync()
        assert answers(h)[SESSION][1] == 2


def test_a_journal_that_names_another_file_is_refused(root: Path, tmp_path: Path) -> None:
    opencode.write(root)
    database = root / "opencode.db"
    named = tmp_path / "precious.txt"
    named.write_text("kept")
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(named).encode()
    page, nonce = database.read_bytes()[:4096], 1234
    checksum = nonce + sum(page[place] for place in range(4096 - 200, 0, -200))
    pages = database.stat().st_size // 4096
    (root / "opencode.db-journal").write_bytes(
        (magic + struct.pack(">5I", 1, nonce, pages, 512, 4096)).ljust(512, b"\0")
        + struct.pack(">I", 1)
        + page
        + struct.pack(">I", checksum)
        + struct.pack(">I", (1 << 30) // 4096 + 1)
        + name
        + struct.pack(">2I", len(name), sum(name))
        + magic
    )
    with pytest.raises(OSError, match="names another file"), open_foreign(str(database), str(tmp_path)):
        pass
    with hansard.open(tmp_path / "home", [root]) as h:
        assert any("names another file" in line for line in h.sync().unreadable)
        (root / "opencode.db-journal").unlink()
        h.sync()
        assert answers(h)[SESSION][1] == 2
    assert named.read_text() == "kept"


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_copies_are_for_their_owner_only(root: Path, writer: Database, tmp_path: Path) -> None:
    opencode.fill(writer)
    (root / "opencode.db").chmod(0o644)
    before = os.umask(0)
    try:
        with foreign._copied(str(root / "opencode.db"), str(tmp_path)) as (copy, _):
            modes = {path.name: path.stat().st_mode & 0o777 for path in Path(copy).parent.iterdir()}
    finally:
        os.umask(before)
    assert modes["db"] == modes["db-wal"] == 0o600


def test_a_tool_that_runs_is_not_answered_yet(root: Path, writer: Database, tmp_path: Path) -> None:
    running = tool("bash", {"command": "sleep 9"}, "")
    running["state"] = {"status": "running", "input": {"command": "sleep 9"}}
    writer.session(SESSION, "Tides")
    writer.message(SESSION, BEGAN, {**answer(BEGAN), "time": {"created": BEGAN}}, running)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        assert list(h.reader.rows("SELECT tool, result_id FROM tool_calls")) == [("bash", None)]


@pytest.mark.parametrize("seed", range(4))
def test_any_number_of_syncs_gives_the_same_answers(root: Path, writer: Database, tmp_path: Path, seed: int) -> None:
    """A session that grows, changes and is reordered, read at random moments."""
    dice = random.Random(seed)
    writer.session(SESSION, "Tides")
    moments: list[int] = []
    complete: set[int] = set()
    clock = BEGAN + 10**6  # of the rows, which never goes back

    def message(moment: int) -> None:
        is_complete = moment in complete or dice.random() < 0.7  # tokens that were spent stay spent
        if is_complete:
            complete.add(moment)
        made = {**answer(moment, output=3), **({} if is_complete else {"time": {"created": moment}, "tokens": {}})}
        data = made if moment % 2 else {**USER, **({"summary": {"diffs": []}} if is_complete else {})}
        id_ = writer.message(SESSION, moment, data, prompt(f"{dice.random()} said"))
        writer.db.execute("UPDATE message SET time_updated = ? WHERE id = ?", (clock, id_))

    with hansard.open(tmp_path / "home", [root]) as h:
        for step in range(40):
            clock += 1000
            kind = dice.choice(["new", "new", "new", "again", "before", "title", "sync", "sync"])
            if kind == "new" or (not moments and kind in ("again", "before")):
                moments.append(BEGAN + 1000 * (len(moments) + 10))
                message(moments[-1] + step % 2)
                moments[-1] += step % 2
            elif kind == "again":
                message(dice.choice(moments))
            elif kind == "before":
                moments.append(dice.choice(moments) - 2 * dice.randrange(1, 400))
                message(moments[-1])
            elif kind == "title":
                writer.session(SESSION, f"Tides {step}", moment=clock)
            else:
                h.sync()
        h.sync()
        assert answers(h) == fresh(root, tmp_path / "other")
        assert not h.verify(full=True).mismatches


def test_a_session_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    root = tmp_path / "threads"
    root.mkdir()
    zed.write(root)
    with closing(sqlite3.connect(root / "threads.db")) as db:
        db.execute("UPDATE threads SET data = '{\"messages\":{}}' WHERE id = 'older'")
        db.commit()
    with hansard.open(tmp_path / "home", [root]) as h:
        report = h.sync()
        assert any("a session cannot be read: rows/older.jsonl" in line for line in report.unreadable)
        assert answers(h)[zed.SESSION][1] == 1
        with closing(sqlite3.connect(root / "threads.db")) as db:
            db.execute("UPDATE threads SET data = '{\"messages\":[]}' WHERE id = 'older'")
            db.commit()
        assert not h.sync().unreadable
        assert list(h.reader.rows("SELECT reason FROM issues WHERE detail LIKE '%content of the thread%'"))
