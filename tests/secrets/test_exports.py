"""Exports use what a scan finds elsewhere, and say what none has read."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from hansard.api import custody
from tests.mcp.writing import Log

PASSWORD = "orangutan-quilt-91"


@pytest.fixture
def named_once(tmp_path: Path) -> Path:
    """A store, not searched yet, with a password that one session names and another only says."""
    for number, text in ((1, f"DB_PASSWORD={PASSWORD}"), (2, f"try {PASSWORD} there")):
        log = Log(f"aaaa000{number}-0000-4000-8000-000000000001")
        log.prompt(text)
        log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
    return tmp_path / "store"


def test_an_export_searches_first(named_once: Path, tmp_path: Path) -> None:
    with hansard.open(named_once) as h:
        done = h.export(["aaaa0002"], tmp_path / "out", format="markdown", redact="on")
    assert done.unscanned_bytes == 0
    assert done.redacted == 1
    assert PASSWORD not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def test_an_export_of_few_sessions_says_what_was_not_searched(
    named_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custody, "_SEARCHED_AT_ONCE", 0)
    with hansard.open(named_once) as h:
        sizes = {made.path: made.size for made in h.record.generations()}
        done = h.export(["aaaa0001"], tmp_path / "out", format="markdown", redact="on")
        assert done.unscanned_bytes == next(size for path, size in sizes.items() if "aaaa0002" in path)
        done = h.export(["aaaa0002"], tmp_path / "out", format="markdown", redact="on")
        assert done.unscanned_bytes == 0
    assert PASSWORD not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())
