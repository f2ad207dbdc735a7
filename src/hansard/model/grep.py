"""What a regular expression finds in the verbatim record."""

from __future__ import annotations

from msgspec import Struct


class GrepFile(Struct, frozen=True):
    """A file of the record that was searched: one generation of a log, or one state of a small file."""

    root: str
    path: str
    kind: str
    generation: int
    current: bool
    size: int
    session_id: str
    agent_id: str


class GrepLine(Struct, frozen=True):
    """A line of the record that matches, or one near it; bytes are counted from the line's beginning."""

    file: GrepFile
    line: int  # from 1
    offset: int  # of the line in the file
    length: int  # without the line break
    start: int | None  # of the match; None for a line of context
    end: int | None
    text: bytes  # what was asked for: the stretch around the match, the match alone, or the whole line
    text_at: int  # where in the line the text begins


class GrepCount(Struct, frozen=True):
    """How many lines of a file match."""

    file: GrepFile
    matched_lines: int
