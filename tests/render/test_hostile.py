"""Texts that are made to be slow: what libraries get of them is bounded, and what we do ourselves is linear."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

import markdown_it.parser_inline
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hansard.clients.claude_code.meaning import split_reminders
from hansard.clients.claude_code.tools import notice
from hansard.model.display import Console, Diff
from hansard.model.threads import ToolCall
from hansard.render import highlighting
from hansard.render.highlighting import LONGEST as LONGEST_CODE
from hansard.render.highlighting import _lexed, lexer_name
from hansard.render.highlighting import console_runs as shown
from hansard.render.html.prose import LONGEST, MANY_MARKS, prose
from hansard.render.terminal import spans
from hansard.thread import tool_views
from hansard.web.search_hits import corrected

if TYPE_CHECKING:
    from collections.abc import Callable


def call(tool: str, given: Any, output: str | None = None) -> ToolCall:
    return ToolCall(
        client="claude-code", tool_use_id="t", tool=tool, input=given, output=output, is_error=False, at=None, duration_ms=None,
        path=None, change=None, added=0, removed=0, patch=None, persisted=False, agent_id=None,
    )  # fmt: skip


# -- what was once a regular expression


PIECES = [
    "<system-reminder>",
    "</system-reminder>",
    "\n",
    " ",
    "\t",
    "a",
    "\x0b",
    "\u2003",
    "<summary>",
    "</summary>",
    "\r",
    "'",
    "x y",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_reminders_are_left_out(text: str) -> None:
    expected = re.sub(r"\n*<system-reminder>.*?</system-reminder>\s*", "", text, flags=re.DOTALL)
    assert split_reminders(text)[0] == expected


def test_thousands_of_reminders_without_an_end() -> None:
    text = "     1\tline\n" + "<system-reminder>" * 16_000
    (shown_code, rest) = tool_views.view(call("Read", {"file_path": "/a.py"}, text), "").results
    assert (getattr(shown_code, "text", ""), getattr(rest, "text", "")) == ("line", "<system-reminder>" * 16_000)
    assert tool_views.view(call("Bash", {}, text * 2), "").results == (Console(text * 2),)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_line_ends_of_a_program(text: str) -> None:
    assert "".join(run for _, run in shown(text)) == re.sub("[\x0b]", "", re.sub("\r+\n|\r", "\n", text))


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_notices(text: str) -> None:
    text = "<task-notification>" + text
    found = re.search(r"<summary>(.*?)</summary>", text, re.DOTALL)
    assert notice(text) == (found[1].strip() if found else text)


@pytest.mark.parametrize(
    ("note", "better"),
    [
        ("'wrld' does not occur; did you mean world?", "hello world"),
        ("no tool named 'wrld'; did you mean world?", "hello world"),
        ("'wrld' does not occur", None),
        ("'two words' does not occur; did you mean world?", None),
        ("wrld does not occur; did you mean world?", None),
        ("'hello wrld' does not occur; did you mean two words?", None),
        ("'" * 5000 + "; did you mean " + "'" * 5000, None),
    ],
)
def test_a_query_as_it_may_have_been_meant(note: str, better: str | None) -> None:
    assert list(corrected("hello wrld", [note])) == [(note, better)]


# -- what libraries are given


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([f"a{n}" for n in range(25_000)], [f"b{n}" for n in range(25_000)]),
        (
            [line for n in range(5000) for line in (f"u{n}", f"x{n}")],
            [line for n in range(5000) for line in (f"u{n}", f"y{n}")],
        ),
    ],
)
def test_difflib_compares_so_many_lines_of_a_call(
    monkeypatch: pytest.MonkeyPatch, old: list[str], new: list[str]
) -> None:
    given: list[int] = []
    whole = difflib.unified_diff

    def noting(before: list[str], after: list[str], **more: Any) -> Any:
        given.append(len(before) + len(after))
        return whole(before, after, **more)

    monkeypatch.setattr(difflib, "unified_diff", noting)
    (drawn,) = tool_views.view(call("Edit", {"old_string": "\n".join(old), "new_string": "\n".join(new)}), "").results
    assert isinstance(drawn, Diff)
    assert drawn.text == "\n".join(
        [f"@@ -1,{len(old)} +1,{len(new)} @@", *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    )
    assert given == []
    edits = [{"old_string": "\n".join(old[:300]), "new_string": "\n".join(new[:300])}] * 50
    (drawn,) = tool_views.view(call("MultiEdit", {"edits": edits}), "").results
    assert given == [600, 600, 600]
    assert isinstance(drawn, Diff)
    assert drawn.text.count("\n-") + drawn.text.count("\n+") + 1 >= 50 * 300


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the texts that markdown-it is given."""
    lengths: list[int] = []

    def watch(holder: Any, name: str) -> None:
        whole: Callable[..., Any] = getattr(holder, name)

        def noting(self: Any, text: str, *given: Any) -> Any:
            lengths.append(len(text))
            return whole(self, text, *given)

        monkeypatch.setattr(holder, name, noting)

    watch(MarkdownIt, "render")
    watch(markdown_it.parser_inline.ParserInline, "parse")
    return lengths


