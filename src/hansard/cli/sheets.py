"""Answers as CSV, for spreadsheets: RFC 4180, in UTF-8, and nothing in it that a spreadsheet would run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.cli.terminal import clean
from hansard.model import plain

if TYPE_CHECKING:
    from hansard.model import UsageRow

# A cell that begins so is a formula, or becomes one when its white space is cut off.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write_csv(names: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Write a header and one line for each row to stdout; what a row does not have stays empty."""
    import csv
    import io

    text = io.StringIO(newline="")
    sheet = csv.writer(text, lineterminator="\r\n")
    sheet.writerow([_cell(name) for name in names])
    for row in rows:
        sheet.writerow([_cell(row.get(name)) for name in names])
    stream = sys.stdout.buffer
    stream.write(text.getvalue().encode("utf-8", "replace"))
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


def _cell(value: Any) -> str:
    """A value as text; one that a spreadsheet would take for a formula gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal, datetime)):
        return str(plain(value))
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    text = clean(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text
