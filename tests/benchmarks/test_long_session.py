"""The generated session that reading is measured on."""

from __future__ import annotations

from pathlib import Path

import hansard
from benchmarks.long_session import write_long_session


def test_it_has_as_many_records_as_asked_for_and_no_issue(tmp_path: Path) -> None:
    told = write_long_session(str(tmp_path / "claude"), "300", "7")
    with hansard.open(tmp_path / "home", [tmp_path / "claude"]) as store:
        report = store.sync()
        issues = store.session(told["session"]).issues
        conversation = store.conversation(told["session"])
    assert (report.records, issues) == (300, 0)
    assert not conversation.forks
    assert {"prompt", "reply", "thinking", "tool"} == {entry.kind for entry in conversation.entries}


def test_it_is_the_same_each_time(tmp_path: Path) -> None:
    texts = []
    for place in ("one", "two"):
        write_long_session(str(tmp_path / place), "50", "7")
        (path,) = (tmp_path / place).rglob("*.jsonl")
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]
