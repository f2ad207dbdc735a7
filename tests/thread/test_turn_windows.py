"""Windows of a thread put together are the whole, and a window costs the same however long the thread is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import NotFound
from hansard.model.display import Turn
from hansard.model.sessions import Session
from hansard.render.format import turn_facts, turn_time
from hansard.thread.thread import Thread
from tests.recordings import History
from tests.sync import making
from tests.sync.making import Line, assistant, call, entry, main_path, raw, result, session, user

A = session(1)


def open_tree(h: Hansard, about: Session, agent: str | None = None) -> Thread:
    return h.read(about, agent, pictures=False)


def check(h: Hansard, about: Session, agent: str | None, *ways: list[int]) -> list[Turn]:
    """Compare windows that begin at these turns with the whole, in each of the ways; all are read by one tree."""
    thread = open_tree(h, about, agent)
    whole = list(thread.turns())
    not_shown = thread.not_shown
    starts = [0, *(start.offset for start in thread.starts[1:])]
    for cuts in ways:
        found: list[Turn] = []
        counted: dict[str, int] = {}
        numbers = sorted({0, *(cut % len(starts) for cut in cuts)})
        for number, end in zip(numbers, [*numbers[1:], None], strict=True):
            found += thread.turns(starts[number], number + 1, None if end is None else starts[end])
            for kind, count in thread.not_shown.items():
                counted[kind] = counted.get(kind, 0) + count
        assert found == whole, (about.session_id, agent, numbers)
        assert dict(sorted(counted.items())) == not_shown
    return whole


def check_all(h: Hansard, dice: random.Random) -> None:
    for about in h.sessions(limit=None, debris=True).sessions:
        for agent in (None, *(agent.agent_id for agent in h.agents(about.session_id))):
            try:
                turns = max(1, len(open_tree(h, about, agent).starts))
                check(h, about, agent, [dice.randrange(turns + 1) for _ in range(turns // 3 + 1)], [*range(turns)])
            except NotFound:  # only subagents are left of it
                continue


def test_the_hard_session(hard: tuple[Hansard, str]) -> None:
    check_all(hard[0], random.Random(7))


def test_real_sessions(histories: dict[str, History]) -> None:
    with hansard.open(histories["real clients"].store) as h:
        check_all(h, random.Random(7))


@pytest.fixture
def place(tmp_path: Path) -> making.Tree:
    return making.Tree(tmp_path / "claude", tmp_path / "store")


def read(place: making.Tree, content: bytes | list[Line]) -> list[Turn]:
    """All turns of a session with these lines, when every way to cut it gives the same."""
    place.write(main_path(A), content)
    place.sync()
    with hansard.open(place.home) as h:
        about = h.session(A)
        count = len(open_tree(h, about).starts)
        ways = [[number + 1 for number in range(count - 1) if cuts >> number & 1] for cuts in range(1 << (count - 1))]
        return check(h, about, None, *ways)


def facts(turns: list[Turn]) -> list[list[tuple[str, ...]]]:
    return [[(item.kind, *item.facts.as_plain()) for item in turn.items] for turn in turns]


def test_a_result_behind_the_end_is_with_its_call(place: making.Tree) -> None:
    queued = {"type": "queued_command", "prompt": "And hurry."}
    answer = {"type": "tool_result", "tool_use_id": "t2", "content": "two"}
    lines = [
        user(A, "p", "Begin."),
        assistant(A, "a", "msg_01", [call("t1", "Bash"), call("t2", "Bash"), call("t3", "Bash")], 1, "p"),
        entry("attachment", A, "q", 2, "a", attachment=queued),
        result(A, "r1", "t1", "one", 3),
        user(A, "s", "Or not.", 4),
        user(A, "r2", [answer, {"type": "text", "text": "Mind the gap."}], 5),
        result(A, "r3", "t1", "one again", 6),
    ]
    turns = read(place, lines)
    assert facts(turns) == [
        [("prompt",), ("tool", "120000 ms"), ("tool", "240000 ms"), ("tool", "no result")],
        [("prompt",)],
        [("prompt",), ("note",), ("output",)],
    ]


def test_a_result_that_stands_before_its_call(place: making.Tree) -> None:
    lines = [
        result(A, "r1", "t1", "one", 3),
        user(A, "p", "Begin."),
        result(A, "r2", "t2", "two", 4),
        result(A, "r4", "t4", "of no call", 4),
        assistant(A, "a", "msg_01", [call("t1", "Bash"), call("t2", "Bash")], 1, "p"),
        result(A, "r3", "t3", "three", 6),
        user(A, "q", "Go on.", 5, "a"),
        assistant(A, "b", "msg_02", [call("t3", "Bash")], 5, "q"),
        result(A, "r5", "t3", "three again", 7),
    ]
    turns = read(place, lines)
    assert facts(turns) == [
        [("prompt",), ("output",), ("tool", "120000 ms"), ("tool", "180000 ms")],
        [("prompt",), ("tool", "60000 ms"), ("output",)],
    ]
    with hansard.open(place.home) as h:
        outputs = [entry.tool.output for entry in h.conversation(A).entries if entry.tool is not None]
        assert open_tree(h, h.session(A)).call_of(0) == len(raw(lines[:4]))
    assert outputs == ["one", "two", "three"]


def test_what_stands_before_the_first_prompt_is_a_turn(place: making.Tree) -> None:
    lines = [
        assistant(A, "a", "msg_01", [call("t1", "Bash")], 1),
        result(A, "r1", "t1", "one", 2),
        user(A, "p", "Begin.", 3, "r1"),
    ]
    turns = read(place, lines)
    assert facts(turns) == [[("tool", "60000 ms")], [("prompt",)]]
    with hansard.open(place.home) as h:
        assert [start.offset for start in open_tree(h, h.session(A)).starts] == [0, len(raw(lines[:2]))]


def test_a_result_that_comes_late(place: making.Tree) -> None:
    lines = [
        user(A, "p", "Begin."),
        assistant(A, "a", "msg_01", [call("t1", "Bash"), call("t2", "Bash")], 1, "p"),
        *(assistant(A, f"b{number}", f"msg_02{number}", "Wait.", 2) for number in range(600)),
        user(A, "q", "Go on.", 3),
        *(assistant(A, f"c{number}", f"msg_03{number}", "Wait.", 3) for number in range(600)),
        result(A, "r1", "t1", "one", 4),
        result(A, "r2", "t1", "one again", 5),
    ]
    turns = read(place, lines)
    assert facts(turns)[0][:3] == [("prompt",), ("tool", "180000 ms"), ("tool", "no result")]
    assert facts(turns)[1][-2:] == [("reply",), ("output",)]


def test_an_end_inside_a_line(place: making.Tree) -> None:
    one = raw([user(A, "p", "Begin."), assistant(A, "a", "msg_01", "Yes.", 1, "p")]).splitlines()
    two = raw([user(A, "q", "Go on.", 2, "a"), assistant(A, "b", "msg_02", "No.", 3, "q")]).splitlines()
    torn = one[1][: len(one[1]) // 2]
    turns = read(place, one[0] + b"\n" + one[1] + torn + two[0] + b"\n" + two[1] + b"\n")
    assert facts(turns) == [[("prompt",), ("reply",), ("unreadable",)], [("prompt",), ("reply",)]]


def test_messages_count_where_their_owner_lines_stand(place: making.Tree) -> None:
    advised = {"type": "advisor_message", "model": "claude-opus-4-1", "input_tokens": 5, "output_tokens": 7}
    early = assistant(A, "c", "msg_01a", "Before.", 1, "b", tokens=(1, 2))
    early["message"]["usage"]["iterations"] = [advised, advised]
    lines = [
        user(A, "p", "Begin."),
        assistant(A, "a", "msg_01a", "After.", 5, "p", tokens=(1, 2)),
        assistant(A, "b", "msg_01b", "Other.", 6, "a", tokens=(3, 4)),
        user(A, "q", "Go on.", 7, "b"),
        early,
        assistant(A, "d", "msg_01b", "Other.", 8, "q", tokens=(3, 4)),
    ]
    turns = read(place, lines)
    assert [(turn.api_messages, turn.tokens.input, turn.tokens.output) for turn in turns] == [(1, 3, 4), (3, 11, 16)]


def test_what_a_window_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(turns: int) -> int:
        place = making.Tree(tmp_path / f"{turns}" / "claude", tmp_path / f"{turns}" / "store")
        lines: list[Line] = []
        for number in range(turns):
            lines += [
                user(A, f"p{number}", "Begin."),
                assistant(A, f"a{number}", f"msg_01{number:05}", [call(f"t{number}", "Bash", command="ls")], 1),
                result(A, f"r{number}", f"t{number}", "x" * 2000, 2),
            ]
        place.write(main_path(A), lines)
        place.sync()
        taken = taken_bytes = 0

        def step() -> bool:
            nonlocal taken
            taken += 1
            return False

        with hansard.open(place.home) as h:
            given = h.record.read

            def spy(*args: Any, **more: Any) -> Iterator[bytes]:
                nonlocal taken_bytes
                for piece in given(*args, **more):
                    taken_bytes += len(piece)
                    yield piece

            monkeypatch.setattr(h.record, "read", spy)
            thread = open_tree(h, h.session(A))
            starts = thread.starts
            taken_bytes = 0
            h.reader.db.set_progress_handler(step, 1)
            found = list(thread.turns(starts[10].offset, 11, starts[20].offset))
            h.reader.db.set_progress_handler(None)
        assert [turn.number for turn in found] == [*range(11, 21)]
        assert all(turn.api_messages == 1 for turn in found)
        assert taken_bytes == starts[20].offset - starts[10].offset
        return taken

    assert 100 < steps(600) < steps(30) * 1.1


def lasting(turns: list[Turn]) -> list[float | None]:
    return [
        None if turn.started_at is None or turn.ended_at is None else (turn.ended_at - turn.started_at).total_seconds()
        for turn in turns
    ]


def test_a_turn_ends_with_its_last_answer_or_result(place: making.Tree) -> None:
    """Not with a note that came hours later."""
    lines = [
        user(A, "p", "Begin."),
        assistant(A, "a", "msg_01", [call("t1", "Bash", command="ls")], 1, "p"),
        result(A, "r", "t1", "one", 3),
        user(A, "n", "<task-notification>later</task-notification>", 190),
        entry("system", A, "s", 191, subtype="away_summary", content="You were away."),
    ]
    assert lasting(read(place, lines)) == [180.0]


def test_a_turn_has_an_active_and_an_elapsed_time(place: making.Tree) -> None:
    lines = [
        user(A, "p", "Begin."),
        assistant(A, "a", "msg_01", "Yes.", 1, "p"),
        entry("system", A, "d", 1, subtype="turn_duration", durationMs=30_300),
        user(A, "n", "<task-notification>later</task-notification>", 190),
        user(A, "q", "Go on.", 200),
        assistant(A, "b", "msg_02", "No.", 201, "q"),
    ]
    turns = read(place, lines)
    assert lasting(turns) == [60.0, 60.0]
    assert [turn.active_ms for turn in turns] == [30_300, None]
    assert [turn_time(turn) for turn in turns] == ["30 s active, 1 min elapsed", "1 min"]


def test_a_turn_is_not_shorter_than_the_command_in_it(place: making.Tree) -> None:
    """The client leaves out the wait for it."""
    lines = [
        user(A, "p", "Begin."),
        assistant(A, "a", "msg_01", [call("t1", "Bash", command="make")], 0.5, "p"),
        result(A, "r", "t1", "done", 10.5),
        assistant(A, "b", "msg_02", "Done.", 11, "r"),
        entry("system", A, "d", 11, subtype="turn_duration", durationMs=62_000),
    ]
    (turn,) = read(place, lines)
    assert turn_time(turn) == "1 min 2 s active, 11 min elapsed"
    assert turn_facts(turn)[0] == ["1 min active, 11 min elapsed"]


def test_a_turn_ends_no_earlier_than_the_client_was_active(place: making.Tree) -> None:
    lines = [
        user(A, "p", "Begin."),
        assistant(A, "a", "msg_01", "Yes.", 1, "p"),
        entry("system", A, "d", 1, subtype="turn_duration", durationMs=90_000),
    ]
    (turn,) = read(place, lines)
    assert turn_time(turn) == "1 min 30 s"
