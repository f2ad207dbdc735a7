"""Choosing a session: a list that is filtered while you type."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from hansard.errors import HansardError
from hansard.query.language import QueryError
from hansard.render.text import clean, fit, one_line
from hansard.render.words import many, project_name
from hansard.tui.session_rows import heading, session_row

if TYPE_CHECKING:
    from textual.events import Resize

    from hansard.engine import Hansard
    from hansard.model.sessions import Session, SessionPage

_PAGE = 200  # sessions that are read at once
_TYPING_SECONDS = 0.05  # without a key before the list is asked for
_KEYS = "↑↓ ctrl-j/k move   enter choose   tab {other}   esc leave"
_LAST_WORD = re.compile(r"(?:^|(?<=[\s(]))[^\W_]+$")
_T = TypeVar("_T")
_SHORTEST_BEGINNING = 3  # letters of a word that the full text is asked for


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list is asked for: the text as it is typed, and the project that it is limited to."""

    text: str
    project: str | None

    def ask(self, h: Hansard, cursor: str | None = None) -> SessionPage:
        """A page of the sessions, newest first; the word that is being typed is the beginning of one."""
        query, title = self.text.strip(), None
        if self.text == self.text.rstrip() and (found := _LAST_WORD.search(query)):
            word = found[0]
            if len(word) < _SHORTEST_BEGINNING:
                query, title = query[: found.start()], word
            elif word not in ("OR", "AND", "NOT", "NEAR"):
                query += "*"
        within = None if self.project is None else ("project", self.project)
        return h.sessions(query.strip() or None, text=title, within=within, limit=_PAGE, cursor=cursor)


def project_of(h: Hansard, directory: str) -> str | None:
    """The project that a directory belongs to: its own, or that of the nearest folder above it."""
    known = {os.path.normcase(project.project): project.project for project in h.projects() if project.project}
    place = os.path.normcase(directory)
    while place not in known:
        place, below = os.path.dirname(place), place
        if place == below:
            return None
    return known[place]


