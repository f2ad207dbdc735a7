"""A query over prompts finds what a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import hansard
from tests.sync.making import main_path, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.engine import Hansard
    from tests.sync.making import Tree

TEXTS = [
    "Fix the parseLine function in HTTPServer2.py",
    "parse_line drops the last line",
    "The Café's menu is flaky: it fails at 100ms",
    "Rewrite it in C++ or C#",
    "雨雲ノートを検索してください",
    "path/to/file.py:42 has --no-sync",
]


@pytest.fixture
def store(tree: Tree) -> Iterator[Hansard]:
    for number, text in enumerate(TEXTS, 1):
        lines = [user(session(number), f"u{number}", text, number * 1440, gitBranch=f"feature-{number}")]
        tree.write(main_path(session(number)), lines)
    tree.sync()
    with hansard.open(tree.home) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("parseline", {1, 2}),
        ("parse_line", {1, 2}),
        ("PARSELINE", {1, 2}),
        ("line", {1, 2}),
        ('"parse line"', {1, 2}),
        ('"line parse"', set()),
        ("httpserver2", {1}),
        ("server", {1}),
        ("fixes", {1}),
        ("failing", {3}),
        ('"failing"', set()),
        ("cafe", {3}),
        ("CAFÉ", {3}),
        ("100 ms", {3}),
        ("c++", {4}),
        ("c#", {4}),
        ("検索", {5}),
        ("file.py", {6}),
        ("--no-sync", {6}),
        ("pars*", {1, 2}),
        ("parselin*", {1, 2}),
        ('"drops the la"*', {2}),
        ("xyz*", set()),
        ("parse flaky", set()),
        ("parse OR flaky", {1, 2, 3}),
        ("(parse OR flaky) -drops", {1, 3}),
        ("-parse -c", {3, 5, 6}),
        ("...", set()),
        ("", {1, 2, 3, 4, 5, 6}),
        ("... flaky", {3}),
        ("session:@2 OR flaky", {3, 5}),
        (f"session:{session(4)}", {4}),
        ("branch:feature-2", {2}),
        ("project:nowhere", set()),
        ("project:APP parse", {1, 2}),
        ("before:2026-03-03", {1}),
        ("since:2026-03-06", {5, 6}),
        ("after:2026-03-06", {6}),
        ("on:2026-03-04", {3}),
        ("near(menu fails, 5)", {3}),
        ("model:opus", set()),
        ("one two three four five six seven eight fixes", set()),
    ],
)
def test_queries(store: Hansard, query: str, found: set[int]) -> None:
    page = store.prompts(query, limit=None)
    assert {TEXTS.index(prompt.text) + 1 for prompt in page.prompts} == found


@pytest.mark.parametrize("query", ["tool:Bash", "is:error", "kind:result", "has:diff"])
def test_what_no_prompt_is(store: Hansard, query: str) -> None:
    assert store.prompts(query).prompts == ()
