"""Files: what was changed when, by which session, with diffs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.render.format import day
from hansard.render.html.parts import parts_html
from hansard.render.series import DAYS
from hansard.thread.tool_views import view
from hansard.web.list_filters import Choice, ListFilters, headings
from hansard.web.page_cache import shared
from hansard.web.params import LAST_OFFSET, Params
from hansard.web.period import parse_period
from hansard.web.responses import html
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.calls import Call, ChangedFile, FileHistory
    from hansard.model.threads import ToolCall

_VIEWS = {"files": "Files", "folders": "Folders", "changes": "Changes"}
_SORTS = {
    "path": ("File", "text"),
    "changes": ("Changes", "number"),
    "lines": ("Lines", "number"),
    "sessions": ("Sessions", "number"),
    "last": ("Last change", "number"),
}
_CHANGES = {"create": "created", "update": "rewritten", "edit": "edited", "notebook": "notebook edited"}
_ROWS, _STEPS = 50, 30
_DRAWN = 4  # diffs that come with the page of a file; the others when they are opened
_LONGEST_PATH = 4_000


@dataclass(frozen=True, slots=True)
class Step:
    """A call in a list of what was done to files."""

    call: Call
    what: str
    folder: str
    name: str
    day: str
    clock: str
    href: str  # where its session shows it
    raw: str
    src: str  # its diff
    history: str | None
    drawn: Markup | None = None


async def show(request: Request) -> Response:
    """The page: files, folders, or all changes."""
    asked = Params(request)
    zone: Zone = request.app.state.zone
    now = datetime.now(UTC)
    chosen = asked.choice("view", _VIEWS, "files")
    text, project, under = asked.text("q"), asked.text("project"), asked.text("under", _LONGEST_PATH)
    sort = asked.choice("sort", _SORTS, "last")
    order = asked.choice("order", ("asc", "desc"), "asc" if sort == "path" else "desc")
    cursor = asked.text("cursor")
    span = parse_period(asked, zone, now, default="all")
    asked.done()
    if under is not None and not under.endswith(("/", "\\")):
        raise UsageError("invalid 'under': a folder must end with a slash")
    narrowed = ListFilters(
        "/files",
        span,
        {
            "q": text,
            "project": project,
            "view": None if chosen == "files" else chosen,
            "under": under,
            "sort": None if sort == "last" else sort,
            "order": order if order != ("asc" if sort == "path" else "desc") else None,
        },
    )
    wanted: dict[str, Any] = {"project": project, "since": span.since, "until": span.until}

    ascending = order == "asc"

    def find(h: Hansard) -> Any:
        if chosen == "folders":
            return h.folder(under, text=text, **wanted)
        if chosen == "changes":
            return h.calls(kind="changes", text=text, under=under, limit=_STEPS, cursor=cursor, **wanted)
        return h.files(text, under=under, sort=sort, ascending=ascending, limit=_ROWS, cursor=cursor, **wanted)

    def drawn(page: Any) -> dict[str, Any]:
        if chosen == "folders":
            folders = [(one, one.path[len(page.under) :], narrowed.address(under=one.path)) for one in page.folders]
            return {"rows": _rows(page.files), "folders": folders, "crumbs": _crumbs(narrowed, page.under)}
        if chosen == "changes":
            return {"days": _by_day(_steps(page.calls, zone))}
        heads = headings(narrowed, _SORTS, sort, ascending=ascending, default="last")
        return {"rows": _rows(page.files), "heads": heads}

    def answer(h: Hansard) -> Response:
        key = ("files", h.state(), chosen, text, under, sort, order, cursor, *wanted.values())
        found = request.app.state.cache.answer(key, lambda: find(h))
        more = found.next_cursor if chosen != "folders" else None
        return html(
            request,
            "files.html",
            title="Files",
            at="/files",
            view=chosen,
            views=[
                Choice(name, narrowed.address(view=None if key == "files" else key), key == chosen)
                for key, name in _VIEWS.items()
            ],
            narrowed=narrowed,
            projects=h.field_values("project"),
            top=narrowed.address(under=None),
            more=narrowed.address(cursor=more) if more else None,
            first=narrowed.address() if cursor else None,
            page=found,
            **drawn(found),
        )

    page: Response = await request.app.state.engines.read(answer)
    return page


async def history(request: Request) -> Response:
    """Everything that was done to one file."""
    asked = Params(request)
    zone: Zone = request.app.state.zone
    path = asked.text("path", _LONGEST_PATH)
    project, reads, cursor = asked.text("project"), asked.flag("reads"), asked.text("cursor")
    span = parse_period(asked, zone, datetime.now(UTC), default="all")
    asked.done()
    if path is None:
        raise UsageError("missing parameter 'path'")
    narrowed = ListFilters("/files/history", span, {"path": path, "project": project, "reads": reads})

    def answer(h: Hansard) -> Response:
        wanted: dict[str, Any] = {"project": project, "since": span.since, "until": span.until, "reads": reads}
        key = ("history", h.state(), path, cursor, *wanted.values())
        found: FileHistory = request.app.state.cache.answer(
            key, lambda: h.file_history(path, limit=_STEPS, cursor=cursor, **wanted)
        )
        steps = _steps(found.page.calls, zone, _drawn(h, found.page.calls, _DRAWN))
        name, folder = _name(path)
        return html(
            request,
            "files_history.html",
            title=name,
            at="/files",
            file=found,
            name=name,
            folder=folder,
            folder_href=place("/files", view="folders", under=folder) if folder else None,
            narrowed=narrowed,
            days=_by_day(steps),
            views=[
                Choice("Changes", narrowed.address(reads=None), not reads),
                Choice("Changes and reads", narrowed.address(reads=True), reads),
            ],
            more=narrowed.address(cursor=found.page.next_cursor) if found.page.next_cursor else None,
            first=narrowed.address() if cursor else None,
        )

    page: Response = await request.app.state.engines.read(answer)
    return page


async def change(request: Request) -> Response:
    """What one call did, to be put into a page."""
    asked = Params(request)
    transcript, root = asked.needed("transcript", _LONGEST_PATH), asked.text("root", _LONGEST_PATH)
    offset, block = asked.number("offset", 0, 0, LAST_OFFSET), asked.number("block", 0, 0, 1 << 20)
    generation, session_id = asked.number("generation", None, 1, 1 << 31), asked.text("session")
    asked.done()

    def answer(h: Hansard) -> Response:
        call = h.tool_call(transcript, offset, block, session_id=session_id, root=root, generation=generation)
        return html(request, "files_change.html", drawn=draw_call(call))

    page: Response = await request.app.state.engines.read(answer)
    return page


def draw_call(call: ToolCall) -> Markup:
    """A call as the session's page draws it: the change alone where it made one, else what it was given and gave."""
    shown = view(call, "")
    parts = shown.parts + shown.results
    if call.change is not None:
        parts = shown.results or shown.parts
    return Markup(parts_html(parts))  # noqa: S704 - drawn by render.html, which escapes


