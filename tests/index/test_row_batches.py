"""The rows of a transcript: the same for any split of its bytes into syncs, and few for junk."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hansard.clients.rows import IssueRow
from hansard.clients.state import State, dump, load
from hansard.index.rows import Transcript, read_row_batches
from tests.counting import lines_run
from tests.sync.making import raw, session, user

GOOD = raw([user(session(1), "u1", "hello")])
JUNK = (b"x\n", b"\x00\n", b"{}\n", b"[1]\n", b'{"a":"\xff"}\n', b"\xef\xbb\xbf\n", b"\x00{}\x00\n", b'{"type":"us\n')
BASE = 1 << 40


def _fold(pieces: list[bytes], kind: str = "main") -> tuple[dict[int, IssueRow], State]:
    """The issues that are in the table after each piece was synced by itself, and the state at the end."""
    transcript = Transcript(1, "root", "claude-code", "path", kind, 1, "live", None, session(1), "", "")
    table: dict[int, IssueRow] = {}
    data = b"".join(pieces)
    state, start, end, has_tail = State(), 0, 0, False
    for piece in pieces:
        end += len(piece)
        if has_tail:
            table = {id_: row for id_, row in table.items() if id_ < BASE + start}
        for stretch in read_row_batches(transcript, [data[start:end]], start, state, lambda _key: None):
            table |= stretch.rows.issues
            if stretch.cursor is not None:
                start, state, has_tail = stretch.indexed, load(stretch.cursor), stretch.has_tail
    return table, state


@given(
    st.lists(st.sampled_from([GOOD, *JUNK, *(junk * 9 for junk in JUNK), b"\r\n"]), max_size=20),
    st.lists(st.integers(0, 400), max_size=6),
    st.sampled_from(["main", "history"]),
)
def test_any_split_into_syncs_gives_the_same_issues(parts: list[bytes], cuts: list[int], kind: str) -> None:
    data = b"".join(parts)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    whole, state = _fold([data], kind)
    table, other = _fold([data[start:end] for start, end in pairwise(places)] or [data], kind)
    assert table == whole
    assert dump(other) == dump(state)
    assert sum(row[4] for row in whole.values()) == state.issues


def test_lines_in_a_row_with_the_same_issue_are_one_row() -> None:
    table, state = _fold([b"x\ny\n\r\n" + b"1\n" * 3 + GOOD + b"z\n"])
    assert [(id_ - BASE, *row[1:]) for id_, row in sorted(table.items())] == [
        (0, 3, "not_json", "", 2),
        (6, 5, "not_an_object", "a JSON value that is no object", 3),
        (12 + len(GOOD), 1, "not_json", "", 1),
    ]
    assert (state.lines, state.issues) == (7, 6)


def test_junk_of_several_kinds_that_alternates_stays_few_rows() -> None:
    table, state = _fold([b"x\n1\n\x00\n{}\n[]\n" * 1000])
    assert len(table) == 4
    assert state.issues == 5000


def test_equal_lines_cost_next_to_nothing() -> None:
    data = b"\x00\n" * 200_000 + b"x\n" * 200_000
    table: dict[int, IssueRow] = {}
    _fold([b"x\n"])  # imports the client, which is not to be counted
    assert lines_run(lambda: table.update(_fold([data])[0])) < 5000
    assert sorted(row[4] for row in table.values()) == [200_000, 200_000]
