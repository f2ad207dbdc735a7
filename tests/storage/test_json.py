"""JSON between Python and SQLite: what the standard library gives, without importing it for ordinary values."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hansard.storage.sqlite import from_json, to_json


@pytest.mark.parametrize(
    "text",
    ["[]", '["a", 1, null, true, 1.5]', '["\\ud800"]', "[1e400]", "[18446744073709551616]", '{"a": 1, "a": [2]}', "-0"],
)
def test_reads_what_json_reads(text: str) -> None:
    assert from_json(text) == json.loads(text)
    assert from_json(text.encode()) == json.loads(text)


@pytest.mark.parametrize("text", ["", "[1", "[01]", '["\t"]', "[1,]"])
def test_refuses_what_json_refuses(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        from_json(text)


@pytest.mark.parametrize("value", [[], ["a", 1], ("é", None), ["\ud800"], [("a", 1)], [1 << 70]])
def test_writes_what_json_reads(value: object) -> None:
    assert json.loads(to_json(value)) == json.loads(json.dumps(value))


def test_ordinary_values_do_not_need_the_module() -> None:
    code = "from hansard.storage.sqlite import from_json, to_json; import sys; from_json(to_json(['é'])); assert 'json' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
