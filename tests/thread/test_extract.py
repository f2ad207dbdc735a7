"""A part of a thread is what it is in the whole: the same turns, the same numbers, without reading what stands before."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import NotFound
from hansard.model.sessions import Session
from hansard.thread.thread import Thread
from tests.recordings import History


def read(h: Hansard, session: Session, agent: str | None = None) -> Thread:
    return h.read(session, agent, pictures=False, subagents=False)


def check_all(h: Hansard, dice: random.Random, every: int = 1) -> int:
    """Compare parts of the threads of sessions, all or every nth, with the whole, and count their turns."""
    count = 0
    for session in h.sessions(limit=None, debris=True).sessions[::every]:
        for agent in (None, *(agent.agent_id for agent in h.agents(session.session_id))):
            try:
                whole = list(read(h, session, agent).turns())
            except NotFound:  # only subagents are left of it
                continue
            starts = read(h, session, agent).starts
            assert [(turn.items[0].offset, turn.items[0].branch) for turn in whole] == [*starts], (session, agent)
            count += len(whole)
            for number in {len(whole), dice.randint(1, len(whole))} if whole else ():
                part = list(read(h, session, agent).turns(starts[number - 1].offset, number))
                assert part == whole[number - 1 :], (session.session_id, agent, number)
    return count


def test_the_hard_session(hard: tuple[Hansard, str]) -> None:
    assert check_all(hard[0], random.Random(7)) > 40


def test_real_sessions(histories: dict[str, History]) -> None:
    with hansard.open(histories["real clients"].store) as h:
        assert check_all(h, random.Random(7), every=3) > 300  # windows of all of them are in test_turn_windows.py


def numbers(h: Hansard, name: str, agent: str | None = None, **more: int) -> tuple[list[int], int, int, int | None]:
    part = read(h, h.session(name), agent).select(**more)
    return [turn.number for turn in part.turns], part.earlier, part.later, part.branch


def test_numbers(hard: tuple[Hansard, str]) -> None:
    total = 20
    assert numbers(*hard) == ([*range(1, total + 1)], 0, 0, None)
    assert numbers(*hard, first=3, last=4) == ([3, 4], 2, 16, None)
    assert numbers(*hard, first=19) == ([19, 20], 18, 0, None)
    assert numbers(*hard, newest=2) == ([19, 20], 18, 0, None)
    assert numbers(*hard, newest=13) == ([*range(7, 21)], 6, 0, None)  # the eighth was replaced, and does not count
    assert numbers(*hard, first=8, last=8) == ([8], 7, 12, 1)
    assert numbers(*hard, branch=1, newest=1) == ([*range(8, 21)], 7, 0, 1)


def test_what_is_not_there(hard: tuple[Hansard, str]) -> None:
    with pytest.raises(NotFound, match="there is no turn 21; the last one is 20"):
        numbers(*hard, first=21)
    with pytest.raises(NotFound, match="there is no branch 5; this conversation has 0, 1"):
        numbers(*hard, branch=5)


def test_a_part_reads_only_what_it_needs(hard: tuple[Hansard, str], monkeypatch: pytest.MonkeyPatch) -> None:
    h, name = hard
    thread = read(h, h.session(name))
    starts = thread.starts
    places: list[int] = []
    given = h.record.read

    def spy(generation: int, start: int = 0, end: int | None = None, *, mend: bool = False) -> Iterator[bytes]:
        places.append(start)
        return given(generation, start, end, mend=mend)

    monkeypatch.setattr(h.record, "read", spy)
    turns = list(thread.turns(starts[-1].offset, len(starts)))
    assert [turn.number for turn in turns] == [20]
    assert min(places) == starts[-1].offset
