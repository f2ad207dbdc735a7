"""`hansard sql`: questions nobody foresaw."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.context import SLOW_SECONDS, Command, Context, interrupted_by_sigterm, note, reads
from hansard.cli.output.progress import CountBar
from hansard.cli.request_options import CSV, limit_option, takes
from hansard.errors import UsageError
from hansard.model.store_requests import SqlRequest
from hansard.model.table import Column, Table
from hansard.render.format import many
from hansard.render.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hansard.engine import Hansard
    from hansard.model.sql import SqlResult

_SHOWN = 1000  # rows in a terminal
_CHARTS = (".svg", ".png")


@click.command(cls=Command)
@click.argument("query", required=False, default="")
@takes(
    SqlRequest,
    click.option("-f", "--file", "path", metavar="FILE", help="Read the query from this file; - is stdin."),
    click.option("-q", "--question", "name", metavar="NAME", help="Run a named question; --list shows them."),
    click.option(
        "-p",
        "--param",
        "given",
        multiple=True,
        metavar="NAME=VALUE",
        help="The value of $NAME in the query; repeatable.",
    ),
    "engine",
    CSV,
    click.option("--to", metavar="FILE", help="Write the answer to a .csv, .json, .jsonl or .parquet file."),
    click.option("--plot", metavar="FILE", help="Draw the answer into an .svg or .png file."),
    limit_option(None, text=f"Return at most N rows; 0: all. In a terminal {_SHOWN:,} are shown by default."),
    "timeout memory allow_external",
    click.option("--list", "lists", is_flag=True, help="List the named questions."),
    click.option("--schema", is_flag=True, help="List the views, or with QUERY the columns of a view."),
    click.option(
        "--datasette", is_flag=True, help="Serve a copy of the views with Datasette, which must be installed."
    ),
)
@reads
def sql(
    cli: Context,
    request: SqlRequest,
    path: str | None,
    name: str | None,
    given: tuple[str, ...],
    as_csv: bool,
    to: str | None,
    plot: str | None,
    lists: bool,
    schema: bool,
    datasette: bool,
) -> None:
    """Ask the history anything in SQL.

    QUERY is one SELECT over the public views: sessions, turns, messages, tool_calls, usage and others. Costs are those of `hansard
    usage`; rows that forks and replays repeat have is_copy. record(transcript, byte_offset) is a line as the client wrote it. Nothing can
    be written, and files and the network are out of reach. Without QUERY: a prompt with completion and history.

    Examples:
      hansard sql "SELECT model, sum(cost_usd) FROM usage GROUP BY model"
      hansard sql --list
      hansard sql -q failing-tools -p since=2026-05-01
      hansard sql --schema usage
      hansard sql -f report.sql --to report.parquet
      hansard sql -q cost-by-model-and-month --plot cost.svg
      hansard sql --engine duckdb "SELECT tool, quantile_cont(lines_added, 0.9) FROM tool_calls GROUP BY tool"
    """
    if lists:
        _list(cli)
        return
    if schema:
        _schema(cli, request.query)
        return
    if datasette:
        with cli.reading() as h:
            _serve_datasette(h)
        return
    if sum(map(bool, (request.query, path, name))) > 1:
        raise UsageError("give one of QUERY, --file and --question")
    if sum(map(bool, (cli.as_json, as_csv, to))) > 1:
        raise UsageError("give one of --json, --csv and --to")
    request = replace(request, **_query(request.query, path, name, _parameters(given)))
    if not request.query:
        from hansard.cli.sql_prompt import Prompt

        with cli.reading() as h:
            Prompt(cli, h, request).run()
        return
    is_terminal = not (cli.as_json or as_csv or to or plot)
    if is_terminal and "limit" not in _given_options():
        request = replace(request, limit=_SHOWN)
    with cli.reading() as h, h.sql(request) as answer:
        if plot:
            save_plot(plot, answer)
            note(f"written to {one_line(plot)}")
        if to:
            _save(to, answer)
        elif cli.as_json:
            cli.emit(answer.as_plain())
        elif as_csv:
            _write_csv(answer)
        elif not plot:
            show(cli, answer)


def _given_options() -> set[str]:
    from click.core import ParameterSource

    ctx = click.get_current_context()
    return {name for name in ctx.params if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}


def _query(query: str, path: str | None, name: str | None, given: Mapping[str, str]) -> dict[str, object]:
    if name is not None:
        from hansard.sql import fill_in, find_question

        question = find_question(name)
        return {"query": question.sql, "parameters": fill_in(question, given)}
    if path is not None and path != "-":
        try:
            with open(path, encoding="utf-8") as file:
                query = file.read()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise UsageError(f"{one_line(path)} cannot be read: {reason}") from error
    elif path == "-" or (not query and not sys.stdin.isatty()):
        query = sys.stdin.read()
        if not query.strip():
            raise UsageError("the query on stdin is empty")
    return {"query": query, "parameters": given}


def _parameters(given: Iterable[str]) -> dict[str, str]:
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--param {one!r} must be NAME=VALUE")
        found[name] = value
    return found


# -- what there is


def _list(cli: Context) -> None:
    from hansard.sql import QUESTIONS

    if cli.as_json:
        questions = [{**question._asdict(), "parameters": dict(question.parameters)} for question in QUESTIONS.values()]
        cli.emit({"questions": questions})
        return
    columns = (Column("NAME"), Column("QUESTION", least=20), Column("PARAMETERS", rank=1))
    rows = [
        (question.name, question.title, ", ".join(f"{name}={value}" for name, value in question.parameters.items()))
        for question in QUESTIONS.values()
    ]
    cli.say(cli.draw(Table(columns, rows)))


def _schema(cli: Context, name: str) -> None:
    from hansard.sql import VIEWS, choose

    views = [VIEWS[one] for one in (choose([name]) if name else VIEWS)]
    if cli.as_json:
        plain = [
            {
                "name": view.name,
                "about": view.about,
                "columns": [
                    {"name": column.name, "type": column.type, "about": column.about} for column in view.columns
                ],
                "example": {"question": view.example[0], "sql": view.example[1]},
            }
            for view in views
        ]
        cli.emit({"views": plain})
        return
    if name:
        (view,) = views
        columns = (Column("COLUMN"), Column("TYPE"), Column("", least=20))
        rows: list[tuple[str, ...]] = [(column.name, column.type.value, column.about) for column in view.columns]
        cli.say([view.about, "", *cli.draw(Table(columns, rows)), "", view.example[0], f"  {view.example[1]}"])
        return
    rows = [(view.name, view.about) for view in views]
    cli.say(cli.draw(Table((Column("VIEW"), Column("ROWS", least=30)), rows)))


# -- output


def show(cli: Context, answer: SqlResult) -> None:
    """Write an answer as a table."""
    from hansard.render.sql import result_table

    cli.say(cli.draw(result_table(answer), cut=True))
    if answer.truncated:
        note(f"the first {many(len(answer.rows), 'row')}; -n 0 shows all, --to FILE writes all to a file")
    elif not answer.rows:
        note("no rows")


def save_plot(path: str, answer: SqlResult) -> None:
    from hansard.cli.commands.usage import write_drawing
    from hansard.render.charts.result import draw_result

    write_drawing(path, lambda: draw_result(answer.columns, answer.rows))


def _save(to: str, answer: SqlResult) -> None:
    from hansard.export.results import write_result

    write_result(to, answer)
    note(f"written to {one_line(to)}")


def _write_csv(answer: SqlResult) -> None:
    from hansard.cli.output.pager import write_bytes
    from hansard.export.results import csv_pieces

    write_bytes(csv_pieces(answer))


def _serve_datasette(h: Hansard) -> None:
    """Serve a copy of the views with Datasette, on this machine only, until it ends; the copy is removed afterwards."""
    import shutil
    import subprocess
    import tempfile

    program = shutil.which("datasette")
    if program is None:
        raise UsageError("Datasette is not installed; add it with: pipx install datasette")
    with tempfile.TemporaryDirectory(prefix="hansard-") as folder, interrupted_by_sigterm():
        path = os.path.join(folder, "hansard.db")
        with CountBar("Copying views", after=SLOW_SECONDS) as bar:
            h.write_sql_snapshot(path, progress=bar)
        note("serving a copy of the views; stop with Ctrl-C")
        settings = ["--port", "0", "--setting", "allow_download", "off"]
        serving = subprocess.Popen([program, "serve", "--immutable", path, "--host", "127.0.0.1", *settings])  # noqa: S603
        try:
            serving.wait()
        finally:
            serving.terminate()
            serving.wait()
