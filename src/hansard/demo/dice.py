"""Seeded chance: identifiers, durations and a clock that only moves when told."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
FIRST_WORDS = "amber brisk candid dapper eager fuzzy gentle hazy idle jolly keen lucid".split()
MIDDLE_WORDS = "baking counting drifting folding humming juggling knitting mapping rowing".split()
LAST_WORDS = "acorn beacon cobble dune ember fjord grotto heron inlet juniper kettle".split()
START = datetime(2026, 9, 1, 9, 0, tzinfo=UTC)


class Dice(random.Random):
    """A seeded source of the identifiers that a client and the API hand out."""

    def hex(self, length: int) -> str:
        """Give that many hexadecimal digits."""
        return f"{self.getrandbits(4 * length):0{length}x}"

    def uuid(self) -> str:
        """Give a version 4 uuid."""
        digits = self.hex(32)
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) % 4]}{digits[17:20]}-{digits[20:]}"

    def token(self, length: int = 22) -> str:
        """Give letters and digits such as follow `msg_01`."""
        return "".join(self.choices(ALPHABET, k=length))

    def message_id(self) -> str:
        """Give an id of an API answer."""
        return "msg_01" + self.token()

    def request_id(self) -> str:
        """Give an id of an API request."""
        return "req_01" + self.token()

    def tool_id(self) -> str:
        """Give an id of a tool call."""
        return "toolu_01" + self.token()

    def task_id(self) -> str:
        """Give the nine characters that name a background task or a kept output."""
        return "b" + "".join(self.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=8))

    def signature(self) -> str:
        """Give something with the length and look of a thinking signature."""
        return "Eq" + "".join(self.choices(ALPHABET + "+/", k=self.randrange(180, 420))) + "GAI="

    def slug(self) -> str:
        """Give a session's three-word name."""
        return f"{self.choice(FIRST_WORDS)}-{self.choice(MIDDLE_WORDS)}-{self.choice(LAST_WORDS)}"


class Clock:
    """A time that moves forward only by `tick`."""

    def __init__(self, at: datetime = START) -> None:
        self.now = at.astimezone(UTC)

    def tick(self, seconds: float) -> datetime:
        """Move on and give the new time."""
        self.now += timedelta(seconds=seconds)
        return self.now

    def copy(self) -> Clock:
        """Give a second clock that shows the same time and goes its own way."""
        return Clock(self.now)


def stamp(when: datetime) -> str:
    """Write a time as the client does: UTC, milliseconds, Z."""
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def millis(when: datetime) -> int:
    """Write a time as whole milliseconds since 1970."""
    return int(when.timestamp()) * 1000 + when.microsecond // 1000
