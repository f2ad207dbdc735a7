"""`hansard blocks`: five hours each, the pauses between them, with a projection for the current one."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hansard.directories import config_path
from hansard.render.text import width

from .conftest import SESSION, Run, said, write_log

MODEL = "claude-opus-5-5"
NOW = datetime(2026, 5, 3, 12, 30, tzinfo=UTC)


def answer(number: int, at: str, **more: Any) -> dict[str, Any]:
    line = said(number, "Done.", role="assistant")
    line["timestamp"] = at
    line["message"] |= {"usage": {"input_tokens": 0, "output_tokens": 60_000}, **more}
    return line


@pytest.fixture(autouse=True)
def worked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three blocks: long ago, this morning, and one that is active since 12:00."""
    path = Path(config_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[[prices]]\nmodel = "{MODEL}"\ninput = 10\noutput = 50\n', encoding="utf-8")
    monkeypatch.setattr("time.time", NOW.timestamp)
    write_log(
        root,
        SESSION,
        [
            said(1, "When is high tide?"),
            answer(2, "2026-04-20T10:20:00.000Z", stop_reason=None),
            answer(3, "2026-05-03T06:10:00.000Z", model="acme-\x1b[31mone"),
            answer(4, "2026-05-03T06:50:00.000Z"),
            answer(5, "2026-05-03T12:00:00.000Z"),
        ],
    )
    for other in (root / "projects" / "-src-sail").iterdir():
        other.unlink()


def asked(run: Run, *args: str) -> Any:
    return json.loads(run("blocks", *args, "--json").stdout)


def test_json(run: Run) -> None:
    found = asked(run)
    assert set(found) == {"blocks", "pricing"}
    assert [(block["is_gap"], block["is_active"]) for block in found["blocks"]] == [
        (False, False),
        (True, False),
        (False, False),
        (True, False),
        (False, True),
    ]
    *_, morning, pause, active = found["blocks"]
    assert (morning["start"], morning["end"]) == ("2026-05-03T06:00:00.000Z", "2026-05-03T11:00:00.000Z")
    assert sorted(morning["models"]) == sorted(["acme-\x1b[31mone", MODEL])
    assert (pause["usage"], pause["models"]) == (None, [])
    assert active["usage"]["cost_usd"] == "3"
    assert active["burn_usd_per_hour"] == "6"
    assert active["burn_tokens_per_minute"] == 2_000
    assert active["projected_usd"] == "30"
    assert active["projected_tokens"] == 600_000
    assert active["remaining_minutes"] == 270
    assert found["pricing"]["overrides"] == 1


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            60,
            [
                "START             END     TOKENS     COST  MODELS",
                "2026-04-20 10:00  15:00    60.0k  $3.00+   opus-5-5",
                "  13-day gap",
                "2026-05-03 06:00  11:00     120k  $3.00+?  opus-5-5, acme-o…",
                "  5-hour gap",
                "2026-05-03 12:00  active   60.0k  $3.00    opus-5-5",
            ],
        ),
        (
            80,
            [
                "START             END     MESSAGES  OUTPUT  TOKENS     COST  MODELS",
                "2026-04-20 10:00  15:00          1   60.0k   60.0k  $3.00+   opus-5-5",
                "  13-day gap",
                "2026-05-03 06:00  11:00          2    120k    120k  $3.00+?  opus-5-5, acme-one",
                "  5-hour gap",
                "2026-05-03 12:00  active         1   60.0k   60.0k  $3.00    opus-5-5",
            ],
        ),
    ],
)
def test_the_table(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int, lines: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    table, outlook, notes = run("blocks").stdout.split("\n\n")
    assert table.splitlines() == lines
    assert outlook.splitlines() == [
        f"12:00 {'█' * (3 if columns == 80 else 1)}{'░' * (27 if columns == 80 else 14)} 17:00  4 h 30 min left",
        "  so far    $3.00, 60.0k tokens in 1 message",
        "  rate      $6.00 an hour, 2.0k tokens a minute",
        "  projected $30.00, 600k tokens at 17:00",
    ]
    assert "\n+ 1 of 4 messages" in notes
    assert "\n? the cost leaves out 1 message of acme-one" in notes


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_no_line_is_wider_than_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = run("blocks").stdout
    assert max(map(width, text.splitlines())) <= columns
    assert "\x1b" not in text


def test_which_blocks(run: Run) -> None:
    def starts(*args: str) -> list[str]:
        return [block["start"][:13] for block in asked(run, *args)["blocks"] if not block["is_gap"]]

    assert starts() == ["2026-04-20T10", "2026-05-03T06", "2026-05-03T12"]
    assert starts("--recent") == ["2026-05-03T06", "2026-05-03T12"]
    assert starts("--active") == ["2026-05-03T12"]
    assert starts("--since", "2026-05-01") == ["2026-05-03T06", "2026-05-03T12"]
    assert starts("--until", "2026-05-01") == ["2026-04-20T10"]
    assert starts("--model", "acme") == ["2026-05-03T06"]
    assert starts("model:acme") == ["2026-05-03T06"]
    assert starts("--project", "tide", "--recent") == ["2026-05-03T06", "2026-05-03T12"]
    assert not any(block["is_gap"] for block in asked(run, "--no-gaps")["blocks"])
    assert "gap" not in run("blocks", "--no-gaps").stdout


def test_times_of_a_zone(run: Run) -> None:
    text = run("blocks", "--timezone", "Asia/Tokyo", "--active").stdout
    assert text.splitlines()[1].startswith("2026-05-03 21:00  active")
    assert "21:00 ███░" in text


def test_csv(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("blocks", "--csv").stdout, newline="")))
    assert [row["start"] for row in rows] == [
        "2026-04-20T10:00:00.000Z",
        "2026-05-03T06:00:00.000Z",
        "2026-05-03T12:00:00.000Z",
    ]
    assert [row["is_active"] for row in rows] == ["false", "false", "true"]
    assert (rows[2]["cost_usd"], rows[2]["projected_usd"], rows[0]["projected_usd"]) == ("3", "30", "")
    assert "acme-one" in rows[1]["models"]


