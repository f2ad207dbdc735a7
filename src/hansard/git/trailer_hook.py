"""The prepare-commit-msg hook that names the session in commits that it makes: planned here, done and undone by `changes`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from hansard.changes.plan import ChangeSet, Write, content, read_file
from hansard.errors import UsageError
from hansard.git.commit_message import TRAILER

if TYPE_CHECKING:
    from hansard.git.repository import Repository

PURPOSE = "git-hook"
_NAME = "prepare-commit-msg"
_BEGIN = b"# hansard: begin (`hansard git hook remove` takes this out)\n"
_SHELL = re.compile(rb"#![ \t]*/(?:\S*/)?(?:env[ \t]+(?:\S*/)?)?(?:ba|da|k|z)?sh(?:[ \t][^\n]*)?\n")
# Without a message ($2) an editor is opened, and a person writes it.
_TRAILER = f"""if [ -n "${{CLAUDE_CODE_SESSION_ID-}}" ] && [ -n "${{2-}}" ]; then
    case "$CLAUDE_CODE_SESSION_ID" in
        *[!0-9A-Za-z-]*) ;;
        *) git interpret-trailers --in-place --if-exists addIfDifferent --trailer "{TRAILER}: $CLAUDE_CODE_SESSION_ID" "$1" || : ;;
    esac
fi
exit 0
"""
SCRIPT = (
    b"#!/bin/sh\n"
    + _BEGIN
    + f"# Names the Claude Code session in the commits that it makes, as the trailer {TRAILER}.\n{_TRAILER}".encode()
)
# A hook that is there runs first, as a program of its own: it may end with exec or exit, and many find their files by $0.
# Every line is marked: of a hook that was edited since, no other line is taken out.
_BLOCK = _BEGIN + b"".join(
    line.encode() + b"  # hansard\n"
    for line in f"""if [ -z "${{HANSARD_HOOK-}}" ]; then
HANSARD_HOOK=1 "$0" "$@" || exit $?
{_TRAILER}fi
unset HANSARD_HOOK""".split("\n")
)


def plan_hook(repository: Repository) -> ChangeSet:
    """What installing the hook changes; a shell script that is there gets a block at its beginning, and runs first."""
    folder, bases = _folder(repository)
    if not bases:
        raise UsageError(
            f"core.hooksPath is {folder}, which is not in this repository: it is not changed, since others may use it too"
        )
    path = os.path.join(folder, _NAME)
    facts = {"repository": os.path.realpath(repository.common_folder())}
    existing = read_file(path)
    merge = "" if existing is None else "lines"
    step = Write(path, content(_script(path, existing)), merge=merge, mode=0o755)
    return ChangeSet(PURPOSE, f"{_NAME} hook of {repository.root}", (bases[0],), (step,), facts)


def is_installed(repository: Repository) -> bool:
    """Whether the hook that git runs has our part: tools such as husky write their hooks anew."""
    try:
        return _BEGIN in (read_file(os.path.join(_folder(repository)[0], _NAME)) or b"")
    except UsageError:
        return False


def _script(path: str, existing: bytes | None) -> bytes:
    if existing is None:
        return SCRIPT
    first = _SHELL.match(existing)
    if first is None:
        raise UsageError(
            f"{path} is not a shell script, so it is not changed; let it add the trailer that `hansard git trailer` prints"
        )
    if not os.access(path, os.X_OK):
        raise UsageError(f"{path} is not executable, so git does not run it; it is not changed")
    return existing[: first.end()] + _BLOCK + existing[first.end() :]


def _folder(repository: Repository) -> tuple[str, list[str]]:
    folder = os.path.realpath(repository.hooks_folder())
    bases = (repository.common_folder(), os.path.realpath(repository.root))
    return folder, [base for base in bases if _is_in(folder, base)]


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
