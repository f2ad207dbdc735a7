"""Notes in git-ai's format: which session wrote which lines of a commit. They contain no prompts and no transcript text."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hansard.errors import NotFound
from hansard.git.blame import Blamer
from hansard.git.repository import Repository
from hansard.model.tools import CLAUDE_CODE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.git.cache import EditCache
    from hansard.model.blame import CommitReport
    from hansard.thread.store import ThreadStore

NOTES = "refs/notes/ai"
_CLAIMED = ("exact", "moved", "partial")
_TOOLS = {CLAUDE_CODE: "claude"}  # clients that git-ai calls by another name


def note_commit(threads: ThreadStore, cache: EditCache, commit: str, folder: str, version: str, *, write: bool) -> str:
    """The note that this version of Hansard makes for a commit in the folder's repository; `write` adds it there."""
    repository = Repository.find(folder)
    report = Blamer(threads, cache, repository).commit(commit)
    text = make_note(report, version)
    if write:
        repository.add_note(NOTES, report.commit.commit, text)
    return text


def make_note(report: CommitReport, version: str) -> str:
    """The note for a commit by this version of Hansard; raises if no recorded edit wrote any of its lines."""
    files: list[str] = []
    sessions: dict[str, Any] = {}
    for file in report.files:
        if not file.path.isprintable():  # a line break would start another entry
            continue
        edits = {edit.number: edit for edit in file.edits}
        lines: dict[str, list[int]] = {}
        for line in file.lines:
            if line.certainty in _CLAIMED and line.edit is not None:
                edit = edits[line.edit]
                tool = _TOOLS.get(edit.client, edit.client)
                session = f"s_{_short(tool, edit.session_id)}"
                lines.setdefault(f"{session}::t_{_short(edit.session_id, str(edit.turn))}", []).append(line.number)
                agent = {"tool": tool, "id": edit.session_id, "model": edit.model or "unknown"}
                sessions.setdefault(session, {"agent_id": agent, "human_author": report.commit.author})
        if lines:
            name = f'"{file.path}"' if " " in file.path else file.path
            files += [name, *(f"  {who} {_ranges(numbers)}" for who, numbers in lines.items())]
    if not files:
        raise NotFound(f"no recorded edit wrote a line of {report.commit.commit[:12]}")
    about = {
        "schema_version": "authorship/3.0.0",
        "git_ai_version": f"hansard {version}",
        "base_commit_sha": report.commit.commit,
        "prompts": {},
        "sessions": sessions,
    }
    return "\n".join([*files, "---", json.dumps(about, indent=2)]) + "\n"


def _short(*parts: str) -> str:
    return sha256(":".join(parts).encode()).hexdigest()[:14]


def _ranges(numbers: Iterable[int]) -> str:
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in found)
