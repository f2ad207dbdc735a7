"""`hansard forget`: shown first, then done, with a receipt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .conftest import OTHER, SESSION, Run

if TYPE_CHECKING:
    from pathlib import Path


def test_shown_then_done(run: Run, root: Path) -> None:
    shown = run("forget", SESSION[:8])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("11111111  When is high tide?\n\nWHAT ")
    assert "transcripts" in shown.stdout
    assert "left: --source removes it" in shown.stdout
    assert "1 copy stays:" in shown.stdout
    assert (
        "Not touched, because Hansard does not know of them: exported files that were copied or moved" in shown.stderr
    )
    assert "Nothing was changed" in shown.stderr
    assert run("show", SESSION).exit_code == 0
    done = run("forget", SESSION[:8], "--yes")
    assert done.exit_code == 0
    assert "Receipt 1 of " in done.stdout
    assert "1 session, 1 transcript erased" in done.stdout
    assert "no session matches" in run("show", SESSION, code=1).stderr
    assert run("show", OTHER).exit_code == 0
    assert "1 session, 1 transcript erased" in run("forget", "--receipts").stdout
    assert list((root / "projects").rglob(f"{SESSION}.jsonl")), "the client's own file is left"


def test_json(run: Run, root: Path) -> None:
    assert json.loads(run("forget", "--receipts", "--json").stdout) == {"receipts": []}
    plan = json.loads(run("forget", SESSION, "--source", "--json").stdout)
    assert plan["applied"] is False
    assert plan["receipt"] is None
    assert [(item["kind"], item["action"]) for item in plan["items"]] == [("transcript", "erase"), ("source", "remove")]
    done = json.loads(run("forget", SESSION, "--source", "--yes", "--json").stdout)
    assert done["applied"] is True
    assert done["sessions"][0]["session_id"] == SESSION
    assert done["receipt"]["erased"]["transcripts"] == 1
    assert done["receipt"]["finished_at"]
    assert json.loads(run("forget", "--receipts", "--json").stdout) == {"receipts": [done["receipt"]]}
    assert not list((root / "projects").rglob(f"{SESSION}.jsonl"))


def test_a_text_and_a_message(run: Run) -> None:
    assert run("forget", "--match", "noon").exit_code == 0
    assert "1 line erased" in run("forget", "--match", "noon", "--yes").stdout
    assert "noon" not in run("show", SESSION).stdout
    assert "1 line erased" in run("forget", "--message", f"{SESSION[:8]}-0001", "--yes").stdout
    assert "high tide" not in run("show", SESSION).stdout


def test_allowed_again(run: Run) -> None:
    assert "was not forgotten" in run("forget", "--allow", SESSION, code=2).stderr
    run("forget", SESSION, "--yes")
    assert "is_forgotten" not in run("sync").output
    assert json.loads(run("forget", "--allow", SESSION, "--json").stdout) == {"allowed": SESSION}
    assert run("show", SESSION).exit_code == 0


def test_what_is_refused(run: Run) -> None:
    assert "name it by its id" in run("forget", "high tide", code=2).stderr
    assert "name the sessions to forget" in run("forget", code=2).stderr
    assert "nothing was erased" in run("forget", "--receipts", code=1).stderr
