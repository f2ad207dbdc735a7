"""The rules of other tools against what the tools themselves said of the same lines, and their output as they write it.

Measured with ccusage 20.0.24 (`daily --json --offline`), agentsview 0.46.1 (`usage daily --all --json --offline`) and the parser
of tokscale 1.4.3, all on the files that `CASES` makes, each case on a day of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from hansard.errors import UsageError
from hansard.ledger.reconcile.line_store import UsageLines
from hansard.ledger.reconcile.peer_rules import AGENTSVIEW, CCUSAGE
from hansard.ledger.reconcile.peers import read
from hansard.ledger.reconcile.prices import LineRates
from hansard.ledger.reconcile.rules import Count
from hansard.model.calendar import Zone
from hansard.model.reconcile import Counted, PeerCheck
from tests.ledger.making import ONE, OPUS, opened, said
from tests.ledger.test_reconcile import causes, reconciled, told
from tests.sync.making import FOLDER, Line, Tree, agent_path, main_path, session, user

MODEL = "claude-opus-4-6"
Files = dict[str, list[Line]]
Figures = tuple[int, int, int, int, str]  # input, output, cache read, cache written, dollars
NOTHING: Figures = (0, 0, 0, 0, "0")


class Day:
    """A day with sessions of its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.one, self.two = session(100 + 2 * number), session(101 + 2 * number)
        self.prompt = user(self.one, f"u{number}", "hello there")

    def line(
        self,
        output: int,
        *,
        given: int = 1,
        identity: str | None = "",
        request: str | None = "",
        second: int = 0,
        session_id: str | None = None,
        time: str | None = None,
        **more: Any,
    ) -> Line:
        name = f"msg_01{self.number}" if identity == "" else identity
        stamp = time or f"2026-05-{self.number:02}T10:00:{second:02}.000Z"
        tokens = more.pop("tokens", (given, output))
        line = said(
            session_id or self.one,
            self.number,
            stamp,
            tokens,
            model=more.pop("model", MODEL),
            identity=name or "x",
            **more,
        )
        if "usage" not in more and len(tokens) == 2:
            del line["message"]["usage"]["cache_creation"]
        if name is None:
            del line["message"]["id"]
        if request is None:
            del line["requestId"]
        elif request:
            line["requestId"] = request
        line["uuid"] = f"{self.number}-{output}-{second}-{session_id}"
        return line

    def main(self, *lines: Line) -> Files:
        return {main_path(self.one): [self.prompt, *lines]}


def both(day: Day, one: Line, two: Line) -> Files:
    return {main_path(day.one): [day.prompt, one], main_path(day.two): [user(day.two, f"v{day.number}", "hi"), two]}


def aside(day: Day, main: list[Line], *lines: Line) -> Files:
    return {main_path(day.one): [day.prompt, *main], agent_path(day.one, f"a{day.number}"): list(lines)}


def same_uuid(day: Day) -> Files:
    one, two = day.line(7, request=None), day.line(7, request=None, session_id=day.two)
    two["uuid"] = one["uuid"]
    return both(day, one, two)


