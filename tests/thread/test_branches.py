"""Forks: only where a prompt was replaced or an answer made again, whatever the tree looks like."""

from __future__ import annotations

import random

import pytest

from hansard.model.threads import Fork
from hansard.query.reader import Reader
from hansard.thread.branches import open_branches

from . import slow_branches
from .slow_branches import Node

MANY = 50_000
LOW = 3 << 40
EMPTY = Reader("no folder")  # without a store an empty index in memory is asked


def branches(nodes: list[Node]) -> tuple[dict[str, int], list[Fork]]:
    """The branch of each record that is not on the main line, and the forks; the same as the plain way gives."""
    firsts: dict[int, int] = {}
    placed = []
    for place, node in enumerate(nodes):
        record_id = LOW + 100 * place
        message = firsts.setdefault(node.message_id, record_id) if node.message_id is not None else None
        placed.append(node._replace(id=record_id, message_id=message))
    EMPTY.db.execute("BEGIN")
    EMPTY.db.executemany(
        "INSERT INTO records (id, length, kind, role, uuid, parent_uuid, sidechain, message_id) VALUES (?, 9, ?, ?, ?, ?, 0, ?)",
        [(node.id, node.kind, node.role, node.uuid, node.parent_uuid, node.message_id) for node in placed],
    )
    prompts = [(node.uuid, node.parent_uuid) for node in placed if (node.kind, node.role) == ("user", "prompt")]
    quick = open_branches(EMPTY, LOW, prompts)
    EMPTY.db.execute("ROLLBACK")
    found = {node.uuid: branch for node in placed if (branch := quick.of(node.uuid))}
    assert (found, quick.forks) == slow_branches.branches(placed)
    return found, quick.forks


def prompt(uuid: str, parent: str | None) -> Node:
    return Node(0, uuid, parent, "user", "prompt", None)


def reply(uuid: str, parent: str | None, message: int | None) -> Node:
    return Node(0, uuid, parent, "assistant", "reply", message)


def aside(uuid: str, parent: str | None) -> Node:
    return Node(0, uuid, parent, "system", None, None)


def result(uuid: str, parent: str | None) -> Node:
    return Node(0, uuid, parent, "user", "result", None)


def test_a_straight_line_has_no_forks() -> None:
    assert branches([prompt("p", None), reply("a", "p", 1), reply("b", "a", 1), prompt("q", "b")]) == ({}, [])


def test_a_replaced_prompt_is_a_branch_with_all_that_hangs_on_it() -> None:
    nodes = [
        prompt("p", None),
        reply("a", "p", 1),
        prompt("q", "a"),
        reply("b", "q", 2),
        aside("s", "a"),
        prompt("r", "s"),
    ]
    assert branches(nodes) == ({"q": 1, "b": 1}, [Fork("a", (0, 1), ("r", "q"))])


def test_an_answer_made_again_is_a_branch_but_its_lines_are_none() -> None:
    nodes = [prompt("p", None), reply("a", "p", 1), reply("b", "p", 1), reply("c", "p", 2)]
    assert branches(nodes) == ({"a": 1}, [Fork("p", (0, 1), ("c", "a"))])
    assert branches(nodes[:3]) == ({}, [])


@pytest.mark.parametrize("order", ["abc", "acb", "bca", "cab"])
def test_a_circle_is_broken_once(order: str) -> None:
    parents = dict(zip(order, order[1:] + order[0], strict=True))
    nodes = [prompt(uuid, parents[uuid]) for uuid in "abc"]
    replaced = [prompt("x", "c"), prompt("y", "c")]
    _, forks = branches([*nodes, *replaced])
    # Only the first record of the file lost its parent.
    kept = {uuid for uuid in "bc" if parents[uuid] == "c"}
    assert {uuid for fork in forks if fork.parent_uuid == "c" for uuid in fork.uuids} == {"x", "y"} | kept


def test_every_shape_of_tree_is_read_in_one_pass() -> None:
    """Parents further down the file, many answers to one line, long chains of side records: none costs the square of its size."""
    backwards = [prompt(f"u{place}", f"u{place + 1}") for place in range(MANY)]
    assert branches(backwards) == ({}, [])
    answers = [prompt("p", None), *(reply(f"a{place}", "p", place) for place in range(MANY))]
    assert len(branches(answers)[0]) == MANY - 1
    asides = [aside(f"s{place}", f"s{place - 1}" if place else "p") for place in range(MANY)]
    prompts = [prompt(f"q{place}", f"s{MANY - 1}") for place in range(MANY)]
    found, forks = branches([reply("p", None, 1), *asides, *prompts])
    assert (len(found), len(forks)) == (MANY - 1, 1)


def test_whatever_hangs_on_whatever() -> None:
    """Random parents, circles among them: each record has one branch, and each fork's branches are known."""
    dice = random.Random(7)
    for _ in range(1000):
        names = [f"n{place}" for place in range(dice.randrange(1, 12))]
        nodes = [
            dice.choice(
                [
                    prompt(name, parent),
                    reply(name, parent, dice.choice([0, 1, 2, None])),
                    aside(name, parent),
                    result(name, parent),
                ]
            )
            for name in names
            for parent in [dice.choice([*names, None, "elsewhere"])]
        ]
        found, forks = branches(nodes)
        assert set(found) <= set(names)
        for fork in forks:
            assert len(set(fork.uuids)) == len(fork.uuids) == len(fork.branches) > 1
            assert [found.get(uuid, 0) for uuid in fork.uuids] == list(fork.branches)
