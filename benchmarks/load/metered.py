"""A history of so many API messages for measuring the ledger: lines that carry little besides what an answer used.

Texts are a few words and most results of tools are left out, so that a million messages fit into a gigabyte. What the
ledger looks at is as in real transcripts: answers in several lines that state the same figures again, or only the ones
the stream began with; clients, models and prices that change within the year; two lifetimes of cache entries; prompts beyond
200,000 tokens; subagents beside the main threads; forks that copy lines; a model that no price list knows.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from benchmarks.load.bulk import Ids
from benchmarks.load.dense import BRANCHES, PROJECTS
from hansard.errors import UsageError
from tests.demo_history.files import encode_cwd

PER_SESSION, SPREAD = 330, 1.1  # messages in the mean, and the spread of their logarithm
FIRST_DAY, DAYS = datetime(2025, 11, 1, tzinfo=UTC), 365
BREAKS, BREAK, STEP = 0.08, 1800.0, 32.0  # share of the answers that somebody thinks about, and seconds in the mean
AGENTS, AGENT_SHARE = 0.45, 0.5  # sessions that have subagents, and which part of the answers these give
FORKS, HOUR_LONG, LONG_CONTEXT, UNKNOWN = 0.03, 0.4, 0.06, 0.01  # of the sessions
CALLS, RESULTS, SEARCHES = 0.75, 0.1, 0.004  # of the answers, of the calls, of the newest client's answers
PROMPTED = 14  # answers to a prompt
CONTEXT, LONG = 165_000, 700_000
TOOLS = (b"Bash", b"Bash", b"Bash", b"Read", b"Read", b"Read", b"Grep", b"Edit", b"Edit", b"Write", b"Glob", b"Task")
AGENT_TYPES = ("Explore", "general-purpose", "reviewer")


@dataclass(frozen=True, slots=True)
class _Client:
    """A client of some months: what it calls, and how its lines state what was used."""

    version: bytes
    models: tuple[bytes, ...]
    small: bytes
    more: bytes  # further keys of `usage`
    unfinished: float  # share of the answers of which no line knows the end


_STANDARD = b'"service_tier":"standard"'
_TODAY = _STANDARD + b',"inference_geo":"","speed":"standard"'
_HAIKU, _SONNET, _OPUS = b"claude-haiku-4-5-20251001", b"claude-sonnet-4-6", b"claude-opus-4-6"
CLIENTS = (
    _Client(b"2.0.76", (b"claude-sonnet-4-5-20250929", b"claude-opus-4-5-20251101"), _HAIKU, _STANDARD, 0.5),
    _Client(b"2.1.39", (_OPUS, _OPUS, _SONNET), _HAIKU, _STANDARD + b',"inference_geo":"not_available"', 0.8),
    _Client(b"2.1.112", (b"claude-opus-4-7", _SONNET), _HAIKU, _TODAY, 0.0),
    _Client(b"2.1.325", (b"claude-opus-5-5", b"claude-sonnet-5-5"), b"claude-haiku-5-5", _TODAY, 0.0),
)
NOBODYS = b"kestrel-coder-2"


@dataclass(slots=True)
class MeteredStats:
    """What was written; a message counts once, with the most that any of its lines states."""

    files: int = 0
    bytes: int = 0
    lines: int = 0
    sessions: int = 0
    messages: int = 0
    answer_lines: int = 0
    copied_lines: int = 0
    lower_bounds: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    web_searches: int = 0


class _Thread:
    """One transcript: a main thread or a subagent's."""

    def __init__(
        self, rng: random.Random, ids: Ids, stats: MeteredStats, client: _Client, place: bytes, at: datetime
    ) -> None:
        self.rng, self.ids, self.stats, self.client, self.at = rng, ids, stats, client, at
        self.model = rng.choice(client.models)
        self.is_hour = False
        self.limit = CONTEXT
        self.context = rng.randrange(9_000, 18_000)
        self.place = place
        self.parent = b"null"
        self.millis, self.minute = 60_000, b""

    def lines(self, messages: int) -> Iterator[bytes]:
        """Write so many answers, with the prompts before them."""
        for number in range(messages):
            if number % PROMPTED == 0:
                yield self._user(b'"Go on with step %d."' % (1 + number // PROMPTED))
            if self.rng.random() < BREAKS:
                self.millis += int(self.rng.expovariate(1 / BREAK) * 1000)
            yield from self._answer()

    def _answer(self) -> Iterator[bytes]:
        rng, stats, client = self.rng, self.stats, self.client
        chance = rng.random()
        message = self.ids.take(16)
        tool = b"toolu_01" + message[:12] if rng.random() < CALLS else b""
        blocks = []
        if chance < 0.1:
            blocks.append(b'{"type":"thinking","thinking":"Hm.","signature":"Eq"}')
        if chance < 0.35 or not tool:
            blocks.append(b'{"type":"text","text":"Done."}')
        if tool:
            name = TOOLS[int(rng.random() * len(TOOLS))]
            blocks.append(b'{"type":"tool_use","id":"%b","name":"%b","input":{}}' % (tool, name))
        given, told, fresh = (
            3 + int(rng.random() * 6),
            30 + int(rng.expovariate(1 / 380)),
            150 + int(rng.random() * 2600),
        )
        opening = 1 + int(rng.random() * 8)
        unfinished = rng.random() < client.unfinished
        searches = int(rng.random() < SEARCHES) if client is CLIENTS[-1] else 0
        read = self.context
        self.context = read + fresh if read + fresh < self.limit else 16_000
        stats.messages += 1
        stats.answer_lines += len(blocks)
        stats.lower_bounds += unfinished
        stats.input_tokens += given
        stats.output_tokens += opening if unfinished else told
        stats.cache_read_tokens += read
        stats.cache_write_5m_tokens += 0 if self.is_hour else fresh
        stats.cache_write_1h_tokens += fresh if self.is_hour else 0
        stats.web_searches += searches
        head = b'"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,' % (
            given,
            fresh,
            read,
        )
        split = (0, fresh) if self.is_hour else (fresh, 0)
        tail = b'"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d},%b' % (
            *split,
            client.more,
        )
        if searches:
            tail += b',"server_tool_use":{"web_search_requests":1,"web_fetch_requests":0}'
        stop = b'"tool_use"' if tool else b'"end_turn"'
        for number, block in enumerate(blocks, 1):
            # Old clients state what the stream began with, and the end at most in the last line.
            early = unfinished or (client.unfinished > 0 and number < len(blocks))
            yield (
                b'{"parentUuid":%b,%b"type":"assistant","message":{"id":"msg_01%b","model":"%b","role":"assistant",'
                b'"content":[%b],"stop_reason":%b,"usage":{%b"output_tokens":%d,%b}},"requestId":"req_01%b"%b'
            ) % (
                *(self.parent, self.place, message, self.model, block, b"null" if early else stop, head),
                *(
                    opening if early else told,
                    tail,
                    message[:10],
                    self._end(self.rng.expovariate(1 / STEP) if number == 1 else 0.4),
                ),
            )
        if tool and rng.random() < RESULTS:
            yield self._user(b'[{"type":"tool_result","tool_use_id":"%b","content":"ok"}]' % tool)

    def _user(self, content: bytes) -> bytes:
        frame = b'{"parentUuid":%b,%b"type":"user","message":{"role":"user","content":%b}%b'
        return frame % (self.parent, self.place, content, self._end(self.rng.expovariate(1 / STEP)))

    def _end(self, seconds: float) -> bytes:
        self.millis += 1 + int(seconds * 1000)
        if self.millis >= 60_000:
            self.at += timedelta(minutes=self.millis // 60_000)
            self.millis %= 60_000
            self.minute = self.at.strftime("%Y-%m-%dT%H:%M:").encode("ascii")
        uuid = self.ids.uuid()
        self.parent = b'"%b"' % uuid
        return b',"uuid":"%b","timestamp":"%b%02d.%03dZ"}\n' % (
            uuid,
            self.minute,
            self.millis // 1000,
            self.millis % 1000,
        )


def write_metered(
    config_dir: str | Path,
    *,
    messages: int = 1_000_000,
    seed: int = 7,
    progress: Callable[[int, int], None] | None = None,
) -> MeteredStats:
    """Write a history with exactly so many API messages, and some forks that copy them.

    `progress` is called after each session with the messages written and the messages to write.
    """
    if messages < 1:
        raise UsageError(f"{messages} messages are too few")
    rng = random.Random(seed)
    ids, stats = Ids(rng), MeteredStats()
    sizes = _sizes(rng, messages)
    root = Path(config_dir) / "projects"
    for number, size in enumerate(sizes):
        day = FIRST_DAY + timedelta(days=DAYS * number // len(sizes))
        _write_session(root, rng, ids, stats, size, day + timedelta(minutes=7 * 60 + int(rng.random() * 14 * 60)))
        if progress:
            progress(stats.messages, messages)
    return stats


def _sizes(rng: random.Random, messages: int) -> list[int]:
    """Messages of each session, which add up to what was asked for."""
    drawn = [rng.lognormvariate(0, SPREAD) for _ in range(max(1, messages // PER_SESSION))]
    scale = messages / sum(drawn)
    ends = [0]
    reached = 0.0
    for size in drawn:
        reached += size * scale
        ends.append(round(reached))
    ends[-1] = messages
    return [end - start for start, end in pairwise(ends) if end > start]


def _write_session(root: Path, rng: random.Random, ids: Ids, stats: MeteredStats, size: int, at: datetime) -> None:
    share = (at - FIRST_DAY) / timedelta(days=DAYS) * len(CLIENTS) + rng.uniform(-0.5, 0.5)
    client = CLIENTS[min(len(CLIENTS) - 1, max(0, int(share)))]
    session, project = ids.uuid(), rng.choice(PROJECTS)
    folder = root / encode_cwd(f"/src/{project}")
    branch = rng.choice(BRANCHES)
    frame = b'"isSidechain":%%b,"cwd":"/src/%b","sessionId":"%b","version":"%b","gitBranch":"%b",%%b' % (
        *(project.encode(), session, client.version, branch.encode()),
    )
    is_hour, is_long = rng.random() < HOUR_LONG, rng.random() < LONG_CONTEXT
    in_agents = int(size * AGENT_SHARE) if rng.random() < AGENTS else 0
    main = _Thread(rng, ids, stats, client, frame % (b"false", b""), at)
    main.is_hour, main.limit = is_hour, LONG if is_long else CONTEXT
    if rng.random() < UNKNOWN:
        main.model = NOBODYS
    lines = list(main.lines(size - in_agents))
    _put(folder / f"{session.decode()}.jsonl", lines, main.at, stats)
    stats.sessions += 1
    if len(lines) > 20 and rng.random() < FORKS:
        _fork(folder, ids, session, lines[: len(lines) // 2], main.at, stats)
    while in_agents:
        part = min(in_agents, 5 + int(rng.expovariate(1 / 40)))
        in_agents -= part
        agent = b"a" + ids.take(16)
        begun = at + (main.at - at) * rng.random()
        thread = _Thread(rng, ids, stats, client, frame % (b"true", b'"agentId":"%b",' % agent), begun)
        if rng.random() < 0.5:
            thread.model = client.small
        path = folder / session.decode() / "subagents" / f"agent-{agent.decode()}"
        _put(path.with_suffix(".jsonl"), list(thread.lines(part)), thread.at, stats)
        kind = rng.choice(AGENT_TYPES)
        path.with_suffix(".meta.json").write_text(f'{{"agentType":"{kind}"}}', encoding="ascii")


def _fork(folder: Path, ids: Ids, session: bytes, lines: list[bytes], at: datetime, stats: MeteredStats) -> None:
    """Write the session that goes on from a copy of the first half of another."""
    copy = ids.uuid()
    old, new = b'"sessionId":"%b"' % session, b'"sessionId":"%b"' % copy
    stats.sessions += 1
    stats.copied_lines += len(lines)
    _put(folder / f"{copy.decode()}.jsonl", [line.replace(old, new) for line in lines], at, stats)


def _put(path: Path, lines: list[bytes], at: datetime, stats: MeteredStats) -> None:
    content = b"".join(lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    when = int(at.timestamp()) * 1_000_000_000
    os.utime(path, ns=(when, when))
    stats.files += 1
    stats.lines += len(lines)
    stats.bytes += len(content)
