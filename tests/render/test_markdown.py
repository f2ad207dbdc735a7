"""A session as Markdown: what it says, and that nothing of a transcript leaves its place."""

from __future__ import annotations

import json
import re
from datetime import UTC
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hansard.engine import Hansard
from hansard.model.display import CallFacts, Checklist, Code, Console, Diff, Facts, Item, Part, Picture, Plain, Prose
from hansard.render.depth import DEPTHS
from hansard.render.markdown import _Drawing, lines
from hansard.render.terminal.page import Sheet, head
from hansard.render.text import one_line
from tests.render.html.stubs import session

from .making import item, thread, turn

GFM = MarkdownIt("commonmark", {"html": True}).enable("table")
OURS = re.compile(r"<details>\n<summary>[^<>]*</summary>|</details>")


def page(hard: tuple[Hansard, str], depth: str = "all") -> str:
    h, name = hard
    tree = h.read(name)
    return "\n".join(lines(tree, depth=depth, picture=lambda picture: f"a b/{picture.media_type[-3:]}", zone=UTC))


def html_in(markdown: str) -> list[str]:
    tokens = [inner for token in GFM.parse(markdown) for inner in [token, *(token.children or [])]]
    return [token.content.strip() for token in tokens if token.type in ("html_block", "html_inline")]


