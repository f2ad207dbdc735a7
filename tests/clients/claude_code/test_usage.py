"""Tokens: what a line states, under which key, and that statements merge to the same in any order."""

from __future__ import annotations

import itertools
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from hansard.clients.state import NAME_LENGTH
from hansard.clients.usage import Stated, merge
from tests.clients.claude_code.making import SESSION, assistant, fold, text

COUNT = st.integers(0, 4)
NAME = st.sampled_from(["", "a", "b"])
CALLED = st.tuples(NAME, COUNT).map(lambda call: call if call[0] else ("", 0))  # a tool and when, or neither
_STATED = st.builds(
    Stated,
    ts=COUNT,
    path=NAME,
    record_id=st.sampled_from([1, 2, (1 << 40) + 1, (2 << 40) + 1]),
    model=NAME,
    session_id=NAME,
    agent_id=NAME,
    input=COUNT,
    output=COUNT,
    cache_read=COUNT,
    cache_write=COUNT,
    cache_write_5m=COUNT,
    cache_write_1h=COUNT,
    web_searches=COUNT,
    final_output=st.integers(-1, 4),
    service_tier=NAME,
    speed=NAME,
    inference_geo=NAME,
    branch=NAME,
    recorded=st.integers(-1, 4),
    is_copy=st.booleans(),
)
STATED = st.builds(lambda stated, call: replace(stated, tool=call[0], tool_ts=call[1]), _STATED, CALLED)
BASE = Stated(
    ts=10, path="p", record_id=5, model="m", session_id="s", agent_id="", input=1, output=2, cache_read=3, cache_write=4,
    cache_write_5m=4, cache_write_1h=0, web_searches=0, final_output=2, service_tier="standard", speed="", inference_geo="", branch="main",
)  # fmt: skip
anything_goes = settings(deadline=None)


@anything_goes
@given(STATED, STATED)
def test_the_order_of_two_does_not_matter(one: Stated, other: Stated) -> None:
    assert merge(one, other) == merge(other, one)


@anything_goes
@given(STATED, STATED, STATED)
def test_the_grouping_of_three_does_not_matter(one: Stated, two: Stated, three: Stated) -> None:
    assert merge(merge(one, two), three) == merge(one, merge(two, three))


@anything_goes
@given(STATED, STATED)
def test_saying_it_again_changes_nothing(one: Stated, other: Stated) -> None:
    assert merge(one, one) == one
    assert merge(merge(one, other), other) == merge(one, other)


@anything_goes
@given(
    st.lists(STATED, min_size=1, max_size=6).flatmap(lambda given: st.tuples(st.just(given), st.permutations(given)))
)
def test_any_order_and_any_repetition_gives_the_same(given: tuple[list[Stated], list[Stated]]) -> None:
    straight, shuffled = given
    assert reduce(merge, straight) == reduce(merge, shuffled + shuffled[:2])


def test_each_class_is_the_maximum_and_the_owner_is_the_earliest() -> None:
    late = replace(BASE, ts=20, session_id="fork", branch="other", output=50, input=0)
    assert asdict(merge(late, BASE)) == {**asdict(BASE), "output": 50}


def test_a_line_without_a_time_owns_nothing_that_has_one() -> None:
    timeless = replace(BASE, ts=0, session_id="saved stream")
    assert merge(timeless, BASE).session_id == "s"
    assert merge(timeless, BASE).ts == 10


def test_equally_old_lines_are_ordered_by_path_then_place() -> None:
    other = replace(BASE, path="o", session_id="other")
    assert merge(BASE, other).session_id == "other"
    sooner = replace(BASE, record_id=(7 << 40) + 1, session_id="sooner")
    assert merge(BASE, sooner).session_id == "sooner"


def test_a_copy_owns_nothing_whose_original_is_known() -> None:
    copy = replace(BASE, ts=1, path="a", session_id="fork", is_copy=True)
    assert merge(BASE, copy).session_id == merge(copy, BASE).session_id == "s"
    assert merge(copy, replace(copy, path="b", session_id="second fork")).session_id == "fork"


