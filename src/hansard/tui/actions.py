"""What can be done with the current session, the same on every screen that shows one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from hansard.render.format import many, title_of
from hansard.render.text import Paint, one_line, resume_command
from hansard.tui.frame import View, asking

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Remarks, Session

_FORMATS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".jsonl": "jsonl",
}


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

    def action_resume(self) -> None:
        """Continue the session in the client."""
        self._leave_for("resume")

    def action_fork(self) -> None:
        """Continue a copy of the session in the client."""
        self._leave_for("fork")

    @asking("act")
    async def _leave_for(self, action: str) -> None:
        if (session := self.current_session()) is None:
            return
        await self.ask(lambda h: h.plan_resume(session.session_id))  # fails here, not after the app has gone
        self.hansard.leave(action, session.session_id)

    def action_edit(self) -> None:
        """Open the session as Markdown in the editor."""
        if (session := self.current_session()) is not None:
            self.hansard.open_editor(session)

    def action_browse(self) -> None:
        """Open the session in the web app."""
        if (session := self.current_session()) is not None:
            agent, offset = self.current_place()
            self.hansard.browse(session.session_id, agent, offset)
            self.say("opening in the browser ...")

    # -- copying

    def action_copy(self) -> None:
        """Copy something of the session to the clipboard."""
        if (session := self.current_session()) is None:
            return
        choices = [choice for choice in self.copy_choices(session) if choice[2]]

        def copy(place: int) -> None:
            _, name, text = choices[place]
            self.app.copy_to_clipboard(text)
            self.say(f"copied the {name} ({many(len(text), 'character')})")

        self.pick("Copy", [(key, f"{name:<24}  {one_line(text[:60])}") for key, name, text in choices], copy)

    # -- remarks

    def action_pin(self) -> None:
        """Pin the session, or take its pin away."""
        if (session := self.current_session()) is not None:
            session_id, is_pinned = session.session_id, session.pinned
            words = "unpinned" if is_pinned else "pinned"
            self._remark(lambda h: h.pin(session_id, remove=is_pinned), words)

    def action_tag(self) -> None:
        if (session := self.current_session()) is None:
            return
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

    def action_rename_session(self) -> None:
        """Give the session a title; none gives back the one it had."""
        if (session := self.current_session()) is None:
            return
        session_id = session.session_id

        def rename(text: str) -> None:
            self._remark(lambda h: h.rename(session_id, text.strip() or None), "renamed")

        self.type_line("Title", rename, one_line(session.title), "empty: the original title")

    def action_note(self) -> None:
        if (session := self.current_session()) is None:
            return
        session_id = session.session_id

        def note(text: str) -> None:
            if text.strip():
                self._remark(lambda h: h.note(session_id, text.strip()), "note added")

        self.type_line("Note", note)

    @asking("act")
    async def _remark(self, change: Callable[[Hansard], object], words: str) -> None:
        await self.ask(change)
        self.hansard.store_changed()
        self.say(words)

    # -- files and figures

    def action_export(self) -> None:
        """Write the session to a file."""
        if (session := self.current_session()) is None:
            return
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

    def explained(self) -> tuple[str, Callable[[Hansard], object]] | None:
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

        zone, names, colours = self.hansard.zone, self.hansard.names, Paint(enabled=True)
        self.app.push_screen(
            TextDialog(f"Cost of {title}", lambda columns: lay_out(explanation, zone, names, columns, colours))  # type: ignore[arg-type]
        )
