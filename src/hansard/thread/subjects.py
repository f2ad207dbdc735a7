"""What the calls of a list are about: their subjects and how their results begin, as a session's thread would show them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hansard.thread.single_calls import read_listed
from hansard.thread.tool_views import output_of, view

if TYPE_CHECKING:
    from hansard.model.calls import Call, CallPage
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_LONGEST = 400  # characters


def with_subjects(reader: Reader, record: Record, page: CallPage, *, outputs: bool = False) -> CallPage:
    """The same page with subjects, and with the beginnings of results where they are wanted."""
    return replace(page, calls=tuple(_told(reader, record, call, outputs=outputs) for call in page.calls))


def _told(reader: Reader, record: Record, call: Call, *, outputs: bool) -> Call:
    if call.path is not None and not outputs:
        return replace(call, subject=call.path)
    found = read_listed(reader, record, call, result=outputs)
    if found is None:
        return replace(call, subject=call.path or "")
    subject = view(replace(found, output=None, patch=None), "").subject if call.path is None else call.path
    output = _first(output_of(found)) if outputs and found.output is not None else None
    return replace(call, subject=_first(subject), output=output)


def _first(text: str) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: _LONGEST * 4].split())[:_LONGEST]
