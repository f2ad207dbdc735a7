"""The state of the store: counts, sizes, issues, problems, drift, and what the client's cleanup will delete next."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.clients import client_of
from hansard.errors import HansardError
from hansard.model.files import Drift, IssueExample, IssueKind, Problem
from hansard.model.health import Doomed, Finding, NotKept, RootStatus, Status, UnfollowedLink, describe_link
from hansard.model.time import from_milliseconds
from hansard.query.duplicates import count_calls
from hansard.query.reader import Reader
from hansard.sources.discover import Found, LeftOut, Walk, discover
from hansard.sources.roots import LOG_KINDS, FileKind, Root
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.heartbeat import Heartbeat, heartbeat, sync_progress

if TYPE_CHECKING:
    from hansard.record.store import Record

_TRANSCRIPTS = frozenset({FileKind.MAIN, FileKind.AGENT})
_EXAMPLES = 3
_WARNED_DAYS = 7  # before the client deletes a transcript


def read_status(
    reader: Reader,
    record: Record | None,
    home: str,
    roots: Sequence[Root],
    *,
    walks: Mapping[str, Walk] = MappingProxyType({}),
) -> Status:
    """Everything `hansard status` shows; roots whose paths are not in `walks` are walked."""
    counts = reader.one(
        "SELECT (SELECT count(*) FROM sessions WHERE debris = 0), (SELECT count(DISTINCT project) FROM sessions WHERE debris = 0),"
        " (SELECT count(*) FROM transcripts WHERE state <> 'rewritten'), (SELECT count(*) FROM transcripts WHERE state = 'gone'),"
        " (SELECT count(*) FROM transcripts WHERE state = 'rewritten'), (SELECT coalesce(sum(records), 0) FROM transcripts WHERE current = 1),"
        " (SELECT coalesce(sum(messages), 0) FROM sessions), (SELECT coalesce(sum(count), 0) FROM issues),"
        " (SELECT value FROM meta WHERE name = 'synced_at'), (SELECT count(*) FROM sessions WHERE debris = 1),"
        " (SELECT count(*) FROM transcripts WHERE state = 'freed')"
    )
    health = read_health(reader, record, home, roots, walks)
    pulse = health.pulse
    doomed = []
    for root, looked in zip(roots, health.roots, strict=True):
        days = looked.status.cleanup_days
        limit = time.time() - (days - _WARNED_DAYS) * 86400
        dates = _last_records(reader, root)
        for file in looked.found:
            date = dates.get(file.path, file.mtime_ns / 1e9)
            if file.kind not in _TRANSCRIPTS or date > limit:
                continue
            doomed.append(
                Doomed(
                    file.path,
                    root.path,
                    file.path.rsplit("/", 1)[-1].removesuffix(".jsonl"),
                    datetime.fromtimestamp(date, UTC) + timedelta(days=days),
                    file.size,
                    looked.known.has(file),
                )
            )
    doomed.sort(key=lambda item: (item.deleted_at, item.path))
    return Status(
        home=home,
        roots=tuple(looked.status for looked in health.roots),
        sessions=counts[0],
        empty_sessions=counts[9],
        projects=counts[1],
        transcripts=counts[2],
        gone_transcripts=counts[3],
        freed_transcripts=counts[10],
        former_generations=counts[4],
        records=counts[5],
        messages=counts[6],
        tool_calls=count_calls(reader),
        issues=counts[7],
        source_bytes=sum(looked.status.bytes for looked in health.roots),
        kept_bytes=record.kept_bytes() if record is not None else 0,
        record_bytes=_disk(home, "record.db"),
        index_bytes=_disk(home, "index.db"),
        text_bytes=_disk(home, "text.db"),
        last_sync=from_milliseconds(counts[8])
        if pulse.last_sync is None
        else datetime.fromtimestamp(pulse.last_sync, UTC),
        sync_error=pulse.error,
        sync_progress=sync_progress(home),
        problems=health.problems,
        left_out=tuple(NotKept(row.path, row.size, row.reason) for row in record.left_out())
        if record is not None
        else (),
        doomed=tuple(doomed),
        doomed_unkept=sum(not item.kept for item in doomed),
        unproven=len(record.unproven()) if record is not None else 0,
    )


class LookedAtRoot(NamedTuple):
    """A source root, its files, and which of them the record has."""

    status: RootStatus
    found: list[Found]
    known: _KeptFiles


class Health(NamedTuple):
    """What keeps the store from being complete; shown by `status` and `doctor`."""

    pulse: Heartbeat
    problems: tuple[Problem, ...]
    roots: tuple[LookedAtRoot, ...]

    def findings(self) -> Iterator[Finding]:
        """The same as findings of `doctor`."""
        if self.pulse.error is not None:
            yield Finding("error", "sync", f"the last sync did not finish: {self.pulse.error}")
        for problem in self.problems:
            what = "indexed" if problem.is_kept else "kept"
            text = f"{problem.subject} could not be {what}: {problem.reason}"
            yield Finding("warning" if problem.is_kept else "error", "quarantine", text)
        for root in self.roots:
            yield from (Finding("warning", "source", f"cannot read {line}") for line in root.status.unreadable)
            yield from (Finding("warning", "link", describe_link(link)) for link in root.status.unfollowed_links)


def _last_records(reader: Reader, root: Root) -> dict[str, float]:
    """The times of the last records of transcripts, if these decide when the client deletes them."""
    if not client_of(root.client).cleans_by_records:
        return {}
    sql = "SELECT path, max(last_ts) FROM transcripts WHERE root = ? AND last_ts IS NOT NULL GROUP BY path"
    return {path: last / 1000 for path, last in reader.rows(sql, (root.path,))}


def read_health(
    reader: Reader,
    record: Record | None,
    home: str,
    roots: Sequence[Root],
    walks: Mapping[str, Walk] = MappingProxyType({}),
) -> Health:
    """Check the last sync, what could not be kept or indexed, and the roots; those not in `walks` are walked."""
    known_roots = {row.path: row.id for row in record.roots()} if record is not None else {}
    looked = []
    for root in roots:
        found, unreadable, left_out = walks.get(root.path) or discover(root)
        known = _KeptFiles(record, known_roots.get(root.path))
        status = RootStatus(
            root.path,
            root.name,
            len(found),
            sum(file.kind in LOG_KINDS for file in found),
            sum(file.size for file in found),
            client_of(root.client).cleanup_days(root),
            sum(process.is_alive() for process in client_of(root.client).running(root)),
            tuple(f"{item.path}: {item.reason}" for item in unreadable),
            tuple(_unfollowed(root, left_out, known.paths() if any(item.target for item in left_out) else ())),
            root.client,
        )
        looked.append(LookedAtRoot(status, found, known))
    return Health(heartbeat(home), list_problems(reader, record), tuple(looked))


class _KeptFiles:
    """Which of one root's files the record has, read lazily."""

    def __init__(self, record: Record | None, root_id: int | None) -> None:
        self._record = record if root_id is not None else None
        self._root_id = root_id or 0
        self._settled: dict[str, tuple[int, int, int, int] | None] | None = None

    def has(self, file: Found) -> bool:
        """Whether a file is kept in its current state, by size and mtime."""
        if self._record is None:
            return False
        if self._settled is None:
            self._settled = self._record.settled_files(self._root_id)
        status = self._settled.get(file.path)
        if status is not None:
            return status[:2] == (file.size, file.mtime_ns)
        entry = self._record.known_file(self._root_id, file.path)
        return entry is not None and entry.offset == file.size and entry.mtime_ns == file.mtime_ns

    def paths(self) -> Iterable[str]:
        """Every file that was ever kept."""
        return self._record.known(self._root_id) if self._record is not None else ()


