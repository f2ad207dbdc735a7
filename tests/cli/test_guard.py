"""`hansard guard`: what each scheduler is given, installed and removed exactly; and the daily run."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hansard.cli import service
from hansard.errors import NotFound

from .conftest import OTHER, SESSION, Run
from .test_free import age
from .test_retention import configure

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here")

# Keeps a table in a file, as the real program keeps it in its spool.
CRONTAB = """#!/bin/sh
case "$1" in
  -l) test -f "$HOME/table" || { echo "no crontab" >&2; exit 1; }; cat "$HOME/table" ;;
  -r) rm "$HOME/table" ;;
  -) cat > "$HOME/table" ;;
  *) cat "$1" > "$HOME/table" ;;
esac
"""
# Notes what it is asked for.
NOTING = """#!/bin/sh
echo "$0 $*" | sed "s|.*/||" >> "$HOME/asked"
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Schedulers that do nothing to this machine."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in (("crontab", CRONTAB), ("systemctl", NOTING), ("launchctl", NOTING)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def test_which_scheduler(programs: Path) -> None:
    path = {"PATH": str(programs)}
    assert service.choose(path, "darwin") == "launchd"
    assert service.choose(path, "win32") == "task"
    assert service.choose(path, "linux") == "systemd"
    (programs / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    assert service.choose(path, "linux") == "cron", "no systemd runs for this user"
    (programs / "systemctl").unlink()
    (programs / "crontab").unlink()
    with pytest.raises(NotFound, match="Have `hansard guard run` run daily by other means"):
        service.choose(path, "linux")


@pytest.mark.parametrize("scheduler", ["systemd", "cron", "launchd"])
def test_installed_and_removed(run: Run, programs: Path, scheduler: str) -> None:
    home = os.path.expanduser("~")
    before = {path: os.stat(path).st_mode for path, _, _ in os.walk(home)}
    assert "not installed" in run("guard").stdout
    shown = run("guard", "install", "--scheduler", scheduler)
    assert "Nothing was changed" in shown.stderr
    assert "guard" in shown.stdout
    assert not json.loads(run("guard", "--json").stdout)["installed"]
    done = run("guard", "install", "--scheduler", scheduler, "--yes")
    assert f"Installed with {scheduler}" in done.stdout
    status = json.loads(run("guard", "status", "--json").stdout)
    assert (status["installed"], status["scheduler"], status["missing"]) == (True, scheduler, [])
    assert all(os.stat(path).st_mode & 0o777 == 0o600 for path in status["files"])
    run("guard", "install", "--scheduler", scheduler, "--yes")  # again, as after an update
    assert "run " in run("guard", "remove").stdout
    assert "Removed" in run("guard", "remove", "--yes").stdout
    assert not any(os.path.exists(path) for path in status["files"])
    assert {path: os.stat(path).st_mode for path, _, _ in os.walk(home) if path in before} == before
    assert not os.path.exists(os.path.join(home, "table"))
    assert "not installed" in run("guard", "remove", "--yes", code=1).stderr


@pytest.mark.parametrize("scheduler", ["systemd", "cron", "launchd", "task"])
def test_it_pushes_if_asked_to(run: Run, programs: Path, scheduler: str) -> None:
    (programs / "schtasks").write_text(NOTING)
    (programs / "schtasks").chmod(0o755)
    refused = run("guard", "install", "--scheduler", scheduler, "--push", "--yes", code=2)
    assert "no database is named" in refused.stderr
    configure('[team]\ndatabase = "postgresql://ann@db.example.com/team"\n[lake]\ntarget = "/mnt/lake"\n')
    options = ("--push", "--push-lake")
    assert "Nothing was changed" in run("guard", "install", "--scheduler", scheduler, *options).stderr
    run("guard", "install", "--scheduler", scheduler, *options, "--yes")
    files = json.loads(run("guard", "--json").stdout)["files"]
    encoding = "utf-16" if scheduler == "task" else "utf-8"
    made = "".join(Path(path).read_text(encoding) for path in files)
    assert made.count("push-lake") == (2 if scheduler == "cron" else 1)
    assert "db.example.com" not in made  # the configuration names it, which may change
    run("guard", "install", "--scheduler", scheduler, "--yes")
    assert "--push" not in "".join(Path(path).read_text(encoding) for path in files)
    run("guard", "remove", "--yes")
    assert not any(os.path.exists(path) for path in files)
    assert "belong to" in run("guard", "remove", "--push", "--yes", code=2).stderr


def test_a_scheduler_that_fails_leaves_nothing(run: Run, programs: Path) -> None:
    (programs / "systemctl").write_text('#!/bin/sh\ntest "$2" != enable || { echo "no bus" >&2; exit 1; }\n')
    failed = run("guard", "install", "--scheduler", "systemd", "--yes", code=3)
    assert "no bus" in failed.stderr
    assert not json.loads(run("guard", "--json").stdout)["installed"]
    assert not os.path.exists(os.path.expanduser("~/.config/systemd"))


def test_other_lines_of_a_crontab_stay(run: Run, programs: Path) -> None:
    table = os.path.expanduser("~/table")
    for text in ("0 5 * * * backup\n", "# no line break at the end", ""):
        with open(table, "w", encoding="utf-8") as file:
            file.write(text)
        run("guard", "install", "--scheduler", "cron", "--yes")
        with open(table, encoding="utf-8") as file:
            made = file.read()
        assert made.startswith(text)
        assert made.count("guard run") == 2
        with open(table, "a", encoding="utf-8") as file:
            file.write("1 1 * * * later\n")
        run("guard", "remove", "--yes")
        with open(table, encoding="utf-8") as file:
            assert file.read() in (f"{text}1 1 * * * later\n", f"{text}\n1 1 * * * later\n")


def test_words_are_quoted(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / 'a "b" 100% $HOME &\'c'
    home.mkdir()
    words = service.job(str(home), ["/r s"])
    unit = b"".join(service.plan("systemd", str(home), ["/r s"], {}).changes.steps[0].pieces()).decode()  # type: ignore[union-attr]
    assert 'a \\"b\\" 100%% $$HOME &' in unit
    plist = plistlib.loads(b"".join(service.plan("launchd", str(home), ["/r s"], {}).changes.steps[0].pieces()))  # type: ignore[union-attr]
    assert plist["ProgramArguments"] == words
    task = b"".join(service.plan("task", str(home), ["/r s"], {}).changes.steps[0].pieces())  # type: ignore[union-attr]
    found = ET.fromstring(task.decode("utf-16"))  # noqa: S314 - our own
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    assert found.findtext(f".//{space}Command") == words[0]
    assert found.findtext(f".//{space}Arguments") == subprocess.list2cmdline(words[1:])
    line = service.with_job("", words).splitlines()[1].split(" ", 5)[5].replace("\\%", "%")
    command = ["sh", "-c", f"printf '%s\\n' {line}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == words


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_accepts_the_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = service.plan("systemd", str(tmp_path), [], {}).changes.steps
    units = []
    for step in made:
        place = tmp_path / os.path.basename(step.path)
        place.write_bytes(b"".join(step.pieces()))  # type: ignore[union-attr]
        units.append(str(place))
    command = ["systemd-analyze", "--user", "verify", *units]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "hansard" in line]
    assert ours == []


def test_the_daily_run(run: Run, root: Path) -> None:
    assert "2 transcripts" in run("guard", "run").stdout
    age(root)
    configure(f'[retention]\nfree_after_days = 30\nhold = ["{OTHER}"]\n')
    done = json.loads(run("guard", "run", "--json").stdout)
    assert done["freed_bytes"] > 0
    assert done["deleted_bytes"] == 0
    assert not list(root.rglob(f"{SESSION}.jsonl"))
    assert list(root.rglob(f"{OTHER}.jsonl"))
    last = json.loads(run("guard", "--json").stdout)["last_run"]
    assert (last["error"], last["freed_bytes"]) == ("", done["freed_bytes"])
    assert "Last run just now." in run("guard").stdout


def test_the_daily_run_searches_for_secrets(run: Run, root: Path) -> None:
    run("sync")
    before = json.loads(run("status", "--json").stdout)["unscanned_bytes"]
    assert before > 0
    assert "not searched yet: run `hansard secrets scan`" in run("status").stdout
    assert json.loads(run("guard", "run", "--json").stdout)["searched_bytes"] == before
    assert json.loads(run("status", "--json").stdout)["unscanned_bytes"] == 0
    assert "not searched" not in run("status").stdout
    assert json.loads(run("guard", "--json").stdout)["last_run"]["searched_bytes"] == before


def test_a_daily_run_that_fails_says_so(run: Run, root: Path, tmp_path: Path) -> None:
    run("sync")
    home = json.loads(run("status", "--json").stdout)["home"]
    with open(os.path.join(home, "record.db"), "r+b") as file:
        file.write(b"x" * 4096)
    failed = run("guard", "run", code=None)
    assert failed.exit_code != 0
    assert "which failed" in run("guard").stdout
