"""`hansard retention`: shown first, then done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hansard.directories import config_path

from .conftest import OTHER, SESSION, Run
from .test_free import age

if TYPE_CHECKING:
    from pathlib import Path


def configure(text: str) -> None:
    import os

    os.makedirs(os.path.dirname(config_path()), exist_ok=True)
    with open(config_path(), "w", encoding="utf-8") as file:
        file.write(text)


def test_without_rules(run: Run) -> None:
    assert "no rules: everything is kept for ever" in run("retention", code=1).stderr
    assert "there are no rules" in run("retention", "--yes", code=2).stderr
    assert json.loads(run("retention", "--json").stdout)["delete"] is None


def test_shown_then_done(run: Run, root: Path) -> None:
    age(root)
    configure(f'[retention]\nfree_after_days = 30\ndelete_after_days = 3\nhold = ["{OTHER}", "gone"]\n')
    shown = run("retention")
    assert "From the client's folder: 1 file" in shown.stdout
    assert "stay: it is under a hold" in shown.stdout
    assert "From the record: 1 session" in shown.stdout
    assert "Under a hold: 1 session" in shown.stdout
    assert "gone: named below [retention]" in shown.stderr
    assert "Nothing was changed" in shown.stderr
    assert "under a hold" in run("forget", OTHER, "--yes", code=2).stderr
    done = run("retention", "--yes")
    assert "1 file removed from the client's folder" in done.stdout
    assert "1 session, 0 other files deleted from the record" in done.stdout
    assert "no session matches" in run("show", SESSION, code=1).stderr
    assert run("show", OTHER).exit_code == 0
    assert json.loads(run("retention", "--json").stdout)["held_sessions"] == 1
