"""Style, script and icons: read once, served under an address that changes when they do."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import Response

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from starlette.requests import Request

_SHARED = ("base.css", "parts.css", "page.css")  # the same as in exported pages
_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}
_ONE_YEAR = "public, max-age=31536000, immutable"


@cache
def _all() -> dict[str, bytes]:
    found: dict[str, Traversable] = {item.name: item for item in files("hansard.web").joinpath("static").iterdir()}
    shared = files("hansard.render.html").joinpath("assets")
    found.update({name: shared.joinpath(name) for name in _SHARED})
    return {name: item.read_bytes() for name, item in sorted(found.items()) if name.rpartition(".")[2] in _TYPES}


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for name, content in _all().items():
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:12]


@cache
def address(name: str) -> str:
    """Where a static file is; modules find their neighbours under the same edition."""
    if name not in _all():
        raise KeyError(name)
    return f"/static/{_digest()}/{name}"


async def favicon(request: Request) -> Response:
    """The icon for pages that name none, such as a JSON answer that was opened in a tab."""
    from hansard.web.parameters import Nothing, read_params

    read_params(request, Nothing)
    return Response(_all()["icon.svg"], media_type=_TYPES["svg"])


async def serve(request: Request) -> Response:
    name = request.path_params["name"]
    content = _all().get(name)
    if content is None or request.path_params["edition"] != _digest():
        raise HTTPException(404)
    return Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers={"cache-control": _ONE_YEAR})
