"""Sessions as files: one, drawn piece by piece while it is sent, or several in a zip file."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import IO, TYPE_CHECKING, Annotated

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.export.formats import draw
from hansard.export.names import name_sessions
from hansard.model.gate import count_anew
from hansard.model.requests import about
from hansard.web.engine_pool import outgoing_engines
from hansard.web.pages.session.show import find_by_id, zone_of
from hansard.web.parameters import read_params
from hansard.web.responses import refuse_verbatim

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from hansard.web.engine_pool import EnginePool

_MOST = 100  # sessions in one file: their ids must go into an address
_MOST_BYTES = 1 << 30  # of their transcripts
_IN_MEMORY = 8 << 20
_PIECE = 1 << 18
FORMS = {
    "html": ("html", "text/html; charset=utf-8"),
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "json": ("json", "application/json"),
    "jsonl": ("jsonl", "application/x-ndjson"),
}
"""The ending and the type of each."""


class DownloadRequest(Struct, frozen=True, kw_only=True):
    """The format of a file."""

    format: Annotated[str, about("Its format.", choices=FORMS)] = "html"


def _engines(request: Request, form: str) -> EnginePool:
    """The engines that redact as a file wants it; a transcript is verbatim, or not to be had."""
    if form != "jsonl":
        return outgoing_engines(request)
    refuse_verbatim(request)
    engines: EnginePool = request.app.state.engines
    return engines


async def download_one(request: Request) -> Response:
    """The session in one of the formats; jsonl is its transcript, byte for byte."""
    form = read_params(request, DownloadRequest).format
    engines = _engines(request, form)
    session_id = request.path_params["session_id"]

    def found(h: Hansard) -> Session:
        session = find_by_id(h, session_id)
        if form == "jsonl":
            _ = h.read(session).transcript  # raises if there is none
        return session

    session = await engines.read(found)
    ending, media_type = FORMS[form]
    name = f"{name_sessions([session], {})[session_id]}.{ending}"
    return StreamingResponse(
        _pieces(engines, session, form, zone_of(request)),
        media_type=media_type,
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def _pieces(engines: EnginePool, session: Session, form: str, zone: tzinfo) -> Iterator[bytes]:
    """With an engine of its own, so that other requests keep theirs while this one is sent."""
    with engines.engine() as h, h.at_once():
        thread = h.read(session.session_id)  # so that secrets in its title are counted
        yield from thread.raw() if form == "jsonl" else draw(form, thread, zone=zone, now=datetime.now(UTC))


# -- several


class BulkExportRequest(DownloadRequest, frozen=True, kw_only=True):
    """Sessions and the format of their files."""

    sessions: Annotated[Sequence[str], about("The whole id of each.", http="session", most=_MOST)] = ()


async def download_several(request: Request) -> Response:
    """The sessions that `session` names, each as a file of one format; jsonl is the transcript, byte for byte."""
    asked = read_params(request, BulkExportRequest)
    form, names = asked.format, list(dict.fromkeys(name for name in asked.sessions if name))
    if not names:
        raise UsageError("missing parameter 'session'")
    zone = zone_of(request)

    engines = _engines(request, form)
    sessions = await engines.read(lambda h: [find_by_id(h, name) for name in names])

    if sum(session.bytes for session in sessions) > _MOST_BYTES:
        raise UsageError("these sessions are too large for one download: select fewer, or use `hansard export`")

    def packed() -> IO[bytes]:
        called = name_sessions(sessions, {})
        file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it is closed when it was sent
        # With an engine of its own, as a single download.
        with engines.engine() as h, h.at_once(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for session in sessions:
                count_anew(h.redact)
                thread = h.read(session.session_id)
                if form == "jsonl" and not thread.has_log:  # only its subagents are kept
                    continue
                pieces = thread.raw() if form == "jsonl" else draw(form, thread, zone=zone, now=datetime.now(UTC))
                with archive.open(f"{called[session.session_id]}.{FORMS[form][0]}", "w", force_zip64=True) as member:
                    for piece in pieces:
                        member.write(piece)
        file.seek(0)
        return file

    file = await run_in_threadpool(packed)
    headers = {"content-disposition": 'attachment; filename="sessions.zip"'}
    return StreamingResponse(_sent(file), media_type="application/zip", headers=headers)


def _sent(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece


ROUTES = [Route("/sessions/{session_id}/export", download_one), Route("/export/sessions.zip", download_several)]
