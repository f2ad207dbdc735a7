"""What an agent without an index could do: grep the files for the rarest word of a question."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hansard.query.recall.question import words_of

if TYPE_CHECKING:
    from hansard import Hansard

_SIZE, _MOST = 900, 12


def ripgrep(h: Hansard, root: str, question: str) -> list[str]:
    """What `grep` shows around the rarest word of a question: the newest files first, as an agent would look there."""
    counts = {word: h.count(f'"{word}"') for word in words_of(question)}
    occurring = [word for word in counts if counts[word]]
    if not occurring:
        return []
    rarest = min(occurring, key=counts.__getitem__)
    pattern = re.compile(re.escape(rarest), re.IGNORECASE)
    found: list[str] = []
    files = sorted(Path(root).rglob("*.jsonl"), key=lambda path: -path.stat().st_mtime)
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in pattern.finditer(text):
            found.append(text[max(0, match.start() - _SIZE // 2) : match.end() + _SIZE // 2])
            if len(found) == _MOST:
                return found
    return found
