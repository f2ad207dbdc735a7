"""Requests about stored bytes, files and repositories: commands that only list and search do not import them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hansard.model.requests import Limit, Project, about, at_or_after, before

if TYPE_CHECKING:
    from hansard.model.sessions import Session  # noqa: TC004 - msgspec does not evaluate the annotation

EXPORT_FORMATS = ("html", "markdown", "json", "jsonl", "csv", "parquet", "atif", "traces", "otlp")
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
    redact: Annotated[
        bool | None, about("Redact secrets; by default, in atif, traces and otlp only.", option="--redact/--no-redact")
    ] = None
    progress: Progress | None = None


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
    sessions: Collection[str] | None = None
    project: Project = None
    kinds: Collection[str] | None = None
    all_generations: Annotated[bool, about("Include the other generations of rewritten files.")] = False
    around: int | None = 200  # characters on both sides of a match
    helpers: int | None = None  # search processes; None: as many as pay off
    re2: bool = True
    progress: Progress | None = None
