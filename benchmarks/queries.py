"""A mixed set of search queries, drawn from a history itself: seeded, so that every run asks the same."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SAMPLE_FILES = 80
SAMPLE_LINES = 200
_WORD = re.compile(r"(?<![^\W_])[A-Za-z][A-Za-z0-9]+")
_IDENTIFIER = re.compile(r"\b(?:[a-z]+(?:[A-Z][a-z0-9]+){1,3}|[a-z]+(?:_[a-z0-9]+){1,3})\b")
_CJK = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{2,}")
_PATH = re.compile(r"[\w./-]+/[\w-]+\.[a-z]{1,4}\b")
_PARTS = re.compile(r"[A-Z]?[a-z0-9]+")
_SAID = ("prompt", "reply", "thinking")
_TOUCHING = ("Read", "Edit", "Write")


@dataclass(frozen=True, slots=True)
class Query:
    """What is typed, and the class it is counted in."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A text of the history and where it stands."""

    kind: str  # prompt, reply, thinking, call, result
    text: str
    project: str
    branch: str
    model: str
    day: str
    tool: str
    is_error: bool


@dataclass(slots=True)
class Sample:
    """Some blocks of a history, and in how many of them each word occurs."""

    blocks: list[Block] = field(default_factory=list)
    often: Counter[str] = field(default_factory=Counter)

    def band(self, least: float, most: float) -> list[str]:
        """Words that occur in such a share of the blocks."""
        low, high = least * len(self.blocks), most * len(self.blocks)
        return sorted(word for word, count in self.often.items() if low <= count <= high and len(word) > 2)


def take_sample(root: Path, seed: int) -> Sample:
    """Read some blocks of some transcripts."""
    rng = random.Random(seed)
    paths = sorted((root / "projects").rglob("*.jsonl"))
    sample = Sample()
    for path in sorted(rng.sample(paths, min(SAMPLE_FILES, len(paths)))):
        sample.blocks += _blocks(path)
    for block in sample.blocks:
        sample.often.update({word.lower() for word in _WORD.findall(block.text)})
    return sample


def _blocks(path: Path) -> Iterator[Block]:
    tools: dict[str, str] = {}
    model = ""
    with path.open("rb") as lines:
        for _, line in zip(range(SAMPLE_LINES), lines, strict=False):
            record = json.loads(line)
            if record["type"] not in ("user", "assistant"):
                continue
            content = record["message"]["content"]
            model = record["message"].get("model", model)
            for block in content if isinstance(content, list) else [{"type": "prompt", "text": content}]:
                if block["type"] == "tool_use":
                    tools[block["id"]] = block["name"]
                text, kind = _text(block)
                yield Block(
                    kind,
                    text,
                    record["cwd"].rsplit("/", 1)[-1],
                    record["gitBranch"],
                    model,
                    record["timestamp"][:10],
                    block.get("name") or tools.get(block.get("tool_use_id", ""), ""),
                    bool(block.get("is_error")),
                )


def _text(block: dict[str, Any]) -> tuple[str, str]:
    kind = block["type"]
    if kind == "tool_use":
        return "\n".join(str(value) for value in block["input"].values()), "call"
    name = {"tool_result": "result", "text": "reply"}.get(kind, kind)
    return str(block.get({"tool_result": "content", "thinking": "thinking"}.get(kind, "text"), "")), name


