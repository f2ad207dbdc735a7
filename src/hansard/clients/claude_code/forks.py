"""Telling the lines that a fork copied from another session from its own, by what the transcript itself says.

A fork begins with copies of its parent's lines: same uuids, message ids and mostly the same times, so times tell nothing. Since
2.1.326 a copied answer names the session whose request it was (`requestSessionId`), which settles it. Older copies name the
session they came from, are older than the queue operation with which the client began the file, or all prompts
among them have one promptId, that of the fork's own first prompt; everywhere else each prompt has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.clients.claude_code.meaning import raw_is_string
from hansard.clients.state import NAME_LENGTH, State

if TYPE_CHECKING:
    from hansard.clients.claude_code import wire


def note_line(state: State, named_session: str, end: int, ts: int | None, body: wire.Entry) -> None:
    """Take a prompt, result or answer that ends at `end`, while no user line of the file's own has been seen or its request is known.

    Clients up to 2.1.20 left the parent's id on copied user lines only, so an answer is as much a copy as what it answers.
    """
    is_answer = body.type == "assistant"
    if is_answer and named_session and body.request_session_id:
        if body.request_session_id != named_session:
            state.copied = end
        return
    is_older = state.began is not None and ts is not None and ts < state.began
    is_foreign = bool(named_session and body.session_id and body.session_id != named_session)
    if is_older or is_foreign or body.forked_from or (is_answer and state.copied and state.began is None):
        state.copied = end
    elif not is_answer:
        state.has_own = True


def note_prompt(state: State, offset: int, body: wire.Entry) -> None:
    """Take a prompt, before it is counted: everything before one with the promptId of all former ones was copied."""
    if state.prompts and not state.prompt_id:
        return
    has_id = body.prompt_id and raw_is_string(body.prompt_id)
    prompt_id = bytes(body.prompt_id)[:NAME_LENGTH].decode("utf-8", "replace") if has_id else ""
    if not state.prompts:
        state.prompt_id = prompt_id
    elif prompt_id == state.prompt_id:
        state.copied = max(state.copied, offset)
    else:
        state.prompt_id = ""
