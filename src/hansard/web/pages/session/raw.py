"""Verbatim lines, and texts that are too long for the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Struct
from starlette.responses import HTMLResponse, Response, StreamingResponse

from hansard.errors import NotFound
from hansard.model.display import Code
from hansard.model.requests import about
from hansard.render.html.parts import code_html
from hansard.thread.store import LAST_OFFSET, Window
from hansard.web.pages.session.show import MANY, ThreadRequest, find_by_id, read_thread
from hansard.web.parameters import read_params
from hansard.web.responses import engine_route, html, page, refuse_verbatim

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.thread.locate import RawLine
    from hansard.thread.thread import Thread
    from hansard.web.engine_pool import EnginePool

SHOWN = 128 << 10
"""Bytes of a line that a page shows verbatim."""
PRETTY = 512 << 10
"""Bytes of the longest line that is also shown indented."""
_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,100}")


class RawLineRequest(Struct, frozen=True, kw_only=True):
    """A line of a transcript."""

    transcript: Annotated[str | None, about("The path of the transcript; that of the thread by default.")] = None
    agent: Annotated[str | None, about("The whole id of a subagent.")] = None
    generation: Annotated[int | None, about("The generation of the transcript.", ge=1, le=MANY)] = None
    offset: Annotated[int, about("Where the line begins.", ge=0, le=LAST_OFFSET)] = 0
    form: Annotated[str, about("What is sent.", choices=("page", "piece", "bytes"))] = "page"


class TextRequest(ThreadRequest, frozen=True, kw_only=True):
    """A part of an item."""

    item: Annotated[str, about("The anchor of the item.")] = ""
    part: Annotated[int, about("The number of the part.", ge=0, le=1_000_000)] = 0


async def raw(request: Request) -> Response:
    """A verbatim line: as a page, as a piece of one, or as bytes."""
    refuse_verbatim(request)
    asked = read_params(request, RawLineRequest)
    engines: EnginePool = request.app.state.engines
    session_id = str(request.path_params["session_id"])

    def found(h: Hansard) -> tuple[Thread, RawLine]:
        thread = read_thread(h, find_by_id(h, session_id), None if asked.transcript is not None else asked.agent)
        return thread, thread.raw_line(asked.offset, asked.transcript, asked.generation)

    if asked.form == "bytes":
        line = await engines.read(lambda h: found(h)[1])
        return StreamingResponse(
            _bytes(engines, session_id, line),
            media_type="application/octet-stream",
            headers={
                "content-disposition": f'attachment; filename="{_name(session_id)}-{line.offset}.json"',
                "content-length": str(line.length),
            },
        )

    def values(h: Hansard) -> dict[str, Any]:
        thread, line = found(h)
        data = b"".join(thread.raw(line, PRETTY if line.length <= PRETTY else SHOWN))
        return {
            "line": line,
            "session_id": session_id,
            "agent": asked.agent,
            "generation": asked.generation,
            "verbatim": data[:SHOWN].decode("utf-8", "replace"),
            "left": line.length - min(line.length, SHOWN),
            "pretty": _pretty(data) if line.length <= PRETTY else "",
        }

    about = await engines.read(values)
    if asked.form == "piece":
        return HTMLResponse(page("session_raw_line.html", whole=False, **about))
    return html(request, "session_raw.html", title="Raw line", at="/sessions", whole=True, **about)


@engine_route(TextRequest.of)
def text(h: Hansard, _: Request, wanted: TextRequest) -> Response:
    """The whole text of a part of an item, as plain text."""
    thread = read_thread(h, find_by_id(h, wanted.session_id), wanted.agent)
    if thread.has_log and wanted.at >= 0:
        line = thread.raw_line(wanted.at)
        end = line.offset + line.length + 1
        for turn in thread.window(Window(line.offset, end, thread.windows.number(line.offset), is_cut=True)):
            for item in turn.items:
                parts = (*item.parts, *item.results)
                if item.anchor == wanted.item and wanted.part < len(parts):
                    found = getattr(parts[wanted.part], "text", "")
                    return Response(found.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8")
    raise NotFound("there is no such text in this session")


def _bytes(engines: EnginePool, session_id: str, line: RawLine) -> Iterator[bytes]:
    with engines.engine() as h:
        yield from h.read(session_id).raw(line)


def _pretty(data: bytes) -> str:
    """Indent a JSON line; numbers, escapes and duplicate keys are kept."""
    try:
        ordered = msgspec.json.format(data, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return code_html(Code(ordered.decode("utf-8", "replace"), "json"), is_open=True)


def _name(session_id: str) -> str:
    """A session's id, if it is safe as a file name."""
    return session_id if _PLAIN.fullmatch(session_id) else "session"
