"""Pages of two pieces: what is known at once is sent at once, and the rest when it has been found out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import StreamingResponse

from hansard.errors import HansardError
from hansard.web.responses import HttpError, html, page

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard

_HERE = Markup("<!--here-->")  # no text of a transcript can be this: in a page it would be escaped


async def begun(request: Request, template: str, rest: Callable[[Hansard], str], **values: Any) -> StreamingResponse:
    """The page, with what `rest` draws where the template says `{{ rest }}`.

    The status is sent with the first piece: whatever may be wrong with the question must be found out before.
    """
    whole = bytes(html(request, template, rest=_HERE, **values).body)
    head, _, foot = whole.partition(_HERE.encode())

    async def pieces() -> AsyncIterator[bytes]:
        yield head
        mistake: Exception | None = None
        try:
            yield (await request.app.state.engines.read(rest)).encode("utf-8", "replace")
        except (HansardError, HttpError) as error:
            yield page("piece_refused.html", message=str(getattr(error, "detail", error))).encode("utf-8", "replace")
        except Exception as error:  # noqa: BLE001 - the page must end well; then it is raised, for the terminal
            mistake = error
            yield page("piece_refused.html", message="Internal error; see the server's terminal.").encode()
        yield foot
        if mistake is not None:
            raise mistake

    return StreamingResponse(pieces(), media_type="text/html; charset=utf-8")