class SessionPicker(Screen[str | None]):
    """A list of sessions with a filter; gives the id of the one that is chosen, None for none."""

    CSS = """
    SessionPicker { layout: vertical; }
    SessionPicker > * { height: 1; padding: 0 1; }
    SessionPicker > #filter { border: none; }
    SessionPicker > #problem { color: ansi_red; height: auto; max-height: 3; display: none; }
    SessionPicker > OptionList { height: 1fr; border: none; background: ansi_default; scrollbar-size-vertical: 1; }
    SessionPicker > OptionList:focus { border: none; }
    SessionPicker > OptionList > .option-list--option-highlighted { background: ansi_blue; color: ansi_bright_white; text-style: bold; }
    SessionPicker > #keys { text-style: dim; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", priority=True),
        Binding("enter", "choose", "Choose", priority=True),
        Binding("tab", "scope", "This project or all", priority=True),
        Binding("down,ctrl+j,ctrl+n", "move('down')", "Down", priority=True),
        Binding("up,ctrl+k,ctrl+p", "move('up')", "Up", priority=True),
        Binding("pagedown", "move('page_down')", "Page down", priority=True),
        Binding("pageup", "move('page_up')", "Page up", priority=True),
    ]

    def __init__(self, open_engine: Callable[[], Hansard], *, purpose: str, directory: str | None = None) -> None:
        super().__init__()
        self._open_engine = open_engine
        self._engine: Hansard | None = None
        self._reading = ThreadPoolExecutor(1)  # an engine belongs to one thread
        self._purpose = purpose
        self._directory = directory
        self._project: str | None = None  # of the directory
        self._is_limited = False  # to that project
        self._is_project_known = False
        self._listed: Filter | None = None  # what the list answers
        self._is_chosen = False  # Enter came before the list
        self._sessions: list[Session] = []
        self._next: str | None = None
        self._total = 0

    def compose(self) -> ComposeResult:
        """The parts, from top to bottom."""
        yield Static(id="head", markup=False)
        yield Input(placeholder="filter: words, project:name, since:7d, tool:Bash, is:error ...", id="filter")
        yield Static(id="problem", markup=False)
        yield Static(id="columns", markup=False)
        yield OptionList(markup=False)
        yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        """Ask for the first page."""
        self.query_one(OptionList).can_focus = False  # keys always go to the filter
        self.query_one(Input).focus()
        self._start()

    def on_unmount(self) -> None:
        """Close what was opened."""
        self._reading.submit(self._close)
        self._reading.shutdown(wait=True, cancel_futures=False)

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    # -- what is listed

    @work(exclusive=True)
    async def _start(self) -> None:
        await self._list()

    @work(exclusive=True)
    async def _refill(self) -> None:
        await asyncio.sleep(_TYPING_SECONDS)
        await self._list()

    @work(exclusive=True, group="append")
    async def _append(self) -> None:
        cursor, wanted = self._next, self._listed
        if cursor is not None and wanted is not None:
            try:
                page = await self._in_thread(lambda h: wanted.ask(h, cursor))
            except HansardError as error:
                self._show_problem(error)
                return
            if cursor == self._next:  # the list is still the one that it goes on
                self._next = page.next_cursor
                self._add(page.sessions)

    async def _list(self) -> None:
        try:
            if not self._is_project_known and self._directory:
                directory = self._directory
                self._project = await self._in_thread(lambda h: project_of(h, directory))
                self._is_limited, self._is_project_known = self._project is not None, True
            wanted = self._filter()
            page = await self._in_thread(wanted.ask)
        except HansardError as error:  # what is listed stays
            self._show_problem(error)
            return
        self.query_one("#problem", Static).display = False
        self._listed = wanted
        self._sessions, self._next, self._total = [], page.next_cursor, page.total
        self.query_one(OptionList).clear_options()
        self._add(page.sessions)
        if self._sessions:
            self.query_one(OptionList).highlighted = 0
        self._draw_head()
        if self._is_chosen:
            self.action_choose()

    def _show_problem(self, error: HansardError) -> None:
        self._is_chosen = False
        problem = self.query_one("#problem", Static)
        problem.update(Content(clean(error.problem if isinstance(error, QueryError) else str(error))))
        problem.display = True

    def _filter(self) -> Filter:
        return Filter(self.query_one(Input).value, self._project if self._is_limited else None)

    async def _in_thread(self, ask: Callable[[Hansard], _T]) -> _T:
        def run() -> _T:
            if self._engine is None:
                self._engine = self._open_engine()
            return ask(self._engine)

        return await asyncio.get_running_loop().run_in_executor(self._reading, run)

    # -- what is drawn

    def _columns(self) -> int:
        return max(20, self.size.width - 3)  # the padding and the scroll bar

    def _add(self, sessions: tuple[Session, ...]) -> None:
        now, columns = datetime.now(UTC), self._columns()
        self._sessions += sessions
        self.query_one(OptionList).add_options([Option(session_row(one, now, columns)) for one in sessions])

    def _draw_head(self) -> None:
        scope = f"in {project_name(self._project or '')}" if self._is_limited else "in all projects"
        found = many(self._total, "session") if self._total else "no session matches"
        line = f"{self._purpose}: {found} {scope}"
        self.query_one("#head", Static).update(Content(fit(one_line(line), self._columns())))
        self.query_one("#columns", Static).update(heading(self._columns()))
        other = "" if self._project is None else "all projects" if self._is_limited else "this project"
        keys = _KEYS.format(other=other) if other else _KEYS.replace("   tab {other}", "")
        self.query_one("#keys", Static).update(Content(keys))

    def on_resize(self, _: Resize) -> None:
        """Set the columns again."""
        options, sessions = self.query_one(OptionList), tuple(self._sessions)
        highlighted = options.highlighted
        options.clear_options()
        self._sessions = []
        self._add(sessions)
        options.highlighted = highlighted
        self._draw_head()

    # -- what is done

    def on_input_changed(self, _: Input.Changed) -> None:
        """Filter by what is typed by now."""
        self._is_chosen = False
        self._refill()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Read on before the list ends."""
        if self._next is not None and event.option_index >= len(self._sessions) - 1 - _PAGE // 4:
            self._append()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose what is clicked."""
        self.dismiss(self._sessions[event.option_index].session_id)

    def action_choose(self) -> None:
        """Choose the session under the cursor, once the list answers what was typed."""
        self._is_chosen = self._listed != self._filter()
        if self._is_chosen:
            return
        place = self.query_one(OptionList).highlighted
        if place is not None and place < len(self._sessions):
            self.dismiss(self._sessions[place].session_id)

    def action_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)

    def action_scope(self) -> None:
        """List this project's sessions, or all."""
        if self._project is not None:
            self._is_limited = not self._is_limited
            self._refill()

    def action_move(self, how: str) -> None:
        """Move the cursor of the list."""
        options = self.query_one(OptionList)
        moves: dict[str, Callable[[], None]] = {
            "down": options.action_cursor_down,
            "up": options.action_cursor_up,
            "page_down": options.action_page_down,
            "page_up": options.action_page_up,
        }
        moves[how]()


class PickerApp(App[str | None]):
    """The picker by itself, for a command that needs a session."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "interrupt", priority=True, show=False)]

    def __init__(self, picker: SessionPicker) -> None:
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"  # the terminal's own colours
        self._picker = picker
        self.interrupted = False

    def on_mount(self) -> None:
        """Show the picker until something is chosen."""
        self.push_screen(self._picker, self.exit)

    def action_interrupt(self) -> None:
        """End as ctrl-c does everywhere."""
        self.interrupted = True
        self.exit(None)


def pick_session(open_engine: Callable[[], Hansard], *, purpose: str, directory: str | None = None) -> str | None:
    """Let the user choose a session in the terminal; the id, or None when nothing was chosen. Draws on stderr."""
    app = PickerApp(SessionPicker(open_engine, purpose=purpose, directory=directory))
    with _signals_restored():
        chosen = app.run()
    if app.interrupted:
        raise KeyboardInterrupt
    return chosen


@contextmanager
def _signals_restored() -> Iterator[None]:
    """Textual leaves its own handlers of job control behind, which draw on a screen that is no more."""
    names = [name for name in ("SIGTSTP", "SIGCONT") if hasattr(signal, name)]
    before = [(getattr(signal, name), signal.getsignal(getattr(signal, name))) for name in names]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
