"""Search hits for templates: highlighted text, speaker and link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hansard.render.format import TASK, tool_name
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from hansard.model.search import Hit

_BEFORE, _SHORT = 30, 160  # characters before the first match, and of a whole excerpt on one line
_SPEAKERS = {"prompt": "You", "thinking": "Thinking", "command": "Command", "title": "Title"}


def pieces(hit: Hit) -> Iterator[tuple[str, bool]]:
    """The snippet cut at what matches, each piece with whether it does."""
    text, at = hit.snippet, 0
    for start, end in sorted(hit.highlights):
        low, high = max(start, at), min(end, len(text))
        if low < high:
            if at < low:
                yield text[at:low], False
            yield text[low:high], True
            at = high
    if at < len(text):
        yield text[at:], False


def short_pieces(hit: Hit) -> list[tuple[str, bool]]:
    """The same on one line, cut so that the first match is to be seen."""
    found = [(" ".join(f"|{text}|".split())[1:-1], is_match) for text, is_match in pieces(hit)]
    if found and not found[0][1] and len(found[0][0]) > _BEFORE:
        found[0] = ("…" + found[0][0][-_BEFORE:], False)
    shown, left = [], _SHORT
    for text, is_match in found:
        if left > 0:
            shown.append((text[:left], is_match))
            left -= len(text)
    return shown


def speaker(hit: Hit) -> str:
    """The speaker: a person, the model, or a tool."""
    return spoken_by(hit.kind, hit.tool or "", hit.agent_id or "", hit.speaker)


def spoken_by(kind: str, tool: str, agent_id: str, model: str) -> str:
    """The speaker of a text of this kind; `model` is what the client's model is called."""
    if kind in ("call", "result"):
        name = tool_name(tool) if tool else kind
        return name if kind == "call" else f"{name} result"
    if agent_id and kind == "prompt":
        return TASK
    if kind == "reply":
        return model
    return _SPEAKERS.get(kind, kind.capitalize())


def place_of(hit: Hit, q: str = "") -> str:
    """Its address: its line, or the session if the line is in none of its threads and in no other of its transcripts."""
    if not hit.session_id or not (hit.project or hit.title):  # only the prompt history remembers it
        return place("/prompts", q=hit.snippet[:80].replace('"', " "))
    if hit.is_in_thread:
        return session_place(hit.session_id, hit.offset, hit.agent_id or "", q)
    if hit.is_in_other_transcript:
        return place(f"{session_place(hit.session_id)}/raw", transcript=hit.transcript, offset=str(hit.offset))
    return session_place(hit.session_id)


def corrected(query: str, notes: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Notes on an empty result, each with a corrected query if there is one."""
    for note in notes:
        about, _, right = note.removesuffix("?").rpartition("; did you mean ")
        wrong = about.partition("'")[2].rpartition("'")[0]
        is_typo = wrong.split() == [wrong] and right.split() == [right] and query.count(wrong) == 1
        yield note, query.replace(wrong, right) if is_typo else None
