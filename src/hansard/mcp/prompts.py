"""Prompts, which clients offer as commands: each with what the history says already in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hansard.errors import UsageError
from hansard.mcp.answer import Answer
from hansard.mcp.encode import one_line
from hansard.mcp.tool import Ask
from hansard.mcp.tools import read, recall

_PROMPTS: dict[str, dict[str, Any]] = {
    "continue_from": {
        "title": "Continue from a session",
        "description": "Pick up where an earlier session of this repository left off.",
        "arguments": [
            {"name": "session", "description": "Session id; by default the latest one", "required": False},
        ],
    },
    "what_did_we_decide": {
        "title": "What did we decide about ...",
        "description": "Collect what earlier sessions of this repository decided about something.",
        "arguments": [{"name": "about", "description": "The subject, in plain words", "required": True}],
    },
}


def list_prompts() -> dict[str, Any]:
    """All prompts."""
    return {"prompts": [{"name": name, **about} for name, about in _PROMPTS.items()]}


def check_prompt(name: str, given: Mapping[str, str]) -> None:
    """Raise unless this is a prompt of ours, with arguments that it takes."""
    about = _PROMPTS.get(name)
    if about is None:
        raise UsageError(f"unknown prompt {name[:100]!r}; there are {', '.join(_PROMPTS)}")
    known = {argument["name"] for argument in about["arguments"]}
    if not set(given) <= known:
        raise UsageError(f"{name} takes {', '.join(sorted(known))}")


def answer_prompt(ask: Ask, name: str, given: Mapping[str, str]) -> Answer:
    """What the history says for a prompt, with room left for the prompt's own words."""
    ask.packer.reserve(introduction(name, given))
    if name == "continue_from":
        return read.run(ask, read.ReadRequest(target=given.get("session") or "@last"))
    return recall.run(ask, recall.RecallRequest(_subject(given)))


def make_prompt(name: str, given: Mapping[str, str], answer: Mapping[str, Any]) -> dict[str, Any]:
    """A prompt with its arguments put in, and what the history says."""
    text = f"{introduction(name, given)}\n\n{msgspec.json.encode(answer).decode()}"
    return {
        "description": _PROMPTS[name]["description"],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def introduction(name: str, given: Mapping[str, str]) -> str:
    """What a prompt asks for."""
    if name == "continue_from":
        return (
            "Continue the work of the session below. Say in a few sentences what it was about, what was finished and what was left open,"
            " check the present state of the code, then propose the next step. The tool `read` of Hansard shows its turns."
        )
    return (
        f"What did earlier sessions decide about: {one_line(_subject(given), 300)}\n\nAnswer from the passages below: each decision"
        " with its reason, its session and its age; say where they disagree or where nothing was decided. The tools `recall`,"
        " `search` and `read` of Hansard find more."
    )


def _subject(given: Mapping[str, str]) -> str:
    subject = given.get("about", "").strip()[:1_000]
    if not subject:
        raise UsageError("what_did_we_decide takes about: the subject, in plain words")
    return subject
