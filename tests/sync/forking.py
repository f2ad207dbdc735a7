"""Families of forks, as the clients of several years wrote them: copies keep uuid, message id and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tests.sync.making import Line, assistant, at, main_path, raw, session, user

if TYPE_CHECKING:
    from collections.abc import Iterable

Mark = Literal["queue", "prompt_id", "session_id", "forked_from", "request_session", "nothing"]
# How a client marks copies: a queue operation above them (2.1.20 on, print mode), one promptId (2.1.250 on), the parent's id on
# user lines (up to 2.1.20), forkedFrom on every line (/branch), requestSessionId on answers (2.1.326 on); nothing: what the oldest
# may have left.
MARKS: tuple[Mark, ...] = ("queue", "prompt_id", "session_id", "forked_from", "request_session", "nothing")


def talk(session_id: str, name: str, turns: int, *, start: float = 0, parent: str | None = None) -> list[Line]:
    """Turns of a conversation, each with a promptId of its own."""
    lines: list[Line] = []
    for turn in range(1, turns + 1):
        said, answered = f"{name}-p{turn}", f"{name}-a{turn}"
        minutes = start + turn
        lines.append(user(session_id, said, f"{name} asks {turn}.", minutes, parent, promptId=f"id-{name}-{turn}"))
        lines.append(
            assistant(session_id, answered, f"msg_01{name}{turn}", f"{name} says {turn}.", minutes + 0.5, said)
        )
        parent = answered
    return lines


def fork(lines: Iterable[Line], session_id: str, name: str, turns: int, *, start: float, mark: Mark) -> list[Line]:
    """A fork of what some lines hold, which goes on by itself at a time."""
    copied = [dict(line) for line in lines if "uuid" in line]
    own = talk(session_id, name, turns, start=start, parent=copied[-1]["uuid"] if copied else None)
    above: list[Line] = []
    for line in copied:
        _copy(line, session_id, mark, f"id-{name}-1")
    if mark == "queue":
        above = [
            {"type": "mode", "mode": "normal", "sessionId": session_id},
            {"type": "queue-operation", "operation": "dequeue", "timestamp": at(start + 0.9), "sessionId": session_id},
        ]
    return above + copied + own


def _copy(line: Line, session_id: str, mark: Mark, prompt_id: str) -> None:
    former = line["sessionId"]
    line.pop("forkedFrom", None)
    if mark != "session_id" or line["type"] != "user":
        line["sessionId"] = session_id
    if mark == "forked_from":
        line["forkedFrom"] = {"sessionId": former, "messageUuid": line["uuid"]}
    if mark == "request_session" and line["type"] == "assistant":
        line.setdefault("requestSessionId", former)
    if mark == "prompt_id" and "promptId" in line:
        line["promptId"] = prompt_id


# The original's name is the last one, so that a rule that knows nothing but times and names takes a fork for it.
ORIGINAL = session(900)


def family(marks: Iterable[Mark] = MARKS) -> tuple[dict[str, bytes], dict[str, str]]:
    """A session with a fork for each way to mark one, each of these forked again by a promptId; and whose child each is."""
    original = talk(ORIGINAL, "first", 4)
    files = {main_path(ORIGINAL): raw(original)}
    parents: dict[str, str] = {}
    for number, mark in enumerate(marks):
        child, grandchild = session(200 + number), session(100 + number)
        name = mark.replace("_", "")
        lines = fork(original[: 4 + 2 * (number % 2)], child, name, 2, start=100 + 10 * number, mark=mark)
        files[main_path(child)] = raw(lines)
        parents[child] = ORIGINAL
        nested = fork(lines, grandchild, f"{name}nested", 1, start=200 + 10 * number, mark="prompt_id")
        files[main_path(grandchild)] = raw(nested)
        parents[grandchild] = child
    return files, parents
