"""Recorded edits for readers: session, turn, prompt, model, location and cost."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError
from hansard.git.costs import AllocatedCosts, Spent, WorkTimeline, share
from hansard.model.blame import BlamedCommit, Mark, RecordedEdit
from hansard.model.time import from_milliseconds
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from decimal import Decimal

    from hansard.git.blame_report import Source
    from hansard.git.edits import Places
    from hansard.git.repository import CommitInfo
    from hansard.pricing.cost import Sums
    from hansard.thread.store import ThreadStore

_PROMPT = 300  # characters
_DETAILS = (
    "SELECT c.id, o.tool_use_id, c.part, t.client, t.root, t.path, t.generation, coalesce(b.n, 0), coalesce(s.title, ''), m.model, t.id = s.transcript"
    f" FROM json_each(?) w CROSS JOIN tool_calls c ON c.id = w.value CROSS JOIN tool_calls o ON o.id = c.id - c.part CROSS JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS}"
    " LEFT JOIN sessions s ON s.session_id = t.session_id LEFT JOIN blocks b ON b.id = c.id LEFT JOIN messages m ON m.id = c.message_id"
)
_WORK = (
    "SELECT coalesce(c.ts, c.result_ts), c.id FROM transcripts t CROSS JOIN tool_calls c"
    f" ON c.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
    " WHERE t.session_id = ? AND c.change IS NOT NULL AND c.path IS NOT NULL AND c.is_error = 0 AND coalesce(c.ts, c.result_ts) IS NOT NULL"
)


class Describer:
    """Looks up what reports show about edits."""

    def __init__(self, threads: ThreadStore, places: Places) -> None:
        self._threads = threads
        self._reader = threads.reader
        self._places = places
        self._costs = AllocatedCosts(threads.reader)
        self._spent: dict[str, dict[int, Sums]] = {}
        self._starts: dict[str, list[int]] = {}

    def edits(self, wanted: Sequence[tuple[int, Source, int]]) -> tuple[list[RecordedEdit], dict[int, int]]:
        """The edits behind sources, one per call and file, and each source's index among them."""
        rows = {
            row[0]: row
            for row in self._reader.rows(_DETAILS, (json.dumps([source.call.id for _, source, _ in wanted]),))
        }
        groups: dict[tuple[int, str], list[tuple[int, Source, int]]] = {}
        for item in wanted:
            groups.setdefault((item[1].call.id, item[1].write.path), []).append(item)
        shells: dict[str, list[tuple[int, int]]] = {}
        for _, source, _ in wanted:
            if source.call.is_shell:
                shells.setdefault(source.call.session_id, []).append((source.call.ts, source.call.id))
        found: list[RecordedEdit] = []
        numbers: dict[int, int] = {}
        for number, group in enumerate(
            sorted(groups.values(), key=lambda group: (group[0][1].call.ts, group[0][1].call.id)), 1
        ):
            source = group[0][1]
            for place, _, _ in group:
                numbers[place] = number
            lines = sum(count for _, _, count in group)
            added = sum({id(item.write): item.write.added for _, item, _ in group}.values())
            found.append(
                self._edit(
                    number,
                    source,
                    rows.get(source.call.id),
                    lines,
                    max(added, lines),
                    shells.get(source.call.session_id, ()),
                )
            )
        return found, numbers

    def _edit(
        self, number: int, source: Source, row: Any, lines: int, added: int, shells: Iterable[tuple[int, int]]
    ) -> RecordedEdit:
        call = source.call
        _, tool_use_id, part, client, root, transcript, generation, block, title, model, is_main = row
        spent = self._cost(call.session_id, call.id, shells)
        turn, prompt = self._turn(call.session_id, call.agent_id, call.id, is_main=bool(is_main))
        return RecordedEdit(
            number=number,
            session_id=call.session_id,
            client=client,
            title=title,
            agent_id=call.agent_id,
            turn=turn,
            prompt=prompt,
            model=model,
            at=from_milliseconds(call.ts or None),
            tool=call.tool,
            path=source.write.path,
            added=added,
            lines=lines,
            cost_usd=spent.cost_usd,
            root=root,
            transcript=transcript,
            generation=generation,
            offset=(call.id & OFFSET_MASK) - block,
            block=block - part,
            tool_use_id=tool_use_id,
            is_lower_bound=spent.is_lower_bound,
        )

    def _cost(self, session_id: str, call: int, shells: Iterable[tuple[int, int]]) -> Spent:
        if session_id not in self._spent:
            work = [(row[0], row[1]) for row in self._reader.rows(_WORK, (session_id,))]
            timeline = WorkTimeline.of(self._reader, session_id, [*work, *shells])
            self._spent[session_id] = self._costs.allocate(session_id, timeline.call_at)
        return self._costs.spent(self._spent[session_id].get(call))

    def share(self, edit: RecordedEdit | None, certainty: str) -> Decimal | None:
        """The cost of one line of an edit; lines claimed only by a time window have no share."""
        return None if edit is None or certainty == "window" else share(edit.cost_usd, 1, edit.added)

    def commit(self, info: CommitInfo, marks: tuple[Mark, ...] = ()) -> BlamedCommit:
        """A commit as reports show it."""
        return BlamedCommit(
            info.commit,
            info.author,
            from_milliseconds(info.authored * 1000),
            from_milliseconds(info.committed * 1000),
            info.subject,
            marks,
        )

    # -- turns

    def _turn(self, session_id: str, agent_id: str, call: int, *, is_main: bool) -> tuple[int | None, str | None]:
        place: int | None = call if is_main else self._caller(session_id, agent_id)
        if place is None:
            return None, None
        offset = place & OFFSET_MASK
        if session_id not in self._starts:
            try:
                self._starts[session_id] = [
                    start.offset for start in self._threads.read(self._threads.find(session_id)).starts
                ]
            except HansardError:
                self._starts[session_id] = []
        row = self._reader.one(
            "SELECT substr(text, 1, 2000) FROM prompts WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
            (place >> OFFSET_BITS << OFFSET_BITS, place),
        )
        prompt = " ".join(row[0].split())[:_PROMPT] if row is not None else None
        return bisect_right(self._starts[session_id], offset) or None, prompt

    def _caller(self, session_id: str, agent_id: str) -> int | None:
        """The call in the session's own thread that started a subagent, directly or indirectly."""
        for _ in range(20):
            row = self._reader.one(
                "SELECT call_id, parent_agent FROM agents WHERE session_id = ? AND agent_id = ?", (session_id, agent_id)
            )
            if row is None or row[0] is None:
                return None
            if not row[1]:
                return int(row[0])
            agent_id = row[1]
        return None
