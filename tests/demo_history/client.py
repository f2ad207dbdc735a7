"""What a client does by its version, and the identifiers and times it writes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import msgspec


class Agents(StrEnum):
    """Where the lines of a subagent go."""

    INLINE = "inline"  # into the main file, isSidechain, without an agentId
    BESIDE = "beside"  # agent-<7 hex>.jsonl next to the sessions
    FOLDER = "folder"  # <session>/subagents/


class Regime(StrEnum):
    """Which usage the lines of one answer carry."""

    MIXED = "mixed"  # a slow stream keeps the opening figures, a fast one the final ones
    OPENING = "opening"  # always the figures the stream opened with, stop_reason null
    FINAL = "final"  # the final figures, on every line


class Spill(StrEnum):
    """What becomes of a tool output over 30,000 characters."""

    CUT = "cut"  # cut off, the rest is lost
    BY_CALL = "by_call"  # tool-results/toolu_<id>.txt, the whole output also in the twin
    BY_TASK = "by_task"  # tool-results/<9 characters>.txt


@cache
def load(name: str) -> dict[str, Any]:
    """Read one of the data files of the generator."""
    import tomllib

    return tomllib.loads((Path(__file__).parent / "data" / name).read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Era:
    """The habits of a range of client versions, named after the version they were measured on."""

    version: str
    since: tuple[int, ...]
    models: tuple[str, ...]
    small_model: str
    agents: Agents
    agent_tool: str
    regime: Regime
    spill: Spill
    envelope_first: bool  # cwd, sessionId ... stand before the message, not after it
    own_parents: bool  # each tool result hangs on its own tool_use line
    snapshots: bool  # file-history-snapshot lines
    progress: bool  # progress lines
    attachments: bool  # attachment lines
    requests: bool  # api-request lines, cost-state, tools-used and the like
    arrows: bool  # Read numbers its lines with an arrow, not a tab
    todo_files: bool  # todos/, not tasks/
    transcript_mode: int
    folder_mode: int


def _eras() -> tuple[Era, ...]:
    habits: dict[str, object] = {}
    return tuple(msgspec.convert(habits := habits | changes, Era) for changes in load("eras.toml")["eras"])


ERAS = _eras()


def era_of(version: str) -> Era:
    """Give the era a client version belongs to: `era_of("2.1.39").version == "2.1.20"`."""
    numbers = tuple(int(part) for part in version.split("."))
    return [era for era in ERAS if era.since <= numbers][-1]


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
