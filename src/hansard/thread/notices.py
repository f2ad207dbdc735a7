"""What the client's own messages say, without the tags around it."""

from __future__ import annotations

import re

_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_LONG = 20_000


def notice(text: str) -> str:
    """What a task's notification says."""
    summary = _SUMMARY.search(text[:_LONG])
    return summary[1].strip() if summary and text.lstrip().startswith("<task-notification>") else text
