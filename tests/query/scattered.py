"""Histories full of tool calls: forks that repeat them, subagents, results that never came, files of several projects."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.sync.making import START, Line, agent_path, assistant, call, main_path, session, user

if TYPE_CHECKING:
    from tests.sync.making import Tree

PATHS = (
    "/home/mira/src/app/src/parse/decode.py",
    "/home/mira/src/app/src/parse/fold.py",
    "/home/mira/src/app/README.md",
    "/home/mira/src/other/a b/100%_done.txt",
    "C:\\work\\app\\Ünï\\main.cs",
    "notes.md",
)
TOOLS = (
    "Edit",
    "Write",
    "Read",
    "Bash",
    "NotebookEdit",
    "mcp__tracker__find_issues",
    "mcp__tracker__close",
    "mcp__odd",
)
SESSIONS = 5


def scatter(tree: Tree, seed: int) -> None:
    """Write a history, and a second time one of its transcripts from the beginning; all of it is synced."""
    rng = random.Random(seed)
    talks = [_talk(rng, session(number), number * 100) for number in range(1, SESSIONS + 1)]
    for number, lines in enumerate(talks, 1):
        tree.write(main_path(session(number)), lines)
    for number in range(3):
        source = rng.choice(talks)
        copied = source[: rng.randint(1, len(source))]
        fork = session(50 + number)
        own = _talk(rng, fork, 5000 + number * 100)
        tree.write(main_path(fork), [*({**line, "sessionId": fork} for line in copied), *own])
    aside = _talk(rng, session(1), 9000, agentId="a1", isSidechain=True)
    tree.write(agent_path(session(1), "a1"), aside)
    tree.sync()
    kept = [line for line in talks[1] if rng.random() < 0.6]
    tree.write(main_path(session(2)), [user(session(2), "first", "Anew."), *kept])
    tree.sync()


def _talk(rng: random.Random, session_id: str, number: int, **more: Any) -> list[Line]:
    cwd = rng.choice(("/home/mira/src/app", "/home/mira/src/other"))
    lines = [user(session_id, f"p{number}", "Do it.", number, cwd=cwd)]
    for step in range(rng.randint(1, 8)):
        names = [f"toolu_{number}_{step}_{place}" for place in range(rng.randint(1, 3))]
        if rng.random() < 0.1:
            names[0] = "call_0"  # some providers count in each answer anew
        blocks = [_call(rng, name) for name in names]
        moment: Any = {"timestamp": _at(number + step, rng)} if rng.random() < 0.95 else {"timestamp": None}
        lines.append(
            assistant(session_id, f"a{number}{step}", f"msg_01{number}{step}", blocks, cwd=cwd) | moment | more
        )
        lines += [
            _result(rng, session_id, name, number + step, blocks[place], cwd) | more
            for place, name in enumerate(names)
            if rng.random() < 0.85
        ]
    return lines


def _call(rng: random.Random, name: str) -> Line:
    tool = rng.choice(TOOLS)
    path = rng.choice(PATHS)
    if tool == "Edit":
        return call(name, tool, file_path=path, old_string="a\nb", new_string="a\n" + "c\n" * rng.randint(0, 3))
    if tool == "Write":
        return call(name, tool, file_path=path, content="x\n" * rng.randint(0, 4))
    if tool == "NotebookEdit":
        return call(name, tool, notebook_path=path, new_source="1")
    if tool == "Read":
        return call(name, tool, file_path=path)
    return call(name, tool, command=f"ls {number_of(name)}")


def number_of(name: str) -> str:
    """The digits of an id."""
    return "".join(letter for letter in name if letter.isdigit())


def _result(rng: random.Random, session_id: str, name: str, minutes: int, block: Line, cwd: str) -> Line:
    failed = rng.random() < 0.2
    content = {"type": "tool_result", "tool_use_id": name, "content": "It failed badly." if failed else "done"}
    if failed:
        content["is_error"] = True  # type: ignore[assignment]
    line = user(session_id, f"r{name}-{session_id[-3:]}", [content], cwd=cwd)
    line["timestamp"] = _at(minutes, rng)
    if block["name"] == "Edit" and not failed and rng.random() < 0.7:
        added = rng.randint(0, 4)
        hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": added, "lines": ["-b", *["+c"] * added]}
        line["toolUseResult"] = {"filePath": block["input"]["file_path"], "structuredPatch": [hunk]}
    return line


def _at(minutes: float, rng: random.Random) -> str:
    moment = START + timedelta(minutes=minutes, milliseconds=rng.randint(0, 90_000))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
