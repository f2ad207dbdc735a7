"""The other screens, the keys that all share, and what happens when something goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from hansard.model.ledger import UsageRow
from hansard.tui.dialogs import InputDialog, MenuDialog, TextDialog
from hansard.tui.frame import TABS, View
from hansard.tui.line_list import LineList
from hansard.tui.line_view import TextView
from hansard.tui.query_input import QueryInput
from hansard.tui.thread_view import ThreadView
from hansard.tui.views.reader import ReaderView
from tests.cli.conftest import OTHER, SESSION
from tests.render.payloads import write_hostile_history
from tests.tui.driving import Driver, drive


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_every_screen_by_its_number(demo: Path, size: tuple[int, int]) -> None:
    async def steps(driver: Driver) -> None:
        for number, name in enumerate(TABS, 1):
            if isinstance(driver.app.focused, QueryInput):
                await driver.press("escape")
            await driver.press(str(number))
            screen = driver.app.screen
            assert isinstance(screen, View)
            assert name == screen.TAB
            assert all(line.isprintable() for line in driver.lines)
            assert len({len(line) for line in driver.lines}) == 1 or any(not line.isascii() for line in driver.lines)

    drive(demo, steps, size=size)


def test_search_finds_while_typing_and_opens_at_the_hit(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("3")
        await driver.type("noon")
        assert "1 match" in driver.text
        assert "At noon." in driver.text
        await driver.press("enter", "enter")
        assert isinstance(driver.app.screen, ReaderView)
        item = driver.app.screen.query_one(ThreadView).item
        assert item is not None
        assert item.kind == "reply"

    drive(store, steps)


def test_search_offers_matches_for_fewer_words(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("3")
        await driver.type("zebra at noon")
        assert "no message has all words; best matches for 2 of 3" in driver.text
        assert "At noon." in driver.text

    drive(store, steps)


def test_search_is_narrowed_by_facets(demo: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("3")
        await driver.type("test")
        before = len(driver.app.screen.query_one(LineList).items)
        assert before
        await driver.press("enter", "f")
        assert isinstance(driver.app.screen, MenuDialog)
        await driver.press("enter")
        assert "test project:" in driver.app.screen.query_one(QueryInput).value

    drive(demo, steps)


def test_a_message_is_picked_in_the_reader(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("enter")
        assert isinstance(driver.app.screen, ReaderView)
        await driver.press("enter")

    _, outcome = drive(store, steps, picks="message")
    assert outcome is not None
    assert outcome.session_id == OTHER
    assert outcome.offset


def test_an_invalid_query_cannot_be_narrowed_down(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("3")
        await driver.type("since:foo")
        assert any(line.strip().startswith("^") for line in driver.lines)  # below the column
        await driver.press("escape", "f")
        assert driver.app.is_running

    drive(store, steps)


def test_the_reader_goes_back_to_where_it_was_opened(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("6", "enter", "escape")
        screen = driver.app.screen
        assert isinstance(screen, View)
        assert screen.TAB == "prompts"

    drive(store, steps)


def test_an_editor_that_cannot_be_run_is_told(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "vi '")

    async def steps(driver: Driver) -> None:
        await driver.press("E")
        assert "$EDITOR" in driver.lines[-1]

    drive(store, steps)


def test_the_cursor_can_be_seen_without_colours(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(driver: Driver) -> None:
        monkeypatch.setattr(driver.app, "no_color", True)
        driver.app.screen.query_one(LineList).refresh()
        await driver.settle()
        styles = [segment.style for strip in driver.app.screen._compositor.render_strips() for segment in strip]
        assert any(style is not None and style.reverse and style.bold for style in styles)

    drive(store, steps)


def test_usage_shows_the_same_figures_as_the_command(demo: Path) -> None:
    with hansard.open(demo) as h:
        report = h.usage(by="project")

    async def steps(driver: Driver) -> None:
        await driver.press("4", "right", "right", "right")
        rows = driver.app.screen.query_one(LineList).items
        assert [row.key for row in rows if isinstance(row, UsageRow)] == [row.key for row in report.rows]
        assert "by project" in driver.text
        await driver.press("x")
        assert isinstance(driver.app.screen, TextDialog)
        assert "exactly $" in driver.text
        await driver.press("escape", "c", "c")

    app, _ = drive(demo, steps, size=(140, 40))
    assert app.state.usage_by == "project"


def test_usage_by_pull_request_and_by_group(demo: Path) -> None:
    with hansard.open(demo) as h:
        project = str(h.usage(by="project").rows[0].key["project"])
        pull_requests = [row.key["pr"] for row in h.usage(by="pr").rows]

    async def steps(driver: Driver) -> None:
        await driver.press("4", "left")
        assert "by group" in driver.text
        assert "the product" in driver.text
        await driver.press("left")
        rows = driver.app.screen.query_one(LineList).items
        assert [row.key["pr"] for row in rows if isinstance(row, UsageRow)] == pull_requests
        assert "(no pr)" in driver.text

    async def without_groups(driver: Driver) -> None:
        await driver.press("4", "left")
        assert "by pr" in driver.text

    drive(demo, steps, size=(140, 40), groups={"the product": [project]})
    drive(demo, without_groups, size=(140, 40))


def test_files_lead_to_their_history_and_to_the_call(demo: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("5")
        assert "files" in driver.lines[2]
        await driver.press("enter")
        assert "change" in driver.lines[2]
        await driver.press("enter")
        assert isinstance(driver.app.screen, ReaderView)
        await driver.press("5", "backspace")
        assert "files" in driver.lines[2]

    drive(demo, steps, size=(140, 40))


def test_prompts_lead_to_what_followed(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("6")
        assert "2 prompts" in driver.text
        await driver.press("down", "enter")
        assert isinstance(driver.app.screen, ReaderView)
        assert "At noon." in driver.text

    drive(store, steps)


def test_health_tells_what_status_and_doctor_tell(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("7")
        assert "2 transcripts, 2 sessions" in driver.text
        await driver.press("d")
        assert any("Diagnosis" in line for line in driver.app.screen.query_one(TextView).lines)

    drive(store, steps)


# -- what is done with a session


def test_remarks_are_kept(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("P")
        await driver.press("t")
        assert isinstance(driver.app.screen, InputDialog)
        await driver.type("deck rope")
        await driver.press("enter", "a")
        await driver.type("look again")
        await driver.press("enter", "T")
        await driver.press("ctrl+u")
        await driver.type("The sail")
        await driver.press("enter")
        assert "The sail" in driver.text

    drive(store, steps)
    with hansard.open(store) as h:
        said = h.remarks(OTHER)
    assert said.pinned
    assert said.tags == ("deck", "rope")
    assert said.notes == ("look again",)
    assert said.title == "The sail"


def test_notes_are_found_and_marked(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("a")
        await driver.type("ask about the zzyzx")
        await driver.press("enter")
        assert "✎ Wrap " in driver.text
        await driver.press("3")
        await driver.type("zzyzx")
        assert "your note" in driver.text
        assert "ask about the zzyzx" in driver.text
        await driver.press("enter", "enter")
        assert isinstance(driver.app.screen, ReaderView)
        session = driver.app.screen.current_session()
        assert session is not None
        assert session.session_id == OTHER

    drive(store, steps)


def test_a_session_is_exported(store: Path, tmp_path: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("e")
        await driver.press("ctrl+u")
        await driver.type(str(tmp_path / "out.md"))
        await driver.press("enter")
        assert "exported to" in driver.text

    drive(store, steps, directory=str(tmp_path), size=(160, 30))
    assert "Done." in (tmp_path / "out.md").read_text()


def test_resume_and_fork_leave_the_app(store: Path, root: Path, tmp_path: Path) -> None:
    async def resume(driver: Driver) -> None:
        await driver.press("r")

    async def fork(driver: Driver) -> None:
        await driver.press("F")

    _, outcome = drive(store, resume, roots=[root])
    assert outcome is not None
    assert (outcome.action, outcome.session_id) == ("resume", OTHER)
    _, outcome = drive(store, fork, roots=[root])
    assert outcome is not None
    assert outcome.action == "fork"


def test_the_browser_is_opened_by_who_started_the_app(store: Path) -> None:
    asked: list[tuple[str, str | None, int | None]] = []

    async def steps(driver: Driver) -> None:
        await driver.press("down", "w")

    drive(store, steps, browse=lambda *place: asked.append(place))
    assert asked == [(SESSION, None, None)]


# -- keys, themes, faults


def test_all_keys_of_a_screen_are_shown(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("question_mark")
        assert isinstance(driver.app.screen, TextDialog)
        lines = "\n".join(driver.app.screen.query_one(TextView).lines)
        for words in ("Scope", "Resume as a fork", "Page down", "Command palette"):
            assert words in lines
        await driver.press("escape")

    drive(store, steps)


def test_the_palette_runs_a_command(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("colon")
        await driver.type("health")
        for _ in range(1000):  # the palette looks for commands behind our back
            if "key: 7" in driver.text:
                break
            await driver.settle()
        await driver.press("down", "enter")
        screen = driver.app.screen
        assert isinstance(screen, View)
        assert screen.TAB == "health"

    drive(store, steps)


def test_themes_are_remembered(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("ctrl+t")

    app, _ = drive(store, steps)
    assert app.state.theme == "ansi-light"


def test_a_store_that_nobody_synced_says_so(tmp_path: Path) -> None:
    async def steps(driver: Driver) -> None:
        assert "no sessions yet" in driver.text
        for number in "3456":
            if isinstance(driver.app.focused, QueryInput):
                await driver.press("escape")
            await driver.press(number)

    drive(tmp_path / "none", steps)


def test_the_first_sync_fills_the_list(tmp_path: Path, root: Path) -> None:
    async def steps(driver: Driver) -> None:
        for _ in range(1000):
            if "high tide" in driver.text:
                break
            await driver.settle()
        assert "high tide" in driver.text

    drive(tmp_path / "new", steps, roots=[root])


def test_a_fault_is_noted_in_a_file(store: Path) -> None:
    async def steps(driver: Driver) -> None:
        driver.app.call_later(lambda: 1 / 0)
        await driver.pilot.pause()

    with pytest.raises(ZeroDivisionError):
        drive(store, steps)
    log = store / "tui-crash.log"
    assert "ZeroDivisionError" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_hostile_text_is_only_text_on_every_screen(tmp_path: Path) -> None:
    root, store = tmp_path / "claude", tmp_path / "store"
    hostile = (
        "\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\",
        "\x1b[2J\x9b31m",
        "[@click=app.exit]x[/]",
        "\u202egnp\u2066",
    )
    from tests.render.payloads import PAYLOADS

    write_hostile_history(root, (*PAYLOADS[:30], *hostile))
    with hansard.open(store, roots=[root]) as h:
        h.sync()
        session = h.sessions().sessions[0]

    def check(driver: Driver) -> None:
        for strip in driver.app.screen._compositor.render_strips():
            assert strip.text.isprintable()
            assert not any(letter in strip.text for letter in "\u202e\u2066\x1b")
            assert all(segment.style is None or segment.style.link is None for segment in strip)

    async def steps(driver: Driver) -> None:
        check(driver)
        driver.app.choose(session)
        await driver.settle()
        check(driver)
        await driver.press("d", "d", "d", "d", "g")
        for _ in range(6):
            check(driver)
            await driver.press("pagedown", "enter")
        if not isinstance(driver.app.screen, View):
            await driver.press("escape")
        await driver.press("full_stop")
        check(driver)
        await driver.press("escape", "3")
        await driver.type("evil")
        check(driver)
        await driver.press("escape", "5")
        check(driver)
        await driver.press("enter")
        check(driver)
        await driver.press("6")
        check(driver)
        assert driver.app.is_running

    drive(store, steps, size=(140, 40))
