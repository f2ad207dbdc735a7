"""Reading a thread and moving in it; windows are loaded on demand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import partial
from typing import TYPE_CHECKING

from textual.widgets import Input

from hansard.errors import HansardError
from hansard.render.depth import DEPTHS
from hansard.tui.actions import SessionActions
from hansard.tui.frame import asking
from hansard.tui.thread_facts import Facts, find_lines, read_facts
from hansard.tui.thread_lines import Look, ThreadKey, ThreadLines, load, load_places
from hansard.tui.thread_view import ThreadView, find_pattern

if TYPE_CHECKING:
    from hansard.model.sessions import Session

_STEPS = {"prompts": "prompt", "errors": "error", "edits": "edit"}


class ThreadScreen(SessionActions):
    """Base of the reader: which thread is read, and what of it is loaded."""

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
        self._match_count = ""  # which match is shown, of how many lines
        self._needle = ""

    @property
    def agent(self) -> str | None:
        """The subagent that is read."""
        return self._key.agent if self._key is not None else None

    @property
    def thread_view(self) -> ThreadView:
        return self.query_one(ThreadView)

    def draw_head(self) -> None:
        """Draw what is read, and where the cursor is."""
        raise NotImplementedError

    def show_facts(self, facts: Facts) -> None:
        """Draw what is known of the thread beside its text."""
        raise NotImplementedError

    # -- reading

    def read(self, session: Session, *, agent: str | None = None, offset: int | None = None, find: str = "") -> None:
        """Read a session from its end or at an offset, with matches of `find` highlighted."""
        self._session, self._key = session, ThreadKey(session.session_id, agent)
        self._facts, self._is_following, self._only = None, False, ""
        self._matches, self._match_count, self._needle, self._offset = [], "", find, offset
        if not self.query(ThreadView):  # it is being made, and reads this then
            return
        view = self.thread_view
        view.mark(find_pattern(find))
        view.content = ThreadLines(self._look())
        view.cursor = ""
        self._open(offset)

    def _look(self) -> Look:
        state = self.hansard.state
        depth = state.depth if state.depth in DEPTHS else "tools"
        return Look(self.thread_view.columns, depth=depth)

    @asking("open")
    async def _open_last(self) -> None:
        try:
            page = await self.ask(lambda h: h.sessions(limit=1))
        except HansardError:
            return
        if page.sessions and self._session is None:
            self.read(page.sessions[0])

    @asking("open")
    async def _open(self, offset: int | None) -> None:
        key = self._key
        if key is None:
            return
        view = self.thread_view
        where = "end" if offset is None else "around"
        loaded = await self.ask(lambda h: load(h, key, where, offset))
        view.content = ThreadLines(self._look())
        view.content.reset(loaded)
        view.changed()
        if loaded is None:
            self.say("only subagents of this session remain; A lists them")
        if offset is None:
            view.to_end()
        else:
            view.go_to_offset(offset)
        self.draw_head()
        view.ask_around()
        self._read_facts()

    @asking("facts")
    async def _read_facts(self) -> None:
        key = self._key
        if key is None:
            return
        facts = await self.ask(lambda h: read_facts(h, key))
        if key != self._key:
            return
        self._facts, self._session = facts, facts.session
        self.show_facts(facts)

    async def on_thread_view_needed(self, event: ThreadView.Needed) -> None:
        """Read on at one end."""
        self._read_on(before=event.before)

    @asking("more", exclusive=False)
    async def _read_on(self, *, before: bool) -> None:
        view, key = self.thread_view, self._key
        if self._is_loading or key is None:
            return
        self._is_loading = True
        try:
            content = view.content
            if before and content.start > 0:
                start = content.start
                loaded = await self.ask(lambda h: load(h, key, "before", start))
                if loaded is not None and view.content is content and content.start == start:
                    view.changed(content.prepend(loaded))
            elif not before and (end := content.end) is not None:
                loaded = await self.ask(lambda h: load(h, key, "after", end))
                if loaded is not None and view.content is content and content.end == end:
                    view.changed(-content.append(loaded))
        finally:
            self._is_loading = False
        if view.cursor and view.content.item(view.cursor) is None:
            view.action_lines(0)
        self.call_after_refresh(view.ask_around)

    def store_changed(self) -> None:
        if self._key is not None:
            self._grow()

    @asking("grow")
    async def _grow(self) -> None:
        """Show new lines: in the last window, and after it if its end is visible."""
        view, key = self.thread_view, self._key
        content = view.content
        if self._only:
            self._open_places()
            return
        is_read = self._is_following or view.is_at_end
        while key is not None and (last := content.last) is not None:
            end = last.window.end
            if end is not None and not is_read:
                break  # loaded when somebody scrolls there
            start = last.window.start if end is None else end
            loaded = await self.ask(partial(load, key=key, where="after", offset=start))
            if loaded is None or view.content is not content or content.last is not last:
                break
            if end is not None:
                view.changed(-content.append(loaded))
            elif loaded != last:
                content.replace_last(loaded)
                view.changed()
            if loaded.window.end is None:
                break
        if self._is_following:
            view.to_end()
        self._read_facts()

    @asking("open")
    async def _open_places(self) -> None:
        key, kind, view = self._key, self._only, self.thread_view
        if key is None:
            return
        loaded = await self.ask(lambda h: load_places(h, key, kind))
        view.content.reset(loaded)
        view.changed()
        view.to_end()

    # -- moving

    @asking("open")
    async def _jump(self, offset: int) -> None:
        await self._load_at(offset)

    async def _load_at(self, offset: int) -> None:
        """Go to an offset, loading its window if needed."""
        view, key = self.thread_view, self._key
        if key is None:
            return
        if self._only or not view.content.holds(offset):
            self._only = ""
            view.content.reset(await self.ask(lambda h: load(h, key, "around", offset)))
            view.changed()
        view.go_to_offset(offset)
        view.ask_around()

    def action_step(self, kind: str, step: int) -> None:
        """Go to the next prompt, error or edit, wherever it is."""
        self._step(kind, step)

    @asking("open")
    async def _step(self, kind: str, step: int) -> None:
        key, here = self._key, self.thread_view.here
        if key is None:
            return
        places = await self.ask(lambda h: key.places(h, kind))
        place = bisect_right(places, here) if step > 0 else bisect_left(places, here) - 1
        if not 0 <= place < len(places):
            self.say(f"no {'more' if step > 0 else 'earlier'} {_STEPS[kind]}s")
            return
        await self._load_at(places[place])

    def action_top(self) -> None:
        self._jump(0)

    def action_bottom(self) -> None:
        view = self.thread_view
        if view.content.end is None:
            view.to_end()
        else:
            self._open(None)

    # -- finding

    def action_find(self) -> None:
        """Type what to look for."""
        line = self.query_one("#find", Input)
        line.display = True
        self.set_focus(line)

    def _close_find(self) -> None:
        self.query_one("#find").display = False
        self.set_focus(self.thread_view)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Look for it in all of the thread."""
        self._close_find()
        self._needle = event.value
        self._matches, self._match_count = [], ""
        self.draw_head()
        pattern = find_pattern(event.value)
        self.thread_view.mark(pattern)
        if pattern is not None:
            self._find(1, new=True)

    def action_find_next(self, step: int) -> None:
        """Go to the next match."""
        if self._needle:
            self._find(step)
        else:
            self.action_find()

    @asking("open")
    async def _find(self, step: int, *, new: bool = False) -> None:
        key, needle = self._key, self._needle
        pattern = find_pattern(needle)
        if key is None or pattern is None:
            return
        view = self.thread_view
        if new or not self._matches:
            self._matches = await self.ask(lambda h: find_lines(h, key, needle))
        here, places = view.here, self._matches
        place = (bisect_left if new else bisect_right)(places, here) if step > 0 else bisect_left(places, here) - 1
        order = (
            [*range(place, len(places)), *range(place)]
            if step > 0
            else [*range(place, -1, -1), *range(len(places) - 1, place, -1)]
        )
        for number in order:
            await self._load_at(places[number])
            if view.show_match(places[number], pattern):
                is_round = (number < place) if step > 0 else (number > place)
                if is_round:
                    self.say("wrapped to the top" if step > 0 else "wrapped to the end")
                self._match_count = f"match {number + 1:,} of {len(places):,}"
                self.draw_head()
                return
        self.say(f"no match for {needle!r}")
