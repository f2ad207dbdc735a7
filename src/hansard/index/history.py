"""history.jsonl: every prompt typed, also of sessions whose transcripts are long gone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.meaning import milliseconds
from hansard.clients.issues import IssueRows
from hansard.clients.lines import fit, length_of
from hansard.clients.records import REFUSED, Issue, ParsedLine
from hansard.clients.rows import Rows
from hansard.clients.state import State
from hansard.index.side_files import storable

_line = msgspec.json.Decoder(wire.HistoryLine).decode


class HistoryFold:
    """Turns the lines of a prompt history into prompt rows, as `Fold` does for those of a transcript."""

    def __init__(self, base: int, state: State) -> None:
        self.base = base
        self.state = state
        self.rows = Rows()
        self.issues = IssueRows(base, state)

    @staticmethod
    def items(line: bytes, offset: int) -> Iterator[ParsedLine | Issue]:
        """The entry on one line, or what is wrong with it."""
        length = length_of(line)
        line, limit, detail = fit(line)
        if limit:
            yield Issue(offset, length, limit, detail)
        if not line:
            return
        try:
            yield ParsedLine(offset, length, "", _line(line))
        except REFUSED as error:
            try:
                entry = _by_fields(line)
            except RecursionError:
                yield Issue(offset, length, "too_deep")
                return
            if entry is not None:
                yield Issue(offset, length, "wrong_type", str(error))
                yield ParsedLine(offset, length, "", entry)
            elif line.strip():
                yield Issue(offset, length, "not_json", str(error))

    def feed(self, item: ParsedLine | Issue) -> None:
        """Take the next entry or issue."""
        state = self.state
        if isinstance(item, Issue):
            self.issues.add(item, self.rows.issues)
            return
        entry: wire.HistoryLine = item.body
        state.records += 1
        ts = _moment(entry.timestamp)
        if ts is not None:
            state.first_ts = ts if state.first_ts is None else min(ts, state.first_ts)
            state.last_ts = ts if state.last_ts is None else max(ts, state.last_ts)
        if entry.display is not None:
            self.rows.prompts.append(
                (self.base + item.offset, "history", ts, entry.display, entry.project, entry.session_id)
            )


def _by_fields(line: bytes) -> wire.HistoryLine | None:
    """What can be had of an entry with something odd in it."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    texts = {name: storable(text) for name, text in value.items() if isinstance(text, str)}
    moment = value.get("timestamp")
    return wire.HistoryLine(
        display=texts.get("display"),
        timestamp=moment if isinstance(moment, int | float | str) else None,
        project=texts.get("project"),
        session_id=texts.get("sessionId"),
    )


def _moment(stated: float | str | None) -> int | None:
    if isinstance(stated, str):
        return milliseconds(stated)
    return int(stated) if stated is not None and abs(stated) < 1 << 53 else None
