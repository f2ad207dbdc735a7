"""`hansard lake push`: write the rows of this machine that changed.

1. Compare the state of each session with the one in the machine's manifest.
2. Write the parts (sessions of a month) that have changed ones: one Parquet file for each view, named from its content.
3. Replace the manifest, every few parts and at the end. Only now do readers see the new files.
4. Remove files that were replaced an hour ago, and those that a killed push left.

So a push that is killed anywhere changes nothing that readers see, and the next one goes on from the last manifest. Two machines write
different files. Two pushes from one store wait for each other.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.audit.report import find_operations
from hansard.audit.rules import VERSION as RULES
from hansard.errors import StoreBusy, UsageError
from hansard.files import FileLock
from hansard.lake.files import Files, clean
from hansard.lake.manifest import VERSION, File, Manifest, Origin, Part, read_manifest, write_manifest
from hansard.lake.names import Names, file_name, find_key
from hansard.lake.parts import UNKNOWN, Known, Planned, plan
from hansard.lake.relations import MACHINES, RELATIONS, RISKS, TABLES, columns_in_lake
from hansard.lake.storage import open_storage
from hansard.ledger.report import price_data
from hansard.model.time import from_milliseconds, to_milliseconds
from hansard.sql.local_rows import LocalRows
from hansard.sql.merging import USAGE_LINES
from hansard.sql.provided import Provider
from hansard.sql.tables import EVERY, PRICES
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.lake.storage import Storage
    from hansard.model.gate import Redact
    from hansard.model.store_requests import LakePushRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Record

FORMATS = ("parquet", "delta")
_TRANSCRIPTS = "SELECT root, path, generation, id FROM transcripts WHERE session_id IN (SELECT value FROM json_each(?))"
_CHECKPOINT = 10  # parts
_PATIENCE = 3.0  # seconds to wait for another push of the store
Progress = Callable[[int, int], None]


class LakeReport(Struct, frozen=True):
    """What a push did."""

    target: str
    machine: str
    person: str
    sessions: int  # that are new or changed
    removed: int  # sessions that are not here any more
    unchanged: int
    files: int  # written
    rows: int
    bytes: int
    opened: tuple[str, ...]  # projects whose content is pushed
    seconds: float


def push(
    reader: Reader,
    record: Record,
    home: str,
    request: LakePushRequest,
    redact: Redact | None,
    version: str = "",
) -> LakeReport:
    """Push what changed since the last push of this machine; `version` is that of Hansard."""
    key = None if request.names else find_key(home, request.key)
    names = Names(request.person, request.machine, key)
    pusher = Pusher(
        reader,
        record,
        open_storage(request.target),
        names,
        opened=request.opened,
        redact=names.cleaner(redact, [os.path.expanduser("~")]),
        mode=getattr(redact, "mode", str(redact is not None)),
        table=request.table,
        version=version,
    )
    return pusher.run(home, request.progress)


def settings_digest(names: Names, mode: str, table: str, *, is_built: bool) -> str:
    """Changes with what decides about the content of rows beside the sessions themselves."""
    columns = [columns_in_lake(name) for name in RELATIONS]
    who = (names.machine, names.person, names.is_pseudonymous)
    return blake2b(repr((table, mode, *who, columns, RULES, is_built)).encode(), digest_size=8).hexdigest()


class Pusher:
    """Writes what one index has as one machine of a lake.

    Texts pass `redact`; `mode` names how it redacts secrets. Of an index that was made from raw transcripts, `origin` says of which, and
    only the sessions that `is_wanted` are written.
    """

    def __init__(
        self,
        reader: Reader,
        record: Record,
        storage: Storage,
        names: Names,
        *,
        opened: Sequence[str] = (),
        redact: Redact | None = None,
        mode: str = "",
        table: str = "parquet",
        version: str = "",
        origin: Origin | None = None,
        is_wanted: Callable[[str], bool] | None = None,
    ) -> None:
        if table not in FORMATS:
            raise UsageError(f"unknown table format {table!r}; choose one of {', '.join(FORMATS)}")
        self._reader = reader
        self._record = record
        self._storage = storage
        self._names = names
        self._file_name = file_name(names.machine)
        self._local = LocalRows(reader, opened, redact)
        self._table = table
        self._version = version
        self._origin = origin
        self._is_wanted = is_wanted
        self._settings = settings_digest(names, mode, table, is_built=origin is not None)
        self._written: list[File] = []

    def run(self, home: str, progress: Progress | None = None) -> LakeReport:
        """Push, unless another push of the store runs."""
        with FileLock(os.path.join(home, "lake.lock"), _PATIENCE) as is_held:
            if not is_held:
                raise StoreBusy("another push of this store is running")
            began = time.perf_counter()
            with (
                tempfile.TemporaryDirectory(prefix="hansard-lake-") as scratch,
                self._reader.at_once(),
                closing(self._sink(scratch)) as sink,
            ):
                return self._run(sink, began, progress)

    def _sink(self, scratch: str) -> Any:
        if self._table == "delta":
            from hansard.lake.delta import Delta

            return Delta(self._storage, self._file_name)
        return Files(self._storage, self._file_name, scratch)

    def _run(self, sink: Any, began: float, progress: Progress | None) -> LakeReport:
        former = read_manifest(self._storage, self._file_name)
        if former is not None and former.table != self._table:
            raise UsageError(
                f"{self._storage.shown} has this machine as {former.table}: push with --table {former.table}"
            )
        is_same = former is not None and former.settings == self._settings
        parts = {part.name: part for part in former.parts} if former is not None else {}
        replaced = dict(former.replaced) if former is not None else {}
        local = self._local.sessions()
        if self._is_wanted is not None:
            local = {session_id: session for session_id, session in local.items() if self._is_wanted(session_id)}
        project_of = {session_id: session.project for session_id, session in local.items()}
        known = self._known({session_id: session.state.hex() for session_id, session in local.items()})
        before: dict[str, str] = {}
        for part in parts.values():
            before |= part.sessions
        planned = plan((part for part in parts.values() if part.month), known)
        changed = [
            one for one in planned if not is_same or one.name not in parts or parts[one.name].sessions != one.sessions
        ]
        total = sum(known[session_id].bytes for one in changed for session_id in one.sessions)
        done = 0
        self._provide()
        for number, one in enumerate(changed):
            parts[one.name] = self._write_part(sink, one, parts.get(one.name), project_of)
            if not one.sessions:
                del parts[one.name]
            if number % _CHECKPOINT == _CHECKPOINT - 1:
                self._save(parts, former, replaced, None)
            done += sum(known[session_id].bytes for session_id in one.sessions)
            if progress is not None:
                progress(done, total)
        parts["-0"] = self._write_machine(sink)
        if self._table == "delta":
            self._measure(sink, parts)
        self._save(parts, former, replaced, datetime.now(UTC), clean_up=True)
        pushed = [id_ for id_, one in known.items() if not is_same or before.get(id_) != one.state]
        return LakeReport(
            target=self._storage.shown,
            machine=self._names.machine,
            person=self._names.person,
            sessions=len(pushed),
            removed=len(before.keys() - known.keys()),
            unchanged=len(known) - len(pushed),
            files=len(self._written),
            rows=sum(file.rows for file in self._written),
            bytes=sum(file.bytes for file in self._written),
            opened=tuple(
                sorted({self._local.shown_project(one) for one in project_of.values() if self._local.is_open(one)})
            ),
            seconds=time.perf_counter() - began,
        )

    def _measure(self, sink: Any, parts: dict[str, Part]) -> None:
        """Note how large the written files of Delta tables are."""
        new, self._written = {id(file) for file in (*self._written, *parts["-0"].files)}, []
        written = [file for part in parts.values() for file in part.files if id(file) in new]
        sizes = {view: sink.sizes(view) for view in {file.view for file in written}}
        for name, part in parts.items():
            files = list(part.files)
            for number, file in enumerate(files):
                if id(file) in new:
                    size = sizes[file.view].get(name.removeprefix("-"), 0)
                    files[number] = msgspec.structs.replace(file, bytes=size)
                    self._written += [files[number]] if part.month else []  # the machine's own are not counted
            parts[name] = msgspec.structs.replace(part, files=tuple(files))

    def _known(self, states: Mapping[str, str]) -> dict[str, Known]:
        found: dict[str, Any] = {
            session_id: (first, size)
            for session_id, first, size in self._reader.rows(
                "SELECT session_id, min(first_ts), sum(size) FROM transcripts GROUP BY session_id ORDER BY 2, 1"
            )
        }
        order = [*(id_ for id_ in found if id_ in states), *(id_ for id_ in states if id_ not in found)]
        known = {}
        for session_id in order:
            first, size = found.get(session_id, (None, 0))
            began = from_milliseconds(first)
            known[session_id] = Known(states[session_id], UNKNOWN if began is None else f"{began:%Y-%m}", size or 0)
        return known

    def _provide(self) -> None:
        """Once: all is read from one state of the index."""
        provider = Provider(self._reader)
        for table in EVERY:
            provider.provide(table.view.sql(of_sessions=True))

    def _write_part(self, sink: Any, one: Planned, former: Part | None, project_of: Mapping[str, str]) -> Part:
        ids = list(one.sessions)
        files = []
        risks = _risk_rows(self._reader, self._record, ids)
        for name in (*TABLES, RISKS):
            rows = partial(self._named, risks) if name == RISKS else partial(self._rows, name, ids, project_of)
            had = former is not None and any(file.view == name for file in former.files)
            written = sink.write(name, one.name, one.month, rows) if ids else None
            if written is not None:
                files.append(written)
            elif had:
                sink.drop(name, one.name)
        self._written += files
        return Part(one.month, one.number, dict(one.sessions), tuple(files))

    def _rows(self, name: str, ids: Sequence[str], project_of: Mapping[str, str]) -> Iterator[Sequence[Any]]:
        rows = self._local.of_table(TABLES[name], ids, project_of)
        if name != USAGE_LINES.name:
            return self._named(rows)
        at = TABLES[name].columns.index("at")
        return ((*row, row[2 + at] or 0) for row in self._named(rows))

    def _named(self, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        who = (self._names.machine, self._names.person)
        return ((*who, *row) for row in rows)

    def _write_machine(self, sink: Any) -> Part:
        """The machine itself, and its prices."""
        data = price_data(self._reader)
        fetched = None if data.fetched_at is None else to_milliseconds(data.fetched_at)
        stamp = f"{data.dated} {data.version}"
        about = (self._version, stamp, data.source, data.version, data.dated, fetched, data.overrides)
        files = []
        for name, rows in ((MACHINES, [about]), (PRICES.view.name, self._local.rates())):
            written = sink.write(name, "0", "all", partial(self._named, rows))
            if written is not None:
                files.append(written)
        return Part("", 0, {}, tuple(files))

    def _save(
        self,
        parts: Mapping[str, Part],
        former: Manifest | None,
        replaced: dict[str, datetime],
        pushed_at: datetime | None,
        *,
        clean_up: bool = False,
    ) -> None:
        """Replace the manifest: from now on readers see these parts."""
        now = datetime.now(UTC)
        if self._table == "delta":  # which has a log of its own
            replaced = {}
            former_files: Iterator[File] = iter(())
        else:
            former_files = former.files() if former is not None else iter(())
        current = {file.path for part in parts.values() for file in part.files}
        for file in former_files:
            if file.path not in current:
                replaced.setdefault(file.path, now)
        for file in self._written:  # since the last manifest
            if file.path not in current:
                replaced.setdefault(file.path, now)
        manifest = Manifest(
            version=VERSION,
            machine=self._names.machine,
            person=self._names.person,
            table=self._table,
            settings=self._settings if clean_up or former is None or former.settings == self._settings else "",
            hansard=self._version,
            pushed_at=pushed_at or (former.pushed_at if former is not None else None),
            parts=tuple(parts[name] for name in sorted(parts)),
            replaced={path: since for path, since in replaced.items() if path not in current},
            origin=self._origin if clean_up or self._origin is None else Origin(self._origin.source, ""),
        )
        write_manifest(self._storage, self._file_name, manifest)
        if clean_up and self._table != "delta":
            left = clean(self._storage, self._file_name, current, dict(manifest.replaced), now)
            if left != manifest.replaced:
                write_manifest(self._storage, self._file_name, msgspec.structs.replace(manifest, replaced=left))


def _risk_rows(reader: Reader, record: Record, sessions: Collection[str]) -> list[tuple[Any, ...]]:
    """A row for each operation that `hansard audit` finds, as `columns_in_lake` lists its columns: not what was done to which file."""
    known = {row[:3]: row[3] for row in reader.rows(_TRANSCRIPTS, (to_json(list(sessions)),))}
    return [
        (
            one.session_id,
            one.agent_id,
            known[one.root, one.transcript, one.generation],
            one.offset,
            one.block,
            at := None if one.at is None else to_milliseconds(one.at),
            one.rule,
            one.severity,
            one.outcome,
            at or 0,
        )
        for one in find_operations(reader, record, sessions)
    ]
