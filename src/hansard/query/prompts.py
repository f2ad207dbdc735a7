"""Prompts and file changes across all sessions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import UsageError
from hansard.model.files import FileChange
from hansard.model.names import follow_moves
from hansard.model.requests import PROMPT_SOURCES, PromptsRequest
from hansard.model.search import Prompt, PromptPage
from hansard.model.time import from_milliseconds
from hansard.query.duplicates import find_prompt_copies
from hansard.query.language.options import query_of
from hansard.query.reader import Reader, like
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.cursors import read_cursor, write_cursor

_OF_SESSION = (
    f"SELECT p.text FROM transcripts t CROSS JOIN prompts p ON p.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
    " WHERE t.session_id = ? AND t.current = 1 AND t.kind <> 'history'"
)
_NEARBY = (
    f"SELECT p.text FROM prompts p CROSS JOIN transcripts t ON t.id = p.id >> {OFFSET_BITS} AND t.current = 1"
    " JOIN sessions k ON k.session_id = t.session_id WHERE p.ts BETWEEN ?1 - 5000 AND ?1 + 60000"
    " AND p.source <> 'history' AND (p.ts <= ?1 + 5000 OR k.project = ?2)"  # a queued prompt is sent later
)
_REMEMBERED = 256  # sessions
# History lines have these placeholders for pasted content; transcripts have the content itself.
PASTED = re.compile(r"\[(?:\.\.\.)?(?:Pasted text|Image|Truncated text) #\d++[^\[\]]*+\]")


class Typed(Struct, frozen=True):
    """A prompt as stored in the index."""

    id: int
    ts: int | None
    source: str
    text: str | None  # None unless requested
    session_id: str | None
    project: str
    kept: bool
    path: str
    root: str

    def key(self, *, ascending: bool) -> tuple[Any, ...]:
        """The sort key; prompts without a time are the oldest."""
        known = self.ts is not None
        time = (known, self.ts or 0) if ascending else (not known, -(self.ts or 0))
        return (*time, self.path, self.root, self.id & OFFSET_MASK)


def list_prompts(reader: Reader, request: PromptsRequest) -> PromptPage:
    """One page of everything typed, newest first; a prompt in several transcripts is listed once.

    All prompts are read in order to count them, but only the page is held in memory. Without `counted`, reading stops
    after the page, unless equal texts must be counted. A line of history.jsonl counts only if no transcript has the
    prompt itself.
    """
    limit, ascending, unique = request.limit, request.ascending, request.unique
    if limit is not None and limit < 1:
        raise UsageError("the limit must be at least 1; leave it out to get every prompt")
    listed = ["prompts", ascending, unique]
    after = None if request.cursor is None else read_cursor(request.cursor, listed, bool, int, str, str, int)
    texts = unique or limit is None
    hurried = not (request.counted or unique)
    page: list[tuple[Typed, int]] = []
    times: dict[int, int] = {}
    sources: Counter[str] = Counter()
    more = False
    start = after if hurried else None
    where, values = _where(reader, request)
    for row, copies in _prompts(reader, where, values, ascending=ascending, texts=texts, start=start):
        if unique:
            known = hash((row.text or "").strip())
            times[known] = times.get(known, 0) + 1
            if times[known] > 1:
                continue
        sources[row.source] += 1
        if after is not None and row.key(ascending=ascending) <= after:
            continue
        if limit is not None and len(page) == limit:
            more = True
            if hurried:
                break
        else:
            page.append((row, copies))
    prompts = tuple(_prompt(reader, row, copies) for row, copies in page)
    if unique:
        prompts = tuple(replace(prompt, times=times[hash(prompt.text.strip())]) for prompt in prompts)
    key = page[-1][0].key(ascending=ascending) if more else None
    return PromptPage(prompts, None if key is None else write_cursor(listed, key), sources.total(), dict(sources))


def _where(reader: Reader, request: PromptsRequest) -> tuple[str, list[Any]]:
    where, values = "1", list[Any]()
    node = query_of(request, request.query)
    if node is not None:
        from hansard.query.compile import PROMPTS, Compiler

        asked = Compiler(reader, PROMPTS).condition(node)
        if asked is not None:
            where += f" AND {asked.sql}"
            values += asked.values
    if request.source is not None:
        if request.source not in PROMPT_SOURCES:
            raise UsageError(
                f"{request.source!r} is not a source of prompts; choose one of {', '.join(PROMPT_SOURCES)}"
            )
        where += " AND source = ?"
        values.append(request.source)
    return where, values


def find_counted_prompts(reader: Reader) -> Iterator[int]:
    """Ids of the prompts that lists show, without duplicates."""
    return (row.id for row, _ in _prompts(reader, "1", [], ascending=True, texts=False))


def lost_prompts(reader: Reader) -> Iterator[Typed]:
    """Lines of history.jsonl whose session has no transcript, oldest first."""
    for row, _ in _prompts(reader, "source = 'history'", [], ascending=True, texts=True):
        if not row.kept:
            yield row


def _prompts(
    reader: Reader, where: str, values: list[Any], *, ascending: bool, texts: bool, start: tuple[Any, ...] | None = None
) -> Iterator[tuple[Typed, int]]:
    """The matching prompts, each once, with the number of its other copies; roughly from `start` on."""
    copies = find_prompt_copies(reader)
    transcripts = _Transcripts(reader)
    for row in _in_order_of_time(_rows(reader, where, values, ascending=ascending, texts=texts, start=start)):
        if row.source == "history" and transcripts.have(row):
            continue
        count = copies.get(row.id, 0)
        if count >= 0:
            yield row, count


def _rows(
    reader: Reader, where: str, values: list[Any], *, ascending: bool, texts: bool, start: tuple[Any, ...] | None
) -> Iterator[Typed]:
    """The prompts of all current transcripts by time.

    Columns of transcripts and sessions are looked up here rather than joined: many prompts share them.
    """
    if start is not None:
        has_time = start[0] is ascending  # as in a prompt's key
        if has_time:
            where += " AND ts >= ?" if ascending else " AND (ts <= ? OR ts IS NULL)"
            values.append(start[1] if ascending else -start[1])
        elif not ascending:
            where += " AND ts IS NULL"
    text = "text" if texts else "CASE source WHEN 'history' THEN text END"
    direction = "ASC" if ascending else "DESC"
    transcripts: dict[int, tuple[str, str, str]] = {
        row[0]: row[1:] for row in reader.rows("SELECT id, session_id, path, root FROM transcripts WHERE current = 1")
    }
    sessions: dict[str, tuple[str, bool]] = {
        row[0]: row[1:] for row in reader.rows("SELECT session_id, project, transcript IS NOT NULL FROM sessions")
    }
    for id_, ts, source, said, project, named in reader.rows(
        f"SELECT id, ts, source, {text}, project, session_id FROM prompts WHERE {where} ORDER BY ts {direction}",
        tuple(values),
    ):
        known = transcripts.get(id_ >> OFFSET_BITS)
        if known is None:
            continue
        session_id = named if source == "history" else known[0]
        place, kept = sessions.get(session_id or "", ("", False))
        kept = bool(kept) or source != "history"
        yield Typed(id_, ts, source, said, session_id or None, place or project or "", kept, known[1], known[2])


def _in_order_of_time(rows: Iterator[Typed]) -> Iterator[Typed]:
    """Order prompts with equal times independently of how the index was built."""
    held: list[Typed] = []
    for row in rows:
        if held and held[0].ts != row.ts:
            held.sort(key=lambda prompt: (prompt.path, prompt.root, prompt.id))
            yield from held
            held.clear()
        held.append(row)
    held.sort(key=lambda prompt: (prompt.path, prompt.root, prompt.id))
    yield from held


class _Transcripts:
    """Finds whether a transcript has the prompt that a line of history.jsonl repeats."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[str, set[int]] = {}

    def have(self, row: Typed) -> bool:
        """Whether the prompt itself is in a transcript of its session, or in one that has it at the same time.

        `/clear` is in the session that begins with it, and old histories name no session at all.
        """
        if row.session_id is not None and not row.kept:
            return False
        text = (row.text or "").strip()
        if row.session_id is not None and hash(text) in self._session(row.session_id):
            return True
        parts = [part.strip() for part in PASTED.split(text)]
        pasted = row.session_id is not None and len(parts) > 1
        if pasted and _any_like(parts, self._reader.rows(_OF_SESSION, (row.session_id,))):
            return True
        if row.ts is None:
            return False
        return _any_like(parts, self._reader.rows(_NEARBY, (row.ts, project_at(self._reader, row.project))))

    def _session(self, session_id: str) -> set[int]:
        known = self._known.get(session_id)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            known = {hash(row[0].strip()) for row in self._reader.rows(_OF_SESSION, (session_id,))}
            self._known[session_id] = known
        return known


