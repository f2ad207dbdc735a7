"""What else an agent could use: a search of the files for the rarest word, and agentsview's full-text search."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Failed, environment, run, running
from hansard.query.recall.question import words_of

if TYPE_CHECKING:
    from hansard import Hansard

_SIZE, _MOST = 900, 12
_SECONDS = 60  # until its server must have come up
_SEARCH = "session search --json --include-children --include-one-shot --include-automated --fts --limit".split()
_SERVE = "serve --no-browser --no-sync --no-update-check --port 0".split()


def ripgrep(h: Hansard, root: str, question: str) -> list[str]:
    """What a search for the rarest word of a question shows, the newest files first; as ripgrep would find it."""
    counts = {word: h.count(f'"{word}"') for word in words_of(question)}
    occurring = [word for word in counts if counts[word]]
    if not occurring:
        return []
    pattern = re.compile(re.escape(min(occurring, key=counts.__getitem__)), re.IGNORECASE)
    found: list[str] = []
    for path in sorted(Path(root).rglob("*.jsonl"), key=lambda path: -path.stat().st_mtime):
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in pattern.finditer(text):
            found.append(text[max(0, match.start() - _SIZE // 2) : match.end() + _SIZE // 2])
            if len(found) == _MOST:
                return found
    return found


@contextlib.contextmanager
def agentsview(root: str, scratch: Path) -> Iterator[Callable[[str, str], list[str]] | None]:
    """Its search over the same files, with what is between the words; None unless it is in PATH or named by $AGENTSVIEW."""
    program = os.environ.get("AGENTSVIEW") or shutil.which("agentsview")
    if program is None:
        yield None
        return
    env = environment(
        scratch / "home",
        AGENTSVIEW_NO_DAEMON="1",
        AGENTSVIEW_DATA_DIR=str(scratch / "agentsview"),
        CLAUDE_PROJECTS_DIR=str(Path(root) / "projects"),
        DO_NOT_TRACK="1",
        HTTP_PROXY="http://127.0.0.1:9",
        HTTPS_PROXY="http://127.0.0.1:9",
        NO_PROXY="127.0.0.1,localhost",
    )
    run([program, "sync"], env)

    def ask(question: str, between: str) -> list[str]:
        words = between.join(f'"{word}"' for word in words_of(question))
        answer = json.loads(run([program, *_SEARCH, str(_MOST), "--", words], env).output)
        return [match["snippet"] for match in answer.get("matches") or ()]

    with running([program, *_SERVE], env):
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                ask("the first question", " OR ")
                break
            except Failed:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)
        yield ask
