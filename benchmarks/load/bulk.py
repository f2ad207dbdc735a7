"""A large history in a short time: lines put together from ready pieces, with the statistics of real transcripts.

Measured on real transcripts and aimed at here: 256 KiB of them shrink to 17 % with zstd -1, 15 to 25 % of the bytes are text
worth searching, a line has 3 KB in the mean. Sizes of files are log-normal, with one very large file and one very long line.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.load.sheet import Sheet
from hansard.errors import UsageError
from tests.demo_history.files import encode_cwd

MEDIAN = 100_000
SPREAD = 1.68  # of the logarithm: the 99th percentile is fifty times the median
SMALLEST = 1_500
LARGEST_SHARE = 0.5  # no ordinary file is larger than this part of the biggest
FLUSH = 1 << 20
MEAN_TURN = 13_000  # bytes of an answer with its call and result
FILES_PER_PROJECT = 75
AGENT_SHARE = 0.4
AGAIN = 0.08  # of the outputs have been seen a little earlier
COPIED = 0.85  # of the results of a main file are followed by a copy in an agent_progress line
FIRST_DAY = datetime(2025, 10, 1, 8, 0, tzinfo=UTC)
MODELS = (b"claude-opus-4-7", b"claude-sonnet-4-6", b"claude-haiku-4-5-20251001")
TOOLS = (b"Bash", b"Bash", b"Read", b"Read", b"Grep", b"Edit", b"Edit")
HOOK = b'{"type":"hook_progress","hookEvent":"PostToolUse","hookName":"PostToolUse:Edit","command":"callback"}'


@dataclass(slots=True)
class BulkStats:
    """What was written; a message counts once, however many lines it has."""

    files: int = 0
    bytes: int = 0
    lines: int = 0
    prompts: int = 0
    api_messages: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Ids:
    """Random identifiers cut from blocks of random hex: several times faster than making each."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._block = b""
        self._at = 0

    def take(self, length: int) -> bytes:
        """Give that many hexadecimal digits."""
        at = self._at
        if at + length > len(self._block):
            self._block = self._rng.randbytes(1 << 16).hex().encode("ascii")
            at = 0
        self._at = at + length
        return self._block[at : at + length]

    def uuid(self) -> bytes:
        """Give a version 4 uuid."""
        digits = self.take(31)
        return b"%b-%b-4%b-a%b-%b" % (digits[:8], digits[8:12], digits[12:15], digits[15:18], digits[18:30])


