"""What reaches a terminal: nothing that it obeys, and never more columns than there are."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hansard.model.table import Column, Kind, Table
from hansard.render.terminal.tables import draw_table
from hansard.render.text import PIPED, Paint, clean, fit, fit_path, one_line, pad, width, wrap

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NASTY = st.text(
    st.one_of(st.characters(), st.sampled_from("\x1b\x9b\x9d\x07\x00\r\n\t[]m;0JPX^_\\雨e\u0301⚠\ufe0f" + BIDI)),
    max_size=80,
)


def is_harmless(character: str) -> bool:
    if character in "\n\t":
        return True
    return unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") and character not in BIDI


@given(NASTY)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert all(map(is_harmless, clean(text)))


@given(NASTY)
def test_clean_text_stays_as_it_is(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    if all(map(is_harmless, text)):
        assert once == text


@given(NASTY)
def test_a_line_is_one_line(text: str) -> None:
    assert not set(one_line(text)) & set("\n\r\t\x0b\x0c\x85\u2028")


def test_sequences_go_as_a_whole() -> None:
    assert clean("\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x9b2J") == "red xlink"


def test_a_sequence_without_end_takes_nothing_with_it() -> None:
    assert clean("\x1b]0;kept for the reader") == "0;kept for the reader"
    assert clean("half \ud800 a pair") == "half \ufffd a pair"


@given(NASTY.map(clean), st.integers(2, 60))
def test_wrapped_lines_fit_and_lose_only_spaces(text: str, columns: int) -> None:
    lines = wrap(text, columns)
    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(NASTY.map(one_line), st.integers(1, 40))
def test_cut_text_fits(text: str, columns: int) -> None:
    assert width(fit(text, columns)) <= columns
    assert width(fit_path(text, columns)) <= columns
    assert width(pad(fit(text, columns), columns)) == columns


def test_wide_characters_count_two() -> None:
    assert width("雨雲") == 4
    assert fit("雨雲ノート", 7) == "雨雲ノ…"
    assert wrap("雨雲ノート", 4) == ["雨雲", "ノー", "ト"]


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cc"]), max_size=20))
def test_the_short_way_to_a_width_is_the_right_one(text: str) -> None:
    assert width(text) == cell_len(text)


CELLS = st.lists(st.tuples(NASTY.map(one_line), st.just("12,345"), NASTY.map(one_line)), min_size=1, max_size=5)


@given(CELLS, st.integers(40, 200))
def test_tables_fit_the_terminal(rows: list[tuple[str, str, str]], columns: int) -> None:
    shape = (Column("NAME", least=10), Column("COUNT", right=True), Column("REST", least=8, rank=1))
    assert all(width(line) <= columns for line in draw_table(Table(shape, rows), columns, Paint(enabled=False)))


def test_a_very_narrow_terminal_cuts_deeper() -> None:
    shape = (Column("ID"), Column("TITLE", least=28))
    lines = draw_table(Table(shape, [("12345678", "x" * 40)]), 24, Paint(enabled=False))
    assert lines[1] == "12345678  " + "x" * 13 + "…"


def test_columns_that_say_least_go_first() -> None:
    shape = (Column("A"), Column("B", rank=1), Column("C", rank=2))
    rows = [("aaaa", "bbbb", "cccc")]
    assert draw_table(Table(shape, rows), 16, Paint(enabled=False))[1] == "aaaa  bbbb  cccc"
    assert draw_table(Table(shape, rows), 15, Paint(enabled=False))[1] == "aaaa  bbbb"
    assert draw_table(Table(shape, rows), 9, Paint(enabled=False))[1] == "aaaa"


def test_a_pipe_gets_long_texts_last_and_unpadded() -> None:
    shape = (Column("ID"), Column("TITLE", least=28), Column("COST", right=True))
    rows = [("a", "x" * 500, "$1"), ("b", "short", "$22")]
    lines = draw_table(Table(shape, rows, ("Total", "", "$23")), PIPED, Paint(enabled=False))
    assert lines == [
        "ID     COST  TITLE",
        "a        $1  " + "x" * 500,
        "b       $22  short",
        "─" * 11,
        "Total   $23",
    ]


def test_paths_are_cut_at_their_beginning() -> None:
    lines = draw_table(
        Table((Column("FILE", Kind.PATH, least=8),), [("/src/tide/parser.py",)]), 12, Paint(enabled=False)
    )
    assert lines == ["FILE", "…e/parser.py"]


def test_sequences_that_do_not_end_take_no_time() -> None:
    """Each is looked at as far as the next one: else this would take minutes."""
    assert clean("\x9d" * 300_000 + "end") == "end"
    assert clean("\x1b]" * 300_000 + "end") == "end"
