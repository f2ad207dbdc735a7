"""Blame against a history in which the author of every line is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import hansard
from tests.git.authorship import MIXED, PERSON, History, make_history

CLAIMED = ("exact", "moved", "partial", "window", "marked")


def neighbours(lines: list[str], authors: list[str], number: int) -> set[str]:
    """Whose an empty line may be: git and everybody else may give one between two authors to either of them."""
    above = next((authors[place] for place in range(number - 1, -1, -1) if lines[place]), PERSON)
    below = next((authors[place] for place in range(number + 1, len(lines)) if lines[place]), PERSON)
    return {above, below, authors[number]}


def score(history: History, folder: Path) -> Counter[str]:
    """What blame says of each line, by what is true of it."""
    found: Counter[str] = Counter()
    with hansard.open(folder / "store", [history.shop.config]) as h:
        h.sync()
        for path, authors in history.authors.items():
            report = h.blame(str(history.shop.root / path))
            sessions = {edit.number: edit.session_id for edit in report.edits}
            assert [line.text for line in report.lines] == history.lines(path)
            for number, (line, who) in enumerate(zip(report.lines, authors, strict=True)):
                by = sessions.get(line.edit or 0)
                if not line.text and (by or PERSON) in neighbours(history.lines(path), authors, number):
                    continue
                if who == PERSON:
                    found["person claimed" if line.certainty in CLAIMED else "person"] += 1
                elif who == MIXED:
                    found[f"mixed {line.certainty}"] += 1
                else:
                    found["agent" if by == who else "agent missed" if by is None else "other agent"] += 1
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nearly_all_lines_of_sessions_are_found_and_nearly_none_of_the_person(tmp_path: Path, seed: int) -> None:
    found = score(make_history(tmp_path, seed), tmp_path)
    agent = found["agent"] + found["agent missed"] + found["other agent"]
    person = found["person"] + found["person claimed"]
    assert agent > 150
    assert person > 80
    assert found["agent"] / agent >= 0.95, found
    assert found["person claimed"] / person <= 0.01, found
    assert found["mixed exact"] == 0