SPLIT = {"cache_creation_input_tokens": 1000}
SEARCH = {"server_tool_use": {"web_search_requests": 3}}
# what it is: (the lines, ccusage, agentsview)
CASES: dict[str, tuple[Callable[[Day], Files], Figures, Figures]] = {
    "lines that grow": (
        lambda d: d.main(d.line(1), d.line(5), d.line(5)),
        (1, 5, 0, 0, "0.00013"),
        (1, 5, 0, 0, "0.00013"),
    ),
    "a copy in another session": (
        lambda d: both(d, d.line(7), d.line(7, session_id=d.two)),
        (1, 7, 0, 0, "0.00018"),
        (1, 7, 0, 0, "0.00018"),
    ),
    "no request, at two times": (
        lambda d: d.main(d.line(3, request=None), d.line(4, request=None, second=1)),
        (2, 7, 0, 0, "0.000185"),
        (1, 4, 0, 0, "0.000105"),
    ),
    "no request, the same line in another session": (same_uuid, (2, 14, 0, 0, "0.00036"), (1, 7, 0, 0, "0.00018")),
    "no request, another line in another session": (
        lambda d: both(d, d.line(7, request=None), d.line(7, request=None, session_id=d.two)),
        (2, 14, 0, 0, "0.00036"),
        (2, 14, 0, 0, "0.00036"),
    ),
    "a copy that lost its request": (
        lambda d: both(d, d.line(7), d.line(7, request=None, session_id=d.two)),
        (2, 14, 0, 0, "0.00036"),
        (2, 14, 0, 0, "0.00036"),
    ),
    "a subagent that repeats an answer under another request": (
        lambda d: aside(d, [d.line(3, request="r1")], d.line(30, request="r2", second=9, isSidechain=True)),
        (1, 3, 0, 0, "0.00008"),
        (2, 33, 0, 0, "0.000835"),
    ),
    "a subagent that repeats an answer under the same request": (
        lambda d: aside(d, [d.line(3)], d.line(30, isSidechain=True)),
        (1, 3, 0, 0, "0.00008"),
        (1, 30, 0, 0, "0.000755"),
    ),
    "cache writes of which the lifetimes tell a part": (
        lambda d: d.main(d.line(0, tokens=(1, 0, 0, 100, 200), usage=SPLIT)),
        (1, 0, 0, 300, "0.00263"),
        (1, 0, 0, 1000, "0.007005"),
    ),
    "a gateway's id, used twice": (
        lambda d: d.main(
            d.line(3, identity="gw-1", request=None), d.prompt, d.line(5, identity="gw-1", request=None, second=5)
        ),
        (2, 8, 0, 0, "0.00021"),
        (2, 8, 0, 0, "0.00021"),
    ),
    "a gateway's id in two sessions": (
        lambda d: both(
            d, d.line(3, identity="gw-2", request=None), d.line(5, identity="gw-2", request=None, session_id=d.two)
        ),
        (2, 8, 0, 0, "0.00021"),
        (2, 8, 0, 0, "0.00021"),
    ),
    "the client's own words": (lambda d: d.main(d.line(9, model="<synthetic>")), (1, 9, 0, 0, "0"), NOTHING),
    "only a progress record": (
        lambda d: d.main(told(d.line(9, isSidechain=True), d.one)),
        (1, 9, 0, 0, "0.00023"),
        NOTHING,
    ),
    "a progress record and the answer": (
        lambda d: aside(d, [told(d.line(9, isSidechain=True), d.one)], d.line(11, isSidechain=True)),
        (1, 11, 0, 0, "0.00028"),
        (1, 11, 0, 0, "0.00028"),
    ),
    "a subagent's file beside the sessions": (
        lambda d: {**d.main(), f"{FOLDER}/agent-{d.number}.jsonl": [d.line(9, isSidechain=True)]},
        (1, 9, 0, 0, "0.00023"),
        NOTHING,
    ),
    "a subagent's file below its session": (
        lambda d: aside(d, [], d.line(9, isSidechain=True)),
        (1, 9, 0, 0, "0.00023"),
        (1, 9, 0, 0, "0.00023"),
    ),
    "no id": (
        lambda d: d.main(d.line(4, identity=None, request=None), d.line(4, identity=None, request=None, second=1)),
        (2, 8, 0, 0, "0.00021"),
        (2, 8, 0, 0, "0.00021"),
    ),
    "each line has a maximum": (
        lambda d: d.main(d.line(1, given=10), d.line(9, given=3)),
        (3, 9, 0, 0, "0.00024"),
        (3, 9, 0, 0, "0.00024"),
    ),
    "web searches": (lambda d: d.main(d.line(0, given=0, usage=SEARCH)), NOTHING, (0, 0, 0, 0, "0.03")),
    "a cache write for an hour": (
        lambda d: d.main(d.line(0, tokens=(0, 0, 0, 0, 1_000_000), model="claude-opus-4-5-20251101")),
        (0, 0, 0, 1_000_000, "10"),
        (0, 0, 0, 1_000_000, "10"),
    ),
    "an unknown model": (
        lambda d: d.main(d.line(9, model="claude-unknown-9")),
        (1, 9, 0, 0, "0"),
        (1, 9, 0, 0, "0"),
    ),
    "a time in microseconds": (
        lambda d: d.main(d.line(9, time=f"2026-05-{d.number:02}T10:00:00.123456Z")),
        NOTHING,
        (1, 9, 0, 0, "0.00023"),
    ),
    "a version that is none": (lambda d: d.main(d.line(9, version="dev")), NOTHING, (1, 9, 0, 0, "0.00023")),
    "a cost that the client wrote": (
        lambda d: d.main(d.line(9, costUSD=0.5)),
        (1, 9, 0, 0, "0.5"),
        (1, 9, 0, 0, "0.00023"),
    ),
    "a long prompt": (
        lambda d: d.main(d.line(0, tokens=(0, 0, 300_000), model="claude-sonnet-4-5-20250929")),
        (0, 0, 300_000, 0, "0.12"),
        (0, 0, 300_000, 0, "0.18"),
    ),
    "a long prompt that costs no more": (
        lambda d: d.main(d.line(0, tokens=(0, 0, 300_000))),
        (0, 0, 300_000, 0, "0.15"),
        (0, 0, 300_000, 0, "0.15"),
    ),
    "lines that are not next to each other": (
        lambda d: d.main(d.line(4), d.prompt, d.line(6)),
        (1, 6, 0, 0, "0.000155"),
        (1, 6, 0, 0, "0.000155"),
    ),
    "no request, not next to each other": (
        lambda d: d.main(d.line(4, request=None), d.prompt, d.line(6, request=None)),
        (1, 6, 0, 0, "0.000155"),
        (2, 10, 0, 0, "0.00026"),
    ),
}


