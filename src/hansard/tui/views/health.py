"""The store: what is kept, what the client will delete, what could not be read."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType

from hansard.errors import HansardError, NotFound
from hansard.render.secrets import summary_lines
from hansard.render.terminal.health import doctor_lines, status_lines
from hansard.render.text import wrap
from hansard.tui.frame import View
from hansard.tui.line_view import TextView
from hansard.tui.rows import COLOURS

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

    from hansard.engine import Hansard

_SECRETS = 8  # that are listed


class HealthView(View):
    """The output of `status` and `doctor`."""

    TAB = "health"
    DEFAULT_CSS = "HealthView TextView { padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "diagnose", "Look for problems")]

    def __init__(self) -> None:
        super().__init__()
        self._is_diagnosed = False

    def body(self) -> ComposeResult:
        yield TextView()

    def on_mount(self) -> None:
        self.query_one(TextView).focus()

    def on_resize(self, _: Resize) -> None:
        self._read()

    def store_changed(self) -> None:
        """Show what is new, without looking for problems again."""
        self._is_diagnosed = False
        self._read()

    def action_diagnose(self) -> None:
        """Look for problems, which may take some seconds."""
        self._is_diagnosed = True
        self.say("checking the store ...")
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        view = self.query_one(TextView)
        columns = max(20, min(120, self.size.width - 4))
        diagnosed = self._is_diagnosed
        try:
            lines = await self.ask(lambda h: _lines(h, columns, diagnosed=diagnosed))
        except HansardError as error:
            lines = wrap(str(error), columns)
        view.show(lines)
        self.say("")


def _lines(h: Hansard, columns: int, *, diagnosed: bool) -> list[str]:
    lines = list(status_lines(h.status(), datetime.now(UTC), columns, COLOURS))
    with suppress(NotFound):  # nothing is stored yet
        found = summary_lines(h.secrets(limit=_SECRETS), columns, COLOURS, h.project_names())
        lines += ["", COLOURS("Secrets", "bold"), *found]
    if diagnosed:
        return [*lines, "", COLOURS("Diagnosis", "bold"), *doctor_lines(h.doctor(), columns, COLOURS)]
    return [*lines, "", "Press d to look for problems."]
