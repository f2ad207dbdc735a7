"""With redaction, no answer, thread, view or exported file holds a planted secret: a search of all their bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from hansard.engine import Hansard
from hansard.export.formats import FORMATS
from hansard.guard.kept_rules import kept_version
from hansard.sql.table import Table
from hansard.sql.views import VIEWS
from tests.guard.test_gate import ASKED, THREAD, spread
from tests.secrets.conftest import PlantedStore
from tests.secrets.planting import BARE, ENCODED, PLANTED, SPLIT, core

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


VALUES = {value: planted.kind for planted in PLANTED for value in (core(planted), json.dumps(core(planted))[1:-1])}


def leaked(text: str) -> set[str]:
    return {kind for value, kind in VALUES.items() if value in text}


@pytest.mark.parametrize("name", sorted(ASKED.keys() - LEFT_OUT))
def test_no_answer_has_a_secret(redacting: Hansard, planted: PlantedStore, name: str) -> None:
    assert leaked(spread(ASKED[name](redacting, planted.session))) == set()


@pytest.mark.parametrize("name", sorted(THREAD.keys() - {"locate"}))  # which reads every turn again
def test_no_part_of_a_thread_has_a_secret(redacting: Hansard, planted: PlantedStore, name: str) -> None:
    for session in (planted.session, ENCODED, BARE):
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
