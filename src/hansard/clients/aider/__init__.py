"""Chats of Aider: runs in a Markdown file, of which `#### ` marks prompts and `> ` what the program printed.

The file has no times but that of the start of a run. `.aider.input.history` beside it has one for each prompt: what was typed during
a run is stored before the run. Both files are in the directory that Aider works in, which neither names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.clients.generic import CALL, RESULT, TEXT, Block, Record, Usage
from hansard.clients.imported import ImportedClient
from hansard.clients.lines import Lines, LongLine, joined
from hansard.clients.state import digest
from hansard.clients.values import milliseconds
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.model.tools import ToolKind

_RUN = lazy_compile(rb"(?m)^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_TOKENS = lazy_compile(
    r"Tokens: ([\d.,]+[kM]?) sent(?:, ([\d.,]+[kM]?) cache write)?(?:, ([\d.,]+[kM]?) cache hit)?, ([\d.,]+[kM]?) received"
)
_COST = lazy_compile(r"Cost: \$([\d.]+) message")
_EDIT = lazy_compile(r"Applied edit to (.+)")
_MODEL = lazy_compile(r"(?:Main )?[Mm]odel: (\S+)(?: with .*)?")
_TYPED = lazy_compile(rb"(?m)^# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+)\r?$")
_CHAT = ".aider.chat.history.md"
_FOLDER = "Git working dir: "
_MOST_TYPED = 64 << 20  # bytes
_FENCES = (b"```", b"~~~")
_SCALE = {"k": 1_000, "M": 1_000_000}
_ASKING = ("/ask ", "/code ", "/architect ")


class Memory(Struct, gc=False, omit_defaults=True):
    """What is known of the run so far."""

    model: str = ""
    start: int | None = None  # the time of the last prompt that has one, or of the start
    count: int = 0  # of records
    typed: list[tuple[str, int]] = []  # the digests and times of prompts to come


class Aider(ImportedClient):
    """Reads `.aider.chat.history.md`."""

    name = "aider"
    speaker = "Aider"
    suffix = ".md"
    memory = Memory
    known_kinds = frozenset({"run", "output", "typed"})
    tools: Mapping[str, ToolKind] = {"edit": "edit"}

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Each run, after what was typed during it; only the first line of a run has a time, so it is named by that and by its beginning."""
        typed = _typed_beside(name)
        starts = [(found.start(), found[1].decode()) for found in _RUN.finditer(data)]
        for number, (start, time) in enumerate(starts):
            end, until = starts[number + 1] if number + 1 < len(starts) else (len(data), "a")
            first = data[start : start + 400].decode("utf-8", "replace")
            before = b"".join(entry for at, entry in typed if time <= at < until)
            yield f"{time.replace(' ', 'T').replace(':', '-')}-{digest(first)[:8]}", before + data[start:end]

    def folder_of(self, name: str) -> str:
        """The directory that Aider worked in, if the file is still where it was written."""
        return os.path.dirname(name) if os.path.isabs(name) and os.path.basename(name) == _CHAT else ""

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """Lines of the same kind, together."""
        return _ChatLines(pieces, start)

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        """A prompt, a reply, or what was printed between them."""
        text = line.decode("utf-8", "replace")
        record = _record(text, memory)
        if record.kind in ("user", "assistant"):
            memory.count += 1
            record.uuid, record.ts = f"part-{memory.count}", memory.start
            record.parent_uuid = f"part-{memory.count - 1}" if memory.count > 1 else ""
        yield record


