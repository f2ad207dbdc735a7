"""Ask `recall` questions whose answers are known, and count how many it finds; beside it other ways to look.

.venv/bin/python -m benchmarks.recall QUESTIONS.json ROOT [HOME]

A question file is a list of {"id", "style": "paraphrase" or "domain", "question", "facts", "session"}. A question is answered when one
passage holds one of its facts, whatever the case and the spaces.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import hansard
from benchmarks.recall.peers import agentsview, ripgrep
from benchmarks.recall.textbook import Textbook
from hansard.config import Settings
from hansard.guard.passages import estimate_tokens
from hansard.mcp.server import Server
from hansard.mcp.store import Repository, Store
from hansard.query.search.blocks import Texts, describe

MAX_TOKENS = 4_000
_KINDS = ("prompt", "reply", "thinking", "call", "command", "title")
Question = dict[str, Any]
Way = Callable[[str], tuple[Sequence[str], int]]
"""Asks a question: passages, and the tokens of the answer."""


def main(questions: str, root: str, home: str) -> int:
    """Ask everything in every way, and print which questions `recall` misses, and a table."""
    asked: list[Question] = json.loads(Path(questions).read_text(encoding="utf-8"))
    store = Store(Settings(home, (root,), 1 << 26), syncing=False)
    with (
        tempfile.TemporaryDirectory() as scratch,
        agentsview(root, Path(scratch)) as peer,
        hansard.open(home, roots=[root]) as h,
    ):
        h.sync(wait_seconds=600)
        textbook = Textbook(texts(h))
        server = Server(store, Repository(root))
        ways: dict[str, Way] = {
            "recall": lambda question: recall(server, question),
            "search, top 10": lambda question: search(h, question, " "),
            "search, top 10, any word": lambda question: search(h, question, " OR "),
            "textbook BM25": lambda question: _counted(textbook.ask(question)),
            "ripgrep, rarest word": lambda question: _counted(ripgrep(h, root, question)),
        }
        if peer is not None:
            ways["agentsview, all words"] = lambda question: _counted(peer(question, " "))
            ways["agentsview, any word"] = lambda question: _counted(peer(question, " OR "))
        styles = sorted({question["style"] for question in asked})
        of = Counter(question["style"] for question in asked)
        print(
            f"{'':28}"
            + "".join(f"{f'{style} of {of[style]}':>20}" for style in styles)
            + "  tokens, median  ms, median"
        )
        for name, way in ways.items():
            hits, tokens, took, missed = score(way, asked)
            cells = "".join(f"{f'{hits[style]} ({hits[style] / of[style]:.0%})':>20}" for style in styles)
            print(f"{name:28}{cells}{median(tokens):16,.0f}{median(took) * 1000:12,.1f}", flush=True)
            if name == "recall":
                for question in missed:
                    print(f"    missed {question['id']} ({question['style']}): {question['question']}")
    return 0


def score(way: Way, asked: Iterable[Question]) -> tuple[Counter[str], list[int], list[float], list[Question]]:
    """How many questions of each style are answered, the tokens and the seconds of each answer, and the missed ones."""
    hits: Counter[str] = Counter()
    tokens, took, missed = [], [], []
    for question in asked:
        before = time.perf_counter()
        passages, size = way(question["question"])
        took.append(time.perf_counter() - before)
        tokens.append(size)
        plain = [_plain(passage) for passage in passages]
        if any(_plain(fact) in passage for fact in question["facts"] for passage in plain):
            hits[question["style"]] += 1
        else:
            missed.append(question)
    return hits, tokens, took, missed


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _counted(passages: Sequence[str]) -> tuple[Sequence[str], int]:
    return passages, estimate_tokens("\n".join(passages))


def recall(server: Server, question: str) -> tuple[Sequence[str], int]:
    """The passages of the MCP tool, over all projects; outcomes of sessions do not count."""
    given = {"question": question, "scope": "all", "max_tokens": MAX_TOKENS}
    message = {"name": "recall", "arguments": given}
    response = server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message}) or {}
    result: dict[str, Any] = response["result"]
    text = result["content"][0]["text"]
    return [one["text"] for one in result["structuredContent"].get("passages", ())], estimate_tokens(text)


def search(h: hansard.Hansard, question: str, between: str) -> tuple[Sequence[str], int]:
    """The first ten hits of a search for the words of a question."""
    words = ["".join(sign for sign in word if sign.isalnum() or sign in "_-.") for word in question.split()]
    page = h.search(between.join(f'"{word}"' for word in words if word.strip("_-.")), limit=10, width=900)
    return _counted([hit.snippet for hit in page.hits])


def texts(h: hansard.Hansard) -> Iterator[tuple[str, str]]:
    """All that was said, thought or called, each once, with its session."""
    if not h.reader.has_text or h.record is None:
        return
    reader = Texts(h.reader, h.record)
    wanted = "mark : (" + " OR ".join(f'"kind{kind}"' for kind in _KINDS) + ")"
    known: set[object] = set()
    for table in ("talk", "work", "titles"):
        rows = h.reader.rows(f"SELECT rowid FROM full.{table} WHERE {table} MATCH ? AND rowid < 1 << 62", (wanted,))
        ids = [row[0] for row in rows]
        for start in range(0, len(ids), 2000):
            for block in sorted(describe(h.reader, ids[start : start + 2000]).values(), key=lambda block: -block.id):
                key = (block.uuid, block.number) if block.uuid is not None else block.id
                if key not in known:
                    known.add(key)
                    yield block.session_id, reader.of(block)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else scratch))
