"""Placeholders in place of secrets: as long as these, in JSON that stays JSON, whatever is around and however they are written."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.clients import client_of
from hansard.guard.detection import Detector, Secret, detector
from hansard.guard.redaction import fingerprint
from hansard.secrets.masking import Masker, patches, stretches
from hansard.secrets.values import SHORTEST, Value
from tests.guard.planted_secrets import plant
from tests.secrets.planting import core
from tests.sync.making import assistant, raw, session, user

KEY = b"k" * 16
TOKEN = "ghp_" + "aB3d" * 9
PLANTED = list(plant(17))
OWN = Masker(Detector(None).find, KEY)
WRITTEN: dict[str, Callable[[str], str]] = {
    "text": lambda line: line,
    "json": json.dumps,
    "json in json": lambda line: json.dumps(json.dumps({"out": line})),
    "base64": lambda line: base64.b64encode(line.encode()).decode(),
    "hex": lambda line: line.encode().hex(),
    "address": lambda line: f"https://x.example/?q={quote(line, safe='')}",
}


def shape(value: Any) -> Any:
    """Everything but the insides of strings."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "" if isinstance(value, str) else value


@pytest.mark.parametrize("written", WRITTEN)
def test_nothing_is_left_of_any_secret(written: str) -> None:
    masker = Masker(detector().find, KEY)
    for planted in PLANTED:
        value = {"a": f"before {WRITTEN[written](planted.line)} after\n", "b": [1, None, "é\U0001f600"], "c": {"d": ""}}
        for data in (json.dumps(value).encode(), json.dumps(value, ensure_ascii=False).encode()):
            masked = masker.data(data)
            found = json.loads(masked.data)
            assert len(masked.data) == len(data), planted
            assert shape(found) == shape(value), planted
            assert found["a"].startswith("before "), planted
            assert found["a"].endswith("after\n"), planted
            shown = masked.data.decode()
            assert core(planted) not in shown, planted
            assert base64.b64encode(core(planted).encode()).decode()[2:-4] not in shown, planted
            assert detector().find(shown) == [], planted
            assert masked.secrets, planted
            assert masker.data(masked.data) == (masked.data, frozenset())


@given(
    st.lists(st.text(max_size=40), min_size=1, max_size=5),
    st.sampled_from(PLANTED),
    st.integers(0, 400),
    st.booleans(),
)
def test_whatever_is_around(texts: list[str], planted: Any, place: int, only_ascii: bool) -> None:
    """Escapes, quotes, letters of any script and halves of characters beside a secret."""
    place %= len(texts)
    texts[place] += f" {planted.line} " + texts[-1]
    value = {"texts": texts, planted.line[:60]: 7}
    data = json.dumps(value, ensure_ascii=only_ascii).encode("utf-8", "surrogatepass")
    masked = OWN.data(data).data
    assert len(masked) == len(data)
    assert shape(json.loads(masked)) == shape(json.loads(data))


@given(st.binary(max_size=300), st.sampled_from(PLANTED), st.binary(max_size=40))
def test_files_keep_their_lines(before: bytes, planted: Any, after: bytes) -> None:
    data = before + b" " + planted.line.encode() + b"\r\n" + after
    masked = OWN.data(data).data
    assert [len(line) for line in masked.splitlines(keepends=True)] == [
        len(line) for line in data.splitlines(keepends=True)
    ]


def test_what_a_placeholder_looks_like() -> None:
    name = fingerprint(KEY, TOKEN)[:4]
    assert OWN.data(f"use {TOKEN} now".encode()).data == f"use [github-token:{name}]{'*' * 21} now".encode()
    short = OWN.data(b'{"password": "hunter2!x"}').data
    assert short == b'{"password": "*********"}'
    digits = base64.b64encode(f"the token is {TOKEN}.".encode())
    masked = OWN.data(b'{"image": "%b"}' % digits).data
    assert set(masked[20:-12]) > set(b"0")
    base64.b64decode(json.loads(masked)["image"], validate=True)
    # A number is a value that words reveal too.
    assert OWN.data(b'{"a": "x", "api_key": 12345678901234567890123}').secrets == frozenset()


