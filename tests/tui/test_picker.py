"""The picker: what is listed, what keys do, and that no title is more than text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

import hansard
from hansard.engine import Hansard
from hansard.tui import picker
from hansard.tui.picker import Filter, PickerApp, SessionPicker, project_of
from tests.cli.conftest import OTHER, SESSION, said, write_log
from tests.web.serving import elsewhere

Steps = Callable[[PickerApp, Pilot[Any]], Awaitable[None]]
HOSTILE = "Wrap [red]now[/red] [@click=app.exit]x[/] \x1b[31m!\x1b]0;title\x07 \u202e"


@pytest.fixture
def store(tmp_path: Path) -> Callable[[], Hansard]:
    root = tmp_path / "claude"
    write_log(root, SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")])
    later = [
        said(40, HOSTILE, session=OTHER, cwd="/src/sail"),
        said(41, "Done.", role="assistant", session=OTHER, cwd="/src/sail"),
    ]
    write_log(root, OTHER, later, "-src-sail")
    with hansard.open(tmp_path / "store", roots=[root]) as h:
        h.sync()
    return lambda: hansard.open(tmp_path / "store")


def run(
    store: Callable[[], Hansard], steps: Steps, *, directory: str | None = None, size: tuple[int, int] = (80, 24)
) -> str | None:
    """Show the picker, do something in it, and give what was chosen."""

    async def go() -> str | None:
        app = PickerApp(SessionPicker(store, purpose="show", directory=directory))
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await steps(app, pilot)
        return app.return_value

    return elsewhere(lambda: asyncio.run(go()))


async def settled(app: PickerApp, pilot: Pilot[Any]) -> None:
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()


def listed(app: PickerApp) -> list[str]:
    options = app.screen.query_one(OptionList)
    found = []
    for place in range(options.option_count):
        prompt = options.get_option_at_index(place).prompt
        assert isinstance(prompt, Content)
        found.append(prompt.plain)
    return found


def drawn(app: PickerApp) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


def test_the_newest_comes_first_with_what_tells_it_apart(store: Callable[[], Hansard]) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        first, second = listed(app)
        assert "sail" in first
        assert "tide" in second
        assert "When is high tide?" in second
        assert "<$0.01" in second
        assert "show: 2 sessions in all projects" in drawn(app)[0]
        await pilot.press("enter")

    assert run(store, steps) == OTHER


@pytest.mark.parametrize("down", ["down", "ctrl+j", "ctrl+n"])
@pytest.mark.parametrize("up", ["up", "ctrl+k", "ctrl+p"])
def test_keys_move_while_typing(store: Callable[[], Hansard], down: str, up: str) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        await pilot.press(down)
        assert app.screen.query_one(OptionList).highlighted == 1
        await pilot.press(up)
        assert app.screen.query_one(OptionList).highlighted == 0
        await pilot.press(down, "enter")

    assert run(store, steps) == SESSION


@pytest.mark.parametrize("typed", ["hig", "hi", "project:tide", '"high tide"', "tide -sail"])
def test_typing_filters_in_the_query_language(store: Callable[[], Hansard], typed: str) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        app.screen.query_one(Input).value = typed
        await settled(app, pilot)
        assert len(listed(app)) == 1
        await pilot.press("enter")

    assert run(store, steps) == SESSION


def test_an_error_stands_under_the_box_and_the_list_stays(store: Callable[[], Hansard]) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        app.screen.query_one(Input).value = "kind:nothing"
        await settled(app, pilot)
        assert app.screen.query_one("#problem", Static).display
        assert "nothing" in drawn(app)[2]
        assert len(listed(app)) == 2
        app.screen.query_one(Input).value = "nowhere-to-be-found"
        await settled(app, pilot)
        assert not app.screen.query_one("#problem", Static).display
        assert listed(app) == []
        assert "no session matches" in drawn(app)[0]
        await pilot.press("enter")  # nothing to choose: it stays open
        await pilot.press("escape")

    assert run(store, steps) is None


def test_the_project_of_the_directory_first_and_all_by_a_key(store: Callable[[], Hansard]) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        assert len(listed(app)) == 1
        assert "in tide" in drawn(app)[0]
        await pilot.press("tab")
        await settled(app, pilot)
        assert len(listed(app)) == 2
        await pilot.press("tab")
        await settled(app, pilot)
        assert len(listed(app)) == 1
        await pilot.press("enter")

    assert run(store, steps, directory="/src/tide/deep/down") == SESSION


def test_the_nearest_project_is_meant(store: Callable[[], Hansard]) -> None:
    with store() as h:
        assert project_of(h, "/src/tide/x") == "/src/tide"
        assert project_of(h, "/src/sail") == "/src/sail"
        assert project_of(h, "/src/tides") is None
        assert project_of(h, "/") is None


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 10)])
def test_titles_are_text(store: Callable[[], Hansard], size: tuple[int, int]) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        assert all(line.isprintable() for line in drawn(app))
        assert all("\u202e" not in line for line in drawn(app))
        if size[0] == 200:
            assert "Wrap [red]now[/red] [@click=app.exit]x[/]" in listed(app)[0]

    run(store, steps, size=size)


def test_columns_follow_the_width(store: Callable[[], Hansard]) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        await pilot.resize_terminal(120, 30)
        await settled(app, pilot)
        assert {len(line) for line in listed(app)} == {117}
        assert app.screen.query_one(OptionList).highlighted == 0

    run(store, steps)


def test_a_long_list_is_read_in_pages(store: Callable[[], Hansard], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picker, "_PAGE", 1)

    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        await settled(app, pilot)
        assert len(listed(app)) == 2
        await pilot.press("down", "enter")

    assert run(store, steps) == SESSION


def test_enter_waits_for_the_list_of_what_was_typed(store: Callable[[], Hansard]) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        app.screen.query_one(Input).value = "tide"
        await pilot.press("enter")
        await settled(app, pilot)

    assert run(store, steps) == SESSION  # not the newest


def test_ctrl_c_ends_it(store: Callable[[], Hansard]) -> None:
    async def go() -> PickerApp:
        app = PickerApp(SessionPicker(store, purpose="show"))
        async with app.run_test() as pilot:
            await settled(app, pilot)
            await pilot.press("ctrl+c")
        return app

    app = elsewhere(lambda: asyncio.run(go()))
    assert app.interrupted
    assert app.return_value is None


@pytest.mark.parametrize(
    ("text", "found"), [("", 2), ("q", 0), ("no such", 0), ("noo", 1), ("noon ", 1), ("tide OR wra", 2)]
)
def test_the_word_that_is_being_typed_is_a_beginning(store: Callable[[], Hansard], text: str, found: int) -> None:
    with store() as h:
        assert Filter(text, None).ask(h).total == found


def test_the_chosen_line_stands_out(store: Callable[[], Hansard]) -> None:
    async def steps(app: PickerApp, pilot: Pilot[Any]) -> None:
        strips = app.screen._compositor.render_strips()
        colours = [{segment.style.bgcolor for segment in strip if segment.style} for strip in strips[3:5]]
        assert colours[0] - colours[1]

    run(store, steps)
