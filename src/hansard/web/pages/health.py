"""Health: the store, its sources, what the client deletes next, what was odd in transcripts, what newer clients write."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from hansard.engine import index_version
from hansard.query.health import Diagnosis, Finding
from hansard.render.charts.svg import per_cent
from hansard.render.format import many
from hansard.web.caches import shared
from hansard.web.parameters import Nothing, read_params
from hansard.web.responses import begun, html
from hansard.web.responses import page as drawn
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.files import Drift
    from hansard.query.health import Status

_STATUS_SECONDS = 20.0  # as long as the overview keeps it
_CHECK_SECONDS = 60.0
_LISTED = 8
_LEVELS = {"error": 0, "warning": 1, "note": 2, "ok": 3}
_REASONS = {
    "not_json": "No JSON",
    "torn": "Truncated line",
    "glued": "Several records on one line",
    "wrong_type": "Field with an unexpected type",
    "invalid_utf8": "Invalid UTF-8",
    "odd_json": "Invalid JSON that could be read",
    "unfinished": "Last line not finished yet",
    "nul_bytes": "NUL bytes next to a record",
    "bom": "Byte order mark",
    "not_an_object": "JSON value that is not an object",
    "unknown_shape": "Record of an unknown shape",
    "no_type": "Record without a type",
    "no_content": "Message without content",
    "too_deep": "Nested too deeply",
    "too_long": "Too long to read",
    "too_many_values": "Too many values to read",
    "long_text": "Text read only in part",
    "internal_error": "Hansard failed on it",
}


@dataclass(frozen=True, slots=True)
class Share:
    """A part of what the store takes on the disk."""

    name: str
    bytes: int
    series: int
    left: str
    width: str


async def show(request: Request) -> Response:
    """The page: its head is sent first, then the walk of the sources; the check of the databases is fetched when it is done."""
    read_params(request, Nothing)

    def rest(h: Hansard) -> str:
        state = request.app.state
        status: Status = state.cache.answer(("status", int(time.monotonic() // _STATUS_SECONDS)), h.status)
        rates = h.rates()
        return drawn(
            "health_store.html",
            status=status,
            shares=_shares(status),
            disk=status.record_bytes + status.index_bytes + status.text_bytes,
            doomed=status.doomed[:_LISTED],
            left_out=status.left_out[:_LISTED],
            issues=[(kind, _REASONS.get(kind.reason, kind.reason.replace("_", " "))) for kind in h.issues()],
            drift=_by_version(h.drift()),
            raw=_raw,
            prices=h.price_data(),
            models=len({rate.model for rate in rates if rate.is_priced}),
            unpriced=sorted({rate.model for rate in rates if not rate.is_priced}),
            index_version=index_version(),
            watched=state.live.is_watching,
            read_only=state.read_only,
            trouble=state.live.state.trouble,
            session=session_place,
            zone=state.zone.name,
        )

    return await begun(request, "health.html", rest, title="Health", at="/health")


async def check(request: Request) -> Response:
    """The findings of `hansard doctor`, cached for a minute, because checking all databases takes seconds."""
    read_params(request, Nothing)
    state = request.app.state
    if not hasattr(state, "checking"):
        state.checking = asyncio.Lock()

    def answer(h: Hansard) -> Response:
        found: Diagnosis = state.cache.answer(("doctor", int(time.monotonic() // _CHECK_SECONDS)), h.doctor)
        findings = sorted(found.findings, key=lambda finding: _LEVELS.get(finding.level, 0))
        return html(request, "health_check.html", findings=findings, verdict=_verdict(findings))

    async with state.checking:  # concurrent requests share one check, and leave the engines to others
        page: Response = await state.engines.read(answer)
    return page


def _verdict(findings: list[Finding]) -> tuple[str, str]:
    """The worst level, and a summary."""
    worst = findings[0].level if findings else "ok"
    count = sum(finding.level == worst for finding in findings)
    words = {
        "error": f"{many(count, 'problem')} found",
        "warning": f"No problems, {many(count, 'warning')}",
    }
    return worst, words.get(worst, "No problems found")


def _shares(status: Status) -> list[Share]:
    parts = (("Record", status.record_bytes), ("Index", status.index_bytes), ("Full text", status.text_bytes))
    whole = max(1, sum(size for _, size in parts))
    found = []
    left = 0
    for number, (name, size) in enumerate(parts):
        found.append(Share(name, size, number + 1, per_cent(left, whole), per_cent(size, whole)))
        left += size
    return found


def _by_version(drift: tuple[Drift, ...]) -> list[tuple[str, list[Drift]]]:
    versions: dict[str, list[Drift]] = {}
    for item in drift:
        versions.setdefault(item.version, []).append(item)
    return list(versions.items())


def _raw(item: Any) -> str | None:
    """Where the verbatim line of an example is."""
    if not item.session_id:
        return None
    return place(f"{session_place(item.session_id)}/raw", transcript=item.transcript, offset=item.offset)


ROUTES = [Route("/health", shared(show)), Route("/health/check", check)]
