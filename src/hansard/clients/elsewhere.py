"""Histories on this machine that are not read: of agents that Hansard does not know, and of clients that are switched off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hansard.clients import BUILT_IN, IMPORTED, places_of
from hansard.model.files import UnreadHistory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

# Where agents keep their conversations whose formats nothing here reads.
_OTHERS = {
    "amp": ("~/.local/share/amp/threads", "$AMP_DATA_DIR/threads"),
    "antigravity": ("~/.gemini/antigravity/conversations",),
    "continue": ("~/.continue/sessions", "$CONTINUE_GLOBAL_DIR/sessions"),
    "droid": ("~/.factory/sessions",),
    "hermes": ("~/.hermes/sessions",),
    "kimi": ("~/.kimi/sessions", "$KIMI_SHARE_DIR/sessions"),
    "kiro": ("~/.kiro/sessions", "~/.local/share/kiro-cli"),
    "openhands": ("~/.openhands/sessions", "~/.openhands/conversations"),
    "pi": ("~/.pi/agent/sessions",),
    "warp": ("~/.local/state/warp-terminal", "~/Library/Application Support/dev.warp.Warp-Stable"),
    "windsurf": ("~/.codeium/windsurf/cascade",),
}
_MOST_FILES = 10_000


def find_unread(
    environ: Mapping[str, str], home: str, roots: Collection[str], switched_off: Collection[str]
) -> list[UnreadHistory]:
    """What is there and not read; `roots` are."""
    read = {os.path.realpath(os.path.expanduser(root)) for root in roots}
    found = {
        name: (places, "read with `hansard import`" if name in IMPORTED else "not supported")
        for name, places in _OTHERS.items()
        if name in IMPORTED or name not in BUILT_IN
    }
    found |= {name: (BUILT_IN[name].places, "switched off") for name in switched_off if name in BUILT_IN}
    return [
        UnreadHistory(name, path, *_count(path), reason)
        for name, (places, reason) in sorted(found.items())
        for path in places_of(places, environ, home)
        if os.path.realpath(path) not in read
    ]


def _count(path: str) -> tuple[int, int]:
    files = size = 0
    for entry in _entries([path]):
        files += 1
        size += entry.stat(follow_symlinks=False).st_size
        if files == _MOST_FILES:
            break
    return files, size


def _entries(waiting: Sequence[str]) -> Iterator[os.DirEntry[str]]:
    folders = list(waiting)
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry
        except OSError:
            continue
