"""JSON that every reader takes, whatever a transcript holds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hansard.model.serialize import encoded

from .conftest import SESSION, Run, said


def test_numbers_beyond_a_float_become_text() -> None:
    assert json.loads(encoded({"a": [float("inf"), 1.5]})) == {"a": ["inf", 1.5]}


def test_half_a_character_is_escaped() -> None:
    assert encoded({"a": "\ud800é"}) == b'{"a": "\\ud800\\u00e9"}\n'
    assert encoded({"a": "é"}) == '{"a": "é"}\n'.encode()


@pytest.mark.parametrize("depth", [50, 450, 900, 5000, 100_000])
@pytest.mark.parametrize("options", [["--json"], ["--tools", "full"], ["--markdown", "--tools", "full"]])
def test_deep_and_huge_arguments_are_shown_or_told(run: Run, root: Path, depth: int, options: list[str]) -> None:
    call = said(3, "", role="assistant")
    call["message"]["content"] = [
        {"type": "tool_use", "id": "toolu_1", "name": "Odd", "input": {"deep": "DEEP", "huge": "HUGE"}}
    ]
    line = json.dumps(call).replace('"DEEP"', "[" * depth + "]" * depth).replace('"HUGE"', "1e999")
    with (root / "projects" / "-src-tide" / f"{SESSION}.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + os.linesep)
    assert "high tide" in run("show", SESSION, *options).stdout
