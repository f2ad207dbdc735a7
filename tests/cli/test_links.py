"""Links that lead out of a root, as commands tell of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hansard.directories import config_path

from .conftest import SESSION, Run, said, write_log

THIRD = "33333333-cccc-4ccc-8ccc-333333333333"


@pytest.fixture
def outside(root: Path, tmp_path: Path) -> Path:
    """A project's folder that lies elsewhere, with a blank in its name, and is linked."""
    write_log(tmp_path / "big disk", THIRD, [said(1, "Far away.", session=THIRD)])
    place = tmp_path / "big disk" / "projects" / "-src-tide"
    (root / "projects" / "-far").symlink_to(place)
    return place


def test_sync_says_that_there_is_more(run: Run, outside: Path) -> None:
    result = run("sync")
    assert "1 link points outside its root and is not followed: see `hansard doctor`" in result.stderr
    (outside.parent / "other").mkdir()
    (outside.parents[2] / "claude" / "projects" / "-other").symlink_to(outside.parent / "other")
    assert "2 links point outside their root and are not followed" in run("sync").stderr
    assert json.loads(run("sync", "--json").stdout)["unfollowed_links"] == 2


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_the_option_that_allows_it_is_named(
    run: Run, outside: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    text = run(command).stdout
    assert f"projects/-far points outside the root, to {outside}, and is not followed" in text
    assert f"--follow-links '{outside}'" in text
    assert "/projects/-far" not in run(command, "--follow-links", str(outside)).stdout


def test_status_lists_what_is_left_out(run: Run, root: Path, outside: Path) -> None:
    (root / "projects" / "-src-tide" / ".DS_Store").touch()
    left_out = {item["path"]: item["reason"] for item in json.loads(run("status", "--json").stdout)["left_out"]}
    assert left_out == {
        "projects/-far": f"a link to {outside}, outside the root",
        "projects/-src-tide/.DS_Store": "not a kind of file that Hansard keeps",
    }


def test_what_is_allowed_is_read(run: Run, outside: Path) -> None:
    sessions = {item["session_id"] for item in json.loads(run("sessions", "--json").stdout)["sessions"]}
    assert THIRD not in sessions
    run("show", THIRD, "--follow-links", str(outside))
    # And stays, whether or not the next command says so too.
    assert "Far away." in run("show", THIRD).stdout
    assert json.loads(run("sessions", "--gone", "--json", code=1).stdout)["sessions"] == []
    assert "the 1 file that was kept through it" in " ".join(run("doctor").stdout.split())


def test_the_configuration_allows_it_for_good(run: Run, outside: Path) -> None:
    path = Path(config_path())
    path.parent.mkdir(parents=True)
    path.write_text(f"follow_links = [{str(outside.parents[1])!r}]")
    assert run("sync").stderr == ""
    assert "Far away." in run("show", THIRD).stdout


def test_an_empty_path_is_a_mistake(run: Run) -> None:
    assert "the path is empty" in run("show", SESSION, "--follow-links", "", code=2).output
