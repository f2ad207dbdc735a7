"""Cells of tables as text: one format per kind of value, for every output."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from hansard.model.table import Kind
from hansard.render.format import (
    ProjectNames,
    cost,
    dollars,
    duration,
    model_name,
    project_name,
    short,
    titled,
    tool_name,
    when,
)
from hansard.render.text import one_line

_UNKNOWN = {Kind.TIME: "-", Kind.MONEY: "?"}
_WRITERS: dict[Kind, Callable[[Any], str]] = {
    Kind.TEXT: one_line,
    Kind.LABEL: str,
    Kind.TITLE: titled,
    Kind.ID: lambda value: one_line(value[:8]),
    Kind.PATH: one_line,
    Kind.MODEL: model_name,
    Kind.TOOL: tool_name,
    Kind.COUNT: lambda value: f"{value:,}",
    Kind.ROUNDED: short,
    Kind.PERCENT: lambda value: f"{value:.1f}",
    Kind.MONEY: dollars,
    Kind.COST: lambda value: cost(value.amount, lower_bound=value.is_lower_bound, unpriced=value.is_partial),
    Kind.DURATION: duration,
    Kind.LINES: lambda value: f"+{value[0]:,} -{value[1]:,}",
    Kind.ROUNDED_LINES: lambda value: f"+{short(value[0])} -{short(value[1])}",
}


class CellContext(Struct, frozen=True):
    """What cells depend on besides their values: the current time, and the names of projects."""

    now: datetime
    names: ProjectNames = MappingProxyType({})


def cell(value: Any, kind: Kind, context: CellContext | None = None) -> str:
    if value is None:
        return _UNKNOWN.get(kind, "")
    if kind is Kind.TIME:
        return when(value, context.now if context is not None else value)
    if kind is Kind.PROJECT:
        return project_name(value, context.names if context is not None else {})
    return _WRITERS[kind](value)
