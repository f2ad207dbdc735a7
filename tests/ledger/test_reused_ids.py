"""Relays that give every answer of a session the same message id, and no requestId."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.claude_code.making import folding
from tests.clients.claude_code.making import line as written
from tests.ledger.making import ONE, TWO, opened
from tests.sync.making import Line, Tree, assistant, call, main_path, result, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.clients.usage import Stated
    from tests.ledger.conftest import Kept

CONSTANT = "chatcmpl-0"


def answer(
    session_id: str,
    number: int,
    part: str,
    minutes: float,
    parent: str,
    *,
    identity: str = CONSTANT,
    content: str | Sequence[Line] = "Yes.",
    tokens: tuple[int, int] | None = None,
) -> Line:
    """One line of an answer through a relay; its input grows with the conversation unless `tokens` says otherwise."""
    uuid, stated = f"{session_id[-4:]}-a{number}{part}", tokens or (100 + number, 20)
    line = assistant(session_id, uuid, identity, content, minutes, parent, tokens=stated)
    return {name: value for name, value in line.items() if name != "requestId"}


def asked(session_id: str, number: int, minutes: float) -> Line:
    return user(session_id, f"{session_id[-4:]}-p{number}", f"Question {number}?", minutes)


def conversation(session_id: str, answers: int, tokens: tuple[int, int] | None = None) -> list[Line]:
    lines = []
    for number in range(answers):
        prompt = asked(session_id, number, number)
        lines += [prompt, answer(session_id, number, "", number + 0.5, prompt["uuid"], tokens=tokens)]
    return lines


@pytest.mark.parametrize("tokens", [None, (100, 20), (0, 20)], ids=["growing", "equal", "none"])
def test_each_answer_with_the_constant_id_counts(tree: Tree, tokens: tuple[int, int] | None) -> None:
    """Even where the relay states the same figures each time: a prompt stands between the answers."""
    for session_id in (ONE, TWO):
        tree.write(main_path(session_id), conversation(session_id, 20, tokens))
    with opened(tree) as h:
        total = h.usage(by="total").totals
        assert (total.api_messages, total.output_tokens) == (40, 800)
        assert [row.api_messages for row in h.usage(by="session").rows] == [20, 20]
        assert h.reconcile().ours.messages == 40


@pytest.mark.parametrize("constant", [False, True])
def test_lines_of_one_answer_count_once(tree: Tree, *, constant: bool) -> None:
    """Text, a call, its result, and a call that the client wrote only after it."""
    lines = []
    for number in range(3):
        identity = CONSTANT if constant else f"gen-{number}"
        prompt = asked(ONE, number, number)
        first = answer(ONE, number, "t", number + 0.1, prompt["uuid"], identity=identity)
        second = answer(ONE, number, "c", number + 0.2, first["uuid"], identity=identity, content=[call("c1", "Read")])
        given = {**result(ONE, f"r{number}", "c1", "text", number + 0.3), "parentUuid": second["uuid"]}
        third = answer(ONE, number, "d", number + 0.4, given["uuid"], identity=identity, content=[call("c2", "Read")])
        lines += [prompt, first, second, given, third]
    tree.write(main_path(ONE), lines)
    with opened(tree) as h:
        total = h.usage(by="total").totals
        assert (total.api_messages, total.output_tokens) == (3, 60)


def test_input_that_is_known_only_at_the_end(tree: Tree) -> None:
    prompt = asked(ONE, 0, 0)
    first = answer(ONE, 0, "t", 0.1, prompt["uuid"], tokens=(0, 1))
    first["message"]["stop_reason"] = None
    tree.write(main_path(ONE), [prompt, first, answer(ONE, 0, "e", 0.2, first["uuid"], tokens=(100, 20))])
    with opened(tree) as h:
        total = h.usage(by="total").totals
        assert (total.api_messages, total.input_tokens, total.output_tokens) == (1, 100, 20)


def test_every_sync_gives_the_same_keys(tree: Tree) -> None:
    """The next answer is recognised after any line, and a line that is repeated is the same answer."""
    lines = conversation(ONE, 5)
    tree.write(main_path(ONE), [])
    with opened(tree) as h:
        for end in range(1, len(lines) + 1):
            tree.write(main_path(ONE), lines[:end])
            h.sync()
        assert h.usage(by="total").totals.api_messages == 5
    tree.write(main_path(ONE), [*lines, *lines])
    with opened(tree) as h:
        assert h.usage(by="total").totals.api_messages == 5


def statements(path: Path, *, constant: bool) -> list[Stated]:
    folded = folding(is_agent=path.name.startswith("agent-"), path=path.name)
    offset = 0
    for raw in path.read_bytes().splitlines():
        line = raw
        if constant and b'"assistant"' in raw:
            value = json.loads(raw)
            if value.get("type") == "assistant":
                value.pop("requestId", None)
                value["message"]["id"] = CONSTANT
                line = written(value)
        folded.take(line, offset)
        offset += len(raw) + 1
    return [stated for stated in folded.rows.usage.values() if not stated.is_progress]


def test_real_answers_are_told_apart_without_their_ids(public: Kept) -> None:
    """The ids of a real history are known: as many answers and tokens are found when they are all made the same."""
    paths = sorted(Path(str(public.config)).rglob("*.jsonl"))[::5]
    wrong = []
    for path in paths:
        known, found = (statements(path, constant=constant) for constant in (False, True))
        if sorted(said.output for said in known) != sorted(said.output for said in found):
            wrong.append(path.name)
    assert len(paths) > 50
    # Prompts that were typed while the model wrote are between lines of one answer in one transcript of the whole history.
    assert wrong in ([], ["0fae0449-64d3-4788-8622-d3a47d82c14b.jsonl"])
