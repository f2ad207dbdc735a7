"""Five-hour blocks: they begin with the full hour of the first message, and end five hours later or after five hours of silence."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.index.schema import QUARTER

if TYPE_CHECKING:
    from hansard.ledger.report import Ledger
    from hansard.model import Block, Blocks
    from hansard.query.reader import Reader

LENGTH = timedelta(hours=5)
_HOUR = 3_600_000
_LENGTH = 5 * _HOUR
_LOOK_BACK = 7 * 24 * _HOUR


class Stretch(NamedTuple):
    """A block in milliseconds: when it begins and ends, and its first and last message."""

    start: int
    end: int
    first: int
    last: int

    @property
    def started_at(self) -> datetime:
        """When it begins."""
        return datetime.fromtimestamp(self.start / 1000, UTC)

    @property
    def ended_at(self) -> datetime:
        """When it ends at the latest."""
        return datetime.fromtimestamp(self.end / 1000, UTC)


def find_blocks(reader: Reader) -> list[Stretch]:
    """All blocks of a history, in order; every message with a time lies in exactly one."""
    return _blocks(reader.rows(_ACTIVE, (1,)))


def current_block(reader: Reader, now: datetime) -> Stretch | None:
    """The block that a message sent now would belong to, found without reading the whole history."""
    moment = int(now.timestamp() * 1000)
    back = _LOOK_BACK
    while True:
        # A silence of five hours ends every block, so what follows one does not depend on what was before.
        low = max(1, (moment - back) // QUARTER)
        active = list(reader.rows(_ACTIVE, (low,)))
        fresh = next((n for n in range(1, len(active)) if active[n][1] - active[n - 1][2] > _LENGTH), None)
        is_all = (
            low == 1 or reader.one("SELECT 1 FROM spending WHERE quarter > 0 AND quarter < ? LIMIT 1", (low,)) is None
        )
        if fresh is not None or is_all or not active:
            found = _blocks(iter(active if is_all else active[fresh or 0 :]))
            holding = [block for block in found if block.start <= moment < block.end and moment - block.last <= _LENGTH]
            return holding[-1] if holding else None
        back *= 4


_ACTIVE = (
    "SELECT quarter, min(first_ts), max(last_ts) FROM spending WHERE quarter >= ? GROUP BY quarter ORDER BY quarter"
)


def _blocks(active: Any) -> list[Stretch]:
    blocks: list[Stretch] = []
    start = first = last = 0
    for _, earliest, latest in active:
        # A quarter of an hour cannot straddle the end of a block: that is at a full hour.
        if not blocks and not start:
            start, first, last = earliest - earliest % _HOUR, earliest, latest
        elif earliest >= start + _LENGTH or earliest - last > _LENGTH:
            blocks.append(Stretch(start, start + _LENGTH, first, last))
            start, first, last = earliest - earliest % _HOUR, earliest, latest
        else:
            last = max(last, latest)
    if start:
        blocks.append(Stretch(start, start + _LENGTH, first, last))
    return blocks


def block_of(blocks: list[Stretch], quarter: int) -> Stretch | None:
    """The block that a quarter of an hour lies in."""
    place = bisect_right(blocks, quarter * QUARTER, key=lambda block: block.start) - 1
    return blocks[place] if place >= 0 and quarter else None


def make_blocks(ledger: Ledger) -> Blocks:
    """The blocks of a history with what was used in each, the silences between them, and where the present one leads."""
    from hansard.ledger.report import make_report
    from hansard.model import Block, Blocks

    report = make_report(ledger, ("block",))
    used = {row.key["block"]: row for row in report.rows}
    now = int(ledger.now.timestamp() * 1000)
    found: list[Block] = []
    last: Stretch | None = None
    for stretch in find_blocks(ledger.reader):
        row = used.get(f"{stretch.started_at:%Y-%m-%dT%H:%M:%SZ}")
        if row is None:
            continue
        if last is not None and stretch.first - last.last > _LENGTH:
            silence = _moment(last.last), _moment(stretch.first)
            found.append(Block(*silence, is_gap=True, is_active=False, usage=None))
        active = stretch.start <= now < stretch.end and now - stretch.last <= _LENGTH
        block = Block(stretch.started_at, stretch.ended_at, is_gap=False, is_active=active, usage=row)
        found.append(_projected(block, stretch, now) if active else block)
        last = stretch
    return Blocks(tuple(found), report.pricing)


def _projected(block: Block, stretch: Stretch, now: int) -> Block:
    """The active block with how fast it is being used, measured from its first message to now."""
    from dataclasses import replace
    from decimal import Decimal

    row = block.usage
    passed = now - stretch.first
    if row is None or passed < 60_000:  # too early to tell
        return replace(block, remaining_minutes=(stretch.end - now) // 60_000)
    left = stretch.end - now
    cost = row.cost_usd
    return replace(
        block,
        burn_usd_per_hour=None if cost is None else cost * _HOUR / passed,
        burn_tokens_per_minute=row.tokens * 60_000 // passed,
        projected_usd=None if cost is None else cost + cost * left / Decimal(passed),
        projected_tokens=row.tokens + row.tokens * left // passed,
        remaining_minutes=left // 60_000,
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
