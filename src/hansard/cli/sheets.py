"""Answers as CSV, for spreadsheets: RFC 4180, in UTF-8, and nothing in it that a spreadsheet would run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hansard.model import UsageRow


def write_csv(names: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Write a header and one line for each row to stdout; what a row does not have stays empty."""
    from hansard.export.sheets import sheet

    stream = sys.stdout.buffer
    stream.writelines(sheet(names, ([row.get(name) for name in names] for row in rows)))
    stream.flush()


def names_of(rows: Iterable[dict[str, Any]]) -> list[str]:
    """All columns that rows have, in the order in which they come first."""
    return list(dict.fromkeys(name for row in rows for name in row))


def flat(row: UsageRow) -> dict[str, Any]:
    """A row of usage as one line of a sheet."""
    from dataclasses import asdict

    cells = row.as_plain()
    cells.pop("breakdown", None)
    if row.work is not None:
        cells = {**{name: value for name, value in cells.items() if name != "work"}, **asdict(row.work)}
    return cells