def _drawn(h: Hansard, calls: Iterable[Call], most: int) -> dict[int, Markup]:
    """The first diffs of a list, by their places in it."""
    found: dict[int, Markup] = {}
    for number, call in enumerate(calls):
        if len(found) == most:
            break
        if call.change is None:
            continue
        if (read := h.listed_call(call)) is not None:
            found[number] = draw_call(read)
    return found


def _steps(calls: Iterable[Call], zone: Zone, drawn: dict[int, Markup] | None = None) -> list[Step]:
    return [_step(call, zone, (drawn or {}).get(number)) for number, call in enumerate(calls)]


def _step(call: Call, zone: Zone, drawn: Markup | None) -> Step:
    at = None if call.at is None else _local(call.at, zone)
    name, folder = _name(call.path or "")
    return Step(
        call=call,
        what=_CHANGES.get(call.change, call.change) if call.change else "failed" if call.is_error else "read",
        folder=_inside(folder, call.project),
        name=name,
        day="At an unknown time" if at is None else f"{DAYS[at.weekday()]}, {day(at)}",
        clock="" if at is None else f"{at:%H:%M}",
        href=session_place(call.session_id, call.offset, call.agent_id)
        if call.is_shown
        else session_place(call.session_id),
        raw=place(f"{session_place(call.session_id)}/raw", transcript=call.transcript, offset=call.offset),
        src=place(
            "/files/change",
            session=call.session_id,
            transcript=call.transcript,
            offset=call.offset,
            block=call.block or None,
            root=call.root,
            generation=call.generation,
        ),
        history=None if call.path is None else place("/files/history", path=call.path),
        drawn=drawn,
    )


def _local(at: datetime, zone: Zone) -> datetime:
    """A time in the zone; at the ends of the calendar, where no zone fits, as it is."""
    try:
        return zone.local(at)
    except (OverflowError, ValueError, OSError):
        return at


def _by_day(steps: Iterable[Step]) -> list[tuple[str, list[Step]]]:
    days: list[tuple[str, list[Step]]] = []
    for step in steps:
        if not days or days[-1][0] != step.day:
            days.append((step.day, []))
        days[-1][1].append(step)
    return days


def _rows(files: Iterable[ChangedFile]) -> list[dict[str, Any]]:
    return [_row(file) for file in files]


def _row(file: ChangedFile) -> dict[str, Any]:
    name, folder = _name(file.path)
    return {
        "file": file,
        "name": name,
        "folder": _inside(folder, file.project),
        "href": place("/files/history", path=file.path),
        "session": session_place(file.last_session_id),
    }


def _name(path: str) -> tuple[str, str]:
    """A path's last name, and the folder before it with its slash."""
    cut = max(path.rfind("/"), path.rfind("\\")) + 1
    return (path[cut:], path[:cut]) if path[cut:] else (path, "")


def _inside(folder: str, project: str) -> str:
    """A folder as seen from its project."""
    base = project.rstrip("/\\")
    return folder[len(base) + 1 :] if base and folder.startswith((f"{base}/", f"{base}\\")) else folder


def _crumbs(narrowed: ListFilters, under: str) -> list[tuple[str, str]]:
    """The folders above one, each with its address."""
    found = []
    start = 0
    for place_, letter in enumerate(under):
        if letter in "/\\":
            if place_ > 0:
                found.append((under[start:place_], narrowed.address(under=under[: place_ + 1])))
            start = place_ + 1 if place_ > 0 else 0
    return found


ROUTES = [Route("/files", shared(show)), Route("/files/history", shared(history)), Route("/files/change", change)]
