"""Charts of usage as SVG and PNG files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.export.files import NotWritten, write_file
from hansard.render.text import one_line

if TYPE_CHECKING:
    from datetime import date

    from hansard.model.ledger import UsageReport
    from hansard.render.format import ProjectNames

ENDINGS = (".png", ".svg")
_ZOOM = 2  # pixels of a PNG for each of the SVG


def save(path: str, kind: str, report: UsageReport, projects: ProjectNames, today: date) -> None:
    """Draw a report into a file that ends in .png or .svg, which appears when it is complete."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise UsageError(f"{one_line(path)}: the file name must end in {' or '.join(ENDINGS)}")
    if not report.rows:
        raise UsageError("no usage to plot")
    from hansard.render.charts.figure import FIGURES

    drawing = FIGURES[kind](report, projects, today)
    content = _png(drawing) if ending == ".png" else drawing.encode()
    try:
        write_file(path, [content])
    except NotWritten as error:
        reason = getattr(error.__cause__, "strerror", None) or error.__cause__
        raise UsageError(f"{one_line(path)} cannot be written: {reason}; choose another file") from error


def _png(drawing: str) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise UsageError(
            "PNG files need resvg-py, which is not installed; add it with: pip install 'hansard[plot]',"
            " or write an .svg file"
        ) from error
    return bytes(svg_to_bytes(svg_string=drawing, zoom=_ZOOM))
