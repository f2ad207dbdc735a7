"""Marks that other tools left in a repository: git-ai's notes, commit trailers, Agent Trace's files. Read as data, with limits."""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import Any

from hansard.git.repository import Blamed, CommitInfo, Repository, read_regular
from hansard.model.blame import Mark

_TRAILER = re.compile(
    r"^(Claude-Session|Entire-Checkpoint|Hansard-Session|Co-Authored-By):[ \t]*([^\r\n]{1,300})",
    re.MULTILINE | re.IGNORECASE,
)
_NAMES = {name.lower(): name for name in ("Claude-Session", "Entire-Checkpoint", "Hansard-Session", "Co-Authored-By")}
_AGENTS = re.compile(r"\b(?:claude|anthropic|copilot|cursor|codex|gemini|aider|devin|opencode|amp)\b", re.IGNORECASE)
_NOTES = "refs/notes/ai"
_TRACES = ".agent-trace/traces.jsonl"
_LONGEST = 4 << 20  # bytes of a mark's file
_MOST = 2_000  # lines, ranges and entries per file
_RANGE = re.compile(r"^(\d{1,9})(?:-(\d{1,9}))?$")


class Marks:
    """What tools recorded about who wrote what in one repository."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._noted: dict[str, tuple[Mark, ...]] = {}

    def of_commit(self, info: CommitInfo) -> tuple[Mark, ...]:
        found = []
        for match in _TRAILER.finditer(info.body[:_LONGEST]):
            name = _NAMES[match[1].lower()]
            if name != "Co-Authored-By" or _AGENTS.search(match[2]):
                found.append(Mark(name, match[2].strip(), info.commit))
        return tuple(found[:20])

    def of_line(self, line: Blamed) -> Mark | None:
        """A mark that attributes a line to an agent."""
        for mark in self._notes(line.commit) + self._traces.get(line.commit, ()):
            if mark.path == line.path and any(first <= line.original <= last for first, last in mark.lines):
                return mark
        return None

    # -- git-ai: one note per commit

    @cached_property
    def _has_notes(self) -> bool:
        return self._repository.has_ref(_NOTES)

    def _notes(self, commit: str) -> tuple[Mark, ...]:
        if not self._has_notes:
            return ()
        if commit not in self._noted:
            note = self._repository.note(_NOTES, commit)
            self._noted[commit] = read_note(note[:_LONGEST].decode("utf-8", "replace"), commit) if note else ()
        return self._noted[commit]

    # -- Agent Trace: one line per change

    @cached_property
    def _traces(self) -> dict[str, tuple[Mark, ...]]:
        path = os.path.join(self._repository.root, _TRACES)
        found: dict[str, tuple[Mark, ...]] = {}
        try:
            if os.path.islink(path) or os.path.islink(os.path.dirname(path)):
                return {}
            data = read_regular(path, _LONGEST, follow=False)
        except OSError:
            return {}
        for line in data.split(b"\n")[:_MOST]:
            for mark in read_trace(line):
                found[mark.commit] = (*found.get(mark.commit, ()), mark)
        return found


def read_note(text: str, commit: str) -> tuple[Mark, ...]:
    """Parse a git-ai note: files with their sessions and lines, then a rule, then details of the sessions."""
    lines, _, rest = text.partition("\n---\n")
    about = _loaded(rest)
    sessions: dict[str, Any] = {}
    for group in ("sessions", "prompts"):
        listed = about.get(group)
        sessions |= listed if isinstance(listed, dict) else {}
    found: list[Mark] = []
    path = ""
    for line in lines.split("\n")[:_MOST]:
        if not line.startswith((" ", "\t")):
            path = line.strip().strip('"')
            continue
        author, _, ranges = line.strip().partition(" ")
        if author.startswith("h_") or not path:
            continue
        session = author.partition("::")[0]
        known = sessions.get(session)
        agent = known.get("agent_id") if isinstance(known, dict) else None
        agent = agent if isinstance(agent, dict) else {}
        spans = _spans(ranges)
        if spans:
            found.append(
                Mark(
                    "git-ai",
                    _text(agent.get("id")) or session[:100],
                    commit,
                    _text(agent.get("tool")),
                    _text(agent.get("model")),
                    path,
                    spans,
                )
            )
    return tuple(found)


def read_trace(line: bytes) -> list[Mark]:
    record = _loaded(line)
    vcs = record.get("vcs")
    commit = _text(vcs.get("revision")) if isinstance(vcs, dict) else None
    tool = record.get("tool")
    name = _text(tool.get("name")) if isinstance(tool, dict) else None
    found: list[Mark] = []
    for file in _listed(record.get("files")):
        path = _text(file.get("path"))
        for conversation in _listed(file.get("conversations")):
            contributor = conversation.get("contributor")
            contributor = contributor if isinstance(contributor, dict) else {}
            if contributor.get("type") == "human" or path is None or commit is None:
                continue
            spans = tuple(
                (item["start_line"], item["end_line"])
                for item in _listed(conversation.get("ranges"))
                if isinstance(item.get("start_line"), int) and isinstance(item.get("end_line"), int)
            )
            if spans:
                value = _text(conversation.get("url")) or _text(record.get("id")) or ""
                found.append(Mark("agent-trace", value, commit, name, _text(contributor.get("model_id")), path, spans))
    return found


def _spans(text: str) -> tuple[tuple[int, int], ...]:
    found = []
    for part in text.split(",")[:_MOST]:
        match = _RANGE.match(part.strip())
        if match is not None:
            found.append((int(match[1]), int(match[2] or match[1])))
    return tuple(found)


def _loaded(text: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _listed(value: Any) -> list[dict[str, Any]]:
    return [item for item in value[:_MOST] if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value[:300] if isinstance(value, str) and value else None
