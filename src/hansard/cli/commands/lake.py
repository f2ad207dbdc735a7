"""`hansard lake`: Parquet files of many machines, for DuckDB and Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.commands.usage import answer_usage, show_budgets
from hansard.cli.context import SLOW_SECONDS, Command, Context, Group, common, none_found, note, now, reads, warn
from hansard.cli.output.progress import BytesBar
from hansard.cli.push import lake_target, push_lake, pushed_line
from hansard.cli.request_options import LEDGER_FILTERS, ORDER, takes
from hansard.errors import UsageError
from hansard.model.store_requests import LakeAuditRequest, LakeUsageRequest
from hansard.model.table import Column, Kind, Table
from hansard.render.format import many, size

if TYPE_CHECKING:
    from hansard.lake import LakeBuildReport

_FILTERS = LEDGER_FILTERS.replace(" match", "")
_BY = "total, hour, day, week, month, session, project, group, model, client, agent, branch, person, machine"
_BY_RISK = "total, rule, severity, outcome, hour, day, week, month, session, project, group, client, person, machine"
_MACHINES = (
    Column("MACHINE", Kind.TEXT),
    Column("PERSON", Kind.TEXT),
    Column("PUSHED", Kind.TIME),
    Column("SESSIONS", Kind.COUNT),
    Column("SIZE", Kind.BYTES),
)
_TARGET = click.argument("target", required=False)


@click.group(cls=Group)
@common
def lake(_: Context) -> None:
    """Parquet files with the figures of many machines, which DuckDB and Spark read as one history.

    TARGET is a directory, or an object store such as s3://bucket/folder; the configuration file can name it instead. People,
    machines and home directories get pseudonyms; texts leave this machine only for the projects in open_projects. Every command
    takes --json.

    Examples:
      hansard lake push s3://team-bucket/hansard
      hansard lake report --by person,model --since 30d
      hansard lake report --engine spark --master spark://head:7077
      hansard lake status
    """


@lake.command(cls=Command)
@_TARGET
@click.option("--machine", metavar="NAME", help="The name of this machine; by default its host name.")
@click.option("--person", metavar="NAME", help="Whose machine it is; by default the login here.")
@click.option(
    "--table", type=click.Choice(["parquet", "delta"]), help="Plain Parquet files, or Delta tables. [parquet]"
)
@click.option("--names", is_flag=True, default=None, help="Write names as they are, not pseudonyms.")
@reads
def push(
    cli: Context, target: str | None, machine: str | None, person: str | None, table: str | None, names: bool | None
) -> None:
    """Write what changed since the last push: figures of every project, texts only of the projects in open_projects.

    Readers see a push when its manifest is replaced, so an interrupted one changes nothing, and the next one goes on.

    Examples:
      hansard lake push s3://team-bucket/hansard
      hansard lake push /mnt/team/hansard --machine laptop
      hansard lake push --names --person ann
      hansard lake push --table delta
    """
    with cli.reading() as h, BytesBar("Pushing", after=SLOW_SECONDS) as bar:
        report = push_lake(cli, h, target, machine=machine, person=person, table=table, names=names, progress=bar)
    cli.answer(report, lambda: [pushed_line(report)])


@lake.command(cls=Command)
@click.argument("source")
@_TARGET
@click.option("--machine", metavar="NAME", help="SOURCE is the history of this machine, not a folder of machines.")
@click.option("--person", metavar="NAME", help="Whose machines they are; by default each has the name of its machine.")
@click.option("--names", is_flag=True, default=None, help="Write names as they are, not pseudonyms.")
@click.option("--master", metavar="TEXT", help="The cluster: local[4], spark://HOST:PORT, yarn, ...")
@click.option(
    "--unit",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    metavar="MIB",
    help="Build a machine with more than this in parts.",
)
@common
def build(
    cli: Context,
    source: str,
    target: str | None,
    machine: str | None,
    person: str | None,
    names: bool | None,
    master: str | None,
    unit: int,
) -> None:
    """Build the rows of many machines from copies of their histories, on a Spark cluster: what each of them would push.

    SOURCE is a directory or an object store with a folder for each machine, which has roots such as copies of ~/.claude in it. What was
    built and has not changed is left, also after a build that was interrupted. Rows of machines that are gone from SOURCE stay.

    Examples:
      hansard lake build /srv/histories s3://team-bucket/hansard --master spark://head:7077
      hansard lake build /srv/histories/laptop /mnt/team/hansard --machine laptop
      hansard lake build s3://backups/agents --names
    """
    settings = cli.settings()
    known = settings.lake
    with cli.engine(settings) as h:
        report = h.build_lake(
            source=source,
            target=lake_target(cli, target),
            machine=machine,
            person=person,
            key=known.get("key"),
            names=bool(known.get("names") if names is None else names),
            opened=settings.open_projects,
            redact=settings.redact_outgoing,
            master=master,
            unit=unit,
            tell=note,
        )
    for line in report.unreadable:
        warn(f"not read: {line}")
    for line in report.failed:
        warn(f"not built: {line}")
    for name in report.empty:
        warn(f"{name}: no history of a known client")
    cli.answer(report, lambda: [_built(report)])
    if report.failed:
        raise click.exceptions.Exit(1)


def _built(report: LakeBuildReport) -> str:
    rate = report.read / 1e6 / report.cpu_seconds if report.cpu_seconds else 0
    done = f"{many(report.built, 'unit')} built, {report.unchanged:,} unchanged, {len(report.failed):,} failed"
    return (
        f"{many(report.machines, 'machine')}: {done}; {many(report.sessions, 'session')}, {many(report.rows, 'row')},"
        f" {size(report.bytes)} from {size(report.read)}, {report.seconds:.1f} s"
        f" ({report.cpu_seconds:.1f} s of CPU time, {rate:.1f} MB/s for each core)"
    )


@lake.command(cls=Command)
@_TARGET
@takes(
    LakeUsageRequest,
    click.option(
        "--by", metavar="WHAT", default="day", show_default=True, help=f"Group rows by: {_BY}; several with commas."
    ),
    f"{_FILTERS} person engine master mode breakdown sort",
    ORDER,
    click.option("--check", is_flag=True, help="Report only the lake's budgets; exit with 1 if one is exceeded."),
)
@common
def report(cli: Context, request: LakeUsageRequest, target: str | None, order: str | None, check: bool) -> None:
    """Report tokens and cost of all machines, each message once: the same figures and JSON as `hansard usage`.

    It is computed by DuckDB here, or by Spark on a cluster. A session that several machines have counts for the machine with
    the most of it. Budgets are those below [lake.budgets] in the configuration.

    Examples:
      hansard lake report --by person,model --since 30d
      hansard lake report /mnt/team/hansard --by project --json
      hansard lake report --engine spark --master local[4]
      hansard lake report --check
    """
    from hansard.lake import Lake

    settings = cli.settings()
    limits = settings.lake.get("budgets", ())
    if check and not limits:
        from hansard.directories import config_path

        raise UsageError(
            f"no budget of the lake is set: add for example [lake.budgets] and below it month = 5000 to {config_path()}"
        )
    request = replace(request, ascending=None if order is None else order == "asc")
    with Lake(lake_target(cli, target)) as opened:
        found = None if check else opened.usage(request, groups=settings.groups)
        asked = replace(request, now=now())
        budgets = opened.budgets(limits, asked) if limits else []
    if found is None:
        show_budgets(cli, budgets)
        return
    answer_usage(cli, found, request, budgets if limits else None)
    if not found.rows:
        none_found("no usage matches")


@lake.command(cls=Command)
@_TARGET
@takes(
    LakeAuditRequest,
    click.option(
        "--by",
        metavar="WHAT",
        default="severity,rule",
        show_default=True,
        help=f"Group rows by: {_BY_RISK}; several with commas.",
    ),
    "since until timezone project person rule min_severity engine master",
)
@common
def audit(cli: Context, request: LakeAuditRequest, target: str | None) -> None:
    """Count the risky operations of all machines, each once, by the rules of `hansard audit`.

    What was done to which file stays on the machine: `hansard audit` shows it there.

    Examples:
      hansard lake audit --since 30d
      hansard lake audit /mnt/team/hansard --by person,rule --min-severity high
      hansard lake audit --by month,severity --json
    """
    from hansard.lake import Lake

    with Lake(lake_target(cli, target)) as opened:
        found = opened.audit(request, groups=cli.settings().groups)
    columns = [*(Column(name.upper(), Kind.TEXT) for name in found.by), Column("OPERATIONS", Kind.COUNT)]
    rows = [[*(row[name] or "" for name in found.by), row["operations"]] for row in found.rows]
    total = ", ".join(f"{count:,} {severity}" for severity, count in found.operations.items())
    cli.answer(found, lambda: [*cli.draw(Table(columns, rows), cut=True), "", total])
    if not found.rows:
        none_found("no risky operation matches")


@lake.command(cls=Command)
@_TARGET
@common
def status(cli: Context, target: str | None) -> None:
    """Show the machines that have pushed.

    Examples:
      hansard lake status
      hansard lake status /mnt/team/hansard --json
    """
    from hansard.lake import Lake

    with Lake(lake_target(cli, target)) as opened:
        found = opened.status()
    rows = [(one.machine, one.person, one.pushed_at, one.sessions, one.bytes) for one in found.machines]
    cli.answer(found, lambda: cli.draw(Table(_MACHINES, rows)))
    if not found.machines:
        none_found("nothing was pushed there yet")
