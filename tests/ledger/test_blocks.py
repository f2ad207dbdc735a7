"""Five-hour blocks: against a walk over the sorted times, found from the end as well as from the beginning."""

from __future__ import annotations

import random
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.engine import Hansard
from hansard.ledger.blocks import BlockSpan, find_blocks
from hansard.model.ledger import BillingBlock
from tests.ledger.conftest import Kept
from tests.ledger.making import HAIKU, ONE, OPUS, TWO, opened, said
from tests.ledger.slowly import EPOCH, blocks, summed
from tests.ledger.slowly import said as told
from tests.sync.making import Tree, main_path, memory_folder

DAY = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
FIVE = timedelta(hours=5)


def milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def history(tree: Tree, times: list[datetime]) -> Hansard:
    lines = [said((ONE, TWO)[number % 2], number, moment, (number + 1, 1)) for number, moment in enumerate(times)]
    tree.write(main_path(ONE), lines[::2])
    tree.write(main_path(TWO), lines[1::2])
    return opened(tree)


def starts(found: list[BillingBlock] | tuple[BillingBlock, ...]) -> list[datetime]:
    return [block.start for block in found if not block.is_gap]


def assert_blocks(h: Hansard, times: list[datetime]) -> list[BlockSpan]:
    found = find_blocks(h.reader)
    expected = blocks(map(milliseconds, times))
    assert [(block.start, block.first, block.last) for block in found] == expected
    assert all(block.end - block.start == 5 * 3_600_000 for block in found)
    return found


MINUTES = st.lists(
    st.integers(0, 60 * 30) | st.sampled_from([0, 300, 301, 299, 359, 360, 600]), min_size=1, max_size=25
)


@settings(max_examples=15, deadline=None)
@given(MINUTES, st.integers(0, 59_999))
def test_any_history(minutes: list[int], extra: int) -> None:
    times = [DAY + timedelta(minutes=minute, milliseconds=extra) for minute in minutes]
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        tree = Tree(Path(folder) / "claude", Path(folder) / "store")
        with history(tree, times) as h:
            found = assert_blocks(h, times)
            # Looked for from the end, at any time, it is the same block.
            for moment in (
                *times,
                *(moment + FIVE for moment in times),
                *(moment + timedelta(hours=3, minutes=7) for moment in times),
            ):
                now = milliseconds(moment)
                holding = [
                    block for block in found if block.start <= now < block.end and now - block.last <= 5 * 3_600_000
                ]
                assert h.current(now=moment).block_start == (holding[-1].started_at if holding else None)
                active = [block for block in h.blocks(now=moment).blocks if block.is_active]
                assert [block.start for block in active] == [block.started_at for block in holding[-1:]]


def test_the_rows_of_blocks_hold_every_message(demo: Kept) -> None:
    found = [block for block in demo.h.blocks(now=DAY).blocks if not block.is_gap]
    expected = blocks(message.ts for message in demo.messages)
    assert [milliseconds(block.start) for block in found] == [start for start, _, _ in expected]
    for block, (start, first, last) in zip(found, expected, strict=True):
        inside = [message for message in demo.messages if message.ts and start <= message.ts < start + 5 * 3_600_000]
        assert block.usage is not None
        assert told(block.usage) == summed(inside, demo.book)
        assert (milliseconds(block.usage.first_at or EPOCH), milliseconds(block.usage.last_at or EPOCH)) == (
            first,
            last,
        )


def test_silences(demo: Kept) -> None:
    shown = demo.h.blocks(now=DAY).blocks
    expected = blocks(message.ts for message in demo.messages)
    gaps = [block for block in shown if block.is_gap]
    assert gaps
    silent = [(one, two) for one, two in pairwise(expected) if two[1] - one[2] > 5 * 3_600_000]
    assert len(gaps) == len(silent)
    for gap, (one, two) in zip(gaps, silent, strict=True):
        assert one[2] <= milliseconds(gap.start) < milliseconds(gap.end) <= two[1]
        assert gap.usage is None
        assert not gap.is_active
    order = [block.start for block in shown]
    assert order == sorted(order)


def test_the_edges_of_a_block(tree: Tree) -> None:
    first = DAY + timedelta(hours=9, minutes=59, seconds=59, milliseconds=999)
    last = DAY + timedelta(hours=14) - timedelta(milliseconds=1)
    with history(tree, [first, last, DAY + timedelta(hours=14)]) as h:
        found = h.blocks(now=DAY).blocks
        assert starts(found) == [DAY + timedelta(hours=9), DAY + timedelta(hours=14)]
        assert [block.end - block.start for block in found] == [timedelta(hours=5)] * 2
        assert [block.usage.api_messages for block in found if block.usage] == [2, 1]


