"""The SDK's stream-json, which people save beside their transcripts."""

from __future__ import annotations

from tests.clients.claude_code.making import SESSION, fold, issues, line, text


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


def test_the_end_of_an_answer_knows_what_it_used() -> None:
    """Of the lines of an answer the first alone states usage, before anything was written."""
    session = {"session_id": SESSION, "parent_tool_use_id": None}
    begun = {"input_tokens": 5, "output_tokens": 3}
    message = {"id": "msg_01s", "model": "m", "content": [text("hi")], "usage": begun, "stop_reason": None}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {**begun, "output_tokens": 48}}
    other = {**message, "id": "msg_01t"}
    lines = [
        {"type": "system", "subtype": "init", "cwd": "/w", "claude_code_version": "2.1.325", **session, "uuid": "u1"},
        {"type": "assistant", "message": message, **session, "uuid": "u2", "timestamp": "2026-03-01T09:00:00.000Z"},
        {"type": "stream_event", "event": ended, "api_message_id": "msg_01s", **session, "uuid": "u3"},
        {**session, "type": "assistant", "message": other, "agent_id": "a1", "parent_tool_use_id": "t1", "uuid": "u4"},
        {"type": "result", "subtype": "success", "modelUsage": {"m": {"outputTokens": 99}}, **session, "uuid": "u5"},
    ]
    assert not issues(b"\n".join(line(value) for value in lines))
    folded = fold(*lines)
    assert folded.state.version == "2.1.325"
    assert folded.state.messages == 2
    assert folded.state.drift == {}
    assert "99" in folded.state.cost_state
    one, two = folded.rows.usage["msg_01s"], folded.rows.usage["msg_01t"]
    assert (one.output, one.model, one.is_lower_bound, one.agent_id) == (48, "m", False, "")
    assert (two.output, two.is_lower_bound, two.agent_id) == (3, True, "a1")
