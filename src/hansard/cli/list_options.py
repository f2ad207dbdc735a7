"""The options of every list: how many, in which order, and which page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import click

from hansard.errors import NotFound

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


_AnyPage = TypeVar("_AnyPage", bound=_Page)


def limit_option(default: int | None, *, least: int = 0, text: str | None = None) -> Callable[[_Command], _Command]:
    """`-n`, `--limit`: how many to show."""
    words = text or ("Show at most this many." if least else "Show at most this many; 0 shows all.")
    number = click.IntRange(min=least)
    return click.option(
        "-n", "--limit", type=number, default=default, show_default=bool(default), metavar="N", help=words
    )


def sort_options(
    orders: Iterable[str], default: str | None, *, text: str = "Sort by this."
) -> Callable[[_Command], _Command]:
    """`--sort` and `--reverse`."""

    def add(command: _Command) -> _Command:
        command = click.option("--reverse", is_flag=True, help="Reverse the order.")(command)
        return click.option(
            "--sort", type=click.Choice(list(orders)), default=default, show_default=default is not None, help=text
        )(command)

    return add


def page_options(command: _Command) -> _Command:
    """`--page` for people, `--cursor` for programs."""
    command = click.option("--cursor", metavar="CURSOR", help="Continue after a page: next_cursor of --json.")(command)
    return click.option(
        "--page", type=click.IntRange(min=1), default=1, metavar="N", help="Show the Nth page of --limit results."
    )(command)


def read_page(ask: Callable[[str | None], _AnyPage], number: int, cursor: str | None) -> _AnyPage:
    """The page with that number, counted from the cursor."""
    page = ask(cursor)
    for before in range(1, number):
        if page.next_cursor is None:
            raise NotFound(f"there is no page {number}: the last page is {before}")
        page = ask(page.next_cursor)
    return page


def more_note(shown: int, total: str, what: str, page: int) -> str:
    """What to say below a page that is not the last."""
    return f"{shown:,} of {total} {what}; --page {page + 1} shows the next, --limit 0 shows all"
