"""Requests about stored bytes, files and repositories: commands that only list and search do not import them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hansard.model.audit import SEVERITIES
from hansard.model.requests import (
    Cursor,
    Limit,
    Project,
    ReportQuery,
    Timezone,
    UsageRequest,
    about,
    at_or_after,
    before,
)

if TYPE_CHECKING:
    from hansard.model.sessions import Session  # noqa: TC004 - msgspec does not evaluate the annotation

EXPORT_FORMATS = ("html", "markdown", "json", "jsonl", "csv", "parquet", "atif", "traces", "otlp", "bulk")
FREE_KINDS = ("transcript", "subagent", "tool_result", "file_history", "paste", "todo", "shell")
Progress = Callable[[int, int], None]  # done, total


class LostSessionsRequest(Struct, frozen=True, kw_only=True):
    """Sessions whose transcripts are lost."""

    project: Project = None
    since: Annotated[datetime | None, at_or_after("Active at")] = None
    until: Annotated[datetime | None, before("Active before")] = None
    limit: Limit = 50


class BlameRequest(Struct, frozen=True):
    """Who wrote each line of a file; `lines` are the first and the last one."""

    path: Annotated[str, about("The file.")]
    lines: tuple[int, int] | None = None
    rev: Annotated[
        str | None,
        about("The file as it was in this commit, branch or tag; default: the working tree.", metavar="COMMIT"),
    ] = None


class _OptionalSession(Struct, frozen=True):
    session: str | None = None


class CommitsRequest(_OptionalSession, frozen=True, kw_only=True):
    """The commits that a session contributed to, or those of all sessions in a repository."""

    repository: Annotated[
        str | None,
        about("A folder in the repository; default: the current directory, or the session's project.", metavar="DIR"),
    ] = None
    limit: Limit = 50
    progress: Progress | None = None


class VerifyRequest(Struct, frozen=True, kw_only=True):
    """A check of the record, and of the indexes against it."""

    deep: Annotated[bool, about("Also check the database itself, and compare with the sources that still exist.")] = (
        False
    )
    full: Annotated[bool, about("Compare the indexes with the whole record instead of a sample.")] = False
    since: Annotated[
        str | None,
        about(
            "A revision noted earlier: prove that nothing stored by then was changed or removed.", metavar="REVISION"
        ),
    ] = None
    repair: Annotated[
        bool,
        about("Repair damage from sources that still have the bytes, re-read what differs, rebuild wrong indexes."),
    ] = False
    progress: Progress | None = None


class AuditRequest(ReportQuery, frozen=True, kw_only=True):
    """What to audit, and which risky operations to list."""

    session: str | None = None
    min_severity: Annotated[
        str, about("List only operations of at least this severity.", choices=SEVERITIES, metavar="SEVERITY")
    ] = "low"
    rules: Annotated[
        tuple[str, ...],
        about(
            "List only operations that this rule found, see docs/audit-rules.md; repeatable.",
            option="--rule",
            metavar="RULE",
        ),
    ] = ()
    limit: Annotated[
        int | None, about("Longest list of programs, files and addresses; the totals cover all.", ge=1, le=100_000)
    ] = 50
    progress: Progress | None = None  # calls read, calls to read


class _RestoreTo(Struct, frozen=True):
    names: Iterable[str] | None
    to: Annotated[
        str, about("Target directory; with a Claude config directory, sessions go back in place.", metavar="DIR")
    ]


class RestoreRequest(_RestoreTo, frozen=True, kw_only=True):
    """The sessions to write back as files; None: everything."""

    all_generations: Annotated[
        bool, about("Include other generations of rewritten files, with a number appended to the name.")
    ] = False


class _Names(Struct, frozen=True):
    names: Sequence[str] = ()


class ForgetRequest(_Names, frozen=True, kw_only=True):
    """What to forget: sessions, a project, single messages, every line and file that a query finds, or secrets wherever they are."""

    project: Annotated[
        str | None,
        about("Forget all sessions of this project: its path, or the name of its folder.", metavar="PROJECT"),
    ] = None
    match: Annotated[
        str | None, about("Forget every line and file that this query finds, in any session.", metavar="QUERY")
    ] = None
    messages: Annotated[
        Sequence[str], about("Forget this message only, by its uuid; repeatable.", option="--message", metavar="UUID")
    ] = ()
    secrets: Annotated[
        Sequence[str],
        about(
            "Forget this secret wherever it is written, by its id; what is around it stays; repeatable.",
            option="--secret",
            metavar="ID",
        ),
    ] = ()
    source: Annotated[bool, about("Also remove it from the client's own files, without a backup of them.")] = False
    keep_copies: Annotated[bool, about("Keep copies of its messages in other sessions, such as forks.")] = False


class ScrubRequest(_Names, frozen=True, kw_only=True):
    """The sessions whose secrets get placeholders in the client's own files."""

    backup: Annotated[
        bool,
        about(
            "Keep the former content in the record; without, it is erased there too, for good.",
            option="--backup/--no-backup",
        ),
    ] = True


