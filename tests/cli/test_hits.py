"""What a search found, as text: every line fits, nothing in it that a terminal obeys, the hits where they are."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hansard.model.search import Facets, Hit, LineLocation, SessionHits
from hansard.render.terminal.hits import HitStyle, facet_lines, hit_lines, session_lines, snippet_lines
from hansard.render.text import Paint, width

from .test_terminal import NASTY, is_harmless

NOW = datetime(2026, 5, 2, 12, tzinfo=UTC)
SESSION = "3f2a91c0-aaaa-4aaa-8aaa-111111111111"
HIT = Hit(
    session_id=SESSION,
    project="/src/tide",
    title="High water",
    transcript=f"projects/-src-tide/{SESSION}.jsonl",
    offset=2048,
    block=0,
    uuid="u-1",
    kind="reply",
    role="assistant",
    tool=None,
    agent_id=None,
    is_error=False,
    is_current=True,
    timestamp=datetime(2026, 5, 1, 10, tzinfo=UTC),
    snippet="The tide turns at noon.",
    highlights=((4, 8),),
    before=(),
    after=(),
    score=1.0,
    others=(),
    speaker="Claude",
    is_in_thread=True,
)
PLAIN, COLOUR = Paint(enabled=False), Paint(enabled=True)
MARK = re.compile("\x1b\\[1;33m(.*?)\x1b\\[0m", re.DOTALL)


def grouped(*hits: Hit, columns: int = 80, paint: Paint = PLAIN) -> list[str]:
    session = SessionHits(SESSION, "/src/tide", "High water", NOW, HIT.timestamp, len(hits), 1.0, hits)
    return list(session_lines([session], HitStyle(columns, paint, {})))


def test_a_session_and_its_hit() -> None:
    assert grouped(HIT) == [
        "3f2a91c0  tide  High water                             2026-05-01 10:00  1 match",
        "  Claude  10:00                                  hansard show 3f2a91c0 --at 2048",
        "    The tide turns at noon.",
    ]


def test_colours_change_nothing_but_colours() -> None:
    hit = replace(HIT, before=("x",), others=(LineLocation("22222222-b", "p", 3),), agent_id="a4", is_error=True)
    coloured = "\n".join(grouped(hit, paint=COLOUR))
    assert "\x1b[1;33mtide\x1b[0m turns" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured).split("\n") == grouped(hit)


@pytest.mark.parametrize(
    ("more", "label"),
    [
        ({"kind": "prompt"}, "You"),
        ({"kind": "prompt", "agent_id": "a1"}, "Task  subagent"),
        ({"kind": "reply"}, "Claude"),
        ({"kind": "reply", "is_error": True}, "✗ Claude"),
        ({"kind": "thinking"}, "thinking"),
        ({"kind": "title"}, "title"),
        ({"kind": "command"}, "command"),
        ({"kind": "note"}, "note"),
        ({"kind": "call", "tool": "Bash"}, "→ Bash"),
        ({"kind": "result", "tool": "Bash"}, "← Bash"),
        ({"kind": "result", "tool": "Bash", "is_error": True}, "✗ Bash"),
        ({"kind": "result", "tool": None}, "← result"),
        ({"kind": "call", "tool": "mcp__harbour__moor", "agent_id": "a1"}, "→ harbour: moor  subagent"),
    ],
)
def test_labels(more: dict[str, object], label: str) -> None:
    line = grouped(replace(HIT, **more))[1]
    assert line.startswith(f"  {label}  10:00  ")


@pytest.mark.parametrize(
    ("more", "command"),
    [
        ({}, "hansard show 3f2a91c0 --at 2048"),
        ({"is_in_thread": False}, "hansard show 3f2a91c0"),
        ({"agent_id": "a1"}, "hansard show 3f2a91c0 --agent a1 --at 2048"),
        ({"agent_id": "a497335b28b4899ad"}, "hansard show 3f2a91c0 --agent a497335b --at 2048"),
        ({"agent_id": "acompact-1", "is_in_thread": False}, "hansard show 3f2a91c0 --agent acompact-1"),
        ({"session_id": "a;rm b"}, "hansard show 'a;rm b' --at 2048"),
        ({"agent_id": "$(x)"}, "hansard show 3f2a91c0 --agent '$(x)' --at 2048"),
    ],
)
def test_the_command_that_opens_the_place(more: dict[str, object], command: str) -> None:
    assert grouped(replace(HIT, **more))[1].endswith(f"  {command}")


def test_without_a_session_there_is_nothing_to_open() -> None:
    assert grouped(replace(HIT, session_id=""))[1] == "  Claude  10:00"
    assert grouped(replace(HIT, project="", title=""))[1] == "  Claude  10:00"
    nowhere = SessionHits("", "", "", None, None, 1, 1.0, (HIT,))
    header, *_ = session_lines([nowhere], HitStyle(60, PLAIN, {}))
    assert header == "-  -  (of no session)              2026-05-01 10:00  1 match"


def test_a_command_that_does_not_fit_stands_below() -> None:
    hit = replace(HIT, agent_id="a-long-name-of-an-agent", transcript="p/agent-a-long-name-of-an-agent.jsonl")
    assert grouped(hit, columns=60)[1:] == [
        "  Claude  subagent  10:00",
        "    The tide turns at noon.",
        "    hansard show 3f2a91c0 --agent a-long-name-of-an-agent",
        "    --at 2048",
    ]


def test_the_day_is_said_where_it_is_another_one() -> None:
    old = replace(HIT, timestamp=datetime(2025, 3, 4, 5, 6, tzinfo=UTC))
    assert grouped(old)[1].startswith("  Claude  2025-03-04 05:06  ")
    assert grouped(replace(HIT, timestamp=None))[1].startswith("  Claude    ")


def test_other_places() -> None:
    places = [LineLocation(SESSION.replace("3f2a91c0", f"{number}" * 8), "p", 1) for number in range(4)]
    assert grouped(replace(HIT, others=tuple(places[:1])))[-1] == "    also in 1 fork: 00000000"
    line = grouped(replace(HIT, others=(*places, LineLocation(SESSION, "p", 1))))[-1]
    assert line == "    also in 4 forks: 00000000, 11111111, 22222222, …, and elsewhere in this session"[:79] + "…"
    assert grouped(replace(HIT, others=(LineLocation(SESSION, "p", 1),)))[-1] == "    also elsewhere in this session"


def test_context_stands_around_the_snippet() -> None:
    lines = grouped(replace(HIT, before=("  one", ""), after=("\tthree " + "x" * 90,)))
    assert lines[2:5] == ["    │   one", "    │", "    The tide turns at noon."]
    assert lines[5] == "    │     three " + "x" * 63 + "…"


def test_hits_in_a_row_name_their_session_when_it_changes() -> None:
    other = replace(HIT, session_id="22222222-b", title="")
    lines = list(hit_lines([HIT, HIT, other], HitStyle(80, PLAIN, {})))
    assert [line for line in lines if not line.startswith(" ")] == [
        "3f2a91c0  tide  High water",
        "",
        "22222222-b  tide  (untitled)",
    ]
    assert lines[1].startswith("  Claude  2026-05-01 10:00  ")


# -- snippets


def shown(snippet: str, *spans: tuple[int, int], columns: int = 40, most: int = 2, paint: Paint = PLAIN) -> list[str]:
    return snippet_lines(replace(HIT, snippet=snippet, highlights=spans), columns, most, paint)


def marked(*args: object, **more: object) -> list[str]:
    return MARK.findall(" ".join(shown(*args, paint=COLOUR, **more)))  # type: ignore[arg-type]


def test_what_does_not_fit_is_cut_with_an_ellipsis() -> None:
    assert shown("word " * 30) == ["word word word word word word word word", "word word word word word word word …"]
    assert shown("word " * 7 + "a-rather-long-word")[1] == "a-rather-long-word"
    assert shown("x" * 200, columns=10) == ["x" * 10, "x" * 9 + "…"]
    assert shown("雨雲" * 30, columns=11) == ["雨雲雨雲雨", "雲雨雲雨雲…"]
    assert shown("") == []


def test_a_word_wider_than_the_line_begins_where_there_is_room() -> None:
    assert shown("… " + "x" * 50)[0] == "… " + "x" * 38


def test_the_cut_leaves_the_hits_to_be_seen() -> None:
    text = "… one " + "long way " * 15 + "two and one"
    spans = ((2, 5), (text.index("two"), text.index("two") + 3), (len(text) - 3, len(text)))
    assert marked(text, *spans) == ["two", "one"]
    assert shown(text, *spans)[0].startswith("… ")


def test_text_without_spaces_is_cut_too() -> None:
    text = "漢字" * 40 + "梅雨" + "仮名" * 40
    assert marked(text, (80, 82)) == ["梅雨"]


def test_a_hit_over_two_lines_is_marked_on_both() -> None:
    assert marked("aaaa bbbb cccc dddd", (5, 14), columns=10) == ["bbbb", "cccc"]


def test_spaces_are_made_single_and_the_hits_move_along() -> None:
    assert shown("  a \u00a0 b\tc  … ", (6, 7), paint=COLOUR) == ["a \x1b[1;33mb\x1b[0m c …"]


def test_a_snippet_that_must_be_cleaned_loses_its_marks() -> None:
    assert shown("a \x1b[31mtide\x1b[0m", (7, 11), paint=COLOUR) == ["a tide"]


SPANS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)).map(sorted).map(tuple), max_size=5).map(sorted)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=300) | NASTY, SPANS, st.integers(4, 90))
def test_snippets_fit_and_are_harmless(snippet: str, spans: list[tuple[int, int]], columns: int) -> None:
    lines = shown(snippet, *spans, columns=columns, most=3)
    assert len(lines) <= 3
    assert all(width(line) <= columns for line in lines)
    assert all(is_harmless(character) and character not in "\n\t" for line in lines for character in line)
    coloured = shown(snippet, *spans, columns=columns, most=3, paint=COLOUR)
    assert [re.sub("\x1b\\[(?:1;33|0)m", "", line) for line in coloured] == lines


@given(st.lists(st.text("ab雨é.", min_size=1, max_size=12), min_size=1, max_size=12), st.data())
def test_marks_are_what_was_found(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    found = "".join(marked(text, (start, end), columns=200))
    assert found.replace(" ", "") == text[start:end].replace(" ", "")


HITS = st.builds(
    replace,
    st.just(HIT),
    session_id=NASTY,
    project=NASTY,
    title=NASTY,
    kind=st.sampled_from(["prompt", "call", "result", "title", "note"]) | NASTY,
    tool=st.none() | NASTY,
    agent_id=st.none() | NASTY,
    is_error=st.booleans(),
    timestamp=st.none() | st.datetimes(timezones=st.just(UTC)),
    snippet=NASTY,
    before=st.lists(NASTY, max_size=2).map(tuple),
    after=st.lists(NASTY, max_size=2).map(tuple),
    others=st.lists(st.builds(LineLocation, NASTY, NASTY, st.integers(0, 9)), max_size=5).map(tuple),
)


@given(st.lists(HITS, max_size=3), st.integers(40, 200))
def test_no_line_is_too_long_and_none_is_obeyed(hits: list[Hit], columns: int) -> None:
    look = HitStyle(columns, PLAIN, {})
    lines = list(hit_lines(hits, look))
    for hit in hits:
        session = SessionHits(hit.session_id, hit.project, hit.title, None, hit.timestamp, 1234, 1.0, (hit,))
        lines += session_lines([session], look)
    assert all(width(line) <= min(columns, 120) for line in lines)
    assert all(is_harmless(character) and character not in "\n\t" for line in lines for character in line)


# -- facets

FACETS = Facets(
    project=(
        ("/src/tide", 12),
        ("/src/雨雲", 6),
        ("/src/sail", 3),
        ("/old/sail", 1),
        *((f"/p/{n}", 1) for n in range(6)),
    ),
    tool=(("mcp__harbour__moor", 1000),),
    kind=(),
    month=(("2026-05", 4), ("2026-04", 8)),
    counted=1012,
    truncated=False,
)


def test_facets() -> None:
    assert list(facet_lines(FACETS, HitStyle(80, PLAIN, {}))) == [
        "Projects  and 2 more",
        "  tide              12  ████████████████████████",
        "  雨雲               6  ████████████",
        "  /src/sail          3  ██████",
        "  /old/sail          1  ██",
        "  0                  1  ██",
        "  1                  1  ██",
        "  2                  1  ██",
        "  3                  1  ██",
        "",
        "Tools",
        "  harbour: moor  1,000  ████████████████████████",
        "",
        "Months",
        "  2026-05            4  ████████████",
        "  2026-04            8  ████████████████████████",
    ]


COUNTS = st.lists(st.tuples(NASTY, st.integers(1, 10**9)), max_size=10).map(tuple)


@given(COUNTS, COUNTS, st.integers(40, 200))
def test_facets_fit_and_are_harmless(
    projects: tuple[tuple[str, int], ...], tools: tuple[tuple[str, int], ...], columns: int
) -> None:
    lines = list(facet_lines(Facets(projects, tools, (), (), 1, truncated=False), HitStyle(columns, PLAIN, {})))
    assert all(width(line) <= columns for line in lines)
    assert all(is_harmless(character) and character not in "\n\t" for line in lines for character in line)
