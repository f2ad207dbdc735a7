"""Shell completion of arguments and options, with values from the indexed history.

Nothing is synced. Names in a history are untrusted: bash inserts completions verbatim, so values with characters that a shell
interprets are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

from hansard.cli.context import Context, has_store
from hansard.errors import HansardError
from hansard.render.text import fit, one_line

VARIABLE = "_HANSARD_COMPLETE"
_LINE = "_HANSARD_LINE"
_MOST = 100
_TITLE_COLUMNS = 60
_IS_SAFE = re.compile(r"[\w.@+=%/][\w.@+=%/:,-]*").fullmatch  # nothing that a shell expands, and no option
_SESSION_ARGUMENTS = {"session", "names", "name", "what"}
_QUERY_ARGUMENTS = {"query", "words", "sessions"}
_HISTORY_VALUES = ("project", "model", "branch", "tool", "tag", "version")
_DATES = {"today": "", "yesterday": "", "24h": "the last day", "7d": "the last week", "30d": "the last month"}
_BASH = """\
%(complete_func)s() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
        esac
    done < <(_HANSARD_LINE="${COMP_LINE:0:COMP_POINT}" %(complete_var)s=bash_complete "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then compopt -o nospace; fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class HansardBash(BashComplete):
    """Bash splits words at colons: complete `project:ti` as a whole, and return only the part after the colon."""

    source_template = _BASH
    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words of the line, and the one that is being typed."""
        line = os.environ.get(_LINE, "")
        words = split_arg_string(line)
        incomplete = words.pop() if words and not line[-1:].isspace() else ""
        self._before = incomplete[: incomplete.rfind(":") + 1]
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """One line for the script."""
        return f"{item.type},{item.value.removeprefix(self._before)}"


def register() -> None:
    """Let click complete for bash by our script."""
    add_completion_class(HansardBash)


def attach(command: click.Command) -> click.Command:
    """Add completion to the parameters of a command and of those below it; only needed when a shell asks."""
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        attach(below)
    for param in command.params:
        complete = _completer(param)
        if complete is not None:
            param.shell_complete = partial(_run, complete)  # type: ignore[method-assign]
    return command


Completer = Callable[[click.Context, str], Iterable[CompletionItem]]


def _run(complete: Completer, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    try:
        return [item for item in complete(ctx, incomplete) if item.type != "plain" or _IS_SAFE(item.value)]
    except (HansardError, OSError):
        return []


def _completer(param: click.Parameter) -> Completer | None:
    name = param.name or ""
    if isinstance(param, click.Argument):
        if name in _SESSION_ARGUMENTS:
            return _sessions
        return _query if name in _QUERY_ARGUMENTS else None
    if name in _HISTORY_VALUES and not isinstance(param.type, click.Choice):
        return partial(_values, name)
    if name == "query":
        return _query
    if name in ("since", "until"):
        return lambda _, incomplete: _matching(_DATES, incomplete)
    if name == "by":
        return _dimensions
    kinds = {"DIR": "dir", "PATH": "file"}
    kind = kinds.get(str(getattr(param, "metavar", None)))
    return None if kind is None else lambda _, incomplete: [CompletionItem(incomplete, type=kind)]


def _matching(values: dict[str, str], incomplete: str, before: str = "") -> Iterator[CompletionItem]:
    for value, help_text in values.items():
        if value.startswith(incomplete):
            yield CompletionItem(before + value, help=help_text or None)


def _history(ctx: click.Context, kind: str, incomplete: str) -> dict[str, str]:
    cli = ctx.ensure_object(Context)
    with cli.engine() as h:
        found = h.suggestions(kind, incomplete, limit=_MOST) if has_store(h) else []
    # A comma ends a description in fish.
    return {value: fit(one_line(text[:400].replace(",", " ")), _TITLE_COLUMNS) for value, text in found}


def _values(kind: str, ctx: click.Context, incomplete: str, before: str = "") -> Iterator[CompletionItem]:
    for value, help_text in _history(ctx, kind, incomplete).items():
        yield CompletionItem(before + value, help=help_text or None)


def _sessions(ctx: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    yield from _matching({"@last": "the newest session"}, incomplete)
    yield from _values("session", ctx, incomplete)


def _dimensions(_: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    """What a report is split by: one dimension, or several with commas."""
    from hansard.model.requests import DIMENSIONS

    before = incomplete[: incomplete.rfind(",") + 1]
    yield from _matching(dict.fromkeys(DIMENSIONS, ""), incomplete.removeprefix(before), before)


def _query(ctx: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    """A field of the query language, or a value of one."""
    from hansard.query.language import FIELDS, help_of

    name, colon, value = incomplete.partition(":")
    if not colon:
        words: dict[str, str] = {f"{field}:": help_of(kind) for field, kind in FIELDS.items()}
        if getattr(ctx.command, "name", "") == "export":
            yield from _sessions(ctx, incomplete)
        yield from _matching(words, incomplete)
        return
    before = f"{name}:"
    known: Any = getattr(FIELDS.get(name.lower()), "values", None)
    if isinstance(known, dict):
        yield from _matching(known, value, before)
    elif name in _HISTORY_VALUES:
        yield from _values(name, ctx, value, before)
    elif name == "session":
        yield from _values("session", ctx, value, before)
    elif name in ("since", "until", "on", "before", "after"):
        yield from _matching(_DATES, value, before)
