"""The hook for budgets: silent while nothing is near its limit, a warning, a stop, and never an old figure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hansard
from hansard import config
from hansard.cli.app import hansard as command
from hansard.cli.hook.budgets import STATE, note_budgets
from hansard.cli.hook.run import FOLDER, PROMPT, TOOL
from hansard.cli.statusline import figures
from hansard.directories import config_path
from hansard.model.ledger import Budget
from tests.sync.making import Tree, assistant, main_path, session, user

DEAR, CHEAP, NEW = map(session, range(701, 704))
CWD = "/home/mira/src/app"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A session that cost $15 today, and one that cost next to nothing."""
    tree = Tree(tmp_path / "claude", tmp_path / "store")
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for session_id, tokens in ((DEAR, 1_000_000), (CHEAP, 100)):
        lines = [
            user(session_id, f"u{tokens}", "Go on."),
            assistant(session_id, f"a{tokens}", f"msg_{tokens}", "Yes.", tokens=(tokens, 0)),
        ]
        tree.write(main_path(session_id), [{**line, "timestamp": now} for line in lines])
    with hansard.open(tree.home, roots=[tree.config]) as h:
        h.sync()
    return tree.home


def configure(text: str) -> None:
    path = Path(config_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def ask(store: Path, event: str, session_id: str = DEAR, cwd: str = CWD) -> dict[str, Any]:
    """What the hook tells the client; it runs as the client runs it, without starting a worker."""
    said = {"session_id": session_id, "cwd": cwd, "hook_event_name": event, "transcript_path": "", "prompt": "x"}
    code = (
        "import sys, hansard.cli.hook.run as run, hansard.cli.hook.budgets as budgets\n"
        "run.start_once, run.ANSWER_SECONDS, sys.argv[0] = lambda *_: None, 60, 'hansard'\n"
        "from hansard.cli import main; main()"
    )
    words = [sys.executable, "-P", "-c", code, "hook", event, "--budgets", f"--home={store}"]
    done = subprocess.run(words, input=json.dumps(said).encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else {}


def note(store: Path) -> dict[str, Any]:
    """What the worker writes after a sync."""
    settings = config.load(os.environ, home=str(store))
    (store / FOLDER).mkdir(exist_ok=True)
    with hansard.open(store) as h:
        note_budgets(h, settings, str(store / FOLDER))
    assert (store / FOLDER / STATE).stat().st_mode & 0o777 == 0o600
    noted: dict[str, Any] = json.loads((store / FOLDER / STATE).read_text())
    return noted


def test_a_warning_is_shown_with_prompts_only(store: Path) -> None:
    configure('[budgets]\nday = 16\naction = "warn"\n')
    assert note(store)["is_near"]
    assert ask(store, PROMPT) == {"systemMessage": "Hansard: 94% of today's budget: $15.00 of $16.00."}
    assert ask(store, TOOL) == {}
    configure('[budgets]\nday = 10\naction = "warn"\n')
    assert "today's budget is spent: $15.00 of $10.00" in ask(store, PROMPT)["systemMessage"]


def test_a_passed_budget_stops_prompts_and_tools(store: Path) -> None:
    configure('[budgets]\nmonth = 10\naction = "block"\n')
    note(store)
    answer = ask(store, PROMPT)
    assert answer["decision"] == "block"
    assert "this month's budget is spent" in answer["reason"]
    answer = ask(store, TOOL)
    assert answer["continue"] is False
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    configure('[budgets]\nmonth = 1000\naction = "block"\n')
    assert ask(store, PROMPT) == {}, "the old note said near: the store is asked"


def test_near_is_a_warning_also_where_budgets_block(store: Path) -> None:
    configure('[budgets]\nday = 16\naction = "block"\n')
    note(store)
    assert "systemMessage" in ask(store, PROMPT)
    assert ask(store, TOOL) == {}


def test_a_session_has_its_own_budget(store: Path) -> None:
    configure('[budgets]\nsession = 5\naction = "block"\n')
    noted = note(store)
    assert (noted["is_near"], noted["sessions"]) == (False, [DEAR])
    assert "this session's budget is spent" in ask(store, PROMPT)["reason"]
    assert ask(store, TOOL)["continue"] is False
    assert ask(store, PROMPT, CHEAP) == ask(store, TOOL, CHEAP) == ask(store, PROMPT, NEW) == {}


def test_a_project_has_its_own_budget(store: Path) -> None:
    configure('[budgets]\naction = "block"\n[budgets.projects."src/app"]\nweek = 2\n')
    note(store)
    assert "src/app" in ask(store, PROMPT, NEW)["reason"]
    assert ask(store, PROMPT, NEW, "/home/mira/src/other") == {}


def test_nothing_is_done_unless_it_is_configured(store: Path) -> None:
    configure("[budgets]\nday = 1\n")
    assert note(store) == {"action": None}
    assert ask(store, PROMPT) == ask(store, TOOL) == {}


def test_without_a_note_only_a_prompt_asks_the_store(store: Path) -> None:
    configure('[budgets]\nday = 1\naction = "block"\n')
    assert ask(store, TOOL) == {}
    assert ask(store, PROMPT)["decision"] == "block"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"action": 7, "sessions": 3}', '{"action": "block", "is_near": 1}'])
def test_nothing_breaks_the_client(store: Path, text: str) -> None:
    configure("[budgets]\nday = 'much'\n")
    (store / FOLDER).mkdir(exist_ok=True)
    (store / FOLDER / STATE).write_text(text)
    (store / "index.db").write_bytes(b"broken")
    assert ask(store, PROMPT) == ask(store, TOOL) == {}


def test_the_overview_and_the_status_line_say_it_too(store: Path) -> None:
    configure("[budgets]\nday = 10\nmonth = 5000\nsession = 5\n")
    where = ["--home", str(store), "--no-sync"]
    shown = CliRunner().invoke(command, where, catch_exceptions=False).stdout
    assert "BUDGET" in shown
    assert "$15.00" in shown
    said = json.loads(CliRunner().invoke(command, ["--json", *where], catch_exceptions=False).stdout)
    assert [(item["period"], item["state"]) for item in said["budgets"]] == [("day", "over"), ("month", "ok")]


def test_a_forecast_is_of_the_longest_period() -> None:
    def budget(period: str, forecast: str | None, project: str | None = None) -> Budget:
        since = datetime(2026, 5, 1, tzinfo=UTC)
        return Budget(
            period=period,
            project=project,
            limit_usd=Decimal(300),
            spent_usd=Decimal(100),
            unpriced_messages=0,
            lower_bound_messages=0,
            share=Decimal("0.33"),
            state="ok",
            since=since,
            until=since + timedelta(days={"day": 1, "week": 7, "month": 31}[period]),
            forecast_usd=None if forecast is None else Decimal(forecast),
        )

    week, month = budget("week", "200"), budget("month", "412")
    assert figures._forecast([week, month]) == ["month forecast $412.00 of $300.00", "over"]
    assert figures._forecast([week, budget("day", None), budget("month", "9", "app")]) == [
        "week forecast $200.00 of $300.00",
        "ok",
    ]
    assert figures._forecast([budget("month", None)]) is None
    assert (week.is_pressing, month.is_pressing) == (False, True)


def test_the_settings_are_checked() -> None:
    configure('[budgets]\nday = 1\naction = "stop"\n')
    with pytest.raises(hansard.errors.UsageError, match="warn"):
        config.load(os.environ)
