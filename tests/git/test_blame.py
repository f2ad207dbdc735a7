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


def test_commits_of_sessions_and_what_they_cost(shop: Workshop, h: Hansard) -> None:
    first = shop.session("Write a parser for tide tables")
    shop.write(first, "tide.py", PARSER)
    made = shop.commit_by(first, "Parse tide tables")
    second = shop.session("Count the tides of a day")
    shop.edit(second, "tide.py", "import os\n", "import os\nimport collections as tides_of_a_day\n")
    later = shop.commit("Count")
    shop.type("notes.txt", "by hand\n")
    shop.commit("By hand")
    shop.save()
    h.sync()
    page = h.commits(repository=str(shop.root))
    assert [commit.commit for commit in page.commits] == [later, made]
    assert [part.session_id for commit in page.commits for part in commit.sessions] == [
        second.session_id,
        first.session_id,
    ]
    assert [part.made for commit in page.commits for part in commit.sessions] == [False, True]
    assert [(part.lines, part.added) for commit in page.commits for part in commit.sessions] == [(1, 1), (7, 7)]
    assert [commit.commit for commit in h.commits(first.session_id).commits] == [made]
    usage = h.usage(by="commit")
    costs = {row.key["commit"]: row.cost_usd for row in usage.rows}
    assert costs == {commit.commit: commit.cost_usd for commit in page.commits}
    assert sum(cost for cost in costs.values() if cost) == usage.totals.cost_usd


def test_a_file_as_it_was_and_as_it_is_now(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write a parser for tide tables")
    shop.write(writer, "tide.py", PARSER)
    first = shop.commit("Parse tide tables")
    shop.type("tide.py", "# by hand\n" + PARSER)
    shop.save()
    h.sync()
    path = str(shop.root / "tide.py")
    for _ in range(2):  # asked again, it comes from the cache
        assert [line.certainty for line in h.blame(path, rev="HEAD").lines] == ["exact"] * 7
    now = h.blame(path)
    assert [line.certainty for line in now.lines] == ["unknown"] + ["exact"] * 7
    assert now.lines[0].commit == "0" * 40
    some = h.blame(path, (6, 7), rev=first)
    assert [(line.number, line.text.strip()) for line in some.lines] == [
        (6, 'left, right = line.split(":")'),
        (7, "return left.strip(), right.strip()"),
    ]
    assert {line.certainty for line in some.lines} == {"exact"}
