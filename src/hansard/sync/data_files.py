"""The files of a data directory."""

from __future__ import annotations

import os

RECORD, INDEX, TEXT = "record.db", "index.db", "text.db"
NEW = ".new"  # what a rebuild has not finished yet; of no use to anyone else
REPAIRED = ".repaired"  # a repaired record that is complete and only has to take its place
CHECK = ".check"  # what `verify --full` compares the indexes with


def place(home: str, name: str) -> str:
    """The path of one of the files."""
    return os.path.join(home, name)
