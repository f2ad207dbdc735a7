"""`hansard lake build`: Spark reads raw histories and writes what their machines would push.

1. Survey. Workers look at each machine's files, by names, sizes and times, and compare with what its manifest says was built.
2. Divide. A machine that is too large becomes parts, each with a manifest of its own (`units.py`); for this its lines are read once.
3. Build. Workers sync, index and push a unit each, in a scratch store (`build_unit.py`), the largest first.
4. Retire. What a machine had in another division is no longer current.

A unit's manifest says which state of its files it was built from, and is complete only at the end. So a build that is killed anywhere leaves
what was there before or what is there now, of each unit, and the next build goes on with the units that are missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import HansardError, UsageError
from hansard.lake.build_unit import (
    Built,
    Plan,
    Surveyed,
    build_batches,
    line_batches,
    part_manifests,
    sessions_of,
    survey_batches,
    versions,
)
from hansard.lake.files import clean
from hansard.lake.histories import Histories
from hansard.lake.manifest import Origin, read_manifest, write_manifest
from hansard.lake.names import file_name, find_key
from hansard.lake.spark import first_line, open_spark, stop_spark
from hansard.lake.storage import LakeUnusable, open_storage
from hansard.lake.units import Division, Unit, batches
from hansard.pricing.book import load
from hansard.sync.report import DEFAULT_MAX_FILE

if TYPE_CHECKING:
    from hansard.lake.storage import Storage
    from hansard.model.ledger import PriceOverride
    from hansard.model.store_requests import LakeBuildRequest

_SURVEYED_AT_ONCE = 50  # machines by a task
_SCANNED_AT_ONCE = 64 << 20  # bytes by a task
_RETIRED = "retired"

Tell = Callable[[str], None]


class LakeBuildReport(Struct, frozen=True):
    """What a build did."""

    source: str
    target: str
    machines: int
    units: int  # machines, or parts of large ones
    built: int
    unchanged: int
    sessions: int  # in what was built
    files: int  # written
    rows: int
    bytes: int  # written
    read: int  # bytes of the histories that were built
    empty: tuple[str, ...]  # machines without a history
    unreadable: tuple[str, ...]
    failed: tuple[str, ...]  # machines that could not be built, and why
    seconds: float
    cpu_seconds: float  # of the workers, for what was built


def build(
    home: str,
    request: LakeBuildRequest,
    *,
    overrides: Sequence[PriceOverride] = (),
    max_file: int = DEFAULT_MAX_FILE,
) -> LakeBuildReport:
    """Build what changed since the last build; `home` has the key of the pseudonyms and the prices."""
    began = time.perf_counter()
    machines = Histories(request.source, request.machine).machines()
    plan = _plan(home, request, overrides, max_file)
    if request.unit <= 0:
        raise UsageError("--unit must be above 0")
    _pyarrow()
    session, is_ours = open_spark(request.master)
    try:
        return _Build(plan, session, request.unit << 20, request.tell or _silent).run(machines, began)
    finally:
        if is_ours:
            stop_spark(session)


def _silent(_: str) -> None:
    """Say nothing."""


def _plan(home: str, request: LakeBuildRequest, overrides: Sequence[PriceOverride], max_file: int) -> Plan:
    key = find_key(home, request.key)
    book = load(home)
    mode = request.redact if isinstance(request.redact, str) else "on" if request.redact else "off"
    return Plan(
        source=_place(request.source),
        only=request.machine,
        target=_place(request.target),
        person=request.person,
        key=None if request.names else key,
        redaction_key=blake2b(key, digest_size=32, person=b"lake redaction").digest(),
        mode=mode,
        opened=tuple(request.opened),
        overrides=tuple(overrides),
        prices=None if book.fetched_at is None else msgspec.json.encode(book),
        max_file=max_file,
    )


def _place(given: str) -> str:
    """A path or URL as workers find it, whose working directory is another one."""
    return open_storage(given).shown


def _pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401, ICN001 - workers need it, and say so less clearly
    except ImportError as error:
        raise UsageError(
            "Spark needs pyarrow to build, which is not installed; add it with: pip install 'pyspark>=4.1' 'pandas>=2.2,<3' 'pyarrow>=18'"
        ) from error


class _Build:
    """One build, with a Spark session."""

    def __init__(self, plan: Plan, session: Any, most_bytes: int, tell: Tell) -> None:
        self._plan = plan
        self._session = session
        self._most_bytes = most_bytes
        self._tell = tell
        self._storage = open_storage(plan.target)

    def run(self, machines: Sequence[str], began: float) -> LakeBuildReport:
        self._check_workers()
        surveyed = list(self._survey(machines))
        failed = [f"{one.unit.machine}: {one.error}" for one in surveyed if one.error]
        empty = tuple(one.unit.machine for one in surveyed if not one.error and not one.unit.files)
        units: list[Unit] = []
        unchanged = 0
        stale: dict[str, Sequence[str]] = {}  # manifests to retire once a machine is built
        for one in surveyed:
            if one.error or not one.unit.files:
                continue
            machine = one.unit.machine
            is_divided = one.unit.bytes > self._most_bytes and not self._plan.histories.is_remote
            try:
                parts, outdated = self._divide(machine) if is_divided else ([], [])
            except HansardError as error:
                failed.append(f"{machine}: {error}")
                continue
            if len(parts) > 1:
                waiting = [part for part in parts if not self._plan.is_built(part, self._storage)]
                unchanged += len(parts) - len(waiting)
                units += waiting
                stale[machine] = outdated
            else:
                unchanged += one.is_built
                units += [] if one.is_built else [one.unit]
                stale[machine] = one.parts
        self._tell(
            f"{len(units):,} to build, {sum(unit.bytes for unit in units) / 1e6:,.0f} MB; {unchanged:,} unchanged"
        )
        built = list(self._build(units))
        failed += [f"{_shown(one)}: {one.error}" for one in built if one.error]
        for unit in built:
            if unit.error:
                stale.pop(unit.machine, None)
        for names in stale.values():
            for name in names:
                retire(self._storage, name)
        done = [one for one in built if not one.error]
        return LakeBuildReport(
            source=self._plan.source,
            target=self._plan.target,
            machines=len(machines),
            units=len(units) + unchanged,
            built=len(done),
            unchanged=unchanged,
            sessions=sum(one.sessions for one in done),
            files=sum(one.files for one in done),
            rows=sum(one.rows for one in done),
            bytes=sum(one.written for one in done),
            read=sum(one.bytes for one in done),
            empty=empty,
            unreadable=tuple(line for one in done for line in one.unreadable),
            failed=tuple(failed),
            seconds=time.perf_counter() - began,
            cpu_seconds=sum(one.cpu_seconds for one in built),
        )

    # -- what Spark runs

    def _map(self, function: Callable[..., Any], tasks: Sequence[bytes], schema: str) -> Any:
        """A frame with the answers to tasks, which begin in this order."""
        spread = self._session.sparkContext.parallelize([(task,) for task in tasks], max(1, len(tasks)))
        return self._session.createDataFrame(spread, "task binary").mapInArrow(function, schema)

    def _collect(self, frame: Any) -> list[Any]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return [tuple(row) for row in frame.collect()]
        except (PySparkException, Py4JError) as error:
            raise LakeUnusable(f"Spark: {_cause(error)}") from error

    def _answers(self, function: Callable[..., Any], tasks: Sequence[bytes], kind: Any) -> Iterator[Any]:
        if not tasks:
            return
        decode = msgspec.msgpack.Decoder(list[kind]).decode
        for (answer,) in self._collect(self._map(partial(function, self._plan), tasks, "answer binary")):
            yield from decode(bytes(answer))

    def _check_workers(self) -> None:
        """Refuse workers with another Hansard: their rows would differ."""
        found = self._collect(self._map(_versions, [b""], "answer binary"))
        theirs, ours = bytes(found[0][0]).decode(), versions()
        if theirs != ours:
            raise UsageError(f"the workers have Hansard {theirs}, this machine has {ours}: install the same one there")

    def _survey(self, machines: Sequence[str]) -> Iterator[Surveyed]:
        tasks = [
            msgspec.msgpack.encode(machines[start : start + _SURVEYED_AT_ONCE])
            for start in range(0, len(machines), _SURVEYED_AT_ONCE)
        ]
        return self._answers(survey_batches, tasks, Surveyed)

    def _build(self, units: Iterable[Unit]) -> Iterator[Built]:
        tasks = [msgspec.msgpack.encode(batch) for batch in batches(units, self._most_bytes)]
        return self._answers(build_batches, tasks, Built)

    # -- machines that are too large for one unit

    def _divide(self, machine: str) -> tuple[list[Unit], list[str]]:
        """The parts of a machine, and the manifests of it that have no part any more."""
        whole = Unit(machine, None, 0, 0, "")
        former = dict(enumerate(manifest for _, manifest in part_manifests(self._plan, whole, self._storage)))
        division = Division(self._plan.histories.open(machine, ""))
        parts = division.units(self._common(division.logs()), sessions_of(former), self._most_bytes)
        names = self._plan.names(whole)
        used = {part.number for part in parts}
        outdated = [file_name(names.part(number).machine) for number in former if number not in used]
        return parts, [file_name(names.machine), *outdated]

    def _common(self, logs: Sequence[tuple[int, str, str, int]]) -> Iterator[list[int]]:
        """Which transcripts have a line in common, or name the same session."""
        tasks: list[list[tuple[int, str, str]]] = []
        size = 0
        for number, client, path, length in sorted(logs, key=lambda log: (-log[3], log[0])):
            if not tasks or size + length > _SCANNED_AT_ONCE:
                tasks.append([])
                size = 0
            tasks[-1].append((number, client, path))
            size += length
        if not tasks:
            return
        frame = self._map(line_batches, [msgspec.msgpack.encode(task) for task in tasks], "key bigint, file bigint")
        frame = frame.selectExpr("key", "file").groupBy("key").agg({"file": "collect_set"}).toDF("key", "files")
        frame = frame.where("size(files) > 1").selectExpr("array_sort(files) AS files").distinct()
        for (files,) in self._collect(frame):
            yield list(files)


def retire(storage: Storage, name: str) -> None:
    """Take a manifest's rows out of the lake; the files stay for readers that began before, until the next build."""
    former = read_manifest(storage, name)
    if former is None or (not former.parts and not former.replaced):
        return
    now = datetime.now(UTC)
    replaced = {**{file.path: now for file in former.files()}, **former.replaced}
    left = replace(
        former, parts=(), replaced=replaced, origin=Origin(former.origin.source if former.origin else "", _RETIRED)
    )
    write_manifest(storage, name, left)
    write_manifest(storage, name, replace(left, replaced=clean(storage, name, set(), dict(replaced), now)))


def _shown(one: Built) -> str:
    return one.machine if one.number is None else f"{one.machine}, part {one.number}"


def _versions(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for _ in batches:
        yield pa.RecordBatch.from_arrays([pa.array([versions().encode()], pa.binary())], names=["answer"])


def _cause(error: Exception) -> str:
    """What went wrong in a worker: the last line of Python's trace, if there is one."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line.startswith(("ModuleNotFoundError", "hansard.", "MemoryError", "OSError"))]
    if told and told[0].startswith("ModuleNotFoundError"):
        return f"{told[0]}: install Hansard on the workers too"
    return told[0] if told else first_line(error)
