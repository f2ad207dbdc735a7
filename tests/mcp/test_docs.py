"""docs/mcp.md describes every tool, parameter, resource and prompt, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hansard.mcp.resources import list_prompts, list_templates
from hansard.mcp.tools import NAMES, find_tool

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "mcp.md").read_text(encoding="utf-8")
COMMON = {"scope", "max_tokens"}


def described(section: str) -> set[str]:
    found = re.search(rf"^##+ {section}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/mcp.md has no section {section}"
    return set(re.findall(r"^\| `([a-z_]+)` \|", found[1], re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_documented(name: str) -> None:
    assert described(name) | COMMON == set(find_tool(name).listed()["inputSchema"]["properties"])


def test_every_tool_resource_and_prompt_is_documented() -> None:
    assert described("Tools") == COMMON
    sections = set(re.findall(r"^### ([a-z]+)$", PAGE, re.MULTILINE))
    assert sections == set(NAMES)
    for prompt in list_prompts()["prompts"]:
        assert f"`{prompt['name']}`" in PAGE
        assert all(f"`{argument['name']}" in PAGE for argument in prompt["arguments"])
    for template in list_templates()["resourceTemplates"]:
        assert template["uriTemplate"].replace("{session}", "ID").replace("{turn}", "N") in PAGE