@pytest.mark.parametrize("mark", ["[", "*", "`", "_", "![", "[a](", "<", "&", "\\", "**a", "> * ", "| a\n"])
def test_markdown_is_read_up_to_so_many_marks(parsed: list[int], mark: str) -> None:
    few, many = mark * 100, mark * 100_000
    assert 'class="wrap"' not in prose(few)
    parsed.clear()
    drawn = prose(many)
    assert drawn.startswith('<pre class="wrap">')
    assert parsed == []
    assert prose(f"*a* {'b ' * LONGEST}").startswith('<pre class="wrap">*a* b')
    assert parsed == []
    prose((mark + "x" * 20) * (MANY_MARKS // 10))
    assert sum(parsed) <= 2 * LONGEST


ORDINARY = "def f(a, b):\n    return {'a': [a, b], 'c': f(1, 2)}  # a comment of some words\n" * 40


@pytest.fixture
def lexed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The languages of the texts that Pygments is given."""
    given: list[str] = []
    lexer_of = highlighting.lexer_of

    def lexer(language: str) -> Any:
        given.append(language)
        return lexer_of(language)

    monkeypatch.setattr(highlighting, "lexer_of", lexer)
    return given


@pytest.mark.parametrize("language", ["c", "java", "python", "ini", "make"])
@pytest.mark.parametrize(
    "text",
    [
        " " * 3000,
        "\n" * 3000,
        "a\n" * 1500,
        "a b " * 900,
        "_" * 3000,
        "(" * 400,
        '"' + "\\" * 500,
        "x" * (LONGEST_CODE + 1),
        "{\n" * 300,
    ],
)
def test_pygments_gets_only_what_looks_like_code(lexed: list[str], language: str, text: str) -> None:
    assert highlighting.coloured(text, language) == [("", text)]
    assert spans.code_lines(text, language) == [[("", line)] for line in text.split("\n")]
    assert lexed == []
    highlighting.coloured(ORDINARY, language)
    assert lexed == [language]


@pytest.mark.parametrize(
    "language", ["fish", "scala", "autohotkey", "rst", "markdown", "http", "text", "console", "", "../x", "klingon"]
)
def test_pygments_is_asked_for_lexers_that_come_to_an_end(lexed: list[str], language: str) -> None:
    hostile = '"' + "\\" * 200
    assert highlighting.coloured(hostile, language) == [("", hostile)]
    assert spans.code_lines(hostile, language) == [[("", hostile)]]
    assert lexed == []


def test_usual_languages_are_coloured() -> None:
    usual = "bash sh shell py python js ts tsx json yaml yml toml html css c cpp c++ rust rs go java kotlin swift ruby php sql diff make"
    assert set(usual.split()) <= _lexed()
    assert lexer_name("x = 1", "Python") == "python"
    assert lexer_name('{"a": "' + "b" * 1000 + '"}', "json") == "json"
