"""Reading one session or one of its subagents."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from hansard.model.sessions import Session
from hansard.render.depth import DEPTHS
from hansard.render.format import full, project_name
from hansard.render.terminal.spans import DIM, RED, painted
from hansard.render.text import fit, one_line, pad, width
from hansard.tui.dialogs import TextDialog
from hansard.tui.frame import asking
from hansard.tui.line_list import LineList
from hansard.tui.thread_facts import (
    Facts,
    OutlineRow,
    code_blocks,
    head_lines,
    message_text,
    raw_lines,
)
from hansard.tui.thread_screen import ThreadScreen
from hansard.tui.thread_view import ThreadView, find_pattern

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

    from hansard.thread.branches import BranchChoice

_WITH_OUTLINE = 120  # columns of the narrowest screen with an outline
_ONLY = ("", "errors", "edits")


class ReaderView(ThreadScreen):
    """A thread with its outline."""

    TAB = "reader"
    DEFAULT_CSS = """
    ReaderView #head { height: 2; padding: 0 1; }
    ReaderView #find { border: none; height: 1; padding: 0 1; display: none; }
    ReaderView #outline { width: 34; border-right: solid $primary; display: none; }
    ReaderView ThreadView { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "unfold", "Unfold or open"),
        Binding("right_square_bracket", "step('prompts', 1)", "Next prompt"),
        Binding("left_square_bracket", "step('prompts', -1)", "Previous prompt", show=False),
        Binding("right_curly_bracket", "step('errors', 1)", "Next error", show=False),
        Binding("left_curly_bracket", "step('errors', -1)", "Previous error", show=False),
        Binding("right_parenthesis", "step('edits', 1)", "Next edit", show=False),
        Binding("left_parenthesis", "step('edits', -1)", "Previous edit", show=False),
        Binding("slash", "find", "Find", priority=True),
        Binding("n", "find_next(1)", "Next match", show=False),
        Binding("N,p", "find_next(-1)", "Previous match", show=False),
        Binding("o", "outline", "Outline"),
        Binding("d", "depth", "More or less detail"),
        Binding("z", "thinking", "Show thinking", show=False),
        Binding("m", "only", "Only errors, only edits, all", show=False),
        Binding("b", "branches", "Switch branch", show=False),
        Binding("A", "agents", "Subagents", show=False),
        Binding("full_stop", "raw", "Raw line", show=False),
        Binding("I", "picture", "Show pictures", show=False),
        Binding("f", "follow", "Follow", show=False),
        Binding("g", "top", "First turn", show=False),
        Binding("G", "bottom", "Last turn", show=False),
        Binding("escape,backspace", "back", "Back", show=False),
    ]

    @property
    def outline(self) -> LineList[OutlineRow]:
        return self.query_one("#outline", LineList)

    def body(self) -> ComposeResult:
        """The head above, the outline beside the text."""
        yield Static(id="head", markup=False)
        yield Input(placeholder="find in this session", id="find")
        with Horizontal():
            yield LineList[OutlineRow](self._outline_row, id="outline")
            yield ThreadView()

    def on_mount(self) -> None:
        """Read what the screen was made for."""
        self.set_focus(self.thread_view)
        if self._session is not None:
            self.thread_view.mark(find_pattern(self._needle))
            self._open(self._offset)
        else:
            self._open_last()

    # -- what is drawn

    def show_facts(self, facts: Facts) -> None:
        """Draw the outline and the head."""
        view = self.thread_view
        if facts.agent is not None and view.content.agent is None:
            view.content.agent = facts.agent
            view.content.redraw()
            view.changed()
        outline = self.outline
        outline.fill(facts.outline, cursor=min(outline.cursor, max(0, len(facts.outline) - 1)))
        self._place_outline(self.size.width)
        self.draw_head()
        self._show_turn()

    def draw_head(self) -> None:
        """Draw what is read, and where the cursor is."""
        session, key = self._session, self._key
        if session is None:
            return
        notes = (
            "  ·  ".join(filter(None, (self._match_count, project_name(session.project, self.hansard.names)))),
            f"branch {key.branch}" if key is not None and key.branch else "",
            "following" if self._is_following else "",
            f"only {self._only}" if self._only else "",
        )
        title, figures = head_lines(session, self._facts, self.thread_view.turn, notes, max(20, self.size.width - 2))
        head = Content(title).stylize("bold") + Content("\n") + Content(figures).stylize("dim")
        self.query_one("#head", Static).update(head)

    def _outline_row(self, row: OutlineRow, columns: int) -> list[str]:
        figure = row.cost
        number = f"{row.number:>4} "
        words = fit(row.text, max(4, columns - len(number) - width(figure) - 1))
        space = " " * max(1, columns - len(number) - width(words) - width(figure))
        return [painted([(DIM, number), (RED if row.failed else "", words), ("", space), (DIM, figure)])]

    def on_resize(self, event: Resize) -> None:
        """Draw for the new width."""
        self._place_outline(event.size.width)
        self.draw_head()

    def _place_outline(self, columns: int) -> None:
        outline = self.outline
        rows = self._facts is not None and len(self._facts.outline) > 1
        outline.display = self.hansard.state.outline and rows and columns >= _WITH_OUTLINE

    def on_thread_view_moved(self, _: ThreadView.Moved) -> None:
        """Say where the cursor is."""
        self.draw_head()
        self._show_turn()

    def _show_turn(self) -> None:
        """Keep the outline beside the text."""
        turn, outline = self.thread_view.turn, self.outline
        if turn is not None and outline.items and not outline.has_focus:
            numbers = [row.number for row in outline.items]
            outline.move_to(max(0, bisect_right(numbers, turn.number) - 1))

    def on_line_list_selected(self, event: LineList.Selected) -> None:
        """Go to a turn of the outline."""
        row = event.list.current
        if isinstance(row, OutlineRow):
            self._jump(row.offset)
            self.set_focus(self.thread_view)

    def action_back(self) -> None:
        """Back to where the reader was opened from."""
        if self.query_one("#find").display:
            self._close_find()
        elif len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        else:
            self.hansard.go_back()

    # -- how it is shown

    def action_unfold(self) -> None:
        """Show all of the current item, or open its subagent."""
        view = self.thread_view
        if self.outline.has_focus:
            self.outline.action_select()
            return
        item = view.item
        if item is None:
            return
        if self.hansard.picks == "message" and self._session is not None:
            self.hansard.choose(self._session, agent=self.agent, offset=item.offset)
            return
        if item.thread is not None and item.thread.agent is not None and self._session is not None:
            self.app.push_screen(ReaderView(self._session, item.thread.agent.agent_id, 0))
            return
        view.content.fold(item.anchor, unfolded=item.anchor not in view.content.unfolded)
        view.changed()
        view.go_to(item.anchor, top=False)

    def on_thread_view_opened(self, _: ThreadView.Opened) -> None:
        self.action_unfold()

    def _redraw(self, **changes: Any) -> None:
        view = self.thread_view
        item = view.item
        view.content.draw_as(view.content.look._replace(**changes))
        view.changed()
        if item is not None:
            view.go_to_offset(item.offset)
        self.call_after_refresh(view.ask_around)

    def action_depth(self) -> None:
        """Prompts only, with replies, with tools, everything."""
        names = list(DEPTHS)
        depth = names[(names.index(self.thread_view.content.look.depth) + 1) % len(names)]
        self.hansard.remember(depth=depth)
        self._redraw(depth=depth)
        self.say(f"detail: {depth}")

    def action_thinking(self) -> None:
        thinking = not self.thread_view.content.look.thinking
        self._redraw(thinking=thinking)
        self.say("thinking is shown" if thinking else "thinking is hidden")

    def action_only(self) -> None:
        """Show only errors, only edits, or all."""
        item = self.thread_view.item
        self._only = _ONLY[(_ONLY.index(self._only) + 1) % len(_ONLY)]
        self.draw_head()
        if self._only:
            self._open_places()
        else:
            self._open(item.offset if item is not None else None)

    def action_outline(self) -> None:
        """Show, use or hide the outline."""
        outline, view = self.outline, self.thread_view
        if self.size.width < _WITH_OUTLINE:
            self._choose_turn()
        elif not outline.display:
            self.hansard.remember(outline=True)
            self._place_outline(self.size.width)
            self.set_focus(outline)
        elif outline.has_focus:
            self.hansard.remember(outline=False)
            self.set_focus(view)
            self._place_outline(self.size.width)
        else:
            self.set_focus(outline)

    def _choose_turn(self) -> None:
        if self._facts is None or not self._facts.outline:
            return
        rows = self._facts.outline
        turn = self.thread_view.turn
        chosen = next((n for n, row in enumerate(rows) if turn is not None and row.number == turn.number), 0)
        entries = [(str(row.number), row.text) for row in rows]
        self.pick("Turns", entries, lambda place: self._jump(rows[place].offset), chosen)

    def action_follow(self) -> None:
        """Stay at the end of a live session."""
        self._is_following = not self._is_following
        self.draw_head()
        if self._is_following:
            self.action_bottom()

    def action_branches(self) -> None:
        """Read another branch of the conversation."""
        key, facts = self._key, self._facts
        if key is None or facts is None or not facts.branches:
            self.say("this conversation has no other branches")
            return
        choices = facts.branches

        def switch(place: int) -> None:
            self._key = key._replace(branch=choices[place].branch)
            self._open(choices[place].offset)

        entries = [(str(one.branch), f"{pad(full(one.at), 16)}  {_branch_words(one)}") for one in choices]
        chosen = next((place for place, one in enumerate(choices) if one.branch == key.branch), 0)
        self.pick("Branches", entries, switch, chosen)

    def action_agents(self) -> None:
        """Open one of the session's subagents."""
        facts, session = self._facts, self._session
        if facts is None or session is None or not facts.agents:
            self.say("this session has no subagents")
            return
        agents = facts.agents
        entries = [("", "  " * min(agent.depth - 1, 4) + one_line(agent.name)) for agent in agents]
        self.pick(
            "Subagents", entries, lambda place: self.app.push_screen(ReaderView(session, agents[place].agent_id, 0))
        )

    @asking("act")
    async def action_raw(self) -> None:
        """Show the line of the transcript."""
        key, item = self._key, self.thread_view.item
        if key is None or item is None:
            return
        title, draw = await self.ask(lambda h: raw_lines(h, key, item.offset))
        self.app.push_screen(TextDialog(title, draw))

    @asking("act")
    async def action_picture(self) -> None:
        """Show the pictures of the current item."""
        key, item = self._key, self.thread_view.item
        if key is None or item is None:
            return
        from hansard.tui.pictures import read_pictures, show_pictures

        found = await self.ask(lambda h: read_pictures(h, key, item))
        if found:
            show_pictures(self.app, found)
        else:
            self.say("no images to show here")

    # -- the session

    def current_session(self) -> Session | None:
        """The session that is read."""
        return self._session

    def current_place(self) -> tuple[str | None, int | None]:
        """The subagent and the item that are read."""
        item = self.thread_view.item
        return self.agent, item.offset if item is not None else None

    def copy_choices(self, session: Session) -> list[tuple[str, str, str]]:
        """Also the current message, its code and the path of the transcript."""
        item = self.thread_view.item
        more: list[tuple[str, str, str]] = []
        if item is not None:
            more.append(("m", "message", message_text(item)))
            more += [
                (str(number), f"code block {number}", text) for number, text in enumerate(code_blocks(item)[:9], 1)
            ]
        if self._facts is not None:
            more.append(("p", "path of the transcript", self._facts.path))
        return [*more, *super().copy_choices(session)]


def _branch_words(choice: BranchChoice) -> str:
    """How a branch begins, and whether the session continued on it."""
    return f"{'continued' if choice.branch == 0 else 'left'}: {one_line(choice.text) or '(another answer)'}"
