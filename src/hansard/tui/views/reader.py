"""Reading one session or one of its subagents."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from hansard.errors import HansardError
from hansard.model.sessions import Session
from hansard.render.depth import DEPTHS
from hansard.render.format import cost, many, model_name, project_name, session_cost, short, title_of
from hansard.render.terminal.spans import DIM, RED, painted
from hansard.render.text import fit, one_line, pad, width
from hansard.tui.actions import SessionActions
from hansard.tui.ansi import strip_of
from hansard.tui.dialogs import MenuDialog, TextDialog
from hansard.tui.frame import View
from hansard.tui.line_list import LineList
from hansard.tui.message_text import code_blocks, message_text
from hansard.tui.thread_facts import Facts, OutlineRow, find_lines, raw_lines, read_facts, sparkline
from hansard.tui.thread_lines import (
    Look,
    ThreadKey,
    ThreadLines,
    load_after,
    load_around,
    load_before,
    load_end,
    load_places,
)
from hansard.tui.thread_view import ThreadView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

_WITH_OUTLINE = 120  # columns of the screen below which the outline takes the place of the text
_STEPS = {"prompts": "prompt", "errors": "error", "edits": "edit"}
_ONLY = ("", "errors", "edits")


class ReaderView(SessionActions, View):
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
        Binding("p", "find_next(-1)", "Previous match", show=False),
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

    def __init__(self, session: Session | None = None, agent: str | None = None, offset: int | None = None) -> None:
        super().__init__()
        self._session = session
        self._key = ThreadKey(session.session_id, agent) if session is not None else None
        self._offset = offset
        self._facts: Facts | None = None
        self._is_following = False
        self._is_loading = False
        self._only = ""
        self._matches: list[int] = []
        self._needle = ""

    @property
    def agent(self) -> str | None:
        """The subagent that is read."""
        return self._key.agent if self._key is not None else None

    def body(self) -> ComposeResult:
        """What it is above, its outline beside the text."""
        yield Static(id="head", markup=False)
        yield Input(placeholder="find in this session", id="find")
        with Horizontal():
            yield LineList[OutlineRow](self._outline_row, id="outline")
            yield ThreadView()

    def on_mount(self) -> None:
        """Read what the screen was made for."""
        self.set_focus(self.query_one(ThreadView))
        if self._session is not None:
            self.query_one(ThreadView).mark(_pattern(self._needle))
            self._open(self._offset)
        else:
            self._open_last()

    # -- reading

    def read(self, session: Session, *, agent: str | None = None, offset: int | None = None, find: str = "") -> None:
        """Read a session, from its end or at a place, with what was searched for marked."""
        self._session, self._key = session, ThreadKey(session.session_id, agent)
        self._facts, self._is_following, self._only = None, False, ""
        self._matches, self._needle, self._offset = [], find, offset
        if not self.query(ThreadView):  # it is being made, and reads this then
            return
        view = self.query_one(ThreadView)
        view.mark(_pattern(find))
        view.content = ThreadLines(self._look())
        view.cursor = ""
        self._open(offset)

    def _look(self) -> Look:
        state = self.hansard.state
        depth = state.depth if state.depth in DEPTHS else "tools"
        return Look(self.query_one(ThreadView).columns, depth=depth)

    @work(exclusive=True, group="open")
    async def _open_last(self) -> None:
        try:
            page = await self.ask(lambda h: h.sessions(limit=1))
        except HansardError:
            return
        if page.sessions and self._session is None:
            self.read(page.sessions[0])

    @work(exclusive=True, group="open")
    async def _open(self, offset: int | None) -> None:
        key = self._key
        if key is None:
            return
        view = self.query_one(ThreadView)
        try:
            loaded = await self.ask(lambda h: load_end(h, key) if offset is None else load_around(h, key, offset))
        except HansardError as error:
            self.fail(error)
            return
        view.content = ThreadLines(self._look())
        view.content.reset(loaded)
        view.changed()
        if loaded is None:
            self.say("only subagents are left of this session: A lists them")
        if offset is None:
            view.to_end()
        else:
            self._go_to_offset(offset)
        self._draw_head()
        view.ask_around()
        self._read_facts()

    @work(exclusive=True, group="facts")
    async def _read_facts(self) -> None:
        key = self._key
        if key is None:
            return
        try:
            facts = await self.ask(lambda h: read_facts(h, key))
        except HansardError as error:
            self.fail(error)
            return
        if key != self._key:
            return
        self._facts, self._session = facts, facts.session
        view = self.query_one(ThreadView)
        if facts.agent is not None and view.content.agent is None:
            view.content.agent = facts.agent
            view.content.redraw()
            view.changed()
        outline = self.query_one("#outline", LineList)
        outline.fill(facts.outline, cursor=min(outline.cursor, max(0, len(facts.outline) - 1)))
        self._place_outline(self.size.width)
        self._draw_head()
        self._show_turn()

    async def on_thread_view_needed(self, event: ThreadView.Needed) -> None:
        """Read on at one end."""
        self._read_on(before=event.before)

    @work(group="more")
    async def _read_on(self, *, before: bool) -> None:
        view, key = self.query_one(ThreadView), self._key
        if self._is_loading or key is None:
            return
        self._is_loading = True
        try:
            content = view.content
            if before and content.start > 0:
                start = content.start
                loaded = await self.ask(lambda h: load_before(h, key, start))
                if view.content is content and content.start == start:
                    view.changed(content.prepend(loaded))
            elif not before and (end := content.end) is not None:
                loaded = await self.ask(lambda h: load_after(h, key, end))
                if view.content is content and content.end == end:
                    view.changed(-content.append(loaded))
        except HansardError as error:
            self.fail(error)
            return
        finally:
            self._is_loading = False
        if view.cursor and view.content.item(view.cursor) is None:
            view.action_lines(0)
        self.call_after_refresh(view.ask_around)

    def store_changed(self) -> None:
        """Show what was added."""
        if self._key is not None:
            self._grow()

    @work(exclusive=True, group="grow")
    async def _grow(self) -> None:
        view, key = self.query_one(ThreadView), self._key
        last = view.content.last
        if self._only:
            self._open_places()
            return
        if key is None or last is None or last.window.end is not None:
            self._read_facts()
            return
        start = last.window.start
        was_at_end = view.is_at_end or self._is_following
        content = view.content
        try:
            loaded = await self.ask(lambda h: load_after(h, key, start))
        except HansardError as error:
            self.fail(error)
            return
        if view.content is content and content.last is last and loaded.turns != last.turns:
            content.replace_last(loaded)
            view.changed()
            if was_at_end and self._is_following:
                view.to_end()
        self._read_facts()

    # -- what is drawn

    def _draw_head(self) -> None:
        session = self._session
        room = max(20, self.size.width - 2)
        if session is None:
            return
        facts = self._facts
        title = one_line(title_of(session)[:400])
        if facts is not None and facts.agent is not None:
            title = f"{one_line(facts.agent.description) or facts.agent.agent_id} · subagent of: {title}"
        turn = self.query_one(ThreadView).turn
        total = f"/{facts.turns:,}" if facts is not None else ""
        place = f"turn {turn.number:,}{total}" if turn is not None else ""
        figures = [
            project_name(session.project, self.hansard.names),
            place,
            cost(turn.cost_usd, lower_bound=turn.is_lower_bound, unpriced=False) + " this turn"
            if turn is not None and turn.api_messages
            else "",
            f"{session_cost(session)} in all" if session_cost(session) else "",
            ", ".join(model_name(model) for model in session.models[:2]),
            f"branch {self._key.branch}" if self._key is not None and self._key.branch else "",
            "following" * self._is_following,
            f"only {self._only}" if self._only else "",
        ]
        line = one_line("  ·  ".join(filter(None, figures)))
        if facts is not None and facts.contexts:
            chart = f"  context {sparkline(facts.contexts, 24)} {short(facts.contexts[-1])}"
            if width(line) + width(chart) <= room:
                line = pad(line, room - width(chart)) + chart
        head = Content(fit("◆ " * session.pinned + title, room)).stylize("bold") + Content("\n")
        self.query_one("#head", Static).update(head + Content(fit(line, room)).stylize("dim"))

    def _outline_row(self, row: OutlineRow, columns: int) -> list[str]:
        figure = row.cost
        number = f"{row.number:>4} "
        words = fit(row.text, max(4, columns - len(number) - width(figure) - 1))
        space = " " * max(1, columns - len(number) - width(words) - width(figure))
        return [painted([(DIM, number), (RED if row.failed else "", words), ("", space), (DIM, figure)])]

    def on_resize(self, event: Resize) -> None:
        """Draw for the new width."""
        self._place_outline(event.size.width)
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        self.query_one(ThreadView).fit()
        self._draw_head()

    def _place_outline(self, columns: int) -> None:
        outline = self.query_one("#outline")
        rows = self._facts is not None and len(self._facts.outline) > 1
        shown = self.hansard.state.outline and rows and columns >= _WITH_OUTLINE
        if outline.display != shown:
            outline.display = shown
            self.call_after_refresh(self._fit)

    def on_thread_view_moved(self, _: ThreadView.Moved) -> None:
        """Say where the cursor is."""
        self._draw_head()
        self._show_turn()

    def _show_turn(self) -> None:
        """Keep the outline beside the text."""
        turn, outline = self.query_one(ThreadView).turn, self.query_one("#outline", LineList)
        if turn is not None and outline.items and not outline.has_focus:
            numbers = [row.number for row in outline.items]
            outline.move_to(max(0, bisect_right(numbers, turn.number) - 1))

    # -- moving

    def _go_to_offset(self, offset: int) -> bool:
        """Put the cursor on the item at a place that is loaded."""
        view = self.query_one(ThreadView)
        items = [item for anchor in view.content.anchors if (item := view.content.item(anchor)) is not None]
        here = [item for item in items if item.offset <= offset]
        if not items:
            return False
        exact = [item for item in here if item.offset == here[-1].offset] if here else items[:1]
        view.go_to(exact[0].anchor)
        return True

    @work(exclusive=True, group="open")
    async def _jump(self, offset: int) -> None:
        await self._load_at(offset)

    async def _load_at(self, offset: int) -> None:
        """Show a place, which is loaded first where it is not there."""
        view, key = self.query_one(ThreadView), self._key
        if key is None:
            return
        if self._only or not view.content.holds(offset):
            self._only = ""
            try:
                loaded = await self.ask(lambda h: load_around(h, key, offset))
            except HansardError as error:
                self.fail(error)
                return
            view.content.reset(loaded)
            view.changed()
        self._go_to_offset(offset)
        view.ask_around()

    def action_step(self, kind: str, step: int) -> None:
        """Go to the next prompt, error or edit, wherever it is."""
        self._step(kind, step)

    @work(exclusive=True, group="open")
    async def _step(self, kind: str, step: int) -> None:
        key, item = self._key, self.query_one(ThreadView).item
        if key is None:
            return
        try:
            places = await self.ask(_places(key, kind))
        except HansardError as error:
            self.fail(error)
            return
        here = item.offset if item is not None else 0
        place = bisect_right(places, here) if step > 0 else bisect_left(places, here) - 1
        if not 0 <= place < len(places):
            self.say(f"no {'more' if step > 0 else 'earlier'} {_STEPS[kind]}s")
            return
        await self._load_at(places[place])

    def action_top(self) -> None:
        """Show the first turn."""
        self._jump(0)

    def action_bottom(self) -> None:
        """Show the last turn."""
        view = self.query_one(ThreadView)
        if view.content.end is None:
            view.to_end()
        else:
            self._open(None)

    def on_line_list_selected(self, event: LineList.Selected) -> None:
        """Go to a turn of the outline."""
        row = event.list.current
        if isinstance(row, OutlineRow):
            self._jump(row.offset)
            self.set_focus(self.query_one(ThreadView))

    def action_back(self) -> None:
        """Back to where the reader was opened from."""
        if self.query_one("#find").display:
            self._close_find()
        elif len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        else:
            self.hansard.go_back()

    # -- finding

    def action_find(self) -> None:
        """Type what to look for."""
        line = self.query_one("#find", Input)
        line.display = True
        self.set_focus(line)

    def _close_find(self) -> None:
        self.query_one("#find").display = False
        self.set_focus(self.query_one(ThreadView))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Look for it in all of the thread."""
        self._close_find()
        self._needle = event.value
        self._matches = []
        pattern = _pattern(event.value)
        self.query_one(ThreadView).mark(pattern)
        if pattern is not None:
            self._find(1, new=True)

    def action_find_next(self, step: int) -> None:
        """Go to the next match."""
        if self._needle:
            self._find(step)
        else:
            self.action_find()

    @work(exclusive=True, group="open")
    async def _find(self, step: int, *, new: bool = False) -> None:
        key, needle = self._key, self._needle
        pattern = _pattern(needle)
        if key is None or pattern is None:
            return
        view = self.query_one(ThreadView)
        try:
            if new or not self._matches:
                self._matches = await self.ask(lambda h: find_lines(h, key, needle))
        except HansardError as error:
            self.fail(error)
            return
        item = view.item
        here = item.offset if item is not None else 0
        places = self._matches
        place = (bisect_left if new else bisect_right)(places, here) if step > 0 else bisect_left(places, here) - 1
        order = (
            [*range(place, len(places)), *range(place)]
            if step > 0
            else [*range(place, -1, -1), *range(len(places) - 1, place, -1)]
        )
        for number in order:
            await self._load_at(places[number])
            if self._show_match(places[number], pattern):
                is_round = (number < place) if step > 0 else (number > place)
                again = (", again from the top" if step > 0 else ", again from the end") if is_round else ""
                self.say(f"match {number + 1:,} of {many(len(places), 'line')}{again}")
                return
        self.say(f"no match for {needle!r}")

    def _show_match(self, offset: int, pattern: re.Pattern[str]) -> bool:
        """Unfold and show an item at a place that has a match; whether there is one."""
        view = self.query_one(ThreadView)
        for anchor in view.content.anchors:
            item = view.content.item(anchor)
            if item is None or item.offset != offset:
                continue
            if pattern.search(view.content.shown_text(anchor)):
                view.go_to(anchor)
                self._scroll_to_match(anchor, pattern)
                return True
            if pattern.search(view.content.text_of(item)):
                view.content.fold(anchor, unfolded=True)
                view.changed()
                view.go_to(anchor)
                self._scroll_to_match(anchor, pattern)
                return True
        return False

    def _scroll_to_match(self, anchor: str, pattern: re.Pattern[str]) -> None:
        view = self.query_one(ThreadView)
        start, end = view.content.span_of(anchor)
        high = view.scrollable_content_region.height
        for line in range(start, end):
            if pattern.search(strip_of(view.content.lines[line]).text):
                if line >= view.scroll_offset.y + high:
                    view.scroll_to(y=line - high // 3, animate=False)
                return

    # -- how it is shown

    def action_unfold(self) -> None:
        """Show all of the current item, or open its subagent."""
        view = self.query_one(ThreadView)
        if self.query_one("#outline").has_focus:
            self.query_one("#outline", LineList).action_select()
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
        """A double click."""
        self.action_unfold()

    def _redraw(self, **changes: Any) -> None:
        view = self.query_one(ThreadView)
        item = view.item
        view.content.draw_as(view.content.look._replace(**changes))
        view.changed()
        if item is not None:
            self._go_to_offset(item.offset)
        self.call_after_refresh(view.ask_around)

    def action_depth(self) -> None:
        """Prompts only, with replies, with tools, everything."""
        names = list(DEPTHS)
        depth = names[(names.index(self.query_one(ThreadView).content.look.depth) + 1) % len(names)]
        self.hansard.remember(depth=depth)
        self._redraw(depth=depth)
        self.say(f"detail: {depth}")

    def action_thinking(self) -> None:
        """Show or hide thinking."""
        thinking = not self.query_one(ThreadView).content.look.thinking
        self._redraw(thinking=thinking)
        self.say("thinking is shown" if thinking else "thinking is hidden")

    def action_only(self) -> None:
        """Show only errors, only edits, or all."""
        item = self.query_one(ThreadView).item
        self._only = _ONLY[(_ONLY.index(self._only) + 1) % len(_ONLY)]
        self._draw_head()
        if self._only:
            self._open_places()
        else:
            self._open(item.offset if item is not None else None)

    @work(exclusive=True, group="open")
    async def _open_places(self) -> None:
        key, kind, view = self._key, self._only, self.query_one(ThreadView)
        if key is None:
            return
        try:
            loaded = await self.ask(lambda h: load_places(h, key, kind))
        except HansardError as error:
            self.fail(error)
            return
        view.content.reset(loaded)
        view.changed()
        view.to_end()

    def action_outline(self) -> None:
        """Show, use or hide the outline."""
        outline, view = self.query_one("#outline", LineList), self.query_one(ThreadView)
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
        turn = self.query_one(ThreadView).turn
        chosen = next((n for n, row in enumerate(rows) if turn is not None and row.number == turn.number), 0)

        def done(place: int | None) -> None:
            if place is not None:
                self._jump(rows[place].offset)

        self.app.push_screen(MenuDialog("Turns", [(str(row.number), row.text) for row in rows], chosen), done)

    def action_follow(self) -> None:
        """Stay at the end while the session goes on."""
        self._is_following = not self._is_following
        self._draw_head()
        if self._is_following:
            self.action_bottom()

    def action_branches(self) -> None:
        """Read another branch of the conversation."""
        key, facts = self._key, self._facts
        if key is None or facts is None or not facts.branches:
            self.say("this conversation has no other branches")
            return
        choices = facts.branches

        def done(place: int | None) -> None:
            if place is not None:
                self._key = key._replace(branch=choices[place].branch)
                self._open(choices[place].offset)

        entries = [(str(one.branch), one_line(one.text) or "the main line") for one in choices]
        self.app.push_screen(MenuDialog("Branches", entries), done)

    def action_agents(self) -> None:
        """Open one of the session's subagents."""
        facts, session = self._facts, self._session
        if facts is None or session is None or not facts.agents:
            self.say("this session has no subagents")
            return
        agents = facts.agents

        def done(place: int | None) -> None:
            if place is not None:
                self.app.push_screen(ReaderView(session, agents[place].agent_id, 0))

        entries = [
            (
                "",
                f"{'  ' * min(agent.depth - 1, 4)}{agent.agent_type or 'subagent'}: {agent.description or agent.agent_id}",
            )
            for agent in agents
        ]
        self.app.push_screen(MenuDialog("Subagents", entries), done)

    @work(exclusive=True, group="act")
    async def action_raw(self) -> None:
        """Show the line of the transcript."""
        key, item = self._key, self.query_one(ThreadView).item
        if key is None or item is None:
            return
        try:
            title, draw = await self.ask(lambda h: raw_lines(h, key, item.offset))
        except HansardError as error:
            self.fail(error)
            return
        self.app.push_screen(TextDialog(title, draw))

    @work(exclusive=True, group="act")
    async def action_picture(self) -> None:
        """Show the pictures of the current item."""
        key, item = self._key, self.query_one(ThreadView).item
        if key is None or item is None:
            return
        from hansard.tui.pictures import read_pictures, show_pictures

        try:
            found = await self.ask(lambda h: read_pictures(h, key, item))
        except HansardError as error:
            self.fail(error)
            return
        if found:
            show_pictures(self.app, found)
        else:
            self.say("no pictures here that can be shown")

    # -- what is at hand

    def current_session(self) -> Session | None:
        """The session that is read."""
        return self._session

    def current_place(self) -> tuple[str | None, int | None]:
        """The subagent and the item that are read."""
        item = self.query_one(ThreadView).item
        return self.agent, item.offset if item is not None else None

    def copy_choices(self, session: Session) -> list[tuple[str, str, str]]:
        """Also the current message, its code and the path of the transcript."""
        item = self.query_one(ThreadView).item
        more: list[tuple[str, str, str]] = []
        if item is not None:
            more.append(("m", "message", message_text(item)))
            more += [
                (str(number), f"code block {number}", text) for number, text in enumerate(code_blocks(item)[:9], 1)
            ]
        if self._facts is not None:
            more.append(("p", "path of the transcript", self._facts.path))
        return [*more, *super().copy_choices(session)]


def _places(key: ThreadKey, kind: str) -> Any:
    def read(h: Any) -> list[int]:
        thread = key.open(h)
        return [start.offset for start in thread.starts] if kind == "prompts" else thread.places(kind)

    return read


def _pattern(needle: str) -> re.Pattern[str] | None:
    """What is looked for; case counts where the text has capitals."""
    if not needle:
        return None
    return re.compile(re.escape(needle), 0 if needle != needle.lower() else re.IGNORECASE)
