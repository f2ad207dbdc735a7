"""What one line states about the tokens of an API message."""

from __future__ import annotations

from functools import partial

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.meaning import SYNTHETIC, lenient, milliseconds, repeated_line
from hansard.clients.lines import ParsedLine
from hansard.clients.state import NAME_LENGTH, OpenAnswer, State, digest
from hansard.clients.usage import MOST_TOKENS, Answer, Stated, dated, token_count

CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_ANTHROPIC_IDS = ("msg_01", "msg_bdrk_", "msg_vrtx_")
# A session has one such relay, and an entry for each of its subagents; the lines of an answer are close together.
_MAX_OPEN_ANSWERS = 100
_iterations = msgspec.json.Decoder(list[wire.Iteration]).decode
_event = msgspec.json.Decoder(wire.StreamEvent).decode


def embedded_answer(body: wire.Entry) -> wire.Entry | None:
    """The subagent's answer that a progress record repeats, as if it stood on a line of its own."""
    line = repeated_line(body) if b'"usage"' in bytes(body.data) else None
    return line if line is not None and line.message is not None and line.message.usage is not None else None


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
    elif has_reusable_id(body):
        key = f"{body.request_session_id or session_id}/{agent_id}/{identity}"  # a copy names the session that paid
    else:
        key = identity
    return key if len(key) <= NAME_LENGTH else digest(key)


def has_reusable_id(body: wire.Entry) -> bool:
    """Whether an answer's id may also be that of others: a gateway made it up."""
    identity = body.message.id if body.message else None
    return bool(identity) and not body.request_id and not str(identity).startswith(_ANTHROPIC_IDS)


def answer_key(state: State, body: wire.Entry, key: str) -> str:
    """The key of an answer with a reusable id, given the one of its id.

    Some relays give every answer of a session the same id. Lines of one answer state the same input, stop the same way and
    follow each other without a prompt between them, though results of its first calls may come before its last call.
    """
    message = body.message
    if message is None or message.usage is None:
        open_answer = state.open_answers.get(key)
        return open_answer.key if open_answer is not None else key
    usage = message.usage
    uuid = (body.uuid or "")[:NAME_LENGTH]
    line = OpenAnswer(
        key,
        uuid,
        uuid,
        (
            token_count(usage.input_tokens),
            token_count(usage.cache_read_input_tokens),
            token_count(usage.cache_creation_input_tokens),
        ),
        (message.stop_reason or "")[:NAME_LENGTH],
        state.prompts + state.queued + state.commands,
    )
    last = state.open_answers.pop(key, None)
    if last is not None:
        parent = state.asides.get(body.parent_uuid or "", body.parent_uuid)
        line.first_uuid = last.first_uuid
        if _is_continued(last, line, parent):
            line.key = last.key
        elif line.uuid and line.uuid != last.first_uuid:
            continued = f"{key}/{line.uuid}"
            line.key = continued if len(continued) <= NAME_LENGTH else digest(continued)
    state.open_answers[key] = line
    if len(state.open_answers) > _MAX_OPEN_ANSWERS:
        del state.open_answers[next(iter(state.open_answers))]
    return line.key


def _is_continued(last: OpenAnswer, line: OpenAnswer, parent: str | None) -> bool:
    """Whether a line belongs to the same answer as the last one with its id."""
    if not line.uuid:
        return True
    follows = parent is not None and parent[:NAME_LENGTH] == last.uuid
    if last.stop_reason and last.stop_reason != line.stop_reason:
        return False
    if last.inputs != line.inputs:
        # Some gateways know the input only when the answer ends.
        return follows and not any(last.inputs)
    if follows:
        return True
    return last.prompts == line.prompts and (any(line.inputs) or parent is None)


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
