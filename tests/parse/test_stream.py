"""The SDK's stream-json, which people save beside their transcripts."""

from __future__ import annotations

from tests.parse.making import SESSION, fold, issues, line, text


def test_a_saved_stream_is_read() -> None:
    session = {"session_id": SESSION, "uuid": "u"}
    lines = [
        {
            "type": "system",
            "subtype": "init",
            "cwd": "/w",
            "tools": ["Bash"],
            "model": "m",
            "mcp_servers": [],
            **session,
        },
        {
            "type": "assistant",
            "message": {"id": "msg_01s", "model": "m", "content": [text("hi")], "usage": {"output_tokens": 2}},
            "parent_tool_use_id": None,
            **session,
        },
        {
            "type": "user",
            "message": {"role": "user", "content": "to a subagent"},
            "parent_tool_use_id": "toolu_7",
            **session,
        },
        {"type": "stream_event", "event": {"type": "message_start"}, "parent_tool_use_id": None, **session},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "num_turns": 1,
            "result": "hi",
            "total_cost_usd": 0.1,
            "usage": {},
            **session,
        },
    ]
    assert not issues(b"\n".join(line(value) for value in lines))
    folded = fold(*lines)
    assert folded.state.session_id == SESSION
    assert folded.state.cwd == "/w"
    assert folded.state.kinds == {"system/init": 1, "assistant": 1, "user": 1, "stream_event": 1, "result": 1}
    assert folded.state.drift == {}
    assert [row[4] for row in folded.rows.records] == [None, "reply", "instruction", None, None]
    assert [row[8] for row in folded.rows.records] == [0, 0, 1, 0, 0]
    assert [stated.output for stated in folded.rows.usage.values()] == [2]
