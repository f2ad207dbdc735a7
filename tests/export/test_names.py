"""Names of files are safe on every system, differ from each other, and stay."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hansard.export.names import LONGEST, is_name, name_sessions, slug
from hansard.model.sessions import Session

RESERVED = {"con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(10))}
TITLES = st.text(max_size=300) | st.sampled_from(
    ["", "con", "..", "../../etc/passwd", "a" * 500, "   ", "COM1", "🌊", "\0"]
)
IDS = st.text(min_size=1, max_size=60) | st.uuids().map(str) | st.sampled_from(["a", "A", "a-", "-a", "é", "..", "/"])


def a_session(session_id: str, title: str, at: datetime | None = None) -> Session:
    values: dict[str, object] = dict.fromkeys(Session.__struct_fields__, 0)
    return Session(**{**values, "session_id": session_id, "title": title, "started_at": at})  # type: ignore[arg-type]


MAY = datetime(2026, 5, 1, 23, 59, tzinfo=UTC)


def test_a_name_has_the_day_the_title_and_the_beginning_of_the_id() -> None:
    names = name_sessions([a_session("3f2a91c0-77aa", "Fix the tide table!", MAY)], {})
    assert names == {"3f2a91c0-77aa": "2026-05-01-fix-the-tide-table-3f2a91c0"}


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Größe der Straße", "grosse-der-strasse"),
        ("Crème brûlée; DROP TABLE", "creme-brulee-drop-table"),
        ("その関数", "untitled"),
        ("", "untitled"),
        ("...", "untitled"),
        ("x" * 200, "x" * 60),
        ("many words " * 20, "many-words-many-words-many-words-many-words-many-words-many"),
    ],
)
def test_titles_are_folded_to_plain_words(title: str, expected: str) -> None:
    assert slug(title) == expected


@given(st.lists(st.tuples(IDS, TITLES), max_size=30, unique_by=lambda pair: pair[0]), st.sampled_from([MAY, None]))
def test_no_two_sessions_share_a_name_and_every_name_is_safe(pairs: list[tuple[str, str]], at: datetime | None) -> None:
    names = name_sessions([a_session(session_id, title, at) for session_id, title in pairs], {})
    assert set(names) == {session_id for session_id, _ in pairs}
    assert len({name.casefold() for name in names.values()}) == len(pairs)
    for name in names.values():
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*[a-z0-9]", name)
        assert is_name(name)
        assert len(name) <= LONGEST
        assert name.partition(".")[0] not in RESERVED


@given(st.lists(st.tuples(IDS, TITLES), max_size=20, unique_by=lambda pair: pair[0]), TITLES)
def test_a_session_keeps_its_name_when_its_title_changes(pairs: list[tuple[str, str]], title: str) -> None:
    sessions = [a_session(session_id, old, MAY) for session_id, old in pairs]
    names = name_sessions(sessions, {})
    again = name_sessions([replace(session, title=title) for session in sessions], names)
    assert again == names


def test_ids_that_begin_alike_get_longer_names() -> None:
    alike = [a_session(f"aaaaaaaa-{number:04}-bbbb", "Tide", MAY) for number in range(3)]
    names = sorted(name_sessions(alike, {}).values())
    assert names == [
        "2026-05-01-tide-aaaaaaaa",
        "2026-05-01-tide-aaaaaaaa0001bbbb",
        "2026-05-01-tide-aaaaaaaa0002bbbb",
    ]


def test_a_name_of_another_session_is_not_taken() -> None:
    known = {"gone": "2026-05-01-tide-aaaaaaaa"}
    names = name_sessions([a_session("aaaaaaaa-1", "Tide", MAY)], known)
    assert names == {"aaaaaaaa-1": "2026-05-01-tide-aaaaaaaa1"}


@pytest.mark.parametrize("text", ["", "../x", "a/b", ".hidden", "a.", "a ", "A", "é", "-a", "a" * 200, "a\n"])
def test_what_is_no_name_is_not_believed(text: str) -> None:
    assert not is_name(text)
