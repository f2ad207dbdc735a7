"""Everything that sessions of OpenCode state about tokens: messages, those that a fork copied, their steps, and the session's row."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.generic import Usage
from hansard.clients.opencode.client import message_usage
from hansard.clients.opencode.session_messages import message_of
from hansard.clients.row_logs import DELETED, text_of_cell
from hansard.clients.statements import PeerRule, Statement
from hansard.clients.values import table, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_COPIED, _STEPS, _SESSION = "copied", "steps", "session"
_UNREAD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError, ValueError, AttributeError)
_BILLION = 10**9


class Statements:
    """Reads row logs of sessions."""

    repetitions: Mapping[str, str] = MappingProxyType(
        {
            _COPIED: "messages that a fork copied, with new ids",
            _STEPS: "the same answers in the `step-finish` parts of their messages",
            _SESSION: "the same answers in the totals of the sessions' rows",
        }
    )
    copied: str = _COPIED
    peers: Sequence[PeerRule] = (
        PeerRule(
            "lines",
            "sum of all rows",
            "adds up the usage of every message, part and session",
            adds=(_COPIED, _STEPS, _SESSION),
            per_file=True,
        ),
        PeerRule(
            "ccusage",
            "ccusage 20 (opencode)",
            "messages by id, copies in forks too; reasoning is charged and not among the tokens; the client's cost where it states one",
            adds=(_COPIED,),
            reasoning="charged",
        ),
        PeerRule(
            "agentsview",
            "agentsview 0.46",
            "messages by id, copies in forks too; reasoning is left out; dated prices, not the client's cost",
            adds=(_COPIED,),
            reasoning="dropped",
            is_recorded=False,
            is_rounded=True,
        ),
        PeerRule(
            "tokscale",
            "tokscale 1.4",
            "messages by id, copies in forks too; reasoning is a class of its own; today's prices, not the client's cost",
            adds=(_COPIED,),
            reasoning="charged",
            is_recorded=False,
            is_dated=False,
        ),
    )

    def read(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[Statement]:
        """The statements of the newest lines about each message and the session; those of deleted messages are gone."""
        rows: list[Statement] = []
        messages: dict[str, list[Statement]] = {}
        for offset, line in lines:
            try:
                said = msgspec.json.decode(line)
                if "message" in said or "session_message" in said:
                    messages[said["id"]] = list(_message(offset, said))
                elif "session" in said:
                    rows = list(_session(offset, said["session"]))
                elif DELETED in said:
                    id_ = said[DELETED]
                    gone = [msgspec.structs.replace(item, is_gone=True) for item in messages.get(id_, ())]
                    messages[id_] = gone
            except _UNREAD:
                continue  # counted as an issue when it was indexed
        for found in (*messages.values(), rows):
            yield from found


def _message(offset: int, said: dict[str, Any]) -> Iterator[Statement]:
    if "session_message" in said:
        _, data, _ = message_of(said)
    else:
        data = text_of_cell(said["message"]["data"])
    if data.get("role") != "assistant":
        return
    id_, created = said["id"], data["time"]["created"]
    usage, reasoning = message_usage(data)
    if usage is not None:
        yield Statement(offset, created, usage, "", reasoning, id_)
    for part in said.get("part", ()):
        step = text_of_cell(part["data"])
        if step.get("type") == "step-finish":
            usage, reasoning = message_usage({**data, "tokens": step.get("tokens"), "cost": step.get("cost")})
            if usage is not None:
                yield Statement(offset, created, usage, _STEPS, reasoning, id_)


def _session(offset: int, row: dict[str, Any]) -> Iterator[Statement]:
    """The totals of a session's row, which versions from 1.16 on have."""
    names = ("tokens_input", "tokens_output", "tokens_cache_read", "tokens_cache_write")
    plain, output, read, write = (whole(row, name) for name in names)
    reasoning = whole(row, "tokens_reasoning")
    if not (plain or output or read or write):
        return
    model = table({"model": text_of_cell(row.get("model"))}, "model").get("id") if row.get("model") else ""
    cost = row.get("cost")
    billionths = round(cost * _BILLION) if isinstance(cost, int | float) and cost else -1
    usage = Usage("", str(model or ""), plain, output + reasoning, read, write, cost=billionths)
    yield Statement(offset, row.get("time_updated"), usage, _SESSION, reasoning)
