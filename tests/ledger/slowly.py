"""The ledger as it would be written if time were no matter: plain Python over the verbatim lines.

It shares nothing with the product but its rates (`tests/pricing` holds them against genai-prices) and what it says of
sessions as a whole: their projects, titles and subagents.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from hansard.engine import Hansard
    from hansard.model.ledger import Rate, UsageRow

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = 3_600_000
LENGTH = 5 * HOUR
CLASSES = ("input", "output", "cache_read", "write", "write_5m", "write_1h", "searches")
Key = tuple[str | None, ...]


@dataclass
class Line:
    """What one assistant line says about one API message."""

    place: tuple[float, str, int]  # time (never: infinity), transcript, offset
    copied: int  # up to where its transcript is a copy of another one
    session: str
    agent: str
    branch: str
    model: str
    kind: tuple[str, str, str]  # service tier, speed, place of inference
    counts: dict[str, int]
    is_final: bool
    tool: str
    recorded: Fraction | None
    is_progress: bool = False  # a progress record of the parent repeats it


@dataclass
class Message:
    """One API message: all its lines."""

    key: str
    lines: list[Line] = field(default_factory=list)

    @cached_property
    def owner(self) -> Line:
        """The earliest line of the original; of each transcript the earliest line tells whether it is that."""
        firsts: dict[str, Line] = {}
        for line in sorted(self.lines, key=lambda line: line.place):
            firsts.setdefault(line.place[1], line)
        return min(firsts.values(), key=lambda line: (line.place[2] < line.copied, line.place))

    @cached_property
    def ts(self) -> int:
        """Milliseconds; 0: never said."""
        return 0 if self.owner.place[0] == float("inf") else int(self.owner.place[0])

    @cached_property
    def moment(self) -> datetime | None:
        return EPOCH + timedelta(milliseconds=self.ts) if self.ts else None

    def most(self, name: str) -> int:
        return max(line.counts[name] for line in self.lines)

    @cached_property
    def is_lower_bound(self) -> bool:
        return max((line.counts["output"] for line in self.lines if line.is_final), default=-1) < self.most("output")

    @cached_property
    def tool(self) -> str:
        calls = [(line.place[0], line.tool) for line in self.lines if line.tool]
        return min(calls)[1] if calls else ""

    @cached_property
    def kind(self) -> tuple[str, str, str]:
        one, two, three = (max(line.kind[number] for line in self.lines) for number in range(3))
        return one, two, three

    @cached_property
    def recorded(self) -> Fraction | None:
        return max((line.recorded for line in self.lines if line.recorded is not None), default=None)

    @cached_property
    def tokens(self) -> dict[str, int]:
        """By the classes that have a price: what of the flat figure no lifetime claims counts as five minutes."""
        five, hour = self.most("write_5m"), self.most("write_1h")
        return {
            "input": self.most("input"),
            "output": self.most("output"),
            "cache_read": self.most("cache_read"),
            "cache_write_5m": five + max(0, self.most("write") - five - hour),
            "cache_write_1h": hour,
            "web_searches": self.most("searches"),
        }

    @cached_property
    def prompt(self) -> int:
        tokens = self.tokens
        return tokens["input"] + tokens["cache_read"] + tokens["cache_write_5m"] + tokens["cache_write_1h"]


# -- reading


def read(config: Path) -> list[Message]:
    """Every API message of a config directory."""
    found: dict[str, Message] = {}
    for path in sorted((config / "projects").rglob("*.jsonl")):
        name = path.relative_to(config).as_posix()
        for key, line in _lines(name, path.read_bytes()):
            found.setdefault(key, Message(key)).lines.append(line)
    for message in found.values():
        # What progress records repeat counts only where the answer has no line of its own.
        message.lines = [line for line in message.lines if not line.is_progress] or message.lines
    return list(found.values())


def values(data: bytes) -> Iterator[tuple[int, Any]]:
    """The JSON objects of a log with their offsets, also where several stand in one line."""
    offset = 0
    for line in data.split(b"\n"):
        text = line.decode("utf-8", "replace")
        if text.strip():
            try:
                yield offset, json.loads(text)
            except ValueError:
                yield from ((offset + at, value) for at, value in _glued(text))
        offset += len(line) + 1


def _glued(text: str) -> Iterator[tuple[int, Any]]:
    decoder = json.JSONDecoder()
    at = text.find('{"')
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield len(text[:at].encode()), value
        at = text.find('{"', end)


def _lines(path: str, data: bytes) -> Iterator[tuple[str, Line]]:
    session, agent = _named(path)
    copied = _copied(session, data)
    # Only lines of answers count; of the others no more is needed than which session they name, where the path does not.
    needed = [line if not session or b'"assistant"' in line else b" " * len(line) for line in data.split(b"\n")]
    everything = [(offset, value) for offset, value in values(b"\n".join(needed)) if isinstance(value, dict)]
    if not session:
        named = (value["sessionId"] for _, value in everything if value.get("sessionId"))
        session = next(named, path.rsplit("/", 1)[-1][:-6])
    for offset, written in everything:
        is_progress = written.get("type") == "progress" and written.get("data", {}).get("type") == "agent_progress"
        value = written
        if is_progress:
            parent = {name: written.get(name) for name in ("sessionId", "gitBranch", "timestamp")}
            value = {**parent, "agentId": written["data"].get("agentId"), **(written["data"].get("message") or {})}
        message = value.get("message")
        if value.get("type") != "assistant" or not isinstance(message, dict):
            continue
        usage = message.get("usage")
        if not isinstance(usage, dict) or message.get("model") == "<synthetic>":
            continue
        speaker = value.get("agentId") or agent
        key = _key(value, message, session, speaker, path, offset)
        if not speaker and value.get("isSidechain"):
            speaker = "sidechain"
        moment = _time(value.get("timestamp"))
        cost = value.get("costUSD")
        own = Line(
            place=(moment or float("inf"), path, offset),
            copied=copied,
            session=session,
            agent=speaker,
            branch=value.get("gitBranch") or "",
            model=message.get("model") or "",
            kind=(usage.get("service_tier") or "", usage.get("speed") or "", usage.get("inference_geo") or ""),
            counts=_counts(usage),
            is_final=bool(message.get("stop_reason")),
            tool=_tool(message.get("content")),
            recorded=Fraction(round(cost * 1e9), 10**9) if isinstance(cost, (int, float)) else None,
            is_progress=is_progress,
        )
        yield key, own
        for number, call in enumerate(usage.get("iterations") or ()):
            if call.get("type") == "advisor_message":
                counts = {**_counts(call), "searches": 0}
                advised = Line(
                    own.place, copied, session, speaker, own.branch, call.get("model") or "", own.kind, counts, own.is_final, own.tool, None, is_progress
                )  # fmt: skip
                yield f"{key}#{number}", advised


def _copied(session: str, data: bytes) -> int:
    """Up to where a transcript is a copy, by what its lines say: all of them are held against each other."""
    lines = [(offset, value) for offset, value in values(data) if isinstance(value, dict)]
    spoken = [(offset, value) for offset, value in lines if value.get("type") in ("user", "assistant")]
    if not spoken:
        return 0
    heads = [value for offset, value in lines if offset < spoken[0][0] and "uuid" not in value]
    began = next((_time(value["timestamp"]) for value in heads if value.get("type") == "queue-operation"), None)
    found = 0
    for number, (_, value) in enumerate(spoken):
        ts = _time(value.get("timestamp"))
        told = (began is not None and ts is not None and ts < began) or "forkedFrom" in value
        told = told or bool(session and value.get("sessionId", session) != session)
        if value["type"] == "user" and not told:
            break
        if told or (found and began is None):
            found = spoken[number + 1][0] if number + 1 < len(spoken) else len(data)
    prompts = [(offset, value) for offset, value in spoken if value["type"] == "user" and _is_prompt(value)]
    for offset, value in prompts[1:]:
        if value.get("promptId") is None or value["promptId"] != prompts[0][1].get("promptId"):
            break
        found = max(found, offset)
    return found


def _is_prompt(value: Any) -> bool:
    content = value["message"]["content"]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    said = "".join(block.get("text", "") for block in blocks if block.get("type") == "text").strip()
    is_result = any(block.get("type") == "tool_result" for block in blocks)
    meta = value.get("isMeta") or value.get("isCompactSummary") or value.get("isSidechain")
    machine = value.get("promptSource") == "system" or value.get("origin", {}).get("kind", "human") != "human"
    return not (is_result or meta or machine or said.startswith(("<", "Caveat:", "[Request interrupted")))


def _named(path: str) -> tuple[str, str]:
    parts = path.split("/")
    name = parts[-1].removesuffix(".jsonl")
    agent = name.removeprefix("agent-") if name.startswith("agent-") else ""
    if len(parts) > 3:
        return parts[2], agent
    return "" if agent else name, agent


def _key(value: Any, message: Any, session: str, agent: str, path: str, offset: int) -> str:
    identity = message.get("id")
    if not identity:
        return str(value.get("uuid") or f"{path}@{offset}")
    if value.get("requestId") or identity.startswith(("msg_01", "msg_bdrk_", "msg_vrtx_")):
        return str(identity)
    return f"{session}/{agent}/{identity}"


def _time(text: Any) -> int | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    # A clock that was never set, or that went astray, tells no time.
    ts = (moment - EPOCH) // timedelta(milliseconds=1)
    return ts if ts >= 2 * 24 * HOUR and ts < 4_102_444_800_000 else None


def _counts(usage: Any) -> dict[str, int]:
    split = usage.get("cache_creation") or {}
    return {
        "input": usage.get("input_tokens") or 0,
        "output": usage.get("output_tokens") or 0,
        "cache_read": usage.get("cache_read_input_tokens") or 0,
        "write": usage.get("cache_creation_input_tokens") or 0,
        "write_5m": split.get("ephemeral_5m_input_tokens") or 0,
        "write_1h": split.get("ephemeral_1h_input_tokens") or 0,
        "searches": (usage.get("server_tool_use") or {}).get("web_search_requests") or 0,
    }


def _tool(content: Any) -> str:
    for block in content if isinstance(content, list) else ():
        if block.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use"):
            return str(block.get("name") or "")
    return ""


# -- money


class Book:
    """The rates of a store, looked through one by one."""

    def __init__(self, rates: Iterable[Rate]) -> None:
        self.rates: dict[Any, list[Rate]] = {}
        for rate in rates:
            self.rates.setdefault((rate.model, rate.service_tier, rate.speed, rate.inference_geo), []).append(rate)
        self.known: dict[tuple[str, str], Fraction | None] = {}

    def rate(self, message: Message) -> Rate:
        moment = message.moment or EPOCH
        (found,) = (
            rate
            for rate in self.rates[message.owner.model, *message.kind]
            if (rate.since is None or moment >= rate.since)
            and (rate.until is None or moment < rate.until)
            and (rate.above is None or message.prompt > rate.above)
            and (rate.upto is None or message.prompt <= rate.upto)
        )
        return found

    def cost(self, message: Message, mode: str = "auto") -> Fraction | None:
        if (message.key, mode) not in self.known:
            self.known[message.key, mode] = self._cost(message, mode)
        return self.known[message.key, mode]

    def _cost(self, message: Message, mode: str) -> Fraction | None:
        if message.recorded is not None and mode != "calculate":
            return message.recorded
        rate = self.rate(message)
        if mode == "recorded" or rate.input is None:
            return None
        prices = {name: Fraction(getattr(rate, name)) for name in message.tokens if name != "web_searches"}
        amount = sum((prices[name] * message.tokens[name] for name in prices), Fraction(0)) / 10**6
        return amount + Fraction(rate.web_search or 0) * message.tokens["web_searches"] / 1000

    def caching(self, message: Message) -> tuple[Fraction, Fraction]:
        rate, tokens = self.rate(message), message.tokens
        if rate.input is None:
            return Fraction(0), Fraction(0)
        plain, read = Fraction(rate.input), Fraction(rate.cache_read or 0)
        five, hour = Fraction(rate.cache_write_5m or 0), Fraction(rate.cache_write_1h or 0)
        extra = tokens["cache_write_5m"] * (five - plain) + tokens["cache_write_1h"] * (hour - plain)
        return tokens["cache_read"] * (plain - read) / 10**6, extra / 10**6


# -- rows


def summed(messages: Iterable[Message], book: Book, mode: str = "auto") -> dict[str, Any]:
    """What a row says of these messages."""
    found = list(messages)
    costs = {message.key: book.cost(message, mode) for message in found}
    priced = [message for message in found if costs[message.key] is not None]
    effects = [book.caching(message) for message in priced]
    times = [message.moment for message in found if message.moment is not None]
    is_known = bool(priced) or not found
    return {
        **{
            f"{name}_tokens" if name != "web_searches" else name: sum(message.tokens[name] for message in found)
            for name in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches")
        },
        "api_messages": len(found),
        "lower_bound_messages": sum(message.is_lower_bound for message in found),
        "unpriced_messages": len(found) - len(priced),
        "progress_only_messages": sum(message.owner.is_progress for message in found),
        "recorded_messages": sum(message.recorded is not None and mode != "calculate" for message in priced),
        "cost_usd": sum((costs[message.key] or Fraction(0) for message in priced), Fraction(0)) if is_known else None,
        "cache_saved_usd": sum((saved for saved, _ in effects), Fraction(0)) if is_known else None,
        "cache_extra_usd": sum((extra for _, extra in effects), Fraction(0)) if is_known else None,
        "unpriced_models": tuple(sorted({m.owner.model for m in found if costs[m.key] is None})),
        "first_at": min(times, default=None),
        "last_at": max(times, default=None),
    }


def grouped(
    messages: Iterable[Message], key_of: Callable[[Message], Key], book: Book, mode: str = "auto"
) -> dict[Key, dict[str, Any]]:
    """Rows by their keys."""
    groups: dict[Key, list[Message]] = {}
    for message in messages:
        groups.setdefault(key_of(message), []).append(message)
    return {key: summed(group, book, mode) for key, group in groups.items()}


def said(row: UsageRow) -> dict[str, Any]:
    """What the product's row says, in the same form."""
    found: dict[str, Any] = {}
    for name in summed((), Book(())):
        value = getattr(row, name)
        found[name] = Fraction(value) if isinstance(value, Decimal) else value
    return found


