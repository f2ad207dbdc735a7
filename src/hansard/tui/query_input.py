"""A line for a query, with completion of fields and values; keys that move a list are passed on while typing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from hansard.errors import HansardError
from hansard.query.language.fields import FIELDS
from hansard.render.format import project_name

if TYPE_CHECKING:
    from hansard.tui.engine_thread import EngineThread


class QuerySuggester(Suggester):
    """Completes the names of fields, and their values from the history."""

    def __init__(self, engine: EngineThread) -> None:
        super().__init__(use_cache=True, case_sensitive=True)
        self._engine = engine

    async def get_suggestion(self, value: str) -> str | None:
        """The query with its last word completed."""
        word = value.rsplit(" ", 1)[-1].lstrip("-(")
        if not word or value != value.rstrip():
            return None
        field, colon, beginning = word.partition(":")
        if not colon:
            names = (f"{name}:" for name in FIELDS if name.startswith(word) and name != word)
            return next((value + name[len(word) :] for name in names), None) if len(word) > 1 else None
        if field not in FIELDS or not beginning:
            return None
        known: Iterable[str] = getattr(FIELDS[field], "values", ())
        if not known:
            try:
                known, projects = await self._engine.ask(lambda h: (h.field_values(field), h.project_names()))
            except HansardError:  # the list shows what is wrong
                return None
            if field == "project":  # by its name, which is enough
                known = [project_name(path, projects) for path in known]
        values = (text for text in known if text.startswith(beginning) and text != beginning and " " not in text)
        return next((value + text[len(beginning) :] for text in values), None)


class QueryInput(Input):
    """An input for a query."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+j,ctrl+n", "list(1)", "Down", show=False, priority=True),
        Binding("up,ctrl+k,ctrl+p", "list(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "pages(1)", "Page down", show=False, priority=True),
        Binding("pageup", "pages(-1)", "Page up", show=False, priority=True),
        Binding("tab", "complete", "Complete, or change the scope", show=False, priority=True),
        Binding("escape", "leave", "Back to the list", show=False, priority=True),
    ]

    class Moved(Message):
        """The cursor of the list moves."""

        def __init__(self, step: int, *, pages: bool = False) -> None:
            super().__init__()
            self.step, self.pages = step, pages

    class Left(Message):
        """The list gets the focus again."""

    class Scoped(Message):
        """Tab was pressed with nothing to complete."""

    def on_mount(self) -> None:
        engine = getattr(self.app, "engine", None)
        if engine is not None:
            self.suggester = QuerySuggester(engine)

    def action_list(self, step: int) -> None:
        self.post_message(self.Moved(step))

    def action_pages(self, step: int) -> None:
        """Move in the list by pages."""
        self.post_message(self.Moved(step, pages=True))

    def action_complete(self) -> None:
        if self._suggestion and self.cursor_position == len(self.value):
            self.action_cursor_right()
        else:
            self.post_message(self.Scoped())

    def action_leave(self) -> None:
        self.post_message(self.Left())
