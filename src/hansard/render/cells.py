"""Cells of tables as text: one format per kind of value, for every output."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from hansard.model.table import Kind, Table
from hansard.render.format import (
    ProjectNames,
    cost,
    dollars,
    duration,
    full,
    model_name,
    project_name,
    short,
    size,
    titled,
    tool_name,
)
from hansard.render.text import one_line, short_id

_UNKNOWN = {Kind.TIME: "-", Kind.MONEY: "?"}
_WRITERS: dict[Kind, Callable[[Any], str]] = {
    Kind.TEXT: one_line,
    Kind.LABEL: str,
    Kind.TITLE: titled,
    Kind.ID: short_id,
    Kind.PATH: one_line,
    Kind.MODEL: model_name,
    Kind.TOOL: tool_name,
    Kind.COUNT: lambda value: f"{value:,}",
    Kind.BYTES: size,
    Kind.ROUNDED: short,
    Kind.PERCENT: lambda value: f"{value:.1f}",
    Kind.SHARE: lambda value: f"{100 * value:.1f} %",
    Kind.MONEY: dollars,
    Kind.COST: lambda value: cost(value.amount, lower_bound=value.is_lower_bound, unpriced=value.is_partial),
    Kind.TIME: full,
    Kind.DURATION: duration,
    Kind.LINES: lambda value: f"+{value[0]:,} -{value[1]:,}",
    Kind.ROUNDED_LINES: lambda value: f"+{short(value[0])} -{short(value[1])}",
}


NAMELESS: ProjectNames = MappingProxyType({})


def cell(value: Any, kind: Kind, names: ProjectNames = NAMELESS) -> str:
    if value is None:
        return _UNKNOWN.get(kind, "")
    if kind is Kind.PROJECT:
        return project_name(value, names)
    return _WRITERS[kind](value)


def with_headings(table: Table) -> Table:
    """A table whose headings are words, not capitals."""
    return replace(table, columns=[replace(column, title=column.title.capitalize()) for column in table.columns])
