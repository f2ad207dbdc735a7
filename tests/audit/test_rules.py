"""Every rule finds its examples, and nothing in what looks alike."""

from __future__ import annotations

import pytest

from hansard.audit.paths import Scene
from hansard.audit.rules import CATEGORIES, RULES, SEVERITIES, judge_commands
from hansard.shell.commands import read_commands
from tests.audit.examples import EXAMPLES

SCENE = Scene("/home/ada/shop", ("/home/ada/shop",), "/home/ada/.claude")
FOUND = [(rule, text) for rule, examples in EXAMPLES.items() for text in examples.found]
OTHERS = [(rule, text) for rule, examples in EXAMPLES.items() for text in examples.others]


def found(text: str) -> set[str]:
    commands = read_commands(text, SCENE.folder)
    assert commands.is_complete
    return {risk.rule for risk in judge_commands(text, commands, SCENE)}


@pytest.mark.parametrize(("rule", "text"), FOUND)
def test_examples(rule: str, text: str) -> None:
    assert rule in found(text)


@pytest.mark.parametrize(("rule", "text"), OTHERS)
def test_what_looks_alike(rule: str, text: str) -> None:
    assert rule not in found(text)


def test_the_table_is_sound() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert set(EXAMPLES) == {rule.name for rule in RULES} - {"bypass-mode", "unsandboxed"}  # which no command shows
    assert {rule.category for rule in RULES} == set(CATEGORIES)
    assert {rule.severity for rule in RULES} == set(SEVERITIES)
