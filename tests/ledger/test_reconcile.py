"""Our total beside others: each cause has its exact size, and the causes add up to the difference."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.ledger.reconcile import claude_lines
from hansard.model.reconcile import Counted, CountingMethod, Reconciliation
from hansard.model.serialize import plain
from tests.ledger.making import FORK, HAIKU, ONE, OPUS, SONNET, TWO, of, opened, said, story
from tests.sync.making import FOLDER, Line, Tree, agent_path, main_path, memory_folder, session, user

if TYPE_CHECKING:
    from tests.ledger.conftest import Kept

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
Amount = tuple[int | None, int, int, int, int, str]


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def reconciled(tree: Tree, peer: bytes | None = None) -> Reconciliation:
    with opened(tree) as h:
        found = h.reconcile(peer=peer)
        check_sums(found, h.usage(by="total").totals.cost_usd or Decimal(0))
        return found


def check_sums(found: Reconciliation, cost: Decimal) -> None:
    """What holds of every reconciliation: ours is the ledger's, and causes add up."""
    assert found.ours.cost_usd == cost
    for way in found.ways:
        added = way.compared
        for step in way.steps:
            assert step.amount, step
            assert step.cause != "read_otherwise"
            added += step.amount
        assert tokens(added) == tokens(way.total), way.name
        if way.total.cost_usd is not None:
            assert added.cost_usd == way.total.cost_usd, way.name
        assert way.difference == way.total - way.compared
    assert len({way.name for way in found.ways}) == len(found.ways)


def tokens(counted: Counted) -> tuple[int, ...]:
    return (
        counted.input_tokens,
        counted.output_tokens,
        counted.cache_read_tokens,
        counted.cache_write_tokens,
        counted.web_searches,
    )


def way(found: Reconciliation, name: str) -> CountingMethod:
    return next(way for way in found.ways if way.name == name)


def causes(way: CountingMethod) -> dict[str, Amount]:
    return {
        step.cause: (
            step.amount.messages,
            step.amount.input_tokens,
            step.amount.output_tokens,
            step.amount.cache_read_tokens,
            step.amount.cache_write_tokens,
            money(step.amount.cost_usd),
        )
        for step in way.steps
    }


def money(amount: Decimal | None) -> str:
    return "-" if amount is None else format(amount.normalize(), "f")


def told(line: Line, session_id: str) -> Line:
    """A progress record that embeds a copy of a subagent's answer."""
    inner = {name: value for name, value in line.items() if name not in ("sessionId", "version")}
    return {
        "type": "progress",
        "sessionId": session_id,
        "cwd": line["cwd"],
        "version": "2.1.50",
        "uuid": f"p-{line['uuid']}",
        "timestamp": line["timestamp"],
        "data": {"type": "agent_progress", "agentId": "a1", "prompt": "Look.", "message": inner},
    }


def test_lines_of_one_answer_are_not_summed(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            user(ONE, "u", "Go."),
            *(said(ONE, 1, at(place), (10, output, 100, 40)) for place, output in enumerate((1, 9, 9))),
        ],
    )
    found = reconciled(tree)
    assert found.ours == Counted(1, 10, 9, 100, 40, 0, 0, Decimal("0.001725"))
    assert causes(way(found, "lines")) == {"repeated_lines": (2, 20, 10, 200, 80, "0.00285")}
    assert found.lines == 3
    for name in ("ccusage", "agentsview", "tokscale"):
        assert way(found, name).steps == ()
        assert way(found, name).total == found.ours


def test_copies_in_a_fork_are_told_apart_from_repeated_lines(tree: Tree) -> None:
    talk = [user(ONE, "u", "Go."), said(ONE, 1, at(0), (10, 4)), said(ONE, 1, at(1), (10, 4))]
    tree.write(main_path(ONE), talk)
    tree.write(main_path(FORK), of(FORK, talk))
    found = reconciled(tree)
    assert causes(way(found, "lines")) == {
        "copies": (1, 10, 4, 0, 0, "0.00045"),
        "repeated_lines": (2, 20, 8, 0, 0, "0.0009"),
    }


