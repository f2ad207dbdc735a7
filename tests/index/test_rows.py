"""The writer of `index.db`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.index import rows
from hansard.index.rows import RowIndex
from hansard.parse.rows import Rows
from tests.sync.making import main_path, session, user

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
