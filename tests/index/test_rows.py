"""The writer of `index.db`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.clients.rows import Rows
from hansard.index import rows
from hansard.index.rows import RowIndex
from tests.sync.making import assistant, main_path, session, user

if TYPE_CHECKING:
    import pytest

    from tests.sync.making import Tree


def test_few_long_lines_do_not_wait_in_memory_together(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    insert = RowIndex._insert

    def noting(self: RowIndex, found: Rows) -> None:
        held.append(sum(len(row[3]) for row in found.prompts))
        insert(self, found)

    monkeypatch.setattr(RowIndex, "_insert", noting)
    monkeypatch.setattr(rows, "_FLUSH_BYTES", 10_000)
    tree.write(main_path(session(1)), [user(session(1), f"u{number}", "x" * 4000, number) for number in range(20)])
    tree.sync()
    assert sum(held) == 20 * 4000
    assert max(held) <= 3 * 4000
    assert tree.rows("SELECT count(*), max(length(text)) FROM prompts") == [(20, 4000)]


def test_many_blocks_do_not_wait_in_memory_together(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    insert = RowIndex._insert

    def noting(self: RowIndex, found: Rows) -> None:
        held.append(len(found.blocks))
        insert(self, found)

    monkeypatch.setattr(RowIndex, "_insert", noting)
    monkeypatch.setattr(rows, "_FLUSH_BLOCKS", 100)
    blocks = [{"type": "text", "text": "x"}] * 40
    tree.write(main_path(session(1)), [user(session(1), f"u{number}", blocks, number) for number in range(20)])
    tree.sync()
    assert sum(held) == 20 * 40
    assert max(held) == 3 * 40


def test_messages_are_told_apart_however_many_there_are(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        assistant(session(1), f"u{number}", f"msg_01{number * 7 % 50}", f"part {number}", number)
        for number in range(200)
    ]
    tree.write(main_path(session(1)), lines)
    tree.sync()
    asked = "SELECT * FROM messages", "SELECT id, message_id FROM records", "SELECT api_messages FROM sessions"
    known = [tree.rows(question) for question in asked]
    assert len(known[0]) == 50
    tree.write(main_path(session(1)), b"")
    for path in tree.home.iterdir():
        path.unlink()
    monkeypatch.setattr(rows, "_MAX_MESSAGES", 10)
    monkeypatch.setattr(rows, "_FLUSH_LINES", 15)
    tree.write(main_path(session(1)), lines)
    tree.sync()
    assert [tree.rows(question) for question in asked] == known
