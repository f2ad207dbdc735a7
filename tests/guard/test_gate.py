"""Every text leaves through the gate: with redaction on, a secret that stands everywhere in a session is nowhere in the answers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hansard
from hansard.engine import Hansard
from hansard.export.formats import FORMATS
from hansard.grep.search import Grep
from hansard.model import gate
from hansard.model.gate import VERBATIM
from hansard.model.retention import Retention, Rule
from hansard.sql.table import Table
from hansard.sql.views import VIEWS
from hansard.thread.structure import Start
from hansard.thread.thread import Thread
from tests.hard_session import write_hard_session
from tests.sql.here import here

SECRET = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"
WORDS = ("harbour", "gauge")  # in prompts, replies, thoughts, inputs, results, paths and titles of the session


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    place = tmp_path_factory.mktemp("gate")
    root = place / "claude"
    session = write_hard_session(root)
    for path in [path for path in root.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        for word in WORDS:
            content = content.replace(word.encode(), SECRET.encode())
        path.write_bytes(content)
    with hansard.open(place / "store", [root]) as h:
        h.sync()
        h.note(session, f"the token is {SECRET}")
        h.tag(session, "tide")
    return place / "store", root, session


@pytest.fixture
def h(store: tuple[Path, Path, str]) -> Iterator[Hansard]:
    with hansard.open(store[0], [store[1]], redact=True) as opened:
        yield opened


def spread(value: Any) -> str:
    """Everything in a value, as one text."""
    if isinstance(value, msgspec.Struct):
        return " ".join(spread(getattr(value, name)) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return " ".join(spread(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple, set, frozenset, Iterator, Grep)):
        return " ".join(map(spread, value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value) if not hasattr(value, "__dict__") else f"{value} {value.__dict__}"


def _uuids(h: Hansard, session: str) -> list[str]:
    return [str(entry.uuid) for entry in h.conversation(session).entries if getattr(entry, "uuid", None)]


ASKED: dict[str, Callable[[Hansard, str], Any]] = {
    "activity": lambda h, _: h.activity(),
    "agents": lambda h, s: h.agents(s),
    "audit": lambda h, _: h.audit(),
    "brief": lambda h, s: h.brief(s),
    "calls": lambda h, _: h.calls(limit=None, outputs=True),
    "command_outputs": lambda h, _: h.command_outputs(["x"]),
    "conversation": lambda h, s: h.conversation(s),
    "doctor": lambda h, _: h.doctor(),
    "explain": lambda h, s: h.explain(s),
    "facets": lambda h, _: h.facets("tide"),
    "field_values": lambda h, _: [h.field_values(field) for field in ("project", "file", "branch", "tag")],
    "file_changes": lambda h, s: h.file_changes(s),
    "file_history": lambda h, _: [
        h.file_history(path) for (path,) in h.reader.rows("SELECT path FROM tool_calls WHERE change IS NOT NULL")
    ],
    "files": lambda h, _: h.files(),
    "find_message": lambda h, s: [h.find_message(uuid) for uuid in _uuids(h, s)],
    "git_words": lambda h, s: h.git_words(s),
    "grep": lambda h, _: h.grep("ghp_"),
    "issues": lambda h, _: h.issues(),
    "drift": lambda h, _: h.drift(),
    "links": lambda h, s: h.links(s),
    "lost_sessions": lambda h, _: h.lost_sessions(),
    "note": lambda h, s: h.note(s, "plain"),
    "pin": lambda h, s: h.pin(s),
    "pin_message": lambda h, s: [h.pin_message(s, uuid) for uuid in _uuids(h, s)[:5]],
    "pinned_messages": lambda h, s: [[h.pin_message(s, uuid) for uuid in _uuids(h, s)], h.pinned_messages(s)],
    "plan_forget": lambda h, s: h.plan_forget([s]),
    "plan_free": lambda h, _: h.plan_free(),
    "plan_retention": lambda h, _: h.plan_retention(Retention(general=Rule(free_after=1, delete_after=1))),
    "plan_scrub": lambda h, s: h.plan_scrub([s], backup=False),
    "plan_handoff": lambda h, s: h.plan_handoff(s, "claude-code", "/nowhere/.claude", cwd="/src"),
    "problems": lambda h, _: h.problems(),
    "project_names": lambda h, _: h.project_names(),
    "projects": lambda h, _: h.projects(),
    "prompts": lambda h, _: h.prompts(limit=None),
    "prompt_text": lambda h, _: [h.prompt_text(p.transcript, p.offset) for p in h.prompts(limit=None).prompts],
    "read": lambda h, s: h.read(s).whole(),
    "recall": lambda h, _: [h.recall(question=words) for words in ("tide", "ghp", "what did the tool print")],
    "related": lambda h, s: h.related(s),
    "remarks": lambda h, s: h.remarks(s),
    "secret": lambda h, _: [h.secret(one.secret_id) for one in h.secrets().secrets],
    "secrets": lambda h, _: [h.scan_secrets(), h.secrets()],
    "search": lambda h, _: [h.search(words, limit=100) for words in ("tide", "ghp", "tool:bash", "kind:reply")],
    "session": lambda h, s: h.session(s),
    "session_groups": lambda h, _: h.session_groups(by="project"),
    "session_with_id": lambda h, s: h.session_with_id(s),
    "sessions": lambda h, _: h.sessions(limit=None, debris=True),
    "side_files": lambda h, _: h.side_files(),
    "read_side_file": lambda h, _: [h.read_side_file(file) for file in h.side_files()],
    "sql": lambda h, _: [
        ask(h, f"SELECT *, {more} FROM {name}", engine=engine).rows
        for engine in ("sqlite", "duckdb")
        for ask, name, more in (
            *((here, name, "1") for name in VIEWS),
            (here, "sessions", "replace(first_prompt, '_', '~'), lower(notes), title || 'x', hex(project)"),
            (here, "messages", "record(transcript, byte_offset), message_text(transcript, byte_offset)"),
            (Hansard.sql, "blocks", "block_text(transcript, byte_offset, block)"),
        )
    ],
    "status": lambda h, _: h.status(),
    "suggestions": lambda h, _: [h.suggestions(kind) for kind in ("session", "project", "branch", "tag")],
    "tags": lambda h, _: h.tags(),
    "todos": lambda h, s: h.todos(s),
    "tool_call": lambda h, _: [h.listed_call(call) for call in h.calls(limit=None).calls],
    "tools": lambda h, _: h.tools(),
    "transcripts": lambda h, _: h.transcripts(),
    "usage": lambda h, _: h.usage(by=["project", "session", "branch"]),
}
THREAD: dict[str, Callable[[Thread], Any]] = {
    "turns": lambda thread: thread.turns(),
    "entries": lambda thread: thread.entries(),
    "display": lambda thread: thread.display(),
    "items": lambda thread: thread.items(thread.entries()),
    "outline": lambda thread: thread.outline(1, len(thread.starts)),
    "choices": lambda thread: thread.choices(),
    "changed_files": lambda thread: thread.changed_files(100),
    "neighbours": lambda thread: thread.neighbours(),
    "agents": lambda thread: thread.agents,
    "session": lambda thread: thread.session,
    "others": lambda thread: [list(other.turns()) for other in thread.others()],
    "calls": lambda thread: thread.calls(),
    "session_calls": lambda thread: thread.session_calls(),
    "locate": lambda thread: [thread.locate(start.offset) for start in thread.starts],
}


def test_the_verbatim_exceptions_are_four() -> None:
    assert VERBATIM == {
        "cat": ["CustodyMethods.cat"],
        "restore": ["CustodyMethods.restore"],
        "reveal": ["CustodyMethods.reveal_secret"],
        "raw lines": ["CustodyMethods.transcript_bytes", "Thread.raw", "Thread.raw_lines"],
    }


@pytest.mark.parametrize("name", ASKED)
def test_no_answer_has_the_secret(h: Hansard, store: tuple[Path, Path, str], name: str) -> None:
    assert SECRET not in spread(ASKED[name](h, store[2]))


@pytest.mark.parametrize("name", THREAD)
def test_no_part_of_a_thread_has_the_secret(h: Hansard, store: tuple[Path, Path, str], name: str) -> None:
    assert SECRET not in spread(THREAD[name](h.read(store[2])))


@pytest.mark.parametrize("name", VIEWS)
def test_no_cell_has_the_secret(h: Hansard, name: str) -> None:
    assert SECRET not in spread(Table(h.reader, name, None, h.redact).rows())


@pytest.mark.parametrize("form", FORMATS)
def test_no_file_has_the_secret(h: Hansard, tmp_path: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("duckdb")
    h.export(None, tmp_path / "out", format=form)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path.name
        assert SECRET not in path.name
    if form not in ("csv", "parquet", "otlp"):  # which have no texts
        assert any(re.search(rb"\[github-[a-z]+:[0-9a-f]{4}\]", path.read_bytes()) for path in files)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_redacts_unless_it_is_asked_not_to(
    store: tuple[Path, Path, str], tmp_path: Path, form: str
) -> None:
    if form == "parquet":
        pytest.importorskip("duckdb")
    with hansard.open(store[0], [store[1]]) as h:
        done = h.export(None, tmp_path / "out", format=form)
        plain = h.export(None, tmp_path / "plain", format=form, redact="off")

    def has_secret(folder: str) -> bool:
        files = [path for path in (tmp_path / folder).rglob("*") if path.is_file()]
        assert files
        return any(SECRET.encode() in path.read_bytes() or SECRET[4:20].lower() in path.name for path in files)

    assert not has_secret("out")
    assert has_secret("plain") is (form != "otlp")
    assert (plain.redaction, plain.redacted) == ("off", 0)
    assert done.redaction == "on"
    assert done.redacted == max(file.redacted for file in done.files) == 1


def test_one_turn_of_a_thread_does_not_release_the_starts_of_all(
    h: Hansard, store: tuple[Path, Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = h.read(store[2])
    released: list[Any] = []
    real = gate.release

    def note(value: Any, redact: gate.Redact) -> Any:
        released.append(value)
        return real(value, redact)

    monkeypatch.setattr(gate, "release", note)
    (turn,) = thread.outline(2, 2)
    assert [turn] in released
    assert not any(isinstance(value, list) and value and isinstance(value[0], Start) for value in released)


def test_what_is_verbatim_has_it(h: Hansard, store: tuple[Path, Path, str]) -> None:
    assert SECRET.encode() in b"".join(h.cat(store[2]))
    assert SECRET.encode() in b"".join(h.read(store[2]).raw())


def test_without_redaction_nothing_is_changed(store: tuple[Path, Path, str]) -> None:
    with hansard.open(store[0], [store[1]]) as h:
        assert SECRET in spread(h.read(store[2]).whole())
        assert SECRET in spread(h.search("ghp"))


def test_no_method_is_forgotten() -> None:
    """A method that gives out texts is asked above; the others give none of a transcript's."""
    without_text = {
        "active_time", "activity_by_period", "at_once", "blame", "blame_commit", "blocks", "budgets", "cleanup_days", "cleanup_periods", "close",
        "close_unshared", "commits", "count", "coverage", "current", "decided_secrets", "export", "find_commit", "find_transcript", "git_note", "handoff_directory", "has_text", "import_file",
        "build_lake", "known_roots", "listed_call", "live", "move", "moves", "other_transcripts", "plan_copy", "plan_move", "plan_restore", "plan_resume", "price_data", "push_lake", "push_team", "rates",
        "read_generation", "read_transcript", "rebuild", "reconcile", "reconstruct", "record", "reader", "rename", "restore", "revision", "salvage",
        "allow", "apply_retention", "forget", "free", "hold", "plan_undo_free", "receipts", "resolve_secret", "scan_secrets", "scrub", "secret_counts",
        "session_counts", "state", "sync", "sync_progress", "tag", "transcript_size", "undo_move", "undo_session", "unnote", "unproven_from",
        "unsearched_bytes", "update_prices", "verify", "watch", "write_session", "write_sql_snapshot", "written_sessions",
    }  # fmt: skip
    public = {name for name, _ in inspect.getmembers(Hansard) if not name.startswith("_")}
    assert public - set(ASKED) - without_text - {"cat", "transcript_bytes", "reveal_secret", "folder"} == set()
