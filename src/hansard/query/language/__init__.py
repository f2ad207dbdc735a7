"""The query language: pure functions from text to a tree of nodes, independent of any database.

Names are imported on first use: a command that only reads a date does not load the parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.query.language.error import *  # noqa: F403
    from hansard.query.language.fields import *  # noqa: F403
    from hansard.query.language.help import *  # noqa: F403
    from hansard.query.language.nodes import *  # noqa: F403
    from hansard.query.language.parser import *  # noqa: F403

_HOMES = ("error", "fields", "nodes", "parser", "help")  # each imports none of those behind it


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use (PEP 562)."""
    if not name.startswith("_") and name not in _HOMES:
        from importlib import import_module

        for home in _HOMES:
            found = vars(import_module(f"{__name__}.{home}"))
            if name in found:
                value: object = found[name]
                globals()[name] = value
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
