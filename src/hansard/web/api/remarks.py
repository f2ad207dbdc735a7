"""What the user says about sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import defstruct

from hansard.model.requests import SessionRequest, about
from hansard.model.sessions import LONGEST_NOTE, LONGEST_TAG, LONGEST_TITLE, PinnedMessage, Remarks
from hansard.web.api.endpoint import Call, Endpoint

if TYPE_CHECKING:
    from hansard.engine import Hansard

_PATH = "/api/sessions/{session}"


class TagRequest(SessionRequest, frozen=True, kw_only=True):
    """A tag of a session."""

    tag: Annotated[str | None, about("One word.", longest=LONGEST_TAG)] = None


class TitleRequest(SessionRequest, frozen=True, kw_only=True):
    """A title for a session."""

    title: Annotated[str, about("One line.", longest=LONGEST_TITLE)]


class NoteRequest(SessionRequest, frozen=True, kw_only=True):
    """A note on a session."""

    text: Annotated[str, about("The text of the note.", longest=LONGEST_NOTE)]


class MessageRequest(SessionRequest, frozen=True, kw_only=True):
    """A message of a session."""

    message: Annotated[str, about("Its uuid, or the beginning of it.", longest=200)]


class NoteNumberRequest(SessionRequest, frozen=True, kw_only=True):
    """One of the notes on a session."""

    number: Annotated[int, about("The first note is number 1.", ge=1, le=1_000_000)]


def _remark(
    method: str,
    path: str,
    summary: str,
    change: Callable[[Hansard, Any], Remarks],
    request: type[SessionRequest] = SessionRequest,
) -> Endpoint:
    def handler(call: Call) -> Remarks:
        return change(call.h, call.request)

    return Endpoint(_PATH + path, summary, handler, Remarks, request, writes=True, method=method)


ENDPOINTS = (
    Endpoint(
        f"{_PATH}/remarks",
        "Pins, tags, title and notes of a session",
        lambda call: call.h.remarks(call.request.session),
        Remarks,
        SessionRequest,
        has_etag=True,
    ),
    _remark("PUT", "/pin", "Pin a session", lambda h, given: h.pin(given.session)[0]),
    _remark("DELETE", "/pin", "Unpin a session", lambda h, given: h.pin(given.session, remove=True)[0]),
    Endpoint(
        f"{_PATH}/pins",
        "Pinned messages of a session",
        lambda call: {"pins": call.h.pinned_messages(call.request.session)},
        defstruct("Pins", [("pins", list[PinnedMessage])], module=__name__),
        SessionRequest,
        has_etag=True,
    ),
    _remark(
        "PUT",
        "/pins/{message}",
        "Pin a message",
        lambda h, given: h.pin_message(given.session, given.message),
        MessageRequest,
    ),
    _remark(
        "DELETE",
        "/pins/{message}",
        "Unpin a message",
        lambda h, given: h.pin_message(given.session, given.message, remove=True),
        MessageRequest,
    ),
    _remark("PUT", "/tags/{tag:path}", "Tag a session", lambda h, given: h.tag(given.session, given.tag), TagRequest),
    _remark(
        "DELETE",
        "/tags/{tag:path}",
        "Remove a tag",
        lambda h, given: h.tag(given.session, given.tag, remove=True),
        TagRequest,
    ),
    _remark("PUT", "/title", "Rename a session", lambda h, given: h.rename(given.session, given.title), TitleRequest),
    _remark("DELETE", "/title", "Restore the session's own title", lambda h, given: h.rename(given.session, None)),
    _remark(
        "POST", "/notes", "Add a note to a session", lambda h, given: h.note(given.session, given.text), NoteRequest
    ),
    _remark(
        "DELETE",
        "/notes/{number}",
        "Remove a note",
        lambda h, given: h.unnote(given.session, given.number),
        NoteNumberRequest,
    ),
)
