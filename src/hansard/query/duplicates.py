"""Which tool calls and prompts repeat another: forks, replays, former generations and copies under another root repeat lines.

Everything that counts calls or prompts skips these, so that all figures agree.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hansard.clients.programs import UNIQUE_CALL_IDS
from hansard.clients.usage import REPEATED_LINE
from hansard.query.reader import Reader
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.sqlite import to_json

SPOKEN = "SELECT transcript FROM sessions WHERE transcript IS NOT NULL UNION SELECT transcript FROM agents"
"""The transcripts that sessions and their subagents are read from."""

PROMPTS = "('prompt', 'queued')"
"""The sources of what counts as a prompt; commands, shell commands and lines known only from history.jsonl do not."""

_REPEATED = (
    f"SELECT c.id, c.tool_use_id, m.key, c.result_id IS NULL, c.ts, r.sub IS '{REPEATED_LINE}' FROM"
    " (SELECT tool_use_id FROM tool_calls GROUP BY tool_use_id HAVING count(*) > 1 AND tool_use_id <> '') d"
    " CROSS JOIN tool_calls c ON c.tool_use_id = d.tool_use_id LEFT JOIN messages m ON m.id = c.message_id"
    " LEFT JOIN records r ON r.id = c.message_id"
)
_NEVER = 1 << 62
# Transcripts that share records with another; and prompt histories, if there are several.
_SHARED = (
    f"SELECT record_id >> {OFFSET_BITS} AS id FROM shared_records UNION SELECT id FROM transcripts WHERE kind = 'history' AND current = 1"
    " AND (SELECT count(*) FROM transcripts WHERE kind = 'history' AND current = 1) > 1"
)
_SHARED_PROMPTS = (
    f"SELECT p.id, r.uuid, p.ts, p.source, p.session_id, p.text, p.id & {OFFSET_MASK} < t.copied, t.path, t.root"
    f" FROM ({_SHARED}) s CROSS JOIN transcripts t ON t.id = s.id AND t.current = 1"
    f" CROSS JOIN prompts p ON p.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
    " LEFT JOIN records r ON r.id = p.id"
    " ORDER BY p.id"
)
# Sessions with calls that also occur elsewhere, or in former generations of their files.
_REPEATING = (
    f"SELECT DISTINCT t.session_id FROM json_each(?) c CROSS JOIN transcripts t ON t.id = c.value >> {OFFSET_BITS}"
    " UNION SELECT session_id FROM transcripts WHERE current <> 1"
)
_OWN_CALLS = (
    "SELECT s.session_id, s.tool_calls - count(iif(c.part = 0, c.id, NULL)), s.tool_errors - coalesce(sum(c.is_error * (c.part = 0)), 0),"
    " s.files_changed - count(DISTINCT iif(c.change IS NULL, NULL, c.path)),"
    " s.lines_added - coalesce(sum(c.added * (c.part = 0)), 0), s.lines_removed - coalesce(sum(c.removed * (c.part = 0)), 0)"
    " FROM json_each(?) r CROSS JOIN sessions s ON s.session_id = r.value CROSS JOIN transcripts t ON t.session_id = s.session_id"
    f" LEFT JOIN tool_calls c ON c.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
    " AND c.id NOT IN (SELECT value FROM json_each(?)) GROUP BY s.session_id"
)
# Sessions with prompts that also occur elsewhere, and sessions with several transcripts that are not copies of each other.
_OWN_PROMPTS = (
    f"WITH repeating(session_id) AS (SELECT t.session_id FROM json_each(?1) c CROSS JOIN transcripts t ON t.id = c.value >> {OFFSET_BITS}"
    " UNION SELECT session_id FROM transcripts WHERE current = 1 AND kind IN ('main', 'log') GROUP BY 1 HAVING count(*) > 1)"
    " SELECT s.session_id, s.prompts - count(p.id) FROM repeating CROSS JOIN sessions s USING (session_id)"
    " CROSS JOIN transcripts t ON t.session_id = s.session_id AND t.current = 1"
    f" LEFT JOIN prompts p ON p.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
    f" AND p.source IN {PROMPTS} AND p.id NOT IN (SELECT value FROM json_each(?1)) GROUP BY 1"
)
REPEATED = (
    "LEFT JOIN (SELECT value ->> 0 AS repeater, value ->> 1 AS more_prompts, value ->> 2 AS more_calls,"
    " value ->> 3 AS more_errors, value ->> 4 AS more_files, value ->> 5 AS more_added, value ->> 6 AS more_removed"
    " FROM json_each(?)) ON repeater = session_id"
)
"""Joins `sessions` with what to subtract from each in sums; bind the result of `find_repeated_work`."""


def find_copies(reader: Reader) -> list[int]:
    """Ids of duplicate calls, except the copy of each that lists show.

    That copy has a result if any has, is in the transcript its session is read from, and is the original or else the
    earliest: so it belongs to the session that the ledger counts it for, if that still has it.
    """
    return reader.per_revision("calls", _find)


def count_calls(reader: Reader) -> int:
    """How many tool calls there are, each once."""
    row = reader.one(
        "SELECT (SELECT count(*) FROM tool_calls) - (SELECT count(*) FROM tool_calls WHERE part > 0)"
        " - (SELECT count(*) FROM json_each(?) w CROSS JOIN tool_calls c ON c.id = w.value WHERE c.part = 0)",
        (to_json(find_copies(reader)),),
    )
    return int(row[0])


def find_prompt_copies(reader: Reader) -> dict[int, int]:
    """Prompts that occur in several transcripts: the number of copies for the original, -1 for each copy."""
    return reader.per_revision("prompts", _find_prompts)


def find_repeated_work(reader: Reader) -> str:
    """What each session has that counts for another, as JSON: rows of prompts, calls, errors, files and lines.

    A session's own figures cover all it contains. Sums over sessions leave out shared work, so that it counts once.
    """
    return reader.per_revision("work", _find_work)


def _find_work(reader: Reader) -> str:
    copies = to_json(find_copies(reader))
    repeating = to_json([row[0] for row in reader.rows(_REPEATING, (copies,))])
    calls = {row[0]: row[1:] for row in reader.rows(_OWN_CALLS, (repeating, copies))}
    again = to_json([id_ for id_, count in find_prompt_copies(reader).items() if count < 0])
    prompts = dict(reader.rows(_OWN_PROMPTS, (again,)))
    sessions = {**calls, **prompts}
    return to_json([(id_, prompts.get(id_, 0), *calls.get(id_, (0, 0, 0, 0, 0))) for id_ in sessions])


def once(figure: str) -> str:
    """The sum of a figure over sessions joined with `REPEATED`, without duplicates."""
    columns = {"calls": "tool_calls", "errors": "tool_errors + api_errors", "files": "files_changed"}
    columns |= {"added": "lines_added", "removed": "lines_removed"}
    return f"sum({columns.get(figure, figure)} - coalesce(more_{figure}, 0))"


def _find_prompts(reader: Reader) -> dict[int, int]:
    groups: dict[tuple[Any, ...], list[Any]] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for id_, uuid, ts, source, session_id, text, is_copy, path, root in reader.rows(_SHARED_PROMPTS):
        key: tuple[Any, ...] = (uuid,)
        if uuid is None:  # matched by time and text: the nth in one transcript with the nth in the others
            said = (ts, source, session_id, hash(text))
            seen[said, id_ >> OFFSET_BITS] += 1
            key = (*said, seen[said, id_ >> OFFSET_BITS] if ts is not None else id_)
        groups.setdefault(key, []).append((is_copy, ts is None, ts, path, root, id_))
    found: dict[int, int] = {}
    for group in groups.values():
        group.sort()
        found.update((place[-1], -1) for place in group[1:])
        found[group[0][-1]] = len(group) - 1
    return found


def _find(reader: Reader) -> list[int]:
    groups: dict[tuple[str, str | None], list[Any]] = {}
    for row in reader.rows(_REPEATED):
        # API ids are unique; gateways restart the numbering of calls with each message.
        is_unique = row[1].startswith(UNIQUE_CALL_IDS)
        groups.setdefault((row[1], None if is_unique else row[2]), []).append(row)
    repeated = [group for group in groups.values() if len(group) > 1]
    if not repeated:
        return []
    spoken = {row[0] for row in reader.rows(SPOKEN)}
    places = {row[0]: row[1:] for row in reader.rows("SELECT id, copied, path, root FROM transcripts")}

    def rank(row: Any) -> tuple[Any, ...]:
        id_, _, _, is_open, ts, is_repeated = row
        transcript = id_ >> OFFSET_BITS
        copied, path, root = places[transcript]
        is_copy = id_ & OFFSET_MASK < copied
        return is_repeated, is_open, transcript not in spoken, is_copy, _NEVER if ts is None else ts, path, root, id_

    shown = [(group, min(group, key=rank)[0]) for group in repeated]
    return [row[0] for group, first in shown for row in group if row[0] != first]
