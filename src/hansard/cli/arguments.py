"""Arguments that several commands take: a session, a query, a date."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context
from hansard.errors import UsageError

if TYPE_CHECKING:
    from typing import Any

    _ParamType = click.ParamType[datetime]  # generic for the type checker only: older clicks do not know it
else:
    _ParamType = click.ParamType


def parse_moment(
    text: str, now: datetime, option: str = "", *, end: bool = False, zone: tzinfo | None = None
) -> datetime:
    """Parse a time, of an option; a day, month or year means its start, or with `end` the moment after it."""
    from hansard.query.language.dates import parse_span

    try:
        span = parse_span(text, now, zone)
    except UsageError as error:
        raise UsageError(f"{option}: {error}" if option else str(error)) from None
    return span.end if end else span.start


class Moment(_ParamType):
    """A date or a distance back from now."""

    name = "when"

    def __init__(self, *, end: bool = False) -> None:
        self.end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # noqa: ARG002 - click's signature
        """The time, or a usage error with examples."""
        if isinstance(value, datetime):
            return value
        return parse_moment(str(value), datetime.now(UTC), param.opts[0] if param else "", end=self.end)


class QueryCommand(Command):
    """A command whose arguments are a query; an unknown option is an error, not a word of the query.

    Fields may be excluded with a dash (`-tool:Bash`); any other word that begins with one goes after `--`.
    """

    takes_dashed_words = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the options first and the words behind a `--`."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        known = {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
        ours: list[str] = []
        words: list[str] = []
        waiting = iter(args)
        for arg in waiting:
            if arg == "--":
                words += waiting
                break
            name, sign, _ = arg.partition("=")
            option = known.get(name)
            if option is not None and (not sign or name.startswith("--")):
                ours.append(arg)
                if not sign and not option.is_flag and not option.count:
                    value = next(waiting, None)
                    if value is None:
                        return super().parse_args(ctx, ours)  # reports the missing value
                    ours.append(value)
            elif arg[:2] in known and arg[2:].isdecimal() and not known[arg[:2]].is_flag:
                ours.append(arg)  # -C3
            elif ctx.resilient_parsing or self.takes_dashed_words or not arg.startswith("-") or _is_excluded_field(arg):
                words.append(arg)
            else:
                raise click.NoSuchOption(name, possibilities=self._similar(name), ctx=ctx)
        return super().parse_args(ctx, [*ours, "--", *words])

    def _similar(self, name: str) -> list[str]:
        from difflib import get_close_matches

        options = [param for param in self.params if isinstance(param, click.Option)]
        return get_close_matches(name, [one for option in options for one in option.opts], n=1, cutoff=0.75)


class FreeTextCommand(QueryCommand):
    """A command that searches for text: an unknown option is a word of the query.

    So `error -the`, `--no-verify` and `-rf` need no `--`. click's own way (`ignore_unknown_options`) takes short words
    letter by letter, and would find -h in `-the`.
    """

    takes_dashed_words = True

    def meant(self, query: tuple[str, ...]) -> str:
        """A hint if a word of the query looks like a misspelt option, else an empty text."""
        for word in query:
            name = word.partition("=")[0]
            near = self._similar(name) if name.startswith("--") else []
            if near and name != near[0]:
                return f"{name} was taken as a search word; did you mean the option {near[0]}?"
        return ""


def _is_excluded_field(arg: str) -> bool:
    """Whether an argument is a field of the query language with a dash before it, or a group of them."""
    if arg.startswith(("-(", '-"')):
        return True
    from hansard.query.language import FIELDS

    return arg[1:].partition(":")[0].lower() in FIELDS and ":" in arg


def choose_session(cli: Context, name: str | None, *, default: str | None = None, missing: str = "") -> str:
    """The name that was given; else the id that is picked in a terminal; else the default, or a usage error without one.

    `missing` is what that error says. With --json a program is asking: nothing is picked.
    """
    if name is not None:
        return name
    if cli.as_json or not _is_interactive():
        if default is None:
            if missing:
                raise UsageError(missing)
            ctx = click.get_current_context()
            raise click.MissingParameter(ctx=ctx, param_hint="'SESSION'", param_type="argument")
        return default
    return _pick(cli)


def _is_interactive() -> bool:
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    except (AttributeError, ValueError):  # closed or replaced
        return False


def _pick(cli: Context) -> str:
    from hansard.cli.commands.tui import start_app

    settings = cli.settings()
    with cli.reading(settings):
        pass
    purpose = click.get_current_context().info_name or "choose"
    chosen = start_app(cli, settings, picks="session", purpose=purpose, is_syncing=False)
    if chosen is None:
        raise click.exceptions.Exit(1)
    return chosen.session_id
