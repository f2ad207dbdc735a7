"""Directories as roots: which client wrote what is in them."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from hansard.clients import likely_clients, usual_clients
from hansard.errors import UsageError
from hansard.sources.names import printable
from hansard.sources.roots import OPTIONAL, FileKind, Root, path_inside


def default_root_paths(environ: Mapping[str, str], home: str, without: Collection[str] = ()) -> list[str]:
    """The roots of a user who named none, except those of some clients."""
    return [path for client in usual_clients(environ, home, without) for path in client.default_roots(environ, home)]


def open_root(path: str) -> Root:
    """Open a directory as a root; raise UsageError if it is not one."""
    for client in likely_clients(path):
        root = client.open_root(path)
        if root is not None:
            return root
    raise UsageError(f"{printable(path)}: no client's history")


def open_roots(
    paths: Sequence[str],
    *,
    follow_links: Iterable[str] = (),
    data_directory: str = "",
    not_stored: Iterable[str] = (),
) -> list[Root]:
    """Take directories as roots, each tree once, each with a name of its own.

    Links in them are followed to `follow_links` too, which are other directories, and never into `data_directory`. Files of the kinds
    `not_stored` are passed over.
    """
    skipped = frozenset[FileKind]().union(*map(_optional, not_stored))
    allowed = tuple(os.path.realpath(os.path.expanduser(path)) for path in follow_links)
    own = os.path.realpath(data_directory) if data_directory else ""
    roots: list[Root] = []
    for root in map(open_root, paths):
        if not any(_same_dir(root.path, other.path) for other in roots):
            roots.append(root)
    kept = [root for root in roots if not _is_part(root, roots)]
    taken: set[str] = set()
    named = []
    for root in kept:
        name, number = root.name, 1
        while name.casefold() in taken:  # names become directories, also where case does not count
            number += 1
            name = f"{root.name}-{number}"
        taken.add(name.casefold())
        if root.path == own and root.config is None:
            raise UsageError(f"{printable(root.path)}: Hansard's own data directory; name another root")
        named.append(replace(root, name=name, follow_links=allowed, data_directory=own, skipped=skipped))
    return named


def _optional(name: str) -> frozenset[FileKind]:
    if name not in OPTIONAL:
        raise UsageError(f"{name!r} is nothing that can be left out; choose from {', '.join(OPTIONAL)}")
    return OPTIONAL[name]


def _is_part(root: Root, roots: Sequence[Root]) -> bool:
    """Tell whether a bare projects directory is read through another root anyway."""
    if root.config is not None:
        return False
    for other in roots:
        if other is root:
            continue
        if (
            _same_dir(root.path, other.transcripts)
            or path_inside(os.path.realpath(other.transcripts), root.path) is not None
        ):
            return True
    return False


def _same_dir(one: str, two: str) -> bool:
    if one == two:
        return True
    try:
        return os.path.samefile(one, two)
    except OSError:
        return False
