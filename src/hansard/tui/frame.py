"""The frame of every screen: tabs above, keys below, the engine, and a line for problems."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import work
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from hansard.errors import HansardError
from hansard.query.language import QueryError
from hansard.render.text import clean, fit, one_line, width
from hansard.tui.line_view import strip_of

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Click
    from textual.strip import Strip
    from textual.worker import Worker

    from hansard.engine import Hansard
    from hansard.tui.app import HansardApp

T = TypeVar("T")
TABS = ("sessions", "reader", "search", "usage", "files", "prompts", "health")
"""The screens, in the order of their keys."""


class TabBar(Widget):
    """The names of the screens, and background activity on the right."""

    DEFAULT_CSS = "TabBar { height: 1; }"

    def __init__(self, active: str) -> None:
        super().__init__()
        self._active = active
        self._activity = ""

    def show_activity(self, words: str) -> None:
        """Show a text on the right until the next one."""
        self._activity = one_line(words)
        self.refresh()

    def _names(self) -> Iterator[tuple[str, str]]:
        room = self.size.width
        is_long = room >= sum(len(name) + 4 for name in TABS)
        for number, name in enumerate(TABS, 1):
            yield name, f" {number} {name.capitalize()} " if is_long or name == self._active else f" {number} "

    def render(self) -> Content:
        made, taken = Content(""), 0
        for name, text in self._names():
            taken += len(text)
            made += Content(text).stylize("reverse" if name == self._active else "dim")
        room = self.size.width - taken - 1
        shown = fit(self._activity, room) if room > 8 else ""
        return made + Content(" " * max(0, room - width(shown))) + Content(shown).stylize("dim")

    def on_click(self, event: Click) -> None:
        """Go to the screen whose name is clicked."""
        place = 0
        for name, text in self._names():
            place += len(text)
            if event.x < place:
                cast("HansardApp", self.app).action_view(name)
                return


class Heading(Widget):
    """One line that is drawn for its width: the names of a list's columns."""

    DEFAULT_CSS = "Heading { height: 1; }"

    def __init__(self, draw: Callable[[int], str], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._draw = draw

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is one
        columns = self.content_size.width
        return strip_of(self._draw(columns)).crop_extend(0, columns, None).apply_style(self.rich_style)


class KeyBar(Widget):
    """The most useful keys of a screen; a problem takes their place until a key is pressed."""

    DEFAULT_CSS = "KeyBar { height: 1; } KeyBar.-problem { color: $text-error; }"

    def __init__(self, keys: tuple[tuple[str, str], ...]) -> None:
        super().__init__()
        self._keys = keys
        self._problem = ""

    def say(self, words: str, *, problem: bool = False) -> None:
        """Show a message instead of the keys; an empty one shows them again."""
        self._problem = one_line(words)
        self.set_class(problem and bool(words), "-problem")
        self.refresh()

    @property
    def message(self) -> str:
        """The message that is shown."""
        return self._problem

    def render(self) -> Content:
        room = self.size.width - 2
        if self._problem:
            return Content(" " + fit(self._problem, room))
        made, taken = Content(" "), 0
        *others, last = self._keys
        reserved = width(last[0]) + width(last[1]) + 3
        shown = []
        for key, words in others:
            taken += width(key) + width(words) + 3
            if taken > room - reserved:
                break
            shown.append((key, words))
        for key, words in [*shown, last]:
            made += Content(key).stylize("bold") + Content(f" {words}  ").stylize("dim")
        return made


def key_name(binding: Binding) -> str:
    """A binding's first key as people write it."""
    names = {
        "slash": "/",
        "question_mark": "?",
        "colon": ":",
        "full_stop": ".",
        "left_square_bracket": "[",
        "right_square_bracket": "]",
        "left_curly_bracket": "{",
        "right_curly_bracket": "}",
        "left_parenthesis": "(",
        "right_parenthesis": ")",
        "escape": "esc",
        "down": "↓",
        "up": "↑",
        "left": "←",
        "right": "→",
        "pagedown": "page down",
        "pageup": "page up",
    }
    key = binding.key.split(",")[0]
    return names.get(key, key.replace("+", "-"))


def problem_text(error: HansardError) -> str:
    """The error in a query, shown below its column."""
    if isinstance(error, QueryError):
        return f"{' ' * error.column}^ {one_line(error.problem)}"
    return one_line(str(error))


def asking(
    group: str, *, exclusive: bool = True
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Worker[None]]]:
    """Let a method of a screen run as a worker; errors of the engine are shown in the last line."""

    def decorate(method: Callable[..., Awaitable[None]]) -> Callable[..., Worker[None]]:
        @wraps(method)
        async def run(self: View, *values: Any, **named: Any) -> None:
            try:
                await method(self, *values, **named)
            except HansardError as error:
                self.fail(error)

        return work(exclusive=exclusive, group=group)(run)

    return decorate


class View(Screen[None]):
    """One of the app's screens."""

    TAB: ClassVar[str] = ""

    def compose(self) -> ComposeResult:
        """The frame with the screen's own parts in it."""
        yield TabBar(self.TAB)
        yield from self.body()
        yield KeyBar((*self._own_keys().items(), ("?", "all keys")))

    def body(self) -> ComposeResult:
        yield from ()

    def _own_keys(self) -> dict[str, str]:
        """What each key does; a screen's own meaning of a key replaces that of its base class."""
        keys: dict[str, str] = {}
        for kind in type(self).__mro__:
            for binding in kind.__dict__.get("BINDINGS", ()):
                if isinstance(binding, Binding) and binding.show and binding.description:
                    keys.setdefault(key_name(binding), binding.description.lower())
        return keys

    @property
    def hansard(self) -> HansardApp:
        """The app, by its own type."""
        return cast("HansardApp", self.app)

    async def ask(self, question: Callable[[Hansard], T]) -> T:
        return await self.hansard.engine.ask(question)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a query is typed, its key is a letter; it is handled first, so that no later keystroke is lost."""
        if action in ("query", "find") and isinstance(self.focused, Input):
            return False
        return super().check_action(action, parameters)

    def pick(
        self, title: str, entries: Sequence[tuple[str, str]], act: Callable[[int], object], chosen: int = 0
    ) -> None:
        """Let the user choose an entry (its key and its text), and act on its number."""
        from hansard.tui.dialogs import MenuDialog

        self.app.push_screen(
            MenuDialog(title, entries, chosen), lambda place: None if place is None else cast("None", act(place))
        )

    def type_line(self, title: str, act: Callable[[str], object], value: str = "", placeholder: str = "") -> None:
        """Let the user type a line, and act on it."""
        from hansard.tui.dialogs import InputDialog

        self.app.push_screen(
            InputDialog(title, value, placeholder), lambda text: None if text is None else cast("None", act(text))
        )

    # -- events

    def store_changed(self) -> None:
        """Called after a sync with changes."""

    def say(self, words: str) -> None:
        """Show a message in the last line."""
        self.query_one(KeyBar).say(words)

    def fail(self, error: HansardError) -> None:
        """Show an error in the last line."""
        words = error.problem if isinstance(error, QueryError) else str(error)
        self.query_one(KeyBar).say(clean(words), problem=True)

    def show_activity(self, words: str) -> None:
        """Show background activity."""
        self.query_one(TabBar).show_activity(words)

    def on_key(self) -> None:
        bar = self.query_one(KeyBar)
        if bar.message:
            bar.say("")