class Maker:
    """Draws queries of each class from a sample."""

    def __init__(self, sample: Sample, seed: int) -> None:
        self.sample = sample
        self.rng = random.Random(seed)
        self.turn = 0
        self.stop = [word for word, _ in sample.often.most_common(25)]
        self.rare = sorted(word for word, count in sample.often.items() if count == 1 and len(word) > 5)
        self.common = [word for word in sample.band(0.01, 0.10) if word not in self.stop]
        self.middle = [word for word in sample.band(0.0005, 0.01) if len(word) > 3]
        self.said = [block for block in sample.blocks if block.kind in _SAID and block.text.isascii()]
        texts = [block.text for block in sample.blocks]
        self.identifiers = sorted({name for text in texts[::7] for name in _IDENTIFIER.findall(text) if len(name) > 7})
        self.paths = sorted({name for text in texts[::7] for name in _PATH.findall(text)})
        self.cjk = sorted({run for text in texts for run in _CJK.findall(text)})
        self.makers: dict[str, Callable[[], str]] = {
            "rare word": lambda: self.pick(self.rare),
            "common word": lambda: self.pick(self.common),
            "stop words": self.stop_words,
            "two words": lambda: " ".join(self.together(2)),
            "three words": lambda: " ".join(self.together(3)),
            "phrase": lambda: f'"{" ".join(self.consecutive(4))}"',
            "phrase of stop words": self.stop_phrase,
            "prefix": self.prefix,
            "identifier, whole": lambda: self.pick(self.identifiers),
            "identifier, parts": lambda: " ".join(self.parts()[:2]),
            "identifier, respelled": self.respelled,
            "path": self.path,
            "CJK": self.characters,
            "filter, rare word": lambda: self.filtered(set(self.rare)),
            "filter, common word": lambda: self.filtered(set(self.common)),
            "filters alone": self.filters,
            "or": lambda: f"{self.pick(self.middle)} OR {self.pick(self.common)}",
            "not": lambda: f"{self.pick(self.common)} -{self.pick(self.common)} -{self.pick(self.stop)}",
            "near": self.near,
            "no match": lambda: f"zqx{self.rng.getrandbits(40):x} {self.pick(self.common)}",
        }

    def pick(self, words: list[str]) -> str:
        """One of them; the sample of a tiny history may have none."""
        return self.rng.choice(words or self.stop)

    def consecutive(self, count: int) -> list[str]:
        """Words that follow each other in what somebody said."""
        for _ in range(100):
            words = re.findall(r"\w+", self.rng.choice(self.said).text.splitlines()[0])
            if len(words) >= count:
                start = self.rng.randrange(len(words) - count + 1)
                return words[start : start + count]
        return self.stop[:count]

    def together(self, count: int) -> list[str]:
        """Words of one block that are no stop words."""
        for _ in range(100):
            words = {word.lower() for word in _WORD.findall(self.rng.choice(self.said).text)} - set(self.stop)
            if len(words) >= count:
                return self.rng.sample(sorted(words), count)
        return self.common[:count]

    def stop_words(self) -> str:
        return " ".join(self.rng.sample(self.stop, self.rng.randrange(1, 4)))

    def stop_phrase(self) -> str:
        for _ in range(3000):
            words = self.consecutive(2)
            if all(word.lower() in self.stop for word in words):
                return f'"{" ".join(words)}"'
        return f'"{self.stop[0]} {self.stop[1]}"'

    def prefix(self) -> str:
        word = self.pick(self.rng.choice((self.rare, self.middle, self.common)))
        return f"{word[: self.rng.randrange(3, 6)]}*"

    def parts(self) -> list[str]:
        return [part.lower() for part in _PARTS.findall(self.pick(self.identifiers))]

    def respelled(self) -> str:
        parts = self.parts()
        camel = parts[0] + "".join(part.title() for part in parts[1:])
        return self.rng.choice(("".join(parts), "_".join(parts), "-".join(parts), camel))

    def path(self) -> str:
        whole = self.pick(self.paths).split("/")
        return "/".join(whole[-self.rng.randrange(1, 3) :])

    def characters(self) -> str:
        run = self.pick(self.cjk)
        start = self.rng.randrange(max(1, len(run) - 3))
        return run[start : start + self.rng.randrange(2, 5)]

    def near(self) -> str:
        first, *_, last = self.consecutive(5)
        return f"near({last} {first}, 10)"

    def filter(self, block: Block) -> str:
        """A condition that holds for a block, each field in its turn."""
        fields = ("project", "tool", "kind", "since", "file", "is", "model", "branch")
        self.turn += 1
        name = fields[self.turn % len(fields)]
        path = _PATH.search(block.text)
        value = {
            "project": block.project,
            "kind": block.kind,
            "since": block.day,
            "branch": block.branch,
            "model": block.model,
            "tool": block.tool,
            "is": "error" if block.is_error else "",
            "file": path[0].rsplit("/", 1)[-1] if path and block.kind == "call" and block.tool in _TOUCHING else "",
        }[name]
        return f"{name}:{value}" if value else ""

    def filtered(self, among: set[str]) -> str:
        """A word of a block with a condition that holds for the block."""
        condition = ""
        for _ in range(2000):
            block = self.rng.choice(self.sample.blocks)
            words = sorted(among & {word.lower() for word in _WORD.findall(block.text)})
            if words and (condition := self.filter(block)):
                return f"{condition} {self.rng.choice(words)}"
            self.turn -= bool(words)  # the same field for the next block
        return f"kind:result {self.pick(self.common)}"

    def filters(self) -> str:
        """Two conditions that hold for a block."""
        for _ in range(2000):
            block = self.rng.choice(self.sample.blocks)
            first, second = self.filter(block), self.filter(block)
            if first and second:
                return f"{first} {second}"
        return "kind:result is:error"


EVERYTHING = ("", "after:2000-01-01", "-zqxnowhere", "kind:prompt OR -kind:prompt")


def draw(sample: Sample, seed: int, each: int) -> list[Query]:
    """So many queries of every class, and those that match everything; no two alike where that can be."""
    maker = Maker(sample, seed)
    found: dict[str, Query] = {}
    for kind, make in maker.makers.items():
        wanted, tries = each, 0
        while wanted and tries < 50 * each:
            text = make()
            tries += 1
            if text not in found:
                found[text] = Query(kind, text)
                wanted -= 1
    found |= {text: Query("everything", text) for text in EVERYTHING}
    return list(found.values())
