"""Tables as CSV for spreadsheets: RFC 4180 in UTF-8, with formulas disarmed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.model.serialize import plain
from hansard.render.text import clean

if TYPE_CHECKING:
    from hansard.model.ledger import UsageReport, UsageRow

# A cell that begins so is a formula, or becomes one when its white space is cut off.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_SPACE = re.compile(r"\s")
_BATCH = 500


def sheet(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """A header and one line for each row, in pieces."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([cell(name) for name in names])
    waiting = 0
    for row in rows:
        writer.writerow([cell(value) for value in row])
        waiting += 1
        if waiting == _BATCH:
            yield text.getvalue().encode("utf-8", "replace")
            text.seek(0)
            text.truncate()
            waiting = 0
    yield text.getvalue().encode("utf-8", "replace")


def cell(value: Any) -> str:
    """A value as text; one that a spreadsheet would take for a formula gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal, datetime)):
        return str(plain(value))
    if isinstance(value, (list, tuple)):
        words = [str(word) for word in value]
        value = ("\n" if any(map(_SPACE.search, words)) else " ").join(words)  # notes have blanks themselves
    text = clean(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def records(rows: Sequence[dict[str, Any]], empty: Iterable[str]) -> Iterator[bytes]:
    """A sheet of rows with named cells; its columns are the union of theirs, or `empty` if there are no rows."""
    names = list(dict.fromkeys(name for row in rows for name in row)) or list(empty)
    return sheet(names, ([row.get(name) for name in names] for row in rows))


def usage_sheet(report: UsageReport) -> Iterator[bytes]:
    return records([flat(row) for row in report.rows], dict.fromkeys([*report.by, *flat(report.totals)]))


def flat(row: UsageRow) -> dict[str, Any]:
    """A row of usage as one line of a sheet."""
    from msgspec.structs import asdict

    cells = row.as_plain()
    cells.pop("breakdown", None)
    if row.work is not None:
        cells = {**{name: value for name, value in cells.items() if name != "work"}, **asdict(row.work)}
    return cells
