"""The transcripts that Cursor's agents write: what was said and called, without results, times and models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from hansard.clients.cursor.chats import chat_facts, names_in
from hansard.clients.row_logs import Body, Content, RowLog, Unit, fact, log_path
from hansard.clients.values import string

FOLDER = "agent-transcripts"


def transcript_files(root: str) -> Iterator[str]:
    """The transcripts below `projects`, relative to the directory around it."""
    for project in names_in(os.path.join(root, "projects")):
        folder = f"projects/{project}/{FOLDER}"
        for session in names_in(os.path.join(root, *folder.split("/"))):
            for name in names_in(os.path.join(root, *folder.split("/"), session)):
                if name.endswith(".jsonl"):
                    yield f"{folder}/{session}/{name}"
            for name in names_in(os.path.join(root, *folder.split("/"), session, "subagents")):
                if name.endswith(".jsonl"):
                    yield f"{folder}/{session}/subagents/{name}"


def transcript_log(path: str, place: str) -> RowLog:
    """A transcript as a log: each of its lines is a unit."""
    _, project, _, session, *_, name = path.split("/")
    own = name.removesuffix(".jsonl")
    status = os.stat(place)
    ids = (session, own) if own != session else (session,)
    root = place[: -len(path)]
    return RowLog(
        log_path(*ids),
        status.st_mtime_ns // 1_000_000,
        repr((status.st_size, status.st_mtime_ns)),
        partial(_units, place, project, root, session),
        is_agent=len(ids) > 1,
    )


def _units(place: str, project: str, root: str, session: str) -> Iterator[Unit]:
    folder = string(chat_facts(root, session), "cwd")
    yield fact("project", "project", [(("name", "folder"), [("text", project), ("text", folder)])])
    with open(place, "rb") as file:
        for number, line in enumerate(file):
            if line.strip() and line.endswith((b"\n", b"}")):  # else it is being written
                body = Body().add("line", [(("value",), [("text", line.rstrip(b"\n"))])])
                yield Unit(str(number), partial(Content, body))
