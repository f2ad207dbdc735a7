"""Text numbers in the full text, and the blocks they map to."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import apsw
import pytest

from hansard.index import schema
from hansard.index.places import first_doc
from tests.sync.making import ask, assistant, call, main_path, raw, result, session, user

if TYPE_CHECKING:
    from tests.sync.making import Tree

A, B = session(1), session(2)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64])
def test_the_first_text_from_an_id_on(count: int) -> None:
    db = apsw.Connection(":memory:")
    db.execute(schema.text_tables())
    transcript, other = 5, 6
    ids = [(transcript << 40) + 10 * number + 3 for number in range(count)]
    docs = [(transcript << schema.TEXT_BITS) + number for number in range(count)]
    db.executemany("INSERT INTO places VALUES (?, ?)", zip(docs, ids, strict=True))
    db.execute("INSERT INTO places VALUES (?, ?)", (other << schema.TEXT_BITS, other << 40))
    for offset in (0, 1, 3, 4, 13, 10 * count + 2, 10 * count + 3, (1 << 40) - 1):
        id_ = (transcript << 40) + offset
        assert first_doc(db.execute, id_) == (transcript << schema.TEXT_BITS) + sum(one < id_ for one in ids)
    assert first_doc(db.execute, schema.SNAPSHOT_TEXT + 9) == schema.SNAPSHOT_TEXT + 9


def test_texts_are_numbered_without_gaps_in_the_order_of_their_blocks(tree: Tree) -> None:
    """Also after an unfinished line, whose texts are numbered again, and a result whose tool is named later."""
    lines = [
        user(A, "p", "typed"),
        result(A, "r", "toolu_1", "listed", 2),
        assistant(A, "a", "m", [call("toolu_1", "Bash", command="ls"), {"type": "text", "text": "done"}], 1),
    ]
    whole = raw(lines)
    tree.write(main_path(B), [user(B, "q", "other", 3)])
    for cut in (len(whole) - 9, len(whole)):
        tree.write(main_path(A), whole[:cut])
        tree.sync()
    places = ask(tree.home, "SELECT doc, id FROM places ORDER BY doc", name="text.db")
    assert len(places) == 5
    for (doc, id_), (following, next_id) in pairwise(places):
        assert id_ < next_id
        assert following == doc + 1 or (id_ >> 40 != next_id >> 40 and not following & schema.TEXT_MASK)
    found = [ask(tree.home, f"SELECT id FROM {table}_docsize", name="text.db") for table in ("talk", "work", "titles")]
    assert sorted(doc for rows in found for (doc,) in rows) == [doc for doc, _ in places]


def test_a_transcript_with_too_many_texts_keeps_the_first(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "TEXT_BITS", 2)
    monkeypatch.setattr(schema, "TEXT_MASK", 3)
    tree.write(main_path(A), [user(A, f"u{number}", f"typed{number}", number) for number in range(6)])
    tree.sync()
    assert ask(tree.home, "SELECT count(*) FROM places", name="text.db") == [(4,)]
    reasons = ask(tree.home, "SELECT reason, detail FROM issues", name="text.db")
    assert reasons == [("internal_error", "ValueError: too many texts")] * 2
