"""A session's thread, read back from the record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import hansard
from hansard.clients.claude_code.meaning import patch_of, tool_input
from hansard.errors import NotFound
from hansard.model.serialize import plain
from tests.sync.making import Line, assistant, call, entry, main_path, raw, result, session, user

if TYPE_CHECKING:
    from hansard.model.threads import Conversation
    from tests.sync.making import Tree

A = session(1)


def _read(tree: Tree, lines: list[Line], agent: str | None = None) -> Conversation:
    tree.write(main_path(A), lines)
    tree.sync()
    with hansard.open(tree.home) as store:
        return store.conversation(A, agent=agent)


def _said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(said.kind, said.text) for said in conversation.entries]


def _queue(operation: str, content: str | None = None) -> Line:
    return {"type": "queue-operation", "operation": operation, "content": content, "sessionId": A}


def test_a_prompt_that_waited_in_the_queue_is_shown(tree: Tree) -> None:
    conversation = _read(
        tree,
        [
            user(A, "p", "Begin."),
            _queue("enqueue", "And the tests too."),
            _queue("enqueue", "Taken back."),
            _queue("remove"),
            _queue("popAll"),
            assistant(A, "a", "msg_01", "Done.", 1, "p"),
        ],
    )
    assert _said(conversation) == [("prompt", "Begin."), ("prompt", "And the tests too."), ("reply", "Done.")]
    assert [said.queued for said in conversation.entries] == [False, True, False]
    with hansard.open(tree.home) as store:
        assert store.session(A).prompts == 2


def test_who_queued_it_decides_what_it_is(tree: Tree) -> None:
    queued = {"type": "queued_command", "prompt": "It is ready."}
    lines = [
        user(A, "p", "Begin."),
        entry("attachment", A, "q", 1, "p", attachment={**queued, "origin": {"kind": "task-notification"}}),
        entry("attachment", A, "r", 2, "q", attachment=queued),
    ]
    assert [said.kind for said in _read(tree, lines).entries] == ["prompt", "notification", "prompt"]


def test_no_result_replaces_another(tree: Tree) -> None:
    nameless = {"type": "tool_use", "name": "Bash", "input": {}}
    lines = [
        assistant(A, "a", "msg_01", [call("t1", "Bash", command="ls"), nameless]),
        result(A, "r1", "t1", "first"),
        result(A, "r2", "t1", "second"),
        user(A, "r3", [{"type": "tool_result", "content": "of nobody"}]),
    ]
    conversation = _read(tree, lines)
    assert [said.tool.output for said in conversation.entries if said.tool] == ["first", None]
    assert _said(conversation)[2:] == [("output", "second"), ("output", "of nobody")]


def test_what_stands_beside_a_result_is_not_lost(tree: Tree) -> None:
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    lines = [
        assistant(A, "a", "msg_01", [call("t1", "Bash", command="ls")]),
        user(A, "r", [answer, {"type": "text", "text": "But mind the gap."}]),
        user(A, "s", [answer, {"type": "text", "text": "<system-reminder>x</system-reminder>"}]),
    ]
    conversation = _read(tree, lines)
    assert _said(conversation) == [("tool", ""), ("note", "But mind the gap."), ("output", "done")]
    assert conversation.not_shown == {"user/reminder": 1}


def test_an_overflowed_output_is_found_by_its_name(tree: Tree) -> None:
    preview = "<persisted-output>\nthe beginning"
    tree.write(f"projects/-home-mira-src-app/{A}/tool-results/b1x.txt", b"the whole output")
    tree.write(f"projects/-home-mira-src-app/{A}/tool-results/t2.txt", b"by the call's id")
    outcome = {"persistedOutputPath": f"C:\\Users\\mira\\{A}\\tool-results\\b1x.txt"}
    lines = [
        assistant(A, "a", "msg_01", [call("t1", "Bash"), call("t2", "Bash"), call("t3", "Bash")]),
        result(A, "r1", "t1", preview, 1, outcome),
        result(A, "r2", "t2", preview, 2),
        result(A, "r3", "t3", preview, 3),
    ]
    calls = [said.tool for said in _read(tree, lines).entries if said.tool]
    assert [made.output for made in calls] == ["the whole output", "by the call's id", preview]
    assert [made.persisted for made in calls] == [True, True, False]


def test_a_sidechain_is_read_whole_and_the_main_thread_says_that_it_is_there(tree: Tree) -> None:
    side: dict[str, Any] = {"isSidechain": True}
    lines = [
        user(A, "p", "Begin."),
        user(A, "s1", "Look.", 1, **side),
        # Lines may stand before the ones they hang on.
        assistant(A, "s3", "msg_013", "Third.", 3, "s2", **side),
        assistant(A, "s2", "msg_012", "Second.", 2, "s1", **side),
    ]
    assert _said(_read(tree, lines, "sidechain-s1")) == [("prompt", "Look."), ("reply", "Third."), ("reply", "Second.")]
    main = _read(tree, lines)
    assert _said(main) == [("prompt", "Begin.")]
    assert main.not_shown == {"sidechain": 3}


def test_what_cannot_be_read_is_shown_as_it_is(tree: Tree) -> None:
    whole = raw([user(A, "p", "Begin."), assistant(A, "a", "msg_01", "Done.", 1, "p")]).splitlines()
    torn = whole[1][:-30] + whole[1]
    deep = b"[" * 5000
    many = b'{"type":"user","message":{"content":[' + b"{}," * 600_000 + b"{}]}}"
    lines = [b"\xff<b>no JSON</b>", whole[0], torn, b"[1]", deep, b"\x00\x00", many, whole[0][:-5]]
    tree.write(main_path(A), b"\n".join(lines))
    tree.sync()
    with hansard.open(tree.home) as store:
        conversation = store.conversation(A)
    places = {line: b"\n".join(lines).find(line) for line in lines}
    assert [(said.kind, said.offset, said.length) for said in conversation.entries] == [
        ("unreadable", 0, len(lines[0])),
        ("prompt", places[whole[0]], len(whole[0])),
        ("unreadable", places[torn], len(whole[1]) - 30),
        ("reply", places[torn] + len(whole[1]) - 30, len(whole[1])),
        ("unreadable", places[b"[1]"], 3),
        ("unreadable", places[deep], 5000),
        ("unreadable", places[many], len(many)),
    ]
    first, _, _, _, value, nested, last = (said.text for said in conversation.entries)
    assert first == "not json: \ufffd<b>no JSON</b>"
    assert value == "not an object: [1]"
    assert nested == "too deep: " + "[" * 2000 + "\n... 3,000 more bytes"
    assert last.startswith('too many values: {"type":"user"')
    assert last.endswith(f"\n... {len(many) - 2000:,} more bytes")


def test_an_agents_name_is_no_pattern(tree: Tree) -> None:
    with pytest.raises(NotFound):
        _read(tree, [user(A, "p", "Begin."), user(A, "s1", "Look.", 1, isSidechain=True)], "%")


def test_an_input_too_deep_to_be_walked_is_text() -> None:
    shallow, deep = b'{"a":' * 50 + b"1" + b"}" * 50, b'{"a":' * 700 + b"1" + b"}" * 700
    assert tool_input(msgspec.Raw(shallow)) == json.loads(shallow)
    assert plain(tool_input(msgspec.Raw(deep))) == deep.decode()
    wide = [{"a": [1]}] * 200
    assert tool_input(msgspec.Raw(json.dumps(wide).encode())) == wide


@pytest.mark.parametrize(
    ("lines", "shown"),
    [(["-a", 3, "+b"], "@@ -1,2 +1,2 @@\n-a\n+b"), (5, "@@ -1,2 +1,2 @@"), ("abc", "@@ -1,2 +1,2 @@")],
)
def test_a_patch_of_any_shape(lines: Any, shown: str) -> None:
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": lines}
    assert patch_of(msgspec.Raw(json.dumps({"structuredPatch": [hunk]}).encode())) == shown


def test_short_unreadable_lines_are_shown_together(tree: Tree) -> None:
    first, last = raw([user(A, "u1", "one")]), raw([user(A, "u2", "two", 1, "u1")])
    long = b"y" * 100 + b"\n"
    tree.write(main_path(A), first + b"x\n" * 5000 + b"z\n" + b"\x00\n" * 5000 + long + long + last)
    tree.sync()
    with hansard.open(tree.home) as store:
        entries = store.conversation(A).entries
        (kind,) = [kind for kind in store.issues() if kind.reason == "not_json"]
        assert store.status().issues == 10_003
    assert [entry.kind for entry in entries] == ["prompt", *["unreadable"] * 3, "prompt"]
    junk = entries[1]
    assert (junk.offset, junk.length) == (len(first), 10_001)
    assert junk.text.startswith("not json: x\nx\n")
    assert junk.text.endswith("8,001 more bytes")
    assert kind.count == 5003