class FreeRequest(_Names, frozen=True, kw_only=True):
    """Which files to remove from the client's folder once the record is proven to have them; by default all that can go."""

    project: Annotated[
        str | None, about("Only of this project: its path, or the name of its folder.", metavar="PROJECT")
    ] = None
    until: Annotated[
        datetime | None,
        about("Only files last changed before that: a date, or an age such as 90d.", option="--older-than --before"),
    ] = None
    kinds: Annotated[
        Sequence[str], about("Only files of this kind; repeatable.", option="--kind", choices=FREE_KINDS)
    ] = ()
    progress: Progress | None = None


class _ExportTo(Struct, frozen=True):
    sessions: Iterable[Session | str] | None
    to: Annotated[str | PathLike[str], about("The file or directory to write.", metavar="PATH")]


class ExportRequest(_ExportTo, frozen=True, kw_only=True):
    """The sessions to write to files, and the format; None: all sessions."""

    format: Annotated[
        str | None, about("Output format; by default, from the extension of PATH.", choices=EXPORT_FORMATS)
    ] = None
    tables: Annotated[
        Sequence[str], about("For csv and parquet: only this table; repeatable.", option="--table", metavar="NAME")
    ] = ()
    timezone: Annotated[
        str | None, about("Time zone shown in pages, e.g. Europe/Berlin; your own by default.", metavar="ZONE")
    ] = None
    force: Annotated[bool, about("Write everything again, and overwrite existing files.")] = False
    prune: Annotated[bool, about("Remove files of earlier exports whose sessions are not selected now.")] = False
    redact: Annotated[bool | str, about("How secrets are redacted: on, off or strict.")] = "on"
    progress: Progress | None = None


class SecretsRequest(Struct, frozen=True, kw_only=True):
    """Secrets that were found, those that need attention first."""

    state: Annotated[
        str, about("Only secrets in this state.", choices=("open", "rotated", "false-alarm", "accepted", "all"))
    ] = "open"
    confidence: Annotated[
        str | None,
        about(
            "high: only what has the form of a secret; medium: only what the words before it reveal.",
            choices=("high", "medium"),
        ),
    ] = None
    rule: Annotated[str | None, about("Only rules whose name contains this.", metavar="TEXT")] = None
    session: Annotated[str | None, about("Only secrets in this session.", metavar="SESSION")] = None
    project: Project = None
    limit: Limit = 50
    cursor: Cursor = None


class _Secret(Struct, frozen=True):
    secret: Annotated[str, about("The beginning of a secret's id, as `secrets` lists it.")]


class SecretRequest(_Secret, frozen=True, kw_only=True):
    """One secret, and every place that holds it."""

    elsewhere: Annotated[
        bool,
        about(
            "Also search the projects' working trees and git histories, and Hansard's exports: this reads them in full."
        ),
    ] = False


class _Pattern(Struct, frozen=True):
    pattern: str | bytes


class GrepRequest(_Pattern, frozen=True, kw_only=True):
    """A line-by-line search of every stored byte; `kinds` are kinds of files, `around=None` returns whole lines."""

    fixed: Annotated[bool, about("Treat REGEX as a literal string.", option="-F --fixed-strings")] = False
    ignore_case: Annotated[bool, about("Ignore case.", option="-i --ignore-case")] = False
    word: Annotated[bool, about("Match whole words only.", option="-w --word-regexp")] = False
    only_matching: Annotated[bool, about("Print only the matching parts.", option="-o --only-matching")] = False
    after: Annotated[int, about("Show N lines after each match.", ge=0, option="-A --after-context")] = 0
    before: Annotated[int, about("Show N lines before each match.", ge=0, option="-B --before-context")] = 0
    max_count: Annotated[int | None, about("Stop after N matching lines per file.", ge=0, option="-m --max-count")] = (
        None
    )
    limit: int | None = None
    sessions: Annotated[
        Collection[str] | None, about("Only in this session; repeatable.", option="--session", metavar="SESSION")
    ] = None
    project: Project = None
    kinds: Collection[str] | None = None
    all_generations: Annotated[bool, about("Include the other generations of rewritten files.")] = False
    around: int | None = 200  # characters on both sides of a match
    helpers: int | None = None  # search processes; None: as many as pay off
    re2: bool = True
    progress: Progress | None = None


