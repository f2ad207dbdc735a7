"""Text of a transcript in Markdown can neither become HTML nor leave its place."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hansard.render.markdown_text import code_span, contained, demoted, escape, fenced, nested, prose, quoted
from hansard.render.text import clean, one_line

PARTS = st.sampled_from(
    [
        "`",
        "``",
        "```",
        "~~~",
        "<b>",
        "<script>",
        "</b>",
        "<!--",
        "\n",
        "\n\n",
        " ",
        "    ",
        "\t",
        "- ",
        "> ",
        "# ",
        "1. ",
        "|",
        "\\",
        "word",
        "雨",
    ]
)
TEXT = st.lists(PARTS, max_size=25).map("".join)
GFM = MarkdownIt("commonmark", {"html": True}).enable("table")


def html_in(markdown: str) -> list[str]:
    tokens = [inner for token in GFM.parse(markdown) for inner in [token, *(token.children or [])]]
    return [token.content for token in tokens if token.type in ("html_block", "html_inline")]


def test_the_probe_sees_html() -> None:
    assert html_in("a <b>")
    assert html_in("<script>")


@given(TEXT)
@example("a `\n# h <b> ` c")
@example("  ```\n```\n<script>")
@example("- a\n  ```\n<script>")
@example("| ` | <b> ` |\n|---|---|\n| a | b |")
@example("\\`<b>`")
@example("``` a`b\n<b>")
@example("~~~ <!-- |\n|-|\n<b>\n")
def test_html_stays_text(text: str) -> None:
    assert html_in(contained(text)) == []
    assert html_in(quoted(text)) == []


@given(TEXT)
@example(" ```- <b>")
@example("  ~~~  |\\1. \n- ~~~<b>|> <script>")
@example("===\n  ```|\n``` ")
def test_what_follows_is_not_swallowed(text: str) -> None:
    tokens = GFM.parse(f"{contained(text)}\n\n## After\n")
    assert tokens[-3].level == 0
    assert tokens[-3].type == "heading_open"
    assert tokens[-2].content == "After"


@given(TEXT, st.integers(0, 3))
@example("\t<b>", 1)
@example("-\t\t<b>", 2)
@example("- \t```\n<b>", 1)
def test_prose_stays_in_its_quotation(text: str, levels: int) -> None:
    made = prose(text, levels)
    assert html_in(made) == []
    tokens = GFM.parse(f"{made}\n{nested('', levels)}\n{nested('## After', levels)}\n")
    headings = [place for place, token in enumerate(tokens) if token.type == "heading_open"]
    assert tokens[headings[-1] + 1].content == "After"
    assert tokens[headings[-1]].level == levels


def test_lines_stay_lines_in_a_quotation() -> None:
    assert quoted("a\nb\n\nc\n```\nd\ne\n```\nf  \ng ") == ("> a  \n> b\n>\n> c  \n> ```\n> d\n> e\n> ```\n> f  \n> g")
    assert nested("a  \nb\n\n", 2) == "> > a  \n> > b\n> >\n> >"
    typed = "07:07 INFO gauge\n07:08 WARN  harbour\\\n07:09 <b> tide"
    children = GFM.parse(nested(quoted(typed), 1))[3].children or []
    assert [child.type for child in children].count("hardbreak") == 2


def test_no_formula_is_made_of_dollars() -> None:
    assert escape("$x^2$") == "\\$x^2\\$"


def test_headings_go_below_those_of_the_page() -> None:
    assert demoted("# a\n\n```\n# b\n```\n  ## c\n\n##### d\n- # e\n#f", 2) == (
        "### a\n\n```\n# b\n```\n  #### c\n\n###### d\n- # e\n#f"
    )


@given(st.text(max_size=60).map(clean))
def test_fences_hold_any_text(text: str) -> None:
    tokens = GFM.parse(fenced(text))
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content == text + "\n" or "\0" in text


@given(st.text(st.sampled_from("`a <b>\\*_"), min_size=1, max_size=30).map(one_line).filter(bool))
def test_inline_code_holds_any_line(text: str) -> None:
    children = GFM.parse(f"x {code_span(text)} y")[1].children or []
    assert [child.type for child in children] == ["text", "code_inline", "text"]
    assert children[1].content == text


@given(st.text(st.sampled_from("a`*_[]<>#|~\\&;()$ "), max_size=30).map(one_line))
def test_escaped_text_means_nothing(text: str) -> None:
    children = GFM.parse(f"x{escape(text)}x")[1].children or []
    assert "".join(child.content for child in children) == f"x{text}x"


def test_code_is_left_alone_where_it_is_certain() -> None:
    assert contained("a `List<String>` and\n\n```java\nList<String> x;\n```") == (
        "a `List<String>` and\n\n```java\nList<String> x;\n```"
    )
    assert contained("a <b> c") == "a &lt;b> c"
    assert contained("```\nopen") == "```\nopen\n````"
    assert contained("1. a\n   ```html\n   <b>\n   ```\n2. b") == "1. a\n   ```html\n   <b>\n   ```\n2. b"
