"""Dialogs: a line to type, a menu, lines to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from hansard.render.terminal.spans import BOLD, painted
from hansard.render.text import clean, fit, one_line, pad
from hansard.tui.frame import key_name
from hansard.tui.line_list import LineList
from hansard.tui.line_view import TextView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import ActiveBinding
    from textual.events import Resize

_CSS = """
{name} {{ align: center middle; background: ansi_default 60%; }}
{name} > Vertical {{ width: {width}; max-width: 96%; height: {height}; max-height: 90%; border: round $primary; padding: 0 1; background: $surface; }}
"""


class InputDialog(ModalScreen[str | None]):
    """One line of text; None if cancelled."""

    DEFAULT_CSS = (
        _CSS.format(name="InputDialog", width="72", height="auto") + "InputDialog Input { border: none; padding: 0; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Leave", show=False)]

    def __init__(self, title: str, value: str = "", placeholder: str = "") -> None:
        super().__init__()
        self._title, self._value, self._placeholder = title, value, placeholder

    def compose(self) -> ComposeResult:
        """A title and a line."""
        with Vertical():
            yield Static(Content(one_line(self._title)).stylize("bold"))
            yield Input(self._value, placeholder=self._placeholder)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class MenuDialog(ModalScreen[int | None]):
    """A menu; gives the number of a line, None if cancelled. The digit or letter in front of a line chooses it."""

    DEFAULT_CSS = _CSS.format(name="MenuDialog", width="80", height="auto") + "MenuDialog LineList { height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)", "Leave", show=False)]

    def __init__(self, title: str, entries: Sequence[tuple[str, str]], chosen: int = 0) -> None:
        super().__init__()
        self._title, self._entries, self._chosen = title, entries, chosen

    def compose(self) -> ComposeResult:
        """A title and a list."""
        with Vertical():
            yield Static(Content(one_line(self._title)).stylize("bold"))
            yield LineList[tuple[str, str]](
                lambda entry, columns: [fit(f" {entry[0]:<3} {clean(entry[1]).replace(chr(10), ' ')}", columns)]
            )

    def on_mount(self) -> None:
        found = self.query_one(LineList)
        found.styles.height = min(len(self._entries), 20)
        found.fill(self._entries, cursor=self._chosen)
        found.focus()

    def on_line_list_selected(self) -> None:
        self.dismiss(self.query_one(LineList).cursor)

    def key(self, key: str) -> bool:
        """Choose by the key in front of a line."""
        for place, (name, _) in enumerate(self._entries):
            if name and name == key:
                self.dismiss(place)
                return True
        return False

    def on_key(self, event: object) -> None:
        """A key in front of a line chooses it."""
        if self.key(getattr(event, "character", None) or ""):
            event.stop()  # type: ignore[attr-defined]


class TextDialog(ModalScreen[bool | None]):
    """Lines to read; `draw` makes them for a width."""

    DEFAULT_CSS = _CSS.format(name="TextDialog", width="96%", height="90%") + "TextDialog TextView { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss(None)", "Leave", show=False)]

    def __init__(self, title: str, draw: Callable[[int], Sequence[str]]) -> None:
        super().__init__()
        self._title, self._draw = title, draw

    def compose(self) -> ComposeResult:
        """A title and the lines."""
        with Vertical():
            yield Static(Content(one_line(self._title)).stylize("bold"))
            yield TextView()

    def on_mount(self) -> None:
        self.query_one(TextView).focus()

    def on_resize(self, _: Resize) -> None:
        view = self.query_one(TextView)
        self.call_after_refresh(lambda: view.show(self._draw(max(20, view.scrollable_content_region.width))))


class ConfirmDialog(TextDialog, inherit_bindings=False):
    """Lines to read before something is done; True for Enter."""

    DEFAULT_CSS = _CSS.format(name="ConfirmDialog", width="96%", height="90%")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss(True)", "Go on", show=False, priority=True),
        Binding("escape,q", "dismiss(None)", "Leave", show=False),
    ]


# -- the keys of a screen


def key_lines(bindings: Mapping[str, ActiveBinding], columns: int) -> list[str]:
    """Every key that does something now, with what it does."""
    found: dict[tuple[str, str], list[str]] = {}
    for active in bindings.values():
        binding = active.binding
        if binding.description and not binding.system and _is_ours(active):
            keys = found.setdefault((binding.description, binding.action), [])
            if (name := key_name(binding)) not in keys:
                keys.append(name)
    return [
        painted([("", " "), (BOLD, pad(fit("  ".join(keys), 24), 24)), ("", "  "), ("", fit(words, columns - 28))])
        for (words, _), keys in found.items()
    ]


def _is_ours(active: ActiveBinding) -> bool:
    """Whether a binding is ours, not one that every Textual widget has."""
    kinds = [kind for kind in type(active.node).__mro__ if kind.__module__.startswith("hansard.")]
    named = (active.binding.action, active.binding.description)
    return any((one.action, one.description) == named for kind in kinds for one in bindings_of(kind))


def bindings_of(kind: type[Any]) -> Iterable[Binding]:
    """The bindings that a screen or a widget declares itself."""
    return [one for one in kind.__dict__.get("BINDINGS", ()) if isinstance(one, Binding)]