def test_burn_and_projection(tree: Tree) -> None:
    first = DAY + timedelta(hours=10, minutes=30)
    tree.write(main_path(ONE), [said(ONE, 1, first, (1_000_000, 0)), said(ONE, 2, first + HOUR, (0, 1_000_000))])
    with opened(tree) as h:
        (block,) = h.blocks(now=first + 2 * HOUR).blocks
        assert block.is_active
        assert block.usage is not None
        assert block.usage.cost_usd == 90
        assert block.burn_usd_per_hour == 45
        assert block.burn_tokens_per_minute == 2_000_000 // 120
        assert block.remaining_minutes == 150
        assert block.projected_usd == Decimal(90) + Decimal(90) * 150 / 120
        assert block.projected_tokens == 2_000_000 + 2_000_000 * 150 // 120
        (early,) = h.blocks(now=first + timedelta(seconds=59)).blocks
        assert (early.is_active, early.burn_usd_per_hour, early.projected_tokens) == (True, None, None)
        (over,) = h.blocks(now=DAY + timedelta(hours=15)).blocks
        assert not over.is_active
        assert over.remaining_minutes is None


def test_blocks_of_what_has_no_price(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, DAY, model="unheard-of"), said(ONE, 2, None, model=OPUS)])
    with opened(tree) as h:
        (block,) = h.blocks(now=DAY + HOUR).blocks
        assert block.burn_usd_per_hour is None
        assert block.projected_usd is None
        assert block.projected_tokens == 150
        # What has no time is in no block.
        report = h.usage(by="block")
        assert [row.key["block"] for row in report.rows] == ["2026-03-01T00:00:00Z", None]


def test_a_filter_leaves_the_blocks_where_they_are(tree: Tree) -> None:
    """Limits count everything: a block does not begin later because somebody looks at one model only."""
    times = [DAY + timedelta(hours=hours) for hours in (1, 2, 5.5, 7)]
    lines = [said(ONE, number, moment, model=HAIKU if number else OPUS) for number, moment in enumerate(times)]
    tree.write(main_path(ONE), lines)
    with opened(tree) as h:
        assert starts(h.blocks(now=DAY).blocks) == [DAY + HOUR, DAY + 7 * HOUR]
        assert starts(h.blocks(model="haiku", now=DAY).blocks) == [DAY + HOUR, DAY + 7 * HOUR]
        assert starts(h.blocks(since=DAY + 6 * HOUR, now=DAY).blocks) == [DAY + 7 * HOUR]
        assert [block.usage.api_messages for block in h.blocks(model="haiku", now=DAY).blocks if block.usage] == [2, 1]


def test_the_ends_of_time(tree: Tree) -> None:
    """Times that no clock says in earnest are in no block; the first and the last that count are."""
    strange = [datetime(1970, 1, 1, 0, 20, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)]
    times = [EPOCH + timedelta(days=2), EPOCH + timedelta(days=2, hours=9), datetime(2099, 12, 31, 23, 59, tzinfo=UTC)]
    with history(tree, [*times, *strange]) as h:
        assert_blocks(h, times)
        assert len(h.blocks().blocks) == 5, "three and the silences between"
        assert [row.key["block"] is None for row in h.usage(by="block").rows] == [False, False, False, True]


def test_a_long_history_is_not_read_for_the_present_block(tree: Tree) -> None:
    dice = random.Random(3)
    times = sorted(DAY + timedelta(minutes=dice.randrange(60 * 24 * 60)) for _ in range(300))
    with history(tree, times) as h:
        for moment in dice.sample(times, 60):
            found = [block for block in find_blocks(h.reader) if block.first <= milliseconds(moment) <= block.last]
            # What came later is not there yet when one asks at that time, but blocks do not depend on it.
            assert h.current(now=moment).block_start == found[-1].started_at


def test_shares_of_money_are_exact(demo: Kept) -> None:
    found = demo.h.blocks(now=DAY).blocks
    costs = [Fraction(block.usage.cost_usd) for block in found if block.usage and block.usage.cost_usd is not None]
    whole = demo.h.usage("since:1971-01-01", by="total").totals.cost_usd
    assert sum(costs) == Fraction(whole or 0)
