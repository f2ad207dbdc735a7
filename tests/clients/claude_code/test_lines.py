"""Lines out of pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hansard.clients.claude_code.decode import items
from hansard.clients.lines import BLANK, Issue, Lines, ParsedLine, unfinished
from tests.counting import lines_run


def _split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(places)]


@given(
    st.lists(st.sampled_from([b"\n", b"a", b"\xe2\x80\xa8", b"\r", b"\x00", b"\xc2\x85", b"bb"])),
    st.lists(st.integers(0, 40)),
)
def test_any_pieces_give_the_same_lines(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    lines = Lines(_split(data, cuts), 100)
    found = list(lines)
    *complete, rest = data.split(b"\n")
    assert [line for _, line in found] == [line for line in complete if line.strip(BLANK)]
    assert all(data[offset - 100 :].startswith(line + b"\n") for offset, line in found)
    assert lines.rest == rest
    assert lines.offset == 100 + len(data) - len(rest)


@given(
    st.lists(st.sampled_from([b"x\n", b"x\n" * 20, b"\x00\n", b"xx\n", b"\r\n", b"\n", b"ab"])),
    st.lists(st.integers(0, 100)),
)
def test_equal_lines_can_be_skipped(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    expected = list(Lines([data], 7))
    lines = Lines(_split(data, cuts), 7)
    found: list[tuple[int, bytes]] = []
    for offset, line in lines:
        more = lines.skip_equal(line)
        found += ((offset + number * (len(line) + 1), line) for number in range(more + 1))
        assert lines.offset == found[-1][0] + len(line) + 1
    assert found == expected
    whole = Lines([data], 7)
    list(whole)
    assert (lines.offset, lines.rest, lines.end) == (whole.offset, whole.rest, whole.end)


def test_blank_lines_cost_next_to_nothing() -> None:
    assert lines_run(lambda: list(Lines([b"\r\n" * 100_000, b"  \n\n" * 100_000], 0))) < 100


def test_a_last_line_is_read_once_it_is_whole() -> None:
    assert unfinished(b"  \r", 5, items) == []
    assert unfinished(b'{"type":"user","uuid":"x', 5, items) == [
        Issue(5, 24, "unfinished", "the last line has no end yet")
    ]
    (record,) = unfinished(b'{"type":"user","uuid":"x"}', 5, items)
    assert isinstance(record, ParsedLine)
    assert (record.offset, record.kind) == (5, "user")
