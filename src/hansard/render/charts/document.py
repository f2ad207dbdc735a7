"""Charts in files of their own: an SVG document with title, facts and notes around bars."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

from hansard.render.charts.svg import Column, pixels, stacked_bars
from hansard.render.html.escaping import escaped
from hansard.render.text import fit, one_line, width

WIDTH, MARGIN = 800, 32
TOP = 88  # below the title and the facts
_LETTER = 0.58  # of the font size: an average width, rather too large
_NOT_IN_XML = re.compile("[\ufffe\uffff]")
# The colours of the web app in a light theme.
_STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", sans-serif; fill: #23262b }
.title { font-size: 20px; font-weight: 600 } .figure { font-size: 16px; font-weight: 600 }
.soft, .chart text { fill: #5f646d } .chart text { font-size: 11px } .notes { font-size: 9px; fill: #80858e }
.ordinate text { text-anchor: end } .axis { stroke: #e2dfd8 } .hit { fill: none } .chart .doubt, .doubt { fill: #9a5b00 }
.heat text { font-size: 9px } .unknown { fill: #fff; stroke: #9a5b00; stroke-dasharray: 2 2 }
.s1 { fill: #0c626b } .s2 { fill: #b5651d } .s3 { fill: #5b4a9e } .s4 { fill: #3f7a3a }
.s5 { fill: #a53860 } .s6 { fill: #48608f } .s7 { fill: #7d6a12 } .s8 { fill: #6c6c6c }
.h0 { fill: #ece9e2 } .h1 { fill: #bcd9da } .h2 { fill: #82b7ba } .h3 { fill: #3f8b92 } .h4 { fill: #0c5059 }
"""


def document(
    title: str, facts: Sequence[str], bottom: float, body: str, *, notes: Sequence[str] = (), doubt: str = ""
) -> str:
    """A chart that ends at `bottom`, below its title and above the notes."""
    height = bottom + 18 + 13 * len(notes) + 10
    head = text_at(MARGIN, 42, title, "title") + text_at(MARGIN, 64, " \u00b7 ".join(filter(None, facts)), "soft")
    if doubt:
        head += text_at(WIDTH - MARGIN, 42, doubt, "doubt", anchor="end")
    foot = "".join(text_at(MARGIN, bottom + 24 + 13 * place, note, "notes") for place, note in enumerate(notes))
    size = f'width="{WIDTH}" height="{pixels(height)}" viewBox="0 0 {WIDTH} {pixels(height)}"'
    return _NOT_IN_XML.sub(
        "\ufffd",
        f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" {size}>'
        f'<title>{escaped(title)}</title><style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f"{head}{body}{foot}</svg>\n",
    )


class NamedBar(NamedTuple):
    """A bar with its name before it and its amount behind it."""

    name: str
    share: float  # of the longest bar
    text: str
    series: int = 0  # which colour
    is_doubtful: bool = False


def bars_by_name(bars: Sequence[NamedBar]) -> tuple[str, float]:
    """Horizontal bars, and the y at which they end."""
    left = MARGIN + max((length_of(bar.name, 12) for bar in bars), default=0) + 12
    body, down = "", float(TOP)
    for bar in bars:
        long = (WIDTH - MARGIN - 150 - left) * bar.share
        size = f'x="{pixels(left)}" y="{down:g}" width="{pixels(long)}" height="18"'
        body += text_at(MARGIN, down + 13, bar.name) + f'<rect class="s{bar.series + 1}" {size}/>'
        body += text_at(left + long + 8, down + 13, bar.text, "doubt" if bar.is_doubtful else "")
        down += 27
    return body, down


def bars_over_time(
    columns: Sequence[Column],
    number: Callable[[Decimal], str],
    entries: Sequence[tuple[int, str, str]] = (),
    *,
    whole: bool = False,
) -> tuple[str, float]:
    """Bars with their axis, and the y at which they end; `entries` of the legend are colours, names and amounts."""
    drawn = stacked_bars(columns, number=number, height=260, whole=whole, labels=7)
    axis, legend, high = 56, 150 if entries else 0, drawn.height
    wide = WIDTH - 2 * MARGIN + 12 - axis - legend
    body = (
        f'<svg class="chart ordinate" x="{MARGIN - 12}" y="{TOP}" width="{axis}" height="{high}">{drawn.axis}</svg>'
        f'<svg class="chart" x="{MARGIN - 12 + axis}" y="{TOP}" width="{wide}" height="{high}" overflow="visible">'
        f"{drawn.bars}</svg>"
    )
    across, down = WIDTH - MARGIN - legend + 20, TOP + 16
    for series, name, amount in entries:
        body += f'<rect class="s{series % 8 + 1}" x="{across}" y="{down}" width="11" height="11" rx="2.5"/>'
        body += text_at(across + 18, down + 10, fit(name, 19))
        body += text_at(across + 18, down + 26, amount, "soft") if amount else ""
        down += 40 if amount else 26
    return body, TOP + high


def text_at(x: float, y: float, text: str, kind: str = "", *, anchor: str = "start") -> str:
    """One line of text."""
    shown = f' class="{kind}"' if kind else ""
    shown += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text{shown} x="{pixels(x)}" y="{pixels(y)}">{escaped(one_line(text))}</text>'


def length_of(text: str, size: int) -> float:
    """The approximate width of a text in pixels."""
    return width(text) * size * _LETTER
