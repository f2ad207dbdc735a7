"""Ask `recall` questions whose answers are known, and count how many it finds; beside it other ways to look.

.venv/bin/python -m benchmarks.recall QUESTIONS ROOT [HOME]

QUESTIONS is a file, or a folder whose files are all asked: lists of {"id", "style": "paraphrase" or "domain", "question", "also", "facts", "session"};
`also` is what an agent that saw only the question gave as other words for the same thing.
A question is answered when one passage holds one of its facts, whatever the case and the spaces. For each question that `recall` misses
it is printed where the answer was lost.
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
from zlib import crc32

import hansard
from benchmarks.recall.peers import agentsview, ripgrep
from benchmarks.recall.textbook import Text, Textbook
from hansard.config import Settings
from hansard.guard.passages import estimate_tokens, safe_text
from hansard.mcp.server import Server
from hansard.mcp.store import Repository, Store
from hansard.query.search.blocks import Texts, describe

MAX_TOKENS = 4_000
FOLDS = 5
_ALL = 400  # passages and sessions: all that were looked at
_KINDS = ("prompt", "reply", "thinking", "call", "command", "title")
Question = dict[str, Any]
Way = Callable[[str], tuple[Sequence[str], int]]
"""Asks a question: passages, and the tokens of the answer."""


def main(questions: str, root: str, home: str) -> int:
    """Ask everything in every way, and print which questions `recall` misses, and a table."""
    asked = read_questions(Path(questions))
    store = Store(Settings(home, (root,), 1 << 26), syncing=False)
    with (
        tempfile.TemporaryDirectory() as scratch,
        agentsview(root, Path(scratch)) as peer,
        hansard.open(home, roots=[root]) as h,
    ):
        h.sync(wait_seconds=600)
        known = list(texts(h))
        textbook = Textbook(text for text in known if text.kind in _KINDS)
        with_output = Textbook(known)
        server = Server(store, Repository(root))
        others = {question["question"]: question["also"] for question in asked}
        ways: dict[str, Way] = {
            "textbook BM25": lambda question: _counted(textbook.ask(question)),
            "textbook, also output": lambda question: _counted(with_output.ask(question)),
            "recall": lambda question: recall(server, question),
            "recall, other words too": lambda question: recall(server, question, others[question]),
            "search, top 10": lambda question: search(h, question, " "),
            "search, top 10, any word": lambda question: search(h, question, " OR "),
            "ripgrep, rarest word": lambda question: _counted(ripgrep(h, root, question)),
        }
        if peer is not None:
            ways["agentsview, all words"] = lambda question: _counted(peer(question, " "))
            ways["agentsview, any word"] = lambda question: _counted(peer(question, " OR "))
        styles = sorted({question["style"] for question in asked})
        of = Counter(question["style"] for question in asked)
        heads = [*(f"{style} of {of[style]}" for style in styles), "by fold", "+ - textbook", "tokens", "ms"]
        print(f"{'':26}" + "".join(f"{head:>18}" for head in heads))
        first: set[str] = set()
        for name, way in ways.items():
            found, tokens, took = score(way, asked)
            first = first or found
            hits = Counter(question["style"] for question in asked if question["id"] in found)
            folds = Counter(fold_of(question) for question in asked if question["id"] in found)
            cells = [
                *(f"{hits[style]} ({hits[style] / of[style]:.0%})" for style in styles),
                " ".join(str(folds[number]) for number in range(FOLDS)),
                f"+{len(found - first)} -{len(first - found)}",
                f"{median(tokens):,.0f}",
                f"{median(took) * 1000:,.1f}",
            ]
            print(f"{name:26}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
            for question in asked if name == "recall" else ():
                if question["id"] not in found:
                    lost = where_lost(h, known, question)
                    print(f"    missed {question['id']} ({question['style']}; {lost}): {question['question']}")
    return 0


def read_questions(path: Path) -> list[Question]:
    """The questions of a file, or of all files of a folder."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return [question for file in files for question in json.loads(file.read_text(encoding="utf-8"))]


def fold_of(question: Question) -> int:
    """Questions about one session are in one fold, so that a gain in one fold only is seen."""
    return crc32(question["session"].encode()) % FOLDS


def score(way: Way, asked: Iterable[Question]) -> tuple[set[str], list[int], list[float]]:
    """Which questions are answered, and the tokens and the seconds of each answer."""
    found: set[str] = set()
    tokens, took = [], []
    for question in asked:
        before = time.perf_counter()
        passages, size = way(question["question"])
        took.append(time.perf_counter() - before)
        tokens.append(size)
        if any(has_fact(question, passage) for passage in passages):
            found.add(question["id"])
    return found, tokens, took


def has_fact(question: Question, text: str) -> bool:
    plain = _plain(text)
    return any(_plain(fact) in plain for fact in question["facts"])


def where_lost(h: hansard.Hansard, known: Sequence[Text], question: Question) -> str:
    """Why an answer has no fact: it is only in output, its text was not looked at, or others rank higher."""
    found = h.recall(question=question["question"], passages=_ALL, sessions=_ALL, prepare=safe_text)
    passages = sorted((one for session in found.sessions for one in session.passages), key=lambda one: -one.score)
    ranks = (rank for rank, one in enumerate(passages, 1) if has_fact(question, one.text))
    if rank := next(ranks, 0):
        return f"rank {rank}"
    said = any(has_fact(question, one.text) for one in known if one.kind in _KINDS)
    return "not a candidate" if said else "only in output"


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _counted(passages: Sequence[str]) -> tuple[Sequence[str], int]:
    return passages, estimate_tokens("\n".join(passages))


def recall(server: Server, question: str, also: str = "") -> tuple[Sequence[str], int]:
    """The passages of the MCP tool, over all projects; outcomes of sessions do not count."""
    given = {"question": question, "also": also, "scope": "all", "max_tokens": MAX_TOKENS}
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


def texts(h: hansard.Hansard) -> Iterator[Text]:
    """All texts of the history, each once."""
    if not h.reader.has_text or h.record is None:
        return
    reader = Texts(h.reader, h.record)
    known: set[object] = set()
    for table in ("talk", "work", "titles"):
        ids = [
            row[0]
            for row in h.reader.rows(
                f"SELECT p.id FROM full.{table}_docsize d JOIN full.places p ON p.doc = d.id WHERE d.id < 1 << 62"
            )
        ]
        for start in range(0, len(ids), 2000):
            for block in sorted(describe(h.reader, ids[start : start + 2000]).values(), key=lambda block: -block.id):
                key = (block.uuid, block.number) if block.uuid is not None else block.id
                if key not in known:
                    known.add(key)
                    yield Text(block.session_id, block.kind, reader.of(block))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else scratch))
