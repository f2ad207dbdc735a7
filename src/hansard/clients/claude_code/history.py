"""history.jsonl: every prompt typed, also of sessions whose transcripts are long gone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.meaning import milliseconds
from hansard.clients.lines import REFUSED, Issue, ParsedLine, fit, length_of, unfinished
from hansard.clients.protocol import LateTool, SeenMessage, Taken
from hansard.clients.rows import Rows
from hansard.clients.state import IssueRows, State
from hansard.clients.texts import RecordTexts, Text
from hansard.sources.names import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_line = msgspec.json.Decoder(wire.HistoryLine).decode


class HistoryFold:
    """Turns the lines of a prompt history into prompt rows, as `Fold` does for those of a transcript."""

    def __init__(self, base: int, state: State) -> None:
        self.base = base
        self.state = state
        self.rows = Rows()
        self.issues = IssueRows(base, state)
        self.messages: dict[str, int] = {}
        self.seen_message: SeenMessage = _no_message

    def take(self, line: bytes, offset: int) -> Taken:
        has_records = False
        for item in self.items(line, offset):
            has_records |= isinstance(item, ParsedLine)
            self.feed(item)
        return Taken.RECORDS if has_records else Taken.ISSUES

    def take_rest(self, rest: bytes, offset: int) -> bool:
        """Take what follows the last newline."""
        found = unfinished(rest, offset, self.items)
        for item in found:
            self.feed(item)
        return bool(found)

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


class HistoryTexts:
    """Gives the prompts of a history as texts; a search shows one where no transcript has the prompt itself."""

    late_tools: Sequence[LateTool] = ()

    def take(self, line: bytes, offset: int) -> list[RecordTexts] | None:
        """The texts of the next line, None where it has no record."""
        return _prompts(HistoryFold.items(line, offset))

    def take_rest(self, rest: bytes, offset: int) -> list[RecordTexts]:
        return _prompts(unfinished(rest, offset, HistoryFold.items)) or []

    def kept(self) -> bytes:
        """Nothing needs to be remembered."""
        return b""


def _prompts(found: Iterable[ParsedLine | Issue]) -> list[RecordTexts] | None:
    records = [item for item in found if isinstance(item, ParsedLine)]
    return [
        RecordTexts(
            item.offset, is_aside=False, texts=[Text(0, "prompt", item.body.display)] if item.body.display else []
        )
        for item in records
    ] or None


def _no_message(_key: str) -> int | None:
    return None


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
