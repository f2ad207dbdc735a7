"""The best passages of the whole history, whatever its size and however common the other words are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard.demo import write_history
from hansard.engine import Hansard
from hansard.index.tokens import tokens
from hansard.query.recall import answer, candidates
from hansard.query.recall.passages import SIZE, cut, make_windows, words_in
from hansard.query.recall.question import asked_words, words_of
from hansard.query.search.blocks import Texts, describe
from hansard.query.search.pages import distinct
from hansard.query.search.vocabulary import IndexedWords
from tests.sync.making import Tree, assistant, main_path, session, user

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    base = tmp_path_factory.mktemp("recall")
    write_history(base / ".claude", now=NOW)
    with hansard.open(base / "store", roots=[base / ".claude"]) as opened:
        opened.sync()
        yield opened


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What was the assistant's reason?", ["assistant", "reason"]),
        ("Why didn\u2019t we use msgspec, and isn't it faster?", ["msgspec", "faster"]),
        ("parseLine in path/to/file.py", ["parse", "line", "path", "file", "py"]),
        ("tests, testing and tested", ["tests"]),
        ("数据库", ["数", "据", "库"]),
        ("what did we do?", []),
    ],
)
def test_the_words_of_a_question(question: str, words: list[str]) -> None:
    assert list(words_of(question)) == words


@given(st.text(alphabet=st.sampled_from("ab \n.。é数A_'1"), max_size=3000), st.integers(20, 900))
def test_pieces_have_all_of_a_text(text: str, size: int) -> None:
    pieces = list(cut(text, size))
    assert all(0 < len(piece) <= size for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_pieces_end_with_a_line_or_a_sentence() -> None:
    line = "A line of some words, and more. It goes on for a while.\n"
    assert all(piece.endswith("while.") for piece in cut(line * 100))
    assert all(piece.endswith(".") for piece in cut(line.replace("\n", " ") * 100))


@pytest.mark.parametrize("text", ["parseLine2 HTTPServer, 100ms sha256", "café Ünï 数据库 ёлка Ελλάδα C++", "don't"])
def test_words_are_those_of_the_index(text: str) -> None:
    assert words_in(text) == [token.text for token in tokens(text)]


QUESTIONS = [
    "why did the parser fail on empty headers",
    "which test fails without the change",
    "how large is the image and what should be in it",
    "deploy of the release to staging",
    "the rainy season in the search of haiku",
]
KINDS = {"prompt", "reply", "thinking", "call", "command", "title"}


@pytest.mark.parametrize("also", ["", "crash header blank picture pipeline"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_passages_are_the_best_of_the_whole_history(
    demo: Hansard, question: str, also: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no limit on what is read, as when every window of the history is scored."""
    monkeypatch.setattr(answer, "SEEDS", 1 << 20)
    found = demo.recall(question=question, also=also, now=NOW, passages=12, sessions=100)
    passages = sorted((one for session in found.sessions for one in session.passages), key=lambda one: -one.score)
    assert [one.text for one in passages] == slowly(demo, question, also, 12)


