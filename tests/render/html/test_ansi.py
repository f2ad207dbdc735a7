from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.render.highlighting import console_runs as shown

COLOURS = {f"{ground}{colour}" for ground in "fg" for colour in (*range(16), "i")}
CLASSES = {"bold", "dim", "ital", "ul", "strike", *COLOURS}


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("plain", [("", "plain")]),
        ("\x1b[31mred\x1b[0m not", [("f1", "red"), ("", " not")]),
        ("\x1b[1;4;92mx\x1b[22my\x1b[24;39mz", [("f10 bold ul", "x"), ("f10 ul", "y"), ("", "z")]),
        ("\x1b[38;5;9mx\x1b[48;5;4my", [("f9", "x"), ("f9 g4", "y")]),
        ("\x1b[38;2;250;80;80mx", [("f9", "x")]),
        ("\x1b[38:2:10:190:120mx", [("f2", "x")]),
        ("\x1b[38;5;240mx\x1b[38;5;255my", [("f8", "x"), ("f15", "y")]),
        ("\x1b[7mx\x1b[31my\x1b[27mz", [("fi gi", "x"), ("fi g1", "y"), ("f1", "z")]),
        ("\x1b[7;41mx", [("f1 gi", "x")]),
        ("\x1b[2;3;9mx", [("dim ital strike", "x")]),
        ("\x1b[mx\x1b[99999;;mx", [("", "x"), ("", "x")]),
        ("a\x1b[2Jb\x1b[10;20Hc\x1b[?25ld", [("", "a"), ("", "b"), ("", "c"), ("", "d")]),
        ("\x1b]0;title\x07x\x1b]8;;https://example.org\x1b\\y\x1b]8;;\x1b\\", [("", "x"), ("", "y")]),
        ("\x1bPsecret\x1b\\x\x1b(By", [("", "x"), ("", "y")]),
        ("\x9b31mx", [("f1", "x")]),
        ("a\rb\r\nc", [("", "a\nb\nc")]),
        ("bell\x07 back\x08 nul\x00", [("", "bell back nul")]),
        ("\x1b]0;never ended", []),
        ("\x1b", []),
        ("", []),
    ],
)
def test_colours_stay_and_the_rest_goes(text: str, runs: list[tuple[str, str]]) -> None:
    assert list(shown(text)) == runs


@given(st.text(alphabet=st.sampled_from("\x1b[]0123456789;:mKHP\\\x07\x9b\x9cab\n\r\x00\x7f"), max_size=60) | st.text())
def test_no_control_character_and_no_other_class_is_left(text: str) -> None:
    for classes, run in shown(text):
        assert set(classes.split()) <= CLASSES
        assert run
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", run)


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"])))
def test_text_without_controls_is_whole(text: str) -> None:
    assert "".join(run for _, run in shown(text)) == text
