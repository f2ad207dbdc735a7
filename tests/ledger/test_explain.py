"""Explaining figures: the sum is the figure, and what is told of each message is so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.demo import write_history
from hansard.engine import Hansard
from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.model.explain import ExplainedMessage, Explanation
from hansard.model.ledger import UsageRow
from hansard.model.serialize import plain
from hansard.pricing.cost import total
from hansard.storage.sqlite import connect
from tests.sync.making import Line, Tree, agent_path, entry, main_path, session, user

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
MODEL = "claude-opus-4-5-20251101"
REPORTS = (
    "hour", "day", "week", "month", "block", "session", "project", "model", "agent", "subagent", "branch", "tool", "total",
    "day,model", "session,subagent,tool",
)  # fmt: skip
ZONES = ("America/New_York", "Asia/Kathmandu")
MODES = ("auto", "calculate", "recorded")
FIGURES = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "web_searches",
    "api_messages", "lower_bound_messages", "unpriced_messages", "recorded_messages", "cost_usd", "cache_saved_usd",
    "cache_extra_usd", "unpriced_models", "first_at", "last_at", "key", "about",
)  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    """The demo history, and beside it a session with costs that the client wrote and a model without a price."""
    place = tmp_path_factory.mktemp("demo")
    write_history(place / "claude", now=NOW)
    tree = Tree(place / "claude", place / "store")
    tree.write(
        main_path(session(77)),
        [
            answer(77, 1, "msg_01rec", {"input_tokens": 5, "output_tokens": 7}, costUSD=0.0123),
            answer(77, 2, "msg_01unk", {"input_tokens": 5, "output_tokens": 7}, model="quokka-1"),
            {**answer(77, 3, "msg_01now", {"input_tokens": 5, "output_tokens": 7}), "timestamp": None},
        ],
    )
    with hansard.open(place / "store", roots=[place / "claude"]) as h:
        h.sync()
        yield h


@pytest.fixture(scope="module")
def public(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    """The smaller projects of the public corpus."""
    place = tmp_path_factory.mktemp("public")
    source = corpus / "public"
    projects = next(path for path in (source / "projects", *source.rglob("projects")) if path.is_dir())
    for folder in projects.iterdir():
        if sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 4 << 20:
            shutil.copytree(folder, place / "claude" / "projects" / folder.name)
    with hansard.open(place / "store", roots=[place / "claude"]) as h:
        h.sync()
        yield h


def answer(
    number: int, minutes: float, message_id: str, usage: Line | None, *, stop: str | None = "end_turn", **more: Any
) -> Line:
    """A line of an answer."""
    message = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": more.pop("model", MODEL),
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": stop,
        "usage": usage,
    }
    uuid = more.pop("uuid", f"{message_id}-{minutes}")
    return entry("assistant", session(number), uuid, minutes, message=message, requestId="req_1", **more)


def explained(tree: Tree, target: str | None = None, **more: Any) -> Explanation:
    tree.sync()
    with hansard.open(tree.home) as h:
        return h.explain(target, **more)


def only(tree: Tree, target: str, **more: Any) -> ExplainedMessage:
    (message,) = explained(tree, target, **more).messages
    return message


def winners(message: ExplainedMessage) -> dict[str, tuple[int, int | None, str]]:
    return {item.name: (item.count, item.line, item.why) for item in message.classes if item.count}


def check(found: Explanation, row: UsageRow) -> None:
    """The explanation is the row: by its figure, by its rates, and by its messages with the rest."""
    for name in FIGURES:
        assert getattr(found.figure, name) == getattr(row, name), name
    assert found.notes == ()
    costs = [item.cost_usd for item in found.rates if item.cost_usd is not None]
    assert (total(costs) if costs else None) == row.cost_usd
    for item in found.rates:
        parts = [charge.cost_usd for charge in item.charges if charge.cost_usd is not None]
        if item.found_by == "rate":
            assert total(parts) == item.cost_usd
            for charge in item.charges:
                scale = 1000 if charge.name == "web_searches" else 1_000_000
                assert charge.price is not None
                assert charge.cost_usd == charge.count * charge.price / scale
        else:
            assert not parts
    for name in FIGURES[:10]:
        assert getattr(found.shown, name) + getattr(found.rest, name) == getattr(row, name)
    parts = [part.cost_usd for part in (found.shown, found.rest) if part.cost_usd is not None]
    assert total(parts) == (row.cost_usd or 0)
    assert found.shown.api_messages == len(found.messages)
    for place, name in enumerate(FIGURES[:6]):
        assert sum(message.classes[place].count for message in found.messages) == getattr(found.shown, name)
    costs = [message.cost_usd for message in found.messages if message.cost_usd is not None]
    assert total(costs) == (found.shown.cost_usd or 0)
    for message in found.messages:
        assert message.agrees, message.notes
        assert message.lines[0].is_owner
        parts = [item.cost_usd for item in message.classes if item.cost_usd is not None]
        assert total(parts) == (message.cost_usd if message.found_by == "rate" else 0)


@pytest.mark.parametrize(("zone", "mode"), list(zip(cycle(ZONES), MODES, strict=False)))
@pytest.mark.parametrize("by", REPORTS)
def test_every_row_of_the_demo_is_explained(demo: Hansard, by: str, zone: str, mode: str) -> None:
    rows = demo.usage(by=by, timezone=zone, mode=mode).rows
    assert rows
    for row in rows[:: max(1, len(rows) // 25)]:
        check(demo.explain(by=by, key=tuple(row.key.values()), timezone=zone, mode=mode, limit=0), row)
    row = rows[len(rows) // 2]
    check(demo.explain(by=by, key=tuple(row.key.values()), timezone=zone, mode=mode, limit=5), row)


@pytest.mark.parametrize("by", REPORTS)
def test_rows_of_real_histories_are_explained(public: Hansard, by: str) -> None:
    for zone, mode in zip(ZONES, MODES, strict=False):
        rows = public.usage(by=by, timezone=zone, mode=mode).rows
        for row in rows[:: max(1, len(rows) // 12)]:
            check(public.explain(by=by, key=tuple(row.key.values()), timezone=zone, mode=mode, limit=2), row)


def test_every_line_of_real_histories_gives_what_the_ledger_has(public: Hansard) -> None:
    found = public.explain(limit=None)
    assert len(found.messages) == found.figure.api_messages > 500
    assert found.rest.api_messages == 0
    check(found, public.usage(by="total").rows[0])
    assert {item.why for message in found.messages for item in message.classes} >= {"only line", "all lines agree"}


@pytest.mark.parametrize("conditions", [{"project": "tide"}, {"model": "opus"}, {"query": "tool:Bash"}])
def test_conditions_are_those_of_the_report(demo: Hansard, conditions: dict[str, Any]) -> None:
    report = demo.usage(by="day", **conditions)
    assert 0 < report.totals.api_messages < demo.usage(by="total").totals.api_messages
    for row in report.rows[:5]:
        check(demo.explain(by="day", key=tuple(row.key.values()), limit=0, **conditions), row)
    assert demo.explain(limit=0, **conditions).figure.cost_usd == report.totals.cost_usd


def test_the_dearest_come_first(demo: Hansard) -> None:
    every = demo.explain(limit=None)
    costs = [message.cost_usd for message in every.messages if message.cost_usd is not None]
    assert costs == sorted(costs, reverse=True)
    assert every.messages[-1].cost_usd is None
    some = demo.explain(limit=7)
    assert [message.key for message in some.messages] == [message.key for message in every.messages[:7]]


# With none to spare every list is asked for again, and with three some are long enough at once.
@pytest.mark.parametrize(
    ("by", "mode", "spare"),
    [
        *((by, mode, 0) for by in ("total", "project", "session,subagent,tool", "hour") for mode in MODES),
        *(("project", mode, 3) for mode in MODES),
    ],
)
def test_some_messages_are_the_first_of_all(
    demo: Hansard, by: str, mode: str, spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few are looked at beyond those that are wanted, and whatever stands for the rest."""
    monkeypatch.setattr("hansard.ledger.explain._SPARE", spare)
    rows = demo.usage(by=by, mode=mode).rows
    for row in (rows[0], rows[len(rows) // 2], rows[-1]):
        asked: Any = {"by": by, "key": tuple(row.key.values()), "mode": mode}
        every = demo.explain(**asked, limit=None)
        for limit in (0, 2, row.api_messages + 5):
            found = demo.explain(**asked, limit=limit)
            assert [item.key for item in found.messages] == [item.key for item in every.messages[:limit]]
            assert plain(found.figure) == plain(every.figure)
            others = [item.at for item in every.messages[limit:] if item.at]
            assert (found.rest.first_at, found.rest.last_at) == (min(others, default=None), max(others, default=None))
            assert found.rest.api_messages == len(every.messages[limit:])


def test_messages_that_cost_the_same_are_ranked_exactly(tree: Tree) -> None:
    """More of them than are looked at: by tokens, then by time, then by id; free ones and those without a price too."""
    lines = [
        answer(1, number, f"msg_01{number:04}", {"input_tokens": 10 + number % 3 // 2, "output_tokens": 7}, model=model)
        for number, model in enumerate([MODEL] * 2000 + ["quokka-1"] * 2000)
    ]
    tree.write(main_path(session(1)), lines)
    every = explained(tree, limit=None)
    for conditions in ({}, {"model": "quokka"}):
        keys = [item.key for item in every.messages if item.model == "quokka-1" or not conditions]
        assert [item.key for item in explained(tree, limit=9, **conditions).messages] == keys[:9]


# -- what can be named


def test_a_session_by_any_name(demo: Hansard) -> None:
    last = demo.session("@last")
    row = next(row for row in demo.usage(by="session").rows if row.key["session"] == last.session_id)
    for name in ("@last", last.session_id, last.session_id[:13]):
        found = demo.explain(name, limit=1)
        assert found.key == {"session": last.session_id}
        check(found, row)


@pytest.mark.parametrize("by", ["hour", "day", "week", "month", "block"])
def test_a_time_as_reports_show_it(demo: Hansard, by: str) -> None:
    for zone in ZONES:
        row = demo.usage(by=by, timezone=zone).rows[3 if by != "month" else 1]
        found = demo.explain(row.key[by], timezone=zone, limit=0)
        assert found.by == (by,)
        check(found, row)


@pytest.mark.parametrize("by", ["hour", "day", "week", "month", "block", "day,session"])
def test_messages_of_unknown_time(demo: Hansard, by: str) -> None:
    row = next(row for row in demo.usage(by=by).rows if None in row.key.values())
    found = demo.explain(by=by, key=tuple(row.key.values()))
    check(found, row)
    assert [message.key for message in found.messages] == ["msg_01now"]
    assert found.messages[0].at is None


def test_today(demo: Hansard) -> None:
    found = demo.explain("today", now=NOW, timezone="UTC", limit=0)
    assert found.key == {"day": "2026-05-20"}
    found = demo.explain("yesterday", now=NOW + timedelta(days=1), timezone="UTC", limit=0)
    assert found.key == {"day": "2026-05-20"}


def test_a_message_by_its_id_and_by_the_uuid_of_a_line(demo: Hansard) -> None:
    message = demo.explain("@last", limit=1).messages[0]
    found = demo.explain(message.key)
    assert found.by == ("message",)
    assert found.messages == (message,)
    assert found.figure.cost_usd == message.cost_usd
    for line in message.lines:
        assert line.uuid is not None
        assert demo.explain(line.uuid).messages == (message,)


def test_a_part_of_a_name_that_fits_one_row_is_enough(demo: Hansard) -> None:
    rows = demo.usage(by="model").rows
    model = max((str(row.key["model"]) for row in rows), key=len)
    assert demo.explain(by="model", key=(model[3:].upper(),), limit=0).key == {"model": model}
    with pytest.raises(Ambiguous, match="rows match claude"):
        demo.explain(by="model", key=("claude",))


@pytest.mark.parametrize(
    ("kind", "asked", "told"),
    [
        (NotFound, {"target": "no such thing"}, "nothing matches 'no such thing'"),
        (NotFound, {"target": "@999999"}, "no session number 999999"),
        (NotFound, {"target": "1999-01-01"}, "no usage on 1999-01-01"),
        (NotFound, {"target": "msg_01rec", "since": NOW}, "msg_01rec is not in the selection"),
        (NotFound, {"since": NOW.replace(year=2030)}, "no usage in the selection"),
        (NotFound, {"by": "model", "key": ("gpt",)}, "`hansard usage --by model` lists what there is"),
        (UsageError, {"by": "day,model", "key": ("2026-05-01",)}, r"takes 2 values \(day, model\)"),
        (UsageError, {"by": "total", "key": ("x",)}, "takes no value"),
        (UsageError, {"by": "sun"}, "'sun'"),
        (UsageError, {"key": ("2026-05-01", "opus")}, "--by"),
        (UsageError, {"limit": -1}, "cannot be negative"),
    ],
)
def test_what_is_not_there(demo: Hansard, kind: type[Exception], asked: dict[str, Any], told: str) -> None:
    with pytest.raises(kind, match=told):
        demo.explain(**asked)


def test_a_line_that_is_no_answer(tree: Tree) -> None:
    tree.write(
        main_path(session(1)),
        [user(session(1), "u1", "Hello?"), answer(1, 1, "msg_01a", None), answer(1, 2, "msg_01b", {"input_tokens": 1})],
    )
    with pytest.raises(NotFound, match="is a 'user' record"):
        explained(tree, "u1")
    with pytest.raises(NotFound, match="no line of message msg_01a has usage"):
        explained(tree, "msg_01a")


def test_an_empty_store(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as h, pytest.raises(NotFound, match="hansard sync"):
        h.explain()


# -- what is told of a message


def test_different_lines_win_different_classes(tree: Tree) -> None:
    split = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 4}
    tree.write(
        main_path(session(1)),
        [
            answer(1, 1, "msg_01a", {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 5}, stop=None),
            answer(1, 2, "msg_01a", {"input_tokens": 3, "output_tokens": 8, "cache_read_input_tokens": 5}, stop=None),
            answer(1, 3, "msg_01b", {"input_tokens": 1000, "output_tokens": 1}),
            answer(
                1,
                4,
                "msg_01a",
                {
                    "input_tokens": 3,
                    "output_tokens": 8,
                    "cache_creation_input_tokens": 40,
                    "cache_creation": split,
                    "cache_read_input_tokens": 5,
                    "server_tool_use": {"web_search_requests": 2},
                },
            ),
        ],
    )
    message = only(tree, "msg_01a")
    assert winners(message) == {
        "input_tokens": (9, 1, "maximum of 3 lines"),
        "output_tokens": (8, 2, "maximum of 3 lines"),
        "cache_read_tokens": (5, 1, "all lines agree"),
        "cache_write_5m_tokens": (36, 3, "maximum of 3 lines"),
        "cache_write_1h_tokens": (4, 3, "maximum of 3 lines"),
        "web_searches": (2, 3, "maximum of 3 lines"),
    }
    assert [item.remainder for item in message.classes] == [0, 0, 0, 6, 0, 0]
    assert [line.wins for line in message.lines] == [
        ("input_tokens", "cache_read_tokens"),
        ("output_tokens",),
        ("cache_write_5m_tokens", "cache_write_1h_tokens", "web_searches"),
    ]
    assert message.owner == "earliest of 3 lines"
    assert message.prompt_tokens == 9 + 5 + 40
    assert not message.is_lower_bound
    assert message.agrees
    place = tree.place(main_path(session(1))).read_bytes()
    for line in message.lines:
        assert line.uuid is not None
        assert f'"uuid":"{line.uuid}"'.encode() in place[line.offset : line.offset + line.length]
        assert place[line.offset + line.length : line.offset + line.length + 1] == b"\n"


def test_the_arithmetic_of_a_message(tree: Tree) -> None:
    tree.write(main_path(session(1)), [answer(1, 1, "msg_01a", {"input_tokens": 100, "output_tokens": 7})])
    message = only(tree, "msg_01a")
    assert message.rate.priced_as == "claude-opus-4-5"
    assert [(item.price, item.cost_usd) for item in message.classes][:2] == [
        (Decimal(5), Decimal("0.0005")),
        (Decimal(25), Decimal("0.000175")),
    ]
    assert message.cost_usd == Decimal("0.000675")
    assert winners(message)["input_tokens"] == (100, 1, "only line")


def test_a_lower_bound(tree: Tree) -> None:
    tree.write(
        main_path(session(1)),
        [
            answer(1, 1, "msg_01a", {"input_tokens": 1, "output_tokens": 5}, stop=None),
            answer(1, 2, "msg_01b", {"input_tokens": 1, "output_tokens": 2}),
            answer(1, 3, "msg_01b", {"input_tokens": 1, "output_tokens": 6}, stop=None),
        ],
    )
    first, second = only(tree, "msg_01a"), only(tree, "msg_01b")
    assert (first.is_lower_bound, second.is_lower_bound) == (True, True)
    assert first.lower_bound.startswith("no line has a stop_reason")
    assert second.lower_bound == "lines with a stop_reason report at most 2, another line reports 6"
    assert explained(tree).pricing.notes


def test_copies_in_forks_and_former_generations_add_nothing(tree: Tree) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    lines = [user(session(1), "u1", "Go"), answer(1, 1, "msg_01a", usage, uuid="a1", parent="u1")]
    tree.write(main_path(session(1)), lines)
    copied = [{**line, "sessionId": session(2), "forkedFrom": {"sessionId": session(1)}} for line in lines]
    tree.write(main_path(session(2)), [*copied, answer(2, 9, "msg_01b", usage)])
    tree.sync()
    tree.write(main_path(session(1)), [lines[1], lines[0], answer(1, 5, "msg_01c", usage)])
    message = only(tree, "msg_01a")
    assert message.session_id == session(1)
    assert sorted(
        (line.generation, line.state, line.copy) for line in message.lines if line.session_id == session(1)
    ) == [
        (1, "rewritten", "generation"),
        (2, "live", None),
    ]
    assert [line.copy for line in message.lines if line.session_id == session(2)] == ["branch"]
    assert "2 of its lines are in other transcripts: the message counts once" in message.notes
    assert winners(message)["output_tokens"] == (4, 1, "all lines agree")
    assert explained(tree, session(1)).figure.input_tokens == 6
    assert explained(tree, session(2)).figure.input_tokens == 3


def test_equally_early_lines_are_owned_by_path(tree: Tree) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    for number in (2, 1):
        tree.write(main_path(session(number)), [answer(number, 1, "msg_01a", usage, uuid=f"a{number}")])
    message = only(tree, "msg_01a")
    assert message.owner == "tied for earliest, first by path of 2 lines"
    assert message.session_id == session(1)
    assert [line.copy for line in message.lines] == [None, "session"]


def test_a_model_without_a_price(tree: Tree) -> None:
    tree.write(main_path(session(1)), [answer(1, 1, "msg_01a", {"input_tokens": 3}, model="quokka-1")])
    found = explained(tree)
    (message,) = found.messages
    assert (message.found_by, message.cost_usd) == ("unpriced", None)
    assert found.figure.cost_usd is None
    assert [(item.found_by, item.cost_usd) for item in found.rates] == [("unpriced", None)]
    assert all(item.price is None and item.cost_usd is None for item in message.classes)
    assert found.figure.unpriced_models == ("quokka-1",)


def test_a_cost_that_the_client_wrote(tree: Tree) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10}
    tree.write(
        main_path(session(1)),
        [answer(1, 1, "msg_01a", usage, costUSD=0.25), answer(1, 2, "msg_01b", usage)],
    )
    message = only(tree, "msg_01a")
    assert (message.found_by, message.cost_usd, message.recorded_usd) == ("recorded", Decimal("0.25"), Decimal("0.25"))
    assert all(item.cost_usd is None for item in message.classes)
    assert message.lines[0].recorded_usd == Decimal("0.25")
    message = only(tree, "msg_01a", mode="calculate")
    assert (message.found_by, message.cost_usd) == ("rate", Decimal("0.00075"))
    assert only(tree, "msg_01b", mode="recorded").found_by == "unpriced"
    found = explained(tree)
    assert found.figure.cost_usd == Decimal("0.25075")
    assert {item.found_by: item.cost_usd for item in found.rates} == {
        "recorded": Decimal("0.25"),
        "rate": Decimal("0.00075"),
    }


def test_calls_to_an_advisor(tree: Tree) -> None:
    usage = {"input_tokens": 10, "output_tokens": 20}
    advised = {"type": "advisor_message", "model": "claude-sonnet-4-5", "input_tokens": 50, "output_tokens": 5}
    tree.write(
        main_path(session(1)),
        [
            answer(1, 1, "msg_01a", usage),
            answer(1, 2, "msg_01a", {**usage, "iterations": [{"type": "message"}, advised]}),
        ],
    )
    message = only(tree, "msg_01a#advisor1")
    assert message.model == "claude-sonnet-4-5"
    assert winners(message) == {"input_tokens": (50, 1, "only line"), "output_tokens": (5, 1, "only line")}
    assert message.notes == ("a call to another model inside message msg_01a, counted separately",)
    base = only(tree, "msg_01a")
    assert [line.input_tokens for line in base.lines] == [10, 10]
    assert base.notes == ("calls to another model inside it are counted separately: msg_01a#advisor1",)
    found = explained(tree, session(1))
    assert found.figure.input_tokens == 60
    assert all(message.agrees for message in found.messages)


def test_messages_of_subagents_and_gateways(tree: Tree) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    line = answer(1, 1, "gen-1", usage, agentId="abc1")
    del line["requestId"]
    tree.write(agent_path(session(1), "abc1"), [line])
    key = f"{session(1)}/abc1/gen-1"
    message = only(tree, key)
    assert (message.agent_id, message.tool, message.branch) == ("abc1", None, "main")


def test_lines_of_one_message_far_apart(tree: Tree) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    others = [answer(1, 2 + place / 100, f"msg_01x{place}", usage) for place in range(50)]
    tree.write(main_path(session(1)), [answer(1, 1, "msg_01a", usage), *others])
    tree.sync()
    tree.append(main_path(session(1)), [answer(1, 9, "msg_01a", {"input_tokens": 3, "output_tokens": 40})])
    assert winners(only(tree, "msg_01a"))["output_tokens"] == (40, 2, "maximum of 2 lines")


def test_a_damaged_record_is_told(tree: Tree) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    tree.write(main_path(session(1)), [answer(1, 1, "msg_01a", usage)])
    tree.sync()
    db = connect(str(tree.home / "record.db"))
    db.execute("UPDATE chunk SET data = zeroblob(length(data))")
    db.close()
    with hansard.open(tree.home) as h:
        found = h.explain("msg_01a")
    (message,) = found.messages
    assert found.figure.input_tokens == 3
    assert not message.agrees
    assert message.notes == ("none of its lines can be read now: the counts come from the index",)
    assert "hansard verify" in message.lines[0].note
    assert winners(message)["input_tokens"] == (3, None, "no readable line reports that many")


def test_an_index_that_does_not_add_up_is_told(tree: Tree) -> None:
    tree.write(main_path(session(1)), [answer(1, 1, "msg_01a", {"input_tokens": 3, "output_tokens": 4})])
    tree.sync()
    db = connect(str(tree.home / "index.db"))
    db.execute("UPDATE usage SET input = 5")
    db.close()
    with hansard.open(tree.home) as h:
        found = h.explain()
    assert found.notes[0] == "input_tokens: reports say 3, but the messages add up to 5. Run `hansard rebuild`"
    assert found.messages[0].notes == ("its lines do not add up to the ledger's counts: input 3 instead of 5",)


def test_the_shape_of_the_document(demo: Hansard) -> None:
    document = plain(demo.explain("msg_01rec"))
    assert set(document) == {
        "by", "key", "timezone", "since", "until", "figure", "rates", "messages", "shown", "rest", "pricing", "notes",
    }  # fmt: skip
    assert document["figure"]["cost_usd"] == "0.0123"
    (message,) = document["messages"]
    assert message["found_by"] == "recorded"
    assert message["lines"][0]["recorded_usd"] == "0.0123"
    assert message["classes"][0] == {
        "name": "input_tokens",
        "count": 5,
        "line": 1,
        "why": "only line",
        "remainder": 0,
        "price": "5",
        "cost_usd": None,
    }
    assert document["pricing"]["source"] == "genai-prices"
