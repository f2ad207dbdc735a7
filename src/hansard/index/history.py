"""history.jsonl: every prompt typed, also of sessions whose transcripts are long gone."""

from __future__ import annotations

import msgspec

from hansard.index.lines import Lines
from hansard.parse import wire
from hansard.parse.meaning import milliseconds
from hansard.parse.rows import Rows
from hansard.parse.state import State

_line = msgspec.json.Decoder(wire.HistoryLine).decode


def fold_history(lines: Lines, base: int, state: State, rows: Rows) -> None:
    """Turn lines of a prompt history into prompt rows."""
    for offset, line in lines:
        state.lines += 1
        try:
            entry = _line(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            state.issues += 1
            rows.issues.append((base + offset, len(line), "not_json", str(error)[:300]))
            continue
        state.records += 1
        moment = entry.timestamp
        ts = milliseconds(moment) if isinstance(moment, str) else int(moment) if moment is not None else None
        if ts is not None:
            state.first_ts = ts if state.first_ts is None else min(ts, state.first_ts)
            state.last_ts = ts if state.last_ts is None else max(ts, state.last_ts)
        if entry.display is not None:
            rows.prompts.append((base + offset, "history", ts, entry.display, entry.project, entry.session_id))
