"""The export formats and their file extensions."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from functools import partial
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.model.display import Picture
    from hansard.thread.thread import Thread

DRAWN = ("html", "markdown", "json", "jsonl")
SHARED = ("atif", "traces", "otlp")
"""Formats for other people's tools."""
TABULAR = ("csv", "parquet")
SEARCHED = ("bulk",)
"""Formats for search engines."""
FORMATS = (*DRAWN, *TABULAR, *SHARED, *SEARCHED)
LINES = ("jsonl", "otlp")
"""Formats that may have many sessions in one file."""
ENDINGS = {
    "html": (".html", ".htm"),
    "markdown": (".md", ".markdown"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "parquet": (".parquet",),
    "atif": (".atif.json", ".json"),
    "traces": (".trace.jsonl", ".jsonl"),
    "otlp": (".otlp.jsonl", ".jsonl"),
    "bulk": (".bulk.ndjson",),
}
# No type that a browser would run when the file is opened.
_PICTURES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "application/pdf": ".pdf",
}

Keep = Callable[[str, bytes], str]
"""Takes the name and the content of a file that belongs to a drawing; gives the address to write into it."""


def find_format(given: str | None, to: str) -> str:
    """The given format, or the one that the file extension implies."""
    if given is not None:
        if given not in FORMATS:
            raise UsageError(f"unknown format {given!r}; choose from {', '.join(FORMATS)}")
        return given
    fitting = [(-len(ending), form) for form in FORMATS for ending in ENDINGS[form] if to.lower().endswith(ending)]
    if fitting:  # the longest, and of equal ones the first
        return min(fitting, key=lambda one: one[0])[1]
    raise UsageError(f"choose a format with --format {'|'.join(FORMATS)}")


def is_file(to: str, form: str) -> bool:
    """Whether a path names one file of that format, not a folder."""
    return to.lower().endswith(ENDINGS[form]) and not os.path.isdir(to)


def draw(
    form: str, thread: Thread, keep: Keep | None = None, *, zone: tzinfo, home: str = "", now: datetime | None = None
) -> Iterator[bytes]:
    """A session in one of the formats, in pieces; `home` is the address of the page that lists it, `now` the time in its footer.

    Without `keep` there is nowhere to put the pictures of Markdown.
    """
    if form == "html":
        from hansard.render.html import page

        for piece in page(thread, home=home, now=now, zone=zone):
            yield piece.encode("utf-8", "replace")
    elif form == "markdown":
        from hansard.render.markdown import lines

        picture = None if keep is None else partial(_kept, keep=keep)
        for line in lines(thread, picture=picture, zone=zone):
            yield line.encode("utf-8", "replace") + b"\n"
    elif form == "atif":
        from hansard.render import atif

        yield from atif.pieces(thread, None if keep is None else partial(_kept, keep=keep))
    elif form in (*SHARED, *SEARCHED):
        yield from import_module(f"hansard.render.{form}").lines(thread)
    elif form == "json":
        from hansard.render.document import pieces

        yield from pieces(thread)
    else:
        from hansard.render.document import lines as json_lines

        yield from json_lines(thread)


def not_included(form: str) -> tuple[str, ...]:
    """What a format leaves out; empty for Hansard's own."""
    if form not in (*SHARED, *SEARCHED):
        return ()
    found: tuple[str, ...] = import_module(f"hansard.render.{form}").NOT_INCLUDED
    return found


def _kept(picture: Picture, keep: Keep) -> str | None:
    """Store a picture beside the file; returns its address, or None if its data is invalid."""
    try:
        content = base64.b64decode(picture.data, validate=False)
    except (binascii.Error, ValueError):
        return None
    ending = _PICTURES.get(picture.media_type.lower(), ".bin")
    return keep(sha256(content).hexdigest()[:16] + ending, content) if content else None
