"""Reading a session in the terminal app."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.thread.store import Budget
from hansard.tui import thread_lines
from hansard.tui.dialogs import MenuDialog, TextDialog
from hansard.tui.line_list import LineList
from hansard.tui.thread_view import ThreadView
from hansard.tui.views.reader import ReaderView
from tests.cli.conftest import SESSION, said, write_log
from tests.tui.driving import Driver, drive

if TYPE_CHECKING:
    from textual.strip import Strip

TURNS = 400


class Log:
    """Lines of a conversation, each below the one before."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def say(self, content: Any, role: str = "user", **more: Any) -> None:
        number = len(self.lines) + 1
        line = said(1, "", role=role)
        line["message"]["content"] = (
            [{"type": "text", "text": content}] if role == "assistant" and isinstance(content, str) else content
        )
        if role == "assistant":
            line["message"]["id"] = f"msg_{number}"
        at = datetime(2026, 5, 1, 10, tzinfo=UTC) + timedelta(seconds=number)
        line |= {
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number > 1 else None,
            "timestamp": at.isoformat(),
        }
        self.lines.append(line | more)

    def call(self, name: str, given: dict[str, Any], result: str, *, error: bool = False, **more: Any) -> None:
        name_of = f"t{len(self.lines)}"
        self.say([{"type": "tool_use", "id": name_of, "name": name, "input": given}], "assistant")
        self.say([{"type": "tool_result", "tool_use_id": name_of, "content": result, "is_error": error}], **more)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of many turns: an error in turn 3, an edit in turn 7, the word `needle` in the output of turn 201."""
    place = tmp_path_factory.mktemp("reader")
    log = Log()
    for number in range(1, TURNS + 1):
        log.say(f"Question {number}")
        if number == 3:
            log.call("Bash", {"command": "false"}, "exit 1", error=True)
        if number == 7:
            made = {"type": "create", "filePath": "/src/tide/a.py", "content": "x = 1\n", "structuredPatch": []}
            log.call("Write", {"file_path": "/src/tide/a.py", "content": "x = 1\n"}, "ok", toolUseResult=made)
        if number == 201:
            log.call("Bash", {"command": "cat"}, "line\n" * 30 + "a needle\n")
        log.say(f"Answer **{number}**\n\n```python\nprint({number})\n```", "assistant")
    write_log(place / "claude", SESSION, log.lines)
    with hansard.open(place / "store", roots=[place / "claude"]) as h:
        h.sync()
    return place / "store"


def view(driver: Driver) -> ThreadView:
    return driver.app.screen.query_one(ThreadView)


def turn(driver: Driver) -> int:
    found = view(driver).turn
    assert found is not None
    return found.number


async def opened(driver: Driver) -> None:
    await driver.press("enter")
    assert isinstance(driver.app.screen, ReaderView)


def test_it_opens_at_the_end_and_reads_on_towards_the_beginning(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        assert turn(driver) == TURNS
        assert f"Answer {TURNS}" in driver.text
        assert f"turn {TURNS}/{TURNS}" in driver.text
        for _ in range(40):
            await driver.press("pageup")
        assert turn(driver) < TURNS - 30
        await driver.press("home")
        assert turn(driver) == 1
        assert "Question 1" in driver.text
        await driver.press("end")
        assert turn(driver) == TURNS

    drive(long, steps)


def test_steps_between_prompts_errors_and_edits_cross_what_is_not_loaded(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("left_square_bracket", "left_square_bracket")
        assert turn(driver) == TURNS - 1
        await driver.press("left_curly_bracket")
        assert turn(driver) == 3
        item = view(driver).item
        assert item is not None
        assert item.is_error
        await driver.press("left_curly_bracket")
        assert "no earlier errors" in driver.text
        await driver.press("right_parenthesis")
        assert turn(driver) == 7
        await driver.press("right_square_bracket")
        assert turn(driver) == 8

    drive(long, steps)


def test_lines_fit_beside_the_scroll_bar_from_the_first_paint(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        view = driver.app.screen.query_one(ThreadView)
        assert view.show_vertical_scrollbar
        assert view.content.look.columns == view.columns

    drive(long, steps)


def test_find_goes_to_matches_wherever_they_are_and_unfolds_them(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("g", "slash")
        await driver.type("needle")
        await driver.press("enter")
        assert turn(driver) == 201
        assert "a needle" in driver.text
        assert driver.lines[2].startswith(" match 1 of 1 · tide · turn 201/400")
        await driver.press("N")
        assert "wrapped to the end" in driver.text
        await driver.press("n")
        assert "wrapped to the top" in driver.text
        assert turn(driver) == 201
        await driver.press("slash")
        await driver.type("question 12")
        await driver.press("enter")

    drive(long, steps)


def test_items_unfold_and_detail_changes(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("g", "slash")
        await driver.type("command")
        await driver.press("enter")
        before = len(view(driver).content.lines)
        await driver.press("slash")
        await driver.type("needle")
        await driver.press("enter", "enter")  # folds it again
        assert "a needle" not in driver.text
        await driver.press("enter")
        assert before
        await driver.press("d")
        assert "detail: all" in driver.text
        await driver.press("d")
        assert "detail: prompts" in driver.text
        assert "Answer" not in driver.text
        assert turn(driver) == 201

    app, _ = drive(long, steps)
    assert app.state.depth == "prompts"


def test_only_errors_or_edits(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("g", "m")
        assert "only errors" in driver.text
        assert "Question 2" not in driver.text
        assert "false" in driver.text
        await driver.press("m")
        assert "a.py" in driver.text
        await driver.press("m")
        assert turn(driver) == 7
        assert "Answer 7" in driver.text

    drive(long, steps)


def test_the_outline_leads_to_turns(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        outline = driver.app.screen.query_one("#outline", LineList)
        assert outline.display
        assert len(outline.items) == TURNS
        await driver.press("o", "g", "down", "enter")
        assert turn(driver) == 2
        await driver.press("o", "o")
        assert not outline.display

    drive(long, steps, size=(160, 40))


def test_a_narrow_screen_has_the_outline_as_a_menu(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("o")
        assert isinstance(driver.app.screen, MenuDialog)
        await driver.press("g", "enter")
        assert turn(driver) == 1

    drive(long, steps)


def test_the_raw_line_is_the_one_of_the_transcript(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("g", "full_stop")
        assert isinstance(driver.app.screen, TextDialog)
        assert '"Question 1"' in driver.text
        await driver.press("escape")
        assert isinstance(driver.app.screen, ReaderView)

    drive(long, steps)


def test_messages_and_code_are_copied(long: Path) -> None:
    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("y", "1")
        assert driver.app.clipboard == f"print({TURNS})\n"
        await driver.press("y", "m")
        assert driver.app.clipboard.startswith(f"Answer **{TURNS}**")
        await driver.press("y", "i")
        assert driver.app.clipboard == SESSION
        await driver.press("y", "p")
        assert driver.app.clipboard.endswith(f"{SESSION}.jsonl")

    drive(long, steps)


def test_a_growing_session_is_followed(tmp_path: Path) -> None:
    root, store = tmp_path / "claude", tmp_path / "store"
    lines = [said(1, "Begin"), said(2, "Begun.", role="assistant")]
    path = write_log(root, SESSION, lines)
    with hansard.open(store, roots=[root]) as h:
        h.sync()

    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("f")
        assert "following" in driver.text
        path.write_bytes(path.read_bytes() + json.dumps(said(3, "And then?")).encode() + b"\n")
        with hansard.open(store, roots=[root]) as h:
            h.sync()
        while "And then?" not in driver.text:  # as soon as the app has seen the new revision
            await driver.settle()
        assert turn(driver) == 2

    drive(store, steps)


@pytest.mark.parametrize("follows", [True, False])
def test_a_session_grows_beyond_the_last_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, follows: bool
) -> None:
    """A window that was just full, with nothing behind it, is the last only until something is added."""
    monkeypatch.setattr(thread_lines, "BUDGET", Budget(records=4, bytes=1 << 20, turns=9))
    root, store = tmp_path / "claude", tmp_path / "store"
    path = write_log(root, SESSION, [said(1, "Begin"), said(2, "Begun.", role="assistant")])
    with hansard.open(store, roots=[root]) as h:
        h.sync()

    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press(*["f"] * follows)
        for number in range(3, 16):
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(said(number, f"Line {number}", role="assistant")) + "\n")
            with hansard.open(store, roots=[root]) as h:
                h.sync()
            driver.app.store_changed()
            await driver.settle()
            assert f"Line {number}" in driver.text

    drive(store, steps)


def test_subagents_open_and_close(demo: Path) -> None:
    with hansard.open(demo) as h:
        session = next(one for one in h.sessions(limit=None).sessions if one.agents)

    async def steps(driver: Driver) -> None:
        driver.app.choose(session)
        await driver.settle()
        await driver.press("A")
        await driver.press("enter")
        screen = driver.app.screen
        assert isinstance(screen, ReaderView)
        assert screen.agent is not None
        assert "subagent of" in driver.text
        await driver.press("escape")
        assert isinstance(driver.app.screen, ReaderView)
        assert driver.app.screen.agent is None

    drive(demo, steps)


def test_branches_are_switched(demo: Path) -> None:
    with hansard.open(demo) as h:
        session = next(one for one in h.sessions(limit=None).sessions if h.read(one).has_log and h.read(one).forks)

    async def steps(driver: Driver) -> None:
        driver.app.choose(session)
        await driver.settle()
        await driver.press("b")
        rows = [line for line in driver.lines if "continued: " in line or "left: " in line]
        assert len(rows) == len({" ".join(row.split()) for row in rows}) > 1
        assert sum("continued: " in row for row in rows) == 1
        await driver.press("down", "enter")
        assert "branch 1" in driver.text

    drive(demo, steps)


def test_broken_pictures_and_huge_texts_end_nothing(tmp_path: Path) -> None:
    log = Log()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!!!"}}
    log.say([picture, {"type": "text", "text": "Look"}])
    log.call("Bash", {"command": "cat"}, "a line\n" * 40_000)
    write_log(tmp_path / "claude", SESSION, log.lines)
    with hansard.open(tmp_path / "store", roots=[tmp_path / "claude"]) as h:
        h.sync()

    async def steps(driver: Driver) -> None:
        await opened(driver)
        await driver.press("enter")  # unfolds the output
        assert len(view(driver).content.lines) < 12_000
        assert "more characters" in view(driver).content.lines[-1] or any(
            "more characters" in line for line in view(driver).content.lines
        )
        await driver.press("g", "I")
        assert "no images to show here" in driver.text

    drive(tmp_path / "store", steps)


def test_a_session_of_which_only_subagents_are_left_says_so(tmp_path: Path) -> None:
    log = Log()
    log.say("Do it", isSidechain=True, agentId="a1b2c3d4")
    path = tmp_path / "claude" / "projects" / "-src-tide" / SESSION / "subagents" / "agent-a1b2c3d4.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in log.lines))
    with hansard.open(tmp_path / "store", roots=[tmp_path / "claude"]) as h:
        h.sync()
        session = h.sessions(debris=True).sessions[0]

    async def steps(driver: Driver) -> None:
        driver.app.choose(session)
        await driver.settle()
        assert "only subagents of this session remain" in driver.text

    drive(tmp_path / "store", steps)


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
def test_no_frame_clips_lines(demo: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[int] = []
    clipped: list[tuple[int, str]] = []
    render_line = ThreadView.render_line

    def watched(view: ThreadView, y: int) -> Strip:
        line, room = view.line_at(y + view.scroll_offset.y), view.scrollable_content_region.width
        if line is not None:
            painted.append(room)
            if line.cell_length > room:
                clipped.append((room, line.text))
        return render_line(view, y)

    monkeypatch.setattr(ThreadView, "render_line", watched)

    async def steps(driver: Driver) -> None:
        await driver.press("enter")
        await driver.press("o", "o", "o")
        await driver.pilot.resize_terminal(100, 30)
        await driver.pilot.resize_terminal(130, 30)
        await driver.settle()

    drive(demo, steps, size=size)
    assert len(set(painted)) > 1
    assert clipped == []
