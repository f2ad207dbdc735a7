"""The size of the context over a session's course, as SVG: a step for each request, a line for each compaction."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from hansard.render.html.escaping import one_line

if TYPE_CHECKING:
    from hansard.thread.outline import Compaction
    from hansard.thread.usage import Request

MOST = 400  # steps that are drawn
_WIDE, _HIGH = 1000, 100
_TICKS = 150  # turns; of more the marks would be a stripe


class Timeline(NamedTuple):
    """A chart and what is written beside it."""

    svg: str
    largest: int
    scale: int  # the tokens that its height stands for
    requests: int
    compactions: int


def draw_timeline(
    requests: Sequence[Request],
    compactions: Sequence[Compaction],
    starts: Sequence[int],
    link: Callable[[int], str],
) -> Timeline | None:
    """The chart of a thread; `starts` are where its turns begin, `link` gives the escaped address of a place."""
    if len(requests) < 2:
        return None
    steps = _thinned(requests)
    scale = _above(max(step.prompt for step in steps))
    width = _WIDE / len(steps)
    edge: list[str] = [f"M0 {_HIGH}"]
    hits: list[str] = []
    for number, step in enumerate(steps):
        left, right = _short(number * width), _short((number + 1) * width)
        top = _short(_HIGH - step.prompt / scale * (_HIGH - 4))
        edge.append(f"V{top}H{right}")
        turn = max(1, bisect_right(starts, step.offset))
        told = f"Turn {turn} · {step.prompt:,} tokens of context, {step.output:,} written · {one_line(step.model, 60)}"
        hits.append(
            f'<a href="{link(step.offset)}" tabindex="-1" data-offset="{step.offset}"><rect x="{left}" y="0"'
            f' width="{_short(width)}" height="{_HIGH}"><title>{told}</title></rect></a>'
        )
    area = f'<path class="area" d="{"".join(edge)}V{_HIGH}Z"/>'
    line = f'<path class="edge-line" d="{"".join(edge)}"/>'
    offsets = [step.offset for step in steps]
    marks = "".join(_mark(one, bisect_right(offsets, one.offset) * width, link) for one in compactions)
    svg = (
        f'<svg class="timeline" viewBox="0 0 {_WIDE} {_HIGH}" preserveAspectRatio="none" role="group"'
        f' aria-label="Size of the context over {len(requests):,} requests, at most {max(steps, key=_size).prompt:,} tokens">'
        f'{_ticks(starts, offsets, width)}{area}{line}<g class="hits">{"".join(hits)}</g>{marks}</svg>'
    )
    return Timeline(svg, max(steps, key=_size).prompt, scale, len(requests), len(compactions))


def _size(request: Request) -> int:
    return request.prompt


def _thinned(requests: Sequence[Request]) -> list[Request]:
    """So many requests that they can be drawn: the largest of every so many, in order, and the last."""
    if len(requests) <= MOST:
        return list(requests)
    bounds = [round(place * len(requests) / MOST) for place in range(MOST + 1)]
    steps = [max(requests[low:high], key=_size) for low, high in pairwise(bounds)]
    steps[-1] = requests[-1]
    return steps


def _above(count: int) -> int:
    """A round number that is not below another."""
    size = 1000
    while True:
        for factor in (1, 2, 4, 5, 8):
            if count <= size * factor:
                return size * factor
        size *= 10


def _mark(compaction: Compaction, x: float, link: Callable[[int], str]) -> str:
    before = f" of {compaction.tokens_before:,} tokens" if compaction.tokens_before else ""
    trigger = f" ({one_line(compaction.trigger, 40)})" if compaction.trigger else ""
    place = _short(x)
    return (
        f'<a class="compaction" href="{link(compaction.offset)}" tabindex="-1"><rect x="{_short(x - 4)}" y="0" width="8"'
        f' height="{_HIGH}"><title>Compacted{before}{trigger}</title></rect><path d="M{place} 0V{_HIGH}"/></a>'
    )


def _ticks(starts: Sequence[int], offsets: Sequence[int], width: float) -> str:
    """A mark at the foot for each turn."""
    if not 1 < len(starts) <= _TICKS:
        return ""
    places = sorted({bisect_right(offsets, start - 1) for start in starts[1:]})
    drawn = "".join(f"M{_short(place * width)} {_HIGH}v-5" for place in places if 0 < place < len(offsets))
    return f'<path class="ticks" d="{drawn}"/>' if drawn else ""


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
