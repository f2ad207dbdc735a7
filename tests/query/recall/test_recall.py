"""The best passages of the whole history, whatever its size and however common the other words are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard.demo import write_history
from hansard.engine import Hansard
from hansard.index.tokens import tokens
from hansard.query.recall import candidates
from hansard.query.recall.passages import cut, words_in
from hansard.query.recall.question import words_of
from hansard.query.search.spellings import inflections
from tests.query.search.slowly import everything, positions
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


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_best_passage_of_every_text_is_found(demo: Hansard, question: str) -> None:
    """The best message by BM25, of all messages that are not longer than a passage."""
    found = demo.recall(question=question, now=NOW)
    texts = everything(demo)
    rows = demo.reader.one(
        "SELECT (SELECT count(*) FROM full.talk_docsize) + (SELECT count(*) FROM full.work_docsize)"
    )[0]
    shown = [said for said in texts if said.kind in ("prompt", "reply", "thinking", "call", "command", "title")]
    forms = {word: {word, *inflections(word)} for word in words_of(question)}
    often = {word: sum(bool(forms[word] & set(said.tokens)) for said in shown) for word in forms}
    worths = {word: math.log(1 + (rows - often[word] + 0.5) / (often[word] + 0.5)) for word in forms}

    def score(words: list[str]) -> float:
        counts = {word: sum(one in forms[word] for one in words) for word in forms}
        long = 1.2 * (0.25 + 0.75 * len(words) / 100)
        return sum(worths[word] * count * 2.2 / (count + long) for word, count in counts.items())

    best = max(
        (
            said.tokens
            for said in shown
            if said.kind in ("prompt", "reply") and not said.is_aside and len(said.tokens) < 80
        ),
        key=score,
    )
    passages = [words_in(passage.text) for one in found.sessions for passage in one.passages]
    assert any(positions(words, best) for words in passages)


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
        assert found.sessions[0].outcome == "It ate the lock."
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
