"""Health: the store, its sources, what the client deletes next, what was odd in transcripts, what newer clients write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from hansard.engine import index_version
from hansard.errors import NotFound
from hansard.model.health import Diagnosis, Finding
from hansard.model.table import Column, Kind, Link, Table
from hansard.render.cells import with_headings
from hansard.render.charts.svg import per_cent
from hansard.render.format import ahead, clean_up, many, of_client
from hansard.render.html.escaping import cut_line
from hansard.render.html.tables import draw_table
from hansard.render.secrets import secret_table
from hansard.web.caches import shared
from hansard.web.parameters import Nothing, read_params
from hansard.web.responses import html, stream_page
from hansard.web.responses import page as drawn
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.files import Drift, IssueExample, IssueKind
    from hansard.model.health import Doomed, RootStatus, Status
    from hansard.model.secrets import Secret, SecretPage

_STATUS_SECONDS = 20.0  # as long as the overview keeps it
_CHECK_SECONDS = 60.0
_LISTED = 8
_DRIFTED, _UNREADABLE = 60, 5
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


_SOURCES = (
    Column("Directory", css="path"),
    Column("Files", Kind.COUNT),
    Column("Transcripts", Kind.COUNT),
    Column("Size", Kind.BYTES),
    Column("Clients running", Kind.COUNT),
    Column("Clean-up", right=True),
)
_DOOMED = (
    Column("Session", css="path"),
    Column("When", css="quiet"),
    Column("Size", Kind.BYTES),
    Column("Kept", right=True),
)
_LEFT_OUT = (Column("File", css="path"), Column("Size", Kind.BYTES), Column("Why", css="quiet"))
_ISSUES = (Column("Problem", css="problem"), Column("Lines", Kind.COUNT), Column("For example", css="path spots"))
_DRIFT = (
    Column("Record", css="path"),
    Column("Field", css="path"),
    Column("Times", Kind.COUNT),
    Column("First seen", css="path spots"),
)


async def show(request: Request) -> Response:
    """The page: its head is sent first, then the walk of the sources; the check of the databases is fetched when it is done."""
    read_params(request, Nothing)

    def rest(h: Hansard) -> str:
        state = request.app.state
        status: Status = state.cache.get(("status", int(time.monotonic() // _STATUS_SECONDS)), h.status)
        rates = h.rates()
        secrets = _secrets(h)
        return drawn(
            "health_store.html",
            status=status,
            shares=list(_shares(status)),
            disk=status.record_bytes + status.index_bytes + status.text_bytes,
            listed=_LISTED,
            draw=partial(draw_table, css="rows"),
            sources=Table(_SOURCES, [_source(root) for root in status.roots]),
            doomed=Table(_DOOMED, [_doomed(item) for item in status.doomed[:_LISTED]]),
            left_out=Table(_LEFT_OUT, [(item.path, item.bytes, item.reason) for item in status.left_out[:_LISTED]]),
            issues=Table(_ISSUES, [row for kind in h.issues() for row in _issue(kind)]),
            drift=_by_version(h.drift()),
            drift_table=lambda items: Table(_DRIFT, [_drift(item) for item in items[:_DRIFTED]]),
            prices=h.price_data(),
            models=len({rate.model for rate in rates if rate.is_priced}),
            unpriced=sorted({rate.model for rate in rates if not rate.is_priced}),
            index_version=index_version(),
            secrets=secrets,
            secret_table=with_headings(secret_table(secrets.secrets, _secret_page)) if secrets is not None else None,
            watched=state.live.is_watching,
            read_only=state.read_only,
            trouble=state.live.state.trouble,
            session=session_place,
            zone=state.zone.name,
        )

    return await stream_page(request, "health.html", rest, title="Health", at="/health")


async def check(request: Request) -> Response:
    """The findings of `hansard doctor`, cached for a minute, because checking all databases takes seconds."""
    read_params(request, Nothing)
    state = request.app.state
    if not hasattr(state, "checking"):
        state.checking = asyncio.Lock()

    def answer(h: Hansard) -> Response:
        found: Diagnosis = state.cache.get(("doctor", int(time.monotonic() // _CHECK_SECONDS)), h.doctor)
        findings = sorted(found.findings, key=lambda finding: _LEVELS.get(finding.level, 0))
        return html(request, "health_check.html", findings=findings, verdict=_verdict(findings))

    async with state.checking:  # concurrent requests share one check, and leave the engines to others
        page: Response = await state.engines.read(answer)
    return page


def _secrets(h: Hansard) -> SecretPage | None:
    """The open secrets; None if nothing is stored yet."""
    try:
        return h.secrets(limit=_LISTED)
    except NotFound:
        return None


def _secret_page(secret: Secret) -> str:
    return place(f"/health/secrets/{secret.secret_id}")


def _verdict(findings: list[Finding]) -> tuple[str, str]:
    """The worst level, and a summary."""
    worst = findings[0].level if findings else "ok"
    count = sum(finding.level == worst for finding in findings)
    words = {
        "error": f"{many(count, 'problem')} found",
        "warning": f"No problems, {many(count, 'warning')}",
    }
    return worst, words.get(worst, "No problems found")


def _shares(status: Status) -> Iterator[dict[str, Any]]:
    """The databases with their sizes, colours and parts of a bar."""
    parts = {"Record": status.record_bytes, "Index": status.index_bytes, "Full text": status.text_bytes}
    whole = max(1, sum(parts.values()))
    left = 0
    for series, (name, size) in enumerate(parts.items(), 1):
        bar = {"left": per_cent(left, whole), "width": per_cent(size, whole)}
        yield {"name": name, "bytes": size, "series": series, **bar}
        left += size


def _source(root: RootStatus) -> Sequence[Any]:
    unread = [f"cannot read {line}" for line in root.unreadable[:_UNREADABLE]]
    if left := len(root.unreadable) - len(unread):
        unread.append(f"and {many(left, 'more file')}")
    path = Link(of_client(root.client) + root.path, more="; ".join(unread), css="bad" if unread else "")
    return (
        path,
        root.files,
        root.logs,
        root.bytes,
        root.running or None,
        clean_up(root.cleanup_days).removeprefix("clean-up "),
    )


def _doomed(item: Doomed) -> Sequence[Any]:
    session = Link(item.session_id[:13], session_place(item.session_id), item.path)
    kept = Link("kept", css="good") if item.kept else Link("not kept", css="bad")
    return session, ahead(item.deleted_at, datetime.now(UTC)), item.size, kept


def _issue(kind: IssueKind) -> Iterator[Sequence[Any]]:
    """A row for each example; the first names the problem."""
    words = _REASONS.get(kind.reason, kind.reason.replace("_", " "))
    for number, example in enumerate(kind.examples or (None,)):
        detail = cut_line(example.detail, 160) if example else ""
        first = (Link(words, more=detail), kind.count) if not number else (None, None)
        yield *first, _where(example) if example else None


def _drift(item: Drift) -> Sequence[Any]:
    field = cut_line(item.field, 80) if item.field else Link("the record itself", css="quiet")
    return cut_line(item.kind, 80), field, item.count, _where(item)


def _where(item: IssueExample | Drift) -> Link:
    """The place of an example, which links to its verbatim line."""
    name = item.transcript.rsplit("/", 1)[-1].removesuffix(".jsonl")
    href = None
    if item.session_id:
        href = place(f"{session_place(item.session_id)}/raw", transcript=item.transcript, offset=item.offset)
    return Link(f"{cut_line(name, 23)} at {item.offset:,}", href, item.transcript)


def _by_version(drift: tuple[Drift, ...]) -> list[tuple[str, list[Drift]]]:
    versions: dict[str, list[Drift]] = {}
    for item in drift:
        versions.setdefault(item.version, []).append(item)
    return list(versions.items())


ROUTES = [Route("/health", shared(show)), Route("/health/check", check)]
