"""The parameters of a query: each has a name and a value, in both engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hansard.errors import UsageError

UNNAMED = "parameters need names: write $name instead of ?"


def check_parameters(names: Iterable[str | None], given: Mapping[str, Any]) -> None:
    """Reject a query unless each of its parameters has a name and a value, and each value a parameter."""
    wanted = dict.fromkeys(names)
    for name in wanted:
        if name is None or not name.isidentifier():
            raise UsageError(UNNAMED)
        if name not in given:
            raise UsageError(f"parameter ${name} has no value (in a terminal: --param {name}=VALUE)")
    if excess := [name for name in given if name not in wanted]:
        known = ", ".join(f"${name}" for name in wanted) or "none"
        raise UsageError(f"the query has no parameter ${excess[0]}; its parameters: {known}")
