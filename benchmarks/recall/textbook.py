"""Textbook BM25 over the same texts, as it would be written without an index: what `recall` must not fall behind.

Texts are cut into chunks of 900 characters, words are stemmed by Snowball, and the twelve best chunks are shown, at most three of a
session.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

SIZE, MOST, PER_SESSION = 900, 12, 3
_K1, _B = 1.2, 0.75
_WORD = re.compile(r"[^\W_]+")
_STOP = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but by can could did do
    does doing don down during each few for from further had has have having he her here hers him his how i if in into is it its itself just
    me more most my no nor not now of off on once only or other our out over own same she should so some such than that the their them then
    there these they this those through to too under until up very was we were what when where which while who whom why will with would you
    your s t ll re ve d m""".split()
)


class Text(NamedTuple):
    """A text of a session: a prompt, a reply, a call, output, ..."""

    session: str
    kind: str
    text: str


class Textbook:
    """An index of chunks in memory."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._stem = _stemmer()
        self._chunks: list[tuple[str, str]] = []
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for session, _, text in texts:
            for chunk in chunks(text):
                words = self._words(chunk)
                for word, often in Counter(words).items():
                    self._postings[word].append((len(self._chunks), often))
                self._chunks.append((session, chunk))
                self._lengths.append(len(words))
        self._average = sum(self._lengths) / max(len(self._lengths), 1)

    def ask(self, question: str) -> list[str]:
        """The best chunks."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(self._words(question)):
            found = self._postings.get(word, [])
            rare = math.log(1 + (len(self._chunks) - len(found) + 0.5) / (len(found) + 0.5))
            for number, often in found:
                long = _K1 * (1 - _B + _B * self._lengths[number] / self._average)
                scores[number] += rare * often * (_K1 + 1) / (often + long)
        shown: list[str] = []
        taken: Counter[str] = Counter()
        for number in sorted(scores, key=lambda number: -scores[number]):
            session, chunk = self._chunks[number]
            if taken[session] < PER_SESSION:
                taken[session] += 1
                shown.append(chunk)
                if len(shown) == MOST:
                    break
        return shown

    def _words(self, text: str) -> list[str]:
        text = re.sub(r"(?<=\w)['\u2019](?:s|t|d|m|ll|re|ve)\b", "", text)
        text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
        return [self._stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP]


def chunks(text: str) -> Iterator[str]:
    """A text in chunks that end with a line or a word."""
    start = 0
    while start < len(text):
        end = min(len(text), start + SIZE)
        if end < len(text):
            border = max(text.rfind(sign, start + SIZE // 2, end) for sign in "\n ")
            end = border if border > start else end
        yield text[start:end]
        start = end


def _stemmer() -> Callable[[str], str]:
    """Snowball's English stemmer, or words without a plural s if it is not installed."""
    try:
        import snowballstemmer  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        print("snowballstemmer is not installed: the textbook only drops a plural s")
        return lambda word: word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    known: dict[str, str] = {}
    stem = snowballstemmer.stemmer("english").stemWord

    def cached(word: str) -> str:
        if word not in known:
            known[word] = stem(word)
        return known[word]

    return cached
