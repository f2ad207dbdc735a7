"""The terminal app: its screens, the engine behind them, its saved state, and how it ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from hansard.errors import HansardError
from hansard.files import write_private
from hansard.tui.engine_thread import EngineThread, StoreWatch
from hansard.tui.frame import TABS, View
from hansard.tui.views.sessions import SessionsView

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.screen import Screen

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.sessions import Session
    from hansard.render.format import ProjectNames

THEMES = ("ansi-dark", "ansi-light", "textual-dark", "textual-light")
"""The terminal's own colours, for a dark and a light background, and colours of our own."""
_LOG = "tui-crash.log"
_STATE = "tui.json"


class State(msgspec.Struct, frozen=True):
    """The state that is saved on exit."""

    screen: str = "sessions"
    query: str = ""
    scope: str = "all"
    sort: str = "ended"
    group: str = ""
    preview: bool = True
    outline: bool = True
    depth: str = "tools"
    theme: str = ""
    usage_by: str = "day"


def load_state(home: str) -> State:
    """The remembered settings, or the defaults if they cannot be read."""
    try:
        with open(os.path.join(home, _STATE), "rb") as file:
            return msgspec.json.decode(file.read(65_536), type=State)
    except (OSError, msgspec.MsgspecError):
        return State()


class Setup(NamedTuple):
    """Settings from the command that starts the app."""

    open_engine: Callable[[], Hansard]
    home: str
    zone: Zone
    directory: str | None = None  # that the user is in
    is_syncing: bool = True
    browse: Callable[[str, str | None, int | None], None] | None = None
    purpose: str = ""  # of a picker, else empty
    picks: str = ""  # session, message
    remembers: bool = False  # the screen and the filter, besides how things are shown


class Outcome(NamedTuple):
    """How the app ended: None, with a command to run, or with what was picked."""

    action: str  # resume, fork, pick
    session_id: str
    offset: int | None = None
    agent: str | None = None


