"""Records of a transcript beside those of the conversation: titles, modes, queued prompts, costs and where the session goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.meaning import lenient, milliseconds, queue_step
from hansard.clients.claude_code.permissions import mode_of
from hansard.clients.state import countable, note

if TYPE_CHECKING:
    from hansard.clients.claude_code.fold import Fold
    from hansard.clients.lines import ParsedLine

_worktree = msgspec.json.Decoder(wire.Worktree).decode


def take_side_record(fold: Fold, item: ParsedLine) -> None:
    """Take a record of another kind than those of the conversation."""
    state = fold.state
    body = item.body
    state.records += 1
    name = countable(item.kind, state.kinds)
    state.kinds[name] = state.kinds.get(name, 0) + 1
    if isinstance(body, wire.Bare):
        fold.note_session(body.session_id)
        if isinstance(body, wire.PermissionMode) and body.mode:
            fold.note_mode(fold.base + item.offset, milliseconds(body.timestamp), mode_of(body.mode), body.mode)
    elif isinstance(body, wire.Title):
        state.custom_title = body.custom or state.custom_title
        state.agent_name = body.agent or state.agent_name
        state.ai_title = body.ai or state.ai_title
        fold.note_session(body.session_id)
    elif isinstance(body, wire.Summary):
        if body.summary and body.leaf_uuid:
            fold.rows.summaries.append((fold.base + item.offset, body.leaf_uuid, body.summary))
    elif isinstance(body, wire.QueueOperation):
        _queue(fold, item, body)
    elif isinstance(body, wire.CostState):
        fold.note_session(body.session_id)
        if body.model_usage:
            state.cost_state = bytes(body.model_usage).decode("utf-8", "replace")
    elif isinstance(body, wire.Pointer):
        _pointer(fold, body)


def _queue(fold: Fold, item: ParsedLine, body: wire.QueueOperation) -> None:
    state = fold.state
    fold.note_session(body.session_id)
    if state.began is None and not state.root_uuid:
        state.began = milliseconds(body.timestamp)
    text = queue_step(state.queue, body, state.version)
    if text is not None:
        fold.note_queued(fold.base + item.offset, milliseconds(body.timestamp), text)


def _pointer(fold: Fold, body: wire.Pointer) -> None:
    state = fold.state
    fold.note_session(body.session_id)
    state.continued_in = body.continued_in or state.continued_in
    state.context_from = body.parent_session or state.context_from
    if body.pr_url:
        note(state.pull_requests, body.pr_url)
    worktree = lenient(_worktree, body.worktree)
    if worktree is not None and worktree.original_cwd:
        state.worktree_of = worktree.original_cwd
