"""Token figures that hang together: a context that grows, a cache that is read, written and expires, a bill."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from tests.demo_history.client import Dice, Era

# USD per million tokens: input, output, cache read, cache write for five minutes, for an hour.
RATES = {
    "opus-5": (4.0, 20.0, 0.2, 5.0, 8.0),
    "sonnet-5": (2.0, 10.0, 0.1, 2.5, 4.0),
    "haiku-5": (0.1, 0.5, 0.005, 0.125, 0.2),
    "opus": (5.0, 25.0, 0.5, 6.25, 10.0),
    "sonnet": (3.0, 15.0, 0.3, 3.75, 6.0),
    "haiku": (1.0, 5.0, 0.1, 1.25, 2.0),
}
CACHE_SECONDS = {"5m": 300, "1h": 3600}
WEB_SEARCH_USD = 0.01


def tokens(text: str) -> int:
    """Guess the tokens of a text, as everybody does: four bytes each."""
    return len(text.encode("utf-8", "surrogatepass")) // 4 + 1


@dataclass(frozen=True, slots=True)
class Usage:
    """What one API request used; `opening` is the output figure the stream begins with."""

    input: int = 0
    output: int = 0
    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    thinking: int = 0
    web_searches: int = 0
    opening: int = 0

    def shape(self, era: Era, *, final: bool) -> dict[str, Any]:
        """Give the `usage` object of a line, with the keys and the order of that era."""
        output = self.output if final else self.opening
        head = {
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.write_5m + self.write_1h,
            "cache_read_input_tokens": self.read,
        }
        split = {"ephemeral_5m_input_tokens": self.write_5m, "ephemeral_1h_input_tokens": self.write_1h}
        if not final or not era.attachments:
            return {**head, "cache_creation": split, "service_tier": "standard", "output_tokens": output}
        split = dict(reversed(split.items()))
        served = {"web_search_requests": self.web_searches, "web_fetch_requests": 0}
        tail = {"server_tool_use": served, "service_tier": "standard", "cache_creation": split, "inference_geo": ""}
        if not era.requests:
            step = {**head, "output_tokens": output, "cache_creation": split, "type": "message"}
            return {**head, "output_tokens": output, **tail, "iterations": [step], "speed": "standard"}
        details = {"output_tokens_details": {"thinking_tokens": self.thinking}}
        end: dict[str, Any] = {"iterations": [], "speed": "standard", "fallback_credit": None}
        return {**head, "output_tokens": output, **details, **tail, **end}


def no_usage(era: Era) -> dict[str, Any]:
    """Give the zeros of a `<synthetic>` line."""
    zeros: dict[str, Any] = {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": None,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    }
    if era.requests:
        extra = {"inference_geo": None, "iterations": None, "speed": None, "fallback_credit": None}
        return {"output_tokens_details": None, **zeros, **extra}
    return zeros


@dataclass(slots=True)
class Bill:
    """What a session and its agents have used so far, by model: the client's `cost-state`."""

    by_model: dict[str, dict[str, float]] = field(default_factory=dict)
    api_ms: int = 0
    tool_ms: int = 0
    lines_added: int = 0
    lines_removed: int = 0

    def add(self, model: str, usage: Usage) -> None:
        """Count one request."""
        row = self.by_model.setdefault(model, {})
        used = {
            "inputTokens": usage.input,
            "outputTokens": usage.output,
            "thinkingTokens": usage.thinking,
            "cacheReadInputTokens": usage.read,
            "cacheCreationInputTokens": usage.write_5m + usage.write_1h,
            "cacheCreationEphemeral5mInputTokens": usage.write_5m,
            "cacheCreationEphemeral1hInputTokens": usage.write_1h,
            "webSearchRequests": usage.web_searches,
        }
        for name, count in used.items():
            row[name] = row.get(name, 0) + count
        row["costUSD"] = round(row.get("costUSD", 0) + price(model, usage), 9)

    def total(self) -> float:
        """Give the sum in USD."""
        return round(sum(row["costUSD"] for row in self.by_model.values()), 9)

    def copy(self) -> Bill:
        """Give a second bill that goes on from the same figures."""
        rows = {model: dict(row) for model, row in self.by_model.items()}
        return Bill(rows, self.api_ms, self.tool_ms, self.lines_added, self.lines_removed)


def price(model: str, usage: Usage) -> float:
    """Give the price of a request in USD."""
    rates = next(rates for name, rates in RATES.items() if name in model)
    amounts = (usage.input, usage.output, usage.read, usage.write_5m, usage.write_1h)
    millionths = sum(rate * amount for rate, amount in zip(rates, amounts, strict=True))
    return millionths / 1_000_000 + usage.web_searches * WEB_SEARCH_USD


class Meter:
    """The context of one conversation as the prompt cache sees it."""

    def __init__(self, dice: Dice, base: int, keep: str = "5m") -> None:
        self.dice = dice
        self.base = base  # system prompt and tool definitions, which other sessions have put into the cache
        self.keep = keep
        self.context = 0
        self.cached = 0
        self.used_at: datetime | None = None

    def add(self, count: int) -> None:
        """Put tokens into the context that the next request will send."""
        self.context += count

    def request(self, now: datetime, output: int, *, thinking: int = 0, web_searches: int = 0) -> Usage:
        """Send the context: what is cached is read, the rest is written."""
        if self.used_at is None or (now - self.used_at).total_seconds() > CACHE_SECONDS[self.keep]:
            self.cached = self.base if self.dice.random() < 0.7 else 0
        fresh = max(1, self.base + self.context - self.cached)
        usage = Usage(
            input=self.dice.randrange(3, 9),
            output=output,
            read=self.cached,
            write_5m=fresh if self.keep == "5m" else 0,
            write_1h=fresh if self.keep == "1h" else 0,
            thinking=thinking,
            web_searches=web_searches,
            opening=min(output, self.dice.randrange(1, 9)),
        )
        self.cached += fresh
        self.used_at = now
        self.add(output)
        return usage

    def fill(self) -> int:
        """Give the size of the context in tokens."""
        return self.base + self.context

    def compact(self, left: int) -> None:
        """Replace the context by a summary of that many tokens."""
        self.context = left
        self.cached = min(self.cached, self.base)
