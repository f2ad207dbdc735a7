"""What other clients say about permissions, in the same terms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hansard.clients import BUILT_IN, client_of
from hansard.clients.codex.client import Codex
from hansard.clients.qwen import QwenCode
from tests.clients.folding import fold_bytes


def said(client: Any, *lines: dict[str, Any]) -> list[tuple[str, str, str]]:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return [row[2:] for row in fold_bytes(client, data, "s").rows.permissions]


@pytest.mark.parametrize(
    ("approval", "sandbox", "expected"),
    [
        ("never", {"type": "danger-full-access"}, ("bypass", "never, danger-full-access")),
        ("never", {"mode": "workspace-write"}, ("auto", "never, workspace-write")),
        ("never", {"type": "read-only"}, ("deny", "never, read-only")),
        ("on-request", {"type": "workspace-write"}, ("auto", "on-request, workspace-write")),
        ("untrusted", "read-only", ("ask", "untrusted, read-only")),
    ],
)
def test_codex_states_approval_and_sandbox(approval: str, sandbox: Any, expected: tuple[str, str]) -> None:
    turn = {"approval_policy": approval, "sandbox_policy": sandbox, "cwd": "/x", "model": "m"}
    lines = [{"timestamp": "2026-03-04T05:06:07Z", "type": "turn_context", "payload": turn}] * 2
    assert said(Codex(), *lines) == [("mode", *expected)]


def test_codex_says_that_the_user_refused() -> None:
    call = {"type": "function_call", "name": "shell", "call_id": "c", "arguments": '{"command":["ls"]}'}
    result = {"type": "function_call_output", "call_id": "c", "output": "exec command rejected by user"}
    lines = [{"timestamp": "2026-03-04T05:06:07Z", "type": "response_item", "payload": item} for item in (call, result)]
    assert said(Codex(), *lines) == [("denied", "user", "")]


@pytest.mark.parametrize(
    ("output", "by"), [("[Operation Cancelled] Reason: User denied execution.", "user"), ("stopped", "interrupted")]
)
def test_qwen_says_why_a_call_was_cancelled(output: str, by: str) -> None:
    part = {"functionResponse": {"id": "c", "name": "run_shell_command", "response": {"error": output}}}
    line = {
        "uuid": "u", "sessionId": "s", "timestamp": "2026-03-04T05:06:07Z", "type": "tool_result", "cwd": "/x",
        "message": {"role": "user", "parts": [part]}, "toolCallResult": {"callId": "c", "status": "cancelled"},
    }  # fmt: skip
    assert said(QwenCode(), line) == [("denied", by, "")]


def test_clients_that_say_nothing_say_so() -> None:
    stated = {name: client_of(name).permission_facts for name in ("claude-code", *BUILT_IN)}
    assert stated["claude-code"] == {"modes", "approvals", "denials"}
    assert stated["aider"] == frozenset()
    assert stated["amp"] == {"denials"}
