"""Telling the client that a project was moved: one line that names its former history folder, or the folder renamed and its path rewritten.

The client finds a project's sessions by the name of their folder under `projects/`, which comes from the working directory, and in
the folders that `.session-aliases` names in there. Nothing else matters to `--continue`, `--resume` and its picker.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hansard.changes.journal import journals, list_journals
from hansard.changes.json_text import dump_like, load_object
from hansard.changes.plan import ChangeSet, Rename, Step, Write, content, preview, read_file
from hansard.clients.claude_code.layout import encode_project
from hansard.clients.claude_code.roots import running_sessions
from hansard.errors import UsageError
from hansard.files import is_alive
from hansard.model.names import is_windows, moved_path
from hansard.render.format import many
from hansard.sources.roots import Root

ALIASES = ".session-aliases"


def add_alias(source: str, target: str) -> list[Step]:
    """Add a history folder and its own aliases to the aliases of another one."""
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
    """Update the aliases under a projects directory after renames of folders."""
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
            summary = "" if os.path.isdir(target) else f"rewrite {path}"  # it does not exist yet
            steps.append(Write(path, content(b"".join(line + b"\n" for line in lines)), merge="lines", summary=summary))
    return steps


def _lines(folder: str) -> list[bytes]:
    try:
        return (read_file(os.path.join(folder, ALIASES)) or b"").splitlines()
    except (OSError, UsageError):
        return []


def _named(line: bytes) -> str:
    """The folder that a line names, with links resolved."""
    parent, name = os.path.split(os.fsdecode(line))
    return os.path.join(os.path.realpath(parent), name) if os.path.isabs(parent) else ""


Moved = Callable[[str], str | None]
"""The new place of a path; None if it was not moved."""


def rewrite_lines(path: str, key: str, moved: Moved) -> Iterator[bytes]:
    """The lines of a file with the top-level value of a key replaced if it was moved; lines that are not JSON stay."""
    name = re.compile(rb'(?<!\\)"%s"\s*:\s*("(?:[^"\\]|\\.)*+")' % key.encode())
    with open(path, "rb") as file:
        for line in file:
            yield _rewritten(line, key, name, moved)


def count_lines(path: str, key: str, moved: Moved) -> int:
    """How many lines would be changed."""
    with open(path, "rb") as file:
        return sum(old != new for old, new in zip(file, rewrite_lines(path, key, moved), strict=False))


def _rewritten(line: bytes, key: str, name: re.Pattern[bytes], moved: Moved) -> bytes:
    if not name.search(line):
        return line
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    former = value.get(key) if isinstance(value, dict) else None
    target = moved(former) if isinstance(former, str) else None
    if target is None or target == former:
        return line
    wanted = {**value, key: target}
    for found in name.finditer(line):
        fresh = line[: found.start(1)] + json.dumps(target, ensure_ascii=False).encode() + line[found.end(1) :]
        if json.loads(fresh) == wanted:  # else the key was nested
            return fresh
    return line


PURPOSE = "move"
_IGNORED = frozenset({ALIASES})


class MovePlan(Struct, frozen=True):
    """A planned move."""

    old: str
    new: str
    folders: tuple[
        tuple[str, str], ...
    ]  # history folders with what they were and are to be called, or with their alias
    changes: ChangeSet
    lines: tuple[str, ...]  # the changes, for people
    warnings: tuple[str, ...]


def apply_move(home: str, plan: MovePlan) -> None:
    """Apply a planned move, unless it was made before and would change nothing."""
    known = [(item.facts["old"], item.facts["new"]) for item in list_journals(home, PURPOSE)]
    if plan.changes.steps or (plan.old, plan.new) not in known:
        with journals(home) as open_journals:
            open_journals.apply(plan.changes)


def plan_move(
    roots: Sequence[Root],
    folders: Iterable[tuple[str, str, str]],
    old: str,
    new: str,
    *,
    rename: bool = False,
    rewrite_cwd: bool = False,
) -> MovePlan:
    """Plan a move; `folders` are the root, history folder and working directory of every session that is known."""
    old, new = _checked(old), _checked(new)
    if os.path.isdir(new):
        new = os.path.realpath(new)  # the client names the folder by the real path
    if old == new or moved_path(new, old, new) is not None or moved_path(old, new, old) is not None:
        raise UsageError(f"{old} and {new} are the same folder, or one is inside the other")
    warnings = []
    if not is_windows(new) and not os.path.isdir(new):
        warnings.append(f"{new} does not exist")
    if os.path.isdir(old):
        warnings.append(f"{old} still exists: its own new sessions count for {new} too")
    known = sorted(set(folders))
    steps: list[Step] = []
    pairs: list[tuple[str, str]] = []
    bases: list[str] = []
    for root in roots:
        found = _history_folders(root, known, old, new)
        if not found:
            continue
        projects = os.path.realpath(root.transcripts)
        bases += [root.config or projects] if projects == root.transcripts else [root.config or projects, projects]
        if rename:
            _refuse_running(root, old)
        for source, target in found:
            if others := _other_projects(root, known, os.path.basename(source), old):
                told = f"{source} also holds sessions of {', '.join(others)}, whose history folder has the same name"
                if rename:
                    raise UsageError(f"{told}; --rename would move them too: leave it out")
                warnings.append(f"{told}: the client will list them in {new} too")
            pairs.append((source, target))
            steps += _moved_folder(source, target, old, new, rewrite_cwd) if rename else add_alias(source, target)
        if rename:
            steps += follow_renames(projects, dict(found))
        if rename and root.config is not None:
            steps += _config_steps(root.config, old, new, bases, warnings)
    changes = ChangeSet(PURPOSE, f"move of {old} to {new}", tuple(bases), tuple(steps), {"old": old, "new": new})
    return MovePlan(old, new, tuple(pairs), changes, tuple(preview(changes)), tuple(warnings))


def _checked(path: str) -> str:
    if is_windows(path):
        return path.rstrip("/\\")
    path = os.path.normpath(os.path.expanduser(path))
    path = path if os.path.isabs(path) else os.path.abspath(path)
    if path == os.sep:
        raise UsageError("the root of the file system cannot be moved")
    return path


def _history_folders(root: Root, known: Iterable[tuple[str, str, str]], old: str, new: str) -> list[tuple[str, str]]:
    """The history folders of the moved folder and of all folders in it, with what they are called at the new place."""
    names = {encode_project(old): new}
    for path, folder, cwd in known:
        target = moved_path(cwd, old, new)
        # A history folder is named after the session's first working directory.
        if path == root.path and target is not None and encode_project(cwd) == folder:
            names[folder] = target
    projects = os.path.realpath(root.transcripts)
    found = []
    for folder, target in sorted(names.items()):
        source = os.path.join(projects, folder)
        if os.path.isdir(source) and folder != encode_project(target):
            found.append((source, os.path.join(projects, encode_project(target))))
    return found


def _other_projects(root: Root, known: Iterable[tuple[str, str, str]], folder: str, old: str) -> list[str]:
    """Working directories outside of the moved folder whose history folder has the same name."""
    return sorted(
        cwd
        for path, name, cwd in known
        if path == root.path and name == folder and encode_project(cwd) == folder and moved_path(cwd, old, old) is None
    )


def _moved_folder(source: str, target: str, old: str, new: str, rewrite_cwd: bool) -> list[Step]:
    steps: list[Step] = []
    if os.path.lexists(target):
        _merge(source, target, steps)
    else:
        steps.append(Rename(source, target))
    if not rewrite_cwd:
        return steps

    def moved(path: str) -> str | None:
        return moved_path(path, old, new)

    for folder, _, names in sorted(os.walk(source)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith(".jsonl") or os.path.islink(path):
                continue
            place = target + path[len(source) :]
            if count := count_lines(path, "cwd", moved):
                # The file is read at its new place: the rename comes first.
                steps.append(_rewrite(place, "cwd", moved, f"rewrite cwd in {many(count, 'line')} of {place}"))
    return steps


def _rewrite(path: str, key: str, moved: Callable[[str], str | None], summary: str) -> Write:
    return Write(path, lambda: rewrite_lines(path, key, moved), merge="lines", keep_date=True, summary=summary)


def _merge(source: str, target: str, steps: list[Step]) -> None:
    """Merge a folder into an existing one; files in both must be equal."""
    for name in sorted(os.listdir(source)):
        here, there = os.path.join(source, name), os.path.join(target, name)
        if name in _IGNORED:
            continue
        if not os.path.lexists(there):
            steps.append(Rename(here, there))
        elif os.path.isdir(here) and os.path.isdir(there) and not os.path.islink(there):
            _merge(here, there, steps)
        elif read_file(here) != read_file(there):
            raise UsageError(f"{here} and {there} both exist and differ; move one of them away, or leave out --rename")


def _config_steps(config: str, old: str, new: str, bases: list[str], warnings: list[str]) -> list[Step]:
    def moved(path: str) -> str | None:
        return moved_path(path, old, new)

    steps: list[Step] = []
    history = os.path.join(config, "history.jsonl")
    if os.path.isfile(history) and (count := count_lines(history, "project", moved)):
        steps.append(_rewrite(history, "project", moved, f"rewrite project in {many(count, 'line')} of {history}"))
    path = os.path.join(config, ".claude.json")
    if not os.path.exists(path) and os.path.basename(config) == ".claude":
        path = os.path.join(os.path.dirname(config), ".claude.json")
    before = read_file(path)
    if before is None:
        return steps
    value = load_object(before, path)
    projects = value.get("projects")
    if isinstance(projects, dict) and any(moved(key) for key in projects):
        value["projects"] = _renamed_keys(projects, moved, warnings)
        if value["projects"] != projects:
            if os.path.dirname(path) not in bases:
                bases.append(os.path.dirname(path))
            steps.append(Write(path, content(dump_like(value, before)), merge="json"))
    return steps


def _renamed_keys(projects: dict[str, Any], moved: Callable[[str], str | None], warnings: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in projects.items():
        target = moved(key)
        if target is not None and target in projects:
            warnings.append(f".claude.json already has {target}: the settings of {key} stay where they are")
            target = None
        result[target or key] = value
    return result


def _refuse_running(root: Root, old: str) -> None:
    for session in running_sessions(root):
        cwd, pid = session.get("cwd"), session.get("pid")
        if not isinstance(cwd, str) or moved_path(cwd, old, old) is None or not isinstance(pid, int) or pid <= 0:
            continue
        if os.name == "posix" and is_alive(pid):  # elsewhere it cannot be asked, and a killed client leaves its note
            raise UsageError(f"Claude Code is running in {cwd} (process {pid}): end it first, or leave out --rename")
