"""A small history with everything that ties transcripts together, and every kind of damage."""

from __future__ import annotations

import json

from tests.sync.making import (
    FOLDER,
    Line,
    agent_path,
    assistant,
    at,
    call,
    entry,
    main_path,
    raw,
    result,
    session,
    user,
)

FIRST, FORK, BRANCH, TITLES, STREAM, GATEWAY, OLD, EMPTY, PARALLEL = map(session, range(1, 10))


def _first() -> list[Line]:
    task = call("toolu_task", "Task", description="Look around", prompt="Find the callers.", subagent_type="Explore")
    edit = call("toolu_edit", "Edit", file_path="/home/mira/src/app/a.py", old_string="a", new_string="b")
    patch = {"filePath": "/home/mira/src/app/a.py", "structuredPatch": [{"lines": ["-a", "+b", "+c"]}]}
    return [
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        user(FIRST, "f1", "Where is it called from? ☂ \u2028 and \u2029", 0),
        assistant(
            FIRST, "f2", "msg_01aaa", [{"type": "thinking", "thinking": "Hm."}], 1, "f1", stop=None, tokens=(10, 1)
        ),
        assistant(FIRST, "f3", "msg_01aaa", [task], 1.1, "f2", tokens=(10, 30)),
        result(FIRST, "f4", "toolu_task", "Three callers.", 4, {"agentId": "a1b2c3"}),
        assistant(FIRST, "f5", "msg_01bbb", [edit], 5, "f4"),
        result(FIRST, "f6", "toolu_edit", "Done.", 6, patch),
        {"type": "summary", "summary": "A title of its own", "leafUuid": "f6"},
        {"type": "custom-title", "customTitle": "Callers", "sessionId": FIRST},
        assistant(FIRST, "f7", "msg_01ccc", "There are three. 🐟", 7, "f6"),
        {"type": "no-such-kind", "sessionId": FIRST, "strange": True},
    ]


def _agent() -> list[Line]:
    lines = [
        user(FIRST, "g1", "Find the callers.", 1.2),
        assistant(FIRST, "g2", "msg_01ddd", [call("toolu_grep", "Grep", pattern="x")], 2, "g1"),
        result(FIRST, "g3", "toolu_grep", "a.py:3", 2.5),
        assistant(FIRST, "g4", "msg_01eee", "Three callers.", 3, "g3"),
    ]
    return [{**line, "isSidechain": True, "agentId": "a1b2c3"} for line in lines]


def _old() -> list[Line]:
    """A subagent inside the main transcript, tied to its call by the prompt alone."""
    inner = [
        user(OLD, "o3", "Count the stars.", 21),
        assistant(OLD, "o4", "msg_01old2", "Nine.", 22, "o3"),
    ]
    return [
        user(OLD, "o1", "How many stars?", 20),
        assistant(
            OLD,
            "o2",
            "msg_01old1",
            [call("toolu_old", "Task", description="Count", prompt="Count the stars.")],
            20.5,
            "o1",
        ),
        *({**line, "isSidechain": True} for line in inner),
        result(OLD, "o5", "toolu_old", "Nine.", 23),
    ]


def _fork() -> list[Line]:
    copied = [{**line, "sessionId": FORK} for line in _first() if "uuid" in line]
    return [
        *copied,
        user(FORK, "k1", "Another way, please.", 30, "f7"),
        assistant(FORK, "k2", "msg_01fff", "Like so.", 31, "k1"),
    ]


def _branch() -> list[Line]:
    copied = [
        {**line, "sessionId": BRANCH, "forkedFrom": {"sessionId": FIRST, "messageUuid": line["uuid"]}}
        for line in _first()[:5]
        if "uuid" in line
    ]
    return [
        *copied,
        user(BRANCH, "b1", "On the branch.", 40, "f4"),
        {"type": "continued-in", "sessionId": BRANCH, "continuedInSessionId": FORK},
    ]


def _stream() -> list[Line]:
    message: Line = {
        "id": "msg_01sss",
        "role": "assistant",
        "model": "claude-opus-4-1",
        "content": [{"type": "text", "text": "Saved."}],
    }
    message["usage"] = {"input_tokens": 3, "output_tokens": 4}
    return [
        {"type": "note", "text": "the first line states no session"},
        {"type": "assistant", "uuid": "s0", "timestamp": at(50), "message": {**message, "id": "msg_01rrr"}},
        {"type": "system", "subtype": "init", "session_id": STREAM, "cwd": "/home/mira/src/stream", "uuid": "s1"},
        {"type": "assistant", "uuid": "s2", "session_id": STREAM, "timestamp": at(51), "message": message},
        {"type": "result", "subtype": "success", "session_id": STREAM, "uuid": "s3", "total_cost_usd": 0.1},
    ]


