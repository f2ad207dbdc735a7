"""Search everything that a repository has stored for a text: blobs, messages of commits and tags, unreachable objects included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from hansard.git.repository import GitFailed, Repository, unquoted

_PIECE = 1 << 20
_OVERLAP = 64 << 10  # of two pieces of a large object


class Stored(NamedTuple):
    """Where a repository has a text: the first commit with it, and the file there."""

    commit: str
    """Empty: in an unreachable object."""
    file: str
    """Empty: in the message. Without a commit, the object's hash."""


def find_stored(repository: Repository, pattern: re.Pattern[bytes]) -> list[Stored]:
    """The first commit with each file that has what a pattern finds, and commits and tags that say it."""
    found: list[Stored] = []
    blobs: set[str] = set()
    words = ["cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch"]
    with repository.streaming(words) as stream:
        for name, kind in _matching(stream, pattern):
            if kind == "blob":
                blobs.add(name)
            elif kind in ("commit", "tag"):
                found.append(Stored(name, ""))
    return [*found, *_first_commits(repository, blobs)] if blobs else found


def _matching(stream: BinaryIO, pattern: re.Pattern[bytes]) -> Iterator[tuple[str, str]]:
    while head := stream.readline():
        name, kind, size = head.decode("ascii").split()
        left = int(size)
        rest = b""
        is_found = False
        while left:
            piece = stream.read(min(left, _PIECE))
            if not piece:
                raise GitFailed("git cat-file: ended in the middle of an object")
            left -= len(piece)
            if not is_found and kind != "tree":
                data = rest + piece
                is_found = pattern.search(data) is not None
                rest = data[-_OVERLAP:]
        stream.read(1)
        if is_found:
            yield name, kind


def _first_commits(repository: Repository, blobs: set[str]) -> list[Stored]:
    first: dict[str, str] = {}  # by file
    seen: set[str] = set()
    words = "log --all --reflog --topo-order --reverse --raw --no-abbrev --no-renames -m --root --format=%x01%H".split()
    with repository.streaming(words) as stream:
        commit = ""
        for line in stream:
            if line.startswith(b"\1"):
                commit = line[1:].strip().decode("ascii")
            elif line.startswith(b":"):
                states, _, path = line.rstrip(b"\n").partition(b"\t")
                blob = states.split()[3].decode("ascii")
                if blob in blobs:
                    seen.add(blob)
                    first.setdefault(unquoted(path), commit)
    alone = (Stored("", name) for name in sorted(blobs - seen))
    return [*(Stored(commit, path) for path, commit in sorted(first.items())), *alone]
