"""Forgetting a session: a page with what would be erased, and the form on it that erases just that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from starlette.responses import PlainTextResponse

from hansard.errors import UsageError
from hansard.model.requests import about
from hansard.render.erasing import receipt_words
from hansard.render.format import title_of
from hansard.render.html.tables import draw_table
from hansard.web.pages.session.show import find_by_id
from hansard.web.parameters import read_form, read_params
from hansard.web.responses import HttpError, engine_route, html

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard

_LEFT_SHOWN = 50


class ForgetPageRequest(Struct, frozen=True, kw_only=True):
    """The preview of an erasure."""

    session_id: str
    source: Annotated[bool, about("Also of the client's own files.")] = False


async def preview_or_forget(request: Request) -> Response:
    """The page, or what its form does."""
    if request.app.state.read_only:
        raise HttpError(403, "read_only", "this server is read-only (started with --read-only)")
    return await (_forget if request.method == "POST" else _preview)(request)


def _asked(request: Request) -> ForgetPageRequest:
    return read_params(request, ForgetPageRequest, session_id=request.path_params["session_id"])


@engine_route(_asked)
def _preview(h: Hansard, request: Request, asked: ForgetPageRequest) -> Response:
    """What would be erased and what would stay."""
    session = find_by_id(h, asked.session_id)
    plan = h.plan_forget([session.session_id], source=asked.source)
    return html(
        request,
        "session_forget.html",
        at="/sessions",
        session=session,
        title=title_of(session),
        plan=plan,
        table=draw_table(plan.summary, "rows"),
        left=plan.left[:_LEFT_SHOWN],
        source=asked.source,
    )


async def _forget(request: Request) -> Response:
    """Erase what the page showed; the guard has checked where the form comes from."""
    asked = _asked(request)
    fields = await read_form(request)
    if fields.keys() != {"outline"}:
        raise UsageError("the form must have one field: outline, as the preview has it")

    def erase(h: Hansard) -> str:
        session_id = find_by_id(h, asked.session_id).session_id
        if h.plan_forget([session_id], source=asked.source).outline != fields["outline"]:
            raise HttpError(409, "changed", "this is no longer what the page showed: look at it again")
        return receipt_words(h.forget([session_id], source=asked.source))

    words: str = await request.app.state.engines.write(erase)
    await request.app.state.live.look()
    return PlainTextResponse(words)
