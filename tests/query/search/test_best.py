"""Best means best of the whole history: every match is ranked by the same definition, written slowly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.query.search import candidates
from tests.query.search.slowly import Said, everything, positions
from tests.sync.making import assistant, main_path, session, user

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from tests.sync.making import Tree

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
KINDS = {"title": 1.5, "prompt": 1.4, "reply": 1.1, "command": 1.0, "thinking": 0.7, "call": 0.65, "result": 0.5}
DAY = 86_400_000


def table(said: Said) -> str:
    if said.kind in ("title", "reminder"):
        return said.kind
    return "talk" if said.kind in ("prompt", "reply", "command") and not said.is_aside else "work"


class Best:
    """Scores texts one by one."""

    def __init__(self, h: Hansard) -> None:
        assert h.reader.has_text
        self.texts = everything(h)
        # Lines of history.jsonl and files are in the tables too.
        self.rows, self.averages = 0, dict[str, float]()
        self.reader = h.reader
        for name, full in (("talk", "talk"), ("work", "work"), ("title", "titles")):
            h.reader.one(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.best_{full} USING fts5vocab (full, {full}, col)")
            rows = h.reader.one(f"SELECT count(*) FROM full.{full}_docsize")[0]
            words = h.reader.one(f"SELECT sum(cnt) FROM temp.best_{full} WHERE col = 'body'")[0]
            h.reader.one(f"DROP TABLE temp.best_{full}")
            self.averages[name] = words / rows
            self.rows += rows if name != "title" else 0

    def scores(self, words: Sequence[str]) -> dict[tuple[int, int], float]:
        """The score of every text that has all words."""
        worths = [1.0] if len(words) == 1 else [self.rarity(word) for word in words]
        found = {}
        for said in self.texts:
            places = [positions(said.tokens, [word]) for word in words]
            if all(places) and said.kind not in ("reminder", "title"):
                found[said.place] = self.words(said, places, worths) * self.prior(said)
        return found

    def rarity(self, word: str) -> float:
        often = 0
        for full in ("talk", "work"):
            counted = f"SELECT count(*) FROM full.{full} WHERE {full} MATCH ? AND rowid < 1 << 62"
            often += self.reader.one(counted, (f'body : "{word}"',))[0]
        return math.log(1 + (self.rows - often + 0.5) / (often + 0.5))

    def words(self, said: Said, places: list[list[int]], worths: list[float]) -> float:
        length = 1.2 * (0.4 + 0.6 * len(said.tokens) / self.averages[table(said)])
        score = sum(
            worth * len(found) * 2.2 / (len(found) + length) for worth, found in zip(worths, places, strict=True)
        )
        if len(places) == 1:
            return score
        if any(all(place + n in found for n, found in enumerate(places)) for place in places[0]):
            return score * 1.7
        shortest = min(max(chosen) - min(chosen) + 1 for chosen in product(*places))
        return score * (1 + 0.5 * len(places) / max(shortest, len(places)))

    def prior(self, said: Said) -> float:
        age = max(0, NOW.timestamp() * 1000 - said.at) / DAY if said.at is not None else 1000.0
        weight = KINDS.get(said.kind, 0.4) * (0.75 if said.is_aside else 1.0)
        return weight * (1 - 0.35 * (1 - math.pow(0.5, age / 60)))


@pytest.fixture(scope="module")
def best(demo: Hansard) -> Best:
    return Best(demo)


@pytest.mark.parametrize(
    "words",
    [
        ["parser"],
        ["the"],
        ["test", "fails"],
        ["the", "test"],
        ["and", "it"],
        ["is", "not"],
        ["a", "in", "to"],
    ],
)
def test_scores_are_those_of_the_slow_way(
    demo: Hansard, best: Best, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_SAMPLE", 100_000)  # of larger histories the uses of words are estimated
    expected = best.scores(words)
    ids = dict(demo.reader.rows("SELECT path, id FROM transcripts"))
    hits: list[Any] = []
    cursor = None
    while True:
        page = demo.search(" ".join(f'"{word}"' for word in words), limit=100, cursor=cursor, now=NOW)
        hits += page.hits
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(hits) > 1
    for hit in hits:
        if (place := (ids.get(hit.transcript, 0), hit.offset + hit.block)) in expected:
            assert hit.score == pytest.approx(expected[place], abs=0.0002), hit.snippet
    found = [hit.score for hit in hits[:50]]
    assert found == sorted(found, reverse=True)


def test_the_best_match_is_found_behind_thousands_of_newer_ones(tree: Tree) -> None:
    one, two = session(1), session(2)
    tree.write(main_path(one), [user(one, "a", "walrus colony census")])
    tree.sync()
    filler = " ".join(f"word{number}" for number in range(40))
    tree.write(
        main_path(two),
        [user(two, f"b{n}", f"walrus {filler} colony {filler} census {filler}", 10 + n) for n in range(1000)],
    )
    tree.sync()
    with hansard.open(tree.home) as h:
        for group in (False, True):
            page = h.search("walrus colony census", group=group, limit=3)
            assert page.hits[0].uuid == "a"
            assert page.truncated
    with hansard.open(tree.home) as h:
        found: list[str | None] = []
        cursor = None
        while True:
            page = h.search("walrus colony census", limit=100, cursor=cursor)
            found += [hit.uuid for hit in page.hits]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(found) == len(set(found)) == 1001


def test_an_old_prompt_is_found_behind_hundreds_of_newer_replies(tree: Tree) -> None:
    one, two = session(1), session(2)
    tree.write(main_path(one), [user(one, "a", "walrus")])
    tree.write(main_path(two), [assistant(two, f"b{n}", f"m{n}", f"the walrus again {n}", 10 + n) for n in range(400)])
    tree.sync()
    with hansard.open(tree.home) as h:
        for group in (False, True):
            page = h.search("walrus", group=group, limit=3)
            assert page.truncated
            assert "a" in {hit.uuid for hit in page.hits}
