"""What the client's own messages say, without the tags around it."""

from __future__ import annotations

_OPEN, _CLOSE = "<summary>", "</summary>"
_LONG = 20_000


def notice(text: str) -> str:
    """What a task's notification says."""
    start = text.find(_OPEN, 0, _LONG)
    end = text.find(_CLOSE, start, _LONG)
    is_notice = 0 <= start < end and text.lstrip().startswith("<task-notification>")
    return text[start + len(_OPEN) : end].strip() if is_notice else text
