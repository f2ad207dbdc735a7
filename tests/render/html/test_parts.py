from __future__ import annotations

import base64
import re
import struct
import zlib
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.model.display import Checklist, Code, Console, Diff, Facts, Part, Picture, Plain, Prose
from hansard.render.html.escaping import escaped, linked, one_line, visible
from hansard.render.html.parts import part_html, parts_html
from hansard.render.html.prose import FIRST, LONG, LONG_TEXT
from tests.render.html.reading import read
from tests.render.payloads import PAYLOADS

WORDS = st.text() | st.sampled_from(PAYLOADS)
PARTS: st.SearchStrategy[Part] = st.one_of(
    WORDS.map(Prose),
    WORDS.map(Plain),
    WORDS.map(Console),
    st.builds(Code, WORDS, st.sampled_from(["", "python", "html", "nonsense"]), WORDS, st.integers(0, 10)),
    st.builds(Diff, WORDS, WORDS),
    st.builds(Facts, st.lists(st.tuples(WORDS, WORDS), max_size=3).map(tuple)),
    st.builds(Checklist, st.lists(st.tuples(WORDS, WORDS), max_size=3).map(tuple)),
    st.builds(Picture, st.sampled_from(["image/png", "image/svg+xml", "text/html"]) | WORDS, WORDS),
)


@given(st.lists(PARTS, max_size=4))
def test_any_parts_are_safe(parts: list[Part]) -> None:
    assert "img" not in read(parts_html(parts)).tags


@given(WORDS)
def test_text_comes_out_encodable_and_readable(text: str) -> None:
    for made in (escaped(text), linked(text), one_line(text)):
        made.encode()
        read(f"<p>{made}</p>")
    assert read(f'<p title="{escaped(text)}">x</p>').text == "x"


def test_controls_are_seen_and_turned_text_is_named() -> None:
    assert visible("a\x00b\x1b[0m\x7f\r\nc\td") == "a␀b␛[0m␡\nc\td"
    assert visible("x\u202eexe.gpj\u2066") == "x⟨U+202E⟩exe.gpj⟨U+2066⟩"
    assert visible("a\U000e0041") == "a⟨U+E0041⟩"
    scotland = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    assert visible(f"{scotland}\U000e0041") == f"{scotland}⟨U+E0041⟩"
    assert "if ⟨U+202E⟩ }<" in part_html(Console("if \u202e }"))
    assert ">⟨U+2066⟩x<" in part_html(Console("\x1b[31m\u2066x\x1b[0m"))
    assert visible("\u200e雨\u200f \ud800 \x85") == "雨 \ufffd \n"
    assert visible("été 雨 👨‍👩‍👧") == "été 雨 👨‍👩‍👧"


@pytest.mark.parametrize("lines", [1, LONG, LONG + 1, 500])
@pytest.mark.parametrize("make", [Plain, Code, Console, Diff])
def test_long_texts_show_their_beginning_and_hold_the_rest_once(
    make: type[Plain | Code | Console | Diff], lines: int
) -> None:
    text = "\n".join(f"+line {number}" for number in range(lines))
    html = part_html(make(text))
    assert html.count("+line 0<") + html.count("+line 0\n") == 1
    assert html.count(f"+line {lines - 1}<") == 1
    if lines > LONG:
        assert f"<summary>{lines - FIRST:,} more lines</summary>" in html
        assert html.index(f"+line {FIRST - 1}") < html.index("<summary>") < html.index(f"+line {FIRST}")
    else:
        assert "<summary>" not in html
    read(html)


def test_one_endless_line_is_cut_too() -> None:
    html = part_html(Console("x" * 50_000))
    assert "more characters</summary>" in html
    assert html.count("x") - html.count("ext") >= 50_000
    assert len(html.partition("<summary>")[0]) < LONG_TEXT


