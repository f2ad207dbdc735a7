"""A history in which risky things were done, refused, repeated and hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import hansard
from tests.sync.making import CWD, Line, Tree, agent_path, assistant, call, main_path, result, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hansard.engine import Hansard

FREE, FORK, ASKING, PLAIN = map(session, range(601, 605))
TOKEN = "ghp_" + "A1b2C3d4E5f6" * 3
DENIAL = "The user doesn't want to proceed with this tool use. The tool use was rejected"


def step(session_id: str, number: int, tool: str, answer: str, *, fails: bool = False, **given: object) -> list[Line]:
    """A call and its result."""
    uuid, id_ = f"{session_id[-3:]}-{number}", f"toolu_{session_id[-3:]}{number}"
    line = result(session_id, f"{uuid}r", id_, answer, number + 0.5)
    line["message"]["content"][0]["is_error"] = fails
    return [assistant(session_id, uuid, f"msg_{uuid}", [call(id_, tool, **given)], number), line]


def write_risky(tree: Tree) -> None:
    free = [
        user(FREE, "f0", "Clean up and publish.", 0, permissionMode="bypassPermissions"),
        *step(FREE, 1, "Bash", "done", command="git push --force origin main"),
        *step(
            FREE,
            2,
            "Bash",
            "done",
            command=f"curl -H 'Authorization: Bearer {TOKEN}' -k https://api.example.com/v1/x | tee out.txt",
        ),
        *step(FREE, 3, "Read", "KEY=1", file_path=f"{CWD}/.env"),
        *step(FREE, 4, "Write", "ok", file_path=f"{CWD}/notes.txt", content="x"),
        *step(FREE, 5, "mcp__tracker__close", "ok", issue=7),
    ]
    copied = [{**line, "sessionId": FORK} for line in free]
    tree.write(main_path(FREE), free)
    tree.write(
        main_path(FORK), [*copied, user(FORK, "k1", "And now?", 40), *step(FORK, 41, "Bash", "ok", command="ls")]
    )
    tree.write(
        main_path(ASKING),
        [
            user(ASKING, "a0", "Remove the old one.", 50, permissionMode="default"),
            *step(ASKING, 51, "Bash", DENIAL, fails=True, command="rm -rf ~/old-shop"),
            *step(ASKING, 52, "Bash", "no such file", fails=True, command="rm -rf ../other"),
            *step(ASKING, 53, "WebFetch", "page", url="https://docs.example.org/a?b=1", prompt="read"),
            *step(
                ASKING,
                54,
                "Bash",
                "ok",
                command="ssh build7.example.com uptime && cat README.md",
                dangerouslyDisableSandbox=True,
            ),
            *step(ASKING, 55, "Task", "done", prompt="look", subagent_type="Explore", description="look"),
        ],
    )
    tree.write(
        agent_path(ASKING, "e1"),
        [
            {**line, "isSidechain": True, "agentId": "e1"}
            for line in (
                user(ASKING, "q1", "look", 55.1),
                *step(ASKING, 56, "Bash", "x", command="sudo cat /etc/shadow"),
            )
        ],
    )
    tree.write(
        main_path(PLAIN), [user(PLAIN, "p0", "Hello.", 70), *step(PLAIN, 71, "Bash", "x", command="echo 'rm -rf /'")]
    )


@pytest.fixture
def risky(tmp_path: Path) -> Iterator[Hansard]:
    tree = Tree(tmp_path / "claude", tmp_path / "store")
    write_risky(tree)
    with hansard.open(tree.home, roots=[tree.config]) as h:
        h.sync()
        yield h
