"""Five-hour blocks: they begin at the full hour of the first message, and end five hours later or after five hours of silence."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.index.schema import QUARTER
from hansard.model.time import BLOCK, moment_at, to_milliseconds

if TYPE_CHECKING:
    from decimal import Decimal

    from hansard.ledger.report import Ledger
    from hansard.model.ledger import BillingBlock, Blocks
    from hansard.query.reader import Reader

_HOUR, _MINUTE = 3_600_000, 60_000
_LENGTH = BLOCK // timedelta(milliseconds=1)


class BlockSpan(NamedTuple):
    """A block in milliseconds: when it begins and ends, and its first and last message."""

    start: int
    end: int
    first: int
    last: int

    @property
    def started_at(self) -> datetime:
        return moment_at(self.start)

    @property
    def ended_at(self) -> datetime:
        """When it ends at the latest."""
        return moment_at(self.end)


def find_blocks(reader: Reader) -> list[BlockSpan]:
    """All blocks of a history, in order; every message with a time is in exactly one."""
    return _blocks(reader.rows(_ACTIVE, (1,)))


_ACTIVE = (
    "SELECT quarter, min(first_ts), max(last_ts) FROM spending WHERE quarter >= ? GROUP BY quarter ORDER BY quarter"
)


def present_block(reader: Reader, now: int) -> BlockSpan | None:
    """The block that a message sent now would belong to, without reading the whole history."""
    run: list[tuple[int, int, int]] = []
    # Blocks begin on the hour, so a message later in this hour may also have started this block: clocks differ.
    for row in reader.rows(_LATEST, ((now // _HOUR + 1) * _HOUR // QUARTER - 1,)):
        if (run[-1][1] if run else now) - row[2] > _LENGTH:
            break  # five hours of silence end every block, so nothing before it matters
        run.append(row)
    last = _blocks(reversed(run))[-1:]
    return last[0] if last and now < last[0].end else None


_LATEST = (
    "SELECT quarter, min(first_ts), max(last_ts) FROM spending WHERE quarter > 0 AND quarter <= ?"
    " GROUP BY quarter ORDER BY quarter DESC"
)


def _blocks(active: Any) -> list[BlockSpan]:
    blocks: list[BlockSpan] = []
    start = first = last = 0
    for _, earliest, latest in active:
        # A quarter of an hour cannot straddle the end of a block, which is on the hour.
        if not blocks and not start:
            start, first, last = earliest - earliest % _HOUR, earliest, latest
        elif earliest >= start + _LENGTH or earliest - last > _LENGTH:
            blocks.append(BlockSpan(start, start + _LENGTH, first, last))
            start, first, last = earliest - earliest % _HOUR, earliest, latest
        else:
            last = max(last, latest)
    if start:
        blocks.append(BlockSpan(start, start + _LENGTH, first, last))
    return blocks


def block_of(blocks: list[BlockSpan], quarter: int) -> BlockSpan | None:
    place = bisect_right(blocks, quarter * QUARTER, key=lambda block: block.start) - 1
    return blocks[place] if place >= 0 and quarter else None


def make_blocks(ledger: Ledger) -> Blocks:
    """The blocks of a history with their usage, the gaps between them, and a projection for the current one."""
    from hansard.ledger.report import make_report
    from hansard.model.ledger import BillingBlock, Blocks
    from hansard.model.requests import UsageRequest

    report = make_report(ledger, UsageRequest(by="block"))
    used = {row.key["block"]: row for row in report.rows}
    now = to_milliseconds(ledger.now)
    found: list[BillingBlock] = []
    last: BlockSpan | None = None
    for stretch in find_blocks(ledger.reader):
        row = used.get(f"{stretch.started_at:%Y-%m-%dT%H:%M:%SZ}")
        if row is None:
            continue
        if last is not None and stretch.first - last.last > _LENGTH:
            silence = moment_at(last.last), moment_at(stretch.first)
            found.append(BillingBlock(*silence, is_gap=True, is_active=False, usage=None))
        active = stretch.start <= now < stretch.end and now - stretch.last <= _LENGTH
        block = BillingBlock(stretch.started_at, stretch.ended_at, is_gap=False, is_active=active, usage=row)
        found.append(_projected(block, stretch, now) if active else block)
        last = stretch
    return Blocks(tuple(found), report.pricing)


def burn_rate(cost: Decimal | None, stretch: BlockSpan, now: int) -> Decimal | None:
    """Dollars per hour from a block's first message to now; None while it is too early to say."""
    passed = now - stretch.first
    return None if cost is None or passed < _MINUTE else cost * _HOUR / passed


def _projected(block: BillingBlock, stretch: BlockSpan, now: int) -> BillingBlock:
    """The active block with its burn rate, measured from its first message to now."""
    from decimal import Decimal

    from msgspec.structs import replace

    row = block.usage
    passed = now - stretch.first
    if row is None or passed < _MINUTE:  # too early to say
        return replace(block, remaining_minutes=(stretch.end - now) // _MINUTE)
    left = stretch.end - now
    cost = row.cost_usd
    return replace(
        block,
        burn_usd_per_hour=burn_rate(cost, stretch, now),
        burn_tokens_per_minute=row.tokens * _MINUTE // passed,
        projected_usd=None if cost is None else cost + cost * left / Decimal(passed),
        projected_tokens=row.tokens + row.tokens * left // passed,
        remaining_minutes=left // _MINUTE,
    )
