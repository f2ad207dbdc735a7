"""Files: lists, folders, changes, and the history of one file with diffs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.model.requests import CallsRequest, FileHistoryRequest, FilesRequest, FolderRequest, about, same_for
from hansard.model.table import Column, Kind, Link, Table
from hansard.render.format import local, weekday_text
from hansard.render.html.parts import parts_html
from hansard.render.html.tables import draw_table
from hansard.thread.tool_views import view
from hansard.web.caches import shared
from hansard.web.page_request import RANGES, Choice, PageRequest, parse_page, sort_links
from hansard.web.parameters import LAST_OFFSET
from hansard.web.responses import engine_route, html
from hansard.web.urls import listed_place, place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.calls import Call, ChangedFile, FileHistory, FolderPage
    from hansard.model.threads import ToolCall
    from hansard.web.caches import AnswerCache

_VIEWS = {"files": "Files", "folders": "Folders", "changes": "Changes"}
_FILES = (
    Column("File", sort="path", css="file"),
    Column("Project", Kind.PROJECT, css="wide-only quiet ends"),
    Column("Changes", Kind.COUNT, sort="changes", css="not-narrow"),
    Column("Lines", Kind.LINES, sort="lines", css="lines"),
    Column("Sessions", Kind.COUNT, sort="sessions", css="wide-only"),
    Column("Last change", Kind.TIME, right=True, sort="last", css="when quiet"),
)
_FOLDER = (
    Column("Name", css="file"),
    Column("Files", Kind.COUNT, css="not-narrow"),
    Column("Changes", Kind.COUNT, css="not-narrow"),
    Column("Lines", Kind.LINES, css="lines"),
    Column("Last change", Kind.TIME, right=True, css="when quiet"),
)
_SORTS = tuple(column.sort for column in _FILES if column.sort)
_CHANGES = {"create": "created", "update": "rewritten", "edit": "edited", "notebook": "notebook edited"}
_ROWS, _STEPS = 50, 30
_DRAWN = 4  # diffs that come with the page of a file; the others when they are opened
_LONGEST_PATH = 4_000


@dataclass(frozen=True, slots=True)
class Step:
    """A call in a list of changes."""

    call: Call
    what: str
    folder: str
    name: str
    day: str
    clock: str
    href: str  # in its session
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


_NAMES = "text project view under sort ascending range since until cursor"


@engine_route(partial(parse_page, kind=FileListRequest, names=_NAMES))
def show(h: Hansard, request: Request, asked: PageRequest[FileListRequest]) -> Response:
    """The page: files, folders, or all changes."""
    wanted = asked.request
    if wanted.under is not None and not wanted.under.endswith(("/", "\\")):
        raise UsageError("invalid 'under': a folder must end with a slash")
    ascending = wanted.ascending if wanted.ascending is not None else wanted.sort == "path"
    narrowed = asked.without_usual_order(ascending=ascending, usual=wanted.sort == "path")
    zone = asked.span.zone

    def find() -> Any:
        cache: AnswerCache = request.app.state.cache
        where: dict[str, Any] = {"under": wanted.under, "text": wanted.text}
        if wanted.view == "folders":
            return cache.ask(h, "folder", same_for(FolderRequest, wanted, **where))
        if wanted.view == "changes":
            where |= {"kind": "changes", "limit": _STEPS, "cursor": wanted.cursor}
            return cache.ask(h, "calls", same_for(CallsRequest, wanted, **where))
        return cache.ask(h, "files", replace(wanted, ascending=ascending, limit=_ROWS))

    def drawn(page: Any) -> dict[str, Any]:
        if wanted.view == "folders":
            return {"table": _folder_table(page, narrowed), "crumbs": _crumbs(narrowed, page.under)}
        if wanted.view == "changes":
            return {"days": _by_day(_steps(page.calls, zone))}
        sorts = sort_links(narrowed, wanted.sort, ascending=ascending, default="last", texts=("path",))
        rows = [_row(file) for file in page.files]
        names = request.app.state.engines.names
        return {"table": draw_table(Table(_FILES, rows), "rows files", sorts, names) if rows else ""}

    found = find()
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


@engine_route(partial(parse_page, kind=FileHistoryPageRequest, names="path project reads range since until cursor"))
def history(h: Hansard, request: Request, narrowed: PageRequest[FileHistoryPageRequest]) -> Response:
    """Everything that was done to one file."""
    asked = narrowed.request
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


@engine_route(ChangeRequest)
def change(h: Hansard, request: Request, asked: ChangeRequest) -> Response:
    """What one call did, for an open page."""
    where: dict[str, Any] = {"session_id": asked.session, "root": asked.root, "generation": asked.generation}
    call = h.tool_call(asked.transcript, asked.offset, asked.block, **where)
    return html(request, "files_change.html", drawn=draw_call(call))


def draw_call(call: ToolCall) -> Markup:
    """A call as the session's page draws it: only the change if it made one, else input and result."""
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
    at = None if call.at is None else local(call.at, zone.info)
    name, folder = _name(call.path or "")
    return Step(
        call=call,
        what=_CHANGES.get(call.change, call.change) if call.change else "failed" if call.is_error else "read",
        folder=_inside(folder, call.project),
        name=name,
        day="At an unknown time" if at is None else weekday_text(at),
        clock="" if at is None else f"{at:%H:%M}",
        href=listed_place(call),
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


def _by_day(steps: Iterable[Step]) -> list[tuple[str, list[Step]]]:
    days: list[tuple[str, list[Step]]] = []
    for step in steps:
        if not days or days[-1][0] != step.day:
            days.append((step.day, []))
        days[-1][1].append(step)
    return days


def _row(file: ChangedFile) -> Sequence[Any]:
    name, folder = _name(file.path)
    return (
        Link(name, place("/files/history", path=file.path), file.path, _inside(folder, file.project)),
        Link(file.project, title=file.project),
        file.changes,
        (file.added, file.removed),
        file.sessions,
        Link(file.last_at, session_place(file.last_session_id)),
    )


def _folder_table(page: FolderPage, narrowed: PageRequest[Any]) -> Markup | str:
    """The folders in a folder, then its files."""
    rows: list[Sequence[Any]] = [
        (
            Link(one.path[len(page.under) :], narrowed.address(under=one.path), icon="folder"),
            one.files,
            one.changes,
            (one.added, one.removed),
            one.last_at,
        )
        for one in page.folders
    ]
    for file in page.files:
        name, _, changes, lines, _, last = _row(file)
        rows.append((Link(name.value, name.href, icon="file"), None, changes, lines, last))
    return draw_table(Table(_FOLDER, rows), "rows files") if rows else ""


def _name(path: str) -> tuple[str, str]:
    """Split a path into its name and its folder, which ends with a slash."""
    cut = max(path.rfind("/"), path.rfind("\\")) + 1
    return (path[cut:], path[:cut]) if path[cut:] else (path, "")


def _inside(folder: str, project: str) -> str:
    """A folder relative to its project."""
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
