"""Markers in a record: as many bytes, still JSON, and nothing of what it said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.clients.blanking import NOTHING, blank, kept, objects_naming
from hansard.clients.claude_code.lines import blank_line, line_names
from tests.sync.hard import FIRST
from tests.sync.making import call, raw, result, user

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


def shape(value: Any) -> Any:
    """What may be left: containers and their sizes, true, false and null."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return value if value is None or isinstance(value, bool) else ""


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


@given(VALUES, st.sampled_from([True, False]))
def test_any_value_keeps_its_length_and_its_shape(value: Any, only_ascii: Any) -> None:
    data = json.dumps(value, ensure_ascii=only_ascii).encode("utf-8", "surrogatepass")
    blanked = blank(data, NOTHING)
    assert len(blanked) == len(data)
    pairs = json.loads(blanked, object_pairs_hook=lambda found: [item for _, item in found])
    assert shape(pairs) == shape(json.loads(data, object_pairs_hook=lambda found: [item for _, item in found]))
    assert all(not text.strip("* ") or text.strip() == "[forgotten]" for text in texts(json.loads(blanked)))


@given(st.binary(max_size=200))
def test_any_bytes_keep_their_length(data: bytes) -> None:
    assert len(blank(data)) == len(data)
    assert len(blank_line(data)) == len(data)
    assert blank(data).count(b"\n") == data.count(b"\n")


def test_what_is_named_stays() -> None:
    value = {
        "a": {"b_c": 1, "bc": "x" * 12, "other key!": 2.5},
        "list": [{"a": "one"}, {"B": "two"}],
        "all": {"x": [1, "y"]},
    }
    blanked = blank(json.dumps(value).encode(), kept("a.bC", "list[].b", "all*", objects=["list[]"]))
    assert json.loads(blanked) == {
        "a": {"b_c": 1, "bc": "x" * 12, "**********": 0},
        "list": [{"a": "***"}, {"B": "two"}],
        "all": {"x": [1, "y"]},
    }


def test_a_record_keeps_its_place_and_its_usage() -> None:
    block = call("toolu_1", "Bash", command="rm -rf /home/mira", who="x")
    line = raw([{**user(FIRST, "u1", [block]), "toolUseResult": {"stdout": "a long output", "code": 17}}])
    blanked = blank_line(line)
    assert len(blanked) == len(line)
    record = json.loads(blanked)
    assert line_names(blanked) == line_names(line) == ([FIRST], "u1")
    assert record["message"]["content"] == [
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"*******": "[forgotten]      ", "***": "*"}}
    ]
    assert record["toolUseResult"] == {"******": "[forgotten]  ", "****": 0}
    block = json.loads(blank_line(raw([result(FIRST, "u2", "toolu_1", "Done with it.")])))["message"]["content"][0]
    assert block == {"type": "tool_result", "tool_use_id": "toolu_1", "content": "[forgotten]  "}


@pytest.mark.parametrize(
    "line", [b'{"display":"typed","sessionId":"s1"}\n', b'{"type":"summary","summary":"A title"}\r\n', b'{"torn']
)
def test_what_has_no_place_becomes_an_empty_line(line: bytes) -> None:
    assert blank_line(line) == b" " * len(line.rstrip()) + line[len(line.rstrip()) :]


def test_names_in_lines_that_are_odd() -> None:
    assert line_names(b'{"sessionId": 5, "uuid": null, "forkedFrom": "x"}') == ([], "")
    assert line_names(b'{"sessionId":"a","uuid":"u","forkedFrom":{"sessionId":"b"}}') == (["a", "b"], "u")
    assert line_names(b"not json") == ([], "")


def test_objects_in_a_list() -> None:
    entries = [
        {"sessionId": "a", "text": '{"sessionId": "x"} }{'},
        {"more": {"sessionId": "b"}, "sessionId": "c"},
        {"n": 1},
    ]
    data = json.dumps({"entries": entries, "sessionId": ["z"]}).encode()
    found = {name: json.loads(data[start:end]) for name, start, end in objects_naming(data, b'"sessionId"')}
    assert found == {"a": entries[0], "b": {"sessionId": "b"}, "c": entries[1]}
    assert list(objects_naming(b']}"sessionId":"a"', b'"sessionId"')) == []
