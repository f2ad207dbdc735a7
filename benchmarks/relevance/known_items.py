"""Questions whose answer is known: a fragment of the history as somebody remembers it, and the place it was taken from.

Sessions are drawn first, then passages of what they show, then words of the passages; the same seed gives the same questions.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.texts import TextFold
from hansard.clients.lines import Lines, ParsedLine, unfinished
from hansard.clients.texts import Text

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

CLASSES = (
    "prompt phrase",
    "prompt words",
    "word forms",
    "case",
    "reply",
    "title shuffled",
    "identifier",
    "identifier respelled",
    "path",
    "error",
)
NAMED = frozenset({"identifier", "identifier respelled", "path"})  # these have many places, each as good as the other
TITLED = "title shuffled"
SESSIONS = 400  # read at most
_EACH = 4  # passages of one kind from one session, so that no session is most of the questions
_LOOKED_AT = 20_000  # characters of one text
_PASSAGE = 400
_CHANGES = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_TOUCHES = _CHANGES | {"Read"}
_DISTINCTIVE = 0.01  # of the texts have a distinctive word, at most
_NOT_TYPED = ("{", "<", "[{")  # prompts that begin so were written by a program
_FILE_ENDINGS = frozenset(
    "md ts tsx js jsx mjs py json html css yml yaml toml sh rs go txt ex rb java com org io net".split()
)

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_PLAIN = re.compile(r"[a-z]{3,}")
_NAME = re.compile(
    r"(?<![\w.])(?:[a-z]++(?:[A-Z][a-z0-9]++)++|(?:[A-Z][a-z0-9]++){2,}+|[a-z0-9]++(?:_[a-z0-9]++)++|[a-z]\w*+(?:\.[a-z]\w*+)++)"
    r"(?![\w.])"
)
_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_FILE = re.compile(r"(?:[A-Za-z]:)?[\w.@~ /\\+-]*[\w@+-]\.[A-Za-z0-9]{1,8}")
_UNSPACED = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]{6,}")
# What means something else than itself in a query: somebody who remembers text does not mean it so.
_OPERATOR = re.compile(
    r"-[^-]|.*\*$|(?:OR|AND|NOT)$|(?i:near\(|(?:project|branch|model|tool|file|role|kind|session|agent|title|version|is|has|before"
    r"|after|on|since|cost|tokens):)"
)


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A question, and where its answer stands; whatever holds the passage is as good an answer."""

    kind: str  # one of CLASSES
    query: str
    passage: str  # as the source spells it
    session_id: str
    transcript: str  # path
    offset: int
    uuid: str | None


@dataclass(frozen=True, slots=True)
class _Source:
    """A passage before it has become a question."""

    passage: str
    session_id: str
    transcript: str
    offset: int
    uuid: str | None


class _Reservoir:
    """A fair sample of a stream, of so many at most."""

    def __init__(self, rng: random.Random, size: int) -> None:
        self._rng, self._size, self._seen = rng, size, 0
        self.kept: list[_Source] = []

    def offer(self, source: _Source) -> None:
        self._seen += 1
        if len(self.kept) < self._size:
            self.kept.append(source)
        elif (place := self._rng.randrange(self._seen)) < self._size:
            self.kept[place] = source


def known_items(reader: Reader, record: Record, *, sample: int, seed: int) -> list[KnownItem]:
    """Questions from the history, at most `sample` of each class."""
    rng = random.Random(seed)
    pools: dict[str, list[_Source]] = {}
    often: Counter[str] = Counter()  # how many texts have a word; "" for all of them
    for session_id, title in _drawn_sessions(reader, rng):
        own = {name: _Reservoir(rng, _EACH) for name in ("prompt", "reply", "error", "name", "path")}
        for source, text in shown_texts(reader, record, session_id):
            _collect(source, text, own, often, rng)
        for name, reservoir in own.items():
            pools.setdefault(name, []).extend(reservoir.kept)
        pools.setdefault("title", []).append(_Source(title, session_id, "", 0, None))
    maker = _Maker(rng, often)
    found: list[KnownItem] = []
    for kind in CLASSES:
        pool, make = maker.ways(kind, pools)
        found += _made(kind, rng.sample(pool, len(pool)), make, sample)
    return found


def _made(
    kind: str, pool: list[_Source], make: Callable[[_Source], tuple[str, str] | None], sample: int
) -> Iterator[KnownItem]:
    """Questions from the first passages that are fit for one; no question twice."""
    asked: set[str] = set()
    for source in pool:
        if len(asked) == sample:
            return
        made = make(source)
        if made is not None and made[0].casefold() not in asked:
            asked.add(made[0].casefold())
            yield KnownItem(kind, *made, source.session_id, source.transcript, source.offset, source.uuid)


