"""Who said a line, and which of its text is shown and found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from hansard.clients.claude_code.meaning import (
    command_of,
    full_kind,
    input_text,
    lenient,
    milliseconds,
    prompt_text,
    raw_is_string,
    result_text,
    role,
    sub_kind,
    user_text,
)
from hansard.clients.claude_code.usage import _iterations
from hansard.clients.texts import without_base64
from tests.clients.claude_code.making import assistant, entry, fold, line, only, said, text, tool_result, tool_use, user

PNG = "iVBORw0KGgo" + "A" * 200


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def meaning(value: dict[str, Any], *, sidechain: bool = False) -> str:
    record = only(line(value))
    content = record.body.message.content
    has_result = isinstance(content, list) and any(block.type == "tool_result" for block in content)
    return role(record.body, user_text(content), has_result=has_result, sidechain=sidechain)


@pytest.mark.parametrize(
    ("opening", "expected"),
    [
        ("Fix the bug", "prompt"),
        ("", "prompt"),
        ("<div> is not centred", "prompt"),
        ("Stop hook feedback:\n- [make test]: 2 failed", "prompt"),
        ("<command-name>/model</command-name>", "command"),
        ("<command-message>init is running…</command-message>", "command"),
        ("<local-command-stdout>ok</local-command-stdout>", "command_output"),
        ("<local-command-caveat>", "command_output"),
        ("<bash-input>ls</bash-input>", "bash"),
        ("<bash-stdout>a</bash-stdout>", "bash_output"),
        ("<bash-stderr>a</bash-stderr>", "bash_output"),
        ("<task-notification>\n<task-id>b1</task-id>", "notification"),
        ('<teammate-message teammate_id="x">', "teammate"),
        ("<system-reminder>", "reminder"),
        ("Caveat: The messages below", "meta"),
        ("[Request interrupted by user for tool use]", "interruption"),
        ("<session-start-hook>context</session-start-hook>", "hook"),
        ("<user-prompt-submit-hook>more</user-prompt-submit-hook>", "hook"),
        ("<post-tool-use-hook>seen</post-tool-use-hook>", "hook"),
        ("<some-new-hook>", "hook"),
        ("<hook>", "prompt"),
        ("<my-hook is broken", "prompt"),
        ("a <session-start-hook> later", "prompt"),
    ],
)
def test_the_opening_says_who_speaks(opening: str, expected: str) -> None:
    assert meaning(user(opening)) == expected
    assert meaning(user([text(opening)])) == expected
    assert [row[4] for row in fold(user(opening)).rows.records] == [expected]
    if opening:
        commands = {"command", "bash", "command_output", "bash_output"}
        kind = "prompt" if expected == "prompt" else "command" if expected in commands else "note"
        ((_, found, _),) = said(user(opening))
        assert found == kind


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"isMeta": True}, "meta"),
        ({"isCompactSummary": True}, "compact_summary"),
        ({"repeatsCompactSummary": True}, "compact_summary"),
        ({"origin": {"kind": "human"}}, "prompt"),
        ({"origin": {"kind": "task-notification"}}, "notification"),
        ({"origin": {"kind": "peer"}}, "teammate"),
        ({"origin": {"kind": "coordinator"}}, "teammate"),
        ({"origin": {"kind": 7}}, "prompt"),
        ({"origin": "human"}, "prompt"),
        ({"promptSource": "typed"}, "prompt"),
        ({"promptSource": "sdk"}, "prompt"),
        ({"promptSource": "system"}, "notification"),
    ],
)
def test_newer_lines_say_it_themselves(fields: dict[str, Any], expected: str) -> None:
    assert meaning(user("do it", **fields)) == expected


def test_the_same_words_in_a_subagent_are_an_instruction() -> None:
    assert meaning(user("do it"), sidechain=True) == "instruction"
    assert said(user("do it"), sidechain=True) == [(0, "note", "do it")]


def test_words_beside_a_result_are_no_prompt() -> None:
    value = user([tool_result("out"), text("[Request interrupted by user]")])
    assert meaning(value) == "result"
    assert said(value) == [(0, "result", "out"), (1, "note", "[Request interrupted by user]")]
    assert fold(value).rows.prompts == []


def test_an_image_can_be_a_prompt() -> None:
    value = user([{"type": "image", "source": {"type": "base64", "data": PNG}}, text("what is this?")])
    assert meaning(value) == "prompt"
    assert said(value) == [(1, "prompt", "what is this?")]


def test_what_an_editor_adds_is_not_the_prompt() -> None:
    value = user([text("<ide_opened_file>x.py</ide_opened_file>"), text("fix it")])
    assert user_text(only(line(value)).body.message.content) == "fix it"
    assert meaning(value) == "prompt"
    alone = user([text("<ide_opened_file>x.py</ide_opened_file>")])
    assert user_text(only(line(alone)).body.message.content).startswith("<ide_")


@pytest.mark.parametrize(
    ("prompt", "column"),
    [
        ("queued words", "prompt"),
        ([text("queued "), text("blocks")], "prompt"),
        ("<div>?", "prompt"),
        ("<task-notification>done", "note"),
        ("<session-start-hook>", "note"),
    ],
)
def test_queued_prompts_follow_the_same_rules(prompt: Any, column: str) -> None:
    value = entry("attachment", attachment={"type": "queued_command", "prompt": prompt, "commandMode": "prompt"})
    assert [shown[1] for shown in said(value)] == [column]
    assert fold(value).state.queued == (1 if column == "prompt" else 0)


def test_texts_of_an_answer() -> None:
    value = assistant(
        {"type": "thinking", "thinking": "hm", "signature": "c2ln" * 50},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "secret"},
        text("answer"),
        tool_use("Bash", {"command": "ls", "nested": [{"deep": ["er"]}], "n": 1}),
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [text("found")]},
        {"type": "unheard_of", "text": "?"},
    )
    assert said(value) == [(0, "thinking", "hm"), (3, "reply", "answer"), (4, "call", "ls\ner"), (5, "result", "found")]


def test_texts_of_side_records() -> None:
    assert said(entry("system", subtype="local_command", content="words")) == [(0, "command", "words")]
    assert said(entry("system", subtype="x", content={"a": "b"})) == [(0, "note", '{"a":"b"}')]
    assert said({"type": "summary", "summary": "A title", "leafUuid": "u"}) == [(0, "title", "A title")]
    file = entry("attachment", attachment={"type": "file", "filename": "f", "content": {"text": "inside"}})
    assert said(file) == [(0, "note", "file\nf\ninside")]
    assert said(entry("attachment", attachment={"type": "skill_listing", "content": "long"})) == []
    assert said(entry("progress", data={"type": "x", "message": "y"})) == []
    assert said({"type": "brand-new", "text": "x"}) == []


def test_base64_is_not_text() -> None:
    assert without_base64(f"see data:image/png;base64,{PNG} there") == "see data:image/png;base64 there"
    assert without_base64("the base64 module") == "the base64 module"
    image = {"type": "image", "source": {"type": "base64", "data": PNG}}
    assert said(user([tool_result([text("shot"), image])])) == [(0, "result", "shot")]


def test_twins_are_not_text() -> None:
    assert said(user([tool_result("once")], toolUseResult={"stdout": "once"})) == [(0, "result", "once")]


@pytest.mark.parametrize(
    ("content", "command"),
    [
        ("<command-name>/model</command-name>\n<command-args> opus  4 </command-args>", "/model opus  4"),
        ("<command-message>x</command-message><command-name> /init </command-name>", "/init"),
        ("<bash-input> ls -l </bash-input>", "!ls -l"),
        ("<command-name>/open", ""),
        ("</command-name><command-name>", ""),
        ("<command-name></command-name>", ""),
        ("plain", ""),
    ],
)
def test_commands(content: str, command: str) -> None:
    assert command_of(content) == command


def test_hostile_commands_take_linear_time() -> None:
    assert command_of("<command-name>" * 200_000) == ""
    assert command_of("<command-name>" + " " * 2_000_000) == ""


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("1970-01-01T00:00:01.234Z", 1234),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:01", 1000),
        ("1969-12-31T23:59:59.999Z", -1),
        ("", None),
        (None, None),
        ("yesterday", None),
        ("9999-12-31T23:59:59-23:59", 253402387139000),
        ("0001-01-01T00:00:00+23:59", -62135683140000),
        ("2026-02-30T00:00:00Z", None),
    ],
)
def test_times(timestamp: str | None, expected: int | None) -> None:
    assert milliseconds(timestamp) == expected


@settings(deadline=None)
@given(st.text())
def test_any_time(timestamp: str) -> None:
    found = milliseconds(timestamp)
    assert found is None or abs(found) < 1 << 53


def test_kinds_have_second_halves() -> None:
    def name(value: dict[str, Any]) -> str:
        record = only(line(value))
        return full_kind(record.kind, sub_kind(record.body))

    assert name(entry("system", subtype="api_error")) == "system/api_error"
    assert name(entry("attachment", attachment={"type": "file"})) == "attachment/file"
    assert name(entry("attachment", attachment={"type": 7})) == "attachment"
    assert name(entry("attachment", attachment="?")) == "attachment"
    assert name(entry("progress", data={"type": "hook_progress"})) == "progress"
    assert name(user("x")) == "user"


def test_pieces_of_other_shapes() -> None:
    assert prompt_text(raw("text")) == "text"
    assert prompt_text(raw([text("a"), "b", 7])) == "a\nb"
    assert prompt_text(raw({"a": 1})) == ""
    assert prompt_text(Raw(b"")) == ""
    assert result_text(raw([text("a"), {"type": "tool_reference", "tool_name": "x"}])) == "a"
    assert result_text(raw({"a": 1})) == ""
    assert input_text(raw({"a": ["x", {"b": "y"}], "c": "z"})) == "x\ny\nz"
    assert input_text(Raw(b'{"a":NaN,"b":"\\ud800"}')) == "\ufffd"
    assert raw_is_string(raw("x"))
    assert not raw_is_string(raw([]))
    assert [call.type for call in lenient(_iterations, raw([{"type": "a", "input_tokens": "?"}, 7]))] == ["a"]