class _Writer:
    """One transcript: ready-made frames around what differs from line to line."""

    def __init__(
        self, ids: Ids, rng: random.Random, sheet: Sheet, stats: BulkStats, session: bytes, cwd: str, at: datetime
    ) -> None:
        self.ids, self.rng, self.sheet, self.stats = ids, rng, sheet, stats
        self.clock = at.replace(second=0, microsecond=0)
        self.millis = 60_000  # since the clock's minute
        self.minute = b""
        self.seen: list[bytes] = []  # outputs that may come again, as when a file is read twice
        self.agent: bytes | None = None
        self.session = session
        self.cwd = cwd.encode()
        self.parent = b"null"
        self.context = rng.randrange(12_000, 22_000)
        self.model = rng.choice(MODELS)
        self.count = 0

    def frames(self, agent: bytes | None) -> None:
        """Make the frames for this file."""
        self.agent = agent
        side = b"true" if agent else b"false"
        place = b',"isSidechain":%b,"userType":"external","cwd":"%b","sessionId":"%b","version":"2.1.49","gitBranch":"main",'
        place = place % (side, self.cwd, self.session)
        if agent:
            place += b'"agentId":"%b",' % agent
        self.head = b'{"parentUuid":'
        self.user = place + b'"type":"user","message":{"role":"user","content":'
        self.assistant = place + b'"message":{"model":"%b","id":"msg_01' % self.model
        self.progress = place + b'"type":"progress","data":'

    def time(self) -> bytes:
        """Move on a little and write the time."""
        self.millis += int(self.rng.random() * 9000) + 40
        if self.millis >= 60_000:
            self.clock += timedelta(minutes=self.millis // 60_000)
            self.millis %= 60_000
            self.minute = self.clock.strftime("%Y-%m-%dT%H:%M:").encode("ascii")
        return b"%b%02d.%03dZ" % (self.minute, self.millis // 1000, self.millis % 1000)

    def end(self) -> tuple[bytes, ...]:
        """Write uuid and time, and make this line the next one's parent."""
        uuid = self.ids.uuid()
        self.parent = b'"%b"' % uuid
        self.count += 1
        return (b',"uuid":"', uuid, b'","timestamp":"', self.time(), b'"}\n')

    def prompt(self) -> tuple[bytes, ...]:
        """Write what somebody asked."""
        self.stats.prompts += 1
        text = self.sheet.cut(80 + self.rng.expovariate(1 / 300))
        return (self.head, self.parent, self.user, b'"', text, b'"}', *self.end())

    def usage(self, output: int) -> bytes:
        """Write the figures of a request and count them."""
        stats, fresh, given = self.stats, 200 + int(self.rng.random() * 2400), 3 + int(self.rng.random() * 6)
        stats.api_messages += 1
        stats.input_tokens += given
        stats.output_tokens += output
        stats.cache_read_tokens += self.context
        stats.cache_write_tokens += fresh
        read = self.context
        self.context = read + fresh if read < 170_000 else 20_000
        return (
            b'"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,'
            b'"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,'
            b'"service_tier":"standard","inference_geo":"not_available"}},"requestId":"req_01%b","type":"assistant"'
        ) % (given, fresh, read, fresh, output, self.ids.take(22))

    def line(self, message: bytes, block: tuple[bytes, ...], stop: bytes, usage: bytes) -> tuple[bytes, ...]:
        """Write one block of an answer."""
        opening = b'","type":"message","role":"assistant","content":['
        return (
            *(self.head, self.parent, self.assistant, message, opening),
            *block,
            *(b'],"stop_reason":', stop, b",", usage),
            *self.end(),
        )

    def turn(self) -> Iterator[tuple[bytes, ...]]:
        """Write an answer: perhaps thought and text, mostly a call with its result."""
        rng, ids = self.rng, self.ids
        message = ids.take(22)
        chance = rng.random()
        usage = self.usage(40 + int(rng.expovariate(1 / 300)))
        if chance < 0.22:
            signature = ids.take(1600)  # noise, as real ones are
            thought = self.sheet.cut(rng.expovariate(1 / 350))
            block = (b'{"type":"thinking","thinking":"', thought, b'","signature":"Eq', signature, b'"}')
            yield self.line(message, block, b'"tool_use"', usage)
        if chance < 0.35:
            yield self.line(
                message,
                (b'{"type":"text","text":"', self.sheet.cut(rng.expovariate(1 / 350)), b'"}'),
                b'"tool_use"',
                usage,
            )
        yield from self.call(message, usage)

    def output(self) -> bytes:
        """Give the text of a result: new, with a name in it that occurs nowhere else, or one seen a little earlier."""
        rng = self.rng
        if self.seen and rng.random() < AGAIN:
            return self.seen[int(rng.random() * len(self.seen))]
        text = self.sheet.cut(rng.lognormvariate(6.6, 1.4)) + b"%b %b\\n" % (self.ids.take(9), self.ids.take(7))
        self.seen = [*self.seen[-5:], text]
        return text

    def copies(self, tool: bytes, output: bytes) -> tuple[bytes, ...]:
        """Write the copy of a subagent's message that clients of that time put into the main file."""
        prompt = self.seen[0][: self.seen[0].find(b"\\n") + 2]
        return (
            *(self.head, self.parent, self.progress, b'{"message":{"type":"user","message":{"role":"user","content":'),
            *(
                b'[{"tool_use_id":"',
                tool,
                b'","type":"tool_result","content":"',
                output,
                b'"}]},"uuid":"',
                self.ids.uuid(),
            ),
            *(
                b'","toolUseResult":{"stdout":"',
                output,
                b'"}},"normalizedMessages":[],"type":"agent_progress","prompt":"',
                prompt,
            ),
            *(
                b'","agentId":"a881341"},"toolUseID":"agent_msg_01',
                self.ids.take(22),
                b'","parentToolUseID":"',
                tool,
                b'"',
            ),
            *self.end(),
        )

    def call(self, message: bytes, usage: bytes) -> Iterator[tuple[bytes, ...]]:
        """Write a tool call, its progress and its result with the twin."""
        rng = self.rng
        self.stats.tool_calls += 1
        tool = b"toolu_01" + self.ids.take(22)
        name = TOOLS[int(rng.random() * len(TOOLS))]
        asked = self.sheet.cut(20 + rng.expovariate(1 / (700 if name == b"Edit" else 120)))
        block = (b'{"type":"tool_use","id":"', tool, b'","name":"', name, b'","input":{"argument":"', asked, b'"}}')
        yield self.line(message, block, b'"tool_use"', usage)
        source = self.parent
        output = self.output()
        if name == b"Bash" and not self.agent:
            for second in range(2, 2 + int(rng.expovariate(1 / 1.6))):
                shown = output[: output.rfind(b"\\n", 0, 900) + 2] if len(output) > 900 else output
                data = (b'{"type":"bash_progress","output":"', shown, b'","fullOutput":"', shown)
                tail = (
                    b'","elapsedTimeSeconds":%d,"totalLines":8},"toolUseID":"bash-progress-%d","parentToolUseID":"%b"'
                )
                yield (self.head, self.parent, self.progress, *data, tail % (second, second, tool), *self.end())
        twin: tuple[bytes, ...]
        result = (b'[{"tool_use_id":"', tool, b'","type":"tool_result","content":"', output, b'"}]}')
        if name == b"Edit":
            original = b"".join(self.seen)
            twin = (
                b',"toolUseResult":{"filePath":"a.py","newString":"',
                asked,
                b'","originalFile":"',
                original,
                b'","structuredPatch":[]}',
            )
        elif name == b"Bash":
            twin = (b',"toolUseResult":{"stdout":"', output, b'","stderr":"","interrupted":false,"isImage":false}')
        else:
            twin = (
                b',"toolUseResult":{"type":"text","file":{"filePath":"a.py","content":"',
                output,
                b'","numLines":9}}',
            )
        yield (
            *(self.head, source, self.user, *result, *twin),
            *(b',"sourceToolAssistantUUID":', source),
            *self.end(),
        )
        if rng.random() < 0.6:
            link = (b',"parentToolUseID":"', tool, b'","toolUseID":"', tool, b'"')
            yield (self.head, self.parent, self.progress, HOOK, *link, *self.end())
        if not self.agent and rng.random() < COPIED:
            yield self.copies(tool, output)

    def pieces(self, size: int) -> Iterator[bytes]:
        """Write the file up to about that size, some turns at a time."""
        done = turns = 0
        at_once = 24 if size > FLUSH else 1
        while done == 0 or done + MEAN_TURN / 2 < size:
            parts: list[bytes] = []
            if turns % 24 == 0:
                parts += self.prompt()
            for _ in range(at_once):
                for line in self.turn():
                    parts += line
            turns += at_once
            piece = b"".join(parts)
            done += len(piece)
            yield piece

    def long_line(self, size: int) -> Iterator[bytes]:
        """Write a question, a call and a result of that many bytes in one line: a quarter for the model, the rest the twin."""
        yield b"".join(self.prompt())
        tool = b"toolu_01" + self.ids.take(22)
        block = (b'{"type":"tool_use","id":"', tool, b'","name":"Grep","input":{"pattern":"."}}')
        yield b"".join(self.line(self.ids.take(22), block, b'"tool_use"', self.usage(60)))
        self.stats.tool_calls += 1
        yield b"".join(
            (self.head, self.parent, self.user, b'[{"tool_use_id":"', tool, b'","type":"tool_result","content":"')
        )
        yield from self._fill(size // 4)
        yield b'"}]},"toolUseResult":{"mode":"content","numFiles":0,"filenames":[],"content":"'
        yield from self._fill(size - size // 4)
        yield b'"}'
        yield b"".join(self.end())

    def _fill(self, size: int) -> Iterator[bytes]:
        while size > 0:
            piece = self.sheet.cut(min(size, FLUSH))
            size -= len(piece)
            yield piece


def write_bulk(
    config_dir: str | Path,
    *,
    total_bytes: int = 1 << 30,
    files: int = 3000,
    seed: int = 7,
    biggest: int = 80 << 20,
    long_line: int = 100 << 20,
    progress: Callable[[int, int], None] | None = None,
) -> BulkStats:
    """Write about `total_bytes` in so many transcripts; a `biggest` or `long_line` of 0 leaves that file out.

    `progress` is called after each file with the bytes written and the bytes to write.
    """
    rest, ordinary = total_bytes - biggest - long_line, files - bool(biggest) - bool(long_line)
    if ordinary < 1 or rest < ordinary * SMALLEST:
        raise UsageError(
            f"{total_bytes} bytes are too few for {files} files with one of {biggest} and a line of {long_line} bytes"
        )
    rng = random.Random(seed)
    sheet = Sheet(rng, size=max(1 << 18, min(6 << 20, total_bytes // 8)))
    ids, stats = Ids(rng), BulkStats()
    root = Path(config_dir)
    sizes = _sizes(rng, ordinary, rest, biggest or rest)
    sizes.insert(len(sizes) // 3, biggest)
    sessions: list[tuple[str, bytes, Path]] = []
    for number, size in enumerate(size for size in sizes if size):
        start = FIRST_DAY + timedelta(minutes=60 * 24 * 365 * number // files)
        as_agent = bool(sessions) and size != biggest and rng.random() < AGENT_SHARE
        cwd, session, folder = (
            rng.choice(sessions[-FILES_PER_PROJECT:]) if as_agent else _new_session(root, rng, ids, files)
        )
        writer = _Writer(ids, rng, sheet, stats, session, cwd, start)
        name = folder / f"{session.decode()}.jsonl"
        if as_agent:
            agent = b"a" + ids.take(16)
            writer.frames(agent)
            name = folder / session.decode() / "subagents" / f"agent-{agent.decode()}.jsonl"
        else:
            sessions.append((cwd, session, folder))
            writer.frames(None)
        _write(name, writer, writer.pieces(size), stats)
        if progress:
            progress(stats.bytes, total_bytes)
    if long_line:
        cwd, session, folder = _new_session(root, rng, ids, files)
        writer = _Writer(ids, rng, sheet, stats, session, cwd, FIRST_DAY)
        writer.frames(None)
        _write(folder / f"{session.decode()}.jsonl", writer, writer.long_line(long_line), stats)
        if progress:
            progress(stats.bytes, total_bytes)
    return stats


def _new_session(root: Path, rng: random.Random, ids: Ids, files: int) -> tuple[str, bytes, Path]:
    cwd = f"/home/mira/src/project-{rng.randrange(max(1, files // FILES_PER_PROJECT))}"
    return cwd, ids.uuid(), root / "projects" / encode_cwd(cwd)


def _sizes(rng: random.Random, count: int, total: int, ceiling: int) -> list[int]:
    drawn = [min(rng.lognormvariate(math.log(MEDIAN), SPREAD), ceiling * LARGEST_SHARE) for _ in range(count)]
    scale = (total - count * SMALLEST) / sum(drawn)
    return [SMALLEST + int(size * scale) for size in drawn]


def _write(name: Path, writer: _Writer, pieces: Iterator[bytes], stats: BulkStats) -> None:
    name.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(handle, "wb", buffering=FLUSH) as file:
        for piece in pieces:
            file.write(piece)
            stats.bytes += len(piece)
    when = int(writer.clock.timestamp()) * 1_000_000_000
    os.utime(name, ns=(when, when))
    stats.files += 1
    stats.lines += writer.count
