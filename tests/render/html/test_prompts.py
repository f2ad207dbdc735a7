"""Prompts: Markdown is drawn, long ones are folded, and nothing that was typed is lost."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hansard.model.display import Plain
from hansard.render.html.parts import part_html
from hansard.render.html.prose import FIRST, LONG, prompt_html


def words(html: str) -> str:
    """What a page shows of some HTML."""
    return unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<summary>.*?</summary>", "", html)))


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("Please:\n- one\n- two", "<li>one"),
        ("Use `make` here", "<code>make</code>"),
        ("```python\nx = 1\n```", '<pre class="code">'),
        ("# Plan\nthe **first** step", "<strong>first</strong>"),
        ("- `a` and __init__.py", "<li><code>a</code> and __init__.py"),
        ("- 2*3*4 is **much**", "2*3*4 is <strong>much</strong>"),
        ("- a \\* b `c`", "a \\* b <code>c</code>"),
        ("- &lt; stays", "<li>&amp;lt; stays"),
        ("`x`:\n\n[1]: http://example.com/x\n\nend", "[1]: <a href"),
        ("```python title=x\n1\n```", "python title=x"),
        ("|a|b|\n|--|--|\n|1|2|", "<td>1</td>"),
        ("**steps**:\n    four spaces", "\n    four spaces"),
    ],
)
def test_markdown_in_a_prompt_is_drawn(text: str, tag: str) -> None:
    assert tag in prompt_html(text)


@pytest.mark.parametrize("text", ["plain words\nin lines", "2 * 3 * 4", "snake_case and __init__"])
def test_other_prompts_stay_as_they_were_typed(text: str) -> None:
    assert prompt_html(text) == part_html(Plain(text))


@pytest.mark.parametrize("text", ["|a|b|\n|--|--|\n|1|2|3|", "|a|b|\n|--|--|\n|1|x \\| y|"])
def test_a_table_that_markdown_would_cut_stays_as_it_was_typed(text: str) -> None:
    assert "<table>" not in prompt_html(text)
    assert text.split("\n")[2] in words(prompt_html(text))


@pytest.mark.parametrize(
    "text",
    [
        "# Plan\n\n" + "- do *this* in `x`\n" * (LONG + 5),
        "```python\n" + "x = 1\n" * (LONG + 5) + "```\nand then",
        "# A\n\n" + "long words " * 900 + "\n\n# B",
        "1. one\n" * (LONG + 5),
    ],
)
def test_a_long_prompt_is_drawn_and_then_folded(text: str) -> None:
    html = prompt_html(text)
    shown, fold, hidden = html.partition('<details class="more">')
    assert fold
    for part in (shown, hidden):
        assert "<li>" in part or "<pre" in part or "<h3>" in part
        assert "```" not in part
        assert "\n# " not in part
    assert len(shown) > 20
    assert shown.count("\n") <= 4 * FIRST


def test_the_rest_of_a_folded_code_block_is_code() -> None:
    hidden = prompt_html("```python\n" + "x = 1\n" * (LONG + 5) + "```\nand then").partition("<details")[2]
    assert hidden.count("<pre") == 1
    assert hidden.rstrip().endswith("<p>and then</p></div></details>")


@given(st.text("ab_*\\&;|`\n -1.", max_size=80))
@example("\n___")
@example("\n\n_ _ _ _\n---")
def test_no_letter_underscore_or_backslash_of_a_prompt_is_lost(text: str) -> None:
    never_layout = re.compile(r"[ab_\\&;]")
    assert never_layout.findall(words(prompt_html("`c` " + text))) == never_layout.findall(text)
