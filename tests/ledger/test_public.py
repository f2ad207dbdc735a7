"""The public corpus: 170 MB of several people and client versions."""

from __future__ import annotations

from hansard.ledger.dimensions import DIMENSIONS
from tests.ledger.conftest import Kept
from tests.ledger.test_report import assert_slowly
from tests.ledger.test_sums import assert_adds_up, figures


def test_the_public_corpus(public: Kept) -> None:
    """In one test, because reading all of it slowly takes its time."""
    totals = public.h.usage(by="total", work=True).totals
    # A separate script and tokscale agree on all five.
    writes = totals.cache_write_5m_tokens + totals.cache_write_1h_tokens
    assert (totals.api_messages, totals.input_tokens, totals.output_tokens) == (8_359, 95_478, 1_084_695)
    assert (totals.cache_read_tokens, writes) == (694_040_598, 21_440_011)
    for by in DIMENSIONS:
        report = public.h.usage(by=by, work=True, breakdown=True, timezone="Australia/Lord_Howe")
        assert figures(report.totals) == figures(totals), by
        assert_adds_up(report)
    for by in ("hour", "day,model", "session,agent", "tool,branch", "block", "project,week"):
        assert_slowly(public, by, "Asia/Kathmandu")
