"""`grep` finds what reading every file, cutting it at line breaks and searching each line finds; nothing else, and all of it."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.errors import StoreUnusable, UsageError
from hansard.grep.matching_lines import MatchOptions, count_lines, find_lines, whole_lines
from hansard.grep.pattern import compile_pattern
from hansard.grep.search import Grep, grep
from hansard.model.search import GrepFile, GrepLine
from hansard.model.store_requests import GrepRequest
from hansard.query.reader import Reader
from hansard.record.schema import CHUNK
from hansard.record.store import Record
from tests.record.making import LOG, NOTE, flip, keep_log, keep_more, keep_whole

FILE = GrepFile("/src/.claude", LOG, "main", 1, True, 0, "s", "")

# -- a slow search that is obviously right


def cut(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def slow(data: bytes, search: Callable[[bytes], Any]) -> list[tuple[int, int, int, int]]:
    """Number, offset, start and end of each matching line."""
    found, offset = [], 0
    for number, line in enumerate(cut(data), 1):
        if (match := search(line)) is not None:
            found.append((number, offset, *match.span()))
        offset += len(line) + 1
    return found


def slow_context(data: bytes, search: Callable[[bytes], Any], before: int, after: int) -> list[tuple[int, bool, bytes]]:
    lines = cut(data)
    hits = {number for number, line in enumerate(lines) if search(line) is not None}
    near = {number for hit in hits for number in range(max(0, hit - before), min(len(lines), hit + after + 1))}
    return [(number + 1, number in hits, lines[number]) for number in sorted(near)]


def by_text(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> Callable[[bytes], Any]:
    """A search by characters, told in bytes."""
    compiled = re.compile(pattern, flags)

    class Span:
        def __init__(self, text: str, start: int, end: int) -> None:
            self.ends = [len(text[:place].encode("utf-8", "surrogateescape")) for place in (start, end)]

        def span(self) -> tuple[int, int]:
            return self.ends[0], self.ends[1]

    def search(line: bytes) -> Span | None:
        text = line.decode("utf-8", "surrogateescape")
        match = compiled.search(text)
        return None if match is None else Span(text, *match.span())

    return search


def quick(
    pieces: list[bytes], pattern: str | bytes, wanted: MatchOptions | None = None, **options: Any
) -> list[GrepLine]:
    compiled, wanted = compile_pattern(pattern, **options), wanted or MatchOptions()

    def lines_before(offset: int) -> int:
        return b"".join(pieces)[:offset].count(b"\n")

    return [GrepLine(FILE, *row) for row in find_lines(whole_lines(pieces), compiled, wanted, lines_before)]


def spans(lines: list[GrepLine]) -> list[tuple[int, int, int | None, int | None]]:
    return [(line.line, line.offset, line.start, line.end) for line in lines]


# -- invented patterns and files


def repeated(item: str, mark: str) -> str:
    # Where what is repeated may be empty, `re` and RE2 go on differently: the lines are the same, the ends are not.
    return (
        f"(?:{item}){mark}"
        if re.compile(item).fullmatch("") is None and not set(item) & set("^$?*") and r"\b" not in item
        else item
    )


def composed(atoms: list[str]) -> st.SearchStrategy[str]:
    marks = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?", "+?", "??"])
    return st.recursive(
        st.sampled_from(atoms),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=4).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda items: f"({'|'.join(items)})"),
            st.builds(repeated, inner, marks),
        ),
        max_leaves=8,
    )


ATOMS = [
    *"abA1",
    "ab",
    r"\.",
    ".",
    "[ab]",
    "[^a]",
    r"[^\sb]",
    r"[\W1]",
    r"\w",
    r"\W",
    r"\d",
    r"\D",
    r"\s",
    r"\S",
    "^",
    "$",
]
PATTERNS = composed([*ATOMS, r"\b", r"\x00", r"\r", r"\A", r"\Z"])
LETTERS = composed(["a", "b", "é", "É", "ж", "😀", "[aé]", "[à-ü]", "[\u0431-\u044f]", "[^éb]x", "x"])
BEYOND_RE2 = composed(
    ["a", "b", "(?=a)", "(?!a)", r"(?!\s)", "(?<=b)", "(?<!a)", "[^b]", "(?=[^a])", "(?>a*)", "a*+", "."]
)


SPELLINGS = composed(
    [
        *[
            "a",
            r"\x61",
            r"\141",
            "é",
            r"\u00e9",
            r"\xe9",
            r"\351",
            r"\N{LATIN SMALL LETTER E WITH ACUTE}",
            r"\U0001f600",
        ],
        *[r"[\x61\u00e9]", r"[^\u0436\s]", r"[\Wa]", r"[\b\]]", "[]a]", r"é\b", r"\Bb", "a{,2}b", "(?i:B)", "(?a:b)"],
        *["(?-m:^a)", r"\Ab", r"b\Z", "(?#a|b)", "#a", "(?=é)", "(?<![éb])a", r"(?:x|\u0436)x?", "{,b", "{}"],
    ]
)


def files(lines: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Short lines: an unlucky pattern takes `re` a time that doubles with every byte."""
    return st.builds(
        lambda most, end: b"\n".join(most) + end, st.lists(lines, max_size=6), st.sampled_from([b"", b"\n"])
    )


