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


def test_a_second_transcript_of_a_session_is_named_found_and_shown(root: Path, run: Run) -> None:
    """A copy of the file that was resumed too, as on another machine with synced folders."""
    write_log(root, SESSION, FULL)
    copy = write_log(root, SESSION, [FULL[0], said(7, "And the ebb, my friend?")], folder="-other-tide")
    run("sync")
    place = f"projects/-other-tide/{SESSION}.jsonl"
    shown = run("show", SESSION)
    assert "And the ebb" not in shown.stdout
    assert f"another transcript with 1 message that is not in this one: --transcript {copy} shows it" in shown.stderr

    found = " ".join(run("search", "ebb").stdout.split())
    at = len(json.dumps(FULL[0])) + 1
    assert f"hansard show {SESSION[:8]} --transcript {place} --at {at}" in found
    opened = run("show", SESSION, "--transcript", place, "--at", str(at))
    assert "And the ebb" in opened.stdout
    assert "And low tide?" not in run("show", SESSION, "--transcript", place).stdout
    assert "--transcript" not in run("search", "high tide").stdout  # what both have is read in the one that is shown
    assert "has no other transcript 'none'" in run("show", SESSION, "--transcript", "none", code=1).stderr
    assert "cannot be used together" in run("show", SESSION, "--transcript", "x", "--generation", "1", code=2).stderr


def test_a_copy_of_a_transcript_is_not_named(root: Path, run: Run) -> None:
    write_log(root, SESSION, FULL)
    write_log(root, SESSION, FULL[:2], folder="-other-tide")
    assert "another transcript" not in run("show", SESSION).stderr
