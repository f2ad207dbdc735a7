"""The query language: pure functions from text to a tree of nodes, independent of any database.

Names are imported on first use: a command that only reads a date does not load the parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.query.language.error import QueryError
    from hansard.query.language.fields import (
        FIELDS,
        After,
        Before,
        Branch,
        Changed,
        Client,
        Cost,
        Date,
        Field,
        File,
        Folder,
        Has,
        InAgent,
        InSession,
        Is,
        Kind,
        Model,
        Note,
        On,
        Project,
        PullRequest,
        Role,
        Since,
        Tag,
        Title,
        Tokens,
        Tool,
        Until,
        Version,
    )
    from hansard.query.language.help import syntax_help, syntax_markdown
    from hansard.query.language.nodes import OPERATORS, And, Everything, Near, Node, Not, Or, Phrase, Word, walk
    from hansard.query.language.parser import parse

__all__ = [
    "FIELDS",
    "OPERATORS",
    "After",
    "And",
    "Before",
    "Branch",
    "Changed",
    "Client",
    "Cost",
    "Date",
    "Everything",
    "Field",
    "File",
    "Folder",
    "Has",
    "InAgent",
    "InSession",
    "Is",
    "Kind",
    "Model",
    "Near",
    "Node",
    "Not",
    "Note",
    "On",
    "Or",
    "Phrase",
    "Project",
    "PullRequest",
    "QueryError",
    "Role",
    "Since",
    "Tag",
    "Title",
    "Tokens",
    "Tool",
    "Until",
    "Version",
    "Word",
    "parse",
    "syntax_help",
    "syntax_markdown",
    "walk",
]

_HOMES = {"QueryError": "error", "parse": "parser", "syntax_help": "help", "syntax_markdown": "help"}
_HOMES |= dict.fromkeys("OPERATORS And Everything Near Node Not Or Phrase Word walk".split(), "nodes")


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'fields')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
