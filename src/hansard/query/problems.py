"""What is in quarantine, in the record and in both indexes: one list for every face that shows it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError
from hansard.model.problems import Problem
from hansard.model.time import from_milliseconds
from hansard.query.reader import Reader

if TYPE_CHECKING:
    from hansard.record.store import Record

_TRANSCRIPT_STAGES = ("rows", "text")


def list_problems(reader: Reader, record: Record | None) -> tuple[Problem, ...]:
    """Every file that could not be kept, then all that is kept and could not be indexed."""
    found: list[Problem] = []
    if record is not None:
        roots = {row.id: row.path for row in record.roots()}
        found += [
            Problem("read", f"{roots[item.root_id]}/{item.path}", item.reason, datetime.fromisoformat(item.since))
            for item in record.quarantined()
        ]
    rows = [
        *reader.rows("SELECT stage, subject, reason, since FROM quarantine ORDER BY stage, subject"),
        *_of_text(reader),
    ]
    for stage, subject, reason, since in rows:
        found.append(Problem(stage, _named(reader, record, stage, subject), reason, from_milliseconds(since)))
    return tuple(found)


def _of_text(reader: Reader) -> list[Any]:
    if not reader.has_text:
        return []
    return list(reader.rows("SELECT stage, subject, reason, since FROM full.quarantine ORDER BY stage, subject"))


def _named(reader: Reader, record: Record | None, stage: str, subject: str) -> str:
    """The path of a transcript or of a small file; a session by its id."""
    if stage in _TRANSCRIPT_STAGES and record is not None:
        try:
            return record.generation(int(subject)).path
        except HansardError:
            return subject
    if stage in ("side_file", "snapshot"):
        row = reader.one("SELECT path FROM side_files WHERE id = ?", (int(subject),))
        return str(row[0]) if row else subject
    return subject