def _gateway() -> list[Line]:
    line = assistant(GATEWAY, "w1", "gen-1", "From a gateway.", 60)
    del line["requestId"]
    queue = {"type": "queue-operation", "sessionId": GATEWAY, "timestamp": at(61)}
    return [
        line,
        {**queue, "operation": "enqueue", "content": "Typed while it worked."},
        {**queue, "operation": "remove"},
        entry(
            "system",
            GATEWAY,
            "w2",
            62,
            "w1",
            subtype="compact_boundary",
            compactMetadata={"trigger": "auto", "preTokens": 9},
        ),
    ]


def _parallel() -> list[Line]:
    """Results that stand before their calls: of a subagent, of an edit, of a call that failed; and one without a call."""
    task = call("toolu_spawn", "Agent", description="Look", prompt="Look for it.")
    edit = call("toolu_write", "Write", file_path="/home/mira/src/app/b.py", content="1\n2\n")
    patch = {"filePath": "/home/mira/src/app/b.py", "type": "update", "structuredPatch": [{"lines": ["-1", "+2"]}]}
    failed = result(PARALLEL, "l6", "toolu_list", "no such folder", 73)
    failed["message"]["content"][0]["is_error"] = True
    return [
        result(PARALLEL, "l1", "toolu_spawn", "Launched, agentId: d4e5f6", 72),
        user(PARALLEL, "l2", "Do all of it.", 70),
        result(PARALLEL, "l3", "toolu_write", "Done.", 72, patch),
        result(PARALLEL, "l4", "toolu_nowhere", "Of no call.", 72),
        assistant(PARALLEL, "l5", "msg_01ppp", [task, edit], 71, "l2"),
        failed,
        assistant(PARALLEL, "l7", "msg_01ppp", [call("toolu_list", "Bash", command="ls x")], 71, "l5"),
        assistant(PARALLEL, "l8", "msg_01qqq", "All done.", 74, "l6"),
    ]


def files() -> dict[str, bytes]:
    """Every file by its path."""
    first = raw(_first())
    damaged = first.replace(b"\n", b"\r\n", 2)  # two lines as Windows ends them
    glued = raw(_gateway()[:2]).replace(b"\n", b"", 1)
    torn = b'{"type":"user","uuid":"torn","mess' + raw([user(FIRST, "f8", "After a torn line.", 8)])
    odd = b"\x00\x00\x00" + raw([user(FIRST, "f9", "After zeros.", 9)])
    broken = raw([user(FIRST, "f10", "A broken character: X", 10)]).replace(b"X", b"\xff")
    unfinished = raw([assistant(FIRST, "f11", "msg_01ggg", "The last line has no end.", 11)])[:-1]
    meta = {"agentType": "Explore", "description": "Look around", "toolUseId": "toolu_task", "spawnDepth": 1}
    todo = [{"content": "Call them", "status": "pending"}, {"content": "half a pair: \ud83d", "status": "done"}]
    typed = [
        {"display": "Where is it?", "timestamp": 1_770_000_000_000, "project": "/home/mira/src/app", "sessionId": FIRST}
    ] * 3
    return {
        main_path(FIRST): damaged + b"\n   \n" + torn + odd + b"not json\n" + broken + unfinished,
        agent_path(FIRST, "a1b2c3"): raw(_agent()),
        agent_path(FIRST, "a1b2c3").replace(".jsonl", ".meta.json"): json.dumps(meta).encode(),
        f"{FOLDER}/agent-beside.jsonl": raw([{**line, "agentId": "beside"} for line in _agent()[:1]]),
        f"{FOLDER}/{FIRST}/tool-results/toolu_edit.txt": b"a long output, kept aside",
        f"{FOLDER}/{FIRST}/tool-results/picture.png": b"\x89PNG\x00\x00",
        main_path(FORK): raw(_fork()),
        main_path(BRANCH): raw(_branch()),
        main_path(TITLES): raw([{"type": "summary", "summary": "A title from elsewhere", "leafUuid": "k2"}]),
        main_path(OLD): raw(_old()),
        f"{FOLDER}/saved stream.jsonl": raw(_stream()),
        f"{FOLDER}/renamed.jsonl": raw([{"type": "note"}]) * 2,
        main_path(GATEWAY): glued + raw(_gateway()[2:]),
        main_path(EMPTY): b"",
        main_path(PARALLEL): raw(_parallel()),
        "history.jsonl": raw(typed) + b'{"display":"cut off"',
        f"todos/{FIRST}-agent-{FIRST}.json": json.dumps(todo).encode(),
    }