def slowly(h: Hansard, question: str, also: str, most: int) -> list[str]:
    """The best passages, by BM25 over the windows around every text of the history."""
    texts = Texts(h.reader, h.record)
    blocks = [
        block
        for table in ("talk", "work", "titles")
        for block in describe(
            h.reader,
            [
                row[0]
                for row in h.reader.rows(f"SELECT p.id FROM full.{table}_docsize d JOIN full.places p ON p.doc = d.id")
            ],
        ).values()
        if block.kind in KINDS and block.log_kind != "history"  # whose prompts are in transcripts too
    ]
    asked = asked_words(question, IndexedWords(h.reader), also)

    def counts(words: list[str]) -> list[int]:
        sequence = " ".join(["", *words, ""])
        return [
            sum(1 for row in one.rows for _ in re.finditer(f"(?= {re.escape(' '.join(row))} )", sequence))
            for one in asked
        ]

    has = {block.id: [count > 0 for count in counts(words_in(texts.of(block)))] for block in blocks}
    often = [sum(column) for column in zip(*has.values(), strict=True)]
    matches = [block for block in distinct(blocks) if any(has[block.id])]
    rows = h.reader.one("SELECT (SELECT count(*) FROM full.talk_docsize) + (SELECT count(*) FROM full.work_docsize)")[0]
    own = len(words_of(question))
    worths = [
        (1.0 if number < own else 0.7) * math.log(1 + (rows - one + 0.5) / (one + 0.5))
        for number, one in enumerate(often)
    ]
    ranked = []
    for window in make_windows(h.reader, matches, texts.of, lambda piece: any(counts(words_in(piece[2])))):
        words = [word for _, _, text in window for word in words_in(text)]
        found = [sum(column) for column in zip(*(counts(words_in(text)) for _, _, text in window), strict=True)]
        long = 1.2 * (0.25 + 0.75 * len(words) / 130)
        score = sum(worth * count * 2.2 / (count + long) for worth, count in zip(worths, found, strict=True))
        block = max(
            window,
            key=lambda one: (
                sum(worth for worth, count in zip(worths, counts(words_in(one[2])), strict=True) if count),
                -one[0].id,
                -one[1],
            ),
        )[0]
        weight = {"thinking": 0.8, "call": 0.7}.get(block.kind, 1.0)
        age = (NOW.timestamp() * 1000 - (block.at or 0)) / 86_400_000 if block.at is not None else 1000.0
        if any(found):
            ranked.append((-score * weight * (0.9 + 0.1 * 0.5 ** (max(age, 0) / 90)), -block.id, window, set(words)))
    chosen: list[tuple[set[tuple[int, int]], set[str], str]] = []
    for _, _, window, words_of_it in sorted(ranked, key=lambda one: one[:2]):
        keys = {(block.id, number) for block, number, _ in window}
        shown = {key for others, _, _ in chosen for key in others}
        is_repeated = any(len(words_of_it & other) > 0.85 * len(words_of_it) for _, other, _ in chosen)
        if len(keys & shown) * 2 <= len(keys) and not is_repeated:
            chosen.append((keys, words_of_it, "\n".join(text for _, _, text in window)))
    return [text for _, _, text in chosen[:most]]


def test_a_window_is_a_message_with_those_around_it(tree: Tree) -> None:
    one = session(1)
    said = [f"Message {number} about {'the walrus ' * number}end." for number in range(1, 12)]
    tree.write(main_path(one), [user(one, f"b{number}", text, number) for number, text in enumerate(said)])
    tree.sync()
    with hansard.open(tree.home) as h:
        assert h.reader.has_text
        texts = Texts(h.reader, h.record)
        ids = [
            row[0]
            for row in h.reader.rows(
                "SELECT p.id FROM full.talk_docsize d JOIN full.places p ON p.doc = d.id ORDER BY p.id"
            )
        ]
        blocks = list(describe(h.reader, ids).values())
        for window in make_windows(h.reader, blocks, texts.of, bool):
            numbers = [ids.index(block.id) for block, _, _ in window]
            assert numbers == list(range(numbers[0], numbers[-1] + 1))
            assert sum(len(text) + 1 for _, _, text in window) <= SIZE + 1
        assert len([*make_windows(h.reader, blocks[5:6], texts.of, bool)]) == 1


def test_a_repeated_text_is_shown_once(tree: Tree) -> None:
    plan = "Plan: move the walrus to the ice floe, then wait until the tide is out and count its teeth."
    for number in (1, 2, 3):
        tree.write(main_path(session(number)), [user(session(number), f"b{number}", plan, number)])
    tree.sync()
    with hansard.open(tree.home) as h:
        found = h.recall(question="where does the walrus move?")
        assert [len(one.passages) for one in found.sessions] == [1]
        assert len(found.left_out) == 2


def test_a_rare_word_is_found_behind_thousands_of_common_ones(tree: Tree) -> None:
    one, two = session(1), session(2)
    tree.write(
        main_path(one),
        [user(one, "a", "The walrus breaks the build"), assistant(one, "b", "m", "It ate the lock.", 1, "a")],
    )
    tree.sync()
    tree.write(
        main_path(two), [user(two, f"b{n}", f"the build is broken again, attempt {n}", 10 + n) for n in range(900)]
    )
    tree.sync()
    with hansard.open(tree.home) as h:
        found = h.recall(question="why did the walrus break the build?")
        assert found.sessions[0].session_id == one
        assert "It ate the lock." in found.sessions[0].passages[0].text
        assert "It ate the lock." in found.sessions[0].outcome
        assert found.missing == ()
        assert not found.is_cut


def test_what_is_cut_is_told(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    one = session(1)
    tree.write(main_path(one), [user(one, f"b{n}", f"build number {n}", n) for n in range(300)])
    tree.sync()
    monkeypatch.setattr(candidates, "_BUDGET", dict.fromkeys(candidates._BUDGET, 50))
    with hansard.open(tree.home) as h:
        assert h.recall(question="build").is_cut
        assert not h.recall(question="build 17").sessions[0].passages[0].text.startswith("build number 299")
        monkeypatch.undo()
        assert not h.recall(question="build").is_cut
