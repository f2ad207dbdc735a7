"""Which messages a report counts: every field of the query language, alone and mixed, against a slow look at each message."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.ledger.report import Selection
from hansard.model.requests import Conditions
from hansard.query.language import QueryError
from hansard.query.language.options import make_query
from tests.ledger.conftest import END, Kept, keep
from tests.ledger.making import FORK, HAIKU, ONE, OPUS, SONNET, START, TWO, opened, said, story
from tests.ledger.slowly import Keys, Message, grouped, summed
from tests.ledger.slowly import said as told
from tests.sync.making import Tree, call, main_path

if TYPE_CHECKING:
    from collections.abc import Iterator

Fits = Callable[[Message], bool]
EDGE = datetime(2026, 4, 2, 10, 30, tzinfo=UTC)  # on a quarter of an hour


def after(moment: datetime) -> Fits:
    return lambda message: message.moment is not None and message.moment >= moment


def before(moment: datetime) -> Fits:
    return lambda message: message.moment is not None and message.moment < moment


def bare(tool: str) -> set[str]:
    names = {tool, *(tool.split("__")[1:] if tool.startswith("mcp__") else ())}
    return {"".join(sign for sign in name.lower() if sign.isalnum()) for name in names if name}


def day(first: datetime, days: int) -> Fits:
    begun, over = after(first), before(first + timedelta(days=days))
    return lambda message: begun(message) and over(message)


# What is asked of each message itself.
SINGLE: dict[str, Fits] = {
    "model:opus": lambda message: "opus" in message.owner.model,
    "model:claude-sonnet": lambda message: "claude-sonnet" in message.owner.model,
    "model:none-such": lambda _message: False,
    "branch:main": lambda message: "main" in message.owner.branch,
    "branch:feature": lambda message: "feature" in message.owner.branch.lower(),
    "is:subagent": lambda message: message.owner.agent != "",
    "tool:Bash": lambda message: "bash" in bare(message.tool),
    "tool:read": lambda message: "read" in bare(message.tool),
    "tool:Re*": lambda message: any(name.startswith("re") for name in bare(message.tool)),
    "tool:mcp*": lambda message: any(name.startswith("mcp") for name in bare(message.tool)),
    "since:2026-04-02T10:30Z": after(EDGE),
    "since:2026-04-02T10:31Z": after(EDGE + timedelta(minutes=1)),
    "before:2026-04-02T10:30Z": before(EDGE),
    "before:2026-04-02T10:31:07Z": before(EDGE + timedelta(seconds=67)),
    "after:2026-04-01": after(datetime(2026, 4, 2, tzinfo=UTC)),
    "on:2026-04-01": day(datetime(2026, 4, 1, tzinfo=UTC), 1),
    "on:2026-04": day(datetime(2026, 4, 1, tzinfo=UTC), 30),
    "2026-04": day(datetime(2026, 4, 1, tzinfo=UTC), 30),
    "2026-04-01": day(datetime(2026, 4, 1, tzinfo=UTC), 1),
    "2026-W14": day(datetime(2026, 3, 30, tzinfo=UTC), 7),
}
# What is asked of the session; which ones these are is another room's matter.
SESSIONS = """
    project:tide project:none-such version:2.1 version:1.0 is:fork is:error has:image has:diff cost:>0.5 cost:<=0.2 cost:<0
    tokens:>100000 tokens:<1000 title:the file:.py file:README session:0
""".split()
WORDS = [
    "test",
    "commit",
    '"the tests"',
]  # which belong to one text of a session, so only alone are they a matter of sessions


class Slowly:
    """Messages that answer a query, which is a word or (sign, parts)."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.known: dict[str, set[str]] = {}
        self.every = {message.key for message in kept.messages}

    def leaf(self, query: str) -> set[str]:
        if query not in self.known:
            fits = SINGLE.get(query)
            if fits is None:
                agents = self.agent(query)
                if agents is None:
                    found = {
                        session.session_id for session in self.kept.h.sessions(query, limit=None, debris=True).sessions
                    }
                    agents = {message.key for message in self.kept.messages if message.owner.session in found}
                self.known[query] = agents
            else:
                self.known[query] = {message.key for message in self.kept.messages if fits(message)}
        return self.known[query]

    def agent(self, query: str) -> set[str] | None:
        name, _, value = query.partition(":")
        if name != "agent":
            return None
        types: dict[Any, Any] = {
            (row[0], row[1]): row[2]
            for row in self.kept.h.reader.rows("SELECT session_id, agent_id, agent_type FROM agents")
        }
        return {
            message.key
            for message in self.kept.messages
            if message.owner.agent
            and (
                message.owner.agent.lower().startswith(value.lower())
                or str(types.get((message.owner.session, message.owner.agent), "")).lower() == value.lower()
            )
        }

    def __call__(self, query: Any) -> set[str]:
        if isinstance(query, str):
            return self.leaf(query)
        sign, parts = query
        found = [self(part) for part in parts]
        if sign == "-":
            return self.every - found[0]
        return set.intersection(*found) if sign == " " else set.union(*found)


