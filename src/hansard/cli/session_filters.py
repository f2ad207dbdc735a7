"""The options that choose sessions, for every command that takes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from hansard.cli.dates import Moment

_OPTIONS = (
    click.option("--project", metavar="TEXT", help="Only in this project: a path or part of one."),
    click.option("--since", type=Moment(), help="Active at or after: 2026-05-01, 7d, monday, '3 days ago'."),
    click.option("--until", type=Moment(end=True), help="Begun before the end of that day, or before that time."),
    click.option("--branch", metavar="TEXT", help="On a git branch whose name contains this."),
    click.option("--model", metavar="TEXT", help="With a model whose name contains this."),
    click.option("--tool", metavar="NAME", help="That called this tool, or one of this MCP server; a star: begins so."),
    click.option(
        "--client-version",
        "version",
        metavar="VERSION",
        help="Written by this version of the client: 2.1 is every 2.1.x.",
    ),
    click.option("--text", metavar="WORDS", help="With all these words in the title or the first prompt."),
    click.option("--errors", "has_errors", is_flag=True, help="In which a tool or the API failed."),
    click.option("--gone", is_flag=True, help="Whose files the client has deleted; they are kept here."),
)
_NAMES = ("project", "since", "until", "branch", "model", "tool", "version", "text", "has_errors")


def session_filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets those that were given as `conditions`, which the engine takes."""

    @wraps(command)
    def chosen(*args: Any, gone: bool, **options: Any) -> Any:
        asked = {name: options.pop(name) for name in _NAMES}
        asked["source_state"] = "gone" if gone else None
        conditions = {name: value for name, value in asked.items() if value is not None and value is not False}
        return command(*args, conditions=conditions, **options)

    for add in reversed(_OPTIONS):
        chosen = add(chosen)
    return chosen
