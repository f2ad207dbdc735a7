"""A seeded source of damage: bytes and values of real lines, changed in every way that has been seen and some that have not."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

ODD_BYTES = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xc2\x85", b"\xef\xbb\xbf", b"\r", b"\t", b"\\", b'"', b"{", b"}",
    b"[", b"]", b",", b":", b"\\ud800", b"\\u0000", b"NaN", b"1e999", b"9" * 40, b'{"', b'{"type":"user"', b"\n",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**30, "", "text", "<b>", "\u2028", "\ud800", [], [None], ["text"], [[]], {}, {"a": 1},
    {"type": "text", "text": "x"}, [{"type": "text"}], float("nan"), "2026-01-01T00:00:00Z", {"0": "e", "1": "v"},
)  # fmt: skip


def flip(dice: Random, line: bytes, _other: bytes) -> bytes:
    out = bytearray(line)
    for _ in range(dice.choice((1, 1, 2, 8))):
        out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    return bytes(out)


def delete(dice: Random, line: bytes, _other: bytes) -> bytes:
    start = dice.randrange(len(line))
    return line[:start] + line[start + dice.choice((1, 1, 3, 40, 400)) :]


def insert(dice: Random, line: bytes, _other: bytes) -> bytes:
    start = dice.randrange(len(line) + 1)
    return line[:start] + dice.choice(ODD_BYTES) * dice.choice((1, 1, 1, 5)) + line[start:]


def cut_end(dice: Random, line: bytes, _other: bytes) -> bytes:
    return line[: dice.randrange(len(line))]


def cut_start(dice: Random, line: bytes, _other: bytes) -> bytes:
    return line[dice.randrange(len(line)) :]


def splice(dice: Random, line: bytes, other: bytes) -> bytes:
    return line[: dice.randrange(len(line))] + other[dice.randrange(len(other)) :]


def two_writers(dice: Random, line: bytes, other: bytes) -> bytes:
    start = dice.randrange(len(line))
    return line[:start] + other + line[start:]


def glue(dice: Random, line: bytes, other: bytes) -> bytes:
    return dice.choice((b"", b" ", b"\r", b",", b"\x00")).join((line, other, line)[: dice.choice((2, 2, 3))])


def surround(dice: Random, line: bytes, _other: bytes) -> bytes:
    return dice.choice(ODD_BYTES) * dice.choice((1, 3)) + line + dice.choice(ODD_BYTES) * dice.choice((0, 1, 3))


BYTEWISE: tuple[Callable[[Random, bytes, bytes], bytes], ...] = (
    flip, delete, insert, cut_end, cut_start, splice, two_writers, glue, surround,
)  # fmt: skip


def change_values(dice: Random, line: bytes) -> tuple[bytes, str]:
    """Swap, null, drop, rename or double values of a record; also says which top-level field was touched first."""
    value = json.loads(line)
    touched = ""
    for _ in range(dice.choice((1, 1, 1, 3))):
        place, key, top = _somewhere(dice, value)
        if place is None:
            continue
        touched += f" {top}"
        what = dice.randrange(6)
        if what < 3:
            place[key] = _odd(dice)
        elif what == 3:
            place[key] = None
        elif isinstance(place, list):
            place[key:key] = [_odd(dice)] if what == 4 else place[:20]
        else:
            moved = place.pop(key)
            place[f"{key}{'x' if what == 4 else chr(0x2028)}"] = moved
            if top == key:
                touched += " *"
    text = json.dumps(value, ensure_ascii=dice.random() < 0.2, separators=dice.choice(((",", ":"), (", ", ": "))))
    return text.encode("utf-8", "surrogatepass"), touched + " "


def _odd(dice: Random) -> Any:
    return copy.deepcopy(dice.choice(ODD_VALUES))  # the next change may reach into it


def _somewhere(dice: Random, value: Any) -> tuple[Any, Any, str]:
    place, key, top = None, None, ""
    here = value
    while isinstance(here, (dict, list)) and here:
        place = here
        key = dice.choice(list(here)) if isinstance(here, dict) else dice.randrange(len(here))
        top = top or str(key)
        here = here[key]
        if dice.random() < 0.3:
            break
    return place, key, top


def double_key(dice: Random, line: bytes) -> bytes:
    """The record with one of its keys once more, with another value."""
    key = dice.choice(list(json.loads(line)))
    extra = json.dumps({key: dice.choice(ODD_VALUES)}).encode()
    return line[:-1] + b"," + extra[1:] if dice.random() < 0.5 else extra[:-1] + b"," + line[1:]


def pick(dice: Random, lines: Sequence[bytes]) -> bytes:
    return lines[int(dice.random() * len(lines))]