def test_colours_go_on_behind_the_cut() -> None:
    html = part_html(Code('"""' + "doc\n" * 100 + '"""', "python", first_line=1))
    head, _, rest = html.partition("<details")
    assert head.count('<span class="c">') == rest.count('<span class="c">') == 1
    assert f"\n{FIRST}</pre>" in head
    assert f'aria-hidden="true">{FIRST + 1}\n' in rest


def test_a_diff_says_which_lines_are_which() -> None:
    html = part_html(Diff("@@ -1,2 +1,2 @@\n same\n-old\n-older\n+new\n\\ No newline"))
    assert '<span class="hunk">@@ -1,2 +1,2 @@\n</span>' in html
    assert '<span class="cut">-old\n-older\n</span>' in html
    assert '<span class="add">+new\n</span>' in html


def test_a_diff_has_the_numbers_of_both_files_colours_and_the_words_that_differ() -> None:
    html = part_html(
        Diff(
            "@@ -9,3 +9,3 @@\n def f(x):\n-    return x + 1\n+    return x + 20\n # end\n@@ -30 +30,2 @@\n a\n+<b>",
            "/s/a.py",
        )
    )
    numbers = html.partition('aria-hidden="true">\n')[2].partition("</pre>")[0].split("\n")
    assert numbers == ["     ", " 9  9", "10   ", "   10", "11 11", "     ", "30 30", "   31"]
    assert '<span class="k">def </span><span class="f">f</span>' in html
    assert re.search(r'<del>(<span class="m">)?1<', html)
    assert re.search(r'<ins>(<span class="m">)?20<', html)
    assert "&lt;b&gt;" in html
    assert "<del>" not in part_html(Diff("@@ -1 +1 @@\n-all of this\n+something quite other"))
    assert "numbered" not in part_html(Diff("+no header\n-at all"))


@given(st.text("ab+-@ \n<&", max_size=60))
def test_no_character_of_a_diff_is_lost(text: str) -> None:
    html = part_html(Diff(f"@@ -1 +1 @@\n{text}", "x.py"))
    shown = html.rpartition('<pre class="diff')[2].partition(">\n")[2]
    assert unescape(re.sub(r"<[^>]+>", "", shown)) == f"@@ -1 +1 @@\n{text}"


def test_states_are_said_in_words_too() -> None:
    found = read(part_html(Checklist((("completed", "a"), ("in_progress", "b"), ("<odd>", "c")))))
    assert found.text == "completed: ain progress: b<odd>: c"
    assert {"completed", "in_progress", "pending"} <= found.classes


def png(wide: int, high: int) -> bytes:
    head = struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))


JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(9) + b"\xff\xc0\x00\x11\x08\x00\x30\x00\x40" + bytes(20)
GIF = b"GIF89a" + struct.pack("<HH", 64, 48) + bytes(10)
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + (63).to_bytes(3, "little") + (47).to_bytes(3, "little") + bytes(6)


@pytest.mark.parametrize(
    ("kind", "data"),
    [("image/png", png(64, 48)), ("image/jpeg", JPEG), ("image/jpg", JPEG), ("image/gif", GIF), ("IMAGE/WEBP", WEBP)],
)
def test_images_are_inside_the_page_with_their_room(kind: str, data: bytes) -> None:
    html = part_html(Picture(kind, base64.b64encode(data).decode()))
    assert read(html).tags == {"img": 1}
    assert 'width="64" height="48"' in html


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("image/svg+xml", base64.b64encode(b"<svg onload=alert(1)>").decode()),
        ("image/png", base64.b64encode(b"<svg onload=alert(1)>").decode()),
        ("image/png", 'x" onerror="alert(1)'),
        ("image/png", ""),
        ("image/png", "AAA"),
        ("application/pdf", base64.b64encode(b"%PDF-1.7").decode()),
        ('image/png" onerror="alert(1)', base64.b64encode(png(1, 1)).decode()),
    ],
)
def test_anything_else_is_named(kind: str, data: str) -> None:
    found = read(part_html(Picture(kind, data)))
    assert set(found.tags) == {"p"}
    assert found.text.startswith("Not shown: ")