BYTES = files(
    st.lists(
        st.sampled_from(
            [b"a", b"b", b"A", b"1", b" ", b".", b"\r", b"\0", b"\xff", b"\xc3", b"ab", "é".encode(), "\u2028".encode()]
        ),
        max_size=7,
    ).map(b"".join)
)
TEXTS = files(st.text("abxéÉжЖя😀à", max_size=7).map(str.encode))


@st.composite
def split(draw: st.DrawFn, data: st.SearchStrategy[bytes]) -> list[bytes]:
    """A file in pieces of any size."""
    whole = draw(data)
    borders = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    return [whole[low:high] for low, high in zip([0, *borders], [*borders, len(whole)], strict=True)]


ENGINES = pytest.mark.parametrize("re2", [True, False], ids=["re2", "re"])


@ENGINES
@given(pieces=split(BYTES), pattern=PATTERNS, fold=st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_pattern_finds_what_a_search_of_each_line_finds(
    re2: bool, pieces: list[bytes], pattern: str, fold: bool
) -> None:
    search = re.compile(pattern.encode(), re.IGNORECASE if fold else re.NOFLAG).search
    found = quick(pieces, pattern, ignore_case=fold, re2=re2)
    assert spans(found) == slow(b"".join(pieces), search)
    assert count_lines(whole_lines(pieces), compile_pattern(pattern, ignore_case=fold, re2=re2), None) == len(found)


@ENGINES
@given(pieces=split(TEXTS), pattern=LETTERS, fold=st.booleans())
@settings(max_examples=300, deadline=None)
def test_letters_beyond_ascii_are_characters_and_not_bytes(
    re2: bool, pieces: list[bytes], pattern: str, fold: bool
) -> None:
    search = by_text(pattern, re.IGNORECASE if fold else re.NOFLAG)
    assert spans(quick(pieces, pattern, ignore_case=fold, re2=re2)) == slow(b"".join(pieces), search)


@ENGINES
@given(pieces=split(TEXTS), pattern=SPELLINGS)
@settings(max_examples=300, deadline=None)
def test_every_spelling_means_what_it_means_to_re(re2: bool, pieces: list[bytes], pattern: str) -> None:
    pattern += "|Ж{2}"  # so that it is matched by characters
    assert spans(quick(pieces, pattern, re2=re2)) == slow(b"".join(pieces), by_text(pattern, re.ASCII))


@given(pieces=split(BYTES), pattern=BEYOND_RE2)
@settings(max_examples=200, deadline=None)
def test_what_re2_does_not_know_stays_within_its_line_too(pieces: list[bytes], pattern: str) -> None:
    assert spans(quick(pieces, pattern)) == slow(b"".join(pieces), re.compile(pattern.encode()).search)


@ENGINES
@given(pieces=split(BYTES), pattern=PATTERNS, before=st.integers(0, 3), after=st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_lines_around_matches_come_once_and_in_order(
    re2: bool, pieces: list[bytes], pattern: str, before: int, after: int
) -> None:
    found = quick(pieces, pattern, MatchOptions(before, after, around=None), re2=re2)
    told = [(line.line, line.start is not None, line.text) for line in found]
    assert told == slow_context(b"".join(pieces), re.compile(pattern.encode()).search, before, after)
    data = b"".join(pieces)
    for line in found:
        assert data[line.offset : line.offset + line.length] == line.text


@ENGINES
@given(pieces=split(BYTES), pattern=PATTERNS)
@settings(max_examples=150, deadline=None)
def test_each_match_by_itself(re2: bool, pieces: list[bytes], pattern: str) -> None:
    search, expected = re.compile(pattern.encode()).search, []
    for number, line in enumerate(cut(b"".join(pieces)), 1):
        position = 0
        while position <= len(line) and (match := search(line, position)) is not None:
            expected += [(number, match[0])] if match[0] else []
            position = match.end() + (not match[0])
    found = quick(pieces, pattern, MatchOptions(only_matching=True), re2=re2)
    assert [(line.line, line.text) for line in found] == expected


@pytest.mark.parametrize("pattern", [r"(a|\b|\W)*b", "(a*)*b", "((a|)b*)*A$", "(^|a)+"])
def test_both_engines_agree_on_lines_where_they_may_not_on_ends(pattern: str) -> None:
    data = [b"a b\nab\n\n A\nbaA\nxx"]
    one, other = (spans(quick(data, pattern, re2=re2)) for re2 in (True, False))
    assert [item[:3] for item in one] == [item[:3] for item in other]


# -- patterns


@pytest.mark.parametrize(
    ("pattern", "column"), [("foo[ab", 3), ("a(b", 1), ("*", 0), ("a{2,1}", 2), ("x(?P<1>y)", 5), ("a[[:digit:]]", 2)]
)
def test_a_wrong_pattern_is_pointed_at(pattern: str, column: int) -> None:
    with pytest.raises(UsageError) as caught:
        compile_pattern(pattern)
    _, line, pointer = str(caught.value).split("\n")
    assert line == f"  {pattern}"
    assert pointer.index("^") - 2 == column


@pytest.mark.parametrize("pattern", ["a\nb", r"a\nb", r"a\x0ab"])
def test_a_line_break_in_a_pattern_is_told(pattern: str) -> None:
    with pytest.raises(UsageError, match="never spans lines"):
        compile_pattern(pattern)
    with pytest.raises(UsageError, match="never spans lines"):
        compile_pattern("a\nb", fixed=True)


def test_a_monstrous_pattern_is_an_error_and_no_crash() -> None:
    with pytest.raises(UsageError):
        compile_pattern("(" * 20_000 + ")" * 20_000)


@ENGINES
@pytest.mark.parametrize(
    ("pattern", "options", "lines"),
    [
        ("a.c", {"fixed": True}, [2]),
        ("A.C", {"fixed": True, "ignore_case": True}, [2]),
        ("abc", {"word": True}, [1, 4]),
        ("-abc", {"word": True}, [4]),
        ("[a-c]+", {"word": True}, [1, 2, 4]),
        ("abc|x", {"word": True}, [1, 4]),
        ("(?i)ABC", {}, [1, 3, 4]),
        ("a(?i:BC)", {}, [1, 3, 4]),
        ("", {}, [1, 2, 3, 4, 5, 6]),
        ("^$", {}, [5]),
        (b"\xff", {}, [6]),
        (b"A|\xe3", {"ignore_case": True}, [1, 2, 3, 4]),
        ("\udcff", {}, [6]),
        (r"\udcff\udcc3", {}, [6]),
        ("é", {}, []),
        ("(?x) a b c  # with a remark\n $", {}, [1, 4]),
        ("(?i)(?x) A b # [\n C", {}, [1, 3, 4]),
        ("(?x) [ #] - a", {}, [4]),
        (r"\Aabc\Z", {}, [1]),
        (r"(?im)^ABC(?-m:$)", {}, [1]),
        (r"\x61{,2}bc", {"word": True}, [1, 4]),
        (r"(?i)B(?=CD)", {}, [3]),
        (r"[\S]c$", {}, [1, 2, 4]),
        (r"\w+-\w+|\.c", {"word": True}, []),
        (r"\.c", {}, [2]),
    ],
)
def test_ways_to_say_what_is_wanted(re2: bool, pattern: str | bytes, options: dict[str, Any], lines: list[int]) -> None:
    data = b"abc\na.c\nabcd\nx -abc\n\n\xff\xc3"
    assert [line.line for line in quick([data], pattern, re2=re2, **options)] == lines


def test_patterns_are_translated_without_the_private_parser_of_re() -> None:
    code = (
        "import sys, re; private = sys.modules.pop('re._parser'); sys.modules['re._parser'] = None\n"
        "from hansard.grep.pattern import compile_pattern; print(compile_pattern('a+b|[é]').slow_because)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_who_runs_a_pattern_and_why() -> None:
    pytest.importorskip("re2")
    assert compile_pattern("a+b").linear
    assert compile_pattern("handler", word=True).linear
    for pattern in ("a(?=b)", r"(a)\1", "(?<!a)b", "a++", "(?>a)", "(a)?(?(1)b|c)", "a{2000}"):
        compiled = compile_pattern(pattern)
        assert (compiled.linear, bool(compiled.slow_because)) == (False, True)
    assert not compile_pattern("-x", word=True).linear


def test_without_re2_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    compiled = compile_pattern("b+")
    assert (compiled.linear, compiled.slow_because) == (False, "google-re2 is not installed")
    assert spans(quick([b"a\nabb"], "b+")) == [(2, 2, 1, 3)]


# -- a record


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "record.db"


@contextmanager
def searching(place: Path) -> Iterator[Callable[..., Grep]]:
    with Record.open(str(place), readonly=True) as record:
        yield lambda pattern, **options: grep(Reader(str(place.parent)), record, GrepRequest(pattern, **options))


def other(number: int) -> str:
    return f"projects/-home-u-p/0e6f1a2b-0000-4000-8000-{number:012}.jsonl"


def test_every_log_and_small_file_is_searched_also_across_chunks(place: Path) -> None:
    border = b"x" * (CHUNK - 3) + b"needle" + b"y" * CHUNK + b"needle\nneedle"
    with Record.open(str(place)) as record:
        keep_log(record, border)
        keep_log(record, b"none\nhere\n", other(2))
        keep_whole(record, b"small\nneedle\n")
    for helpers in (1, 3):
        with searching(place) as search:
            found = search("needle", helpers=helpers)
            assert {(line.file.path, line.line, line.offset, line.start) for line in found} == {
                (LOG, 1, 0, CHUNK - 3),
                (LOG, 2, len(border) - 6, 0),
                (NOTE, 2, 6, 0),
            }
            assert (found.files, found.matched_lines, found.damaged, found.truncated) == (2, 3, 0, False)
            assert found.bytes_searched == found.total_bytes == len(border) + 10 + 13


def test_sessions_and_agents_are_told_without_an_index(place: Path) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, b"a")
        keep_whole(record, b"a")
        keep_log(record, b"a", LOG.replace(".jsonl", "/subagents/agent-abc.jsonl"))
    with searching(place) as search:
        session = "0e6f1a2b-0000-4000-8000-000000000001"
        assert {(line.file.session_id, line.file.agent_id) for line in search("a")} == {(session, ""), (session, "abc")}
        assert len(list(search("a", sessions={session}))) == 3
        assert not list(search("a", sessions={"else"}))
        assert [line.file.path for line in search("a", kinds={"tool_result"})] == [NOTE]


def test_former_states_are_searched_when_asked_for(place: Path) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, b"old words\n")
        keep_more(record, keep_log(record, b"new words\n", reason="rewritten"), b"more words")
        for content in (b"words 1", b"words 2"):
            keep_whole(record, content)
    with searching(place) as search:
        assert {line.text for line in search("words")} == {b"new words", b"more words", b"words 2"}
        found = {(line.file.generation, line.file.current, line.text) for line in search("words", all_generations=True)}
        assert found == {
            (1, False, b"old words"),
            (2, True, b"new words"),
            (2, True, b"more words"),
            (1, False, b"words 1"),
            (2, True, b"words 2"),
        }


def test_newest_first(place: Path) -> None:
    with Record.open(str(place)) as record:
        for number, moment in ((1, 2_000_000), (2, 9_000_000), (3, 5_000_000)):
            keep_whole(record, b"a", f"plans/{number}.md", mtime_ns=moment)
    with searching(place) as search:
        assert [line.file.path for line in search("a")] == ["plans/2.md", "plans/3.md", "plans/1.md"]


@pytest.fixture
def large(place: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int, int, int]]:
    """A record that counts as large, and where there is a 3 or a 7 in it."""
    monkeypatch.setattr("hansard.grep.search._SMALL", 0)
    monkeypatch.setattr("hansard.grep.pool._TASK", 50)
    monkeypatch.setattr("hansard.grep.pool._AHEAD", 1)
    contents = {other(number): b"".join(b"line %d\n" % (number * n) for n in range(number)) for number in range(40)}
    with Record.open(str(place)) as record:
        for path, content in contents.items():
            keep_log(record, content, path)
    search = re.compile(rb"[37]").search
    return [(path, *item) for path, content in sorted(contents.items()) for item in slow(content, search)]


