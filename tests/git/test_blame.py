"""Blame on small repositories, case by case."""

from __future__ import annotations

from pathlib import Path

import pytest

from hansard.engine import Hansard
from hansard.render.format import attributed_cost
from tests.cli.conftest import runner
from tests.git.making import Workshop

PARSER = '''import os


def parse(line):
    """Read a line of the tide table."""
    left, right = line.split(":")
    return left.strip(), right.strip()
'''


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


def test_costs_that_are_lower_bounds_are_marked(shop: Workshop, h: Hansard) -> None:
    """Clients up to 2.1.56 did not record the end of an answer."""
    old = shop.session("Write a parser for tide tables", version="2.1.20")
    shop.write(old, "tide.py", PARSER)
    first = shop.commit_by(old, "Parse tide tables")
    new = shop.session("Write a table of moons")
    shop.write(new, "moon.py", PARSER.replace("tide", "moon"))
    second = shop.commit_by(new, "Parse moons")
    shop.save()
    h.sync()
    bounds = {row.key["commit"]: row.is_lower_bound for row in h.usage(by="commit").rows}
    page = h.commits(repository=str(shop.root))
    assert (bounds[first], bounds[second]) == (True, False)
    assert {commit.commit: commit.is_lower_bound for commit in page.commits} == {first: True, second: False}
    assert page.is_lower_bound
    for path, commit, is_marked in (("tide.py", first, True), ("moon.py", second, False)):
        report, added = h.blame(str(shop.root / path)), h.blame_commit(commit, str(shop.root))
        assert [edit.is_lower_bound for edit in report.edits] == [is_marked]
        assert report.is_lower_bound == added.is_lower_bound == added.sessions[0].is_lower_bound == is_marked
        assert attributed_cost(report).endswith("+") == is_marked


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


@pytest.mark.parametrize("name", ["tidewater", "copy"])
def test_a_clone_at_another_path_is_found_by_every_command(
    shop: Workshop, h: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """By its name, or by a commit that a session made there."""
    writer = shop.session("Write a parser for tide tables")
    shop.write(writer, "tide.py", PARSER)
    made = shop.commit("Parse tide tables") if name == "tidewater" else shop.commit_by(writer, "Parse tide tables")
    shop.save()
    clone = tmp_path / "elsewhere" / name
    clone.parent.mkdir()
    shop.root.rename(clone)
    h.sync()
    assert {line.certainty for line in h.blame(str(clone / "tide.py")).lines} == {"exact"}
    assert [commit.commit for commit in h.commits(repository=str(clone)).commits] == [made]
    assert made in [row.key["commit"] for row in h.usage(by="commit", repository=str(clone)).rows]
    monkeypatch.chdir(clone)
    run = runner(shop.config, tmp_path / "store")
    assert made[:8] in run("commits", writer.session_id, "--no-sync").stdout
    assert made[:8] in run("usage", "--by", "commit", "--no-sync").stdout
