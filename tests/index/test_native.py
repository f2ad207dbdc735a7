"""The native module prepares every text as Python does, or leaves it to Python."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hansard
from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.texts import TextFold
from hansard.clients.lines import ParsedLine
from hansard.index import tokens
from hansard.index.native import load_native
from hansard.sync import text as sync_text
from tests.sync.hard import files
from tests.sync.making import Tree

PROJECT = Path(__file__).resolve().parents[2]
native = pytest.mark.skipif(not tokens.is_native(), reason="the native module is not built")


def same(text: str) -> bool:
    """Whether both prepare a text alike; False also where the native one leaves it to Python."""
    assert tokens._native is not None
    found = tokens._native(text)
    assert found in (None, tokens._searchable(text)), ascii(text)
    return found is not None


@native
def test_every_character() -> None:
    taken = {code for code in (*range(0x10000), *range(0x1F000, 0x20100), 0x10FFFF) if same(f"aB{chr(code)}C#1")}
    assert {*range(0x386), 0x430, 0x20AC, 0x2713, 0x3042, 0x30A2, 0x4E2D, 0xAC00, 0xFFFD, 0x1F389, 0x10FFFF} <= taken
    assert not taken & {0x3AC, 0x451, 0xE01, 0x1F00, 0xFF71, 0xD800, 0xDFFF}


@native
@settings(max_examples=1000, deadline=None)
@given(st.text(st.sampled_from(list("aAbZ0 9_-.#+CFcf\n\x00é語한✓🎉Й→"))) | st.text(st.characters()))
@example("++" * 5000)
@example("C#" * 5000)
@example("aA" * 5000)
@example("a1 1a aa1 11a a11 1A a1A AAaa AAa" * 50)
@example("🎉" * 5000)
@example("\x00" * 5000)
def test_any_text(text: str) -> None:
    same(text)


@native
def test_short_texts_of_letters_and_signs_in_every_order() -> None:
    dice = random.Random(3)
    assert all(same("".join(dice.choices("aA0 #+C", k=dice.randrange(14)))) for _ in range(50_000))


@native
@pytest.mark.parametrize("unit", ["a", "A", "aA", "a1", "1", "+", "C#", " ", "é", "語", "🎉", "\x00", "\ud800", "ά"])
def test_a_huge_text(monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    text = unit * (700_000 // len(unit))
    prepared = tokens.searchable(text)
    monkeypatch.setattr(tokens, "_native", None)
    assert prepared == tokens.searchable(text)


@native
@pytest.mark.parametrize("value", [b"bytes", None, 1])
def test_only_text_is_taken(value: object) -> None:
    assert tokens._native is not None
    with pytest.raises(TypeError):
        tokens._native(value)  # type: ignore[arg-type]


@native
def test_real_texts(corpus: Path) -> None:
    count = 0
    for path in sorted((corpus / "public" / "projects").rglob("*.jsonl")):
        fold = TextFold(is_agent=False)
        for line in path.read_bytes().split(b"\n"):
            if b'"type":"progress"' not in line[:1000]:
                for item in items(line, 0) if line else ():
                    count += sum(same(text.text) for text in fold.texts(item)) if isinstance(item, ParsedLine) else 0
    assert count > 20_000


@native
@pytest.mark.parametrize("workers", [False, True])
def test_both_write_the_same_bytes(tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workers: bool) -> None:
    for path, content in files().items():
        tree.write(path, content)
    monkeypatch.setattr(sync_text, "WORKER_BYTES", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    tree.sync(workers=workers)
    plain = Tree(tree.config, tmp_path / "plain")
    monkeypatch.setenv("HANSARD_PURE_PYTHON", "1")  # for the second process
    monkeypatch.setattr(tokens, "_native", None)
    plain.sync(workers=workers)
    for name in ("index.db", "text.db"):
        assert _tables(tree.home / name) == _tables(plain.home / name)


def _tables(path: Path) -> dict[str, list[object]]:
    """Every row of every table, those of FTS5 itself among them, without what tells the store and the time."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = [str(row[0]) for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage")]
        assert "text.db" not in path.name or "work_data" in names
        return {name: list(db.execute(f"SELECT * FROM {name}")) for name in names if name != "meta"}
    finally:
        db.close()


@pytest.mark.parametrize(("value", "is_off"), [("1", True), ("0", False), ("", False)])
def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, value: str, is_off: bool) -> None:
    monkeypatch.setenv("HANSARD_PURE_PYTHON", value)
    assert (load_native() is None) == (is_off or not tokens.is_native())


@pytest.mark.parametrize("is_built", [False, True])
def test_doctor_tells_which_one_runs(tree: Tree, monkeypatch: pytest.MonkeyPatch, is_built: bool) -> None:
    monkeypatch.setattr(tokens, "_native", (lambda _: None) if is_built else None)
    tree.sync()
    with hansard.open(tree.home) as store:
        (found,) = (finding for finding in store.doctor().findings if finding.subject == "text")
    assert found.level == ("ok" if is_built else "note")
    assert ("native module was not built" in found.text) == (not is_built)


@pytest.mark.skipif(sys.platform == "win32", reason="CC is not asked there")
def test_without_a_compiler_nothing_is_built_and_nothing_fails() -> None:
    code = (
        "import pathlib, sys, tempfile; sys.path.insert(0, 'tools'); from build_native import build;"
        "print(build(pathlib.Path(tempfile.mkdtemp(dir=sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, os.environ["HOME"]],
        cwd=PROJECT,
        env={**os.environ, "CC": "/bin/false"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "None"
    assert "The native module was not built" in done.stderr