def text(query: Any) -> str:
    if isinstance(query, str):
        return query
    sign, parts = query
    if sign == "-":
        return f"-({text(parts[0])})"
    return "(" + (" OR " if sign == "|" else " ").join(map(text, parts)) + ")"


@pytest.fixture(scope="module")
def slow(demo: Kept) -> Slowly:
    return Slowly(demo)


def assert_counts(kept: Kept, wanted: set[str], query: str | None, **options: Any) -> None:
    chosen = [message for message in kept.messages if message.key in wanted]
    report = kept.h.usage(query, by="total", timezone="UTC", now=END, **options)
    assert told(report.totals) == summed(chosen, kept.book)


@pytest.mark.parametrize("query", [*SINGLE, *SESSIONS, "agent:Explore", "agent:general-purpose", "agent:a"])
def test_every_field(demo: Kept, slow: Slowly, query: str) -> None:
    assert_counts(demo, slow(query), query)
    assert_counts(demo, slow(("-", [query])), f"-{query}")


@pytest.mark.parametrize("words", WORDS)
def test_words_are_searched_for_only_on_request(demo: Kept, slow: Slowly, words: str) -> None:
    assert_counts(demo, slow(words), None, match=words)
    assert_counts(demo, slow(("-", [words])), None, match=f"-{words}")
    assert_counts(demo, slow(words) & slow("model:opus"), "model:opus", match=words)
    with pytest.raises(QueryError, match="--match"):
        demo.h.usage(words)


def test_the_fields_find_something(slow: Slowly) -> None:
    """What finds nothing, or everything, proves little."""
    some = [query for query in [*SINGLE, *SESSIONS] if 0 < len(slow(query)) < len(slow.every)]
    assert len(some) > 0.7 * len(SINGLE | dict.fromkeys(SESSIONS))
    assert {"model:opus", "is:subagent", "tool:Bash", "on:2026-04", "project:tide", "cost:>0.5", "is:fork"} <= set(some)


LEAVES = st.sampled_from([*SINGLE, *SESSIONS, "agent:Explore"])
QUERIES = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(" |"), st.lists(inner, min_size=2, max_size=3))
        | st.tuples(st.just("-"), st.lists(inner, min_size=1, max_size=1))
    ),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(query=QUERIES)
def test_any_mixture(demo: Kept, slow: Slowly, query: Any) -> None:
    assert_counts(demo, slow(query), text(query))


@settings(max_examples=60, deadline=None)
@given(
    since=st.none() | st.integers(0, 70 * 24 * 60 * 60_000),
    until=st.none() | st.integers(0, 70 * 24 * 60 * 60_000),
    query=st.none() | LEAVES,
    model=st.none() | st.sampled_from(["opus", "SONNET", "haiku", "%", "_"]),
    project=st.none() | st.sampled_from(["tide", "none-such"]),
)
def test_options(
    demo: Kept,
    slow: Slowly,
    since: int | None,
    until: int | None,
    query: str | None,
    model: str | None,
    project: str | None,
) -> None:
    """Everything given must hold; times to the millisecond."""
    wanted = set(slow.every)
    first = END - timedelta(days=65)
    low = None if since is None else first + timedelta(milliseconds=since)
    high = None if until is None else first + timedelta(milliseconds=until)
    for message in demo.messages:
        fits = (
            (low is None or after(low)(message))
            and (high is None or before(high)(message))
            and (model is None or model.lower() in message.owner.model.lower())
        )
        if not fits:
            wanted.discard(message.key)
    if query is not None:
        wanted &= slow(query)
    if project is not None:
        wanted &= slow(f"project:{project}")
    assert_counts(demo, wanted, query, since=low, until=high, model=model, project=project)


