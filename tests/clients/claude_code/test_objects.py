"""Whole objects in damaged lines: the same as one gets by trying every place, at a cost that is linear in the line."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.clients.objects import Objects
from tests.clients.claude_code.making import line, user

DEPTH = 4
BITS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b'{"', b'"a"', b'{"a":', b'"b{"', b'"}', b"\\", b'\\"', b"\\u00e9", b"\\x", b" ",
        b"\t", b"1", b"-1.5e3", b"-", b"01", b"true", b"NaN", b"-Infinity", b"\x00", b"\xff", b"null", b"x", b'"a":1', b"{}", b"[]"]  # fmt: skip
relaxed = json.JSONDecoder(strict=False)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def slowly(data: bytes, deepest: int) -> list[tuple[int, int]]:
    """Every place where an object may begin, tried by itself."""
    text = data.decode("latin-1")
    found = []
    position = 0
    for match in re.finditer(r'\{[ \t\r]*"', text):
        if match.start() >= position:
            try:
                value, end = relaxed.raw_decode(text, match.start())
            except ValueError:
                continue
            if depth(value) <= deepest:
                found.append((match.start(), end))
                position = end
    return found


@settings(max_examples=1500)
@given(st.lists(st.sampled_from(BITS), max_size=24))
def test_as_if_every_place_were_tried(bits: list[bytes]) -> None:
    data = b"".join(bits)
    assert list(Objects(data, DEPTH)) == slowly(data, DEPTH)


def test_as_if_every_place_were_tried_in_damaged_records() -> None:
    dice = random.Random(3)
    whole = line(user("a {", todos=[{"a": [1, {"b": "{"}], "c": '{"d": 1}'}], toolUseResult={"x": {"y": [[]]}}))
    for _ in range(2000):
        data = bytearray(whole + whole)
        for _ in range(dice.randrange(6)):
            place = dice.randrange(len(data))
            data[place : place + dice.randrange(3)] = dice.choice(BITS)
        assert list(Objects(bytes(data), 200)) == slowly(bytes(data), 200)


HOSTILE: dict[str, bytes] = {
    "begun": b'{"a":',
    "nested": b'{"a":[',
    "closed": b'{"a":1}',
    "members": b'{"a":1},',
    "at the end of strings": b'"b{"',
    "both ways": b'{"a":"{","b":"{"},',
    "quotes that change sides": b'{":"{":[1,"',
    "keys without values": b'{"a" ',
    "strings": b'"a",',
    "escapes": b'{"\\"',
    "blanks": b"{   ",
    "too deep and whole": b'{"a":' * 50 + b"1" + b"}" * 50,
    "long strings": b'{"' + b"x" * 500 + b'":"' + b"y" * 500 + b'{"',
}


@pytest.mark.parametrize("before", [b"", b'{"a":', b'{"a":"', b'{"a":["'])
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_the_work_is_linear(name: str, before: bytes) -> None:
    work = []
    for size in (20_000, 40_000):
        data = before + HOSTILE[name] * (size // len(HOSTILE[name]))
        objects = Objects(data, 20)
        list(objects)
        assert objects.stopped is None
        assert objects.scanned <= 2 * len(data)
        work.append(objects.steps + objects.scanned)
    assert work[1] <= 2.1 * work[0] + 1000


@settings(max_examples=300)
@given(st.lists(st.sampled_from(BITS), min_size=1, max_size=6), st.lists(st.sampled_from(BITS), max_size=4))
def test_no_byte_is_read_more_than_twice(unit: list[bytes], before: list[bytes]) -> None:
    data = b"".join(before) + b"".join(unit) * 200
    objects = Objects(data, DEPTH)
    list(objects)
    assert objects.scanned <= 2 * len(data)


def test_too_much_work_ends() -> None:
    data = b'{"a":1},' * 1000
    objects = Objects(data, max_steps=1000)
    found = list(objects)
    assert found == [(at, at + 7) for at in range(0, 8 * len(found), 8)]
    assert objects.stopped == 8 * len(found)
    assert 990 < objects.steps <= 1003
