"""The list of sessions: what is listed, what keys do, and that no title is more than text; also as a picker."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static

import hansard
from hansard.model.sessions import Session
from hansard.tui import session_list
from hansard.tui.line_list import LineList
from hansard.tui.query_input import QueryInput
from hansard.tui.rows import row_line
from hansard.tui.session_list import Filter, project_of
from tests.cli.conftest import OTHER, SESSION, said, write_log
from tests.tui.driving import Driver, drive


def listed(driver: Driver) -> list[str]:
    return [row.session_id for row in driver.app.screen.query_one(LineList).items if isinstance(row, Session)]


def picked(store: Path, steps: object, directory: str | None = None, size: tuple[int, int] = (80, 24)) -> str | None:
    _, outcome = drive(store, steps, purpose="show", picks="session", directory=directory, size=size)  # type: ignore[arg-type]
    return outcome.session_id if outcome is not None else None


# -- as a picker


def test_the_newest_comes_first_with_what_tells_it_apart(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        assert listed(driver) == [OTHER, SESSION]
        assert "show: 2 sessions in all projects" in driver.lines[2]
        row = next(line for line in driver.lines if "high tide" in line)
        assert "tide" in row
        assert "<$0.01" in row
        await driver.press("enter")

    assert picked(store, steps) == OTHER


def test_a_date_in_the_far_future_is_listed(store: Path, root: Path) -> None:
    last = {**said(3, "And low tide?"), "timestamp": "9999-12-31T23:59:59.999Z"}
    write_log(root, SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant"), last])
    with hansard.open(store, [root]) as h:
        h.sync()

    async def steps(driver: Driver) -> None:
        assert listed(driver) == [SESSION, OTHER]
        await driver.press("escape")

    assert picked(store, steps) is None


@pytest.mark.parametrize(("down", "up"), [("down", "up"), ("ctrl+j", "ctrl+k"), ("ctrl+n", "ctrl+p")])
def test_keys_move_while_typing(store: Path, down: str, up: str) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press(down)
        assert driver.app.screen.query_one(LineList).cursor == 1
        await driver.press(up)
        assert driver.app.screen.query_one(LineList).cursor == 0
        await driver.press(down, "enter")

    assert picked(store, steps) == SESSION


@pytest.mark.parametrize("typed", ["hig", "hi", "project:tide", '"high tide"', "tide -sail"])
def test_typing_filters_in_the_query_language(store: Path, typed: str) -> None:
    async def steps(driver: Driver) -> None:
        driver.app.screen.query_one(QueryInput).value = typed
        await driver.settle()
        assert listed(driver) == [SESSION]
        await driver.press("enter")

    assert picked(store, steps) == SESSION


def test_an_error_stands_under_the_box_and_the_list_stays(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        driver.app.screen.query_one(QueryInput).value = "kind:nothing"
        await driver.settle()
        assert driver.app.screen.query_one("#problem", Static).display
        assert "     ^ " in driver.lines[2]
        assert "nothing" in driver.lines[2]
        assert len(listed(driver)) == 2
        driver.app.screen.query_one(QueryInput).value = "nowhere-to-be-found"
        await driver.settle()
        assert not driver.app.screen.query_one("#problem", Static).display
        assert listed(driver) == []
        assert "no session matches" in driver.text
        await driver.press("enter")  # nothing to choose: it stays open
        await driver.press("escape")

    assert picked(store, steps) is None


def test_the_project_of_the_directory_first_and_all_by_a_key(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        assert listed(driver) == [SESSION]
        assert "in tide" in driver.lines[2]
        await driver.press("tab")
        assert len(listed(driver)) == 2
        await driver.press("tab", "tab", "tab", "tab")
        assert listed(driver) == [SESSION]
        await driver.press("enter")

    assert picked(store, steps, directory="/src/tide/deep/down") == SESSION


def test_enter_waits_for_the_list_of_what_was_typed(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        driver.app.screen.query_one(QueryInput).value = "tide"
        await driver.pilot.press("enter")
        await driver.settle()

    assert picked(store, steps) == SESSION  # not the newest


def test_ctrl_c_ends_it(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.pilot.press("ctrl+c")

    app, outcome = drive(store, steps, purpose="show", picks="session")
    assert app.interrupted
    assert outcome is None


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 10)])
def test_titles_are_text(store: Path, size: tuple[int, int]) -> None:
    async def steps(driver: Driver) -> None:
        assert all(line.isprintable() for line in driver.lines)
        assert "\u202e" not in driver.text
        if size[0] == 200:
            assert "Wrap [red]now[/red] [@click=app.exit]x[/]" in driver.text

    picked(store, steps, size=size)


# -- what is asked for


def test_the_nearest_project_is_meant(store: Path) -> None:
    with hansard.open(store) as h:
        assert project_of(h, "/src/tide/x") == "/src/tide"
        assert project_of(h, "/src/sail") == "/src/sail"
        assert project_of(h, "/src/tides") is None
        assert project_of(h, "/") is None


@pytest.mark.parametrize(
    ("text", "found"), [("", 2), ("q", 0), ("no such", 0), ("noo", 1), ("noon ", 1), ("tide OR wra", 2)]
)
def test_the_word_that_is_being_typed_is_a_beginning(store: Path, text: str, found: int) -> None:
    with hansard.open(store) as h:
        assert Filter(text).ask(h).total == found


# -- as the app's first screen


def test_a_long_list_is_read_in_pages(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_list, "PAGE", 1)

    async def steps(driver: Driver) -> None:
        assert len(listed(driver)) == 2
        await driver.press("G")
        assert driver.app.screen.query_one(LineList).cursor == 1

    drive(store, steps)


@pytest.mark.parametrize("columns", [60, 71, 84, 96, 110, 140])
def test_the_title_has_enough_of_a_row(columns: int) -> None:
    """71 columns are what the preview leaves of 120."""
    row = row_line(session_list.COLUMNS, (None, "", "x" * 200, None, 0, "", ""), columns)
    assert row.count("x") >= 0.28 * columns


def test_columns_follow_the_width(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        assert "KEPT" not in driver.text
        await driver.pilot.resize_terminal(200, 30)
        await driver.settle()
        assert "KEPT" in driver.text
        assert "ERRORS" in driver.text
        assert driver.app.screen.query_one("#preview").display
        assert "Done." in driver.text  # how the newest one ends

    drive(store, steps)


def test_scope_order_and_groups_by_keys(store: Path) -> None:
    with hansard.open(store) as h:
        h.pin(SESSION)

    async def steps(driver: Driver) -> None:
        await driver.press("s")
        assert listed(driver) == [SESSION]  # pinned
        await driver.press("s")
        assert listed(driver) == []  # deleted by the client
        await driver.press("s", "s")
        assert len(listed(driver)) == 2
        await driver.press("o")
        assert "by started" in driver.text
        await driver.press("O")
        assert listed(driver) == [SESSION, OTHER]
        await driver.press("v")
        assert "grouped by day" in driver.text
        await driver.press("v")
        assert "grouped by project" in driver.text
        assert any("sail" in line and "1 session" in line for line in driver.lines)
        assert isinstance(driver.app.screen.query_one(LineList).current, Session)  # not a heading

    app, _ = drive(store, steps)
    assert (app.state.sort, app.state.group, app.state.scope) == ("project", "project", "all")


def test_what_was_chosen_is_remembered(store: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.press("v", "6")

    async def second(driver: Driver) -> None:
        assert driver.app.state.screen == "prompts"
        assert driver.app.state.group == "day"

    drive(store, first)
    drive(store, second, remembers=True)
    assert (store / "tui.json").stat().st_mode & 0o077 == 0


def test_it_opens_on_all_sessions_unless_asked_to_remember(store: Path) -> None:
    state = b'{"screen": "prompts", "query": "sail", "scope": "pinned", "group": "day"}'

    async def steps(driver: Driver) -> None:
        assert len(listed(driver)) == 2
        assert driver.app.state.group == "day"

    (store / "tui.json").write_bytes(state)
    app = drive(store, steps, keeps=True)[0]
    assert (app.state.screen, app.state.query, app.state.scope) == ("sessions", "", "all")


def test_the_filter_is_fuzzy_where_nothing_has_the_words(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("slash")
        await driver.type("hgh tde")
        assert len(listed(driver)) == 1
        assert "When is high tide?" in driver.text
        await driver.type(" zzz")
        assert not listed(driver)

    drive(store, steps)


def test_what_was_remembered_may_be_rubbish(store: Path) -> None:
    (store / "tui.json").write_bytes(
        b'{"screen": "nowhere", "sort": "no", "group": "no", "theme": "no", "depth": "no"}'
    )

    async def steps(driver: Driver) -> None:
        assert len(listed(driver)) == 2

    drive(store, steps, remembers=True)
    (store / "tui.json").write_bytes(b"\xff")
    drive(store, steps, remembers=True)


def test_rows_move_as_files_grow(store: Path, root: Path) -> None:
    async def steps(driver: Driver) -> None:
        assert listed(driver)[0] == OTHER
        driver.app.screen.query_one(LineList).move_to(1)
        write_log(
            root,
            SESSION,
            [said(1, "When is high tide?"), said(2, "At noon.", role="assistant"), said(59, "And low tide?")],
        )
        with hansard.open(store, roots=[root]) as h:
            h.sync()
        driver.app.store_changed()
        await driver.settle()
        assert listed(driver)[0] == SESSION
        current = driver.app.screen.query_one(LineList).current
        assert isinstance(current, Session)
        assert current.session_id == SESSION  # the cursor stays with its session

    drive(store, steps)


def test_fields_and_values_are_completed(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("slash")
        await driver.type("proj")
        await driver.press("tab")
        assert driver.app.screen.query_one(QueryInput).value == "project:"
        await driver.type("tid")
        await driver.press("tab")
        assert driver.app.screen.query_one(QueryInput).value == "project:tide"
        await driver.press("escape", "escape")
        assert len(listed(driver)) == 2

    drive(store, steps)


def test_the_query_is_remembered_and_groups_count_what_is_listed(store: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.press("v", "slash")
        await driver.type("noon")
        await driver.press("enter")
        heading = next(line for line in driver.lines if "May" in line and "session" in line)
        assert "1 session " in heading

    async def second(driver: Driver) -> None:
        assert driver.app.screen.query_one(QueryInput).value == "noon"
        assert listed(driver) == [SESSION]

    drive(store, first)
    drive(store, second, remembers=True)