@contextmanager
def counting(tree: Tree) -> Iterator[Count]:
    with opened(tree) as h, UsageLines(h.reader, h.record, Zone(UTC), "claude-code") as lines:
        yield Count(lines, LineRates(h.reader), datetime(2026, 11, 1, tzinfo=UTC))


def shown(counted: Counted) -> Figures:
    return (
        counted.input_tokens,
        counted.output_tokens,
        counted.cache_read_tokens,
        counted.cache_write_tokens,
        format((counted.cost_usd or Decimal(0)).normalize(), "f"),
    )


def test_other_tools_say_what_their_rules_say(tree: Tree) -> None:
    for number, (make, _, _) in enumerate(CASES.values(), 1):
        for path, lines in make(Day(number)).items():
            tree.write(path, lines)
    with counting(tree) as count:
        for tool, place in ((CCUSAGE, 1), (AGENTSVIEW, 2)):
            said_here = {}
            for number, name in enumerate(CASES, 1):
                day = f"2026-05-{number:02}"
                said_here[name] = shown(count.total(replace(tool.last(), days=(day, day))))
            assert said_here == {name: case[place] for name, case in CASES.items()}, tool.title


# -- their output


def cc(rows: dict[str, Any], totals: Figures, name: str = "daily") -> bytes:
    given, output, cache_read, written, cost = totals
    sums = {
        "inputTokens": given,
        "outputTokens": output,
        "cacheReadTokens": cache_read,
        "cacheCreationTokens": written,
        "totalTokens": given + output + cache_read + written,
        "totalCost": float(cost),
    }
    breakdown = [{**sums, "modelName": model, "cost": money} for model, money in rows.items()]
    return json.dumps({name: [{"period": "2026-03-01", "modelBreakdowns": breakdown}], "totals": sums}).encode()


def av(totals: Figures) -> bytes:
    given, output, cache_read, written, cost = totals
    sums = {"inputTokens": given, "outputTokens": output, "cacheReadTokens": cache_read, "cacheCreationTokens": written}
    money = {"microdollars": int(Decimal(cost) * 1_000_000)}
    return json.dumps(
        {
            "schema_version": 6,
            "daily": [{"date": "2026-03-01", **sums, "modelBreakdowns": [{**sums, "modelName": OPUS, "cost": money}]}],
            "totals": {**sums, "totalCost": money, "cacheSavings": {"microdollars": 7}},
            "sessionCounts": {"total": 1, "byAgent": {"claude": 1, "codex": 2}},
        }
    ).encode()


def tk(*entries: dict[str, Any]) -> bytes:
    return json.dumps({"entries": entries, "totalCost": sum(entry["cost"] for entry in entries)}).encode()


def entry(given: int, output: int, cost: float, *, model: str = OPUS, source: str = "claude") -> dict[str, Any]:
    counts = {"input": given, "output": output, "cacheRead": 0, "cacheWrite": 0, "reasoning": 0}
    return {"source": source, "model": model, "provider": "anthropic", **counts, "messageCount": 1, "cost": cost}


@pytest.fixture
def answer(tree: Tree) -> Tree:
    """One answer on two lines: 10 and 1, then 10 and 4."""
    tree.write(
        main_path(ONE),
        [said(ONE, 1, "2026-03-01T12:00:00.000Z", (10, 1)), said(ONE, 1, "2026-03-01T12:00:01.000Z", (10, 4))],
    )
    return tree


def peer_of(tree: Tree, data: bytes) -> PeerCheck:
    peer = reconciled(tree, data).peer
    assert peer is not None
    return peer