def test_the_first_tool_is_the_earliest_that_is_called() -> None:
    calling = replace(BASE, ts=20, tool="Read", tool_ts=20)
    later = replace(BASE, ts=30, tool="Bash", tool_ts=30)
    assert (merge(later, merge(BASE, calling)).tool, merge(later, merge(BASE, calling)).tool_ts) == ("Read", 20)
    assert merge(later, replace(BASE, tool="Edit", tool_ts=0)).tool == "Bash", "a call without a time is later than any"


def one_usage(*values: Any) -> Stated:
    ((_, stated),) = fold(*values).rows.usage.items()
    return stated


def keys(*values: Any) -> list[str]:
    return list(fold(*values).rows.usage)


def test_the_key_of_a_message() -> None:
    assert keys(assistant(id="msg_01a", requestId=None)) == ["msg_01a"]
    assert keys(assistant(id="msg_bdrk_a", requestId=None)) == ["msg_bdrk_a"]
    assert keys(assistant(id="msg_vrtx_a", requestId=None)) == ["msg_vrtx_a"]
    assert keys(assistant(id="gen-1", requestId="req")) == ["gen-1"]
    assert keys(assistant(id="gen-1", requestId=None)) == [f"{SESSION}//gen-1"]
    assert keys(assistant(id="gen-1", requestId=None, agentId="a7")) == [f"{SESSION}/a7/gen-1"]
    assert keys(assistant(id=None)) == ["uuid-of-assistant"]
    assert keys(assistant(id=None, uuid=None)) == ["p/a.jsonl@0"]


def test_several_lines_of_one_answer_count_once() -> None:
    lines = [
        assistant(text("a"), usage={"input_tokens": 3, "output_tokens": 1}, stop_reason=None),
        assistant(text("b"), usage={"input_tokens": 3, "output_tokens": 9}),
        assistant(text("c"), usage={"input_tokens": 3, "output_tokens": 9}),
    ]
    for order in itertools.permutations(lines):
        stated = one_usage(*order)
        assert (stated.input, stated.output, stated.is_lower_bound) == (3, 9, False)
    assert fold(*lines).state.messages == 1


def test_output_without_a_stop_reason_is_a_lower_bound() -> None:
    unfinished = assistant(text("a"), usage={"output_tokens": 9}, stop_reason=None)
    assert one_usage(unfinished).is_lower_bound
    finished = assistant(text("b"), usage={"output_tokens": 4})
    assert one_usage(unfinished, finished).is_lower_bound


def test_every_class_of_tokens() -> None:
    stated = one_usage(
        assistant(
            usage={
                "input_tokens": 1,
                "output_tokens": 2,
                "cache_read_input_tokens": 3,
                "cache_creation_input_tokens": 9,
                "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5},
                "server_tool_use": {"web_search_requests": 6, "web_fetch_requests": 7},
                "service_tier": "batch",
                "speed": "fast",
                "inference_geo": "us",
            }
        )
    )
    assert (stated.input, stated.output, stated.cache_read, stated.cache_write) == (1, 2, 3, 9)
    assert (stated.cache_write_5m, stated.cache_write_1h, stated.web_searches) == (4, 5, 6)
    assert (stated.service_tier, stated.speed, stated.inference_geo) == ("batch", "fast", "us")


@pytest.mark.parametrize("wrong", ["4", None, -3, 1.5, [], 10**30, True])
def test_a_count_that_is_none_counts_as_nothing_and_spares_its_neighbours(wrong: Any) -> None:
    stated = one_usage(
        assistant(
            usage={
                "input_tokens": wrong,
                "output_tokens": 2,
                "cache_creation": {"ephemeral_5m_input_tokens": wrong, "ephemeral_1h_input_tokens": 5},
            }
        )
    )
    assert (stated.input, stated.output, stated.cache_write_5m, stated.cache_write_1h) == (0, 2, 0, 5)


