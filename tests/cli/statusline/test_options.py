"""Options and configuration of the status line, and what its fast start leaves to the command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from hansard.cli.statusline import run
from hansard.directories import config_path
from hansard.engine import Hansard
from hansard.render.format import row_cost
from tests.cli.statusline.making import STILL, by_click, client, drawn, printed, show, shown_by_process, start, update


def write_config(text: str) -> None:
    path = Path(config_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_format_of_the_configuration(store: Path) -> None:
    write_config('statusline = "{model} · {project}"')
    assert show() == "Sonnet 4.5 · tide"
    assert show("--format", "{project}") == "tide"
    write_config('statusline = "{project}"')
    assert show() == "tide"
    os.unlink(config_path())
    assert "session" in show()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('statusline = "{modell} · {project}"', "tide · no {modell} to show: see config.toml"),
        ('statusline = "{project"', r"Sonnet 4\.5 · .* session .*invalid format: see config.toml"),
        ('statusline = "{0} {project.x}"', r"Sonnet 4\.5 · .* session .*invalid format: see config.toml"),
        ("no_such_key = 1", r"Sonnet 4\.5 · .* session .*config\.toml is invalid: .*"),
        ('timezone = "Mars/Olympus"', r"Sonnet 4\.5 · .* session .*config\.toml is invalid: .*"),
        ("garbage", r"Sonnet 4\.5 · .* session .*config\.toml is invalid: .*"),
    ],
)
def test_a_configuration_with_a_mistake_still_gives_a_line(store: Path, text: str, line: str) -> None:
    write_config(text)
    for _ in range(2):
        assert re.fullmatch(line, show())


@pytest.mark.parametrize("form", ["{modell}", "{model", "}", "{0}", "{model.x}"])
def test_a_mistake_on_the_command_line_is_explained(store: Path, form: str) -> None:
    with start("--format", form, said=client()) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert b"use one of model, project" in err


def test_time_zones(store: Path, h: Hansard) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        write_config(f'timezone = "{zone}"')
        today = [row for row in h.usage(by="day", timezone=zone).rows if row.key["day"] == _today(zone)]
        assert show("--format", "{today}") == (row_cost(today[0]) if today else "$0.00")


def _today(zone: str) -> str:
    from zoneinfo import ZoneInfo

    return datetime.now(ZoneInfo(zone)).date().isoformat()


def test_budgets_near_and_over(store: Path, h: Hansard) -> None:
    spent = h.usage(by="month").totals.cost_usd
    assert spent
    write_config(
        f"[budgets]\nmonth = {spent / 2:f}\nweek = 1000000\n[budgets.projects.tide]\nmonth = {spent * 10 / 9:f}"
    )
    line = show("--format", "{budget}")
    assert line == "OVER month budget 200%, tide month budget 90%"
    assert "budget" not in show("--format", "{session}")
    write_config("[budgets]\nmonth = 1000000")
    assert "budget" not in show()
    write_config(f"[budgets]\nday = {spent / 100:f}")
    update()
    colored = drawn("--color=always", "--format={today}|{budget}")
    today, budget = colored.split("|")
    assert today.startswith("\x1b[31m$")
    assert budget.startswith("\x1b[31mOVER day budget")


def test_colours(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[36mSonnet 4.5\x1b[0m" in drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in drawn()
    assert "\x1b" in drawn("--color", "always")


def test_the_long_way_gives_the_same(store: Path) -> None:
    long = ("-W", "error", "-m", "hansard", "--no-sync", "statusline")
    same = ("--color=never", "--format", STILL)
    assert printed(start(*same, said=client(), command=long)) == shown_by_process(*same) == drawn(*same)
    for options in ([], ["--color=never"], ["--home", str(store)], ["--every", "3", "--root", str(store)]):
        options += ["--format", STILL]
        assert by_click("--no-sync", "statusline", *options) == drawn(*options)
    with start("--help") as process:
        assert b"hansard statusline [OPTIONS]" in process.communicate()[0]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--json"], ["--script"], ["--format"], ["--color", "x"], ["x"], ["--every=-1"]]
)
def test_what_the_short_way_leaves_to_the_long_one(arguments: list[str]) -> None:
    options = run.Options()
    options.parse(arguments)
    assert options.mistakes or options.words


def test_options_reach_the_other_process(tmp_path: Path) -> None:
    options, again = run.Options(), run.Options()
    options.parse(
        ["--root=/a", "--root", str(tmp_path), "--follow-links=/b", "--format", "{model}", "--every", "9", "--no-sync"]
    )
    again.parse(options.arguments("/home"))
    assert not options.mistakes + again.mistakes
    assert (again.home, again.roots, again.form) == ("/home", ["/a", str(tmp_path)], "{model}")
    assert again.follow_links == ["/b"]
    assert (again.every, again.refresh, again.no_sync) == (9, False, True)


def test_the_short_way_costs_little(store: Path) -> None:
    show()

    def loaded(code: str) -> set[str]:
        done = subprocess.run([sys.executable, "-c", code], input=client(), capture_output=True, check=True)
        return set(done.stderr.decode().split())

    tell = "print(*sys.modules, file=sys.stderr)"
    bare = loaded(f"import sys, hansard.cli; {tell}")
    ours = loaded(
        f"import os, sys; sys.argv = ['hansard', 'statusline', '--no-sync']\nos._exit = lambda code: {tell}\n"
        "from hansard.cli.statusline.run import run_fast; run_fast(sys.argv[2:])"
    )
    allowed = {"_json", "hansard.cli.fast_start", "hansard.cli.statusline", "hansard.directories"} | {
        f"hansard.cli.statusline.{name}" for name in ("run", "snapshot", "line")
    }
    assert ours - bare == allowed