def test_copies_that_lost_their_request_count_twice_by_id_and_request(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (10, 4))])
    copy = said(FORK, 1, at(1), (10, 4))
    del copy["requestId"]
    tree.write(main_path(FORK), [copy])
    found = reconciled(tree)
    for name in ("ccusage", "agentsview", "tokscale"):
        assert causes(way(found, name)) == {"key": (1, 10, 4, 0, 0, "0.00045")}


def test_what_is_gone_from_the_source_only_we_still_count(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (10, 4))])
    tree.write(main_path(TWO), [said(TWO, 2, at(0), (1, 1))])
    tree.sync()
    tree.place(main_path(ONE)).unlink()
    found = reconciled(tree)
    assert found.ours.messages == 2
    for name in ("lines", "ccusage", "agentsview", "tokscale"):
        assert causes(way(found, name)) == {"gone": (-1, -10, -4, 0, 0, "-0.00045")}


def test_progress_records_copy_answers_and_sometimes_are_all_that_is_left(tree: Tree) -> None:
    kept = said(ONE, 1, at(0), (10, 4), agentId="a1", isSidechain=True)
    lost = said(ONE, 2, at(1), (7, 5), agentId="a2", isSidechain=True)
    greater = said(ONE, 1, at(0), (10, 6), agentId="a1", isSidechain=True)
    tree.write(main_path(ONE), [user(ONE, "u", "Go."), told(greater, ONE), told(lost, ONE)])
    tree.write(agent_path(ONE, "a1"), [kept])
    found = reconciled(tree)
    assert (found.ours.messages, found.progress_only_messages) == (2, 1)
    assert causes(way(found, "ccusage")) == {"progress_copies": (0, 0, 2, 0, 0, "0.00015")}
    assert causes(way(found, "lines")) == {"progress_only": (-1, -7, -5, 0, 0, "-0.00048")}


def test_one_line_of_an_answer_instead_of_the_maxima(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (10, 1)), said(ONE, 1, at(1), (3, 9))])
    found = reconciled(tree)
    assert causes(way(found, "ccusage")) == {"one_line": (0, -7, 0, 0, 0, "-0.000105")}
    assert causes(way(found, "agentsview")) == {"one_line": (0, -7, 0, 0, 0, "-0.000105")}
    assert causes(way(found, "tokscale")) == {}


def test_cache_writes_for_an_hour_have_a_price_of_their_own(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (0, 0, 0, 100, 1000))])
    found = reconciled(tree)
    assert found.ours.cache_write_1h_tokens == 1000
    assert causes(way(found, "tokscale")) == {"cache_tier": (0, 0, 0, 0, 0, "-0.01125")}


def test_the_flat_number_of_cache_writes_and_the_split(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (0, 0, 0, 100, 200), usage={"cache_creation_input_tokens": 1000})])
    found = reconciled(tree)
    assert found.ours.cache_write_tokens == 1000
    assert causes(way(found, "ccusage")) == {"cache_split": (0, 0, 0, 0, -700, "-0.013125")}


def test_lines_that_a_strict_reader_refuses(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            said(ONE, 1, "2026-03-01T12:00:00.123456Z", (1, 2)),
            said(ONE, 2, at(1), (1, 2), version="dev"),
            said(ONE, 3, at(2), (1, 2), usage={"speed": None}),
            said(ONE, 4, at(3), (1, 2)),
        ],
    )
    found = reconciled(tree)
    assert causes(way(found, "ccusage")) == {"refused_lines": (-3, -3, -6, 0, 0, "-0.000495")}


def test_subagents_beside_the_sessions_are_not_read_by_agentsview(tree: Tree) -> None:
    tree.write(main_path(ONE), [user(ONE, "u", "Go.")])
    tree.write(f"{FOLDER}/agent-old.jsonl", [said(ONE, 1, at(0), (10, 4), agentId="old", isSidechain=True)])
    tree.write(agent_path(ONE, "new"), [said(ONE, 2, at(0), (1, 1), agentId="new", isSidechain=True)])
    found = reconciled(tree)
    assert causes(way(found, "agentsview")) == {"old_layout": (-1, -10, -4, 0, 0, "-0.00045")}
    assert way(found, "ccusage").steps == ()


