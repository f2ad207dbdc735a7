"""Small histories with known figures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hansard.engine import Hansard
from tests.sync.making import Line, Tree, agent_path, assistant, call, main_path, result, session, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.model.ledger import PriceOverride

ONE, TWO, FORK, REPLAY = session(1), session(2), session(3), session(4)
GROUPS = {"product": ["app", "site"]}
OPUS, SONNET, HAIKU = "claude-opus-4-1", "claude-sonnet-4-5-20250929", "claude-haiku-5-5"


def said(
    session_id: str,
    number: int,
    moment: datetime | str | None,
    tokens: Sequence[int] = (10, 20, 0, 0, 0),
    *,
    model: str | None = OPUS,
    stop: str | None = "end_turn",
    content: Any = "Yes.",
    identity: str | None = None,
    usage: dict[str, Any] | None = None,
    **more: Any,
) -> Line:
    """One line of an answer; `tokens` are input, output, cache read, cache writes of five minutes and of an hour."""
    uuid = f"{session_id[-4:]}-{number}-{stop}-{moment}"
    line = {**assistant(session_id, uuid, identity or f"msg_01{number}", content, stop=stop), **more}
    counts = [*tokens, 0, 0, 0][:5]
    line["message"]["usage"] = {
        "input_tokens": counts[0],
        "output_tokens": counts[1],
        "cache_read_input_tokens": counts[2],
        "cache_creation_input_tokens": counts[3] + counts[4],
        "cache_creation": {"ephemeral_5m_input_tokens": counts[3], "ephemeral_1h_input_tokens": counts[4]},
        **(usage or {}),
    }
    line["message"]["model"] = model
    if isinstance(moment, datetime):
        line["timestamp"] = moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    else:
        line["timestamp"] = moment
    return line


def progress(line: Line, agent: str = "a1", session_id: str = ONE) -> Line:
    """A progress record that repeats a line of a subagent, as clients from 2.1.12 to 2.1.83 wrote it."""
    inner = {
        name: line[name]
        for name in ("type", "timestamp", "message", "requestId", "uuid", "toolUseResult")
        if name in line
    }
    return {
        "type": "progress",
        "sessionId": session_id,
        "cwd": line["cwd"],
        "gitBranch": "main",
        "version": "2.1.50",
        "uuid": f"p-{line['uuid']}",
        "timestamp": line["timestamp"],
        "parentToolUseID": "toolu_task",
        "data": {"type": "agent_progress", "agentId": agent, "prompt": "Look.", "message": inner},
    }


def opened(tree: Tree, prices: Sequence[PriceOverride] = ()) -> Hansard:
    """The store of a tree, kept current."""
    h = Hansard(str(tree.home), tree.roots, prices=tuple(prices), groups=GROUPS)
    h.sync()
    return h


def of(session_id: str, lines: Sequence[Line]) -> list[Line]:
    """Copies of lines as another session has them."""
    return [{**line, "sessionId": session_id} for line in lines]


START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def story() -> dict[str, list[Line]]:
    """Everything that could be counted twice: lines of one answer, a fork, a replay, a subagent, a branch, two eras."""

    def at(minutes: float) -> datetime:
        return START + timedelta(minutes=minutes)

    talk = [
        user(ONE, "u1", "Read it."),
        said(ONE, 1, at(1), (10, 1), stop=None, content=[{"type": "thinking", "thinking": "Hm."}]),
        said(ONE, 1, at(1.1), (10, 9, 100, 50, 60), stop="tool_use", content=[call("t1", "Read", file_path="/a")]),
        said(ONE, 1, at(1.2), (10, 9, 100, 50, 60), stop="tool_use", content=[call("t2", "Bash", command="ls")]),
        {**result(ONE, "r1", "t1", "text", 2), "timestamp": None},
        result(ONE, "r2", "t2", "files", 3),
        said(ONE, 2, at(16), (7, 8, 9), gitBranch="fix"),
    ]
    more = [said(ONE, 3, at(31), (1, 2, 3), model=SONNET, usage={"service_tier": "standard"})]
    aside = [
        said(
            ONE,
            5,
            at(5),
            (3, 4),
            agentId="a1",
            isSidechain=True,
            content=[call("t3", "Grep", pattern="x")],
            model=HAIKU,
        ),
        said(ONE, 5, at(6), (3, 40), agentId="a1", isSidechain=True, stop=None, model=HAIKU),
    ]
    return {
        main_path(ONE): talk + more,
        main_path(FORK): [*of(FORK, talk), user(FORK, "f1", "Another way."), said(FORK, 6, at(400), (5, 6), gitBranch="fix")],
        main_path(REPLAY): [*of(REPLAY, talk[:3]), said(REPLAY, 7, at(-10), (2, 2), model="unheard-of")],
        agent_path(ONE, "a1"): aside,
        agent_path(FORK, "a1"): of(FORK, aside),
        main_path(TWO): [
            user(TWO, "w1", "Old."),
            said(TWO, 8, at(2000), (6, 6), costUSD=0.25),
            said(TWO, 9, None, (1, 1)),
            said(TWO, 10, at(2000.5), (4, 4), identity="gen-1", requestId=None),
            {"type": "assistant", "uuid": "none", "sessionId": TWO, "timestamp": None, "message": {"role": "assistant", "content": []}},
        ],
    }  # fmt: skip
