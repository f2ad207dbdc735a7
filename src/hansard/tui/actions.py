"""What can be done with the current session, the same on every screen that shows one."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from hansard.render.format import many, title_of
from hansard.render.text import one_line, resume_command, wrap
from hansard.tui.frame import View, asking
from hansard.tui.rows import COLOURS

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.explain import Explanation
    from hansard.model.sessions import Remarks, Session

_FORGET, _FORGET_SOURCE = "forget", "forget source"
_CANNOT_BE_UNDONE = "This cannot be undone. The client's own files stay, unless you say so. Enter goes on, Escape leaves everything as it is."
_FORMATS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".jsonl": "jsonl",
}


def on_session(action: Callable[[Any, Session], None]) -> Callable[[Any], None]:
    """Run an action with the session under the cursor, if there is one."""

    @wraps(action)
    def run(self: SessionActions) -> None:
        if (session := self.current_session()) is not None:
            action(self, session)

    return run


class SessionActions(View):
    """Keys for the session under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "resume", "Resume"),
        Binding("F", "fork", "Resume as a fork", show=False),
        Binding("y", "copy", "Copy"),
        Binding("P", "pin", "Pin", show=False),
        Binding("t", "tag", "Tags", show=False),
        Binding("T", "rename_session", "Rename", show=False),
        Binding("a", "note", "Add a note", show=False),
        Binding("x", "explain", "Explain the cost"),
        Binding("e", "export", "Export", show=False),
        Binding("w", "browse", "Open in the browser", show=False),
        Binding("E", "edit", "Open in $EDITOR", show=False),
        Binding("D,f8", "forget", "Forget, for good", show=False),  # f8 also while a filter is typed, as in the picker
    ]

    def current_session(self) -> Session | None:
        raise NotImplementedError

    def current_place(self) -> tuple[str | None, int | None]:
        """The current subagent and offset, if any."""
        return None, None

    def copy_choices(self, session: Session) -> list[tuple[str, str, str]]:
        """What can be copied: a key, a name and the text."""
        resume = resume_command(session)
        return [
            ("i", "id", session.session_id),
            *([("r", "resume command", resume)] if resume else []),
            ("t", "title", one_line(title_of(session))),
            ("d", "directory", session.cwd),
        ]

    # -- leaving the app

    @on_session
    def action_resume(self, session: Session) -> None:
        """Continue the session in the client."""
        self._leave_for("resume", session.session_id)

    @on_session
    def action_fork(self, session: Session) -> None:
        """Continue a copy of the session in the client."""
        self._leave_for("fork", session.session_id)

    @asking("act")
    async def _leave_for(self, action: str, session_id: str) -> None:
        await self.ask(lambda h: h.plan_resume(session_id))  # fails here, not after the app has gone
        self.hansard.leave(action, session_id)

    @on_session
    def action_edit(self, session: Session) -> None:
        """Open the session as Markdown in the editor."""
        self.hansard.open_editor(session)

    @on_session
    def action_browse(self, session: Session) -> None:
        """Open the session in the web app."""
        self.hansard.browse(session.session_id, *self.current_place())
        self.say("opening in the browser ...")

    # -- copying

    @on_session
    def action_copy(self, session: Session) -> None:
        """Copy something of the session to the clipboard."""
        choices = [choice for choice in self.copy_choices(session) if choice[2]]

        def copy(place: int) -> None:
            _, name, text = choices[place]
            self.app.copy_to_clipboard(text)
            self.say(f"copied the {name} ({many(len(text), 'character')})")

        self.pick("Copy", [(key, f"{name:<24}  {one_line(text[:60])}") for key, name, text in choices], copy)

    # -- remarks

    @on_session
    def action_pin(self, session: Session) -> None:
        """Pin the session, or remove its pin."""
        session_id, is_pinned = session.session_id, session.pinned
        self._remark(lambda h: h.pin(session_id, remove=is_pinned), "unpinned" if is_pinned else "pinned")

    @on_session
    def action_tag(self, session: Session) -> None:
        session_id, before = session.session_id, session.tags

        def tag(text: str) -> None:
            after = text.replace(",", " ").split()

            def change(h: Hansard) -> Remarks:
                gone = [tag for tag in before if tag not in after]
                if gone:
                    h.tag(session_id, *gone, remove=True)
                return h.tag(session_id, *after) if after else h.remarks(session_id)

            self._remark(change, "tags: " + (" ".join(after) or "none"))

        self.type_line("Tags", tag, " ".join(before), "separated by spaces")

    @on_session
    def action_rename_session(self, session: Session) -> None:
        """Give the session a title; an empty one restores its own."""

        def rename(text: str) -> None:
            self._remark(lambda h: h.rename(session.session_id, text.strip() or None), "renamed")

        self.type_line("Title", rename, one_line(session.title), "empty: the original title")

    @on_session
    def action_note(self, session: Session) -> None:
        def note(text: str) -> None:
            if text.strip():
                self._remark(lambda h: h.note(session.session_id, text.strip()), "note added")

        self.type_line("Note", note)

    @asking("act")
    async def _remark(self, change: Callable[[Hansard], object], words: str) -> None:
        await self.ask(change)
        self.hansard.store_changed()
        self.say(words)

    # -- erasing

    @on_session
    def action_forget(self, session: Session) -> None:
        """Show what forgetting the session would erase, and do it if the user says so."""
        self._show_erasure(session)

    @asking("act")
    async def _show_erasure(self, session: Session) -> None:
        from hansard.render.erasing import plan_lines
        from hansard.render.terminal.tables import draw_table
        from hansard.tui.dialogs import ConfirmDialog

        session_id = session.session_id
        plan = await self.ask(lambda h: h.plan_forget([session_id]))
        names = self.hansard.names

        def draw(columns: int) -> list[str]:
            lines = plan_lines(plan, lambda table: draw_table(table, columns, COLOURS, names))
            return [*map(one_line, plan.warnings), *lines, "", *wrap(_CANNOT_BE_UNDONE, columns)]

        def confirm(is_wanted: bool | None) -> None:
            if is_wanted:
                self.type_line(f"Type {_FORGET} to erase it", erase, placeholder=f"{_FORGET_SOURCE}: there too")

        def erase(text: str) -> None:
            if text.strip() in (_FORGET, _FORGET_SOURCE):
                self._erase(session_id, source=text.strip() == _FORGET_SOURCE)
            else:
                self.say("nothing was erased")

        self.app.push_screen(ConfirmDialog(f"Forget {one_line(title_of(session))}", draw), confirm)

    @asking("act")
    async def _erase(self, session_id: str, *, source: bool) -> None:
        from hansard.render.erasing import receipt_words

        self.say("erasing ...")
        receipt = await self.ask(lambda h: h.forget([session_id], source=source))
        self.hansard.forgotten(receipt_words(receipt))

    # -- files and figures

    @on_session
    def action_export(self, session: Session) -> None:
        """Write the session to a file."""
        path = os.path.join(self.hansard.directory or "~", f"{session.session_id[:8]}.html")

        def export(text: str) -> None:
            if text.strip():
                self._export(session, os.path.expanduser(text.strip()))

        self.type_line("Export to a file: .html, .md, .json or .jsonl", export, path)

    @asking("act")
    async def _export(self, session: Session, to: str) -> None:
        form = _FORMATS.get(os.path.splitext(to)[1].lower())
        if form is None:
            self.say("name a file that ends in .html, .md, .json or .jsonl")
            return
        self.say(f"exporting to {to} ...")
        await self.ask(lambda h: h.export([session], to, format=form))
        self.say(f"exported to {to}")

    def explained(self) -> tuple[str, Callable[[Hansard], Explanation]] | None:
        """A title, and the question for the figure under the cursor."""
        if (session := self.current_session()) is None:
            return None
        return one_line(title_of(session)), lambda h: h.explain(session.session_id)

    @asking("act")
    async def action_explain(self) -> None:
        """Show the figure under the cursor down to the arithmetic."""
        from hansard.render.terminal.explanation import lay_out
        from hansard.tui.dialogs import TextDialog

        found = self.explained()
        if found is None:
            return
        title, question = found
        explanation = await self.ask(question)
        zone, names = self.hansard.zone, self.hansard.names
        self.app.push_screen(
            TextDialog(f"Cost of {title}", lambda columns: lay_out(explanation, zone, names, columns, COLOURS))
        )
