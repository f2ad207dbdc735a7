"""Blame on small repositories, case by case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from tests.git.making import Workshop

PARSER = '''import os


def parse(line):
    """Read a line of the tide table."""
    left, right = line.split(":")
    return left.strip(), right.strip()
'''


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture
def h(tmp_path: Path, shop: Workshop) -> Iterator[Hansard]:
    with hansard.open(tmp_path / "store", [shop.config]) as engine:
        yield engine


def test_lines_of_a_session_and_of_a_person(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write a parser for tide tables")
    shop.write(writer, "tide.py", PARSER)
    shop.type("tide.py", PARSER + "\n\ndef double(value):\n    return value * 2\n")
    commit = shop.commit("Parse tide tables")
    shop.save()
    h.sync()
    report = h.blame(str(shop.root / "tide.py"))
    assert [line.certainty for line in report.lines] == ["exact"] * 7 + ["unknown"] * 4
    assert {line.commit for line in report.lines} == {commit}
    (edit,) = report.edits
    assert (edit.session_id, edit.turn, edit.prompt) == (writer.session_id, 1, "Write a parser for tide tables")
    assert edit.tool == "Write"
    assert (edit.lines, edit.added) == (7, 7)
    assert report.cost_usd is not None
    found = h.tool_call(edit.transcript, edit.offset, edit.block)
    assert found.tool_use_id == edit.tool_use_id
