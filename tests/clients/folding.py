"""Folds one file of a client, without a store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hansard.clients.generic_fold import GenericFold
from hansard.clients.state import State

if TYPE_CHECKING:
    from hansard.clients.generic import GenericClient
    from hansard.clients.usage import Stated


def fold_bytes(client: GenericClient, data: bytes, session_id: str = "", *, pieces: int = 1) -> GenericFold:
    """Fold a file that is read in some pieces."""
    state = State()
    fold = client.fold(0, "main", "file", session_id, "", state, lambda _key: None)
    size = max(1, -(-len(data) // pieces))
    lines = client.lines([data[at : at + size] for at in range(0, len(data), size)], 0)
    for offset, line in lines:
        state.lines += 1
        fold.take(line, offset)
    fold.take_rest(lines.rest, lines.offset)
    return fold


def every_line(client: GenericClient, content: bytes) -> list[tuple[int, bytes]]:
    """The lines of a file, with one that is not finished."""
    lines = client.lines([content], 0)
    found = list(lines)
    return [*found, (lines.offset, lines.rest)] if lines.rest else found


def spent(usage: dict[str, Stated], **having: Any) -> tuple[int, int, int, int]:
    """Input, output, cache reads and writes of the messages with some values."""
    chosen = [one for one in usage.values() if all(getattr(one, name) == value for name, value in having.items())]
    return (
        sum(one.input for one in chosen),
        sum(one.output for one in chosen),
        sum(one.cache_read for one in chosen),
        sum(one.cache_write for one in chosen),
    )


def count(fold: GenericFold, kind: str) -> int:
    """How many blocks of a kind there are."""
    return sum(row[2] == kind for row in fold.rows.blocks)


def expectations(corpus: Path, name: str) -> Iterator[tuple[dict[str, Any], Path]]:
    """What a separate script counted in each real file of a client, and the file."""
    folder = corpus / "agents/agents" / name
    if not folder.is_dir():
        pytest.skip("no histories of other agents")
    for row in map(json.loads, (folder / "EXPECT.jsonl").read_text().splitlines()):
        parts = row["file"].split("/")
        found = sorted(
            path for path in folder.rglob(parts[-1]) if path.parts[-min(2, len(parts)) :] == tuple(parts[-2:])
        )
        if found:  # some of the files were left out of the archive
            yield row, found[0]
