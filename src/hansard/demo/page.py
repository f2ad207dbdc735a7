"""One transcript file: its records, their links, the envelope each carries and the files that stand beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hansard.demo.dice import stamp

if TYPE_CHECKING:
    from datetime import datetime

    from hansard.demo.dice import Clock, Dice
    from hansard.demo.eras import Era

Json = dict[str, Any]
TIP = "tip"  # hang the record on the newest one
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class SideFile:
    """A small whole file: what it holds, its mode and its time."""

    data: bytes
    mode: int
    at: datetime


def dump(record: object) -> bytes:
    """Serialise as the client does: no spaces, nothing escaped that need not be."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def dump_pretty(record: object) -> bytes:
    """Serialise with two spaces, as the client writes its small files."""
    return json.dumps(record, ensure_ascii=False, indent=2).encode("utf-8")


def encode_cwd(cwd: str) -> str:
    """Name the project folder of a working directory."""
    units = cwd.encode("utf-16-le")
    codes = [units[i] | units[i + 1] << 8 for i in range(0, len(units), 2)]
    name = "".join(chr(code) if code < 128 and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= 200:
        return name
    hashed = 0
    for code in codes:
        hashed = (hashed * 31 + code) & 0xFFFFFFFF
    rest = abs(hashed - (1 << 32) if hashed >> 31 else hashed)
    digits = ""
    while rest:
        rest, digit = divmod(rest, 36)
        digits = _DIGITS[digit] + digits
    return f"{name[:200]}-{digits or '0'}"


class Page:
    """The lines of one transcript, in the order in which they are written."""

    def __init__(
        self,
        *,
        era: Era,
        version: str,
        dice: Dice,
        clock: Clock,
        session_id: str,
        cwd: str,
        branch: str,
        project: str | None = None,
        interactive: bool = True,
        agent_id: str | None = None,
        sidechain: bool = False,
        records: list[Json] | None = None,
    ) -> None:
        self.era = era
        self.version = version
        self.dice = dice
        self.clock = clock
        self.session_id = session_id
        self.process_session = session_id  # what the snake-case session_id of 2.1.325 keeps naming after a /clear
        self.cwd = cwd  # a `cd` changes it; the project stays
        self.project = project or encode_cwd(cwd)
        self.branch = branch
        self.interactive = interactive
        self.agent_id = agent_id
        self.sidechain = sidechain
        self.records: list[Json] = [] if records is None else records
        self.slug: str | None = None
        self.tip: str | None = None  # the uuid the next conversation record hangs on
        self.last = clock.now

    def note(self, record: Json) -> None:
        """Write a metadata record, which hangs on nothing."""
        self.records.append(record)
        self.last = max(self.last, self.clock.now)

    def put(
        self,
        body: Json,
        *,
        tail: Json | None = None,
        parent: str | None = TIP,
        when: datetime | None = None,
        uuid: str | None = None,
    ) -> str:
        """Write a conversation record and give its uuid; `tail` stands after uuid and timestamp."""
        uuid = uuid or self.dice.uuid()
        hangs_on = self.tip if parent == TIP else parent
        head: Json = {"parentUuid": hangs_on}
        if "logicalParentUuid" in body:
            head["logicalParentUuid"] = body["logicalParentUuid"]
            body = {key: value for key, value in body.items() if key != "logicalParentUuid"}
        head["isSidechain"] = self.sidechain
        time = {"uuid": uuid, "timestamp": stamp(when or self.clock.now)}
        if self.era.envelope_first:
            record = {**head, **self._envelope(), **body, **time, **(tail or {})}
        else:
            agent = {"agentId": self.agent_id} if self.agent_id else {}
            record = {**head, **agent, **body, **time, **(tail or {}), **self._envelope()}
        self.records.append(record)
        self.tip = uuid
        self.last = max(self.last, self.clock.now)
        return uuid

    def _envelope(self) -> Json:
        place: Json = {"userType": "external"}
        if not self.era.envelope_first:
            if self.era.requests and self.interactive and self.slug and not self.agent_id:
                place = {"session_id": self.process_session, **place}
            place["entrypoint"] = "cli" if self.interactive else "sdk-cli"
        place |= {"cwd": self.cwd, "sessionId": self.session_id, "version": self.version, "gitBranch": self.branch}
        if self.era.envelope_first and self.agent_id and not self.sidechain_inline:
            place["agentId"] = self.agent_id
        if self.slug and self.era.snapshots:
            place["slug"] = self.slug
        return place

    @property
    def sidechain_inline(self) -> bool:
        """Tell whether this page's lines go into the main file."""
        return self.era.agents == "inline"

    def data(self) -> bytes:
        """Give the file's bytes."""
        return b"".join(dump(record) + b"\n" for record in self.records)
