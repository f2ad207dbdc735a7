"""What one line states about the tokens of an API message."""

from __future__ import annotations

from functools import partial

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.meaning import SYNTHETIC, lenient, milliseconds, progress_of
from hansard.clients.lines import ParsedLine
from hansard.clients.state import NAME_LENGTH, digest
from hansard.clients.usage import MOST_TOKENS, Answer, Stated, dated, token_count

CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_ANTHROPIC_IDS = ("msg_01", "msg_bdrk_", "msg_vrtx_")
_iterations = msgspec.json.Decoder(list[wire.Iteration]).decode
_event = msgspec.json.Decoder(wire.StreamEvent).decode
_embedded = msgspec.json.Decoder(wire.EmbeddedLine).decode


def embedded_answer(body: wire.Entry) -> wire.Entry | None:
    """The subagent's answer that a progress record repeats, as if it stood on a line of its own."""
    progress = progress_of(body) if b'"usage"' in bytes(body.data) else None
    if progress is None or progress.type != "agent_progress":
        return None
    line: wire.EmbeddedLine | None = lenient(_embedded, progress.message)
    if line is None or line.message is None or line.message.usage is None:
        return None
    return wire.Entry(
        type="assistant",
        session_id=body.session_id,
        agent_id=progress.agent_id,
        git_branch=body.git_branch,
        timestamp=line.timestamp or body.timestamp,
        request_id=line.request_id,
        is_sidechain=line.is_sidechain,
        uuid=line.uuid,
        cost_usd=line.cost_usd,
        message=line.message,
    )


def streamed_answer(body: wire.Entry) -> wire.Entry | None:
    """The end of an answer in the SDK's stream, which alone knows what it used, as if it stood on a line of its own."""
    event: wire.StreamEvent | None = lenient(_event, body.event) if b'"message_delta"' in bytes(body.event) else None
    if event is None or event.usage is None or not body.stream_message:
        return None
    message = wire.Message(id=body.stream_message, usage=event.usage)
    message.stop_reason = event.delta.stop_reason if event.delta is not None else None
    return wire.Entry(
        type="assistant", message=message, agent_id=body.stream_agent, stream_parent_tool=body.stream_parent_tool
    )


def message_key(body: wire.Entry, session_id: str, agent_id: str, path: str, offset: int) -> str:
    """The key under which an API message counts once."""
    identity = body.message.id if body.message else None
    if not identity:
        key = body.uuid or f"{path}@{offset}"
    elif body.request_id or identity.startswith(_ANTHROPIC_IDS):
        key = identity
    else:
        key = f"{session_id}/{agent_id}/{identity}"
    return key if len(key) <= NAME_LENGTH else digest(key)


def stated(
    body: wire.Entry, key: str, record_id: int, ts: int, path: str, session_id: str, agent_id: str
) -> list[tuple[str, Stated]]:
    """What an assistant line states about its own message and, under keys of their own, about advisor calls inside it."""
    message = body.message
    if message is None or message.usage is None or message.model == SYNTHETIC:
        return []
    usage = message.usage
    write_5m, write_1h = _split(usage.cache_creation)
    server = usage.server_tool_use
    output = token_count(usage.output_tokens)
    tool = first_tool(message.content)
    own = Stated(
        ts=ts,
        path=path,
        record_id=record_id,
        model=message.model or "",
        session_id=session_id,
        agent_id=agent_id,
        input=token_count(usage.input_tokens),
        output=output,
        cache_read=token_count(usage.cache_read_input_tokens),
        cache_write=token_count(usage.cache_creation_input_tokens),
        cache_write_5m=write_5m,
        cache_write_1h=write_1h,
        web_searches=token_count(server.web_search_requests) if server else 0,
        final_output=output if message.stop_reason else -1,
        service_tier=usage.service_tier or "",
        speed=usage.speed or "",
        inference_geo=usage.inference_geo or "",
        branch=body.git_branch or "",
        tool=tool,
        tool_ts=ts if tool else 0,
        recorded=_recorded(body.cost_usd),
    )
    found = [(key, own)]
    if usage.iterations and b"advisor" in bytes(usage.iterations):
        for number, call in enumerate(lenient(_iterations, usage.iterations) or ()):
            if call.type == "advisor_message":
                write_5m, write_1h = _split(call.cache_creation)
                advised = token_count(call.output_tokens)
                advisor = msgspec.structs.replace(
                    own,
                    model=call.model or "",
                    input=token_count(call.input_tokens),
                    output=advised,
                    cache_read=token_count(call.cache_read_input_tokens),
                    cache_write=token_count(call.cache_creation_input_tokens),
                    cache_write_5m=write_5m,
                    cache_write_1h=write_1h,
                    web_searches=0,
                    final_output=advised if message.stop_reason else -1,
                    recorded=-1,
                )
                found.append((f"{key}#advisor{number}", advisor))
    return found


def _split(split: wire.CacheCreation | None) -> tuple[int, int]:
    return (
        (token_count(split.ephemeral_5m_input_tokens), token_count(split.ephemeral_1h_input_tokens))
        if split
        else (0, 0)
    )


def first_tool(content: str | list[wire.Block] | None) -> str:
    """The first tool that a line calls."""
    if isinstance(content, list):
        for block in content:
            if block.type in CALL_BLOCKS:
                return (block.name or "")[:NAME_LENGTH]
    return ""


def _recorded(raw: msgspec.Raw) -> int:
    """What a client before 1.0.9 wrote beside an answer, in billionths of a dollar; -1 if it is not an amount of money."""
    if not raw:
        return -1
    try:
        amount = float(bytes(raw))
    except ValueError:
        return -1
    return round(amount * 1e9) if 0 <= amount < MOST_TOKENS / 1e9 else -1


def read_answer(line: bytes) -> Answer | None:
    """The answer in a line, or the one that it repeats; None if there is neither."""
    for item in items(line, 0):
        if isinstance(item, ParsedLine) and item.kind in ("assistant", "progress", "stream_event"):
            body: wire.Entry | None = item.body
            if item.kind == "progress":
                body = embedded_answer(item.body)
            elif item.kind == "stream_event":
                body = streamed_answer(item.body)
            if body is None:
                return None
            return Answer(
                body.uuid,
                dated(milliseconds(body.timestamp)),
                body.message.stop_reason if body.message else None,
                body.agent_id or body.stream_agent or "",
                bool(body.is_sidechain or body.stream_parent_tool),
                partial(stated, body),
            )
    return None
