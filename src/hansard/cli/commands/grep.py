"""`hansard grep`: a regular expression over the verbatim record."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from hansard.cli.context import SLOW_SECONDS, Command, Context, note, reads, warn
from hansard.cli.output.progress import BytesBar
from hansard.cli.request_options import takes
from hansard.errors import UsageError
from hansard.model.store_requests import GrepRequest
from hansard.render.format import many
from hansard.render.text import Paint, clean, fit, fit_path, one_line, width
from hansard.sources.roots import FileKind

if TYPE_CHECKING:
    from hansard.grep.search import Grep
    from hansard.model.search import GrepCount, GrepFile, GrepLine

_PIPED = 200  # columns of an excerpt without a terminal
_LEAST = 40  # columns of an excerpt, however long the path is
_BATCH = 256  # lines written at once into a pipe


@click.command(cls=Command)
@click.argument("pattern", metavar="REGEX")
@takes(
    GrepRequest,
    "fixed ignore_case word",
    click.option(
        "-l", "--files-with-matches", "only_files", is_flag=True, help="Print only the paths of files with matches."
    ),
    click.option("-c", "--count", is_flag=True, help="Print only the number of matching lines per file."),
    "only_matching",
    click.option("--whole-lines", is_flag=True, help="Print whole lines, byte for byte, and nothing else."),
    click.option("--no-filename", is_flag=True, help="Leave out paths and line numbers."),
    "after before",
    click.option(
        "-C",
        "--context",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Show N lines before and after each match.",
    ),
    "max_count",
    click.option("-n", "--line-number", is_flag=True, expose_value=False, help="Show line numbers (the default)."),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show at most N results in all."),
    "sessions project",
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice([kind.value for kind in FileKind]),
        metavar="KIND",
        help="Only in files of this kind (main, agent, history, tool_result, ...); repeatable.",
    ),
    "all_generations",
)
@reads
def grep(
    cli: Context,
    request: GrepRequest,
    only_files: bool,
    count: bool,
    whole_lines: bool,
    no_filename: bool,
    context: int,
) -> None:
    r"""Search every stored byte, line by line, with a regular expression.

    Files come newest first. Exits with 1 when nothing matches.

    Examples:
      hansard grep 'def \w+_handler'
      hansard grep -i -C 2 --session @last 'permission denied'
      hansard grep -o --no-filename '"gitBranch":"[^"]*"' | sort | uniq -c
      hansard grep -F --whole-lines 'exit code 137' | jq .timestamp
    """
    if whole_lines and request.only_matching:
        raise UsageError("--whole-lines and --only-matching cannot be used together")
    began = time.monotonic()
    columns = shutil.get_terminal_size((0, 0)).columns  # 0: no terminal
    with cli.reading() as h, ExitStack() as bar:
        out = _ResultWriter(bar)
        request = replace(
            request,
            sessions=request.sessions or None,
            kinds=request.kinds or None,
            before=max(request.before, context),
            after=max(request.after, context),
            around=None if whole_lines else _PIPED if cli.as_json else 4 * max(columns, _PIPED),
            progress=out.progress,
        )
        found = h.grep(request)
        look = _Formatter(
            cli.paint(), columns, many_roots=len(h.known_roots()) > 1, bare=no_filename, heading=sys.stdout.isatty()
        )
        if count or only_files:
            with closing(found.counts(any_line=only_files)) as counts:
                if cli.as_json:
                    out.document("transcripts", (_count(item, only_files) for item in counts))
                else:
                    out.lines(look.count(item, only_files) for item in counts)
        else:
            with closing(iter(found)) as lines:
                if cli.as_json:
                    out.document("matches", map(_match, lines))
                elif whole_lines:
                    out.verbatim(lines)
                elif request.only_matching:
                    out.lines(look.prefix(line) + shown(line.text) for line in lines)
                else:
                    out.lines(look.lines(lines, groups=bool(request.before or request.after)))
    seconds = time.monotonic() - began
    if cli.as_json:
        out.end_document(found, seconds, lines_known=not only_files)
    _tell(found, seconds)
    if not found.files:
        raise click.exceptions.Exit(1)


def _tell(found: Grep, seconds: float) -> None:
    if found.damaged:
        places = many(found.damaged, "damaged place was", "damaged places were")
        warn(f"{places} left out; `hansard verify` names them")
    if found.truncated:
        note("stopped at --limit; there is more")
    if found.slow_because is not None and seconds > SLOW_SECONDS:
        note(f"searched with Python's re, which is slower than RE2: {found.slow_because}")


def _place(file: GrepFile) -> dict[str, Any]:
    return {
        "session_id": file.session_id,
        "agent_id": file.agent_id,
        "transcript": file.path,
        "root": file.root,
        "kind": file.kind,
        "generation": file.generation,
        "current": file.current,
    }


def _match(line: GrepLine) -> dict[str, Any]:
    facts = {"line": line.line, "offset": line.offset, "start": line.start, "end": line.end}
    return {**_place(line.file), **facts, "text": line.text.decode("utf-8", "replace")}


def _count(item: GrepCount, only_files: bool) -> dict[str, Any]:
    return {**_place(item.file), "matched_lines": None if only_files else item.matched_lines}


class _ResultWriter:
    """Writes results to stdout as they come; removes the progress bar before the first."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._bar = stack.enter_context(BytesBar("Searching", after=SLOW_SECONDS))
        self._begun = False

    def progress(self, done: int, total: int) -> None:
        if not self._begun:
            self._bar(done, total)

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines for people, unbuffered in a terminal."""
        waiting: list[str] = []
        most = 1 if sys.stdout.isatty() else _BATCH
        for line in lines:
            waiting.append(line)
            if len(waiting) >= most:
                self._say(waiting)
                waiting = []
        self._say(waiting)

    def _say(self, lines: list[str]) -> None:
        if lines:
            self._begin()
            click.echo("\n".join(lines), color=True)  # the colours were decided in `paint`

    def verbatim(self, lines: Iterable[GrepLine]) -> None:
        for line in lines:
            self._begin()
            sys.stdout.buffer.write(line.text)
            sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()

    def document(self, name: str, items: Iterable[dict[str, Any]]) -> None:
        """Stream a JSON document up to the end of its list, which may not fit in memory."""
        from hansard.model.serialize import encoded

        self._begin()
        stream = sys.stdout.buffer
        stream.write(f'{{"{name}": ['.encode())
        for number, item in enumerate(items):
            stream.write(b", " if number else b"")
            stream.write(encoded(item).rstrip(b"\n"))

    def end_document(self, found: Grep, seconds: float, *, lines_known: bool) -> None:
        from hansard.model.serialize import encoded

        totals = {
            "files": found.files,
            "matched_lines": found.matched_lines if lines_known else None,
            "bytes_searched": found.bytes_searched,
            "damaged": found.damaged,
            "truncated": found.truncated,
            "took_ms": round(seconds * 1000, 1),
        }
        stream = sys.stdout.buffer
        stream.write(b"], " + encoded(totals).lstrip(b"{"))
        stream.flush()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._stack.close()


class _Formatter:
    """Formats results for people."""

    def __init__(self, paint: Paint, columns: int, *, many_roots: bool, bare: bool, heading: bool) -> None:
        self._paint = paint
        self._columns = columns
        self._many_roots = many_roots
        self._bare = bare
        self._heading = heading and not bare

    def path(self, file: GrepFile) -> str:
        """A file's path, with its root if there are several, and its number if it is an old generation."""
        path = f"{file.root}/{file.path}" if self._many_roots else file.path
        return one_line(path if file.current else f"{path}.generation-{file.generation}")

    def prefix(self, line: GrepLine) -> str:
        """PATH:LINE: of a match, PATH-LINE- of a line near one."""
        if self._bare:
            return ""
        mark = ":" if line.start is not None else "-"
        if self._heading:
            return f"{self._paint(str(line.line), 'green')}{mark} "
        return f"{self._paint(self.path(line.file), 'magenta')}{mark}{self._paint(str(line.line), 'green')}{mark} "

    def count(self, item: GrepCount, only_files: bool) -> str:
        """A line of -l or -c."""
        path = self._paint(self.path(item.file), "magenta")
        if only_files:
            return path
        return str(item.matched_lines) if self._bare else f"{path}:{item.matched_lines}"

    def lines(self, lines: Iterable[GrepLine], *, groups: bool) -> Iterator[str]:
        """Excerpts, with a separator between groups of adjacent lines."""
        file: GrepFile | None = None
        number = 0
        for line in lines:
            if self._heading and line.file is not file:
                yield from ("",) * (file is not None)
                yield self._paint(self.path(line.file), "magenta")
            elif groups and file is not None and (line.file is not file or line.line > number + 1):
                yield self._paint("--", "dim")
            file, number = line.file, line.line
            yield self.prefix(line) + self._excerpt(line)

    def _excerpt(self, line: GrepLine) -> str:
        columns = _PIPED
        if self._columns:
            path = 0 if self._heading else width(self.path(line.file)) + 1
            taken = 0 if self._bare else path + len(str(line.line)) + 2
            columns = max(_LEAST, self._columns - taken)
        more = "…" if line.text_at + len(line.text) < line.length else ""
        if line.start is None or line.end is None:
            return fit(shown(line.text) + more, columns)
        start, end = line.start - line.text_at, line.end - line.text_at
        before = ("…" if line.text_at else "") + shown(line.text[:start])
        match, after = fit(shown(line.text[start:end]), columns), shown(line.text[end:]) + more
        rest = columns - width(match)
        # Before the match: a third of the columns, or as many as the text after it leaves.
        before = fit_path(before, max(rest // 3, rest - width(after)))
        return before + self._paint(match, "red") + fit(after, rest - width(before))


def shown(text: bytes) -> str:
    """A line's bytes as one line of text without control characters."""
    return clean(text.decode("utf-8", "replace")).replace("\n", " ").replace("\t", " ")
