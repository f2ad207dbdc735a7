"""Totals that other tools got wrong in their users' reports, in small: the same causes with the same ratios."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import hansard
from tests.clients.codex.history import Rollout, uuid7
from tests.clients.opencode import history as opencode
from tests.ledger.making import ONE, START, of, opened, said
from tests.sync.making import Tree, main_path, session, user

if TYPE_CHECKING:
    from hansard.model.reconcile import CountingMethod, Reconciliation

GPT = "gpt-5.4"


def ways(found: Reconciliation, client: str) -> dict[str, CountingMethod]:
    return {way.name: way for part in found.clients if part.client == client for way in part.ways}


def test_repeated_token_counts_of_codex(tmp_path: Path) -> None:
    """5.15 billion tokens were shown as 8.58: each change of a rate limit states the last answer again."""
    made = Rollout(uuid7(0, 1))
    made.meta()
    made.turn("Go on.", 1)
    for number in range(515):
        made.say(f"Part {number}.")
        made.spend(9_990_000 + number % 2, 9_000_000, 10_000 - number % 2, times=1 + (number < 343))
    made.write(tmp_path / ".codex")
    with hansard.open(tmp_path / "store", [tmp_path / ".codex"]) as h:
        h.sync()
        assert h.usage(by="total").totals.tokens == 5_150_000_000
        found = ways(h.reconcile(), "codex")
    assert found["lines"].total.tokens == found["tokscale"].total.tokens == 8_580_000_000
    assert found["ccusage"].total.tokens == found["agentsview"].total.tokens == 5_150_000_000
    (step,) = found["lines"].steps
    assert (step.cause, step.amount.tokens) == ("repeated", 3_430_000_000)


def test_forks_of_codex(tmp_path: Path) -> None:
    """About $16 was shown as $33,780, because each of some 2,100 forks contains what was said before it: here a tenth of them."""
    parent = Rollout(uuid7(0, 1))
    parent.meta()
    parent.turn("Go on.", 1)
    parent.say("Done.")
    parent.spend(6_400_000, 0, 0)
    parent.write(tmp_path / ".codex")
    forks = 210
    for number in range(forks):
        fork = Rollout(uuid7(600 + number, 2 + number), 600 + number)
        fork.meta(forked_from_id=parent.thread)
        stamp = fork.lines[0]["timestamp"]
        fork.lines += [{**line, "timestamp": stamp} for line in parent.lines]
        fork.write(tmp_path / ".codex")
    with hansard.open(tmp_path / "store", [tmp_path / ".codex"]) as h:
        h.sync()
        rate = next(rate for rate in h.rates() if rate.model == GPT)
        assert rate.input is not None
        once = h.usage(by="total").totals.cost_usd
        found = ways(h.reconcile(), "codex")
    assert once is not None
    assert once == found["ccusage"].total.cost_usd == found["agentsview"].total.cost_usd
    assert found["lines"].total.cost_usd == once * (forks + 1)
    assert [step.cause for step in found["tokscale"].steps] == ["inherited"]


def test_forks_that_keep_the_usage_of_their_parent(tmp_path: Path) -> None:
    """A day times 36: forks of OpenCode have their parent's messages under new ids."""
    root = tmp_path / "opencode"
    root.mkdir()
    with closing(opencode.Database(root / "opencode.db")) as database:
        for number in range(36):
            id_, at = f"ses_{number:02}", opencode.BEGAN + number * 60_000
            database.session(id_, f"Tides (fork #{number})" if number else "Tides", None, at)
            made = opencode.answer(opencode.BEGAN, input=10, output=20)
            database.message(id_, opencode.BEGAN, made, opencode.prompt("At noon."), id_=opencode.message_id(at))
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        (day,) = h.usage(by="day").rows
        found = ways(h.reconcile(), "opencode")
    assert (day.api_messages, day.tokens, day.cost_usd) == (1, 530, Decimal("0.25"))
    for name in ("lines", "ccusage", "agentsview", "tokscale"):
        assert (found[name].total.messages, found[name].total.tokens) == (36, 36 * 530)
        assert next(step.cause for step in found[name].steps) == "copied"


def test_copies_of_a_transcript_under_other_sessions(tree: Tree) -> None:
    """The same of Claude Code: forks whose lines name the fork."""
    talk = [user(ONE, "u1", "Go."), said(ONE, 1, START, (10, 20))]
    tree.write(main_path(ONE), talk)
    for number in range(10, 45):
        tree.write(main_path(session(number)), of(session(number), talk))
    with opened(tree) as h:
        (day,) = h.usage(by="day").rows
        naive = next(way for way in h.reconcile().ways if way.name == "lines")
    assert (day.api_messages, day.tokens) == (1, 30)
    assert naive.total.tokens == 36 * 30


def test_one_id_for_all_answers_of_a_relay(tree: Tree, tmp_path: Path) -> None:
    """Most of 1.21 billion tokens were hidden by a key that every answer shared."""
    lines = []
    for number in range(20):
        prompt = user(ONE, f"u{number}", f"Question {number}?")
        answer = said(ONE, number, START, (100 + number, 20), identity="chatcmpl-0", parentUuid=prompt["uuid"])
        del answer["requestId"]
        lines += [prompt, answer]
    tree.write(main_path(ONE), lines)
    with opened(tree) as h:
        assert h.usage(by="total").totals.api_messages == 20
    made = Rollout(uuid7(0, 1))
    made.meta()
    made.turn("Go on.", 1)
    for number in range(20):
        used = {"input_tokens": 100, "output_tokens": 20}
        record = {"thread_id": made.thread, "response_id": "resp_0", "usage": used}
        made.add("token_usage_record", {**record, "thread_token_usage": {"total_tokens": 120 * (number + 1)}})
    made.write(tmp_path / ".codex")
    with hansard.open(tmp_path / "other", [tmp_path / ".codex"]) as h:
        h.sync()
        assert h.usage(by="total").totals.tokens == 20 * 120
