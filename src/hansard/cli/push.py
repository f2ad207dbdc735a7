"""Pushing to a team's database and to a lake: what commands, the guard and the agent have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.render.format import many, size
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.cli.context import Context
    from hansard.cli.team_address import Place
    from hansard.engine import Hansard
    from hansard.lake import LakeReport
    from hansard.model.store_requests import Progress
    from hansard.team import PushReport


def push_team(
    cli: Context, h: Hansard, place: Place, *, machine: str | None = None, progress: Progress | None = None
) -> PushReport:
    """Push to a team's database what changed, as this machine is called there."""
    settings = cli.settings()
    return h.push_team(
        database=place.url,
        schema=place.schema,
        machine=machine or settings.team.get("machine") or _host(),
        opened=settings.open_projects,
        redact=settings.redact_outgoing,
        progress=progress,
    )


def push_lake(
    cli: Context,
    h: Hansard,
    target: str | None = None,
    *,
    machine: str | None = None,
    person: str | None = None,
    table: str | None = None,
    names: bool | None = None,
    progress: Progress | None = None,
) -> LakeReport:
    """Write to a lake what changed; what is not given is as the configuration says."""
    settings = cli.settings()
    known = settings.lake
    return h.push_lake(
        target=lake_target(cli, target),
        machine=machine or known.get("machine") or _host(),
        person=person or known.get("person") or _login(),
        key=known.get("key"),
        names=bool(known.get("names") if names is None else names),
        opened=settings.open_projects,
        table=table or known.get("table", "parquet"),
        redact=settings.redact_outgoing,
        progress=progress,
    )


def lake_target(cli: Context, target: str | None = None) -> str:
    """The lake at a target, or the configured one."""
    found: str | None = target or cli.settings().lake.get("target")
    if found is None:
        from hansard.directories import config_path

        raise UsageError(
            "no lake is named: give a directory or the URL of an object store, or add for example [lake] and below it"
            f' target = "s3://bucket/hansard" to {config_path()}'
        )
    return found


def pushed_line(report: PushReport | LakeReport) -> str:
    """What a push did, in one line."""
    done = f"{many(report.sessions, 'session')} pushed, {report.unchanged:,} unchanged"
    if report.removed:
        done += f", {report.removed:,} removed"
    files = getattr(report, "files", None)
    written = "" if files is None else f", {size(report.bytes)} in {many(files, 'file')}"  # type: ignore[union-attr]
    opened = ", ".join(map(one_line, report.opened)) or "no project"
    took = f"{many(report.rows, 'row')}{written} in {report.seconds:.1f} s"
    return f"{one_line(report.machine)}: {done}; {took}. Texts of: {opened}"


def _host() -> str:
    import platform

    return platform.node() or "machine"


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
