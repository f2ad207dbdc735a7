"""Lines out of pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hansard.parse.decode import Issue, ParsedLine, unfinished
from hansard.parse.lines import Lines


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
    assert [line for _, line in found] == [line for line in complete if line]
    assert all(data[offset - 100 :].startswith(line + b"\n") for offset, line in found)
    assert lines.rest == rest
    assert lines.offset == 100 + len(data) - len(rest)


def test_a_last_line_is_read_once_it_is_whole() -> None:
    assert unfinished(b"  \r", 5) == []
    assert unfinished(b'{"type":"user","uuid":"x', 5) == [Issue(5, 24, "unfinished", "the last line has no end yet")]
    (record,) = unfinished(b'{"type":"user","uuid":"x"}', 5)
    assert isinstance(record, ParsedLine)
    assert (record.offset, record.kind) == (5, "user")