def test_the_branch_and_the_first_tool_of_a_message() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    lines = [
        assistant(text("a"), gitBranch="fix", timestamp="2026-01-01T00:00:01Z"),
        assistant({**use, "id": "t2", "name": "Bash"}, gitBranch="fix", timestamp="2026-01-01T00:00:03Z"),
        assistant(use, gitBranch="main", timestamp="2026-01-01T00:00:02Z"),
        assistant({"type": "mcp_tool_use", "id": "t3", "name": "x" * 5000}, timestamp="2026-01-01T00:00:04Z"),
    ]
    for order in itertools.permutations(lines):
        stated = one_usage(*order)
        assert (stated.branch, stated.tool, stated.tool_ts - stated.ts) == ("fix", "Read", 1000)
    assert len(one_usage(lines[3]).tool) == NAME_LENGTH


LINE = st.builds(
    lambda second, tool, output, stop, cost: assistant(
        *([{"type": "tool_use", "id": tool, "name": tool, "input": {}}] if tool else []),
        usage={"output_tokens": output},
        stop_reason=stop,
        timestamp=None if second is None else f"2026-01-01T00:00:0{second}Z",
        costUSD=cost,
    ),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from(["", "Bash", "Read"]),
    st.sampled_from([1, 2]),
    st.sampled_from([None, "end_turn"]),
    st.sampled_from([None, 0.5]),
)


@anything_goes
@given(st.lists(LINE, min_size=2, max_size=5).flatmap(lambda lines: st.tuples(st.just(lines), st.permutations(lines))))
def test_lines_of_a_message_may_stand_in_any_order(given: tuple[list[Any], list[Any]]) -> None:
    straight, shuffled = (replace(one_usage(*lines), record_id=0) for lines in given)
    assert straight == shuffled


@pytest.mark.parametrize(
    ("cost", "billionths"),
    [
        (0.0123456789, 12_345_679),
        (0, 0),
        (1, 1_000_000_000),
        (-0.5, -1),
        (float("nan"), -1),
        (float("inf"), -1),
        (1e300, -1),
        ("0.5", -1),
        (None, -1),
        (True, -1),
        ([0.5], -1),
        ({}, -1),
    ],
)
def test_what_the_oldest_clients_wrote_that_a_message_cost(cost: Any, billionths: int) -> None:
    assert one_usage(assistant(costUSD=cost)).recorded == billionths


def test_the_highest_cost_that_was_written_counts() -> None:
    assert one_usage(assistant(costUSD=0.1), assistant(costUSD=0.3), assistant()).recorded == 300_000_000


def test_advisor_calls_count_under_their_own_model() -> None:
    iterations = [
        {"type": "message", "input_tokens": 100, "output_tokens": 100},
        {"type": "advisor_message", "model": "claude-haiku", "input_tokens": 7, "output_tokens": 8},
        "advisor",
    ]
    folded = fold(assistant(usage={"input_tokens": 1, "output_tokens": 2, "iterations": iterations}))
    counted = {key: (stated.model, stated.input, stated.output) for key, stated in folded.rows.usage.items()}
    assert counted == {"msg_01abc": ("claude-opus-4-1", 1, 2), "msg_01abc#advisor1": ("claude-haiku", 7, 8)}


def test_what_does_not_count() -> None:
    synthetic = assistant(text("API Error"), model="<synthetic>")
    result = {"type": "result", "subtype": "success", "usage": {"input_tokens": 900}, "session_id": SESSION}
    folded = fold(synthetic, result)
    assert folded.rows.usage == {}
    assert folded.state.messages == 0


@pytest.mark.parametrize("is_first", [True, False])
def test_what_progress_records_repeat_counts_without_a_line_of_its_own(is_first: bool) -> None:
    own = assistant(text("copy"), usage={"input_tokens": 1, "output_tokens": 2})
    repeated = {
        "type": "progress",
        "uuid": "u",
        "data": {
            "type": "agent_progress",
            "agentId": "a",
            "message": assistant(text("copy"), usage={"output_tokens": 9}),
        },
    }
    (only,) = fold(repeated).rows.usage.values()
    assert (only.output, only.agent_id, only.is_progress) == (9, "a", True)
    (both,) = fold(*((repeated, own) if is_first else (own, repeated))).rows.usage.values()
    assert (both.output, both.is_progress) == (2, False)
