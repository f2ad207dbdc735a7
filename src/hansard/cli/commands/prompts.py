"""`hansard prompts`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.arguments import FreeTextCommand
from hansard.cli.context import Context, note, now, reads
from hansard.cli.request_options import limit_option, read_page, show_page, takes, typed_query
from hansard.model.requests import PromptsRequest
from hansard.model.table import Column, Kind, Table
from hansard.render.format import full as in_full
from hansard.render.format import many, project_name, prompt_counts
from hansard.render.text import Paint, clean, fit, one_line, short_id, wrap

if TYPE_CHECKING:
    from hansard.model.search import Prompt

_SHOWN = 400  # characters of a prompt on one line
_INDENT = 2
_BEFORE = 32  # characters before a match from which the beginning is cut
_COLUMNS = (
    Column("WHEN", Kind.TIME),
    Column("ID", Kind.ID, rank=1),
    Column("PROJECT", Kind.PROJECT, rank=3),
    Column("PROMPT", Kind.LABEL, least=28),
    Column("TIMES", Kind.COUNT),
    Column("", rank=2, style="yellow"),
)


@click.command(cls=FreeTextCommand)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@takes(
    PromptsRequest,
    "project since until source unique",
    click.option("--reverse", "ascending", is_flag=True, help="Reverse the order: oldest first."),
    click.option("--full", is_flag=True, help="Show whole prompts instead of one line each."),
    limit_option(50),
    "page cursor",
)
@reads
def prompts(cli: Context, request: PromptsRequest, full: bool, page: int) -> None:
    """List every prompt ever typed, the newest first; QUERY selects among them, as in `hansard search`.

    Prompts marked "lost" are known from history.jsonl only: their session was deleted before it could be kept.

    Examples:
      hansard prompts --since 7d
      hansard prompts flaky login
      hansard prompts '"release note"' -draft project:tidewater
      hansard prompts --unique --source command
    """
    query = typed_query()
    with cli.reading() as h:
        found = read_page(h.prompts, request, page)

    def lines() -> Iterable[str]:
        words = _words(query)
        if full:
            return _texts(cli, found.prompts, words)
        return cli.draw(_table(cli, found.prompts, words, unique=request.unique))

    show_page(cli, found, found.prompts, lines, f"listed ({prompt_counts(found)})", page)
    if not found.prompts:
        note("hansard: no prompt matches" if found.total == 0 else "hansard: no more prompts")
        if typo := prompts.meant(query):
            note(typo)
        raise click.exceptions.Exit(1)


def _words(query: tuple[str, ...]) -> re.Pattern[str] | None:
    """A pattern for the words of a query; None if it has none."""
    from hansard.query.language import Not, Phrase, Word, parse, walk

    node = parse(" ".join(query), now=now())
    excluded = {id(part) for one in walk(node) if isinstance(one, Not) for part in walk(one)}
    texts = [one.text for one in walk(node) if isinstance(one, Word | Phrase) and id(one) not in excluded]
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))), re.IGNORECASE) if texts else None


def _excerpt(text: str, words: re.Pattern[str] | None) -> str:
    """A prompt on one line, starting shortly before the first match."""
    text = one_line(text)
    match = None if words is None else words.search(text)
    if match is None or match.start() < _BEFORE:
        return text
    start = text.rfind(" ", 0, match.start() - _BEFORE // 2) + 1
    return f"… {text[start:]}" if start else text


def _table(cli: Context, found: Sequence[Prompt], words: re.Pattern[str] | None, *, unique: bool) -> Table:
    shown = [column for column in _COLUMNS if unique or column.title != "TIMES"]
    if words is not None:
        mark = partial(_marked, words, cli.paint())
        shown = [replace(one, mark=mark) if one.title == "PROMPT" else one for one in shown]
    if all(prompt.session_kept for prompt in found):
        shown.pop()
    rows = []
    for prompt in found:
        cells = {
            "WHEN": prompt.at,
            "ID": prompt.session_id,
            "PROJECT": prompt.project,
            "PROMPT": (_excerpt(prompt.text, words) or "(empty)")[: max(_SHOWN, cli.width())],
            "TIMES": prompt.times,
            "": None if prompt.session_kept else "lost",
        }
        rows.append([cells[column.title] for column in shown])
    return Table(shown, rows)


def _marked(words: re.Pattern[str], paint: Paint, text: str) -> str:
    return words.sub(lambda match: paint(match[0], "match"), text)


def _texts(cli: Context, found: Sequence[Prompt], words: re.Pattern[str] | None) -> Iterator[str]:
    columns, paint = cli.width(), cli.paint()
    for number, prompt in enumerate(found):
        if number:
            yield ""
        facts = [
            in_full(prompt.at),
            project_name(prompt.project, cli.names),
            short_id(prompt.session_id or ""),
            prompt.source if prompt.source not in ("prompt", "history") else "",
            f"typed {many(prompt.times, 'time')}" if prompt.times > 1 else "",
            many(prompt.copies, "copy", "copies") if prompt.copies else "",
            "" if prompt.session_kept else "lost",
        ]
        yield paint(fit("  ".join(filter(None, facts)), columns), "dim")
        for line in wrap(clean(prompt.text).strip("\n"), columns - _INDENT):
            yield (" " * _INDENT + (line if words is None else _marked(words, paint, line))) if line else ""