# -- dimensions


class Keys:
    """The key of a message in every dimension, computed for it alone."""

    def __init__(self, h: Hansard, messages: Iterable[Message], zone: tzinfo) -> None:
        self.zone = zone
        self.projects: dict[Any, Any] = dict(h.reader.rows("SELECT session_id, project FROM sessions"))
        self.types: dict[Any, Any] = {
            (row[0], row[1]): row[2] for row in h.reader.rows("SELECT session_id, agent_id, agent_type FROM agents")
        }
        self.blocks = blocks(message.ts for message in messages)

    def __call__(self, dimension: str, message: Message) -> str | None:  # noqa: PLR0911 - one line per dimension
        owner = message.owner
        match dimension:
            case "session":
                return owner.session or None
            case "project":
                return self.projects.get(owner.session) or None
            case "model":
                return owner.model or None
            case "agent":
                return (self.types.get((owner.session, owner.agent)) or "subagent") if owner.agent else "main"
            case "subagent":
                return owner.agent or "main"
            case "branch":
                return owner.branch or None
            case "tool":
                return message.tool or None
            case "client":
                return "claude-code"
            case "commit":
                return None  # none of these projects is a repository on this machine
        if message.moment is None:
            return None
        local = message.moment.astimezone(self.zone)
        match dimension:
            case "hour":
                offset = local.strftime("%z")
                shown = "Z" if offset == "+0000" else f"{offset[:3]}:{offset[3:]}"
                return f"{local:%Y-%m-%dT%H}:00{shown}"
            case "day":
                return f"{local:%Y-%m-%d}"
            case "week":
                year, week, _ = local.isocalendar()
                return f"{year}-W{week:02}"
            case "month":
                return f"{local:%Y-%m}"
            case "block":
                start = self.blocks[bisect_right(self.blocks, message.ts, key=lambda block: block[0]) - 1][0]
                return f"{EPOCH + timedelta(milliseconds=start):%Y-%m-%dT%H:%M:%SZ}"
        raise NotImplementedError(dimension)


def blocks(times: Iterable[int]) -> list[tuple[int, int, int]]:
    """Blocks as (start, first message, last message): five hours from the full hour of the first one after the last."""
    found: list[tuple[int, int, int]] = []
    for ts in sorted(ts for ts in times if ts):
        if found and ts < found[-1][0] + LENGTH and ts - found[-1][2] <= LENGTH:
            found[-1] = (found[-1][0], found[-1][1], ts)
        else:
            found.append((ts - ts % HOUR, ts, ts))
    return found