@pytest.mark.parametrize("depth", sorted(DEPTHS))
def test_the_hard_session_has_no_html_but_ours(hard: tuple[Hansard, str], depth: str) -> None:
    text = page(hard, depth)
    assert [html for html in html_in(text) if not OURS.fullmatch(html)] == []
    folds = re.findall(r"^[> ]*(</?details>)$", text, re.MULTILINE)
    assert folds == ["<details>", "</details>"] * (len(folds) // 2)
    headings = [
        token for token in GFM.parse(text.partition("\n---\n")[2]) if token.type == "heading_open" and not token.level
    ]
    assert [token.tag for token in headings].count("h1") == 1
    assert [token.tag for token in headings].count("h2") == 20


def test_front_matter_is_no_place_for_html(hard: tuple[Hansard, str]) -> None:
    h, _ = hard
    for about in h.sessions(limit=None, debris=True).sessions:
        text = "\n".join(lines(h.read(about), depth="prompts"))
        assert [html for html in html_in(text) if not OURS.fullmatch(html)] == []


def test_front_matter(hard: tuple[Hansard, str]) -> None:
    head = page(hard).split("---\n")[1]
    values = dict(line.split(": ", 1) for line in head.splitlines())
    assert list(values) == "id title project branch started ended models tokens cost_usd tags pinned".split()
    assert json.loads(values["title"]) == "the hard one"
    assert values["started"] == "2026-09-01T09:00:00Z"
    assert json.loads(values["models"]) == ["claude-opus-5-5", "claude-haiku-5-5"]
    assert 0 < float(values["cost_usd"]) < 1
    assert int(values["tokens"]) > 100_000


@given(st.text(max_size=40))
@example("\ufffe \uffff \ufeff")
@example("\"quotes\": 'x' # - {} \\ <b>")
def test_front_matter_is_yaml_whatever_a_session_is_called(text: str) -> None:
    about = session(title=text, project=text, branch=text, models=(text,), tags=(text,))
    made = list(_Drawing(DEPTHS["all"], None, UTC, "Claude").front(about))
    head = made[1 : made.index("---", 1)]
    # All that YAML allows outside of escapes; the values are JSON, which is YAML.
    assert re.fullmatch("[\t\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*", "".join(head))
    values = dict(line.split(": ", 1) for line in head)
    assert json.loads(values["title"]) == (one_line(text) or "(untitled)")
    assert json.loads(values["tags"]) == [one_line(text)]
    assert "<" not in "".join(head)


def test_notes_are_boxes_and_keep_their_lines() -> None:
    about = session(notes=("Ask the pilot.\nThen sail.", "<b>"))
    text = "\n".join(_Drawing(DEPTHS["all"], None, UTC, "Claude").front(about))
    assert text.endswith("\n\n> [!NOTE]\n> Ask the pilot.  \n> Then sail.\n\n> [!NOTE]\n> &lt;b>")


@pytest.mark.parametrize(
    ("cost", "more", "told"),
    [
        ("0.44", {}, ", $0.44"),
        ("0.44", {"lower_bound_messages": 1}, ", at least $0.44"),
        ("0.44", {"unpriced_models": ("odd",)}, ", at least $0.44"),
        (None, {"unpriced_models": ("odd",)}, ", no price known"),
        (None, {"api_messages": 0}, ", 0 tool calls"),
    ],
)
def test_a_cost_that_is_not_certain_is_told_so(cost: str | None, more: dict[str, Any], told: str) -> None:
    values = {"api_messages": 3, "cost_usd": None if cost is None else Decimal(cost), "tool_calls": 0, **more}
    about = session(**values)
    assert list(_Drawing(DEPTHS["all"], None, UTC, "Claude").front(about))[-1].endswith(told)
    board = Sheet(200, colours=False, depth=DEPTHS["all"], command="").board()
    assert told in " ".join(head(about, None, board))


def test_what_a_page_has(hard: tuple[Hansard, str]) -> None:
    text = page(hard)
    assert "\n## 2. And a picture. (2026-09-01 09:02, $0.01)\n\n*3.0 s, 1 message, 16.9k tokens in, 10 out*\n" in text
    assert "\n![image/png](a%20b/png)\n" in text
    assert "\n[application/pdf](a%20b/pdf)\n" in text
    assert "\n**Edit** `src/gauges.py` (+1 -1, 140 ms)\n\n```diff\n@@ -82,7 +82,7 @@\n" in text
    assert "\n- [x] Left: by the sea\n- [ ] Right: by the hill\n" in text
    assert "\n> > **Subagent** Explore: Inner (`affe21aafcc0f8272`, 3 messages, 2 tool calls)\n" in text
    assert "\n*Branch 1, which was replaced:*\n\n> This prompt will be taken back.\n" in text
    assert "\n*How it continued:*\n\n> This prompt replaced it.\n" in text
    assert "Not shown: 282 internal records" in text
    assert "persisted-output" not in text  # outputs that did not fit their lines come from the record


def test_less_of_it(hard: tuple[Hansard, str]) -> None:
    text = page(hard, "prompts")
    assert "> Fill the context." in text
    assert "Room again." not in text
    assert re.search(r"Not shown: \d+ tool calls, \d+ replies", text)
    assert "… 7 more lines" not in page(hard, "all")
    assert "subagent" not in page(hard, "replies").lower().replace("nested", "")


TEXT = st.lists(
    st.sampled_from(["`", "```", "~~~", "<b>", "</details>", "<!--", "\n", "\n\n", "\t", "    ", "- ", "> ", "# ", "|", "\\", "word", "\x1b[2J", "\r", "[x](y)", "---", "$", "%"]),
    max_size=15,
).map("".join)  # fmt: skip
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Prose, TEXT),
    st.builds(Plain, TEXT),
    st.builds(Code, TEXT, TEXT),
    st.builds(Diff, TEXT),
    st.builds(Console, TEXT),
    st.builds(Facts, st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple)),
    st.builds(Checklist, st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple)),
    st.builds(Picture, TEXT, TEXT),
)
KINDS = st.sampled_from(
    "prompt reply thinking tool command output compaction summary error note interruption strange".split()
)


@given(
    KINDS,
    st.lists(PARTS, max_size=2),
    st.lists(PARTS, max_size=2),
    TEXT,
    TEXT,
    st.booleans(),
    st.sampled_from(sorted(DEPTHS)),
)
def test_any_item_stays_in_its_place(
    kind: str, parts: list[Part], results: list[Part], title: str, subject: str, inside: bool, depth: str
) -> None:
    made: Item = item(
        kind, *parts, results=tuple(results), title=title, subject=subject, facts=CallFacts(duration_ms=3)
    )
    if inside:
        made = item("tool", title="Agent", thread=thread(turn(made)))
    drawing = _Drawing(DEPTHS[depth], lambda picture: picture.data, UTC, "Claude")
    text = "\n".join([*drawing.turn(turn(made, number=7)), "\n## After\n"])
    assert [html for html in html_in(text) if not OURS.fullmatch(html)] == []
    tokens = GFM.parse(text)
    assert (tokens[-3].type, tokens[-3].level, tokens[-2].content) == ("heading_open", 0, "After")
    assert "\x1b" not in text
