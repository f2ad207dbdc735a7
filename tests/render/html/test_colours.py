from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.render import highlighting
from hansard.render.highlighting import CLASSES, LONGEST, Run, coloured
from hansard.thread.tool_views import LANGUAGES as KNOWN

LANGUAGES = sorted(KNOWN - {"text", "markdown", "prisma"})


@settings(deadline=None)  # the first text of a language loads its lexer
@given(st.text(max_size=200), st.sampled_from(LANGUAGES))
def test_nothing_of_a_text_is_lost(text: str, language: str) -> None:
    runs = coloured(text, language)
    assert "".join(run for _, run in runs) == text
    assert {kind for kind, _ in runs} <= CLASSES | {""}


def test_code_has_colours_and_what_is_unknown_or_long_has_none() -> None:
    assert coloured("return 'x'  # y", "python") == [("k", "return "), ("s", "'x'  "), ("c", "# y")]
    for text, language in (
        ("return 1", ""),
        ("return 1", "klingon"),
        ("return 1", "../x"),
        ("return 1\n" * LONGEST, "python"),
    ):
        assert coloured(text, language) == [("", text)]
    assert coloured("", "python") == []


def test_real_code_has_many_colours() -> None:
    source = Path(highlighting.__file__).read_text(encoding="utf-8")
    runs: list[Run] = coloured(source[:LONGEST], "python")
    assert len({kind for kind, _ in runs}) > 4
