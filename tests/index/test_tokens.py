"""What a word is: the index and whoever reads it must cut texts alike, in every script."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.texts import TextFold
from hansard.clients.lines import ParsedLine
from hansard.index.tokens import fold, searchable, tokens
from hansard.index.tokens import words as indexed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseLine parse_line parse-line", "parse line parse line parse line"),
        ("HTTPServer2 XMLHttpRequest getURLs IDs", "http server 2 xml http request get urls ids"),
        (
            "utf8Decode sha256 100ms 5GB 3D H1 v2 k8s i18n x86",
            "utf 8 decode sha 256 100 ms 5 gb 3 d h1 v2 k8s i18n x86",
        ),
        ("deadbeef12ab34 0x1F 1e5 2026-11-15T10:30", "deadbeef12ab34 0x1f 1e5 2026 11 15t10 30"),
        ("src/app/main.py:42 foo.bar() --no-verify @user", "src app main py 42 foo bar no verify user"),
        ("C++ c++ i++ C# F# a#b C#x", "c plusplus c plusplus i plusplus c sharp f sharp a b c x"),
        ("数据库abc日本", "数 据 库 abc 日 本"),
        ("テスト 한국어 สวัสดี", "テ ス ト 한 국 어 ส ว ส ด"),
        ("Café naïve ÅNGSTRÖM e\u0301te\u0301", "cafe naive angstrom ete"),
        ("Ёлка Ελλάδα Σίσυφος µm", "елка ελλαδα σισυφοσ μm"),
        ("done🎉✓ok", "done \U000ff389 \U000f2713 ok"),
        ("", ""),
        ("!?… —→│", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert indexed(text) == expected.split()
    assert [token.text for token in tokens(text)] == expected.split()


letters = st.sampled_from(list("aZé0 9_-./#+CFß数据テ한ก🎉✓→│ΆσёЙ\u0301\n\x00'\"😀A"))


@settings(max_examples=2000)
@given(text=st.text(letters, max_size=40) | st.text(st.characters(max_codepoint=0x17E), max_size=40))
def test_both_cut_alike_and_say_where(text: str) -> None:
    found = tokens(text)
    assert [token.text for token in found] == indexed(text)
    position = 0
    for token in found:
        assert position <= token.start < token.end <= len(text)
        position = token.end
        if token.text not in ("plusplus", "sharp"):
            assert fold(text[token.start : token.end]) == token.text


def test_long_texts_without_a_border_take_no_longer() -> None:
    long = "a1" * 500_000
    assert len(indexed(long)) == 1
    assert indexed("ab12" * 3) == ["ab12ab12ab12"]


@pytest.mark.parametrize("unit", ["parseLine2 C# x++ 100ms ", "語文 😀 ", "aA0Aa\n", "ΐ", "word"])
def test_a_long_text_is_prepared_piece_by_piece(monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    from hansard.index import tokens as module

    text = unit * 400
    whole = searchable(text)
    sizes: list[int] = []
    prepare = module._prepared

    def noting(piece: str) -> bytes:
        sizes.append(len(piece))
        return prepare(piece)

    monkeypatch.setattr(module, "_PIECE", 100)
    monkeypatch.setattr(module, "_prepared", noting)
    assert searchable(text) == whole
    assert max(sizes) <= 100
    assert sum(sizes) == len(text)


def test_real_texts(corpus: Path) -> None:
    logs = sorted((corpus / "public" / "projects").rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    count = 0
    for path in logs[::23]:
        reading = TextFold(is_agent=False)
        for line in path.read_bytes().split(b"\n")[:120]:
            for item in items(line, 0) if line else ():
                if isinstance(item, ParsedLine):
                    for text in reading.texts(item):
                        part = text.text[:20_000]
                        assert [token.text for token in tokens(part)] == indexed(part)
                        count += 1
    assert count > 200
