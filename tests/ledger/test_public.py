"""The public corpus: 170 MB of several people and client versions."""

from __future__ import annotations

from hansard.model.requests import DIMENSIONS
from tests.ledger.conftest import Kept
from tests.ledger.test_report import assert_slowly
from tests.ledger.test_sums import assert_adds_up, figures


def test_the_public_corpus(public: Kept) -> None:
    """In one test, because reading all of it slowly takes its time."""
    totals = public.h.usage(by="total", work=True).totals
    # A separate script and tokscale agree on 8,359, 95,478, 1,084,695, 694,040,598 and 21,440,011; the rest are subagents of which
    # only progress records are left, as ccusage and a separate script count them.
    writes = totals.cache_write_5m_tokens + totals.cache_write_1h_tokens
    assert (totals.api_messages, totals.input_tokens, totals.output_tokens) == (9_858, 182_441, 1_095_538)
    assert (totals.cache_read_tokens, writes) == (794_661_023, 28_206_617)
    assert totals.progress_only_messages == 1_499
    for by in DIMENSIONS:
        report = public.h.usage(by=by, work=True, breakdown=True, timezone="Australia/Lord_Howe")
        assert figures(report.totals) == figures(totals), by
        assert_adds_up(report)
    for by in ("hour,model,session,agent", "tool,branch,block", "day,project,week"):
        assert_slowly(public, by, "Asia/Kathmandu")
