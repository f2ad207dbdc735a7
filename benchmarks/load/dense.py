"""A history of so many blocks for measuring search: lines that carry little besides the text that is searched.

Real transcripts hold six bytes of twins, progress and snapshots for one of searchable text; here it is less than one, so that a
million blocks fit into little more than a gigabyte. The words are those of `wording`; sizes of sessions are log-normal.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.load.bulk import Ids
from benchmarks.load.wording import NOUNS, VERBS, Lines, Wording
from hansard.errors import UsageError
from tests.demo_history.files import encode_cwd

MEDIAN, SPREAD, LARGEST = 130, 1.4, 0.02  # blocks of a session; the share of all that one may have
TEXT = 720  # bytes of a block in the mean
TIMES = 20  # how often each passage occurs: files are read again and again
AGENTS, FORKS, CJK_SESSIONS, FAILING, WITH_RARE = 0.25, 0.05, 0.03, 0.06, 0.5
FORK_BLOCKS = 3000
FIRST_DAY, DAYS = datetime(2025, 6, 1, 8, 0, tzinfo=UTC), 480
PROJECTS = (
    "tidewater orchard-api ledger beacon-web kestrel-cli saltmarsh quarry-etl lantern fjordmaps inkwell copperline thistle-ui"
    " harbor-auth mosaic pinecone-ml brindle anvil-build wren-mobile foxglove-docs cinder-game"
).split()
BRANCHES = (
    *(
        "main",
        "main",
        "main",
        "develop",
        "feature/login-retry",
        "feature/tide-table",
        "fix/flaky-sync",
        "fix/utf8-titles",
    ),
    *("release/2.4", "chore/bump-deps", "refactor/query-plan", "spike/wasm"),
)
MODELS = ("claude-opus-4-7", "claude-sonnet-4-6", "claude-sonnet-4-6", "claude-haiku-4-5-20251001")
VERSIONS = ("2.0.76", "2.1.20", "2.1.49", "2.1.112")
TOOLS = ("Bash", "Bash", "Bash", "Read", "Read", "Read", "Grep", "Edit", "Edit", "Write", "Glob", "WebFetch")


@dataclass(slots=True)
class DenseStats:
    """What was written; blocks of forks, which are copies, are counted apart."""

    files: int = 0
    bytes: int = 0
    lines: int = 0
    blocks: int = 0
    copied_blocks: int = 0
    sessions: int = 0
    text_bytes: int = 0


class _Texts:
    """The sheets that texts are cut from, and the rare names that go in between."""

    def __init__(self, rng: random.Random, blocks: int) -> None:
        self.rng = rng
        self.wording = Wording(rng)
        size = max(1 << 18, blocks * TEXT // TIMES)
        self.prose = Lines(rng, self.wording.prose(), size * 3 // 10)
        self.code = Lines(rng, self.wording.code(), size * 3 // 10)
        self.logs = Lines(rng, self.wording.logs(), size * 2 // 10)
        self.listings = Lines(rng, self.wording.listings(), size // 10)
        self.cjk = Lines(rng, self.wording.cjk(), size // 10)
        self.paths = [path.encode() for path in self.wording.tables["p"]]
        self.titles = list(self._titles(20_000))

    def said(self, mean: float, *, cjk: bool) -> bytes:
        """What somebody says, without the line's end; half of it with a name that is rare."""
        sheet = self.cjk if cjk else self.prose
        text = sheet.cut(self.rng.expovariate(1 / mean))[:-2]
        return b"%b (%b)" % (text, self.rare()) if self.rng.random() < WITH_RARE else text

    def path(self) -> bytes:
        """A path below the working directory."""
        return self.paths[int(self.rng.random() * len(self.paths))]

    def rare(self) -> bytes:
        """A name that few blocks have."""
        return self.wording.rare().encode("ascii")

    def title(self) -> bytes:
        """A few words for a session or a command."""
        return self.titles[int(self.rng.random() * len(self.titles))]

    def _titles(self, count: int) -> Iterator[bytes]:
        rng, nouns = self.rng, self.wording.nouns
        for _ in range(count):
            words = rng.choices(nouns, k=2 + int(rng.random() * 3))
            yield " ".join([rng.choice(VERBS).capitalize(), *words, rng.choice(NOUNS)]).encode("ascii")


