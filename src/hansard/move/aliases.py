"""`.session-aliases`: the history folders in which the client also looks for a project's sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping

from hansard.changes.plan import Step, Write, content, read_file
from hansard.errors import UsageError

ALIASES = ".session-aliases"


def add_alias(source: str, target: str) -> list[Step]:
    """Name a history folder, and those that it names itself, in the aliases of another one."""
    path = os.path.join(target, ALIASES)
    before = read_file(path) or b""
    lines = before.splitlines()
    added = [
        line
        for line in dict.fromkeys([os.fsencode(source), *_lines(source)])
        if line not in lines and _named(line) != target
    ]
    if not added:
        return []
    start = before + b"\n" if before and not before.endswith(b"\n") else before
    return [Write(path, content(start + b"".join(line + b"\n" for line in added)), merge="lines")]


def follow_renames(projects: str, renamed: Mapping[str, str]) -> list[Step]:
    """Let aliases under a projects directory name the folders as they are called after these renames."""
    former: dict[str, list[bytes]] = {}
    wanted: dict[str, list[bytes]] = {}
    # The folders that stay come first: others are merged into them.
    folders = sorted(
        (os.path.join(projects, name) for name in os.listdir(projects)), key=lambda folder: folder in renamed
    )
    for folder in folders:
        lines = _lines(folder)
        target = renamed.get(folder, folder)
        if target == folder or not os.path.lexists(target):
            former.setdefault(target, lines)
        for line in lines:
            place = renamed.get(_named(line))
            fresh = line if place is None else os.fsencode(place)
            if _named(fresh) != target:
                wanted.setdefault(target, []).append(fresh)
    steps: list[Step] = []
    for target in sorted(former):
        lines = list(dict.fromkeys(wanted.get(target, [])))
        if lines != former[target]:
            path = os.path.join(target, ALIASES)
            summary = "" if os.path.isdir(target) else f"rewrite {path}"  # it is not there yet
            steps.append(Write(path, content(b"".join(line + b"\n" for line in lines)), merge="lines", summary=summary))
    return steps


def _lines(folder: str) -> list[bytes]:
    try:
        return (read_file(os.path.join(folder, ALIASES)) or b"").splitlines()
    except (OSError, UsageError):
        return []


def _named(line: bytes) -> str:
    """The folder that a line names; links on the way to it are followed."""
    parent, name = os.path.split(os.fsdecode(line))
    return os.path.join(os.path.realpath(parent), name) if os.path.isabs(parent) else ""
