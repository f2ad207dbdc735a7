"""The store's state and its diagnosis, for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from hansard.model.table import Column, Table
from hansard.render.format import ago, ahead, clean_up, describe_unread, incomplete, many, odd_lines, of_client, size
from hansard.render.terminal.tables import draw_table
from hansard.render.text import Paint, fit, fit_path, one_line, wrap

if TYPE_CHECKING:
    from hansard.model.health import Diagnosis, NotKept, Status

_SHOWN = 5
_LEVELS = {"ok": ("ok", "green"), "note": ("note", "blue"), "warning": ("warning", "yellow"), "error": ("ERROR", "red")}


def status_lines(
    answer: Status, moment: datetime, columns: int, paint: Paint, *, syncing: bool = False
) -> Iterator[str]:
    from hansard.model.health import describe_link

    disk = answer.record_bytes + answer.index_bytes + answer.text_bytes
    rows = [("Store", fit_path(one_line(answer.home), columns - 12))]
    rows.append(("", f"last complete sync {ago(answer.last_sync, moment)}"))
    if answer.sync_progress:
        rows.append(("", f"a sync is running: {answer.sync_progress.words}"))
    if answer.sync_error:
        rows.append(("Sync", f"failed: {one_line(answer.sync_error)}"))
    empty = f" and {many(answer.empty_sessions, 'empty one')}" if answer.empty_sessions else ""
    rows.append(
        (
            "Kept",
            f"{many(answer.transcripts, 'transcript')}, {many(answer.sessions, 'session')}{empty}, {many(answer.projects, 'project')}",
        )
    )
    rows.append(
        (
            "",
            f"{many(answer.messages, 'API message')}, {many(answer.tool_calls, 'tool call')}, {many(answer.records, 'record')}",
        )
    )
    former = [many(answer.gone_transcripts, "transcript") + " gone from the source"] if answer.gone_transcripts else []
    former += [many(answer.freed_transcripts, "transcript") + " freed"] if answer.freed_transcripts else []
    former += [many(answer.former_generations, "former generation")] if answer.former_generations else []
    if former:
        rows.append(("", ", ".join(former)))
    rows.append(("Size", f"{size(answer.kept_bytes)} kept in {size(disk)}"))
    rows.append(
        ("", f"record {size(answer.record_bytes)}, index {size(answer.index_bytes)}, text {size(answer.text_bytes)}")
    )
    if answer.unproven:
        rows.append(("Unproven", f"{many(answer.unproven, 'content')}: see `hansard verify`"))
    if answer.unscanned_bytes:
        rows.append(("Secrets", f"{size(answer.unscanned_bytes)} not searched yet: run `hansard secrets scan`"))
    if answer.issues:
        rows.append(("Issues", f"{odd_lines(answer.issues)}: see `hansard doctor`"))
    if answer.problems:
        rows.append(("Problems", incomplete(answer.problems)))
        rows += [("", f"{one_line(item.subject)}: {one_line(item.reason)}") for item in answer.problems[1:_SHOWN]]
    if answer.left_out:
        rows.append(("Left out", f"{many(len(answer.left_out), 'item')}:"))
        rows += [
            ("", f"{fit_path(one_line(item.path), columns - 40)} ({_why(item)})") for item in answer.left_out[:_SHOWN]
        ]
    yield from _facts(rows, columns, paint)
    yield ""
    for root in answer.roots:
        running = f", {many(root.running, 'client')} running" if root.running else ""
        yield from _facts(
            [
                ("Root", fit_path(one_line(root.path), columns - 12)),
                (
                    "",
                    f"{of_client(root.client)}{many(root.files, 'file')}, {size(root.bytes)}; {clean_up(root.cleanup_days)}{running}",
                ),
                *(("", f"cannot read {one_line(line)}") for line in root.unreadable[:_SHOWN]),
                *(("", one_line(describe_link(link))) for link in root.unfollowed_links[:_SHOWN]),
            ],
            columns,
            paint,
        )
    if answer.unread:
        yield from _facts([("Not read", describe_unread(item)) for item in answer.unread], columns, paint)
    if not answer.roots:
        yield from _facts([("Root", "none: nothing new can be synced")], columns, paint)
    yield ""
    yield from _facts(
        [("Clean-up", line) for line in cleanup_lines(answer, moment, syncing=syncing)][:1], columns, paint
    )
    soon = [
        (
            ahead(item.deleted_at, moment),
            size(item.size),
            "kept" if item.kept else "NOT KEPT",
            one_line(item.path.rsplit("/", 1)[-1]),
        )
        for item in answer.doomed[:_SHOWN]
    ]
    shape = (Column(""), Column("", right=True), Column("", style="green"), Column("", least=10, style="dim"))
    yield from draw_table(Table(shape, soon), columns, paint, header=False, indent=" " * 12)
    if len(answer.doomed) > _SHOWN:
        yield " " * 12 + f"and {len(answer.doomed) - _SHOWN:,} more"


def cleanup_lines(answer: Status, moment: datetime, *, syncing: bool = False) -> list[str]:
    """The next deletions of the client, in one sentence."""
    if not answer.doomed:
        return ["the client deletes nothing in the next 7 days"]
    count = len(answer.doomed)
    kept = "all kept here" if not answer.doomed_unkept else f"{answer.doomed_unkept:,} NOT kept yet: run `hansard sync`"
    if answer.doomed_unkept and (syncing or answer.sync_progress is not None):
        kept = f"{answer.doomed_unkept:,} not kept yet, a sync is running"
    total = sum(item.size for item in answer.doomed)
    first = ahead(answer.doomed[0].deleted_at, moment)
    return [f"the client deletes {many(count, 'transcript')} ({size(total)}) within 7 days, the first {first}; {kept}"]


def _why(item: NotKept) -> str:
    """The size of a file that is not kept, and the reason; tables of a database have no size."""
    return ", ".join(filter(None, (size(item.bytes) if item.bytes else "", one_line(item.reason))))


def _facts(rows: list[tuple[str, str]], columns: int, paint: Paint) -> Iterator[str]:
    """Labelled lines with hanging indents."""
    for name, text in rows:
        first, *more = wrap(text, columns - 12) or [""]
        yield f"{paint(name.ljust(10), 'heading')}  {first}".rstrip()
        yield from (" " * 12 + line for line in more)


def doctor_lines(answer: Diagnosis, columns: int, paint: Paint) -> Iterator[str]:
    for finding in answer.findings:
        word, style = _LEVELS.get(finding.level, (finding.level, "yellow"))
        first, *more = wrap(f"{finding.subject}: {one_line(finding.text)}", columns - 9)
        yield f"{paint(word.ljust(7), style)}  {first}"
        yield from (" " * 9 + line for line in more)
    if answer.issues:
        yield ""
        yield paint("Malformed lines, kept as they are", "heading")
        for issue in answer.issues:
            details = {one_line(example.detail) for example in issue.examples}
            common = details.pop() if len(details) == 1 else ""
            words = one_line(issue.reason).replace("_", " ") + (f": {common}" if common else "")
            yield fit(f"  {issue.count:>7,}  {words}", columns)
            for example in issue.examples:
                own = f"{fit(one_line(example.detail), columns // 3)}, " if example.detail and not common else ""
                place = f"{own}at {example.offset:,} in "
                yield f"           {place}{fit_path(one_line(example.transcript), columns - 11 - len(place))}"
    if answer.drift:
        yield ""
        yield paint("Records and fields that Hansard does not know yet", "heading")
        shape = (
            Column("CLIENT"),
            Column("COUNT", right=True),
            Column("RECORD", least=10),
            Column("FIELD", least=8),
            Column("FIRST SEEN", rank=1, style="dim"),
        )
        rows = [
            (
                one_line(item.version) or "-",
                f"{item.count:,}",
                one_line(item.kind),
                one_line(item.field) or "(new kind)",
                fit_path(one_line(item.transcript.rsplit("/", 1)[-1]), 20) + f" at {item.offset:,}",
            )
            for item in answer.drift[:30]
        ]
        yield from draw_table(Table(shape, rows), columns, paint, indent="  ")
        if len(answer.drift) > 30:
            yield f"  and {len(answer.drift) - 30:,} more: --json lists all"