class HansardApp(App[Outcome | None]):
    """The whole history in the terminal."""

    TITLE = "Hansard"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+backslash"  # one that may be pressed while typing
    MODES: ClassVar[dict[str, Any]] = {}
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"view('{name}')", name.capitalize(), show=False)
            for number, name in enumerate(TABS, 1)
        ),
        Binding("question_mark", "keys", "All keys", show=False),
        Binding("colon,ctrl+p", "command_palette", "Command palette", show=False),
        Binding("ctrl+t", "next_theme", "Next theme", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True),
        Binding("q", "quit", "Quit", show=False),
        Binding("ctrl+c,ctrl+q", "interrupt", "Quit", show=False, priority=True),
    ]

    def __init__(self, setup: Setup) -> None:
        super().__init__(ansi_color=True)
        self._setup = setup
        self.state = State() if setup.purpose else load_state(setup.home)
        if not setup.remembers:
            self.state = msgspec.structs.replace(self.state, screen="sessions", query="", scope="all")
        self.engine = EngineThread(setup.open_engine)
        self._watch: StoreWatch | None = None
        self._revision: int | None = None  # of the store, as the watch last saw it
        self.names: ProjectNames = {}  # of the projects of the store
        self.is_syncing = False
        self.interrupted = False
        self._came_from = "sessions"
        self.crash_log: str | None = None
        self.theme = self.state.theme if self.state.theme in THEMES else THEMES[0]

    @property
    def directory(self) -> str | None:
        return self._setup.directory

    @property
    def picks(self) -> str:
        """What is to be picked: session, message, or nothing."""
        return self._setup.picks

    @property
    def zone(self) -> Zone:
        return self._setup.zone

    # -- beginning and end

    def on_mount(self) -> None:
        """Show the sessions, or the screen that was left, and keep the store current behind it."""
        setup = self._setup
        self.add_mode("sessions", lambda: SessionsView(setup.purpose))
        if not setup.purpose:
            self._add_views()
        first = self.state.screen if self.state.screen in TABS and not setup.purpose else "sessions"
        self.is_syncing = setup.is_syncing
        self.switch_mode(first)
        self._name_projects()
        if first != "sessions":
            self.call_after_refresh(self.start_watch)

    def start_watch(self) -> None:
        """Keep the store current from now on; the first screen has been drawn."""
        if not gc.isenabled():  # off until the first screen is drawn
            gc.freeze()
            gc.enable()
        if self._watch is None:
            self._watch = StoreWatch(self, self._setup.open_engine, syncing=self.is_syncing)
            self._watch.start()

    def _add_views(self) -> None:
        for name in TABS[1:]:
            self._add_view(name)

    def _add_view(self, name: str) -> None:
        def make() -> View:  # each is loaded when it is first shown
            from importlib import import_module

            module = import_module(f"hansard.tui.views.{name}")
            made: View = getattr(module, f"{name.capitalize()}View")()
            return made

        self.add_mode(name, make)

    async def on_unmount(self) -> None:
        """Stop background work."""
        if self._watch is not None:
            self._watch.stop(2.0)
        if not self._setup.purpose:
            with suppress(OSError):  # forgotten if it cannot be written
                write_private(os.path.join(self._setup.home, _STATE), msgspec.json.encode(self.state))
        self.engine.close()

    def remember(self, **values: Any) -> None:
        """Keep something for the next time."""
        self.state = msgspec.structs.replace(self.state, **values)

    def _name_projects(self) -> None:
        async def name() -> None:
            with suppress(HansardError):  # the screens show what is wrong
                self.names = await self.engine.ask(lambda h: h.project_names())

        self.run_worker(name(), exclusive=False)

    # -- the store

    def store_changed(self) -> None:
        self.engine.reopen()
        self._name_projects()
        for stack in self._screen_stacks.values():
            for screen in stack:
                if isinstance(screen, View) and screen.is_mounted:
                    screen.store_changed()

    def forgotten(self, words: str) -> None:
        """Leave a session that was erased, and say so; the reader shows nothing of it any more."""
        # Not in a worker of the reader, which ends with it.
        self.run_worker(self._forgotten(words), exclusive=False)

    async def _forgotten(self, words: str) -> None:
        if not self._setup.purpose:
            if self.current_mode == "reader":
                self.go_back()
            await self.remove_mode("reader")
            self._add_view("reader")
        self.store_changed()
        if isinstance(self.screen, View):
            self.screen.say(words)

    def on_store_watch_changed(self, event: StoreWatch.Changed) -> None:
        """Show what any process has written, and the state of the store."""
        state = event.state
        was_syncing, self.is_syncing = self.is_syncing, state.syncing
        # The screens have read what was there at the start; what a first sync found, they have not.
        is_news = not state.syncing if self._revision is None else state.revision != self._revision
        self._revision = state.revision
        if is_news or (was_syncing and not state.syncing):
            self.store_changed()
        self._tell(state.trouble or state.progress or "")

    def _tell(self, words: str) -> None:
        if isinstance(self.screen, View):
            self.screen.show_activity(words)

    # -- screens

    def action_view(self, name: str) -> None:
        """Show one of the screens."""
        if not self._setup.purpose and not isinstance(self.screen_stack[-1], ModalScreen):
            self.remember(screen=name)
            self.switch_mode(name)

    def choose(self, session: Session, *, agent: str | None = None, offset: int | None = None, find: str = "") -> None:
        """Read a session, at an offset; or pick it."""
        if self.picks == "session" or (self.picks == "message" and offset is not None):
            self.exit(Outcome("pick", session.session_id, offset, agent))
            return
        from hansard.tui.views.reader import ReaderView

        if self.current_mode != "reader":
            self._came_from = self.current_mode
        self.remember(screen="reader")
        self.switch_mode("reader")
        while not isinstance(self.screen, ReaderView) or self.screen.agent is not None:
            if len(self.screen_stack) <= 1:
                break
            self.pop_screen()
        if isinstance(self.screen, ReaderView):
            self.screen.read(session, agent=agent, offset=offset, find=find)

    def go_back(self) -> None:
        """Show the screen that the reader was opened from."""
        self.action_view(self._came_from)

    def leave(self, action: str, session_id: str) -> None:
        """End the app and do something in its place."""
        self.exit(Outcome(action, session_id))

    def browse(self, session_id: str, agent: str | None, offset: int | None) -> None:
        """Open a session in the browser."""
        if self._setup.browse is not None:
            self._setup.browse(session_id, agent, offset)

    def open_editor(self, session: Session) -> None:
        """Open a session as Markdown in the user's editor, and come back."""
        self.run_worker(self._open_editor(session), exclusive=True)

    async def _open_editor(self, session: Session) -> None:
        import tempfile

        try:
            with tempfile.TemporaryDirectory(prefix="hansard-") as folder:
                path = os.path.join(folder, f"{session.session_id[:8]}.md")
                await self.engine.ask(lambda h: h.export([session], path, format="markdown"))
                self.edit_file(path)
        except (HansardError, OSError, ValueError) as error:  # ValueError: quotes of $EDITOR that do not end
            if isinstance(self.screen, View):
                self.screen.fail(error if isinstance(error, HansardError) else HansardError(f"$EDITOR: {error}"))

    def edit_file(self, path: str) -> None:
        """Run the user's editor on a file; raises if it cannot be run."""
        import shlex

        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
        words = shlex.split(editor)
        with self.suspend():
            subprocess.run([*words, path], check=False)  # noqa: S603 - the user's own editor
        self.refresh()

    # -- keys

    def action_keys(self) -> None:
        """Show all keys of the screen."""
        from hansard.tui.dialogs import TextDialog, key_lines

        bindings = self.screen.active_bindings
        self.push_screen(TextDialog("Keys", lambda columns: key_lines(bindings, columns)))

    def action_next_theme(self) -> None:
        name = THEMES[(THEMES.index(self.theme) + 1) % len(THEMES)] if self.theme in THEMES else THEMES[0]
        self.theme = name
        self.remember(theme=name)

    def action_interrupt(self) -> None:
        self.interrupted = True
        self.exit(None)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette offers: every key of the screen, by what it does."""
        for active in {id(one.binding): one for one in screen.active_bindings.values()}.values():
            binding, node = active.binding, active.node
            if binding.description and binding.action and not binding.system:

                async def run(action: str = binding.action, node: DOMNode = node) -> None:
                    await self.run_action(action, node)

                yield SystemCommand(binding.description, f"key: {binding.key.split(',')[0]}", run)

    # -- what goes wrong

    def _handle_exception(self, error: Exception) -> None:
        """Write the traceback of a bug to a file, and exit."""
        import traceback

        path = os.path.join(self._setup.home, _LOG)
        with suppress(OSError):
            write_private(path, "".join(traceback.format_exception(error)).encode("utf-8", "replace"))
            self.crash_log = path
        super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        """Print nothing: the command says where the log is."""
        if self.crash_log is None:
            super()._print_error_renderables()
        self._exit_renderables.clear()


def run_app(setup: Setup) -> Outcome | None:
    """Run the app; raises `KeyboardInterrupt` for ctrl-c, and `HansardError` if it crashed."""
    app = HansardApp(setup)
    with _signals_restored():
        outcome = app.run()
    if app.crash_log is not None:
        raise HansardError(f"the terminal app failed; details are in {app.crash_log}")
    if app.interrupted:
        raise KeyboardInterrupt
    return outcome


@contextmanager
def _signals_restored() -> Iterator[None]:
    """Restore the signal handlers: Textual leaves its own behind, which draw on a closed screen."""
    names = [name for name in ("SIGTSTP", "SIGCONT") if hasattr(signal, name)]
    before = [(getattr(signal, name), signal.getsignal(getattr(signal, name))) for name in names]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
