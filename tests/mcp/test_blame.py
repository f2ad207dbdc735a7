"""`blame`: ranges of lines with the sessions behind them, from a real repository."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from hansard.guard.passages import estimate_tokens
from tests.git.making import Workshop
from tests.mcp.conftest import Call, caller, server_on

LINES = "".join(f"tide_{number} = measure({number}, 'harbour')\n" for number in range(60))


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    shop = Workshop(tmp_path)
    writer = shop.session("Measure the tides of the harbour")
    shop.write(writer, "tide.py", LINES)
    shop.commit_by(writer, "Measure tides")
    shop.type("tide.py", LINES + "by_hand = 1\n")
    shop.commit("By hand")
    shop.save()
    with hansard.open(tmp_path / "home", [shop.config]) as h:
        h.sync()
    return shop


def call_in(shop: Workshop, folder: Path) -> Call:
    return caller(server_on(shop.folder / "home", shop.config, folder=str(folder)))


def test_lines_lead_to_their_session(shop: Workshop) -> None:
    call = call_in(shop, shop.root)
    answer = call("blame", file="tide.py")
    assert [(one["lines"], one["certainty"], one.get("edit")) for one in answer["ranges"]] == [
        ("1-60", "exact", 1),
        ("61", "unknown", None),
    ]
    (edit,) = answer["edits"]
    assert (edit["session"], edit["turn"]) == (shop.sessions[0].session_id, 1)
    assert "Measure the tides" in edit["text"]
    mark = answer["notice"].split("between ")[1].split(" and ")[0]
    assert {one["subject"].split(mark)[1].split("⟦/")[0] for one in answer["commits"]} == {"Measure tides", "By hand"}
    assert all(one["author"].startswith(mark) for one in answer["commits"])
    (one,) = call("blame", file="tide.py", lines="3-4")["ranges"]
    assert one["lines"] == "3-4"
    commit = call("blame", commit="HEAD~1")
    assert [(one["path"], one["lines"]) for one in commit["ranges"]] == [("tide.py", "1-60")]


def test_other_projects_are_not_told_about(shop: Workshop, tmp_path: Path) -> None:
    call = call_in(shop, tmp_path / "elsewhere")
    path = str(shop.root / "tide.py")
    assert "outside" in call("blame", file=path)["error"]
    assert call("blame", file=path, scope="all")["edits"][0]["session"] == shop.sessions[0].session_id


def test_pages_of_ranges_and_bad_input(shop: Workshop) -> None:
    mixed = "".join(
        line if number % 2 else f"# {number}, typed by a person\n{line}"
        for number, line in enumerate(LINES.splitlines(keepends=True))
    )
    shop.type("tide.py", mixed)
    shop.commit("Comments")
    call = call_in(shop, shop.root)
    whole = call("blame", file="tide.py", max_tokens=12_000)["ranges"]
    seen, cursor = [], ""
    while True:
        page = call("blame", file="tide.py", max_tokens=800, cursor=cursor)
        assert estimate_tokens(str(page)) <= 1_000
        seen += [one["lines"] for one in page["ranges"]]
        cursor = page.get("next_cursor", "")
        if not cursor:
            break
    assert seen == [one["lines"] for one in whole]
    for given in (
        {},
        {"file": "tide.py", "lines": "0-x"},
        {"commit": "--output=x"},
        {"file": "none.py"},
        {"file": "\0"},
        {"commit": "deadbeef"},
        {"file": "tide.py", "cursor": "-1"},
    ):
        assert call("blame", **given)["error"]


def test_usage_by_commit(shop: Workshop) -> None:
    rows = call_in(shop, shop.root)("usage", by="commit")["rows"]
    assert any("Measure tides" in row.get("title", "") for row in rows)
    assert all(len(row["key"]) == 40 or row["key"] == "not committed" for row in rows)


def test_sessions_of_a_commit_are_those_whose_work_is_in_it(shop: Workshop) -> None:
    reader = shop.session("Describe the history")
    whole = call_in(shop, shop.root)("usage", by="commit")["rows"]
    commit = next(row["key"] for row in whole if len(row["key"]) == 40)
    reader.prompt(f"What is {commit[:7]} of the history about?")
    shop.save()
    with hansard.open(shop.folder / "home", [shop.config]) as h:
        h.sync()
    call = call_in(shop, shop.root)
    for name in (commit, commit[:9]):
        found = call("sessions", commit=name, query="tides OR history")["sessions"]
        assert [one["session"] for one in found] == [shop.sessions[0].session_id]
