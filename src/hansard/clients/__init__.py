"""The clients whose histories are read: one folder for each knows its files, its format and the names of its tools.

`protocol.py` says what a client has to tell; the other modules beside the folders hold what clients share. A package
that is installed adds a client with an entry point in the group `hansard.clients`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.model.tools import CLAUDE_CODE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint

    from hansard.clients.protocol import Client

GROUP = "hansard.clients"
_LONGEST = 1 << 20  # bytes of a package's entry points
__all__ = ["CLAUDE_CODE", "GROUP", "all_clients", "client_of"]


@cache
def client_of(name: str) -> Client:
    if name == CLAUDE_CODE:
        from hansard.clients.claude_code.client import ClaudeCode

        return ClaudeCode()
    for entry_point in _entry_points():
        if entry_point.name == name:
            return _load(entry_point)
    raise UsageError(f"unknown client {name}: install the package that reads its histories again")


def _load(entry_point: EntryPoint) -> Client:
    name = entry_point.name
    try:
        made: Client = entry_point.load()()
    except Exception as error:
        package = entry_point.dist.name if entry_point.dist is not None else "of another package"
        raise UsageError(
            f"client {name} cannot be loaded ({type(error).__name__}: {error}); update or uninstall the package {package}"
        ) from error
    if made.name != name:
        raise UsageError(f"the entry point {name} gives a client called {made.name}: the names must be the same")
    return made


def all_clients() -> list[Client]:
    """Every client there is: those of other packages first, which know their own histories best."""
    return [*(client_of(entry_point.name) for entry_point in _entry_points()), client_of(CLAUDE_CODE)]


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    # importlib.metadata costs more than most commands do otherwise, so it is left alone where there is nothing to find.
    if not any(_declared()):
        return ()
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=GROUP), key=lambda point: point.name))


def _declared() -> Iterator[bool]:
    """Whether installed packages declare clients, one by one."""
    import os
    import sys

    section = f"[{GROUP}]".encode()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:  # `open()` would take twice as long
                    file = os.open(os.path.join(folder, name, "entry_points.txt"), os.O_RDONLY)
                except OSError:
                    continue
                try:
                    text = os.read(file, _LONGEST)
                finally:
                    os.close(file)
                yield section in text