@pytest.mark.parametrize("args", [["--match", "submarine"], ["--active", "--model", "acme"]])
def test_nothing_found(run: Run, args: list[str]) -> None:
    nothing = run("blocks", *args, code=1)
    assert nothing.stdout == ""
    assert nothing.stderr.startswith("hansard: no ")
    assert json.loads(run("blocks", *args, "--json", code=1).stdout)["blocks"] == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--json", "--csv"], "cannot be used together"),
        (["--recent", "--since", "1w"], "cannot be used with --since"),
        (["--live"], "needs a terminal"),
        (["--interval", "0"], "0.2"),
        (["--timezone", "Moon"], "unknown time zone 'Moon'"),
    ],
)
def test_what_makes_no_sense(run: Run, args: list[str], told: str) -> None:
    refused = run("blocks", *args, code=2)
    assert told in refused.stderr
    assert refused.stdout == ""


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_live_view_ends_calmly(run: Run, root: Path, tmp_path: Path, ending: signal.Signals) -> None:
    import pty

    run("sync")
    master, slave = pty.openpty()
    args = ["blocks", "--live", "--interval", "0.2", "--since", "2026-04-01", "--color", "never"]
    place = ["--home", str(tmp_path / "store"), "--root", str(root)]
    environ = {**os.environ, "TERM": "xterm", "LINES": "24"}
    program = os.posix_spawn(
        sys.executable,
        [sys.executable, "-W", "error", "-m", "hansard", *args, *place],
        environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, slave, 1), (os.POSIX_SPAWN_CLOSE, master)],
    )
    os.close(slave)
    seen = b""
    while seen.count(b"\x1b[J") < 2:  # two frames
        seen += os.read(master, 1 << 16)
    os.kill(program, ending)
    seen += _rest(master)
    _, status = os.waitpid(program, 0)
    os.close(master)
    assert os.waitstatus_to_exitcode(status) == 0
    assert seen.startswith(b"\x1b[?1049h\x1b[?25l")
    assert seen.endswith(b"\x1b[?25h\x1b[?1049l")
    shown = seen.decode()
    assert "every 0.2 s, Ctrl-C stops" in shown
    assert "no active block" in shown
    assert shown.index("2026-05-03 12:00") < shown.index("2026-04-20 10:00")
    assert "acme-one" in shown
    assert "\x1b[31m" not in shown


def _rest(master: int) -> bytes:
    """What is written until the other side is closed, which Linux tells by an error."""
    found = b""
    try:
        while piece := os.read(master, 1 << 16):
            found += piece
    except OSError:
        pass
    return found