def _drawn_sessions(reader: Reader, rng: random.Random) -> list[tuple[str, str]]:
    """Some sessions in which something was said, and their titles, in the order of their ids."""
    kept: list[tuple[str, str]] = []
    rows = reader.rows("SELECT session_id, title FROM sessions WHERE debris = 0 ORDER BY session_id")
    for number, (session_id, title) in enumerate(rows):
        if len(kept) < SESSIONS:
            kept.append((session_id, title))
        elif (place := rng.randrange(number + 1)) < SESSIONS:
            kept[place] = (session_id, title)
    return sorted(kept)


def shown_texts(reader: Reader, record: Record, session_id: str) -> Iterator[tuple[_Source, Text]]:
    """Every text that a session shows, with its place."""
    transcripts = list(
        reader.rows(
            "SELECT id, path, kind FROM transcripts WHERE session_id = ? AND current = 1 AND kind IN ('main', 'agent', 'log')"
            " ORDER BY path, id",
            (session_id,),
        )
    )
    for transcript, path, kind in transcripts:
        fold = TextFold(is_agent=kind == "agent")
        lines = Lines(record.read(transcript), 0)
        for decoded in _decoded(lines):
            place = _Source("", session_id, path, decoded.offset, getattr(decoded.body, "uuid", None))
            for text in fold.texts(decoded):
                yield place, text


def _decoded(lines: Lines) -> Iterator[ParsedLine]:
    for offset, line in lines:
        yield from (item for item in items(line, offset) if isinstance(item, ParsedLine))
    yield from (item for item in unfinished(lines.rest, lines.offset, items) if isinstance(item, ParsedLine))


def _collect(place: _Source, text: Text, own: dict[str, _Reservoir], often: Counter[str], rng: random.Random) -> None:
    """Take what a text has for one question or another."""
    said = text.text[:_LOOKED_AT]
    if text.kind in ("prompt", "reply") and not said.startswith(_NOT_TYPED):
        often.update({"", *(word.lower() for word in _WORD.findall(said))})
        lines = [line for line in said.splitlines() if len(_WORD.findall(line)) > 4 or _UNSPACED.search(line)]
        if lines:
            own[text.kind].offer(replace(place, passage=rng.choice(lines).strip()[:_PASSAGE]))
    elif text.kind == "result" and text.is_error:
        lines = [line for line in said.splitlines() if len(_WORD.findall(line)) > 3]
        if lines:
            own["error"].offer(replace(place, passage=rng.choice(lines).strip()[:_PASSAGE]))
    elif text.kind == "call" and text.tool in _TOUCHES:
        path, _, rest = said.partition("\n")
        if _FILE.fullmatch(path):
            own["path"].offer(replace(place, passage=path))
        names = sorted(set(_NAME.findall(rest))) if text.tool in _CHANGES else []
        names = [name for name in names if len(name) > 5 and name.rpartition(".")[2] not in _FILE_ENDINGS]
        if names:
            own["name"].offer(replace(place, passage=rng.choice(names)))