def _any_like(parts: list[str], rows: Iterator[Any]) -> bool:
    """Whether one of these texts is the typed one, with anything pasted between the parts."""
    return any(_in_order(parts, row[0]) if len(parts) > 1 else row[0].strip() == parts[0] for row in rows)


def _in_order(parts: list[str], text: str) -> bool:
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _prompt(reader: Reader, row: Typed, copies: int) -> Prompt:
    text = row.text
    if text is None:
        found = reader.one("SELECT text FROM prompts WHERE id = ?", (row.id,))
        text = found[0] if found is not None else ""
    return Prompt(
        text,
        row.source,
        from_milliseconds(row.ts),
        row.session_id,
        project_at(reader, row.project),
        row.kept,
        copies=copies,
        transcript=row.path,
        offset=row.id & OFFSET_MASK,
    )


def project_at(reader: Reader, folder: str) -> str:
    """The project of a folder that history.jsonl names."""
    from hansard.index.derive import project_of

    moves = dict(reader.rows("SELECT path, target FROM moves"))
    return follow_moves(project_of(folder), moves)


def read_prompt(reader: Reader, transcript: str, offset: int) -> str | None:
    """The text of the prompt at an offset; if several roots have such a transcript, from the first with a prompt there."""
    row = reader.one(
        f"SELECT p.text FROM transcripts t JOIN prompts p ON p.id = (t.id << {OFFSET_BITS}) + ?2"
        " WHERE t.path = ?1 AND t.current = 1 ORDER BY t.root LIMIT 1",
        (transcript, offset),
    )
    return None if row is None else str(row[0])


def list_file_changes(reader: Reader, session_id: str | None, path: str | None) -> list[FileChange]:
    """What tool calls did to files, oldest first: in one session, to paths that contain `path`, or everywhere."""
    rows = reader.rows(
        "SELECT session_id, agent_id, ts, path, change, added, removed, tool FROM file_changes"
        " WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR path LIKE ?2 ESCAPE '\\') ORDER BY ts, id",
        (session_id, None if path is None else like(path)),
    )
    return [FileChange(row[0], row[1], from_milliseconds(row[2]), *row[3:]) for row in rows]
