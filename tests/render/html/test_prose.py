from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.render.html import prose as room
from hansard.render.html.prose import LONGEST, prose
from tests.render.html.reading import read
from tests.render.payloads import PAYLOADS

PIECES = st.sampled_from(
    ["a", "b ", "Wort", " ", "\n", "\n\n", "`", "``", "`x`", "**", "*", "_", "~~", "[", "](", ")", "!", "<", ">", "&", "&amp;", "\\", "#",
     "- ", "1. ", "> ", "|", "---", "| a | b |\n", "|:-:|---|\n", "| c", "    ", "\t", "  \n", ".", ",", "(", "é", "“", "\u00a0", "https://example.org/x_y", "+", "="]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=25).map("".join)


@contextmanager
def by_the_long_way() -> Iterator[None]:
    """Let markdown-it read everything."""
    with patch.object(room, "_MARKUP", re.compile("")):
        yield


def shape(html: str) -> str:
    """Without what a browser does not show."""
    html = re.sub(r"[ \t]*\n[ \t]*", "\n", html) if "<pre" not in html else html
    return html.replace("</p>\n", "</p>").replace("<p></p>", "").replace("&nbsp;", "\u00a0")


@given(TEXTS)
def test_the_short_way_gives_what_markdown_it_gives(text: str) -> None:
    quick = prose(text)
    with by_the_long_way():
        assert shape(quick) == shape(prose(text))


@given(st.text() | TEXTS | st.sampled_from(PAYLOADS))
def test_any_text_is_safe(text: str) -> None:
    read(prose(text))


@given(
    st.text() | TEXTS | st.sampled_from(PAYLOADS),
    st.sampled_from(["", "> ", "- ", "1. ", "| a | b |\n|---|---|\n| ", "# ", "```html\n"]),
)
def test_cleaning_what_was_drawn_changes_nothing(text: str, before: str) -> None:
    html = prose(before + text)
    assert room._cleaner().clean(html).replace("&nbsp;", "\u00a0") == html.replace("&nbsp;", "\u00a0")


def test_what_models_write() -> None:
    html = prose(
        "# Tides\n\nHigh **water** at `noon`, *not* ~~later~~.\n\n1. one\n   - nested\n2. two\n\n> quoted\n\n"
        "| a | b |\n|:--|--:|\n| 1 | 2 |\n\n```python\nprint('x')\n```\n\n---\n"
    )
    found = read(html)
    assert {"h3", "strong", "code", "em", "del", "ol", "ul", "blockquote", "table", "pre", "hr"} <= set(found.tags)
    assert '<td class="right">2</td>' in html
    assert '<pre class="code"><code><span class="b">print</span>(<span class="s">\'x\'</span>)</code></pre>' in html
    assert "<p>High <strong>water</strong> at <code>noon</code>" in html


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[x](https://example.org)", '<p><a href="https://example.org" rel="noopener noreferrer nofollow">x</a></p>'),
        ("see https://example.org/a_b.", '<p>see <a href="https://example.org/a_b" rel="noopener noreferrer nofollow">https://example.org/a_b</a>.</p>'),
        ("[x](mailto:a@example.org)", '<p><a href="mailto:a@example.org" rel="noopener noreferrer nofollow">x</a></p>'),
        ("[main](src/main.py#L3)", '<p><span class="ref" title="src/main.py#L3">main</span></p>'),
        ("![alt](https://example.org/x.png)", '<p><a href="https://example.org/x.png" rel="noopener noreferrer nofollow">alt</a></p>'),
        ("![alt](x.png)", '<p><span class="ref" title="x.png">alt</span></p>'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("a\n\nb", "<p>a</p><p>b</p>"),
        ("a <b>c</b>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>"),
    ],
)  # fmt: skip
def test_links_images_and_markup(text: str, expected: str) -> None:
    assert prose(text) == expected


def test_a_text_that_is_too_long_is_shown_as_it_is() -> None:
    html = prose("**x** " * (LONGEST // 5))
    assert html.startswith('<pre class="wrap">**x**')
    read(html)


def test_no_level_of_headings_is_skipped() -> None:
    drawn = prose("## A\n\n#### B\n\n# C\n\n###### D")
    assert re.findall(r"<(h\d)>", drawn) == ["h3", "h4", "h3", "h4"]
    assert re.findall(r"</(h\d)>", drawn) == ["h3", "h4", "h3", "h4"]