def test_searches_recorded_costs_and_advisors(tree: Tree) -> None:
    call = {"type": "advisor_message", "model": OPUS, "input_tokens": 5, "output_tokens": 7}
    tree.write(
        main_path(ONE),
        [
            said(ONE, 1, at(0), (0, 0), usage={"server_tool_use": {"web_search_requests": 3}}),
            said(ONE, 2, at(1), (10, 4), costUSD=0.5),
            said(ONE, 3, at(2), (1, 1), usage={"iterations": [call]}),
        ],
    )
    found = reconciled(tree)
    assert found.ours.messages == 4
    assert causes(way(found, "ccusage")) == {"web_searches": (0, 0, 0, 0, 0, "-0.03")}
    assert way(found, "ccusage").total.web_searches == 0
    assert causes(way(found, "agentsview")) == {
        "advisors": (-1, -5, -7, 0, 0, "-0.0006"),
        "recorded_cost": (0, 0, 0, 0, 0, "-0.49955"),
    }


def test_long_prompts_and_prices_of_another_time(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            said(ONE, 1, at(0), (0, 0, 300_000), model=SONNET),
            said(ONE, 2, "2026-03-01T12:00:00.000Z", (0, 0, 300_000), model="claude-opus-4-6"),
            said(ONE, 3, at(1), (0, 0, 300_000), model="claude-sonnet-4-20250514"),
        ],
    )
    found = reconciled(tree)
    assert found.ours.cost_usd == Decimal("0.18") + Decimal("0.3") + Decimal("0.09")
    assert causes(way(found, "ccusage")) == {
        "undated_prices": (0, 0, 0, 0, 0, "-0.15"),
        "long_prompts": (0, 0, 0, 0, 0, "-0.06"),
        "price_list": (0, 0, 0, 0, 0, "0.03"),
    }
    assert way(found, "agentsview").total == found.ours


def test_small_amounts_are_rounded_by_agentsview(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (0, 0, 1)), said(ONE, 2, at(1), (0, 0, 1))])
    found = reconciled(tree)
    assert causes(way(found, "agentsview")) == {"rounding": (0, 0, 0, 0, 0, "0.000001")}


def test_lower_bounds_and_models_without_a_price(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            said(ONE, 1, at(0), (1, 5), stop=None),
            said(ONE, 2, at(1), (1, 6)),
            said(ONE, 3, at(2), (1, 7), model="unheard-of"),
        ],
    )
    found = reconciled(tree)
    assert (found.lower_bound_messages, found.lower_bound_output_tokens) == (1, 5)
    assert found.unpriced_models == ("unheard-of",)
    assert found.ours.unpriced_messages == 1
    assert way(found, "ccusage").total.unpriced_messages == 1


def test_what_has_no_price_at_all_costs_nothing_that_is_known(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (1, 5), model="unheard-of")])
    found = reconciled(tree)
    answer: Any = plain(found)
    assert answer["ours"]["cost_usd"] is None
    assert answer["ways"][0]["total"]["cost_usd"] is None


# -- the client's own figures


def cost_state(session_id: str, **models: dict[str, Any]) -> Line:
    usage = {name.replace("_", "-"): figures for name, figures in models.items()}
    return {"type": "cost-state", "sessionId": session_id, "totalCostUSD": 0, "modelUsage": usage}


def figures(given: int, output: int, cost: float, *, read: int = 0, write: int = 0) -> dict[str, Any]:
    return {
        "inputTokens": given,
        "outputTokens": output,
        "cacheReadInputTokens": read,
        "cacheCreationInputTokens": write,
        "webSearchRequests": 0,
        "costUSD": cost,
    }


def test_sessions_that_agree_with_the_client(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            said(ONE, 1, at(0), (10, 4)),
            said(ONE, 1, at(1), (10, 4)),
            cost_state(ONE, claude_opus_4_1=figures(0, 0, 0)),
            cost_state(ONE, claude_opus_4_1=figures(11, 5, 0.00054)),
        ],
    )
    tree.write(agent_path(ONE, "a"), [said(ONE, 2, at(2), (1, 1), agentId="a", isSidechain=True)])
    tree.write(main_path(TWO), [said(TWO, 3, at(3), (9, 9))])
    found = reconciled(tree)
    assert found.client is not None
    assert (found.client.sessions, found.client.agreeing, found.client.differing) == (1, 1, ())
    state = way(found, "cost-state")
    assert state.compared == Counted(2, 11, 5, 0, 0, 0, 0, Decimal("0.00054"))
    assert state.steps == ()


