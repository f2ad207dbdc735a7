from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

from hansard.render import highlighting
from hansard.render.highlighting import CLASSES, LONGEST, Run, _class_of, coloured
from hansard.thread.tool_views import LANGUAGES as KNOWN

LANGUAGES = sorted(KNOWN - {"text", "markdown", "prisma"})
SAMPLE = """#!/usr/bin/env python
# a comment with "quotes" and 'more'
/* another
   of two lines */ // and one of one
def f(x: int = 0x1F, *args) -> "str":
    \"\"\"doc
    string\"\"\"
    return f"{x!r} \\n" + 'a' * 3.14e-2 if x != None else `tick ${y}` && true;
class A<T extends B> implements C { private static final int N = 42; @Deco() get name(): string { return this.#n; } }
SELECT * FROM t WHERE a = 'it''s' -- sql
<div class="x" onclick='y'>&amp; <!-- no --> {{ v }} {% if a %}</div>
key: [1, 2, {"a": null}]  # yaml
$var = $(cat <<EOF
text ${HOME} $1
EOF
)
.rule > a:hover { color: #fff; margin: 0 auto !important }
[section]
name = "value" ; ini
@decorator
fn main() -> Result<(), Box<dyn Error>> { let mut v = vec![1u8, b'x']; println!("{:?}", v); }
defmodule X do @doc "y"; def z(:a), do: ~s(b) end
ünïcödé = "日本語" # 🏴
\\begin{a} \\alpha $x^2$ % tex
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_runs_are_those_of_pygments(language: str) -> None:
    lexer = get_lexer_by_name(language)
    quick = highlighting.marks_by(lexer, _class_of)
    for text in (SAMPLE, SAMPLE[::-1], SAMPLE * 2, "", "\n", "'", '"""', "/*", "\u0130\u017f\u212a K k s S"):
        assert quick(text + "\n") == highlighting._plainly(lexer, _class_of, text + "\n")


@settings(deadline=None)  # the first text of a language loads its lexer
@given(st.text(max_size=200), st.sampled_from(LANGUAGES))
def test_nothing_of_a_text_is_lost(text: str, language: str) -> None:
    runs = coloured(text, language)
    assert "".join(run for _, run in runs) == text
    assert {kind for kind, _ in runs} <= CLASSES | {""}


def test_code_has_colours_and_what_is_unknown_or_long_has_none() -> None:
    assert coloured("return 'x'  # y", "python") == [("k", "return "), ("s", "'x'  "), ("c", "# y")]
    for text, language in (
        ("return 1", ""),
        ("return 1", "klingon"),
        ("return 1", "../x"),
        ("return 1\n" * LONGEST, "python"),
    ):
        assert coloured(text, language) == [("", text)]
    assert coloured("", "python") == []


def test_real_code_is_coloured_as_pygments_would(tmp_path: Path) -> None:
    source = Path(highlighting.__file__).read_text(encoding="utf-8")
    lexer = get_lexer_by_name("python")
    assert highlighting.marks_by(lexer, _class_of)(source) == highlighting._plainly(lexer, _class_of, source)
    runs: list[Run] = coloured(source[:LONGEST], "python")
    assert len({kind for kind, _ in runs}) > 4
