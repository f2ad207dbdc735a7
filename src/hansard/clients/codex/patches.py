"""The patches of `apply_patch`: what each does to which files."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hansard.clients.entries import Change, Content, Hunk
from hansard.lazy_regex import lazy_compile

BEGIN, END = "*** Begin Patch", "*** End Patch"
_FILE = lazy_compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\r?$")
_MOVE = "*** Move to: "
_MOST_FILES = 500
_UPDATED = "Success. Updated the following files:\n"
_HEAD = 400  # characters before that


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


def listed_files(output: str) -> int:
    """How many files an output of `apply_patch` says were changed; 0 for any other output."""
    start = output.find(_UPDATED, 0, _HEAD)
    if start < 0:
        return 0
    lines = output[start + len(_UPDATED) :].strip("\n").split("\n")
    return min(sum(line[:2] in ("A ", "M ", "D ") for line in lines), _MOST_FILES)


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
