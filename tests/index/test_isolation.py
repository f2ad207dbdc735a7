"""Whatever Hansard's own code raises on a line costs that line alone, and is told."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import apsw
import pytest

import hansard
from hansard.clients.lines import Issue
from hansard.errors import StoreCorrupt
from hansard.index.store import internal_error
from tests.sync.making import Tree, ask, assistant, main_path, raw, session, user

if TYPE_CHECKING:
    from pathlib import Path


A = session(1)
LINES = [
    *raw(
        [
            user(A, "u0", "alpha"),
            assistant(A, "u1", "msg_011", "bravo", 1),
            user(A, "u2", "charlie", 2, unheardOf=1),
            assistant(A, "u3", "msg_012", "delta", 3),
            {"type": "summary", "summary": "echo", "leafUuid": "u1"},
            user(A, "u4", [{"type": "text", "text": "foxtrot"}, {"type": "text", "text": "golf"}], 4),
        ]
    ).splitlines(),
    raw([user(A, "u5", "hotel", 5), user(A, "u6", "india", 6)]).replace(b"\n", b""),
    raw([user(A, "torn", "juliet", 7)])[:-40] + raw([user(A, "u7", "kilo", 7)]).strip(),
    *raw([user(A, "u8", "lima", 8)]).splitlines(),
]
PLACES = [sum(len(line) + 1 for line in LINES[:number]) for number in range(len(LINES))]
HISTORY = [{"display": word, "timestamp": 1, "project": "/p"} for word in ("november", "oscar", "papa")]


class Fault(Exception):
    """Something that nobody thought of."""


def fail_at(monkeypatch: pytest.MonkeyPatch, target: str, place: int, size: int) -> None:
    """Let a function raise whenever it is called for the line there, unless it is told of an issue."""
    owner, _, name = target.rpartition(".")
    holder: Any = _resolve(owner)
    whole = getattr(holder, name)

    def failing(*given: Any, **named: Any) -> Any:
        offsets = [value.offset for value in given if hasattr(value, "offset")]
        offsets += [value for value in given if isinstance(value, int)]
        offset = offsets[0] if offsets else PLACES[LINES.index(given[0])]
        if place <= offset < place + size and not any(isinstance(value, Issue) for value in given):
            raise Fault(f"at {place}" + "x" * 1000)
        return whole(*given, **named)

    monkeypatch.setattr(holder, name, failing)


def _resolve(path: str) -> Any:
    try:
        return importlib.import_module(path)
    except ImportError:
        owner, _, name = path.rpartition(".")
        return getattr(importlib.import_module(owner), name)


ROWS = {
    "hansard.clients.claude_code.fold.entry",
    "hansard.clients.claude_code.fold.Fold.entry",
    "hansard.clients.claude_code.fold.Fold.feed",
    "hansard.clients.claude_code.decode.decode",
    "hansard.clients.claude_code.decode.salvage",
}
TEXT = {
    "hansard.clients.claude_code.texts.decode",
    "hansard.clients.claude_code.texts.TextFold.texts",
    "hansard.clients.claude_code.texts.TextFold.is_aside",
}


def indexed(tree: Tree, hidden: int = -1) -> dict[str, list[Any]]:
    """What is indexed of all lines but one."""
    low = PLACES[hidden] if hidden >= 0 else -1
    high = low + len(LINES[hidden]) if hidden >= 0 else -1

    def others(rows: list[Any]) -> list[Any]:
        return [row for row in rows if not low <= row[0] & ((1 << 40) - 1) <= high]

    found = {
        table: others(tree.rows(f"SELECT * FROM {table} ORDER BY id"))
        for table in ("records", "blocks", "prompts", "summaries", "messages")
    }
    found["texts"] = [
        (table, *row)
        for table in ("titles", "talk", "work")
        for row in others(
            ask(
                tree.home,
                f"SELECT p.id FROM {table}_docsize d JOIN places p ON p.doc = d.id ORDER BY p.id",
                name="text.db",
            )
        )
    ]
    return found


def told(tree: Tree) -> set[tuple[int, str]]:
    with hansard.open(tree.home) as opened:
        return {
            (example.offset, kind.reason)
            for kind in opened.issues()
            for example in kind.examples
            if kind.reason == "internal_error"
        }


@pytest.mark.parametrize("target", sorted(ROWS | TEXT))
def test_a_fault_costs_its_line(tmp_path: Path, target: str) -> None:
    clean = Tree(tmp_path / "clean" / "claude", tmp_path / "clean" / "store")
    clean.write(main_path(A), b"\n".join(LINES) + b"\n")
    clean.sync()
    reached = set()
    for number, place in enumerate(PLACES):
        tree = Tree(tmp_path / str(number) / "claude", tmp_path / str(number) / "store")
        tree.write(main_path(A), b"\n".join(LINES) + b"\n")
        with pytest.MonkeyPatch.context() as patch:
            fail_at(patch, target, place, len(LINES[number]))
            tree.sync()
        assert indexed(tree, number) == indexed(clean, number)
        assert told(tree) in (set(), {(place, "internal_error")})
        reached.add(bool(told(tree)))
    assert True in reached


@pytest.mark.parametrize("word", ["alpha", "bravo", "charlie", "foxtrot", "golf", "hotel", "kilo", "lima"])
def test_a_text_that_cannot_be_prepared(tree: Tree, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    text = importlib.import_module("hansard.index.text")

    prepared: list[str] = []
    whole = text.searchable

    def failing(said: str) -> Any:
        if said == word:
            raise Fault(said)
        prepared.append(said)
        return whole(said)

    monkeypatch.setattr(text, "searchable", failing)
    tree.write(main_path(A), b"\n".join(LINES) + b"\n")
    tree.sync()
    number = next(number for number, line in enumerate(LINES) if f'"{word}"'.encode() in line)
    assert told(tree) == {(PLACES[number], "internal_error")}
    others = {"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "kilo", "lima"}
    lost = {"foxtrot": {"golf"}, "hotel": {"india"}}.get(word, set())  # of the same line, behind it
    assert set(prepared) == others - {word} - lost


@pytest.mark.parametrize("number", range(len(HISTORY)))
@pytest.mark.parametrize(
    "target", ["hansard.clients.claude_code.history.HistoryFold.feed", "hansard.index.text.TextIndex._put"]
)
def test_a_prompt_history(tree: Tree, monkeypatch: pytest.MonkeyPatch, target: str, number: int) -> None:
    lines = raw(HISTORY).splitlines()
    place = sum(len(line) + 1 for line in lines[:number])
    fail_at(monkeypatch, target, place, len(lines[number]))
    tree.write("history.jsonl", raw(HISTORY))
    tree.sync()
    with hansard.open(tree.home) as opened:
        (issue,) = opened.issues()
    assert issue.reason == "internal_error"
    assert [(example.offset, example.length) for example in issue.examples] == [(place, len(lines[number]))]
    assert issue.examples[0].detail.startswith(f"Fault: at {place}x")
    assert len(issue.examples[0].detail) <= 300
    rows = len(tree.rows("SELECT id FROM prompts"))
    texts = len(ask(tree.home, "SELECT rowid FROM talk", name="text.db"))
    assert (rows, texts) == ((2, 3) if "history" in target else (3, 2))


def test_a_last_line_without_an_end(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fail_at(patch, "hansard.clients.claude_code.decode.decode", PLACES[-1], len(LINES[-1]))
        path = tree.write(main_path(A), b"\n".join(LINES))
        tree.sync()
    assert told(tree) == {(PLACES[-1], "internal_error")}
    assert tree.rows("SELECT count(*) FROM records WHERE uuid = 'u8'") == [(0,)]
    with path.open("ab") as log:
        log.write(b"\n")
    tree.sync()
    assert told(tree) == set()
    assert tree.rows("SELECT count(*) FROM records WHERE uuid = 'u8'") == [(1,)]


def test_what_is_no_fault_of_the_line_is_raised() -> None:
    for error in (MemoryError(), apsw.FullError("disk"), StoreCorrupt("chunk")):
        with pytest.raises(type(error)):
            internal_error(error, b"line", 7)
    assert internal_error(RecursionError("deep"), b"line", 7) == Issue(7, 4, "too_deep")
    assert internal_error(KeyError("x"), b"line", 7) == Issue(7, 4, "internal_error", "KeyError: 'x'")
    assert len(internal_error(ValueError("x" * 5000), b"line", 7).detail) == 300
