"""Scenarios that real clients were recorded in, and histories that several tests read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ARCHIVES = ("real-client", "real-client-2", "real-client-3")
"""Archives with a config directory for each scenario, and beside it what a separate script counted in the raw lines."""


class Recording(NamedTuple):
    """One scenario: the config directory that the client left, and its store."""

    archive: str
    version: str
    name: str
    root: Path
    store: Path

    @property
    def id(self) -> str:
        """The scenario among all others, as a relative path."""
        return f"{self.archive}/{self.version}/{self.name}"

    @property
    def expected(self) -> dict[str, Any]:
        """What EXPECT.json says of each transcript, by its path under projects/."""
        return _read(self.root.parent / "EXPECT.json")


class History(NamedTuple):
    """Config directories and the store that they were synced into."""

    store: Path
    roots: Sequence[Path]


def find_recordings(corpus: Path) -> Iterator[Recording]:
    """Every recorded scenario of the corpus, in order, without its store."""
    for archive in ARCHIVES:
        for root in sorted((corpus / archive).glob("*/*/dot-claude")):
            yield Recording(archive, root.parts[-3], root.parts[-2], root, Path())


@cache
def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found
