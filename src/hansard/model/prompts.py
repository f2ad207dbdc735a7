"""What a human typed."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import Timestamp


class Prompt(Struct, frozen=True):
    """Something a human typed."""

    text: str
    source: str  # prompt, queued, command, bash, history
    at: Timestamp | None
    session_id: str | None  # old lines of history.jsonl name none
    project: str
    session_kept: bool  # False: the transcript was gone before Hansard first looked
    copies: int = 0  # other transcripts that have it: forks, synced copies
    times: int = 1  # how often it was typed, where equal texts are listed once
    transcript: str = ""  # where its line stands, relative to the config dir
    offset: int = 0


class PromptPage(Struct, frozen=True):
    """Prompts, and where the next page begins when there is one."""

    prompts: tuple[Prompt, ...]
    next_cursor: str | None
    total: int  # at least so many, where nobody asked to count them
