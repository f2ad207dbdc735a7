"""What was typed and what was done to files, over all sessions."""

from __future__ import annotations

from hansard.model import FileChange, Prompt
from hansard.query.reader import Reader, like, moment


def list_prompts(reader: Reader, limit: int | None) -> list[Prompt]:
    """Everything typed, newest first; a line of history.jsonl only where no transcript has the prompt itself."""
    rows = reader.rows(
        "SELECT p.text, p.source, p.ts, coalesce(p.session_id, t.session_id), coalesce(p.project, s.project, ''),"
        " EXISTS (SELECT 1 FROM sessions k WHERE k.session_id = coalesce(p.session_id, t.session_id) AND k.transcript IS NOT NULL)"
        " FROM prompts p JOIN transcripts t ON t.id = p.id >> 40 LEFT JOIN sessions s ON s.session_id = t.session_id"
        " WHERE t.current = 1 AND (p.source <> 'history' OR NOT EXISTS"
        "  (SELECT 1 FROM sessions k WHERE k.session_id = p.session_id AND k.transcript IS NOT NULL))"
        " ORDER BY coalesce(p.ts, 0) DESC, t.path, p.id LIMIT ?",
        (-1 if limit is None else limit,),
    )
    return [
        Prompt(text, source, moment(ts), session_id, project, bool(kept))
        for text, source, ts, session_id, project, kept in rows
    ]


def list_file_changes(reader: Reader, session_id: str | None, path: str | None) -> list[FileChange]:
    """What tool calls did to files: in one session, to paths that contain `path`, or everywhere; oldest first."""
    rows = reader.rows(
        "SELECT session_id, agent_id, ts, path, change, added, removed, tool FROM file_changes"
        " WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR path LIKE ?2 ESCAPE '\\') ORDER BY ts, id",
        (session_id, None if path is None else like(path)),
    )
    return [FileChange(row[0], row[1], moment(row[2]), *row[3:]) for row in rows]
