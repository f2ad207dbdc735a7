"""The prepare-commit-msg hook that names the session in commits that it makes: planned here, done and undone by `changes`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hansard.changes.plan import ChangeSet, Rename, Write, content
from hansard.errors import UsageError
from hansard.git.words import TRAILER

if TYPE_CHECKING:
    from hansard.changes.plan import Step
    from hansard.git.repository import Repository

PURPOSE = "git-hook"
_NAME = "prepare-commit-msg"
_BEFORE = f"{_NAME}.before-hansard"
SCRIPT = f"""#!/bin/sh
# Names the Claude Code session in the commits that it makes, as the trailer {TRAILER}.
# Written by `hansard git hook install`; `hansard git hook remove` puts everything back.
before="$(dirname "$0")/{_BEFORE}"
if [ -x "$before" ]; then
    "$before" "$@" || exit $?
fi
# Without a message ($2) an editor is opened, and a person writes it.
if [ -n "$CLAUDE_CODE_SESSION_ID" ] && [ -n "$2" ]; then
    case "$CLAUDE_CODE_SESSION_ID" in
        *[!0-9A-Za-z-]*) ;;
        *) git interpret-trailers --in-place --if-exists addIfDifferent --trailer "{TRAILER}: $CLAUDE_CODE_SESSION_ID" "$1" || : ;;
    esac
fi
exit 0
""".encode()


def plan_hook(repository: Repository) -> ChangeSet:
    """What installing the hook changes; a hook that is there is kept beside it and run first."""
    folder = os.path.realpath(repository.hooks_folder())
    bases = [base for base in (repository.common_folder(), os.path.realpath(repository.root)) if _is_in(folder, base)]
    if not bases:
        raise UsageError(
            f"core.hooksPath is {folder}, which is not in this repository: it is not changed, since others may use it too"
        )
    path = os.path.join(folder, _NAME)
    steps: list[Step] = []
    if os.path.lexists(path):
        steps.append(Rename(path, os.path.join(folder, _BEFORE)))
    steps.append(Write(path, content(SCRIPT), mode=0o755))
    facts = {"repository": os.path.realpath(repository.common_folder())}
    return ChangeSet(PURPOSE, f"{_NAME} hook of {repository.root}", (bases[0],), tuple(steps), facts)


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