class TeamPushRequest(Struct, frozen=True, kw_only=True):
    """A push of this machine's rows to a team's database: figures of every project, texts of those in `opened` only."""

    database: str
    machine: str
    opened: Sequence[str] = ()
    redact: bool | str = "on"
    schema: str = "hansard"
    progress: Progress | None = None


class LakePushRequest(Struct, frozen=True, kw_only=True):
    """A push of this machine's rows to a lake: figures of every project, texts of those in `opened` only.

    `key` makes the pseudonyms of person, machine and home directory; without one, a random key of this store does. With `names`
    they are written as they are.
    """

    target: str
    machine: str
    person: str
    key: str | None = None
    names: bool = False
    opened: Sequence[str] = ()
    redact: bool | str = "on"
    table: str = "parquet"
    progress: Progress | None = None


class LakeBuildRequest(Struct, frozen=True, kw_only=True):
    """A build of a lake from raw histories: `source` has a folder for each machine, or is that of `machine`.

    `person` has all of them; without, each machine is its own person. What else decides about rows is as in a push. A machine with more
    than `unit` MiB is built in parts. `tell` gets a line about what there is to do.
    """

    source: str
    target: str
    machine: str | None = None
    person: str | None = None
    key: str | None = None
    names: bool = False
    opened: Sequence[str] = ()
    redact: bool | str = "on"
    master: str | None = None
    unit: int = 256
    tell: Callable[[str], None] | None = None


LakePerson = Annotated[str | None, about("Only people whose name or pseudonym contains this.", metavar="TEXT")]
LakeEngine = Annotated[str, about("Where it is computed.", choices=("duckdb", "spark"))]
LakeMaster = Annotated[str | None, about("The cluster, for --engine spark: local[4], spark://HOST:PORT, yarn, ...")]


class LakeUsageRequest(UsageRequest, frozen=True, kw_only=True):
    """A report over all machines of a lake."""

    person: LakePerson = None
    engine: LakeEngine = "duckdb"
    master: LakeMaster = None


class LakeAuditRequest(Struct, frozen=True, kw_only=True):
    """Counts of risky operations over all machines of a lake."""

    since: Annotated[datetime | None, at_or_after()] = None
    until: Annotated[datetime | None, before()] = None
    timezone: Timezone = None
    by: Annotated[str | Sequence[str], about("What to group rows by; several with commas.")] = ("severity", "rule")
    project: Project = None
    person: LakePerson = None
    rule: Annotated[
        str | None, about("Only rules whose name contains this, see docs/audit-rules.md.", metavar="TEXT")
    ] = None
    min_severity: Annotated[
        str, about("Count only operations of at least this severity.", choices=SEVERITIES, metavar="SEVERITY")
    ] = "low"
    engine: LakeEngine = "duckdb"
    master: LakeMaster = None


SQL_ENGINES = ("sqlite", "duckdb")


class _Query(Struct, frozen=True):
    query: str


class SqlRequest(_Query, frozen=True, kw_only=True):
    """A query over the public views; `parameters` are the values of `$name` in it.

    With a `folder` there are only sessions of projects in it; `redact` redacts secrets although the engine shows them: "on", "strict".
    """

    parameters: Annotated[Mapping[str, str | int | float | None], about("The values of $name in the query.")] = {}
    engine: Annotated[
        str, about("Use this engine; DuckDB is for analytics, and has to be installed.", choices=SQL_ENGINES)
    ] = "sqlite"
    limit: Annotated[int | None, about("Return at most N rows.", ge=1)] = None
    timeout: Annotated[
        float, about("Stop after this many seconds; 0: never.", ge=0, le=1_000_000, metavar="SECONDS")
    ] = 60.0
    memory: Annotated[int, about("The query may use this much memory, in MiB.", ge=64, le=1 << 30)] = 1024
    allow_external: Annotated[bool, about("Let the query read and write files, and use the network (DuckDB only).")] = (
        False
    )
    folder: str | None = None
    redact: bool | str = "off"
    most_bytes: int | None = None  # of all texts in the answer