class _Maker:
    """Turns passages into what a person would type: (query, passage that must be found)."""

    def __init__(self, rng: random.Random, often: Counter[str]) -> None:
        self.rng, self.often = rng, often

    def ways(
        self, kind: str, pools: dict[str, list[_Source]]
    ) -> tuple[list[_Source], Callable[[_Source], tuple[str, str] | None]]:
        """The passages for a class, and how one becomes a question."""
        prompts, replies = pools.get("prompt", []), pools.get("reply", [])
        return {
            "prompt phrase": (prompts, self.phrase),
            "prompt words": (prompts, self.words),
            "word forms": (prompts, self.other_forms),
            "case": (prompts + replies, self.other_case),
            "reply": (replies, self.phrase),
            "title shuffled": (pools.get("title", []), self.shuffled),
            "identifier": (pools.get("name", []), lambda source: (source.passage, source.passage)),
            "identifier respelled": (pools.get("name", []), self.respelled),
            "path": (pools.get("path", []), self.end_of_path),
            "error": (pools.get("error", []), lambda source: self.phrase(source, 4, 8)),
        }[kind]

    def phrase(self, source: _Source, least: int = 4, most: int = 6) -> tuple[str, str] | None:
        """Consecutive words, as they stand there; consecutive characters where a script has no spaces."""
        unspaced = _UNSPACED.search(source.passage)
        if unspaced:
            run = unspaced[0]
            length = self.rng.randint(4, min(8, len(run)))
            start = self.rng.randrange(len(run) - length + 1)
            return run[start : start + length], run[start : start + length]
        tokens = list(re.finditer(r"\S+", source.passage))
        count = self.rng.randint(least, most)
        starts = list(range(max(0, len(tokens) - count + 1)))
        self.rng.shuffle(starts)
        for start in starts:
            window = tokens[start : start + count]
            passage = source.passage[window[0].start() : window[-1].end()]
            if _is_memorable([token[0] for token in window]):
                return " ".join(passage.split()), passage
        return None

    def other_case(self, source: _Source) -> tuple[str, str] | None:
        """A phrase with its case changed."""
        made = self.phrase(source)
        if made is None:
            return None
        query, passage = made
        if {"or", "and", "not"} & set(query.lower().split()):
            return None  # in capitals they mean something
        changed = [way for way in (query.upper(), query.title(), query.lower(), query.swapcase()) if way != query]
        return (self.rng.choice(changed), passage) if changed else None

    def distinctive(self, source: _Source) -> list[str] | None:
        """Three to five of a passage's rarer words, in no order."""
        most = max(3, _DISTINCTIVE * self.often[""])
        words = {word.lower() for word in _WORD.findall(source.passage) if len(word) > 3 and not _UNSPACED.search(word)}
        words = {word for word in words if self.often[word] <= most}
        rarest = sorted(words, key=lambda word: (self.often[word], word))[:8]
        count = self.rng.randint(3, 5)
        chosen = self.rng.sample(rarest, min(count, len(rarest)))
        return chosen if len(chosen) >= 3 and not any(map(_OPERATOR.match, chosen)) else None

    def words(self, source: _Source) -> tuple[str, str] | None:
        """Distinctive words of a prompt in another order."""
        chosen = self.distinctive(source)
        return (" ".join(chosen), source.passage) if chosen else None

    def other_forms(self, source: _Source) -> tuple[str, str] | None:
        """Distinctive words, some of them in another form that this history uses too."""
        chosen = self.distinctive(source)
        if not chosen:
            return None
        changed = [self.rng.choice(forms) if (forms := self.forms(word)) else word for word in chosen]
        return (" ".join(changed), source.passage) if changed != chosen else None

    def forms(self, word: str) -> list[str]:
        """Plural and singular, -ed and -ing of a word, as far as this history has them: so they are words."""
        if not _PLAIN.fullmatch(word):
            return []
        stems = {word}
        for end in ("ing", "ed", "es", "s", "d"):
            if word.endswith(end) and len(word) - len(end) > 2:
                stem = word[: -len(end)]
                stems |= {stem, f"{stem}e"} if end == "ing" else {stem}
        possible = {
            form
            for stem in stems
            for form in (
                stem,
                f"{stem}s",
                f"{stem}es",
                f"{stem}ed",
                f"{stem}d",
                f"{stem}ing",
                f"{stem.removesuffix('e')}ing",
            )
        }
        return sorted(form for form in possible if form != word and len(form) > 3 and self.often[form])

    def shuffled(self, source: _Source) -> tuple[str, str] | None:
        """The words of a title in another order."""
        words = [word for word in re.findall(r"\w[\w'\u2019./-]*", source.passage) if not _OPERATOR.match(word)]
        if not 3 <= len(words) <= 14 or source.passage.startswith(_NOT_TYPED):
            return None
        mixed = self.rng.sample(words, len(words))
        return (" ".join(mixed), source.passage) if mixed != words else None

    def respelled(self, source: _Source) -> tuple[str, str] | None:
        """An identifier in another style of writing it."""
        parts = [part.lower() for part in _PARTS.findall(source.passage)]
        camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
        styles = {"_".join(parts), "-".join(parts), "".join(parts), " ".join(parts), camel} - {source.passage}
        style = self.rng.choice(sorted(styles))
        return None if any(map(_OPERATOR.match, style.split())) else (style, source.passage)

    def end_of_path(self, source: _Source) -> tuple[str, str] | None:
        """The last name of a path, or the last two."""
        parts = [part for part in re.split(r"[/\\]", source.passage) if part]
        end = re.search(
            r"[^/\\]+[/\\][^/\\]+$" if len(parts) > 1 and self.rng.random() < 0.5 else r"[^/\\]+$", source.passage
        )
        return None if end is None or any(map(_OPERATOR.match, end[0].split())) else (end[0], end[0])


def _is_memorable(tokens: list[str]) -> bool:
    """Whether a person could remember these words, and type them without meaning anything else."""
    if any(_OPERATOR.match(token) or not _WORD.search(token) or "*" in token or len(token) > 60 for token in tokens):
        return False
    return sum(len(word) > 3 for token in tokens for word in _WORD.findall(token)[:1]) > 1