class _Session:
    """One transcript: its frames, its clock and the blocks it may still write."""

    def __init__(self, texts: _Texts, ids: Ids, stats: DenseStats, session: bytes, cwd: bytes, at: datetime) -> None:
        rng = texts.rng
        self.texts, self.ids, self.stats, self.rng = texts, ids, stats, rng
        self.session, self.cwd, self.at = session, cwd, at
        self.cjk = rng.random() < CJK_SESSIONS
        self.parent = b"null"
        self.millis, self.minute = 60_000, b""
        self.lines = 0
        self.model, self.branch = rng.choice(MODELS), rng.choice(BRANCHES)
        self.version = rng.choice(VERSIONS)

    def frames(self, agent: bytes | None) -> None:
        """Make what is the same in every line of this file."""
        self.agent = agent
        place = b'"isSidechain":%b,"cwd":"%b","sessionId":"%b","version":"%b","gitBranch":"%b",' % (
            b"true" if agent else b"false",
            self.cwd,
            self.session,
            self.version.encode(),
            self.branch.encode(),
        )
        if agent:
            place += b'"agentId":"%b",' % agent
        self.user = place + b'"type":"user","message":{"role":"user","content":'
        self.assistant = place + b'"type":"assistant","message":{"model":"%b","id":"msg_01' % self.model.encode()

    def _end(self) -> bytes:
        self.millis += int(self.rng.random() * 16_000) + 40
        if self.millis >= 60_000:
            self.at += timedelta(minutes=self.millis // 60_000)
            self.millis %= 60_000
            self.minute = self.at.strftime("%Y-%m-%dT%H:%M:").encode("ascii")
        uuid = self.ids.uuid()
        self.parent = b'"%b"' % uuid
        self.lines += 1
        return b',"uuid":"%b","timestamp":"%b%02d.%03dZ"}\n' % (
            uuid,
            self.minute,
            self.millis // 1000,
            self.millis % 1000,
        )

    def _asks(self, content: bytes, more: bytes = b"") -> bytes:
        return b'{"parentUuid":%b,%b%b}%b%b' % (self.parent, self.user, content, more, self._end())

    def _answers(self, message: bytes, block: bytes) -> bytes:
        frame = (
            b'{"parentUuid":%b,%b%b","type":"message","role":"assistant","content":[%b],"usage":{"input_tokens":%d,'
            b'"output_tokens":%d}}%b'
        )
        given, told = 3 + len(block) % 7, 20 + len(block) // 4
        return frame % (self.parent, self.assistant, message, block, given, told, self._end())

    def blocks(self) -> Iterator[bytes]:
        """Lines of one block each, without end."""
        rng, texts = self.rng, self.texts
        while True:
            text = texts.said(320, cjk=self.cjk)
            self.stats.text_bytes += len(text)
            yield self._asks(b'"%b"' % text)
            for _ in range(1 + int(rng.expovariate(1 / 9))):
                message = self.ids.take(22)
                chance = rng.random()
                if chance < 0.25:
                    text = texts.said(560, cjk=self.cjk)
                    self.stats.text_bytes += len(text)
                    yield self._answers(message, b'{"type":"thinking","thinking":"%b","signature":"Eq"}' % text)
                if chance < 0.4:
                    text = texts.said(460, cjk=self.cjk)
                    self.stats.text_bytes += len(text)
                    yield self._answers(message, b'{"type":"text","text":"%b"}' % text)
                yield from self._call(message)

    def _call(self, message: bytes) -> Iterator[bytes]:
        rng, texts = self.rng, self.texts
        tool = b"toolu_01" + self.ids.take(22)
        name = TOOLS[int(rng.random() * len(TOOLS))]
        failing = rng.random() < FAILING
        path = b"%b/%b" % (self.cwd, texts.path())
        given, output, twin = self._work(name, path, failing=failing)
        self.stats.text_bytes += len(given) + len(output)
        block = b'{"type":"tool_use","id":"%b","name":"%b","input":{%b}}' % (tool, name.encode(), given)
        yield self._answers(message, block)
        error = b',"is_error":true' if failing else b""
        result = b'[{"tool_use_id":"%b","type":"tool_result","content":"%b"%b}]' % (tool, output, error)
        yield self._asks(result, b"" if failing else twin)

    def _work(self, name: str, path: bytes, *, failing: bool) -> tuple[bytes, bytes, bytes]:
        """A call's input, its result, and the twin where a change to a file has one."""
        rng, texts = self.rng, self.texts
        size = min(rng.lognormvariate(6.65, 1.1), 60_000)
        twin = b""
        if name == "Bash":
            command = texts.listings.cut(20)[:-2]
            given = b'"command":"%b %b --%b","description":"%b"' % (b"pytest -q", command, texts.rare(), texts.title())
            output = texts.logs.cut(size)
        elif name == "Read":
            given, output = b'"file_path":"%b"' % path, texts.code.cut(size * 1.5)
        elif name in ("Grep", "Glob"):
            given, output = b'"pattern":"%b","path":"%b"' % (texts.rare(), self.cwd), texts.listings.cut(size)
        elif name == "WebFetch":
            address = b"https://docs.example.org/%b" % texts.rare()
            given, output = b'"url":"%b","prompt":"%b"' % (address, texts.title()), texts.prose.cut(size)
        else:
            old, new = texts.code.cut(rng.expovariate(1 / 160)), texts.code.cut(rng.expovariate(1 / 320))
            change = (
                b'"old_string":"%b","new_string":"%b"' % (old, new)
                if name == "Edit"
                else b'"content":"%b"' % (old + new)
            )
            given, output = b'"file_path":"%b",%b' % (path, change), b"The file %b has been updated." % path
            patch = b'{"oldStart":%d,"oldLines":1,"newStart":%d,"newLines":1,"lines":["-a","+b"]}' % (
                len(old),
                len(old),
            )
            twin = b',"toolUseResult":{"filePath":"%b","structuredPatch":[%b]}' % (path, patch)
        if failing:
            output = b"Error: exit code %d\\n%b" % (1 + len(output) % 126, texts.logs.cut(200))
        elif name != "Edit" and rng.random() < WITH_RARE:
            output += b"%b %b\\n" % (texts.rare(), self.ids.take(9))
        return given, output, twin


def write_dense(
    config_dir: str | Path,
    *,
    blocks: int = 1_000_000,
    seed: int = 7,
    progress: Callable[[int, int], None] | None = None,
) -> DenseStats:
    """Write a history with exactly so many blocks of text, and some forks that copy them.

    `progress` is called after each session with the blocks written and the blocks to write.
    """
    if blocks < 1:
        raise UsageError(f"{blocks} blocks are too few")
    rng = random.Random(seed)
    texts, ids, stats = _Texts(rng, blocks), Ids(rng), DenseStats()
    sizes = _sizes(rng, blocks)
    root = Path(config_dir) / "projects"
    parents: list[tuple[bytes, str]] = []
    for number, size in enumerate(sizes):
        at = FIRST_DAY + timedelta(minutes=DAYS * 24 * 60 * number // len(sizes))
        as_agent = bool(parents) and rng.random() < AGENTS
        session, project = rng.choice(parents[-20:]) if as_agent else (ids.uuid(), rng.choice(PROJECTS))
        writer = _Session(texts, ids, stats, session, f"/home/mira/src/{project}".encode(), at)
        folder = root / encode_cwd(f"/home/mira/src/{project}")
        path = folder / f"{session.decode()}.jsonl"
        if as_agent:
            agent = b"a" + ids.take(16)
            writer.frames(agent)
            path = folder / session.decode() / "subagents" / f"agent-{agent.decode()}.jsonl"
        else:
            writer.frames(None)
            parents.append((session, project))
            stats.sessions += 1
        kept = _write(path, writer, size, stats)
        stats.blocks += size
        if kept and rng.random() < FORKS:
            _fork(folder, writer, kept, stats)
        if progress:
            progress(stats.blocks, blocks)
    return stats


def _sizes(rng: random.Random, blocks: int) -> list[int]:
    """Blocks of each file, which add up to what was asked for."""
    most = max(20, int(blocks * LARGEST))
    found: list[int] = []
    while blocks:
        size = min(blocks, most, 2 + int(rng.lognormvariate(math.log(MEDIAN), SPREAD)))
        found.append(size)
        blocks -= size
    return found


def _write(path: Path, writer: _Session, size: int, stats: DenseStats) -> list[bytes]:
    """Write a transcript, and give the lines of one that is fit to be forked."""
    lines = [line for _, line in zip(range(size), writer.blocks(), strict=False)]
    kept = lines if not writer.agent and 20 < size < FORK_BLOCKS else []
    if not writer.agent:
        title = b'{"type":"ai-title","aiTitle":"%b","sessionId":"%b"}\n' % (writer.texts.title(), writer.session)
        lines = [*lines, title]
    _put(path, b"".join(lines), writer.at, len(lines), stats)
    return kept


def _fork(folder: Path, writer: _Session, lines: list[bytes], stats: DenseStats) -> None:
    """Write the session that goes on from a copy of the first part of another."""
    copied = lines[: len(lines) * 2 // 3]
    session = writer.ids.uuid()
    old, new = b'"sessionId":"%b"' % writer.session, b'"sessionId":"%b"' % session
    content = b"".join(copied).replace(old, new)
    stats.copied_blocks += len(copied)
    stats.sessions += 1
    _put(folder / f"{session.decode()}.jsonl", content, writer.at, len(copied), stats)


def _put(path: Path, content: bytes, at: datetime, lines: int, stats: DenseStats) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    when = int(at.timestamp()) * 1_000_000_000
    os.utime(path, ns=(when, when))
    stats.files += 1
    stats.lines += lines
    stats.bytes += len(content)
