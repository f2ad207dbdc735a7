"""Files: what was changed when, by which session, with diffs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.model.requests import CallsRequest, FileHistoryRequest, FilesRequest, FolderRequest, about, same_for
from hansard.render.format import weekday_text
from hansard.render.html.parts import parts_html
from hansard.thread.tool_views import view
from hansard.web.caches import shared
from hansard.web.page_request import RANGES, Choice, PageRequest, headings, parse_page
from hansard.web.parameters import LAST_OFFSET, read_params
from hansard.web.responses import answered, html
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.calls import Call, ChangedFile, FileHistory
    from hansard.model.threads import ToolCall
    from hansard.web.caches import AnswerCache

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


class FileListRequest(FilesRequest, frozen=True, kw_only=True):
    """A page of files, of a folder, or of changes."""

    text: Annotated[str | None, about("Words of the path.", http="q")] = None
    under: Annotated[str | None, about("A folder, with a slash at its end.", longest=_LONGEST_PATH)] = None
    view: Annotated[str, about("What is listed.", choices=_VIEWS)] = "files"
    range: Annotated[str, about("Days up to today.", choices=RANGES)] = "all"


class FileHistoryPageRequest(FileHistoryRequest, frozen=True, kw_only=True):
    """What was done to one file."""

    path: Annotated[str, about("The file's path as it is in the calls.", longest=_LONGEST_PATH)]
    range: Annotated[str, about("Days up to today.", choices=RANGES)] = "all"


class ChangeRequest(Struct, frozen=True, kw_only=True):
    """One call."""

    transcript: Annotated[str, about("The path of its transcript.", longest=_LONGEST_PATH)]
    root: Annotated[str | None, about("The root of the transcript.", longest=_LONGEST_PATH)] = None
    offset: Annotated[int, about("Where its line begins.", ge=0, le=LAST_OFFSET)] = 0
    block: Annotated[int, about("Its number in the line.", ge=0, le=1 << 20)] = 0
    generation: Annotated[int | None, about("The generation of the transcript.", ge=1, le=1 << 31)] = None
    session: Annotated[str | None, about("The session.")] = None


async def show(request: Request) -> Response:
    """The page: files, folders, or all changes."""
    asked = parse_page(request, FileListRequest, "text project view under sort ascending range since until cursor")
    wanted = asked.request
    if wanted.under is not None and not wanted.under.endswith(("/", "\\")):
        raise UsageError("invalid 'under': a folder must end with a slash")
    ascending = wanted.ascending if wanted.ascending is not None else wanted.sort == "path"
    narrowed = asked.without_usual_order(ascending=ascending, usual=wanted.sort == "path")
    zone = asked.span.zone

    def find(h: Hansard, cache: AnswerCache) -> Any:
        where: dict[str, Any] = {"under": wanted.under, "text": wanted.text}
        if wanted.view == "folders":
            return cache.ask(h, "folder", same_for(FolderRequest, wanted, **where))
        if wanted.view == "changes":
            where |= {"kind": "changes", "limit": _STEPS, "cursor": wanted.cursor}
            return cache.ask(h, "calls", same_for(CallsRequest, wanted, **where))
        return cache.ask(h, "files", replace(wanted, ascending=ascending, limit=_ROWS))

    def drawn(page: Any) -> dict[str, Any]:
        if wanted.view == "folders":
            folders = [(one, one.path[len(page.under) :], narrowed.address(under=one.path)) for one in page.folders]
            return {"rows": _rows(page.files), "folders": folders, "crumbs": _crumbs(narrowed, page.under)}
        if wanted.view == "changes":
            return {"days": _by_day(_steps(page.calls, zone))}
        heads = headings(narrowed, _SORTS, wanted.sort, ascending=ascending, default="last")
        return {"rows": _rows(page.files), "heads": heads}

    def answer(h: Hansard) -> Response:
        found = find(h, request.app.state.cache)
        more = found.next_cursor if wanted.view != "folders" else None
        return html(
            request,
            "files.html",
            title="Files",
            at="/files",
            view=wanted.view,
            views=[
                Choice(name, narrowed.address(view=None if key == "files" else key), key == wanted.view)
                for key, name in _VIEWS.items()
            ],
            narrowed=narrowed,
            projects=h.field_values("project"),
            top=narrowed.address(under=None),
            more=narrowed.address(cursor=more) if more else None,
            first=narrowed.address() if wanted.cursor else None,
            page=found,
            **drawn(found),
        )

    return await answered(request, answer)


async def history(request: Request) -> Response:
    """Everything that was done to one file."""
    narrowed = parse_page(request, FileHistoryPageRequest, "path project reads range since until cursor")
    asked = narrowed.request

    def answer(h: Hansard) -> Response:
        found: FileHistory = request.app.state.cache.ask(h, "file_history", replace(asked, limit=_STEPS))
        steps = _steps(found.page.calls, narrowed.span.zone, _drawn(h, found.page.calls, _DRAWN))
        name, folder = _name(asked.path)
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
                Choice("Changes", narrowed.address(reads=None), not asked.reads),
                Choice("Changes and reads", narrowed.address(reads=True), asked.reads),
            ],
            more=narrowed.address(cursor=found.page.next_cursor) if found.page.next_cursor else None,
            first=narrowed.address() if asked.cursor else None,
        )

    return await answered(request, answer)


async def change(request: Request) -> Response:
    """What one call did, for an open page."""
    asked = read_params(request, ChangeRequest)

    def answer(h: Hansard) -> Response:
        where: dict[str, Any] = {"session_id": asked.session, "root": asked.root, "generation": asked.generation}
        call = h.tool_call(asked.transcript, asked.offset, asked.block, **where)
        return html(request, "files_change.html", drawn=draw_call(call))

    return await answered(request, answer)


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
        day="At an unknown time" if at is None else weekday_text(at),
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


def _crumbs(narrowed: PageRequest[Any], under: str) -> list[tuple[str, str]]:
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
