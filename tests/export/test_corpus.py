"""Real transcripts are exported in every format: each of them in half of the formats."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from hansard.export.formats import ENDINGS, FORMATS, SEARCHED, SHARED, TABULAR
from hansard.sql.views import VIEWS
from tests.export.trajectories import check_trajectory
from tests.recordings import ARCHIVES, History

NOT_READ_YET = {"agents"}  # histories of other agents


@pytest.fixture(scope="module", params=["public", "real clients"])
def kept(request: pytest.FixtureRequest, histories: dict[str, History]) -> Iterator[Hansard]:
    history = histories[request.param]
    with hansard.open(history.store, history.roots) as h:
        yield h


def test_no_archive_is_forgotten(corpus: Path) -> None:
    assert {path.name for path in corpus.iterdir() if path.is_dir()} - NOT_READ_YET == {"public", *ARCHIVES}


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in SEARCHED])  # those are not by session
def test_every_session_is_exported_once_and_never_again(kept: Hansard, tmp_path: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("duckdb")
    sessions = kept.sessions(limit=None, debris=True).sessions[[*FORMATS].index(form) % 2 :: 2]
    assert len(sessions) > 25
    chosen = None if form in TABULAR else sessions
    redact = False  # looking for secrets in everything takes minutes
    out = tmp_path / "out"
    done = kept.export(chosen, out, format=form, timezone="UTC", redact=redact)
    assert done.failed == ()
    files = [Path(file.path) for file in done.files if file.action == "written"]
    assert len({str(path).casefold() for path in files}) == len(files) == done.written
    if form not in TABULAR:
        assert {file.session_id for file in done.files if file.session_id} == {about.session_id for about in sessions}
        assert len(files) == len(sessions) + (form in ("html", "markdown"))
    else:
        assert len(files) == (1 if form == "csv" else len(VIEWS))
    for path in files:
        assert path.name.endswith(ENDINGS[form][0])
        _check(path, form)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    again = kept.export(chosen, out, format=form, timezone="UTC", redact=redact)
    assert (again.written, again.removed, again.unchanged) == (0, 0, done.written)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def _check(path: Path, form: str) -> None:
    """What a reader needs of a file of this format."""
    content = path.read_bytes()
    if form == "parquet":
        assert content.startswith(b"PAR1")
        assert content.endswith(b"PAR1")
        return
    text = content.decode("utf-8")
    if form == "html":
        assert text.startswith("<!doctype html>")
        assert text.endswith("</html>\n")
        # Nothing is fetched: what a page loads is in it.
        assert not re.search(r"<(?:link|iframe|object|embed|base)\b|<(?:img|script|source)[^>]*\bsrc=\"(?!data:)", text)
    elif form == "markdown":
        assert text.startswith(("---\n", "# Sessions\n"))
        assert "\x1b" not in text
    elif form == "atif":
        check_trajectory(json.loads(text))
    elif form in SHARED:
        assert all(isinstance(json.loads(line), dict) for line in text.split("\n")[:-1])
    elif form == "json":
        assert set(json.loads(text)) == {"session", "thread", "others"}
    elif form == "jsonl":
        lines = [json.loads(line) for line in content.splitlines()]
        assert lines[0]["kind"] == "session"
        assert len({tuple(line) for line in lines}) == 1