def test_what_cannot_be_told_apart_goes_as_a_whole() -> None:
    """A rule that finds something in whatever is put there ends with the whole string."""

    def find(text: str) -> list[Secret]:
        place = text.find("x")
        return [] if place < 0 else [Secret("any", place, place + 1, f"{text.count('x')} left", "high")]

    masked = Masker(find, KEY).data(json.dumps({"a": "xxxxxxxxxxxx", "b": "y"}).encode())
    assert json.loads(masked.data) == {"a": masked.data[7:19].decode(), "b": "y"}
    assert b"x" not in masked.data


def test_a_token_that_a_program_coloured_goes_with_its_colours() -> None:
    for start, end in (("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"), ("\x1b(B\x1b[m", "\x1b]8;;\x1b\\")):
        for place in (3, 4, 12):
            said = f"config: {start}{TOKEN[:place]}{end}{TOKEN[place:]} # ok"
            for text in (said, json.dumps({"stdout": said})):
                data = json.dumps({"a": text}).encode()
                masked = OWN.data(data)
                assert masked.secrets == {fingerprint(KEY, TOKEN)}
                assert len(masked.data) == len(data)
                shown = json.loads(masked.data)["a"]
                assert TOKEN[-12:] not in shown
                assert TOKEN[:place] not in shown
                assert shown.endswith(text[-4:])


def test_a_value_in_every_form() -> None:
    text = 'Velvet"Orbit\\é7!'
    value = Value("password", "ab" * 16, text)
    assert len(text) >= SHORTEST
    masker = Masker(lambda _: [], KEY, [value])
    for written in WRITTEN.values():
        data = json.dumps({"a": f"so {written(text)} is"}, ensure_ascii=False).encode()
        masked = masker.data(data)
        assert masked.secrets == {"ab" * 16}
        assert shape(json.loads(masked.data)) == {"a": ""} or json.loads(masked.data)["a"].startswith("so ")
        assert "Velvet" not in masked.data.decode()
        assert base64.b64encode(text.encode())[2:10] not in masked.data
    for shift in range(4):
        data = base64.b64encode(b"x" * shift + text.encode() + b"tail")
        assert masker.data(data).secrets


def test_a_secret_that_is_split_over_texts() -> None:
    one = session(1)
    parts = (TOKEN[:9], TOKEN[9:])
    lines = [
        user(one, "u1", "Which key?"),
        assistant(
            one, "a1", "m1", [{"type": "text", "text": f"It is {parts[0]}"}, {"type": "text", "text": f"{parts[1]} so"}]
        ),
        assistant(one, "a2", "m2", f"Or\n{parts[0]}", parent="a1"),
        assistant(one, "a3", "m3", f"{parts[1]}\nor not, {parts[1]}.", parent="a2"),
    ]
    data = raw(lines)
    client = client_of("claude-code")
    found = list(OWN.log(client, [data], is_aside=False))
    changed = bytearray(data)
    for line in found:
        assert data[line.offset :].startswith(line.line)
        changed[line.offset : line.offset + len(line.data)] = line.data
    texts = [json.loads(line) for line in bytes(changed).splitlines()]
    assert len(found) == 3
    assert [shape(text) for text in texts] == [shape(json.loads(line)) for line in data.splitlines()]
    shown = bytes(changed).decode()
    assert shown.count(parts[1]) == 1, "the other one is no part of a secret"
    assert parts[0] not in shown
    assert {secret for line in found for secret in line.secrets} == {fingerprint(KEY, TOKEN)}


@given(st.binary(max_size=9000), st.data())
def test_patches_turn_one_text_into_the_other(before: bytes, data: st.DataObject) -> None:
    after = bytearray(before)
    for place in data.draw(st.lists(st.integers(0, max(0, len(before) - 1)), max_size=5)) if before else ():
        after[place] ^= 1
    made = bytearray(before)
    for patch in patches(before, bytes(after), 0):
        assert patch.data
        made[patch.start : patch.end] = patch.data
    assert made == after
    assert all(end - start > 0 for start, end in stretches(before, bytes(after)))