def test_an_output_that_the_rule_explains_to_the_last_digit(answer: Tree) -> None:
    peer = peer_of(answer, cc({OPUS: 0.00045}, (10, 4, 0, 0, "0.00045")))
    assert (peer.tool, peer.report, peer.simulated.title) == ("ccusage", "daily", "ccusage 20 (daily)")
    assert not peer.unexplained
    assert (peer.simulated.steps, peer.models, peer.notes) == ((), (), ())


def test_what_no_rule_explains_is_told(answer: Tree) -> None:
    peer = peer_of(answer, cc({OPUS: 0.001}, (12, 4, 0, 0, "0.001")))
    assert shown(peer.unexplained) == (2, 0, 0, 0, "0.00055")
    assert [(item.model, shown(item.unexplained)) for item in peer.models] == [(OPUS, (2, 0, 0, 0, "0.00055"))]


def test_a_model_that_the_price_list_lacks(answer: Tree) -> None:
    peer = peer_of(answer, cc({OPUS: 0}, (10, 4, 0, 0, "0")))
    assert causes(peer.simulated) == {"missing_model": (0, 0, 0, 0, 0, "-0.00045")}
    assert not peer.unexplained


def test_the_same_tokens_at_another_price(answer: Tree) -> None:
    peer = peer_of(answer, cc({OPUS: 0.0009}, (10, 4, 0, 0, "0.0009")))
    assert causes(peer.simulated) == {"other_price": (0, 0, 0, 0, 0, "0.00045")}
    assert not peer.unexplained


def test_an_older_version_counts_by_the_rule_of_today(answer: Tree) -> None:
    """Version 1 takes the first line of an answer: what that makes less is unexplained."""
    peer = peer_of(answer, tk(entry(10, 1, 0.000225), entry(5, 5, 1.0, source="codex")))
    assert (peer.tool, peer.report, peer.simulated.title) == ("tokscale", "models", "tokscale 2 and later")
    assert causes(peer.simulated) == {}
    assert shown(peer.unexplained) == (0, -3, 0, 0, "-0.000225")
    assert peer.notes == ("left out, because they are other agents: codex",)


def test_the_output_of_agentsview(answer: Tree) -> None:
    peer = peer_of(answer, av((10, 4, 0, 0, "0.00045")))
    assert (peer.tool, peer.report) == ("agentsview", "daily")
    assert not peer.unexplained
    assert peer.notes == ("it also counts other agents: codex",)


def test_days_that_are_not_in_the_report(answer: Tree) -> None:
    answer.append(main_path(ONE), [said(ONE, 2, "2026-04-01T12:00:00.000Z", (7, 7))])
    peer = peer_of(answer, cc({OPUS: 0.00045}, (10, 4, 0, 0, "0.00045")))
    assert causes(peer.simulated) == {"other_days": (-1, -7, -7, 0, 0, "-0.00063")}
    assert not peer.unexplained


def test_session_monthly_and_graph_reports() -> None:
    assert read(cc({}, (1, 2, 3, 4, "0.5"), "sessions")).name == "session"
    assert read(cc({}, (1, 2, 3, 4, "0.5"), "session")).name == "session"
    assert read(cc({}, (1, 2, 3, 4, "0.5"), "weekly")).days is None
    month = {key: value for key, value in entry(1, 2, 0.5).items() if key not in ("source", "model")}
    assert read(tk({**month, "month": "2026-03"})).name == "monthly"
    part = {
        "source": "claude",
        "modelId": OPUS,
        "tokens": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "reasoning": 0},
        "cost": 0.5,
    }
    graph = read(json.dumps({"contributions": [{"date": "2026-03-01", "sources": [part, part]}]}).encode())
    assert (graph.name, shown(graph.stated), graph.days) == ("graph", (2, 4, 6, 8, "1"), ("2026-03-01", "2026-03-01"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not JSON",
        b"[]",
        b"7",
        b"{}",
        b'{"daily": []}',
        b'{"daily": [], "totals": {"totalTokens": "many"}}',
        b'{"daily": [7], "totals": {"totalTokens": 1}}',
        b'{"daily": [], "totals": {"totalTokens": 1, "inputTokens": 1.5}}',
        b'{"daily": [], "totals": {"totalTokens": 1, "totalCost": "NaN"}}',
        b'{"entries": [3], "totalCost": 1}',
        b'{"contributions": [{"sources": [{}]}]}',
        b"[" * 100_000,
        b'{"totals": {"cacheSavings": 1}, "daily": [], "x": \xff}',
    ],
)
def test_what_is_no_report_is_a_usage_error(data: bytes) -> None:
    with pytest.raises(UsageError, match="ccusage"):
        read(data)
