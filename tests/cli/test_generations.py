"""A transcript that was cut: what is listed, shown and restored, and how the rest is reached."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import SESSION, Run, said, write_log

FULL = [said(1, "When is high tide?"), said(2, "At noon.", role="assistant"), said(3, "And low tide?")]


def test_a_cut_transcript_is_shown_in_full(root: Path, run: Run, tmp_path: Path) -> None:
    content = write_log(root, SESSION, FULL).read_bytes()
    run("sync")
    write_log(root, SESSION, FULL[:1])
    listed = json.loads(run("sessions", "--project", "tide", "--json").stdout)["sessions"][0]
    assert (listed["prompts"], listed["source_state"]) == (2, "rewritten")
    assert "rewritten" in run("sessions", "--project", "tide").stdout
    assert "And low tide?" in run("prompts").stdout

    shown = run("show", SESSION)
    assert "And low tide?" in shown.stdout
    assert "its file was rewritten" in shown.stdout
    assert "this is generation 1 of it (3 records); --generation 2 (1 record) shows the other" in shown.stderr
    other = run("show", SESSION, "--generation", "2")
    assert "When is high tide?" in other.stdout
    assert "And low tide?" not in other.stdout
    assert "this is generation 2 of it (1 record); --generation 1 (3 records)" in other.stderr
    assert len(json.loads(run("show", SESSION, "--generation", "2", "--json").stdout)["entries"]) == 1
    assert run("show", SESSION, "--generation", "3", code=1).stderr.endswith("has no generation 3\n")

    run("restore", "--all", "--to", str(tmp_path / "out"))
    assert (tmp_path / "out" / "projects" / "-src-tide" / f"{SESSION}.jsonl").read_bytes() == content


def test_a_session_that_was_not_rewritten_has_no_note(run: Run) -> None:
    assert "generation" not in run("show", SESSION).stderr
