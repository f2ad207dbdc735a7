"""What is drawn for a terminal: nothing in it that a terminal obeys but our own colours, no line too wide, nothing lost."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hansard.model.display import CallFacts, Checklist, Code, Console, Diff, Facts, Item, Part, Picture, Plain, Prose
from hansard.render.depth import DEPTHS
from hansard.render.terminal import prose
from hansard.render.terminal.drawing import Drawing
from hansard.render.terminal.parts import Board, console_lines
from hansard.render.terminal.spans import Span, code_lines, lay
from hansard.render.text import clean, short_id, width

from .making import agent, item, thread, turn

COLOUR = re.compile("\x1b\\[([0-9;]+)m")
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
PIECES = st.sampled_from(
    ["\x1b[31m", "\x1b[8m", "\x1b[5;1m", "\x1b[38;5;200m", "\x1b[48;2;1;2;3m", "\x1b[0m", "\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;http://a\x1b\\",
     "\x9b31m", "\x90q\x9c", "\x1b", "\r", "\r\n", "\n", "\n\n", "\t", "\x00", "\x07", "\x08", "\u202e", "\u2028", "\ud800", "雨雲", "e\u0301", "⚠\ufe0f", "👨‍👩‍👧",
     "```", "```python\n", "~~~", "# ", "- ", "1. ", "> ", "|a|b|\n|-|-|\n", "| ", "**", "*", "_", "`", "[x](y)", "<b>", "@@", "+", "-", "word ", "x" * 130]
)  # fmt: skip
HOSTILE = st.one_of(st.lists(PIECES, max_size=20).map("".join), st.text(st.characters(), max_size=40))
STATES = st.sampled_from(["pending", "in_progress", "completed", "deleted", "chosen", "open", "\x1b[2J"])
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Prose, HOSTILE),
    st.builds(Plain, HOSTILE),
    st.builds(Code, HOSTILE, st.sampled_from(["", "python", "bash", "\x1b[2J"]), HOSTILE, st.sampled_from([0, 1, 998])),
    st.builds(Diff, HOSTILE, HOSTILE),
    st.builds(Console, HOSTILE),
    st.builds(Facts, st.lists(st.tuples(HOSTILE, HOSTILE), max_size=3).map(tuple)),
    st.builds(Checklist, st.lists(st.tuples(STATES, HOSTILE), max_size=3).map(tuple)),
    st.builds(Picture, HOSTILE, HOSTILE),
)
KINDS = st.sampled_from(
    "prompt reply thinking tool command bash output compaction summary error note interruption".split()
)


@st.composite
def items(draw: st.DrawFn) -> Item:
    made = item(
        draw(KINDS),
        *draw(st.lists(PARTS, max_size=2)),
        title=draw(st.one_of(HOSTILE, st.sampled_from(["Read", "TaskUpdate", "ExitPlanMode"]))),
        subject=draw(HOSTILE),
        facts=CallFacts(draw(st.sampled_from((None, (3, 1)))), draw(st.sampled_from((None, 7, 90_000)))),
        results=tuple(draw(st.lists(PARTS, max_size=2))),
        is_error=draw(st.booleans()),
        model=draw(st.one_of(st.none(), HOSTILE)),
        queued=draw(st.booleans()),
        forks=draw(st.sampled_from([(), (1, 2)])),
        branch=draw(st.sampled_from([0, 0, 0, 1])),
    )
    if draw(st.integers(0, 5)):
        return made
    inner = thread(turn(item("prompt", draw(HOSTILE)), item("tool", results=(draw(PARTS),))), name=draw(HOSTILE))
    return replace(made, kind="tool", thread=inner)


def drawn(shown: list[Item], depth: str, columns: int, *, colours: bool) -> list[str]:
    drawing = Drawing(Board(columns, colours), DEPTHS[depth], "hansard show 11111111", "Claude")
    return [*drawing.turn(turn(*shown)), *drawing.left_out({"system/\x1b[2J": 3})]


def is_harmless(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") and character not in BIDI


def check(lines: list[str], columns: int, *, colours: bool) -> None:
    for line in lines:
        bare = COLOUR.sub("", line) if colours else line
        assert all(map(is_harmless, bare)), line
        assert width(bare) <= columns, (line, width(bare))
        codes = COLOUR.findall(line)
        assert codes[1::2] == ["0"] * (len(codes) // 2)
        assert len(codes) % 2 == 0  # what is opened is closed on its line
        assert not any({"5", "6", "8"} & set(plain_codes(found)) for found in codes)


def plain_codes(found: str) -> Iterator[str]:
    numbers = iter(found.split(";"))
    for number in numbers:
        if number in ("38", "48"):
            for _ in range(1 if next(numbers) == "5" else 3):
                next(numbers)
        else:
            yield number


@given(
    st.lists(items(), min_size=1, max_size=3),
    st.sampled_from(sorted(DEPTHS)),
    st.sampled_from([60, 80, 110, 200]),
    st.booleans(),
)
@settings(max_examples=300)
def test_no_control_sequence_of_a_transcript_gets_out_and_no_line_is_too_wide(
    shown: list[Item], depth: str, columns: int, colours: bool
) -> None:
    check(drawn(shown, depth, columns, colours=colours), columns, colours=colours)


@given(st.lists(items(), min_size=1, max_size=2), st.sampled_from(sorted(DEPTHS)))
def test_structure_is_the_same_without_colours(shown: list[Item], depth: str) -> None:
    texts = [part for entry in shown for part in (*entry.parts, *entry.results)]
    if any(isinstance(part, Prose) for part in texts) or any(
        entry.kind in ("reply", "prompt") or entry.thread for entry in shown
    ):
        return  # there marks stand for the colours
    lines = [COLOUR.sub("", line).rstrip() for line in drawn(shown, depth, 80, colours=True)]
    assert lines == drawn(shown, depth, 80, colours=False)


SPANS = st.lists(st.tuples(st.sampled_from(["", "1", "31", "2;36"]), HOSTILE.map(clean)), max_size=6)


@given(SPANS, st.integers(10, 60), st.sampled_from(["", "2"]))
def test_colours_change_no_text(spans: list[Span], columns: int, base: str) -> None:
    plain = lay(spans, columns, colours=False)
    assert [COLOUR.sub("", line) for line in lay(spans, columns, colours=True, base=base)] == plain


def test_each_character_keeps_its_colour() -> None:
    assert lay([("", "one "), ("31", "two three"), ("", " four")], 8, colours=True) == [
        "one \x1b[31mtwo\x1b[0m",
        "\x1b[31mthree\x1b[0m",
        "four",
    ]


# -- colours of programs


def test_a_program_s_colours_are_kept_and_nothing_else() -> None:
    lines = list(console_lines("\x1b[1;31mFAIL\x1b[0m a\x1b[2K\x1b]0;x\x07\n\x1b[38;5;200mb\nc\x1b[m d\x1b[?25l"))
    assert [[span for span in line if span[1]] for line in lines] == [
        [("1;31", "FAIL"), ("", " a")],
        [("38;5;200", "b")],
        [("38;5;200", "c"), ("", " d")],
    ]


@pytest.mark.parametrize(
    ("sequence", "style"),
    [("8", ""), ("5", ""), ("30;40", ""), ("97;107", ""), ("31;41", ""), ("37;41", "37;41"), ("1;22", ""), ("38;5", ""), ("38;2;1;2", ""),
     ("38;5;999", ""), ("", ""), ("7", "7"), ("31;39", ""), ("48;2;1;2;3", "48;2;1;2;3"), ("38:5:3", "38;5;3"), ("38;5;4;48;5;4", "")],
)  # fmt: skip
def test_what_hides_text_is_left_out(sequence: str, style: str) -> None:
    spans = [span for line in console_lines(f"\x1b[{sequence}mx") for span in line if span[1]]
    assert spans == [(style, "x")]


# -- Markdown


def shown(text: str, columns: int = 40, *, colours: bool = False) -> list[str]:
    return prose.draw(text, columns, colours=colours)


def test_markdown_without_colours_keeps_its_marks() -> None:
    text = "## Tides\n\nHigh at **noon**, `tide()` says.\n\n* one\n  * two\n\n```python\nx = 1\n```\n\n> said\n\n---"
    assert shown(text) == [
        *(
            "## Tides",
            "",
            "High at **noon**, `tide()` says.",
            "",
            "- one",
            "  - two",
            "",
            "    x = 1",
            "",
            "│ said",
            "",
        ),
        "─" * 40,
    ]


def test_markdown_with_colours() -> None:
    assert shown("## Tides ##", colours=True) == ["\x1b[1mTides\x1b[0m"]
    assert shown("a **b `c`** _d_ ~~e~~ snake_case_name 2*3*4", 25, colours=True) == [
        "a \x1b[1mb\x1b[0m \x1b[1;36mc\x1b[0m \x1b[3md\x1b[0m \x1b[9me\x1b[0m snake_case_name",
        "2*3*4",
    ]
    assert shown("[tides](https://a.example)", colours=True) == ["tides \x1b[2m(https://a.example)\x1b[0m"]
    assert shown("```python\nif x:\n```", colours=True) == ["    \x1b[35mif\x1b[0m x:"]


def test_list_items_hang() -> None:
    assert shown("10. " + "word " * 10, 24) == ["10. word word word word", "    word word word word", "    word word"]


def test_tables() -> None:
    table = "| a | long one |\n|---|:-:|\n| 1 | two words |\n| x\\|y |"
    assert shown(table, 30) == ["a    long one", "───  ─────────", "1    two words", "x|y"]
    assert shown(table, 14) == ["- 1", "  long one:", "  two words", "- x|y"]


def test_fences_that_do_not_end_and_quotes_in_quotes() -> None:
    assert shown("```\nopen\n# no heading") == ["    open", "    # no heading"]
    assert shown("> a\n> > b\n> ```\n> c\n> ```\nd") == ["│ a", "│ │ b", "│     c", "d"]
    assert shown(">" * 50)[0].startswith("│ │ │ │ >")


@given(
    st.lists(st.sampled_from(["word", "**", "*", "`", " ", "\n", "- ", "> ", "# ", "_", "1. ", "~~"]), max_size=30).map(
        "".join
    )
)
@example("`` word ` word ``")
def test_no_word_is_lost(text: str) -> None:
    assume(not re.search(r"^[ >]*~~~", text, re.MULTILINE))  # a language may stand there
    for colours in (False, True):
        lines = [COLOUR.sub("", line) for line in shown(text, 200, colours=colours)]
        assert sum(line.count("word") for line in lines) == text.count("word")


def test_an_unknown_language_is_no_language() -> None:
    assert code_lines("a\nb", "no-such-language") == [[("", "a")], [("", "b")]]
    assert code_lines("x" * 9000, "python") == [[("", "x" * 9000)]]
    assert code_lines("", "python") == [[]]


# -- what is shown at which depth


def sample() -> list[Item]:
    call = item(
        "tool", Code("make tides", "bash"), title="Bash", subject="make tides", facts=CallFacts(duration_ms=1200)
    )
    return [
        item("prompt", "When is high tide?", who="user"),
        item("thinking", Prose("Look it up.")),
        replace(call, results=(Console("\n".join(f"line {number}" for number in range(1, 7))),)),
        item("tool", title="Read", subject="tides.py", results=(Code("a\nb", "python", "tides.py", 1),), facts=CallFacts(duration_ms=3)),
        item("tool", Checklist((("completed", "look"), ("in_progress", "tell"))), title="TodoWrite", subject="1 of 2 done"),
        item("tool", Plain("Look."), title="Agent", subject="Explore", thread=thread(turn(item("prompt", "Look."), item("reply", Prose("Seven."))))),
        item("reply", Prose("At noon.")),
    ]  # fmt: skip


def body(depth: str) -> list[str]:
    return drawn(sample(), depth, 60, colours=False)[2:]


def test_prompts_only() -> None:
    assert body("prompts") == [
        *("", "You", "  When is high tide?", ""),
        "Not shown: 4 tool calls, 1 thought, 1 reply, 3 internal",
        "records (3 system/).",
    ]


def test_replies() -> None:
    assert body("replies")[:7] == ["", "You", "  When is high tide?", "", "Claude", "  At noon.", ""]


def test_tools() -> None:
    assert body("tools") == [
        *("", "You", "  When is high tide?", "", "Claude"),
        *("  • Bash make tides  1.2 s", "    └ line 1", "      line 2", "      line 3", "      … 3 more lines"),
        "  • Read tides.py  2 lines",
        *("  • TodoWrite 1 of 2 done", "    ✓ look", "    ▶ tell"),
        *("  • Agent Explore", "    subagent (2 messages, 1 tool call): hansard show"),
        *("    11111111 --agent a497335b", "", "  At noon.", ""),
        "Not shown: 1 thought, 3 internal records (3 system/).",
    ]


def test_all() -> None:
    lines = body("all")
    assert "  [thinking] Look it up." in lines
    assert "      line 6" in lines
    assert "    └ 1  a" in lines
    start = lines.index("    │ ── subagent Explore: look for gulls  a497335b28b48… ──")
    lines[start + 2] = re.sub(r"\d\d:\d\d", "12:00", lines[start + 2])  # whatever the zone
    assert lines[start + 1 : start + 9] == [
        *("    │", "    │ Task  12:00", "    │   Look.", "    │", "    │ Agent", "    │   Seven.", "    │"),
        "    │ Not shown: 2 internal records (2",
    ]


def test_the_line_of_a_turn_tells_when_how_long_and_how_much() -> None:
    drawing = Drawing(Board(70, colours=False), DEPTHS["tools"], "hansard show 1", "Claude")
    line = drawing.header(turn(item(), number=7))
    assert re.fullmatch(r"── Turn 7 · 2026-05-0\d \d\d:\d\d · 1 min · 41.1k in, 200 out · \$0.42 ─+", line)
    assert re.fullmatch(
        r"── Turn 8 · \d\d:\d\d · 1 min · 41.1k in, 200 out · \? ─+", drawing.header(turn(number=8, cost=None))
    )
    assert width(line) == 70


def test_a_fork_says_what_to_type() -> None:
    drawing = Drawing(Board(90, colours=False), DEPTHS["tools"], "hansard show 1", "Claude")
    lines = [*drawing.turn(turn(item("prompt", "first try", branch=1)))]
    assert lines == []
    lines = [*drawing.turn(turn(item("prompt", "second try", forks=(1,))))]
    assert lines[3].startswith("── replaced here: hansard show 1 --branch 1 (first try) ──")
    assert [*drawing.left_out({})] == ["", "Not shown: 1 entry on other branches."]


def test_tasks_are_named_again() -> None:
    made = item(
        "tool",
        title="TaskCreate",
        subject="Count gulls",
        results=(Console("Task #3 created successfully: Count gulls"),),
    )
    changed = item("tool", title="TaskUpdate", subject="#3 completed", results=(Console("Updated task #3 status"),))
    lines = drawn([made, changed], "tools", 60, colours=False)
    assert "  • TaskCreate #3 Count gulls" in lines
    assert "  • TaskUpdate #3 completed: Count gulls" in lines


def test_deep_nests_stay_readable() -> None:
    inner = thread(turn(item("reply", Prose("word " * 40))))
    for _ in range(12):
        inner = thread(turn(item("tool", title="Agent", thread=inner)))
    lines = drawn([item("tool", title="Agent", thread=inner)], "all", 60, colours=False)
    check(lines, 60, colours=False)
    assert "word word word word" in "\n".join(lines)
    assert agent().agent_id[:8] in "\n".join(lines)


def test_short_ids_tell_sessions_apart() -> None:
    assert short_id("3f2a91c0-aaaa-4aaa-8aaa-111111111111") == "3f2a91c0"
    assert short_id("019d4719-4228-7893-be08-b264860b51aa") == "019d4719-4228"  # begins with the time
    assert short_id("ses_1278e1f37ffeXgRqSYXAb2dCBI") == "ses_1278e1f37ffe"
    assert short_id("") == ""
