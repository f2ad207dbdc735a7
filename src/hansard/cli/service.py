"""The daily run of Hansard: what each system's scheduler is given."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from xml.sax.saxutils import escape

from msgspec import Struct

from hansard.changes.plan import ChangeSet, Write, content
from hansard.cli.background import START
from hansard.errors import HansardError, NotFound

PURPOSE = "guard"
_NAME = "hansard-guard"
_LABEL = "io.hansard.guard"
_TITLE = "Hansard: store new history, apply retention"
_HOUR, _MINUTE = 11, 45  # in most zones a machine that is used at all is on then
_FOLDER = "guard"
_TIMEOUT = 60
_BEGIN, _END = "# hansard guard: begin", "# hansard guard: end"


class Command(Struct, frozen=True):
    """A command of the scheduler, with what it reads."""

    argv: tuple[str, ...]
    given: bytes | None = None

    def run(self) -> None:
        """Run it; raises with what it said if it fails."""
        try:
            done = subprocess.run(self.argv, input=self.given, capture_output=True, timeout=_TIMEOUT, check=False)  # noqa: S603 - shown before
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HansardError(f"{self.argv[0]}: {error}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise HansardError(f"{' '.join(self.argv)}: exit code {done.returncode}: {said[:500]}")


class Service(Struct, frozen=True):
    """What an installation writes and runs, and what is run before its files are removed, and after."""

    scheduler: str
    changes: ChangeSet
    start: tuple[Command, ...]


def job(home: str, roots: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """The command of the daily run."""
    named = [word for root in roots for word in ("--root", root)]
    return [sys.executable, "-P", "-c", START, "guard", "run", *options, "--home", home, *named]


def choose(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """The scheduler of this system."""
    if platform == "darwin":
        return "launchd"
    if platform == "win32":
        return "task"
    if shutil.which("systemctl", path=environ.get("PATH")):
        asked = ("systemctl", "--user", "show-environment")
        done = subprocess.run(asked, capture_output=True, timeout=_TIMEOUT, check=False)  # noqa: S603 - a fixed command
        if done.returncode == 0:
            return "systemd"
    if shutil.which("crontab", path=environ.get("PATH")):
        return "cron"
    raise NotFound(
        "no scheduler found: no systemd runs for this user, and crontab is not installed. Have `hansard guard run` run daily by other means"
    )


def plan(
    scheduler: str, home: str, roots: Sequence[str], environ: Mapping[str, str], options: Sequence[str] = ()
) -> Service:
    """What installing the daily run, with these options, changes."""
    return _PLANS[scheduler](os.path.realpath(home), job(os.path.realpath(home), roots, options), environ)


def stop(scheduler: str) -> list[Command]:
    """What ends the daily run, before its files are removed."""
    if scheduler == "systemd":
        return [Command(("systemctl", "--user", "disable", "--now", f"{_NAME}.timer"))]
    if scheduler == "launchd":
        return [Command(("launchctl", "bootout", f"gui/{_uid()}/{_LABEL}"))]
    if scheduler == "task":
        return [Command(("schtasks", "/Delete", "/F", "/TN", _NAME))]
    rest = without_job(_crontab())
    return [Command(("crontab", "-"), rest.encode()) if rest else Command(("crontab", "-r"))]


def after_removal(scheduler: str) -> list[Command]:
    """What makes the scheduler forget the files that are gone."""
    return [Command(("systemctl", "--user", "daemon-reload"))] if scheduler == "systemd" else []


def _changes(scheduler: str, base: str, files: Mapping[str, bytes]) -> ChangeSet:
    steps = tuple(
        Write(os.path.join(base, *path.split("/")), content(data), mode=0o600) for path, data in files.items()
    )
    return ChangeSet(PURPOSE, f"daily run by {scheduler}", (base,), steps, {"scheduler": scheduler})


def _systemd(_home: str, words: Sequence[str], environ: Mapping[str, str]) -> Service:
    config = environ.get("XDG_CONFIG_HOME", "")
    base = os.path.realpath(config if os.path.isabs(config) else os.path.join(os.path.expanduser("~"), ".config"))
    service = f"""\
[Unit]
Description={_TITLE}

[Service]
Type=oneshot
ExecStart={" ".join(map(_systemd_word, words))}
Nice=10
IOSchedulingClass=idle
UMask=0077
"""
    timer = f"""\
