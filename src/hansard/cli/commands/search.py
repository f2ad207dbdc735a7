"""`hansard search`."""

from __future__ import annotations

import click
from msgspec.structs import replace

from hansard.cli.arguments import FreeTextCommand
from hansard.cli.context import Context, note, reads, warn
from hansard.cli.request_options import limit_option, read_page, takes, typed_query
from hansard.errors import UsageError
from hansard.model.requests import SearchRequest
from hansard.model.search import Facets, PartialMatches, SearchPage
from hansard.model.serialize import plain
from hansard.render.format import many, size

_SESSIONS = 10
_HITS = 20
_SHOWN = 60
SEARCH_OPTIONS = (
    limit_option(None, least=1, text="Show at most this many; by default 10 sessions, or 20 hits."),
    click.option(
        "--group",
        "grouping",
        type=click.Choice(["session", "none"]),
        help="Group hits by session, or list them; by default session, with --json none.",
    ),
)
"""How many hits a search shows, and by what."""


@click.command(cls=FreeTextCommand)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@takes(
    SearchRequest,
    *SEARCH_OPTIONS,
    "sort project since until context",
    click.option("--count", is_flag=True, help="Only count the matches."),
    "facets page cursor",
    click.option("--syntax", is_flag=True, help="Explain the query language."),
)
@reads
def search(cli: Context, request: SearchRequest, grouping: str | None, count: bool, page: int, syntax: bool) -> None:
    """Find anything that was ever said or done: prompts, replies, thoughts, tool calls and their results, titles.

    All words of QUERY must match, in any order; --syntax explains phrases, fields and the rest. A word may begin
    with a dash; everything after -- belongs to the query.

    Examples:
      hansard search flaky login
      hansard search parse_line tool:Edit since:30d
      hansard search '"connection refused" -docker'
      hansard search is:error project:tidewater --facets
    """
    if syntax:
        _explain(cli)
        return
    if not (request.query or "").strip():
        raise UsageError("no query given; `hansard search --syntax` explains the query language")
    if count and (request.facets or request.cursor is not None):
        raise UsageError(f"--count prints only a number: leave {'--facets' if request.facets else '--cursor'} out")
    if count:
        with cli.reading() as h:
            _count(cli, h.count(replace(request, limit=1)))
        return
    request = grouped(cli, request, grouping)
    with cli.reading() as h:
        found = read_page(h.search, request, page)
    show_found(cli, found, request, page, search, otherwise="search the verbatim text: hansard grep REGEX")


def grouped(cli: Context, request: SearchRequest, grouping: str | None) -> SearchRequest:
    """The request with hits by session or one by one, as it was asked for or is usual, and with the usual limit."""
    by_session = grouping == "session" if grouping is not None else not cli.as_json
    return replace(request, group=by_session, limit=request.limit or (_SESSIONS if by_session else _HITS))


def show_found(
    cli: Context, found: SearchPage, request: SearchRequest, page: int, command: FreeTextCommand, *, otherwise: str = ""
) -> None:
    """Show what a search found; without anything exit with 1, and say what else to try."""
    if cli.as_json:
        optional = {"sessions": request.group, "facets": request.facets, "partial": found.partial is not None}
        cli.emit({key: value for key, value in plain(found).items() if optional.get(key, True)})
    elif found.hits or found.found_notes:
        _show(cli, found, found.facets)
    _tell(cli, found, page)
    if not found.hits and not found.found_notes:
        if request.cursor is not None:
            warn("no more results")
        elif found.partial is not None:
            warn("\n".join((*found.notes, *filter(None, [command.meant(typed_query())]), f"{found.partial.heading}:")))
            if not cli.as_json:
                _show(cli, found.partial)
        else:
            warn(_nothing(request.query, command.meant(typed_query()), found.notes, otherwise))
        raise click.exceptions.Exit(1)


def _explain(cli: Context) -> None:
    from hansard.query.language import syntax_help

    cli.answer({"syntax": syntax_help()}, lambda: [syntax_help().rstrip("\n")])


def _count(cli: Context, total: int) -> None:
    cli.answer({"total": total}, lambda: [str(total)])
    if not total:
        raise click.exceptions.Exit(1)


def _show(cli: Context, page: SearchPage | PartialMatches, facets: Facets | None = None) -> None:
    from hansard.render.terminal.hits import HitStyle, facet_lines, hit_lines, note_lines, session_lines

    look = HitStyle(cli.width(), cli.paint(), cli.names)
    lines = list(note_lines(page.found_notes, look) if isinstance(page, SearchPage) else ())
    lines += [""] * bool(lines and page.hits)
    lines += session_lines(page.sessions, look) if page.sessions else hit_lines(page.hits, look)
    if facets is not None:
        lines += ["", *facet_lines(facets, look)]
    cli.say(lines)


def _tell(cli: Context, page: SearchPage, number: int) -> None:
    for text in page.notes if page.hits else ():
        note(text)
    if page.not_indexed_bytes:
        why = "another process is syncing" if cli.syncing else "run `hansard sync`"
        warn(f"{size(page.not_indexed_bytes)} not indexed yet: {why}")
    if cli.as_json or not page.hits:
        return
    if page.facets is not None and page.facets.truncated:
        note(f"the newest {page.facets.counted:,} matches were counted; there are more")
    total = f"more than {page.total:,}" if page.truncated else f"{page.total:,}"
    if page.next_cursor is not None:
        inside = f" in {many(len(page.sessions), 'session')}" if page.sessions else ""
        note(f"{len(page.hits):,} of {total} matches{inside}; --page {number + 1} shows the next")


def _nothing(text: str, typo: str, notes: tuple[str, ...], otherwise: str) -> str:
    """What to try when nothing was found."""
    plain_words = [word for word in text.split() if word.isalpha() and word not in ("OR", "AND", "NOT")]
    if '"' in text:
        plain_words.clear()  # they may belong to a phrase
    hints = ["fewer words"] if len(text.split()) > 1 else []
    if len(plain_words) > 1:
        hints.append(" OR ".join(plain_words[:2]))
    hints.append(f"{plain_words[-1]}*" if plain_words else "wor* for a prefix")
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    lines = [f"nothing matches {shown!r}", *filter(None, [typo]), *notes]
    if not notes:
        lines.append(f"Try {', '.join(hints)}" + (f", or {otherwise}" if otherwise else ""))
    elif otherwise:
        lines.append(f"To {otherwise}")
    return "\n".join(lines)
