"""Where amounts lie: ticks of an axis at round numbers, and places along it."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_WHOLE_STEPS = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))


def ticks(most: Decimal, count: int = 5, *, whole: bool = False) -> list[Decimal]:
    """Round numbers from 0 on up to the first that is not below `most`, about `count` of them above 0; none for nothing."""
    if most <= 0:
        return []
    least = most / count
    power = Decimal(1).scaleb(least.adjusted())
    if whole and power < 1:
        power, least = Decimal(1), max(least, Decimal(1))
    step = next(step * power for step in (_WHOLE_STEPS if whole and power == 1 else _STEPS) if step * power >= least)
    steps = int((most / step).to_integral_value(ROUND_CEILING))
    return [step * number for number in range(steps + 1)]


def per_cent(part: float, whole: float = 1) -> str:
    """A place or a width as SVG has it, in as few digits as can be seen."""
    return f"{100 * part / whole:.3f}".rstrip("0").rstrip(".") + "%"


def pixels(value: float) -> str:
    """A height or a place in pixels."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def spread(count: int, most: int) -> list[int]:
    """At most so many of the numbers below `count`, evenly spread, the last one among them."""
    if count <= 0 or most <= 0:
        return []
    step = -(-count // most)
    return list(range((count - 1) % step, count, step))