def _unfollowed(root: Root, left_out: Iterable[LeftOut], known: Iterable[str]) -> Iterator[UnfollowedLink]:
    """Links that the user may want followed, and our own data if it is in the root."""
    links = {item.path: item.target for item in left_out if item.target and item.target != root.path}
    kept = dict.fromkeys(links, 0)
    for file in known if links else ():
        path = file
        while path and path not in links:
            path = path.rpartition("/")[0]
        if path:
            kept[path] += 1
    for path, target in sorted(links.items()):
        yield UnfollowedLink(path, target, kept[path], root.is_own_data(target))


def _disk(home: str, name: str) -> int:
    total = 0
    for suffix in ("", "-wal"):
        try:
            total += os.stat(os.path.join(home, name + suffix)).st_size
        except OSError:
            continue
    return total


def list_issues(reader: Reader) -> tuple[IssueKind, ...]:
    """Issues by kind, most frequent first, with examples."""
    issues = "SELECT id, length, reason, detail, count FROM main.issues"
    with contextlib.suppress(HansardError):  # a damaged full text is reported elsewhere
        if reader.has_text:
            issues += (
                " UNION ALL SELECT id, length, reason, detail, 1 FROM full.issues"
                " WHERE (id, reason) NOT IN (SELECT id, reason FROM main.issues)"
            )
    kinds = list(reader.rows(f"SELECT reason, sum(count) FROM ({issues}) GROUP BY reason ORDER BY 2 DESC, 1"))
    examples: dict[str, list[IssueExample]] = {reason: [] for reason, _ in kinds}
    for reason, *row in reader.rows(
        f"SELECT reason, path, offset, length, detail, session_id FROM (SELECT i.reason, t.path, i.id & {OFFSET_MASK} AS offset,"
        " i.length, i.detail, t.session_id, row_number() OVER (PARTITION BY i.reason ORDER BY t.path, i.id) AS n"
        f" FROM ({issues}) i JOIN transcripts t ON t.id = i.id >> {OFFSET_BITS}) WHERE n <= ? ORDER BY reason, n",
        (_EXAMPLES,),
    ):
        examples[reason].append(IssueExample(*row))
    return tuple(IssueKind(reason, count, tuple(examples[reason])) for reason, count in kinds)


