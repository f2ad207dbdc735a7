"""Real histories: the rules of others give what the others really said, and the client's own totals are ours."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from hansard.model.reconcile import Counted, Reconciliation
from tests.ledger.conftest import kept_of
from tests.ledger.test_reconcile import causes, check_sums, way

if TYPE_CHECKING:
    from tests.ledger.conftest import Kept
    from tests.recordings import Recording


@pytest.fixture(scope="module")
def reconciled(public: Kept) -> Reconciliation:
    found = public.h.reconcile()
    check_sums(found, public.h.usage(by="total").totals.cost_usd or Decimal(0))
    return found


def counts(counted: Counted) -> tuple[int | None, int, int, int, int]:
    return (
        counted.messages,
        counted.input_tokens,
        counted.output_tokens,
        counted.cache_read_tokens,
        counted.cache_write_tokens,
    )


def test_ours(reconciled: Reconciliation) -> None:
    assert counts(reconciled.ours) == (9_858, 182_441, 1_095_538, 794_661_023, 28_206_617)
    assert reconciled.progress_only_messages == 1_499
    assert (reconciled.lines, reconciled.transcripts) == (18_613, 264)
    assert reconciled.lower_bound_messages == 9_465


def test_ccusage_counts_what_its_rule_counts(reconciled: Reconciliation) -> None:
    # ccusage 20.0.24, `daily --json --offline`: totals 182415, 1094501, 794575335, 28190664 and $614.7432220199996
    ccusage = way(reconciled, "ccusage")
    assert counts(ccusage.total)[1:] == (182_415, 1_094_501, 794_575_335, 28_190_664)
    steps = causes(ccusage)
    assert list(steps) == ["refused_lines", "price_list"]
    assert steps["refused_lines"][:5] == (-4, -26, -1_037, -85_688, -15_953)
    if reconciled.pricing.data.version == "0.2.1":
        assert ccusage.total.cost_usd == Decimal("614.74322202")


def test_agentsview_counts_what_its_rule_counts(reconciled: Reconciliation) -> None:
    # agentsview 0.46.1, `usage daily --all --json --offline`: 48587, 1066317, 693381161, 21148245 and 507590270 microdollars
    agentsview = way(reconciled, "agentsview")
    assert counts(agentsview.total)[1:] == (48_587, 1_066_317, 693_381_161, 21_148_245)
    assert causes(agentsview)["old_layout"][:5] == (-77, -46_891, -18_378, -659_437, -291_766)
    if reconciled.pricing.data.version == "0.2.1":
        assert agentsview.total.cost_usd == Decimal("507.59027")


def test_tokscale_has_our_tokens_and_one_price_for_cache_writes(reconciled: Reconciliation) -> None:
    tokscale = way(reconciled, "tokscale")
    assert counts(tokscale.total) == (8_359, 95_478, 1_084_695, 694_040_598, 21_440_011)
    assert list(causes(tokscale)) == ["progress_only", "cache_tier"]
    assert causes(tokscale)["progress_only"][:5] == (-1_499, -86_963, -10_843, -100_620_425, -6_766_606)


def test_the_sum_of_lines(reconciled: Reconciliation) -> None:
    lines = way(reconciled, "lines")
    assert counts(lines.total) == (15_668, 194_826, 1_348_376, 1_233_940_072, 56_597_073)
    assert causes(lines)["repeated_lines"][0] == 7_307


# Scenarios in which some requests leave no line, or the client did not count what it shows: sessions, and how many agree.
DIFFERING = {
    "real-client/2.1.325/api_errors": (1, 0),
    "real-client/2.1.325/compact": (1, 0),
    "real-client/2.1.325/killed": (4, 3),
    "real-client/2.1.325/tui": (2, 1),
    "real-client/2.1.325/tui2": (2, 1),
    "real-client-2/2.1.250/statscache": (1, 0),
    "real-client-2/2.1.250/tui": (2, 1),
    "real-client-2/2.1.250/tui2": (2, 1),
    "real-client-2/2.1.325/api_errors": (1, 0),
    "real-client-2/2.1.325/compact": (1, 0),
    "real-client-2/2.1.325/concurrent": (1, 0),
    "real-client-2/2.1.325/hooks_all": (10, 8),
    "real-client-2/2.1.325/killed": (4, 3),
    "real-client-2/2.1.325/tui": (2, 1),
    "real-client-2/2.1.325/tui2": (2, 1),
    "real-client-2/2.1.325/web": (1, 0),
    "real-client-3/2.1.326/api_errors": (1, 0),
    "real-client-3/2.1.326/compact": (1, 0),
    "real-client-3/2.1.326/killed": (4, 3),
    "real-client-3/2.1.326/tui": (2, 1),
}


def test_the_clients_own_totals_are_ours(recordings: list[Recording]) -> None:
    sessions = 0
    for recording in recordings:
        with kept_of(recording) as kept:
            found = kept.h.reconcile()
            check_sums(found, kept.h.usage(by="total").totals.cost_usd or Decimal(0))
        name = recording.id
        if found.client is None:
            continue
        sessions += found.client.sessions
        if name in DIFFERING:
            assert (found.client.sessions, found.client.agreeing) == DIFFERING[name], name
            continue
        assert found.client.agreeing == found.client.sessions, (name, found.client.differing)
        state = way(found, "cost-state")
        # Forks begin with the totals of their parents; beyond that, not a token and not a billionth of a dollar.
        assert [step.cause for step in state.steps] in ([], ["copies"]), (name, state.steps)
    assert sessions > 160
