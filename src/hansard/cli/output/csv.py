"""Rows as CSV on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any


def write_csv(names: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Write a header and one line for each row to stdout; what a row does not have stays empty."""
    from hansard.export.sheets import sheet

    stream = sys.stdout.buffer
    stream.writelines(sheet(names, ([row.get(name) for name in names] for row in rows)))
    stream.flush()
