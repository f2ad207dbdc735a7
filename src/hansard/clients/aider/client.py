"""Chats of Aider: runs in a Markdown file, of which `#### ` marks prompts and `> ` what the program printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.clients.generic import CALL, RESULT, TEXT, Block, Record, Usage
from hansard.clients.imported import ImportedClient
from hansard.clients.lines import Lines, LongLine, joined
from hansard.clients.protocol import PathInfo
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
_FENCES = (b"```", b"~~~")
_SCALE = {"k": 1_000, "M": 1_000_000}
_ASKING = ("/ask ", "/code ", "/architect ")


class Memory(Struct, gc=False, omit_defaults=True):
    """The model, the last record, and how many there were."""

    model: str = ""
    start: int | None = None
    count: int = 0


class Aider(ImportedClient):
    """Reads `.aider.chat.history.md`."""

    name = "aider"
    speaker = "Aider"
    suffix = ".md"
    memory = Memory
    known_kinds = frozenset({"run", "output"})
    tools: Mapping[str, ToolKind] = {"edit": "edit"}

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """Each run; only the first line of a run has a time, so it is named by that and by its beginning."""
        starts = [(found.start(), found[1].decode()) for found in _RUN.finditer(data)]
        for number, (start, time) in enumerate(starts):
            end = starts[number + 1][0] if number + 1 < len(starts) else len(data)
            first = data[start : start + 400].decode("utf-8", "replace")
            yield f"{time.replace(' ', 'T').replace(':', '-')}-{digest(first)[:8]}", data[start:end]

    def path_info(self, path: str) -> PathInfo:
        """A file is named after its run."""
        return PathInfo(path.rpartition("/")[2].removesuffix(".md"))

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
                now = "reply" if is_fenced else _kind(line)
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


def _kind(line: bytes) -> str:
    if line.startswith(b"#### "):
        return "prompt"
    if line.startswith(b"> "):
        return "output"
    return "run" if _RUN.match(line) else "reply"


def _record(text: str, memory: Memory) -> Record:
    if text.startswith("#### "):
        said = "\n".join(line.removeprefix("####").strip() for line in text.split("\n")).strip()
        first, _, rest = said.partition("\n")
        if first.startswith(_ASKING) and rest.strip() == first.partition(" ")[2].strip():
            said = first  # the program repeats what is asked that way
        is_command = said.startswith(("/", "!")) and not said.startswith(_ASKING)
        return Record("user", "command" if is_command else "prompt", blocks=[Block(TEXT, said)])
    if text.startswith("> "):
        return _output([line.removeprefix(">").strip() for line in text.split("\n")], memory)
    if found := _RUN.match(text.encode()):
        memory.start = milliseconds(found[1].decode())
        return Record("run", ts=memory.start)
    return Record("assistant", blocks=[Block(TEXT, text.strip())], model=memory.model)


def _output(lines: list[str], memory: Memory) -> Record:
    """What the program printed: its version and model, edits that it made, and the tokens of an answer."""
    record = Record("output", ts=memory.start)
    for line in lines:
        if line.startswith("Aider v"):
            record.version = line.removeprefix("Aider v")
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
