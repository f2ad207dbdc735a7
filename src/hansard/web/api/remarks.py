"""What the user says about sessions."""

from __future__ import annotations

from collections.abc import Callable

from hansard.model.sessions import Remarks
from hansard.sync.remarking import LONGEST_NOTE, LONGEST_TAG, LONGEST_TITLE
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.api.parameters import SESSION, Number, RequiredText, Text

Handler = Callable[[Call], Remarks]
_PATH = "/api/sessions/{session}"
_TAG = Text("tag", "One word.", LONGEST_TAG)
_TITLE = RequiredText("title", "One line.", LONGEST_TITLE)
_TEXT = RequiredText("text", "The text of the note.", LONGEST_NOTE)
_NUMBER = Number("number", "The first note is number 1.", 1, 1_000_000)


def _remark(
    method: str,
    path: str,
    summary: str,
    handler: Handler,
    *more: Text | Number,
    body: tuple[Text, ...] = (),
) -> Endpoint:
    return Endpoint(method, _PATH + path, summary, handler, Remarks, (SESSION, *more), body=body, writes=True)


def _pin(call: Call) -> Remarks:
    return call.h.pin(call.given["session"])[0]


def _unpin(call: Call) -> Remarks:
    return call.h.pin(call.given["session"], remove=True)[0]


def _tag(call: Call) -> Remarks:
    return call.h.tag(call.given["session"], call.given["tag"])


def _untag(call: Call) -> Remarks:
    return call.h.tag(call.given["session"], call.given["tag"], remove=True)


def _rename(call: Call) -> Remarks:
    return call.h.rename(call.given["session"], call.given["title"])


def _unname(call: Call) -> Remarks:
    return call.h.rename(call.given["session"], None)


def _note(call: Call) -> Remarks:
    return call.h.note(call.given["session"], call.given["text"])


def _unnote(call: Call) -> Remarks:
    return call.h.unnote(call.given["session"], call.given["number"])


def _remarks(call: Call) -> Remarks:
    return call.h.remarks(call.given["session"])


ENDPOINTS = (
    Endpoint(
        "GET", f"{_PATH}/remarks", "Pin, tags, title and notes of a session", _remarks, Remarks, (SESSION,), steady=True
    ),
    _remark("PUT", "/pin", "Pin a session", _pin),
    _remark("DELETE", "/pin", "Unpin a session", _unpin),
    _remark("PUT", "/tags/{tag:path}", "Tag a session", _tag, _TAG),
    _remark("DELETE", "/tags/{tag:path}", "Remove a tag", _untag, _TAG),
    _remark("PUT", "/title", "Rename a session", _rename, body=(_TITLE,)),
    _remark("DELETE", "/title", "Restore the session's own title", _unname),
    _remark("POST", "/notes", "Add a note to a session", _note, body=(_TEXT,)),
    _remark("DELETE", "/notes/{number}", "Remove a note", _unnote, _NUMBER),
)
