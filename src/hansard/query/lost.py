"""Sessions without a transcript: which there are, and where something of them is left."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients import client_of
from hansard.clients.protocol import SideFacts
from hansard.errors import Ambiguous, NotFound, StoreCorrupt
from hansard.query.prompts import PASTED, Typed, lost_prompts, project_at
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_GAP = 2 * 3_600_000  # ms without a prompt after which old lines, which name no session, are taken for another one
_LONGEST_INDEX = 16 << 20  # bytes of a sessions-index.json that is read
_SOURCES = {"file_history": "file-history", "title": "title"}
_KEPT = "SELECT session_id FROM sessions WHERE transcript IS NOT NULL"


@dataclass(slots=True)
class Lost:
    """What is left of one session."""

    name: str
    session_id: str | None
    project: str = ""
    folders: set[str] = field(default_factory=set)  # as they were called then
    prompts: list[Typed] = field(default_factory=list)
    pastes: int = 0
    times: list[int] = field(default_factory=list)  # ms
    dates: list[int] = field(default_factory=list)  # of files, ms: they count only where nothing else tells the time
    titles: dict[str, str] = field(default_factory=dict)  # by source
    first_prompt: str = ""
    branch: str = ""
    todos: int = 0
    file_versions: int = 0
    sources: set[str] = field(default_factory=set)

    @property
    def started(self) -> int | None:
        """The first moment that is known of it."""
        return min(self.times or self.dates, default=None)

    @property
    def ended(self) -> int | None:
        """The last moment that is known of it."""
        return max(self.times or self.dates, default=None)

    @property
    def title(self) -> str:
        """What it is called, or what was asked first."""
        named = next((text for text in self.titles.values() if text.strip()), "")
        return named or next((row.text for row in self.prompts if row.text), "") or self.first_prompt


def find_lost(reader: Reader, record: Record | None) -> list[Lost]:
    """All sessions without a transcript, the newest first; of `record` the lists of sessions are read that clients kept."""
    found = _of_history(reader)
    _add_files(reader, found)
    if record is not None:
        _add_lists(reader, record, found)
    return sorted(found.values(), key=lambda lost: (-(lost.started or 0), lost.name))


def choose_lost(found: list[Lost], name: str) -> Lost:
    """The one that a person means: a name or id, a unique beginning of one, `@last`."""
    if name == "@last" and found:
        return found[0]
    near = [lost for lost in found if lost.name == name] or [
        lost for lost in found if name and lost.name.startswith(name)
    ]
    if not near:
        raise NotFound(f"no lost session matches {name!r}; `hansard recover` lists them")
    if len(near) > 1:
        shown = "\n".join(f"  {lost.name}" for lost in near[:8])
        raise Ambiguous(f"{len(near)} lost sessions match {name!r}:\n{shown}")
    return near[0]


def _of_history(reader: Reader) -> dict[str, Lost]:
    """The sessions that lines of history.jsonl belong to; where lines name none, a pause tells two apart."""
    found: dict[str, Lost] = {}
    open_: dict[str, Lost] = {}  # the present session of each folder
    projects: dict[str, str] = {}
    for row in lost_prompts(reader):
        if row.project not in projects:
            projects[row.project] = project_at(reader, row.project)
        if row.session_id is not None:
            lost = found.setdefault(row.session_id, Lost(row.session_id, row.session_id))
        else:
            last = open_.get(row.project)
            if last is None or (row.ts or 0) - (last.prompts[-1].ts or 0) > _GAP:
                last = open_[row.project] = Lost(_name(row), None)
                found[last.name] = last
            lost = last
        lost.project = lost.project or projects[row.project]
        lost.folders.add(row.project)
        lost.prompts.append(row)
        lost.pastes += len(PASTED.findall(row.text or ""))
        lost.sources.add("history")
        if row.ts is not None:
            lost.times.append(row.ts)
    return found


def _name(row: Typed) -> str:
    """A name for a session that nothing names: the same at every look."""
    return "history-" + hashlib.sha256(f"{row.project}\0{row.ts}".encode("utf-8", "replace")).hexdigest()[:8]


def _add_files(reader: Reader, found: dict[str, Lost]) -> None:
    """Count todos and small files, and subagents whose main transcript is gone."""
    for session_id, count in reader.rows(
        f"SELECT session_id, count(*) FROM todos WHERE session_id <> '' AND session_id NOT IN ({_KEPT}) GROUP BY session_id"
    ):
        lost = found.setdefault(session_id, Lost(session_id, session_id))
        lost.todos = count
        lost.sources.add("todos")
    for session_id, kind, facts, mtime in reader.rows(
        "SELECT session_id, kind, facts, mtime FROM side_files WHERE current = 1 AND session_id <> ''"
        f" AND session_id NOT IN ({_KEPT}) ORDER BY path, root"
    ):
        if kind in ("todo", "task"):  # an empty list is no trace of a session
            if session_id in found and mtime is not None:
                found[session_id].dates.append(mtime)
            continue
        lost = found.setdefault(session_id, Lost(session_id, session_id))
        lost.sources.add(_SOURCES.get(kind, "other"))
        lost.file_versions += kind == "file_history"
        if mtime is not None:
            lost.dates.append(mtime)
        if kind == "title" and (title := _title(facts)):
            lost.titles.setdefault("title", title)
    for session_id, project, cwd, started, ended in reader.rows(
        "SELECT session_id, project, cwd, started_at, ended_at FROM sessions WHERE transcript IS NULL"
    ):
        lost = found.setdefault(session_id, Lost(session_id, session_id))
        lost.sources.add("subagents")
        lost.project = lost.project or project
        lost.folders |= {cwd} - {""}
        lost.times += [ts for ts in (started, ended) if ts is not None]


def _title(facts: bytes | None) -> str:
    return msgspec.json.decode(facts, type=SideFacts).title if facts else ""


def _add_lists(reader: Reader, record: Record, found: dict[str, Lost]) -> None:
    """Take over what each sessions-index.json said of sessions, also in its former contents; the latest counts."""
    kept = {row[0] for row in reader.rows(_KEPT)}
    clients = {root.path: root.client for root in record.roots()}
    for id_, root in reader.rows(
        "SELECT id, root FROM side_files WHERE kind = 'sessions_index' AND size <= ? ORDER BY current DESC, id DESC",
        (_LONGEST_INDEX,),
    ):
        try:
            listed = client_of(clients[root]).session_list(record.read_snapshot(id_))
        except StoreCorrupt:
            continue
        for entry in listed:
            if entry.session_id in kept:
                continue
            lost = found.setdefault(entry.session_id, Lost(entry.session_id, entry.session_id))
            if "sessions-index" in lost.sources:
                continue
            lost.sources.add("sessions-index")
            if entry.folder:
                lost.folders.add(entry.folder)
                lost.project = lost.project or project_at(reader, entry.folder)
            lost.branch = lost.branch or entry.branch
            lost.first_prompt = entry.first_prompt
            if entry.title:
                lost.titles.setdefault("sessions-index", entry.title)
            lost.times += entry.times


def read_pasted(record: Record, row: Typed) -> dict[str, Any]:
    """What the line of a prompt in history.jsonl says of pastes, by their numbers."""
    generation = record.generation(row.id >> OFFSET_BITS)
    (client,) = (root.client for root in record.roots() if root.id == generation.root_id)
    lines = client_of(client).lines(record.read(generation.id, row.id & OFFSET_MASK), row.id & OFFSET_MASK)
    try:
        line = next((line for _, line in lines), b"") or lines.rest
    except StoreCorrupt:
        return {}
    return client_of(client).pasted(line)
