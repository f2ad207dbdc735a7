"""Branches the plain way, with all records in memory, to compare the quick one with.

A parent with several children is nearly always parallel tool calls or side records, so walking back from the last leaf would
lose most of a session. Instead everything stays on the line, except the subtrees that begin with a prompt (or an answer)
which another one replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hansard.model.threads import Fork

ASIDE = frozenset({"attachment", "system", "progress"})


class Node(NamedTuple):
    """What of a record matters for the tree."""

    id: int
    uuid: str
    parent_uuid: str | None
    kind: str
    role: str | None
    message_id: int | None


def branches(nodes: Sequence[Node]) -> tuple[dict[str, int], list[Fork]]:
    """The branch of each record that is not on the main line, and the places where branches begin.

    First orphans are promoted to roots and cycles are broken (in file order: a parent that would close a circle is
    dropped), then each prompt is hung on the message it answers. Several prompts on one message are a fork, as are several
    answers to one user line; the session went on with the one that holds the last record of the file.
    """
    by_uuid: dict[str, Node] = {}
    for node in nodes:
        by_uuid.setdefault(node.uuid, node)
    parents = _parents(by_uuid)
    anchors: dict[str, str | None] = {}
    # Of the records under one anchor, the first for each prompt, and the first for each answer however many lines it has.
    groups: dict[tuple[str, str], dict[str | int | None, Node]] = {}
    answered: set[int] = set()  # messages whose first line has been seen; an answer hangs where that one does
    for node in by_uuid.values():
        _, uuid, _, kind, role, message_id = node
        if kind == "assistant":
            if message_id not in answered:
                parent = parents[uuid]
                if message_id is not None:
                    answered.add(message_id)
                if parent is not None and by_uuid[parent].kind == "user":
                    groups.setdefault((parent, "answer"), {}).setdefault(message_id, node)
        elif role == "prompt" and kind == "user":
            anchor = _anchor(parents[uuid], parents, by_uuid, anchors)
            if anchor is not None:
                groups.setdefault((anchor, "prompt"), {})[uuid] = node
    forks_at = {key: list(group.values()) for key, group in groups.items() if len(group) > 1}
    if not forks_at:
        return {}, []
    return _number(forks_at, parents, by_uuid, nodes[-1].uuid)


def _parents(by_uuid: dict[str, Node]) -> dict[str, str | None]:
    """The parent of each record; every record is looked at once, also where parents stand further down the file."""
    parents: dict[str, str | None] = {}
    for uuid, node in by_uuid.items():
        if uuid in parents:
            continue
        above = node.parent_uuid
        if above is None or above in parents:  # as nearly everywhere
            parents[uuid] = above
            continue
        trail: dict[str, int] = {}
        step: str | None = uuid
        while step is not None and step not in parents and step not in trail:
            trail[step] = len(trail)
            above = by_uuid[step].parent_uuid
            step = above if above in by_uuid else None
        for passed in trail:
            above = by_uuid[passed].parent_uuid
            parents[passed] = above if above in by_uuid else None
        if step in trail:
            circle = list(trail)[trail[step] :]
            parents[min(circle, key=lambda uuid: by_uuid[uuid].id)] = None
    return parents


def _anchor(
    uuid: str | None, parents: dict[str, str | None], by_uuid: dict[str, Node], known: dict[str, str | None]
) -> str | None:
    """The nearest record above that is part of the conversation itself; `known` remembers what was found on the way."""
    trail: list[str] = []
    while uuid is not None and by_uuid[uuid].kind in ASIDE:
        if uuid in known:
            uuid = known[uuid]
            break
        trail.append(uuid)
        uuid = parents[uuid]
    known.update(dict.fromkeys(trail, uuid))
    return uuid


def _number(
    forks_at: dict[tuple[str, str], list[Node]], parents: dict[str, str | None], by_uuid: dict[str, Node], leaf: str
) -> tuple[dict[str, int], list[Fork]]:
    line: set[str] = set()
    step: str | None = leaf
    while step is not None and step not in line:
        line.add(step)
        step = parents[step]
    heads: dict[str, int] = {}
    forks: list[Fork] = []
    number = 0
    for (anchor, _), group in forks_at.items():
        # Without one of them on the way to the last record, the last one written is what the session went on with.
        current = next((node for node in group if node.uuid in line), group[-1])
        others = [node for node in group if node is not current]
        numbers = []
        for node in others:
            number += 1
            heads[node.uuid] = number
            numbers.append(number)
        forks.append(Fork(anchor, (0, *numbers), (current.uuid, *(node.uuid for node in others))))
    found: dict[str, int] = {}
    resolved: dict[str, int] = {}
    for uuid in by_uuid:
        if uuid in resolved:
            continue
        above = parents[uuid]
        if uuid not in heads and above in resolved:  # as nearly everywhere
            branch = resolved[uuid] = resolved[above]
            if branch:
                found[uuid] = branch
            continue
        trail: list[str] = []
        step = uuid
        branch = 0
        while step is not None:
            if step in resolved:
                branch = resolved[step]
                break
            trail.append(step)
            if step in heads:
                branch = heads[step]
                break
            step = parents[step]
        for passed in trail:
            resolved[passed] = branch
            if branch:
                found[passed] = branch
    forks = [Fork(fork.parent_uuid, (resolved[fork.uuids[0]], *fork.branches[1:]), fork.uuids) for fork in forks]
    return found, forks