def test_requests_that_leave_no_line(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            said(ONE, 1, at(0), (10, 4)),
            cost_state(ONE, claude_opus_4_1=figures(15, 4, 0.000525), claude_haiku_5_5=figures(2, 3, 0.9)),
        ],
    )
    found = reconciled(tree)
    assert found.client is not None
    assert (found.client.sessions, found.client.agreeing) == (1, 0)
    assert [
        (item.model, item.difference.input_tokens, item.difference.output_tokens) for item in found.client.differing
    ] == [
        ("claude-haiku-5-5", 2, 3),
        ("claude-opus-4-1", 5, 0),
    ]
    steps = causes(way(found, "cost-state"))
    assert steps["no_line"] == (None, 7, 3, 0, 0, "0.000075")
    assert steps["client_prices"][1:] == (0, 0, 0, 0, "0.9")


def test_a_fork_begins_with_the_totals_of_its_parent_and_a_branch_with_nothing(tree: Tree) -> None:
    talk = [said(ONE, 1, at(0), (10, 4))]
    branch = session(9)
    tree.write(main_path(ONE), talk)
    tree.write(
        main_path(FORK),
        [*of(FORK, talk), said(FORK, 2, at(1), (1, 1)), cost_state(FORK, claude_opus_4_1=figures(11, 5, 0.00054))],
    )
    tree.write(
        main_path(branch),
        [*of(branch, talk), said(branch, 3, at(2), (1, 1)), cost_state(branch, claude_opus_4_1=figures(1, 1, 0.00009))],
    )
    found = reconciled(tree)
    assert causes(way(found, "cost-state")) == {
        "copies": (2, 20, 8, 0, 0, "0.0009"),
        "not_counted": (None, -10, -4, 0, 0, "-0.00045"),
    }
    assert found.client is not None
    assert [item.session_id for item in found.client.differing] == [branch]


@pytest.mark.parametrize(
    "state", ['{"claude-opus-4-1": 7}', "[1]", '{"a": {"inputTokens": "x", "costUSD": "y"}}', '{"a":{"costUSD":1e999}}']
)
def test_totals_that_make_no_sense_are_no_error(tree: Tree, state: str) -> None:
    line = b'{"type":"cost-state","sessionId":"%s","modelUsage":%s}\n' % (ONE.encode(), state.encode())
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (10, 4))])
    tree.append(main_path(ONE), line)
    reconciled(tree)


def test_the_clients_statistics_add_up_lines(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [said(ONE, 1, at(0), (10, 4)), said(ONE, 1, at(1), (10, 4)), said(ONE, 2, at(3 * 24 * 60), (7, 7))],
    )
    usage = {OPUS: {**figures(25, 8, 0)}}
    tree.write(
        "stats-cache.json", json.dumps({"version": 3, "lastComputedDate": "2026-03-02", "modelUsage": usage}).encode()
    )
    found = reconciled(tree)
    statistics = way(found, "stats-cache")
    assert statistics.total.cost_usd is None
    assert causes(statistics) == {
        "later_days": (-1, -7, -7, 0, 0, "-0.00063"),
        "repeated_lines": (1, 10, 4, 0, 0, "0.00045"),
        "unexplained": (None, 5, 0, 0, 0, "-"),
    }


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"modelUsage": 3}', b'{"modelUsage": {"a": 1}, "lastComputedDate": "x"}']
)
def test_statistics_that_make_no_sense_are_none(tree: Tree, content: bytes) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, at(0), (10, 4))])
    tree.write("stats-cache.json", content)
    assert {way.name for way in reconciled(tree).ways} == {"lines", "ccusage", "agentsview", "tokscale"}


# -- whatever the history


def test_an_empty_history_agrees_with_everybody(tree: Tree) -> None:
    tree.write(main_path(ONE), [user(ONE, "u", "Hello?")])
    found = reconciled(tree)
    assert not found.ours
    assert all(not way.total and not way.steps for way in found.ways)


def test_everything_that_could_be_counted_twice(tree: Tree) -> None:
    for path, lines in story().items():
        tree.write(path, lines)
    found = reconciled(tree)
    assert way(found, "lines").total.messages == found.lines


