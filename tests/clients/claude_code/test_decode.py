"""Every way in which a line can be strange, and what is had from it all the same."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import fields

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import decode, items, survivors, text_of
from hansard.clients.claude_code.texts import texts
from hansard.clients.lines import Issue, ParsedLine
from tests.clients.claude_code.making import (
    SESSION,
    assert_storable,
    assistant,
    entry,
    fold,
    folding,
    issues,
    line,
    only,
    read,
    records,
    said,
    text,
    tool_result,
    tool_use,
    uncovered,
    user,
)

GOOD = line(user("before"))
ALSO_GOOD = line(assistant(text("after"), uuid="u9"))
SUMMARY = line({"type": "summary", "summary": "A title", "leafUuid": "leaf"})
DEEP = 100_000


def deep(levels: int = DEEP) -> bytes:
    return b"[" * levels + b"]" * levels


def among_neighbours(damaged: bytes) -> list[ParsedLine | Issue]:
    """What is made of a damaged line, after making sure that its neighbours are whole and no byte of it is forgotten."""
    found = read(b"\n".join((GOOD, damaged, ALSO_GOOD)))
    start = len(GOOD) + 1
    before, after = found[0], found[-1]
    assert before == decode(GOOD, 0)
    assert after == decode(ALSO_GOOD, start + len(damaged) + 1)
    own = found[1:-1]
    assert uncovered(damaged, own, start) == b""
    return [item._replace(offset=item.offset - start) for item in own]


# -- the fast path


def test_an_intact_line_needs_no_salvage() -> None:
    record = decode(GOOD, 17)
    assert record is not None
    assert (record.offset, record.length, record.kind, record.strange) == (17, len(GOOD), "user", ())
    assert record.body.message.content == "before"


@pytest.mark.parametrize("kind", sorted(wire.METADATA))
def test_metadata_is_known_wherever_its_tag_stands(kind: str) -> None:
    first = line({"type": kind, "sessionId": SESSION})
    last = line({"sessionId": SESSION, "type": kind})
    for found in (only(first), only(last)):
        assert (found.kind, type(found.body), found.strange) == (kind, wire.METADATA[kind], ())


def test_the_tag_may_be_escaped() -> None:
    assert only(GOOD.replace(b'"user"', b'"us\\u0065r"')).kind == "user"


def test_the_last_of_two_equal_keys_counts() -> None:
    record = only(GOOD[:-1] + b',"uuid":"second"}')
    assert record.body.uuid == "second"
    assert only(b'{"cwd":"/a","type":"user","type":"assistant","cwd":"/b"}').body.cwd == "/b"


# -- unknown kinds and fields


def test_an_unknown_kind_is_kept_and_noted_as_drift_of_its_version() -> None:
    value = {"type": "brand-new", "version": "9.9.9", "sessionId": SESSION, "payload": [1]}
    assert not issues(line(value))
    record = only(line(value))
    assert (record.kind, record.offset, record.length) == ("brand-new", 0, len(line(value)))
    folded = fold(user("hi"), value, value)
    assert folded.state.kinds == {"user": 1, "brand-new": 2}
    assert folded.state.drift == {"9.9.9\tbrand-new\t": (2, len(line(user("hi"))) + 1)}


def test_an_unknown_field_is_drift_and_costs_nothing_else() -> None:
    value = user("hi", moodRing="blue", version="2.9.0")
    assert not issues(line(value))
    assert only(line(value)).strange == ("moodRing",)
    assert fold(value).state.drift == {"2.9.0\tuser\tmoodRing": (1, 0)}
    assert said(value) == [(0, "prompt", "hi")]


def test_an_unknown_system_subtype_is_a_new_kind() -> None:
    known = {"type": "system", "subtype": "turn_duration", "sessionId": SESSION, "durationMs": 5, "version": "2.1.326"}
    value = {**known, "subtype": "mood_ring"}
    assert only(line(known)).strange == only(line({**known, "subtype": None})).strange == ()
    assert not issues(line(value))
    assert fold(value).state.drift == {"2.1.326\tsystem/mood_ring\t": (1, 0)}
    both = {**value, "moodRing": "blue"}
    assert set(fold(both).state.drift) == {"2.1.326\tsystem/mood_ring\t", "2.1.326\tsystem\tmoodRing"}


def test_unknown_fields_inside_of_records_are_drift() -> None:
    value = assistant({"type": "text", "text": "Yes."}, version="2.9.0")
    value["message"] |= {"mood": 1, "usage": {"input_tokens": 1, "output_tokens": 2, "ink_tokens": 3}}
    assert not issues(line(value))
    assert only(line(value)).strange == ("message.mood", "message.usage.ink_tokens")
    folded = fold(value)
    assert set(folded.state.drift) == {"2.9.0\tassistant\tmessage.mood", "2.9.0\tassistant\tmessage.usage.ink_tokens"}
    snapshot = {"messageId": "u1", "trackedFileBackups": {"a.py": {}}, "timestamp": "2026-11-17T10:00:00.000Z"}
    record = {"type": "file-history-snapshot", "messageId": "u1", "snapshot": snapshot, "isSnapshotUpdate": False}
    assert only(line({**record, "snapshot": {**snapshot, "hasUntrackedChanges": True}})).strange == ()
    assert only(line({**record, "snapshot": {**snapshot, "mood": 1}})).strange == ("snapshot.mood",)
    assert only(line({**record, "snapshot": None})).strange == ()


def test_unknown_fields_of_blocks_and_attachments_are_drift() -> None:
    blocks = [
        {"type": "text", "text": "Yes.", "mood": 1},
        {"type": "thinking", "thinking": "", "signature": "s", "mood": 2},
    ]
    value = assistant(*blocks, version="2.9.0")
    assert not issues(line(value))
    assert only(line(value)).strange == ("message.content.mood",)
    assert fold(value).state.drift == {"2.9.0\tassistant\tmessage.content.mood": (1, 0)}
    known = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"mood": 1}, "caller": {"type": "direct"}}
    assert only(line(assistant(known))).strange == ()

    attached = {"type": "attachment", "sessionId": SESSION, "uuid": "a1", "version": "2.9.0"}
    file = {"type": "file", "filename": "a.py", "displayPath": "a.py", "content": {"mood": 1}}
    assert only(line({**attached, "attachment": file})).strange == ()
    assert only(line({**attached, "attachment": None})).strange == ()
    newer = {**attached, "attachment": {**file, "mood": 1}}
    assert not issues(line(newer))
    assert only(line(newer)).strange == ("attachment.mood",)
    assert set(fold(newer).state.drift) == {"2.9.0\tattachment\tattachment.mood"}


def test_what_is_new_in_2_1_326_is_known() -> None:
    names = "requestSessionId toolDenialBeforeRun tasks summary_is_report parent_task_id originalModel".split()
    assert only(line(user("hi", **dict.fromkeys(names, "x")))).strange == ()


def test_rare_fields_are_known() -> None:
    record = only(line(user("hi", sourceToolUseID="toolu_1", isReplay=True)))
    assert record.strange == ()


def test_drift_of_a_foreign_file_is_bounded() -> None:
    folded = fold(*({f"key{number}": number} for number in range(2000)), {"x" * 5000: 1, "type": "user"})
    assert len(folded.state.drift) == 500
    assert all(len(key) < 250 for key in folded.state.drift)


# -- wrong types


WRONG: tuple[Any, ...] = (7, 1.5, True, [], {}, "text", {"a": 1})
RIGHT: dict[str, tuple[type, ...]] = {
    "cwd": (str,),
    "isSidechain": (bool,),
    "message": (dict,),
    "message.content": (str, list),
    "message.id": (str,),
    "message.usage": (dict,),
    "message.usage.input_tokens": (int,),
}


@pytest.mark.parametrize(
    ("path", "wrong"), [(path, wrong) for path, right in RIGHT.items() for wrong in WRONG if type(wrong) not in right]
)
def test_a_wrong_type_costs_one_field_and_is_named(path: str, wrong: Any) -> None:
    value = assistant(text("still here"))
    place = value
    *outer, name = path.split(".")
    for key in outer:
        place = place[key]
    place[name] = wrong
    issue, record = among_neighbours(line(value))
    assert issue == Issue(0, len(line(value)), "wrong_type", path)
    assert isinstance(record, ParsedLine)
    assert (record.offset, record.length) == (0, len(line(value)))
    assert record.body.uuid == "uuid-of-assistant"
    assert record.body.session_id == SESSION
    shown = [] if path in ("message", "message.content") else [(0, "reply", "still here")]
    if path == "message" and isinstance(wrong, str) and wrong:
        shown = [(0, "reply", wrong)]  # nothing but its text
    assert [text[:3] for text in texts(record, sidechain=False)] == shown
    if path not in ("message", "message.usage"):
        assert record.body.message.usage.output_tokens == 5


def test_a_block_that_is_wrong_keeps_its_place_and_its_neighbours() -> None:
    value = assistant(text("one"), "a bare string", None, {"type": "text", "text": "four", "id": 4}, text("five"))
    (issue,) = issues(line(value))
    assert issue.reason == "wrong_type"
    assert issue.detail == "message.content[1], message.content[2], message.content[3].id"
    assert said(value) == [
        (0, "reply", "one"),
        (1, "reply", "a bare string"),
        (3, "reply", "four"),
        (4, "reply", "five"),
    ]


def test_wrong_types_in_metadata() -> None:
    record = only(line({"type": "pr-link", "prNumber": "seven", "prUrl": "https://x/1", "sessionId": SESSION}))
    assert (record.body.pr_number, record.body.pr_url) == (None, "https://x/1")
    (issue,) = issues(line({"type": "summary", "summary": ["no"], "leafUuid": "leaf"}))
    assert (issue.reason, issue.detail) == ("wrong_type", "summary")


def test_null_is_right_everywhere() -> None:
    names = {field.encode_name for field in fields(wire.StrictEntry)} | wire.RARE_FIELDS
    for kind in sorted(wire.ENTRY_KINDS):
        value = {**dict.fromkeys(names), "type": kind}
        assert not issues(line(value))
        assert said(value) == []
        fold(value)
    blocks = [
        {"type": None, "text": None},
        {"type": "text", "text": None},
        {"type": "tool_use", "input": None, "id": None},
    ]
    value = assistant(*blocks, {"type": "tool_result", "content": None, "tool_use_id": None}, usage=None)
    value["message"].update(usage=None, stop_reason=None, model=None, id=None)
    assert not issues(line(value))
    assert said(value) == []
    fold(value, user(None), entry("user", message={"role": None, "content": None}))
    assert not issues(line(user(None)))


def test_no_type_is_an_issue_and_a_record_of_no_kind() -> None:
    for value in ({"cwd": "/"}, {"type": None}, {"type": 7}, {"type": ["user"]}, {}):
        found = among_neighbours(line(value))
        assert [item.reason for item in found if isinstance(item, Issue)] == ["no_type"]
        assert [item.kind for item in found if isinstance(item, ParsedLine)] == [""]


@pytest.mark.parametrize("data", [b"null", b"7", b'"text"', b"[]", b'[{"type":"user"}]', b"true"])
def test_what_is_no_object(data: bytes) -> None:
    found = among_neighbours(data)
    assert found == [Issue(0, len(data), "not_an_object", "a JSON value that is no object")]


def test_content_is_a_string_or_a_list() -> None:
    assert said(user("plain")) == [(0, "prompt", "plain")]
    assert said(user([text("one"), text("two")])) == [(0, "prompt", "one"), (1, "prompt", "two")]
    assert said(user([tool_result("out")])) == [(0, "result", "out")]
    assert said(user([tool_result([text("a"), text("b")])])) == [(0, "result", "a\nb")]
    assert said(user([tool_result(["a", {"type": "text", "text": "b", "id": 5}, 7])])) == [(0, "result", "a\nb")]
    assert said({**assistant(), "message": {"content": "as a string"}}) == [(0, "reply", "as a string")]


def test_a_message_that_was_spread_over_numbered_keys() -> None:
    spread = {str(place): letter for place, letter in enumerate("event: ping")}
    for extra in ({}, {"usage": {"output_tokens": 5}}):
        value = {**assistant(), "message": {**spread, **extra}}
        found = among_neighbours(line(value))
        assert [item.reason for item in found if isinstance(item, Issue)] == ["no_content"]
        assert said(value) == [(0, "reply", "event: ping")]
    assert only(line({**assistant(), "message": {}})).body.uuid == "uuid-of-assistant"


# -- glued and torn lines


def test_glued_records_are_told_apart() -> None:
    glued = GOOD + ALSO_GOOD + SUMMARY
    first, *rest = among_neighbours(glued)
    assert first == Issue(0, len(glued), "glued", "3 records on one line")
    assert [(item.offset, item.length) for item in rest] == [
        (0, len(GOOD)),
        (len(GOOD), len(ALSO_GOOD)),
        (len(GOOD) + len(ALSO_GOOD), len(SUMMARY)),
    ]


def test_hundreds_of_glued_records() -> None:
    lines = [line(user(f"número {number} ✓", uuid=f"u{number}")) for number in range(300)]
    found = records(b" ".join(lines))
    assert [item.body.uuid for item in found] == [f"u{number}" for number in range(300)]
    start = 0
    for item, own in zip(found, lines, strict=True):
        assert (item.offset, item.length) == (start, len(own))
        start += len(own) + 1


def test_a_start_that_is_missing() -> None:
    rest = line(user('say "hi"', todos=[{"type": "x", "a": {"b": 1}}]))[40:]
    assert among_neighbours(rest) == [Issue(0, len(rest), "not_json", "")]


def test_a_cut_end_with_another_writers_line_behind_it() -> None:
    cut = line(assistant(text("this was cut in the mid")))[:-80]
    torn, record = among_neighbours(cut + ALSO_GOOD)
    assert torn == Issue(0, len(cut), "torn", "beside 1 whole records")
    assert isinstance(record, ParsedLine)
    assert (record.offset, record.length, record.body.uuid) == (len(cut), len(ALSO_GOOD), "u9")


@pytest.mark.parametrize("cut", [b'{"parentUuid":', b'{"parentUuid":null,', b'{"message":{"content":[', b'{"a": '])
def test_a_line_that_breaks_off_where_a_nested_object_might_stand(cut: bytes) -> None:
    torn, record = among_neighbours(cut + ALSO_GOOD)
    assert torn == Issue(0, len(cut), "torn", "beside 1 whole records")
    assert isinstance(record, ParsedLine)
    assert (record.offset, record.length, record.body.uuid) == (len(cut), len(ALSO_GOOD), "u9")


def test_a_middle_that_is_missing() -> None:
    value = line(user("é" * 50 + "tail", cwd="/home/ü/p"))
    damaged = value[:90] + value[150:]
    (issue,) = [item for item in among_neighbours(damaged) if isinstance(item, Issue)]
    assert issue.reason in ("not_json", "invalid_utf8")


def test_two_writers_in_one_line() -> None:
    one = line(user("first writer, é"))
    cut = 120
    torn, record, rest = among_neighbours(one[:cut] + ALSO_GOOD + one[cut:])
    assert (torn.offset, torn.length) == (0, cut)
    assert isinstance(record, ParsedLine)
    assert (record.offset, record.body.uuid) == (cut, "u9")
    assert (rest.offset, rest.length) == (cut + len(ALSO_GOOD), len(one) - cut)


def test_parts_of_a_torn_record_are_no_records() -> None:
    inner = {"type": "assistant", "uuid": "copied", "message": {"content": [text("copy")], "id": "msg_01x"}}
    value = entry("progress", data={"type": "agent_progress", "message": inner})
    for spaced in (line(value), json.dumps(value).encode()):
        for damaged in (spaced[:-20], spaced[60:], b"}" + spaced):
            kinds = [item.kind for item in among_neighbours(damaged) if isinstance(item, ParsedLine)]
            assert kinds in ([], ["progress"])
    block_first = b'{"type":"text","text":"hello"}],"id":"x"},"uuid":"u"}'
    assert among_neighbours(block_first) == [Issue(0, len(block_first), "not_json", "")]


def test_a_hostile_line_costs_bounded_work() -> None:
    hostile = b'{"a":' * 20_000
    assert among_neighbours(hostile) == [Issue(0, len(hostile), "too_deep", "")]


# -- bytes that do not belong


@pytest.mark.parametrize("raw", ["\u2028", "\u2029", "\u0085", "\x7f", "\u00a0", "🤖"])
def test_raw_separators_stand_inside_lines(raw: str) -> None:
    value = user(f"a{raw}b")
    assert not issues(line(value))
    assert said(value) == [(0, "prompt", f"a{raw}b")]


@pytest.mark.parametrize("control", [b"\x00", b"\x01", b"\t", b"\x0b", b"\r", b"\x1f"])
def test_a_raw_control_character_inside_a_string(control: bytes) -> None:
    damaged = GOOD.replace(b"before", b"be" + control + b"fore")
    issue, record = among_neighbours(damaged)
    assert issue == Issue(0, len(damaged), "odd_json", "")
    assert isinstance(record, ParsedLine)
    assert [text[:3] for text in texts(record, sidechain=False)] == [(0, "prompt", f"be{control.decode()}fore")]


def test_nul_bytes_around_a_record() -> None:
    before, record, after = among_neighbours(b"\x00" * 5 + GOOD + b"\x00" * 3)
    assert before == Issue(0, 5, "nul_bytes", "NUL bytes beside the record")
    assert isinstance(record, ParsedLine)
    assert (record.offset, record.length, record.body.message.content) == (5, len(GOOD), "before")
    assert after == Issue(5 + len(GOOD), 3, "nul_bytes", "NUL bytes beside the record")
    assert among_neighbours(b"\x00" * 4096) == [Issue(0, 4096, "nul_bytes", "NUL bytes beside the record")]


def test_a_byte_order_mark() -> None:
    mark, record = among_neighbours(b"\xef\xbb\xbf" + GOOD)
    assert mark == Issue(0, 3, "bom", "a byte order mark")
    assert (record.offset, record.length) == (3, len(GOOD))
    half = among_neighbours(b"\xbb" + GOOD)
    assert half[0] == Issue(0, 1, "torn", "beside 1 whole records")


def test_carriage_returns_and_blank_lines() -> None:
    found = read(GOOD + b"\r\n\r\n  \n" + ALSO_GOOD + b"\r\n")
    assert all(isinstance(item, ParsedLine) for item in found)
    assert [item.offset for item in found] == [0, len(GOOD) + 2 + 2 + 3]


@pytest.mark.parametrize("escape", [rb"\ud800", rb"\udc00", rb"\ud83d\ud83d", rb"\ud800A", rb"\udead\u0041"])
def test_lone_surrogates(escape: bytes) -> None:
    damaged = GOOD.replace(b"before", b"x" + escape + b"y").replace(b"/home", b"/home" + escape)
    issue, record = among_neighbours(damaged)
    assert issue == Issue(0, len(damaged), "odd_json", "")
    assert isinstance(record, ParsedLine)
    ((_, column, found, *_),) = texts(record, sidechain=False)
    assert column == "prompt"
    assert found.startswith("x\ufffd")
    assert found.endswith("y")
    assert_storable(fold(damaged))


@pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xe2\x82", b"\xf5\x80\x80\x80"])
def test_invalid_utf8(bad: bytes) -> None:
    damaged = GOOD.replace(b"/home", b"/home" + bad).replace(b"before", b"be" + bad + b"fore")
    issue, record = among_neighbours(damaged)
    assert issue == Issue(0, len(damaged), "invalid_utf8", f"first at byte {damaged.find(bad)}")
    assert isinstance(record, ParsedLine)
    assert record.body.uuid == "uuid-of-user"
    assert record.body.message.content.strip("befor").strip("\ufffd") == ""
    kept_raw = line(assistant(text("be?fore"))).replace(b"?", bad)
    ((_, column, found),) = said(kept_raw)
    assert (column, found.replace("\ufffd", "")) == ("reply", "before")
    glued = among_neighbours(damaged + ALSO_GOOD)
    assert [(item.offset, item.length) for item in glued if isinstance(item, ParsedLine)] == [
        (0, len(damaged)),
        (len(damaged), len(ALSO_GOOD)),
    ]


@pytest.mark.parametrize(
    "place",
    [
        b"%s",
        b'{"a":%s}',
        b'{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":%s}}',
        b'{"type":"user","uuid":"u","toolUseResult":%s,"message":{"content":"x"}}',
        b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Edit","input":{"a":%s}}]}}',
        b'{"type":"attachment","attachment":{"type":"file","content":%s}}',
        b'{"type":"cost-state","modelUsage":%s}',
        b'{"type":"brand-new","x":%s}',
    ],
)
@pytest.mark.parametrize("levels", [DEEP, 2000, 995, 990, 980, 960, 940, 900])
def test_nesting_of_any_depth_never_escapes(place: bytes, levels: int) -> None:
    damaged = place % deep(levels)
    for item in among_neighbours(damaged):
        folding().feed(item)
        if isinstance(item, ParsedLine):
            list(texts(item, sidechain=False))
        elif levels == DEEP:
            assert item == Issue(0, len(damaged), "too_deep", "")


def test_objects_nested_deeply() -> None:
    damaged = b'{"type":"user","a":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}"
    assert among_neighbours(damaged) == [Issue(0, len(damaged), "too_deep", "")]


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "-" + "9" * 30, "1e999", "NaN", "-Infinity", "1e300", "0.5"])
def test_numbers_out_of_range(number: str) -> None:
    value = assistant(tool_use("Edit", {"n": "#", "file_path": "/f"}), usage={"input_tokens": "#", "output_tokens": 5})
    value["toolUseResult"] = {"filePath": "/f", "totalDurationMs": "#"}
    compact = entry("system", subtype="compact_boundary", compactMetadata={"preTokens": "#", "postTokens": 4})
    for given in (value, compact, {"type": "pr-link", "prNumber": "#", "prUrl": "u"}):
        damaged = line(given).replace(b'"#"', number.encode())
        (record,) = (item for item in among_neighbours(damaged) if isinstance(item, ParsedLine))
        folded = fold(damaged)
        assert_storable(folded)
        list(texts(record, sidechain=False))
        if given is value:
            assert record.body.message.usage.output_tokens == 5
            (call,) = folded.rows.calls.values()
            assert call[5] == "/f"
        elif given is compact:
            assert folded.rows.compactions[0][3:] == (None, 4)
        else:
            assert folded.state.pull_requests == ["u"]


def test_tool_names_are_only_text() -> None:
    name = "</script><b onclick=x>\x1b[31m'; DROP TABLE--\u202e"
    folded = fold(assistant(tool_use(name, {})), user([tool_result("no", is_error=True)]))
    (row,) = folded.rows.calls.values()
    assert (row[2], row[8]) == (name, 1)


# -- pieces that are asked for later


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b'"plain"', "plain"),
        (b"null", ""),
        (b'{"a": 1}', '{"a": 1}'),
        (b"[1,NaN]", "[1,NaN]"),
        (b"7", "7"),
        (b'"\\ud800x"', "\ufffdx"),
        (b'"\xffx"', "\ufffdx"),
        (deep(), deep().decode()),
    ],
)
def test_any_raw_value_has_a_text(raw: bytes, shown: str) -> None:
    assert text_of(Raw(raw)) == shown


def test_survivors_of_a_raw_value() -> None:
    found = survivors(wire.ToolResult, Raw(b'{"filePath":"/f","status":404,"structuredPatch":[{"lines":["+a",1]},7]}'))
    assert (found.file_path, found.status) == ("/f", None)
    assert [hunk.lines for hunk in found.patch] == [["+a"]]
    assert survivors(wire.ToolResult, Raw(b"[1]")) is None
    assert survivors(wire.ToolResult, Raw(deep())) is None


# -- size


@pytest.mark.parametrize("letter", ["x", "ж", "語"])
def test_a_long_line_is_copied_only_a_few_times(letter: str) -> None:
    output = letter * (3_500_000 // len(letter.encode()))
    data = line(user([tool_result(output)], toolUseResult={"stdout": output, "stderr": ""}))
    length = len(output)
    del output
    tracemalloc.start()
    try:
        (record,) = (item for item in items(data, 0) if isinstance(item, ParsedLine))
        folding().feed(record)
        assert [len(shown) for _, _, shown, *_ in texts(record, sidechain=False)] == [length]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(data)