class _ChatLines(Lines):
    """Prompts, replies and printed lines, each as one piece of text; a line inside of a fence belongs to its reply."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        data, first = joined(self._pieces), self.offset
        if isinstance(data, LongLine):
            self.rest = data
            return
        begin = at = 0
        kind, is_fenced = "", False
        for line in data.splitlines(keepends=True):
            if line.strip():
                now = "reply" if is_fenced else _kind(line, kind)
                if now == "reply" and line.lstrip().startswith(_FENCES):
                    is_fenced = not is_fenced
                if now != kind:
                    if kind:
                        yield first + begin, data[begin:at].rstrip()
                    begin, kind = at, now
            at += len(line)
        if kind:
            yield first + begin, data[begin:].rstrip()
        self.offset = first + len(data)

    def skip_equal(self, line: bytes) -> int:  # noqa: ARG002
        return 0


def _typed_beside(name: str) -> list[tuple[str, bytes]]:
    """The entries of the history of typed lines beside a chat: the time and the bytes of each."""
    if not os.path.isabs(name) or os.path.basename(name) != _CHAT:
        return []
    try:
        with open(os.path.join(os.path.dirname(name), ".aider.input.history"), "rb") as file:
            data = file.read(_MOST_TYPED)
    except OSError:
        return []
    starts = [(found.start(), found[1].decode()) for found in _TYPED.finditer(data)]
    ends = [start for start, _ in starts[1:]] + [len(data)]
    return [(time, data[start:end]) for (start, time), end in zip(starts, ends, strict=True)]


def _kind(line: bytes, kind: str) -> str:
    """What a line is that follows one of a kind."""
    if line.startswith(b"#### "):
        return "prompt"
    if line.startswith(b"> "):
        return "output"
    if not kind or kind.startswith("typed"):  # before the run
        if _TYPED.match(line):
            return f"typed {line!r}"
        if line.startswith(b"+"):
            return kind
    return "run" if _RUN.match(line) else "reply"


def _record(text: str, memory: Memory) -> Record:
    if text.startswith("#### "):
        said = "\n".join(line.removeprefix("####").strip() for line in text.split("\n")).strip()
        first, _, rest = said.partition("\n")
        if first.startswith(_ASKING) and rest.strip() == first.partition(" ")[2].strip():
            said = first  # the program repeats what is asked that way
        _take_time(said, memory)
        is_command = said.startswith(("/", "!")) and not said.startswith(_ASKING)
        return Record("user", "command" if is_command else "prompt", blocks=[Block(TEXT, said)])
    if text.startswith("> "):
        return _output([line.removeprefix(">").strip() for line in text.split("\n")], memory)
    if found := _RUN.match(text.encode()):
        memory.start = milliseconds(found[1].decode())
        return Record("run", ts=memory.start)
    if found := _TYPED.match(text.encode()):
        said = "\n".join(line.removeprefix("+").strip() for line in text.split("\n")[1:]).strip()
        memory.typed.append((digest(said), milliseconds(found[1].decode()) or 0))
        return Record("typed")
    return Record("assistant", blocks=[Block(TEXT, text.strip())], model=memory.model)


def _take_time(said: str, memory: Memory) -> None:
    """Take the time of a prompt from what was typed since the one before; what a prompt of the command line gave is there twice."""
    for number, (mark, at) in enumerate(memory.typed):
        if mark == digest(said):
            memory.start = at
            del memory.typed[: number + 1]
            return


def _output(lines: list[str], memory: Memory) -> Record:
    """What the program printed: its version and model, edits that it made, and the tokens of an answer."""
    record = Record("output", ts=memory.start)
    for line in lines:
        if line.startswith("Aider v"):
            record.version = line.removeprefix("Aider v")
        elif line.startswith(_FOLDER):
            record.cwd = line.removeprefix(_FOLDER)
        elif found := _MODEL.fullmatch(line):
            memory.model = found[1]
        elif found := _EDIT.match(line):
            key = f"{digest(chr(10).join(lines))[:12]}-{len(record.blocks)}"
            record.kind = "assistant"
            call = Block(CALL, call_id=key, tool="edit", input={"path": found[1]}, path=found[1], change="edit")
            record.blocks += [call, Block(RESULT, line, call_id=key)]
        elif (found := _TOKENS.search(line)) and record.usage is None:
            sent, wrote, hit, received = (_count(found[number]) for number in (1, 2, 3, 4))
            key = f"answer-{memory.count}-{digest(line)[:6]}"
            record.usage = Usage(key, memory.model, max(0, sent - wrote - hit), received, hit, wrote)
            if cost := _COST.search(line):
                record.usage.cost = round(float(cost[1].rstrip(".")) * 1e9)
    record.model = memory.model
    return record


def _count(text: str | None) -> int:
    """A number as it is printed: 594, 4.2k; it is rounded there."""
    if not text:
        return 0
    number = text.replace(",", "")
    return round(float(number.rstrip("kM")) * _SCALE.get(number[-1], 1))
