"""Notes are found with the words of a search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from tests.sync.making import Tree, main_path, session, user

ONE, TWO = session(1), session(2)
NOTE = "Ask Mira about the Zürich gauge; the latest one drifts"


@pytest.fixture
def h(tmp_path: Path) -> Iterator[Hansard]:
    tree = Tree(tmp_path / "claude", tmp_path / "home")
    for number in (1, 2):
        tree.write(main_path(session(number)), [user(session(number), f"u{number}", f"gauge number {number}")])
    with hansard.open(tree.home, [tree.config]) as opened:
        opened.sync()
        opened.note(ONE, NOTE)
        yield opened


def test_every_word_must_begin_a_word_of_the_note(h: Hansard) -> None:
    (found,) = h.search("zurich GAUG drift*").found_notes
    assert (found.session_id, found.note) == (ONE, NOTE)
    assert h.search('"the zürich gauge"').found_notes == (found,)
    for query in ("gauge test", "gauge -mira", "zurich OR gauge", "near(mira gauge)", "", f"session:{ONE}"):
        assert h.search(query).found_notes == ()


def test_fields_limit_the_sessions(h: Hansard) -> None:
    h.note(TWO, "another gauge")
    assert [one.session_id for one in h.search("gauge").found_notes] == [TWO, ONE]
    assert [one.session_id for one in h.search(f"gauge session:{ONE} -kind:result").found_notes] == [ONE]
    for query in ("gauge kind:prompt", "gauge tool:Bash", "gauge is:error", "gauge project:elsewhere"):
        assert h.search(query).found_notes == ()
    assert h.search("gauge", folder="/elsewhere").found_notes == ()


def test_only_the_first_page_has_them_and_hits_do_not_count_them(h: Hansard) -> None:
    page = h.search("gauge", limit=1)
    assert (page.total, len(page.found_notes)) == (2, 1)
    assert h.search("gauge", limit=1, cursor=page.next_cursor).found_notes == ()


def test_what_is_redacted_finds_no_note(h: Hansard) -> None:
    def prepare(text: str) -> str:
        return text.replace("Mira", "[name:0a1b]")

    assert h.search("mira", prepare=prepare).found_notes == ()
    assert "Mira" not in h.search("gauge", prepare=prepare).found_notes[0].note