def told(found: Grep) -> list[tuple[str, int, int, int | None, int | None]]:
    return [(line.file.path, line.line, line.offset, line.start, line.end) for line in found]


def helpers_left() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("grep-")]


@pytest.mark.parametrize("helpers", [1, 3])
@ENGINES
def test_helpers_change_nothing(place: Path, large: list[Any], helpers: int, re2: bool) -> None:
    with searching(place) as search:
        found = search("[37]", helpers=helpers, re2=re2)
        assert told(found) == large
        assert found.matched_lines == len(large)
        assert found.bytes_searched == found.total_bytes
        counts = list(search("[37]", helpers=helpers, re2=re2).counts())
        assert {item.file.path: item.matched_lines for item in counts} == Counter(item[0] for item in large)


def test_helpers_go_when_nobody_wants_more(place: Path, large: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    start = threading.Thread.start

    def note(thread: threading.Thread) -> None:
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", note)
    with searching(place) as search:
        lines = iter(search("[37]", helpers=2))
        assert next(lines).file.path == large[0][0]
        assert any(name.startswith("grep-") for name in started)  # on a busy machine they may have ended already
        lines.close()
        assert not helpers_left()


def test_an_error_in_a_helper_reaches_the_caller(place: Path, large: list[Any]) -> None:
    with searching(place) as search:
        found = search("a", helpers=2)
        found._job = found._job._replace(path=str(place.with_name("gone.db")))
        with pytest.raises(StoreUnusable, match="gone"):
            list(found)
    assert not helpers_left()


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], [sys.executable, "-c", "pass"]])
def test_where_no_helper_can_be_had_it_is_done_here(
    place: Path, large: list[Any], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr("hansard.workers.command", lambda: command)
    with searching(place) as search:
        assert told(search("[37]", helpers=2)) == large


def test_a_helper_that_dies_is_told(place: Path, large: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys; from hansard.workers import Channel; Channel(sys.stdin.buffer, sys.stdout.buffer).send(-1)"
    monkeypatch.setattr("hansard.workers.command", lambda: [sys.executable, "-c", code])
    with searching(place) as search, pytest.raises(StoreUnusable, match="ended unexpectedly"):
        list(search("[37]", helpers=2))
    assert not helpers_left()


def test_limits(place: Path) -> None:
    with Record.open(str(place)) as record:
        for number in (1, 2, 3):
            keep_log(record, b"a\nb\na a\na\n", other(number))
    with searching(place) as search:
        found = search("a", max_count=2)
        assert [(line.file.path, line.line) for line in found] == [
            (other(n), line) for n in (1, 2, 3) for line in (1, 3)
        ]
        found = search("a", limit=4)
        assert len(list(found)) == 4
        assert (found.files, found.matched_lines, found.truncated) == (2, 4, True)
        found = search("a", limit=9)
        assert (len(list(found)), found.truncated) == (9, False)
        found = search("a", only_matching=True)
        assert (len(list(found)), found.matched_lines) == (12, 9)
        assert [item.matched_lines for item in search("a").counts(any_line=True)] == [1, 1, 1]
        assert [item.matched_lines for item in search("a", max_count=2).counts()] == [2, 2, 2]
        found = search("a", limit=2)
        assert (len(list(found.counts())), found.truncated) == (2, True)
        assert not list(search("a", max_count=0))
        with pytest.raises(UsageError):
            search("a", before=-1)


def test_what_follows_the_last_line_wanted_ends_at_the_next_match() -> None:
    data = b"a1\n-\na2\n-\n-\na3\n"
    for size in (1, 2, 4, 100):
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        assert [line.line for line in quick(pieces, "a", MatchOptions(after=3, max_count=1))] == [1, 2]
        assert [line.line for line in quick(pieces, "a", MatchOptions(after=1, max_count=2))] == [1, 2, 3, 4]


def test_text_around_a_match_is_cut_between_characters() -> None:
    line = ("é" * 300 + "needle" + "ж" * 300).encode()
    for around in range(40, 44):
        found = quick([line], "needle", MatchOptions(around=around))[0]
        text = found.text.decode()
        assert text.strip("éж") == "needle"
        assert line[found.text_at : found.text_at + len(found.text)] == found.text
        assert around - 4 < 600 - found.text_at <= around
    assert len(quick([line], ".*", MatchOptions(around=40))[0].text) <= 84


def test_damage_is_left_out_and_counted(place: Path) -> None:
    data = b"".join(b"line %07d\n" % number for number in range(60_000))
    with Record.open(str(place)) as record:
        keep_log(record, data)
        keep_whole(record, b"line in a note", mtime_ns=3)
        keep_log(record, b"line 1\n", other(9))
    flip(place, "chunk", 2)
    flip(place, "content", 1)
    with searching(place) as search:
        found = search("line")
        offsets = [line.offset for line in found if line.file.path == LOG]
        assert found.damaged == 2
        assert found.files == 2
    whole = [start for start in range(0, len(data), 13) if start + 13 <= CHUNK or start >= 2 * CHUNK]
    # What the damage cut into is one line: it begins before, and ends after.
    assert set(whole) - set(offsets) == set()
    assert len(offsets) - len(whole) <= 1


def test_a_line_of_many_chunks_needs_three_times_its_size_at_most(place: Path) -> None:
    size = 24 << 20
    with Record.open(str(place)) as record:
        keep_log(record, b"a\n" + b"x" * size + b"needle" + b"x" * 100 + b"\nb")
    with searching(place) as search:
        list(search("nothing"))  # libraries are loaded, tables are made
        for options in ({}, {"ignore_case": True}, {"re2": False, "ignore_case": True}, {"around": None}):
            tracemalloc.start()
            try:
                found = list(search("needle", helpers=1, **options))
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert [(line.line, line.start) for line in found] == [(2, size)]
            assert peak < 3 * size + (4 << 20)


def test_memory_does_not_grow_with_the_matches(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hansard.grep.search._SMALL", 0)
    with Record.open(str(place)) as record:
        for number in range(8):
            keep_log(record, b"match\n" * 4_000, other(number))
    with searching(place) as search:
        next(iter(search("match", helpers=1)))
        tracemalloc.start()
        try:
            assert sum(1 for _ in search("match", helpers=2)) == 32_000
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 11 << 20
