"""What a reader sees of Claude Code's records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.claude_code import meaning as m
from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import decode, is_main_progress, is_progress, items
from hansard.clients.claude_code.edits import command, planned, written
from hansard.clients.claude_code.usage import CALL_BLOCKS
from hansard.clients.entries import Answered, Called, Part, QueuedPrompt, Readable, Said, Skipped, read_lines
from hansard.clients.lines import Issue, ParsedLine, unfinished
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hansard.clients.lines import Lines

_any = msgspec.json.Decoder().decode
_compact = msgspec.json.Decoder(wire.CompactMetadata).decode
_SAVED = lazy_compile(r"\s*<persisted-output>\s[^\n]*saved to: ([^\n]+)")
_SAVED_WITHIN = 4000  # characters
_PROGRESS = Skipped("progress")

# How a user line of each role is shown. Lines of other roles are not shown.
_SHOWN = {
    "command": "command",
    "bash": "bash",
    "command_output": "output",
    "bash_output": "output",
    "compact_summary": "summary",
    "notification": "notification",
    "teammate": "teammate",
    "interruption": "interruption",
    "instruction": "prompt",
    "prompt": "prompt",
}


class EntryReader:
    """Reads lines for a reader; in a subagent's own file everything is the subagent's."""

    def __init__(self, *, is_agent: bool) -> None:
        self._is_agent = is_agent
        self._is_idle = is_progress if is_agent else is_main_progress

    remembers = False

    def remember(self, lines: Lines, kept: bytes) -> bytes:  # noqa: ARG002
        """Every line says all that is to be known of it."""
        return kept

    def records(
        self,
        lines: Lines,
        sound: int,
        *,
        is_whole: bool,
        kept: bytes = b"",  # noqa: ARG002
    ) -> Iterator[Readable | Skipped | Issue]:
        """The records of some lines; up to `sound` each line is known to be one whole record.

        Without `is_whole` the range may end inside a line that holds several records, so its rest is not an unfinished line.
        """
        rest = (lambda line, offset: unfinished(line, offset, items)) if is_whole else items
        return read_lines(lines, partial(self._fast, sound), self.line, lambda *at: map(self._readable, rest(*at)))

    def _fast(self, sound: int, line: bytes, offset: int) -> Readable | Skipped | None:
        if offset < sound and self._is_idle(line):
            return _PROGRESS
        record = decode(line, offset)
        return self._of(record) if record is not None else None

    def line(self, line: bytes, offset: int) -> Iterable[Readable | Issue]:
        """The records of one line, and what of it cannot be read."""
        return map(self._readable, items(line, offset))

    def _readable(self, item: ParsedLine | Issue) -> Readable | Issue:
        return item if isinstance(item, Issue) else self._of(item)

    def _of(self, record: ParsedLine) -> Readable:
        kind = record.kind
        record = record if self._is_agent else m.unwrapped(record)
        body: Any = record.body
        is_entry = record.kind in wire.ENTRY_KINDS
        return Readable(
            record.offset,
            record.length,
            m.moment(getattr(body, "timestamp", None)),
            getattr(body, "uuid", None),
            is_entry and bool(body.is_sidechain or body.stream_parent_tool) and not self._is_agent,
            is_entry,
            partial(self._parts, record),
            (is_entry and body.cwd) or "",
            "sidechain" if kind == record.kind else kind,
        )

    def _parts(self, record: ParsedLine) -> Iterator[Part]:
        kind, body = record.kind, record.body
        if kind == "user":
            yield from self._user(body)
        elif kind == "assistant":
            yield from _assistant(body)
        elif kind == "attachment":
            attachment = m.attachment_of(body)
            sub = attachment.type if attachment else None
            text = m.prompt_text(attachment.prompt) if attachment and sub == "queued_command" else ""
            if attachment and text:
                yield Said(_SHOWN.get(m.queued_says(attachment, text), "note"), text, queued=True)
            else:
                yield Skipped(m.full_kind(kind, sub))
        elif kind == "system":
            yield _system(body)
        elif kind == "queue-operation":
            yield QueuedPrompt(kind)
        else:
            yield Skipped(kind or "without type")

    def _user(self, body: wire.Entry) -> Iterator[Part]:
        content = body.message.content if body.message else None
        images = 0
        has_result = False
        if isinstance(content, list):
            for number, block in enumerate(content):
                if block.type == "tool_result":
                    has_result = True
                    yield _answered(number, block, body)
                elif block.type in ("image", "document"):
                    images += 1
        text = m.user_text(content)
        if has_result and not text:
            return
        role = m.role(body, text, has_result=False, sidechain=self._is_agent)
        shown = _SHOWN.get(role)
        if shown is None:
            yield Skipped(f"user/{role}")
        elif has_result:
            yield Said("note", text)  # said beside a result, so not counted as a prompt of its own
        elif shown in ("command", "bash"):
            yield Said(shown, m.command_of(text) or text)
        else:
            yield Said(shown, m.inner_text(text) if shown == "output" else text, images=images)


def _assistant(body: wire.Entry) -> Iterator[Part]:
    message = body.message
    if message is None:
        yield Skipped("assistant")
        return
    model = message.model
    said = "error" if body.is_api_error else "reply"
    if isinstance(message.content, str):
        yield Said(said, message.content, model=model)
        return
    for number, block in enumerate(message.content or ()):
        if block.type == "text":
            yield Said(said, m.string(block.text), model=model)
        elif block.type == "thinking":
            thought = m.string(block.thinking)
            yield Said("thinking", thought, model=model) if thought.strip() else Skipped("thinking without text")
        elif block.type in CALL_BLOCKS:
            yield Called(
                number,
                block.id or "",
                block.name or "",
                partial(m.tool_input, block.input),
                model,
                partial(command, block.input),
                partial(planned, block.input),
            )
        elif block.type == "tool_result":
            yield _answered(number, block, body)
        else:
            yield Skipped(f"block/{block.type}")


def _answered(number: int, block: wire.Block, body: wire.Entry) -> Answered:
    return Answered(
        number,
        block.tool_use_id or "",
        partial(m.result_text, block.content),
        bool(block.is_error),
        partial(m.has_image, block),
        partial(m.patch_of, body.tool_use_result),
        partial(written, body.tool_use_result),
        _saved_as,
    )


def _saved_as(text: str) -> str:
    """The file that an output names which did not fit its line; subagents only say it in the text."""
    said = _SAVED.match(text[:_SAVED_WITHIN])
    return said[1] if said else ""


def _system(body: wire.Entry) -> Part:
    sub = body.subtype
    text = m.string(body.content)
    if sub == "compact_boundary":
        facts = m.lenient(_compact, body.compact_metadata) or wire.CompactMetadata()
        tokens = f", {facts.pre_tokens:,} tokens before" if facts.pre_tokens else ""
        return Said("compaction", f"Conversation compacted ({facts.trigger or 'unknown'}{tokens})")
    if sub == "local_command" and text:
        command = m.command_of(text)
        return Said("command" if command else "output", command or m.inner_text(text))
    if sub == "api_error":
        return Said("error", text or "API error")
    if sub in ("informational", "away_summary") and text:
        return Said("note", text)
    return Skipped(m.full_kind("system", sub))


def pictures(line: bytes, tool_use_id: str | None) -> Iterator[tuple[str, str]]:
    """The images and documents of a line, or of one result in it: the media type, and the data in Base64."""
    message = m.lenient(_any, msgspec.Raw(line))
    if isinstance(message, dict) and isinstance(message.get("data"), dict):
        message = message["data"].get("message")
    content = message.get("message", {}).get("content") if isinstance(message, dict) else None
    return _pictures_in(content, tool_use_id)


def _pictures_in(content: Any, tool_use_id: str | None) -> Iterator[tuple[str, str]]:
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result" and tool_use_id is not None and block.get("tool_use_id") == tool_use_id:
            yield from _pictures_in(block.get("content"), None)
        elif block.get("type") in ("image", "document") and tool_use_id is None:
            source = block.get("source")
            if isinstance(source, dict) and isinstance(source.get("data"), str):
                yield str(source.get("media_type", "")), source["data"]