def list_drift(reader: Reader) -> tuple[Drift, ...]:
    """Record kinds and fields unknown to Hansard, per client version, with the first occurrence of each."""
    # SQLite guarantees that the bare columns beside a single min() come from the row with the minimum.
    rows = reader.rows(
        "SELECT d.version, d.kind, d.field, sum(d.count), min(t.path), d.first_offset, t.session_id FROM drift d"
        " JOIN transcripts t ON t.id = d.transcript GROUP BY d.version, d.kind, d.field ORDER BY d.version DESC, 4 DESC, d.kind, d.field"
    )
    return tuple(Drift(*row) for row in rows)


_TRANSCRIPT_STAGES = ("rows", "text")


def list_problems(reader: Reader, record: Record | None) -> tuple[Problem, ...]:
    """Every file that could not be kept, then everything kept that could not be indexed."""
    found: list[Problem] = []
    if record is not None:
        roots = {row.id: row.path for row in record.roots()}
        found += [
            Problem("read", f"{roots[item.root_id]}/{item.path}", item.reason, datetime.fromisoformat(item.since))
            for item in record.quarantined()
        ]
    rows = [
        *reader.rows("SELECT stage, subject, reason, since FROM quarantine ORDER BY stage, subject"),
        *_of_text(reader),
    ]
    for stage, subject, reason, since in rows:
        found.append(Problem(stage, _named(reader, record, stage, subject), reason, from_milliseconds(since)))
    return tuple(found)


def _of_text(reader: Reader) -> list[Any]:
    if not reader.has_text:
        return []
    return list(reader.rows("SELECT stage, subject, reason, since FROM full.quarantine ORDER BY stage, subject"))


def _named(reader: Reader, record: Record | None, stage: str, subject: str) -> str:
    """The path of a transcript or small file, or the id of a session."""
    if stage in _TRANSCRIPT_STAGES and record is not None:
        try:
            return record.generation(int(subject)).path
        except HansardError:
            return subject
    if stage in ("side_file", "snapshot"):
        row = reader.one("SELECT path FROM side_files WHERE id = ?", (int(subject),))
        return str(row[0]) if row else subject
    return subject
