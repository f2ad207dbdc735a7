"""Lines beyond a limit: kept, named by an issue, and no harm to their neighbours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.clients import lines as limits
from hansard.clients.claude_code import decode as decoding
from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.history import HistoryFold
from hansard.clients.lines import (
    LONG_LINE,
    MAX_PIECES,
    MAX_VALUES,
    Issue,
    Lines,
    LongLine,
    ParsedLine,
    fit,
    is_ordinary,
    length_of,
    unfinished,
)
from hansard.clients.objects import Objects
from hansard.clients.state import dump
from tests.clients.claude_code.making import (
    assistant,
    fold,
    folding,
    line,
    text,
    tool_result,
    tool_use,
    uncovered,
    user,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GOOD, ALSO_GOOD = line(user("before")), line(assistant(text("after"), uuid="u9"))
UNITS = [
    rb"\n",
    rb"\\",
    rb"\"",
    rb"\u00e9",
    rb"\ud83d\ude00",
    "語".encode(),
    "😀".encode(),
    "é".encode(),
    b"abc",
    rb"\/",
]


def own(damaged: bytes) -> list[ParsedLine | Issue]:
    """What is made of a line, after making sure that its neighbours are whole and no byte of it is forgotten."""
    lines = Lines([GOOD + b"\n" + damaged + b"\n" + ALSO_GOOD + b"\n"], 0)
    found = [item for start, data in lines for item in items(data, start)]
    start = len(GOOD) + 1
    assert [item.body.message.content for item in (found[0],) if isinstance(item, ParsedLine)] == ["before"]
    assert found[-1] == next(items(ALSO_GOOD, start + len(damaged) + 1))
    mine = found[1:-1]
    assert uncovered(damaged, mine, start) == b""
    return [item._replace(offset=item.offset - start) for item in mine]


def content(raw: bytes) -> bytes:
    return line(user("?")).replace(b'"?"', raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"[" + b"{}," * 400_000 + b"{}]",
        b"[" + b'"ab",' * 400_000 + b'"ab"]',
        b"[" + b"[[[]]]," * 400_000 + b"1]",
        b'{"a":1' + b',"a":1' * 400_000 + b"}",
        b'[{"type":"tool_use","id":"t","name":"x","input":[' + b"1," * 600_000 + b"1]}]",
    ],
)
def test_too_many_values(raw: bytes) -> None:
    damaged = content(raw)
    (issue,) = own(damaged)
    assert isinstance(issue, Issue)
    assert (issue.offset, issue.length, issue.reason) == (0, len(damaged), "too_many_values")


def test_commas_and_brackets_in_texts_are_no_values() -> None:
    code = "[{(,)}]," * 200_000
    damaged = line(user(code))
    assert not is_ordinary(damaged)
    assert fit(damaged) == (damaged, "", "")
    (record,) = own(damaged)
    assert isinstance(record, ParsedLine)
    assert record.body.message.content == code


def test_ordinary_lines_are_not_looked_into() -> None:
    assert is_ordinary(b"," * (1 << 20))
    assert not is_ordinary(b"," * ((1 << 20) + 1))
    assert is_ordinary(b"x" * LONG_LINE)
    assert not is_ordinary(b"x" * (LONG_LINE + 1))


def test_long_texts_are_cut() -> None:
    damaged = line(user([text("a" * LONG_LINE), text("short"), text("é" * LONG_LINE)], cwd="/here"))
    issue, record = own(damaged)
    assert isinstance(issue, Issue)
    assert isinstance(record, ParsedLine)
    assert (issue.reason, issue.length, record.length) == ("long_text", len(damaged), len(damaged))
    assert record.body.cwd == "/here"
    first, short, last = (msgspec.json.decode(block.text) for block in record.body.message.content)
    assert short == "short"
    for cut, letter, width in ((first, "a", 1), (last, "é", 2)):
        kept, _, more = cut.partition(" [... ")
        assert set(kept) == {letter}
        assert int(more.removesuffix(" more bytes]")) + len(kept) * width == LONG_LINE * width
    assert LONG_LINE // 2 - 1000 < len(first) < LONG_LINE // 2


def test_a_long_line_with_nothing_to_cut_is_not_read() -> None:
    damaged = b'{"type":"user","x":' + b"9" * LONG_LINE + b"}"
    (issue,) = own(damaged)
    assert isinstance(issue, Issue)
    assert issue.reason == "too_long"


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(UNITS), min_size=1, max_size=4), st.integers(0, 30_000)),
        min_size=1,
        max_size=6,
    )
)
def test_a_cut_text_is_the_beginning_of_the_whole_one(strings: list[tuple[list[bytes], int]]) -> None:
    whole = b"[" + b",".join(b'"' + b"".join(unit) * (size // len(unit)) + b'"' for unit, size in strings) + b"]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "LONG_LINE", 60_000)
        cut, reason, _ = (
            limits._cut(whole, limits._long_strings(whole) or []) if len(whole) > 60_000 else (whole, "", "")
        )
    assert reason in ("", "long_text")
    assert len(cut) <= max(60_000, len(whole) if not reason else 0)
    for before, after in zip(json.loads(whole), json.loads(cut), strict=True):
        assert before == after or before.startswith(after.rpartition(" [... ")[0])


def test_a_torn_long_line() -> None:
    damaged = line(user("a" * LONG_LINE * 2))[:-20]
    assert own(damaged) == [Issue(0, len(damaged), "not_json", "")]
    torn, record = own(damaged + GOOD)
    assert (torn.offset, torn.length, getattr(torn, "reason", "")) == (0, len(damaged), "torn")
    assert isinstance(record, ParsedLine)
    assert record.body.message.content == "before"


def test_long_records_that_are_glued_together() -> None:
    long = line(user("a" * (LONG_LINE + 10)))
    found = own(long + long)
    assert [getattr(item, "reason", "record") for item in found] == [
        "glued",
        "long_text",
        "record",
        "long_text",
        "record",
    ]
    assert [item.offset for item in found] == [0, 0, 0, len(long), len(long)]


def test_as_many_glued_records_as_are_read() -> None:
    tiny = b'{"type":"mode","sessionId":"s"}'
    found = own(tiny * (MAX_PIECES + 5))
    *whole, rest = found
    assert len(whole) == MAX_PIECES
    assert all(isinstance(item, ParsedLine) for item in whole)
    assert isinstance(rest, Issue)
    assert (rest.offset, rest.length, rest.reason) == (MAX_PIECES * len(tiny), 5 * len(tiny), "torn")
    assert rest.detail.startswith(f"beside {MAX_PIECES} whole records; not looked at from byte ")


def test_as_many_bytes_of_glued_records_as_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_SALVAGED", 3 * len(GOOD))
    found = own(GOOD * 5)
    assert [getattr(item, "reason", "record") for item in found] == ["record", "record", "record", "torn"]


@pytest.mark.parametrize("unit", [b'{"a":', b'{"a":[', b'{"a":{"b":1},"c":'])
def test_salvage_stops(unit: bytes) -> None:
    damaged = unit * 300_000
    objects = Objects(damaged)
    list(objects)
    assert objects.steps <= limits.MAX_STEPS + 2
    (issue,) = own(damaged)
    assert isinstance(issue, Issue)
    assert issue.reason == "too_deep"


# -- lines that are never put together


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hansard.clients.lines.MAX_LINE", 1000)


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize("piece", [7, 100, 999, 1000, 1001, 5000])
def test_a_line_that_is_too_long_is_not_put_together(piece: int) -> None:
    parts = [GOOD, b"y" * 1000, b"x" * 1001, b"", b"z" * 4000, ALSO_GOOD, b"w" * 1001]
    data = b"\n".join(parts)
    lines = Lines((data[at : at + piece] for at in range(0, len(data), piece)), 50)
    found = list(lines)
    assert [(length_of(each), bytes(each)) for _, each in found] == [
        (len(part), b"" if len(part) > 1000 else part) for part in parts[:-1] if part
    ]
    place = 50
    for part in parts[:-1]:
        if part:
            assert found.pop(0)[0] == place
        place += len(part) + 1
    assert isinstance(lines.rest, LongLine)
    assert (lines.offset, lines.end) == (place, place + 1001)
    assert unfinished(lines.rest, lines.offset, items) == [
        Issue(place, 1001, "unfinished", "the last line has no end yet")
    ]


@pytest.mark.usefixtures("short_lines")
def test_what_is_told_of_a_line_that_is_too_long() -> None:
    long = line(user("x" * 1000))

    def pieces() -> Iterator[bytes]:
        yield GOOD + b"\n" + long[:200]
        yield long[200:] + b"\n" + ALSO_GOOD + b"\n"

    found = [item for start, data in Lines(pieces(), 0) for item in items(data, start)]
    assert [getattr(item, "reason", "record") for item in found] == ["record", "too_long", "record"]
    assert (found[1].offset, found[1].length) == (len(GOOD) + 1, len(long))
    folded = folding()
    for item in found:
        folded.feed(item)
    assert folded.state.issues == 1
    assert list(HistoryFold.items(LongLine.of(2000), 5)) == [
        Issue(5, 2000, "too_long", "2,000 bytes: at most 1,000 are read")
    ]


# -- history.jsonl


def entries(data: bytes) -> list[ParsedLine | Issue]:
    return [item for start, each in Lines([data + b"\n"], 0) for item in HistoryFold.items(each, start)]


def test_a_prompt_history_has_the_same_limits() -> None:
    good = b'{"display":"hello","timestamp":1}'
    for damaged, reason in (
        (b"[" * 1000 + b"]" * 1000, "too_deep"),
        (b'{"display":"a","pastedContents":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
        (b"[" * 100_000, "too_deep"),
        (b'{"display":"a","x":[' + b"1," * 600_000 + b"1]}", "too_many_values"),
    ):
        before, issue, after = entries(good + b"\n" + damaged + b"\n" + good)
        assert isinstance(issue, Issue)
        assert (issue.offset, issue.length, issue.reason) == (len(good) + 1, len(damaged), reason)
        assert isinstance(before, ParsedLine)
        assert isinstance(after, ParsedLine)
        assert (before.body.display, after.body.display) == ("hello", "hello")
    issue, long = entries(line({"display": "a" * (LONG_LINE + 1)}))
    assert isinstance(issue, Issue)
    assert isinstance(long, ParsedLine)
    assert issue.reason == "long_text"
    assert long.body.display.startswith("aaa")


# -- what is remembered between lines


LONG = "n" * 100_000
STATES: dict[str, Callable[[int], Any]] = {
    "branches": lambda n: user("x", gitBranch=f"{n}{LONG}", version=f"{n}{LONG}"),
    "sessions": lambda n: user("x", sessionId=f"{n}{LONG}"),
    "messages": lambda n: assistant(text("x"), model=f"{n}{LONG}", id=f"{n}{LONG}"),
    "links": lambda n: {"type": "pr-link", "prUrl": f"{n}{LONG}"},
    "queue": lambda n: {"type": "queue-operation", "operation": "enqueue", "content": f"{n}{LONG}"},
    "progress": lambda n: user("x", uuid=f"{n}{LONG}", parentUuid=LONG, type="progress"),
    "paths": lambda n: assistant(tool_use("Edit", {"file_path": f"/{n}{LONG}"}, f"t{n}"), id="m"),
    "calls": lambda n: assistant(tool_use("Edit", {"file_path": "/a"}, f"t{n}{LONG}"), id="m"),
    "early results": lambda n: user(
        [tool_result("x", f"t{n}{LONG}")],
        toolUseResult={"filePath": f"/{n}{LONG}", "agentId": LONG, "type": LONG, "persistedOutputPath": LONG},
    ),
    "kinds": lambda n: {"type": f"{n}{LONG}", LONG: 1},
}


@pytest.mark.parametrize("name", sorted(STATES))
def test_names_of_any_length_do_not_make_the_state_grow(name: str) -> None:
    folded = fold(*(STATES[name](number) for number in range(40)))
    assert folded.state.records == 40
    assert len(dump(folded.state)) < 1_500_000
    assert sum(map(len, folded.messages)) < 40 * 300


def test_the_last_of_a_long_queue_is_remembered() -> None:
    long = "q" * 300_000
    steps = [{"type": "queue-operation", "operation": "enqueue", "content": f"{number}{long}"} for number in range(9)]
    folded = fold(user("x", version="2.0.0"), *steps, {"type": "queue-operation", "operation": "remove"})
    assert [row[3][:1] for row in folded.rows.prompts] == ["x", "6"]


def test_many_values_stay_far_from_the_limit() -> None:
    patch = [{"lines": [f"+line {number}" for number in range(500)], "oldStart": 1} for _ in range(100)]
    damaged = line(user("x", toolUseResult={"structuredPatch": patch, "content": "y" * 600_000}))
    assert is_ordinary(damaged)
    assert damaged.count(b",") < MAX_VALUES
