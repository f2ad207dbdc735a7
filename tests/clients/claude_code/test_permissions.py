"""Modes of prompts and decisions about calls, as versions of the client state them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.claude_code.making import SESSION, assistant, fold, line, tool_result, tool_use, user


def decided(content: str, **fields: Any) -> list[tuple[str, str, str]]:
    is_error = fields.pop("is_error", True)
    result = user([tool_result(content, is_error=is_error)], **fields)
    rows = fold(assistant(tool_use("Bash", {"command": "x"})), result).rows.permissions
    return [row[2:] for row in rows]


def test_a_mode_is_a_row_where_it_changes() -> None:
    lines = [
        user("a", permissionMode="default"),
        user("b", permissionMode="default"),
        {"type": "permission-mode", "permissionMode": "bypassPermissions", "sessionId": SESSION},
        user("c", permissionMode="bypassPermissions"),
        user("d", permissionMode="acceptEdits"),
        user("of a subagent", permissionMode="plan", isSidechain=True),
    ]
    offsets = [sum(len(line(item)) + 1 for item in lines[:number]) for number in (0, 2, 4)]
    assert [(row[0], *row[2:]) for row in fold(*lines).rows.permissions] == [
        (offsets[0], "mode", "ask", "default"),
        (offsets[1], "mode", "bypass", "bypassPermissions"),
        (offsets[2], "mode", "edits", "acceptEdits"),
    ]


@pytest.mark.parametrize("mode", [7, None, [], "", {"a": 1}])
def test_a_mode_of_another_type_does_not_matter(mode: Any) -> None:
    assert all(row[2] == "mode" for row in fold(user("a", permissionMode=mode)).rows.permissions)


@pytest.mark.parametrize(
    ("content", "fields", "expected"),
    [
        ("ok", {"is_error": False}, []),
        (
            "ok",
            {"is_error": False, "permissionDecision": {"decision": "accept", "source": "config", "ruleSource": "cliArg"}},
            [("allowed", "rule", "config, cliArg")],
        ),
        (
            "ok",
            {"is_error": False, "permissionDecision": {"decision": "accept", "source": "user_temporary", "grantScope": "once"}},
            [("allowed", "user", "user_temporary, once")],
        ),
        (
            "PreToolUse:Bash hook error: [x]: no",
            {"permissionDecision": {"decision": "reject", "source": "hook", "reasonCode": "hook:PreToolUse"}},
            [("denied", "hook", "hook, hook:PreToolUse")],
        ),
        # Print mode asks nobody, yet the client says that the user rejected.
        (
            "Claude requested permissions to write to /x, but you haven't granted it yet.",
            {"toolDenialKind": "user-rejected", "permissionDecision": {"decision": "reject", "source": "config"}},
            [("denied", "unanswered", "config")],
        ),
        (
            "Cannot write to /x while in plan mode.",
            {"permissionDecision": {"decision": "reject", "source": "config", "reasonCode": "mode:plan"}},
            [("denied", "mode", "config, mode:plan")],
        ),
        ("The user doesn't want to proceed with this tool use.", {"toolDenialKind": "user-rejected"}, [("denied", "user", "user-rejected")]),
        ("The user doesn't want to take this action right now.", {}, [("denied", "user", "")]),
        ("[Tool call interrupted: the session ended", {"toolDenialKind": "interrupted"}, [("denied", "interrupted", "interrupted")]),
        ("no", {"toolDenialKind": "automode-parsing-error"}, [("denied", "classifier", "automode-parsing-error")]),
        ("PreToolUse:Bash hook error: [x]: no", {"toolDenialKind": "permission-rule"}, [("denied", "hook", "permission-rule")]),
        ("Exit code 1\npermission denied: /etc/shadow", {}, []),
        ("The user doesn't want to proceed, says a page", {"is_error": False}, []),
        ("x", {"permissionDecision": 7, "toolDenialKind": None}, []),
    ],
)  # fmt: skip
def test_decisions(content: str, fields: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    assert decided(content, **fields) == expected
