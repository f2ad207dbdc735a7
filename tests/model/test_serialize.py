"""Values of the model, and how JSON has them."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from msgspec.structs import replace

from hansard.model.display import CallFacts, Code
from hansard.model.ledger import PriceData, Pricing, Tokens
from hansard.model.serialize import encoded, json_bytes, plain

MOMENT = datetime(2026, 5, 1, 10, 0, 0, 123456, UTC)


def test_values_are_frozen_equal_by_content_and_can_be_sent_to_other_processes() -> None:
    part = Code("x = 1", language="python")

    assert part == Code("x = 1", "python")
    assert hash(part) == hash(Code("x = 1", "python"))
    assert repr(part) == "Code(text='x = 1', language='python', path='', first_line=0)"
    assert pickle.loads(pickle.dumps(part)) == part  # noqa: S301 - our own bytes
    assert replace(part, path="a.py").path == "a.py"
    match part:
        case Code(text, language):
            assert (text, language) == ("x = 1", "python")
    with pytest.raises(AttributeError):
        part.text = "y"  # type: ignore[misc]


def test_json_has_every_field_in_order_and_the_tag_of_a_part_last() -> None:
    assert json_bytes(Code("é", first_line=3)) == (
        '{"text": "é", "language": "", "path": "", "first_line": 3, "part": "code"}'.encode()
    )
    assert encoded(Tokens(1)).endswith(b'"web_searches": 0}\n')


def test_times_money_and_flat_values() -> None:
    assert plain([MOMENT, Decimal("1.500"), Decimal("1E+3"), None, True]) == [
        "2026-05-01T10:00:00.123Z", "1.5", "1000", None, True,
    ]  # fmt: skip
    told = plain(Pricing(PriceData("genai-prices", "1", "2026-01-01", None, 0), "auto", ("a note",)))
    assert list(told) == ["source", "version", "dated", "fetched_at", "overrides", "mode", "notes"]
    assert plain(CallFacts((1, 2), 30)) == ["+1 -2", "30 ms"]


def test_json_is_valid_whatever_a_transcript_holds() -> None:
    value = {"half": "\ud800", "large": [float("inf"), float("nan"), -float("inf"), 10**30]}

    assert json.loads(json_bytes(value)) == {"half": "\ud800", "large": ["inf", "nan", "-inf", 10**30]}
    assert json_bytes({1: {"é"}}) == '{"1": ["é"]}'.encode()


UNPRINTABLE = [
    chr(code)
    for first, last in [
        (0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F),
        (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F),
    ]
    for code in range(first, last + 1)
]  # fmt: skip


def test_json_has_no_character_that_a_terminal_obeys_or_a_reader_cannot_see() -> None:
    value = {f"key {character}": f"é {character} 語" for character in UNPRINTABLE}

    written = encoded(value).decode()

    assert not set(UNPRINTABLE) & set(written.removesuffix("\n"))
    assert json.loads(written) == value
    assert json_bytes("\x9b31m\u202e\U000e0041") == b'"\\u009b31m\\u202e\\udb40\\udc41"'


def test_json_with_half_a_character_is_as_safe() -> None:
    assert json_bytes("\ud800\x9b\x7f") == b'"\\ud800\\u009b\\u007f"'