def test_the_same_figures_however_the_files_came(tree: Tree) -> None:
    for path, lines in story().items():
        tree.write(path, lines)
        tree.sync()
    tree.write(main_path(TWO), story()[main_path(TWO)][:2])  # rewritten: the former generation stays
    found = reconciled(tree)
    assert way(found, "lines").steps[0].cause == "gone"


def test_demo_and_damaged_lines(demo: Kept, hard: Kept) -> None:
    for kept in (demo, hard):
        found = kept.h.reconcile()
        check_sums(found, kept.h.usage(by="total").totals.cost_usd or Decimal(0))


def test_progress_goes_to_the_end(demo: Kept) -> None:
    seen: list[tuple[int, int]] = []
    demo.h.reconcile(progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] > 0


LINE = st.fixed_dictionaries(
    {
        "identity": st.sampled_from(["msg_01a", "msg_01b", "gen-1", "gen-2"]),
        "request": st.sampled_from(["r1", "r2", None]),
        "minutes": st.integers(0, 3),
        "tokens": st.tuples(*[st.integers(0, 9)] * 3, st.integers(0, 5), st.integers(0, 5)),
        "flat": st.integers(0, 12) | st.none(),
        "model": st.sampled_from([OPUS, SONNET, HAIKU, "unheard-of", "<synthetic>"]),
        "side": st.booleans(),
        "stop": st.sampled_from([None, "end_turn"]),
        "searches": st.integers(0, 1),
        "cost": st.sampled_from([None, None, 0.25]),
        "told": st.booleans(),
        "advised": st.booleans(),
        "odd": st.booleans(),
    }
)
PLACES = (main_path(ONE), main_path(TWO), agent_path(ONE, "a1"), f"{FOLDER}/agent-b2.jsonl", f"{FOLDER}/saved.jsonl")


def made(number: int, given: dict[str, Any], session_id: str) -> Line:
    usage: dict[str, Any] = {"server_tool_use": {"web_search_requests": given["searches"]}}
    if given["flat"] is not None:
        usage["cache_creation_input_tokens"] = given["flat"]
    if given["advised"]:
        usage["iterations"] = [{"type": "advisor_message", "model": HAIKU, "input_tokens": 3, "output_tokens": 2}]
    line = said(
        session_id,
        number,
        at(given["minutes"]) if not given["odd"] else "2026-03-01T12:00:00.123456Z",
        given["tokens"],
        model=given["model"],
        stop=given["stop"],
        identity=given["identity"],
        usage=usage,
        requestId=given["request"],
        isSidechain=given["side"],
    )
    line["uuid"] = f"{number % 5}-{given['identity']}"
    if given["request"] is None and number % 2:
        del line["requestId"]
    if given["cost"] is not None:
        line["costUSD"] = given["cost"]
    return told(line, session_id) if given["told"] else line


@settings(max_examples=40, deadline=None)
@given(
    lines=st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from([ONE, TWO]), LINE), min_size=1, max_size=14),
    gone=st.sampled_from([None, *PLACES]),
)
def test_causes_add_up_whatever_the_lines(lines: list[tuple[str, str, dict[str, Any]]], gone: str | None) -> None:
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        tree = Tree(Path(folder) / "claude", Path(folder) / "store")
        files: dict[str, list[Line]] = {}
        for number, (path, session_id, line) in enumerate(lines):
            files.setdefault(path, []).append(made(number, line, session_id))
        for path, content in files.items():
            tree.write(path, content)
        tree.sync()
        if gone in files:
            tree.place(gone).unlink()
        with opened(tree) as h:
            found = h.reconcile()
            check_sums(found, h.usage(by="total").totals.cost_usd or Decimal(0))


@given(
    st.lists(st.sampled_from(['"', ":null", '":null', "id", "cwd", "speed", "x", '"id":null', ',"', "\\"]), max_size=9)
)
def test_fields_that_are_null_are_found_as_if_each_were_looked_for(pieces: list[str]) -> None:
    line = "".join(pieces).encode()
    plainly = any(b'"' + name + b'":null' in line for name in claude_lines._UNSET)
    assert claude_lines._is_unset(line) == plainly