[Unit]
Description={_TITLE}, daily and after login

[Timer]
OnCalendar=*-*-* {_HOUR:02}:{_MINUTE:02}:00
OnStartupSec=2min
Persistent=true

[Install]
WantedBy=timers.target
"""
    files = {f"systemd/user/{_NAME}.service": service.encode(), f"systemd/user/{_NAME}.timer": timer.encode()}
    start = (
        Command(("systemctl", "--user", "daemon-reload")),
        Command(("systemctl", "--user", "enable", "--now", f"{_NAME}.timer")),
    )
    return Service("systemd", _changes("systemd", base, files), start)


def _systemd_word(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _launchd(home: str, words: Sequence[str], _environ: Mapping[str, str]) -> Service:
    base = os.path.realpath(os.path.join(os.path.expanduser("~"), "Library"))
    data = plistlib.dumps(
        {
            "Label": _LABEL,
            "ProgramArguments": list(words),
            "RunAtLoad": True,  # also after each login
            "StartCalendarInterval": {"Hour": _HOUR, "Minute": _MINUTE},
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Umask": 0o077,
            "StandardErrorPath": os.path.join(home, "guard.log"),
        }
    )
    place = os.path.join(base, "LaunchAgents", f"{_LABEL}.plist")
    start = (Command(("launchctl", "bootstrap", f"gui/{_uid()}", place)),)
    return Service("launchd", _changes("launchd", base, {f"LaunchAgents/{_LABEL}.plist": data}), start)


def _task(home: str, words: Sequence[str], _environ: Mapping[str, str]) -> Service:
    program, *arguments = words
    xml = f"""\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>{escape(_TITLE)}</Description></RegistrationInfo>
  <Triggers>
    <CalendarTrigger>
      <StartBoundary>2026-01-01T{_HOUR:02}:{_MINUTE:02}:00</StartBoundary>
      <ScheduleByDay><DaysInterval>1</DaysInterval></ScheduleByDay>
    </CalendarTrigger>
    <LogonTrigger><Delay>PT2M</Delay></LogonTrigger>
  </Triggers>
  <Principals><Principal><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal></Principals>
  <Settings>
    <StartWhenAvailable>true</StartWhenAvailable>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <Priority>7</Priority>
  </Settings>
  <Actions><Exec><Command>{escape(program)}</Command><Arguments>{escape(subprocess.list2cmdline(arguments))}</Arguments></Exec></Actions>
</Task>
"""
    place = os.path.join(home, _FOLDER, "task.xml")
    start = (Command(("schtasks", "/Create", "/F", "/TN", _NAME, "/XML", place)),)
    return Service("task", _changes("task", home, {f"{_FOLDER}/task.xml": xml.encode("utf-16")}), start)


def _cron(home: str, words: Sequence[str], _environ: Mapping[str, str]) -> Service:
    table = with_job(_crontab(), words)
    place = os.path.join(home, _FOLDER, "crontab")
    return Service(
        "cron", _changes("cron", home, {f"{_FOLDER}/crontab": table.encode()}), (Command(("crontab", place)),)
    )


_PLANS: dict[str, Callable[[str, Sequence[str], Mapping[str, str]], Service]] = {
    "systemd": _systemd,
    "launchd": _launchd,
    "task": _task,
    "cron": _cron,
}


def with_job(table: str, words: Sequence[str]) -> str:
    """A user's crontab with the daily run, and one after each start of the machine."""
    line = " ".join(map(quote, words)).replace("%", "\\%")
    rest = without_job(table)
    rest += "" if not rest or rest.endswith("\n") else "\n"
    return f"{rest}{_BEGIN}\n{_MINUTE} {_HOUR} * * * {line}\n@reboot {line}\n{_END}\n"


def without_job(table: str) -> str:
    """The same crontab as it is without them."""
    before, begin, rest = table.partition(f"{_BEGIN}\n")
    _, end, after = rest.partition(f"{_END}\n")
    return before + after if begin and end else table


def _crontab() -> str:
    """The user's table; empty if there is none."""
    try:
        done = subprocess.run(("crontab", "-l"), capture_output=True, timeout=_TIMEOUT, check=False)  # noqa: S607 - found as the user's shell would
    except OSError as error:
        raise NotFound(f"crontab: {error.strerror or error}") from error
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else ""


def _uid() -> int:
    return os.getuid() if sys.platform != "win32" else 0
