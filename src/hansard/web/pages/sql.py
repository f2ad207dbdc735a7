"""SQL: a query over the public views, and its answer as table, chart and files."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from starlette.responses import Response
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.model.store_requests import SQL_ENGINES
from hansard.model.table import Link, Table
from hansard.render.html.escaping import cut_line
from hansard.sql import FUNCTIONS, KEYWORDS, QUESTIONS, VIEWS
from hansard.web.caches import shared
from hansard.web.parameters import read_params
from hansard.web.responses import page, stream_page
from hansard.web.sql_request import LONGEST, MEMORY, ROWS, SECONDS, SqlParameters, make_request, parameter_names, run
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.sql import SqlResult
    from hansard.model.store_requests import SqlRequest

_LONGEST_CELL = 300  # characters in the table
_MOST_SAVED = 100_000  # rows of a file


async def show(request: Request) -> Response:
    """The page: the query of its address, and the answer."""
    given = read_params(request, SqlParameters)
    asked = make_request(given, ROWS) if given.query or given.question else None
    query = asked.query if asked else ""
    values = dict(asked.parameters) if asked else {}
    parameters = {name: values.get(name) for name in parameter_names(query)}
    if asked is not None:  # a parameter that the query no longer has came from the form
        asked = replace(asked, parameters={name: value for name, value in parameters.items() if value is not None})

    def rest(h: Hansard) -> str:
        return _answer(h, asked, _files(asked)) if asked is not None else ""

    return await stream_page(
        request,
        "sql.html",
        rest,
        title="SQL",
        at="/sql",
        query=query,
        question=QUESTIONS[given.question] if given.question else None,
        engine=given.engine,
        engines=SQL_ENGINES,
        parameters=parameters,
        questions=[(one, place("/sql", question=one.name, engine=_other(given.engine))) for one in QUESTIONS.values()],
        views=VIEWS.values(),
        functions=FUNCTIONS,
        keywords=" ".join(KEYWORDS),
        longest=LONGEST,
    )


def _answer(h: Hansard, asked: SqlRequest, files: dict[str, str]) -> str:
    from hansard.render.charts.result import draw_in_page

    try:
        with run(h, asked) as answer:
            return page(
                "sql_answer.html",
                error=None,
                table=_table(answer),
                count=len(answer.rows),
                truncated=answer.truncated,
                drawn=draw_in_page(answer.columns, answer.rows),
                files=files,
                command=_command(asked),
                most=_MOST_SAVED,
            )
    except UsageError as error:
        command = _command(asked)
        return page("sql_answer.html", error=error.message, seconds=SECONDS, memory=MEMORY, command=command)


def _table(answer: SqlResult) -> Markup:
    """The rows, in which long texts are cut and sessions are links."""
    from hansard.render.html.tables import draw_table
    from hansard.render.sql import result_table

    table = result_table(answer)
    names = [column.name for column in answer.columns]

    def shown(name: str, value: Any) -> Any:
        if value is None:
            return Link("", more="NULL")
        text = cut_line(value, _LONGEST_CELL)
        return Link(text, session_place(value)) if name == "session_id" and value else text

    rows = [[shown(name, value) for name, value in zip(names, row, strict=True)] for row in table.rows]
    return draw_table(Table(table.columns, rows), "rows answer")


def _other(engine: str) -> str | None:
    return None if engine == SQL_ENGINES[0] else engine


def _files(asked: SqlRequest) -> dict[str, str]:
    """The addresses of the answer as a file, by its kind."""
    values = {f"param[{name}]": [str(value)] for name, value in asked.parameters.items()}
    asked_for: dict[str, Any] = {"q": asked.query, **values, "engine": _other(asked.engine)}
    return {kind: place(f"/sql.{kind}", **asked_for) for kind in _KINDS}


def _command(asked: SqlRequest) -> str:
    """The same query in a terminal."""
    words = ["hansard", "sql"]
    for name, value in asked.parameters.items():
        words += ["-p", f"{name}={value}"]
    if engine := _other(asked.engine):
        words += ["--engine", engine]
    return shlex.join([*words, "--", asked.query])


# -- files


def _csv(answer: SqlResult) -> bytes:
    from hansard.export.results import csv_pieces

    return b"".join(csv_pieces(answer))


def _json(answer: SqlResult) -> bytes:
    from hansard.model.serialize import encoded

    return encoded(answer.as_plain())


def _svg(answer: SqlResult) -> bytes:
    from hansard.render.charts.result import draw_result

    return draw_result(answer.columns, answer.rows).encode("utf-8", "replace")


_KINDS: dict[str, tuple[str, Callable[[SqlResult], bytes]]] = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "json": ("application/json", _json),
    "svg": ("image/svg+xml", _svg),
}


async def download(request: Request) -> Response:
    """The answer as a file: all of it, or none."""
    kind = request.url.path.rpartition(".")[2]
    media, write = _KINDS[kind]
    given = read_params(request, SqlParameters)
    asked = make_request(given, ROWS if kind == "svg" else _MOST_SAVED)

    def content(h: Hansard) -> bytes:
        with run(h, asked) as answer:
            if answer.truncated and kind != "svg":
                raise UsageError(
                    f"the answer has more than {_MOST_SAVED:,} rows: narrow it, or run `hansard sql --to FILE` in a terminal"
                )
            return write(answer)

    found: bytes = await request.app.state.engines.read(content)
    name = given.question or "sql"
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(found, media_type=media, headers=headers)


ROUTES = [Route("/sql", shared(show)), *(Route(f"/sql.{kind}", download) for kind in _KINDS)]
