"""Paths inside of JSON lines: one value replaced, every other byte as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

Moved = Callable[[str], str | None]
"""Where a path is now; None where it stays."""


def rewrite_lines(path: str, key: str, moved: Moved) -> Iterator[bytes]:
    """The lines of a file with the top-level value of a key replaced where it was moved; lines that are no JSON stay."""
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
        if json.loads(fresh) == wanted:  # else the key stood deeper inside
            return fresh
    return line
