"""Everything that rollouts state about tokens: `token_count` events, repeated and inherited ones too, and `token_usage_record`s."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hansard.clients.codex.decode import stated_usage
from hansard.clients.codex.memory import Memory
from hansard.clients.lines import ParsedLine
from hansard.clients.statements import PeerRule, Statement
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hansard.clients.codex.client import Codex
    from hansard.clients.generic import Record, Usage

_MARKS = (b'"token_count"', b'"token_usage_record"')
_HEAD = 400  # bytes in which a line says what it is
_PROMPT = lazy_compile(rb'"type": ?"(?:user_message|UserMessage)"')
_SAID = lazy_compile(rb'"type": ?"(?:function|custom_tool|local_shell|web_search)_call"|"role": ?"assistant"')
_INHERITED, _REPEATED, _OTHERWISE = "inherited", "repeated", "otherwise"


class Statements:
    """Reads rollouts line by line, with the decoder's own memory."""

    repetitions: Mapping[str, str] = MappingProxyType(
        {
            _INHERITED: "token counts that forks and subagents copied from the thread they began from",
            _REPEATED: "token counts stated again with a change of the rate limits, with the same totals",
            _OTHERWISE: "the same answers in a second kind of line: token_count beside token_usage_record",
        }
    )
    copied: str = _INHERITED
    peers: Sequence[PeerRule] = (
        PeerRule(
            "lines",
            "sum of all events",
            "adds up the usage of every event",
            adds=(_INHERITED, _REPEATED, _OTHERWISE),
            per_file=True,
        ),
        PeerRule(
            "ccusage",
            "ccusage 20 (codex)",
            "token counts whose totals changed, without those that a fork or subagent copied; cache writes are input",
            writes_are_input=True,
            notes=("it may take token counts of a fork that follow each other quickly for copies, and leave them out",),
        ),
        PeerRule(
            "agentsview",
            "agentsview 0.46",
            "the first changed token count of each message; copies count where the thread they are from is missing",
            orphans=(_INHERITED,),
            per_message=True,
            writes_are_input=True,
            is_recorded=False,
            is_rounded=True,
        ),
        PeerRule(
            "tokscale",
            "tokscale 1.4",
            "every token count, copied and repeated ones too; cache writes are input; today's prices",
            adds=(_INHERITED, _REPEATED),
            per_file=True,
            writes_are_input=True,
            is_recorded=False,
            is_dated=False,
        ),
    )

    def __init__(self, client: Codex) -> None:
        self._client = client

    def read(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[Statement]:
        memory = Memory()
        messages = _Messages()
        last: tuple[Usage, str] | None = None  # the last new figures, and their message
        for offset, line in lines:
            totals = memory.totals
            found = list(self._client.items(line, offset, memory))
            messages.note(line)
            if not any(mark in line for mark in _MARKS):
                continue
            for item in found:
                if not isinstance(item, ParsedLine) or (said := stated_usage(line, memory)) is None:
                    continue
                # Tools that compare figures, not totals, take two equal answers in a row for one.
                message = last[1] if last is not None and last[0] == said[0] else messages.last
                statement = _statement(offset, item.body, said, totals, memory, message)
                if statement.repeats != _REPEATED:
                    last = said[0], message
                yield statement


def _statement(
    offset: int, record: Record, said: tuple[Usage, list[int]], totals: list[int], memory: Memory, message: str
) -> Statement:
    usage, stated = said
    counted: Any = record.usage
    if counted is not None:
        return Statement(offset, record.ts, counted, message=message)
    if stated and stated == totals:
        return Statement(offset, record.ts, usage, _REPEATED, message=message)
    if record.is_copy or record.kind == "inherited":
        return Statement(offset, record.ts, usage, _INHERITED, message=message, origin=memory.owner)
    return Statement(offset, record.ts, usage, _OTHERWISE if memory.has_usage_records else _INHERITED, message=message)


class _Messages:
    """Numbers what the model said, as tools do that attach usage to the message before it."""

    def __init__(self) -> None:
        self._number = 0
        self.last = ""  # empty after a prompt

    def note(self, line: bytes) -> None:
        """Take the next line, copied ones too."""
        head = line[:_HEAD]
        if _PROMPT.search(head) is not None:
            self.last = ""
        elif _SAID.search(head) is not None:
            self._number += 1
            self.last = str(self._number)
