"""`hansard team agent`: sync and push again and again, for the supervisors of a fleet."""

from __future__ import annotations

import contextlib
import random
import re
import threading
from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context, common, interrupted_by_sigterm, note, now, warn
from hansard.cli.push import lake_target, push_lake, push_team, pushed_line
from hansard.cli.team_address import Place, in_database
from hansard.errors import StoreBusy, StoreUnusable
from hansard.render.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    _ParamType = click.ParamType[int]
else:
    _ParamType = click.ParamType

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 900.0  # seconds between attempts while something cannot be reached
_SPREAD = 0.2  # of a pause, so that machines which began together do not push together
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST = 7 * 86_400


class Interval(_ParamType):
    """A time between two runs, such as 30s, 15m, 1h or 1d; in seconds."""

    name = "time"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of seconds."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,6})([smhd])", value.strip())
        seconds = int(found[1]) * _UNITS[found[2]] if found else 0
        if not 1 <= seconds <= _LONGEST:
            self.fail(f"{value!r} is not a time between 1s and 7d, such as 15m", param, ctx)
        return seconds


@click.command(cls=Command)
@click.option("--machine", metavar="NAME", help="The name of this machine there; by default its host name.")
@click.option("--every", type=Interval(), metavar="TIME", default="15m", help="Time between two runs, as 15m. [15m]")
@click.option("--once", is_flag=True, help="Run once, and fail if that does.")
@click.option("--lake", is_flag=True, help="Push to the configured lake too.")
@common
@in_database
def agent(cli: Context, place: Place, machine: str | None, every: int, once: bool, lake: bool) -> None:
    """Sync and push, now and every 15 minutes, in the foreground until SIGTERM: for supervisors of fleets.

    While the server or the lake cannot be reached, it tries again after pauses that grow from seconds to 15 minutes. Nothing is noted on this
    machine: the server notes what it has, in the transactions that brought it, so a run that is killed is completed by the next.

    Examples:
      hansard team agent
      hansard team agent --every 1h --machine build-7
      hansard team agent --once
      hansard team agent --lake
    """
    cli.must_sync("team agent")
    if lake:
        lake_target(cli)  # raises if none is configured
    stop = threading.Event()
    with interrupted_by_sigterm(stop), contextlib.suppress(KeyboardInterrupt):
        if once:
            _run(cli, place, machine, lake=lake)
            return
        note(f"{_stamp()} pushing every {every:,} s; SIGTERM stops")
        failed = pauses()
        while not stop.is_set():
            pause = spread(every)
            try:
                _run(cli, place, machine, lake=lake)
                failed = pauses()
            except (StoreBusy, StoreUnusable) as error:
                pause = next(failed)
                warn(f"{_stamp()} {one_line(str(error))}; next attempt in {pause:,.1f} s")
            stop.wait(pause)
    note(f"{_stamp()} stopped")


def _run(cli: Context, place: Place, machine: str | None, *, lake: bool) -> None:
    """A sync, then the pushes."""
    with cli.engine() as h:
        report = h.sync(wait_seconds=60)
        if report.busy:
            raise StoreBusy("another process is syncing")
        for line in report.unreadable:
            warn(f"cannot read {one_line(line)}")
        pushed = push_team(cli, h, place, machine=machine)
        note(f"{_stamp()} {pushed_line(pushed)}")
        in_lake = push_lake(cli, h, machine=machine) if lake else None
        if in_lake is not None:
            note(f"{_stamp()} {pushed_line(in_lake)}")
    if cli.as_json:
        cli.emit({"at": now(), "sync": report, "team": pushed, "lake": in_lake})


def pauses() -> Iterator[float]:
    """Pauses between attempts: each twice the one before up to a bound, and a little random."""
    pause = FIRST_PAUSE
    while True:
        yield min(spread(pause), LONGEST_PAUSE)
        pause = min(2 * pause, LONGEST_PAUSE)


def spread(seconds: float) -> float:
    """A random time near this one."""
    return seconds * random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311 - nothing is secret about it


def _stamp() -> str:
    return f"{now():%Y-%m-%dT%H:%M:%SZ}"
