"""With redaction, no answer, thread, view or exported file holds a planted secret: a search of all their bytes."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from hansard.export.formats import FORMATS
from hansard.guard.kept_rules import kept_version
from hansard.render import traces
from hansard.sql.table import Table
from hansard.sql.views import VIEWS
from tests.guard.test_gate import ASKED, THREAD, spread
from tests.secrets.conftest import PlantedStore
from tests.secrets.planting import BARE, ENCODED, PARTED, PLANTED, SPLIT, core

pytestmark = pytest.mark.skipif(kept_version() is None, reason="the extra `secrets` is not installed")
_HALF = 12  # characters of a secret that are as bad as all of it
_RUN = re.compile(rf"[A-Za-z0-9_+/=.:!-]{{{_HALF},}}")
# They change the store, or need a path that is a name of its own.
LEFT_OUT = {"file_history", "note", "pin", "pin_message", "pinned_messages", "plan_handoff", "secret"}


class Runs:
    """The runs of twelve characters that only one of some secrets has."""

    def __init__(self, values: Iterable[str]) -> None:
        self._owners: dict[str, str] = {}
        shared = set()
        for value in values:
            for run in _runs(
                "".join(line for line in value.split("\n") if "-----" not in line) if "\n" in value else value
            ):
                if self._owners.setdefault(run, value) != value or len(set(run)) < _HALF // 2:
                    shared.add(run)
        for run in shared:  # prefixes
            del self._owners[run]

    def of(self, text: str) -> set[str]:
        """The secrets that a text has a run of."""
        return {self._owners[run] for run in _runs(text) if run in self._owners}


def _runs(text: str) -> Iterator[str]:
    for found in _RUN.findall(text):
        for place in range(len(found) - _HALF + 1):
            yield found[place : place + _HALF]


_KINDS = {core(planted): planted.kind for planted in PLANTED}
_RUNS = Runs(_KINDS)


def leaked(text: str) -> set[str]:
    """The kinds of the planted secrets of which a text has twelve characters or more."""
    return {_KINDS[value] for value in _RUNS.of(text)}


@pytest.mark.parametrize("name", sorted(ASKED.keys() - LEFT_OUT))
def test_no_answer_has_a_secret(redacting: Hansard, planted: PlantedStore, name: str) -> None:
    assert leaked(spread(ASKED[name](redacting, planted.session))) == set()


@pytest.mark.parametrize("name", sorted(THREAD.keys() - {"locate"}))  # which reads every turn again
def test_no_part_of_a_thread_has_a_secret(redacting: Hansard, planted: PlantedStore, name: str) -> None:
    for session in (planted.session, ENCODED, BARE, PARTED):
        assert leaked(spread(THREAD[name](redacting.read(session)))) == set()


@pytest.mark.parametrize("name", VIEWS)
def test_no_view_has_a_secret(redacting: Hansard, name: str) -> None:
    assert leaked(spread(Table(redacting.reader, name, None, redacting.redact).rows())) == set()


@pytest.mark.parametrize("form", FORMATS)
def test_no_exported_file_has_a_secret(redacting: Hansard, tmp_path: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("duckdb")
    redacting.export(None, tmp_path / "out", format=form)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert leaked(path.read_bytes().decode("utf-8", "replace") + path.name) == set()


def test_no_half_of_a_split_secret_is_left(redacting: Hansard) -> None:
    shown = spread(redacting.read(SPLIT).whole())
    halves = [half for planted in PLANTED for half in (planted.value[:17], planted.value[17:41]) if len(half) > 15]
    assert [half for half in halves if half in shown] == []
    assert len(re.findall(r"\[github-[a-z]+:[0-9a-f]{4}\]", shown)) == 2


@pytest.fixture
def unscanned(planted: PlantedStore, tmp_path: Path) -> Path:
    """The store before its first scan."""
    shutil.copytree(planted.home, tmp_path / "store", ignore=shutil.ignore_patterns("secrets.db*"))
    return tmp_path / "store"


SPLIT_KINDS = {
    "github-oauth",
    "linear",
    "npm",
    "openai",
    "groq",
    "huggingface",
    "rsa-key",
    "github-refresh",
    "gitlab-pat",
}


@pytest.mark.parametrize("name", ["search", "grep", "recall", "calls", "prompts", "brief"])
def test_what_was_not_scanned_yet_is_redacted_too(unscanned: Path, planted: PlantedStore, name: str) -> None:
    with hansard.open(unscanned, [planted.root], redact=True) as h:
        assert leaked(spread(ASKED[name](h, PARTED))) & SPLIT_KINDS == set()


@pytest.mark.parametrize("form", ["html", "markdown", "json", "atif", "traces"])
def test_a_file_of_a_session_in_a_large_store_that_was_not_scanned(
    unscanned: Path, planted: PlantedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr("hansard.secrets.counts.NEWEST", 0)
    with hansard.open(unscanned, [planted.root], redact=True) as h:
        h.export([SPLIT, PARTED], tmp_path / "out", format=form)
        assert leaked(spread(h.read(PARTED).whole())) == set()
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) > 2
    for path in files:
        assert leaked(path.read_text("utf-8")) == set()


def test_lines_of_traces_stay_as_they_are_but_for_the_parts(redacting: Hansard, planted: PlantedStore) -> None:
    thread = redacting.read(PARTED)
    shown = [json.loads(line) for line in traces.lines(thread)]
    lines = [json.loads(line) for line in thread.raw_lines()]
    for one, line in zip(shown, lines, strict=False):
        assert {name: one[name] for name in ("uuid", "parentUuid", "sessionId", "type", "timestamp", "version")} == {
            name: line[name] for name in ("uuid", "parentUuid", "sessionId", "type", "timestamp", "version")
        }
    assert "I use." in json.dumps(shown)
    assert len(re.findall(r"\[[a-z-]+:[0-9a-f]{4}\]", json.dumps(shown))) >= 14
