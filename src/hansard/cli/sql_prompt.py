"""The prompt of `hansard sql`: statements that end with a semicolon, commands that begin with a dot, completion and history."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.cli.commands.sql import save_plot, show
from hansard.cli.context import note
from hansard.errors import HansardError, UsageError
from hansard.files import FILE_MODE
from hansard.model.store_requests import SQL_ENGINES
from hansard.render.format import many
from hansard.render.text import one_line
from hansard.sql import FUNCTIONS, KEYWORDS, QUESTIONS, VIEWS, find_question

if TYPE_CHECKING:
    from hansard.cli.context import Context
    from hansard.engine import Hansard
    from hansard.model.sql import SqlResult
    from hansard.model.store_requests import SqlRequest

_HISTORY = "sql-history"  # in the data directory
_REMEMBERED = 1000  # statements
_BREAK = "\x01"  # a line break inside a statement, in the file
_ROWS = 200
_HELP = """\
.tables            list the views
.schema VIEW       list the columns of a view
.questions         list the named questions
.run NAME          run a named question
.engine sqlite|duckdb
.plot FILE         draw the last answer into an .svg or .png file
.quit              leave; so does Ctrl-D
A statement ends with a semicolon. Tab completes, the up arrow repeats."""


class Prompt:
    """Reads statements until the user leaves."""

    def __init__(self, cli: Context, h: Hansard, request: SqlRequest, ask: Callable[[str], str] | None = None) -> None:
        self._cli = cli
        self._h = h
        self._request = request if request.limit is not None else replace(request, limit=_ROWS)
        self._ask = ask or input
        self._answer: SqlResult | None = None

    def run(self) -> None:
        """Ask until the end."""
        note("hansard sql: .help for help, Ctrl-D to leave")
        with _line_editing(self._h.home) as remember:
            while (line := self._read()) is not None:
                remember(line)
                if line in (".quit", ".exit"):
                    return
                try:
                    if line.startswith("."):
                        self._command(*line[1:].split(None, 1))
                    elif line.strip(" ;"):
                        self._query(line)
                except HansardError as error:
                    note(str(error))
                except KeyboardInterrupt:
                    note("stopped")

    def _read(self) -> str | None:
        """A command, or a statement of one line or several; None at the end."""
        lines: list[str] = []
        while True:
            try:
                lines.append(self._ask("  ...> " if lines else "sql> "))
            except EOFError:
                if sys.stderr.isatty():
                    note("")
                return None
            except KeyboardInterrupt:
                note("")
                lines = []
                continue
            text = "\n".join(lines).strip()
            if not text or text.startswith(".") or text.endswith(";"):
                return text

    def _query(self, sql: str, parameters: Any = None) -> None:
        started = time.perf_counter()
        request = replace(self._request, query=sql.rstrip().rstrip(";"), parameters=parameters or {})
        self._answer = self._h.sql(request)
        show(self._cli, self._answer)
        note(f"{many(len(self._answer.rows), 'row')} in {time.perf_counter() - started:.2f} s")

    def _command(self, name: str = "", argument: str = "") -> None:
        if name == "help":
            self._cli.say(_HELP.splitlines())
        elif name == "tables":
            self._cli.say(f"{view.name:14} {view.about}" for view in VIEWS.values())
        elif name == "schema" and argument in VIEWS:
            self._cli.say(f"{column.name:24} {column.type:8} {column.about}" for column in VIEWS[argument].columns)
        elif name == "questions":
            self._cli.say(f"{question.name:32} {question.title}" for question in QUESTIONS.values())
        elif name == "run" and argument:
            question = find_question(argument)
            self._cli.say([*question.sql.splitlines(), ""])
            self._query(question.sql, question.parameters)
        elif name == "engine" and argument in SQL_ENGINES:
            self._request = replace(self._request, engine=argument)
        elif name == "plot" and argument:
            if self._answer is None:
                raise UsageError("nothing to plot yet")
            save_plot(argument, self._answer)
            note(f"written to {one_line(argument)}")
        else:
            raise UsageError(f"unknown command .{one_line(name)} {one_line(argument)}".rstrip() + "; .help lists them")


def complete(text: str, word: str) -> list[str]:
    """The words that may follow: `text` is the line up to the cursor, `word` what it ends with."""
    if text.startswith("."):
        choices: dict[str, list[str]] = {
            ".schema": list(VIEWS),
            ".run": list(QUESTIONS),
            ".engine": list(SQL_ENGINES),
        }
        command, blank, _ = text.partition(" ")
        words = choices.get(command, []) if blank else [line.split()[0] for line in _HELP.splitlines()[:-1]]
    else:
        named = [view for name, view in VIEWS.items() if re.search(rf"\b{name}\b", text)] or list(VIEWS.values())
        columns = sorted({column.name for view in named for column in view.columns})
        words = [*VIEWS, *columns, *FUNCTIONS, *KEYWORDS]
    if "." in word and not text.startswith("."):
        prefix, _, word = word.rpartition(".")
        columns = sorted({column.name for view in VIEWS.values() for column in view.columns})
        return [f"{prefix}.{name}" for name in columns if name.startswith(word)]
    return [name for name in dict.fromkeys(words) if name.lower().startswith(word.lower())]


@contextlib.contextmanager
def _line_editing(home: str) -> Iterator[Callable[[str], None]]:
    """Completion and history, where there is a readline; gives what adds a statement to the history, as a whole."""
    try:
        import readline
    except ImportError:  # Windows
        yield lambda _: None
        return
    path = os.path.join(home, _HISTORY)
    statements = _read_history(path)
    found: list[str] = []

    def completer(word: str, number: int) -> str | None:
        nonlocal found
        if number == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            found = complete(line.lstrip(), word)
        return found[number] if number < len(found) else None

    def remember(statement: str) -> None:
        if statement and statements[-1:] != [statement]:
            statements.append(statement)
            readline.add_history(statement)

    readline.set_completer_delims(" \t\n,()=<>*+-/;'\"")
    readline.set_completer(completer)
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    readline.set_auto_history(False)  # which would add each line of a statement by itself
    for statement in statements:
        readline.add_history(statement)
    try:
        yield remember
    finally:
        readline.set_completer(None)
        readline.set_auto_history(True)
        _write_history(path, statements[-_REMEMBERED:])


def _read_history(path: str) -> list[str]:
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n").replace(_BREAK, "\n") for line in file]
    return []


def _write_history(path: str, statements: list[str]) -> None:
    """Write a line per statement; the file is private from its first moment."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.writelines(statement.replace("\n", _BREAK) + "\n" for statement in statements)
