"""The patches of `apply_patch`, which several clients have: what each does to which files."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients.entries import Change, Content, Hunk
from hansard.clients.generic import Block, with_files
from hansard.clients.tools import Edit, Patch, Write
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN, END = "*** Begin Patch", "*** End Patch"
_FILE = lazy_compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\r?$")
_PARAMETERS = ("input", "patch", "patchText")
_MOVE = "*** Move to: "
_MOST_FILES = 500


class FilePatch(Struct, frozen=True):
    """What a patch does to one file."""

    action: str  # Add, Update or Delete
    path: str
    moved_to: str
    text: str  # the part of the patch
    hunks: list[list[str]]

    @property
    def change(self) -> str:
        """The same in neutral terms; a deletion writes nothing."""
        return {"Add": "create", "Update": "edit"}.get(self.action, "")

    @property
    def changes(self) -> list[Change]:
        """What is written."""
        if self.action == "Add":
            return [Content([line[1:] for hunk in self.hunks for line in hunk if line[:1] == "+"])]
        return [Hunk(hunk) for hunk in self.hunks] if self.action == "Update" else []

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What else happens to the file."""
        if self.action == "Delete":
            return (("deleted", "yes"),)
        return (("moved to", self.moved_to),) if self.moved_to else ()

    @property
    def edits(self) -> list[tuple[str, str]]:
        """The text of each hunk before and after."""
        return [("\n".join(_side(hunk, "-")), "\n".join(_side(hunk, "+"))) for hunk in self.hunks]


def _side(hunk: list[str], sign: str) -> list[str]:
    return [line[1:] for line in hunk if line[:1] in (" ", sign)]


def patch_of(command: str) -> str:
    """The patch that a shell command gives to `apply_patch`, which the client applies itself; empty for any other command."""
    start, end = command.find(BEGIN), command.rfind(END)
    head = command[:start].split("\n", 1)[0].strip() if start >= 0 else ""
    is_patch = 0 <= start < end and head.split("&&")[-1].split()[:1] in (["apply_patch"], ["applypatch"])
    return command[start : end + len(END)] if is_patch else ""


def patch_in(given: Any) -> str:
    """The patch that a call was given, by itself or as one of its parameters; empty if there is none."""
    texts = (given,) if isinstance(given, str) else map(given.get, _PARAMETERS) if isinstance(given, dict) else ()
    return next((text for text in texts if isinstance(text, str) and BEGIN in text), "")


def patch_blocks(call: Block, patch: str, folder: str) -> list[Block]:
    """A call with the files that a patch changes; relative paths are in `folder`."""
    files = [(absolute(folder, one.moved_to or one.path), one.change, one.changes) for one in read_patch(patch)]
    return with_files(call, files)


def patch_input(patch: str) -> Patch | None:
    """A patch as it is shown; None if it names no file."""
    files = [
        Write(one.path, "\n".join(line[1:] for hunk in one.hunks for line in hunk))
        if one.action == "Add"
        else Edit(one.path, one.edits, one.facts)
        for one in read_patch(patch)
    ]
    return Patch(files) if files else None


def absolute(folder: str, path: str) -> str:
    """A path that a client wrote relative to a folder, perhaps of Windows."""
    if not path or path.startswith(("/", "~")) or path[1:3] == ":\\" or not folder:
        return path
    return f"{folder.rstrip(chr(92))}\\{path}" if "\\" in folder else posixpath.normpath(posixpath.join(folder, path))


def read_patch(patch: str) -> Iterator[FilePatch]:
    """The files of a patch, in order."""
    action = path = moved_to = ""
    lines: list[str] = []
    hunks: list[list[str]] = []
    count = 0
    for line in patch.split("\n"):
        found = _FILE.match(line) if line.startswith("*** ") else None
        if found is None and not line.startswith((BEGIN, END)):
            lines.append(line)
            if line.startswith(_MOVE):
                moved_to = line[len(_MOVE) :].strip()
            elif line.startswith("@@"):
                hunks.append([])
            elif line[:1] in ("+", "-", " ") or (not line and hunks and action == "Update"):
                if not hunks:
                    hunks.append([])
                hunks[-1].append(line or " ")
            continue
        if action and count < _MOST_FILES:
            count += 1
            yield FilePatch(action, path, moved_to, "\n".join(lines), [hunk for hunk in hunks if hunk])
        action, path = (found[1], found[2].strip()) if found is not None else ("", "")
        lines, hunks, moved_to = [line], [], ""
    if action and count < _MOST_FILES:
        yield FilePatch(action, path, moved_to, "\n".join(lines), [hunk for hunk in hunks if hunk])