def test_bounds_to_the_millisecond(tree: Tree) -> None:
    moments = [EDGE + timedelta(milliseconds=number) for number in (-1, 0, 1, 2)]
    tree.write(main_path(ONE), [said(ONE, number, moment) for number, moment in enumerate(moments)])
    with opened(tree) as h:
        for number, moment in enumerate(moments):
            assert h.usage(by="total", since=moment).totals.api_messages == 4 - number
            assert h.usage(by="total", until=moment).totals.api_messages == number
            zoned = moment.astimezone(datetime.now().astimezone().tzinfo)
            assert h.usage(by="total", since=zoned, until=moments[-1]).totals.api_messages == 3 - number
        assert h.usage(by="total", since=moments[2], until=moments[1]).totals.api_messages == 0


def test_sums_are_used_where_they_suffice(demo: Kept) -> None:
    """Bounds on a quarter of an hour need no single messages; others do."""

    def source(query: str | None = None, **more: Any) -> str:
        return Selection(demo.h.reader, make_query(query, Conditions(**more), now=END, zone=UTC)).source

    assert (
        source() == source(since=EDGE, until=EDGE + timedelta(hours=3), model="opus", query="is:subagent") == "spending"
    )
    assert source(since=EDGE + timedelta(milliseconds=1)) == "charges"
    assert source(query="tool:Bash") == source(query="before:2026-04-02T10:31Z") == "charges"


def test_a_query_finds_the_same_by_every_dimension(demo: Kept, slow: Slowly) -> None:
    keys = Keys(demo.h, demo.messages, UTC)
    for query in ("tool:Bash", "is:subagent model:opus", "-project:tide", "on:2026-04-01 OR agent:Explore"):
        chosen = demo.h.usage(query, by="total", timezone="UTC", now=END).totals
        for names in (["session", "tool"], ["hour", "model"], ["block", "agent"]):
            report = demo.h.usage(query, by=names, timezone="UTC", now=END)
            assert report.totals.cost_usd == chosen.cost_usd
            if query == "tool:Bash":
                wanted = [message for message in demo.messages if message.key in slow(query)]

                def key_of(message: Message, names: list[str] = names) -> tuple[str | None, ...]:
                    return tuple(keys(name, message) for name in names)

                expected = grouped(wanted, key_of, demo.book)
                assert {tuple(row.key.values()): told(row) for row in report.rows if row.api_messages} == expected


@pytest.mark.parametrize("query", ["on:yesterdayish", "cost:much", "is:purple", "tokens:>x"])
def test_a_query_that_makes_no_sense(demo: Kept, query: str) -> None:
    with pytest.raises(QueryError):
        demo.h.usage(query, by="total")


@pytest.fixture(scope="module")
def told_twice(memory: Path) -> Iterator[Kept]:
    tree = Tree(memory / "filters" / "claude", memory / "filters" / "store")
    for path, lines in story().items():
        tree.write(path, lines)
    kept = keep(tree.config, tree.home)
    yield kept
    kept.h.close()


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        (f"session:{ONE}", 4),
        (f"session:{FORK}", 1),  # what it copied belongs to the other
        (f"session:{TWO}", 3),
        ("model:unheard", 1),
        (f"model:{SONNET}", 1),
        ("branch:fix", 2),
        ("agent:a1", 1),
        ("is:subagent", 1),
        ("tool:Grep", 1),
        ("tool:Bash", 0),  # called second
        ("cost:<0.001", 1),
        ("cost:>0", 8),
        ("-cost:>0", 1),
        ("since:2026-03-01", 8),
        ("-since:2026-03-01", 1),  # the one without a time
        (f"since:{START:%Y-%m-%dT%H:%M}Z -is:subagent model:{OPUS}", 5),
    ],
)
def test_the_story(told_twice: Kept, query: str, messages: int) -> None:
    assert told_twice.h.usage(query, by="total", timezone="UTC").totals.api_messages == messages


def test_tools_of_servers(tree: Tree) -> None:
    names = ["mcp__git__log", "Bash", "BashOutput", "web_search"]
    lines = [
        said(ONE, number, START, content=[call(f"t{number}", name)], model=HAIKU) for number, name in enumerate(names)
    ]
    tree.write(main_path(ONE), lines)
    with opened(tree) as h:
        for query, count in {
            "tool:git": 1,
            "tool:log": 1,
            "tool:mcp__git__log": 1,
            "tool:Bash": 1,
            "tool:Bash*": 2,
            "tool:WebSearch": 1,
        }.items():
            assert h.usage(query, by="total").totals.api_messages == count, query
