"""What a worker of `hansard lake build` does: the sync, the index and the push of any machine, in a scratch store.

A client's fold depends on nothing but a file's bytes, so the rows are those that the machine itself would push.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hansard.clients import client_of
from hansard.errors import HansardError, UsageError
from hansard.files import write_private
from hansard.index.schema import VERSION as INDEX
from hansard.lake.histories import Histories, History
from hansard.lake.manifest import Manifest, Origin, read_manifest
from hansard.lake.names import Names, file_name
from hansard.lake.push import Pusher, settings_digest
from hansard.lake.storage import open_storage
from hansard.lake.units import Unit
from hansard.pricing.settle import FILE_NAME, Prices, installed
from hansard.query.reader import Reader
from hansard.record.store import Record
from hansard.sync.report import DEFAULT_MAX_FILE, SyncRequest
from hansard.sync.run import sync

if TYPE_CHECKING:
    from hansard.lake.storage import Storage
    from hansard.model.ledger import PriceOverride

_PIECE = 1 << 20
_HOME = re.compile(r"/home/[^/]+|/Users/[^/]+|/(?:var/)?root(?=/|$)|[A-Za-z]:\\Users\\[^\\]+")
"""Home directories, as working directories begin with them."""


@dataclass(frozen=True)
class Plan:
    """What all workers of a build have to know."""

    source: str
    only: str | None  # the machine whose history the source is
    target: str
    person: str | None  # None: each machine's name
    key: bytes | None  # of the pseudonyms; None: names are written
    redaction_key: bytes
    mode: str  # how secrets are redacted
    opened: tuple[str, ...]
    overrides: tuple[PriceOverride, ...]
    prices: bytes | None  # a file with prices; None: those that come with Hansard
    max_file: int = DEFAULT_MAX_FILE

    @property
    def histories(self) -> Histories:
        return Histories(self.source, self.only)

    def names(self, unit: Unit) -> Names:
        """The names of a machine or of a part of one."""
        names = Names(self.person or unit.machine, unit.machine, self.key)
        return names if unit.number is None else names.part(unit.number)

    def state(self, unit: Unit) -> str:
        """Changes with a unit's files, and with what else decides about its rows."""
        prices = (blake2b(self.prices or b"", digest_size=16).hexdigest(), self.overrides)
        about = (versions(), unit.state, unit.bytes, self.opened, self.redaction_key, self.max_file, prices)
        return blake2b(repr(about).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def is_built(self, unit: Unit, storage: Storage) -> bool:
        """Whether the lake has a unit as it is now."""
        names = self.names(unit)
        former = read_manifest(storage, file_name(names.machine))
        if former is None:
            return False
        check_origin(former)
        return (
            former.origin is not None
            and former.origin.state == self.state(unit)
            and former.settings == settings_digest(names, self.mode, "parquet", is_built=True)
        )


class Surveyed(Struct, frozen=True):
    """A machine before it is built."""

    unit: Unit
    is_built: bool = False
    parts: tuple[str, ...] = ()  # manifests of parts, which it had when it was larger
    error: str = ""


class Built(Struct, frozen=True):
    """What became of a unit."""

    machine: str
    number: int | None
    bytes: int  # of the history
    sessions: int = 0
    files: int = 0
    rows: int = 0
    written: int = 0  # bytes
    unreadable: tuple[str, ...] = ()
    cpu_seconds: float = 0.0
    error: str = ""


def versions() -> str:
    """What reads histories here: rows of another version may differ."""
    return f"{_hansard()}, index {INDEX}, prices {installed()}"


def _hansard() -> str:
    return str(vars(sys.modules["hansard"])["__version__"])  # which is above this package


def check_origin(former: Manifest) -> None:
    """Refuse to build what a machine pushes itself."""
    if former.origin is None:
        raise UsageError(
            f"the lake has {former.machine} as that machine pushed it itself: give its folder another name, or remove"
            " its manifest first"
        )


def part_manifests(plan: Plan, whole: Unit, storage: Storage) -> Iterator[tuple[str, Manifest]]:
    """The manifests of a machine's parts, by their names; their numbers have no gaps."""
    names = plan.names(whole)
    for number in count():
        name = file_name(names.part(number).machine)
        manifest = read_manifest(storage, name)
        if manifest is None:
            return
        check_origin(manifest)
        yield name, manifest


def survey(plan: Plan, machine: str) -> Surveyed:
    """Look at a machine's files without reading them."""
    unit = Unit(machine, None, 0, 0, "")
    try:
        files, size, state = plan.histories.survey(machine)
        unit = Unit(machine, None, files, size, state)
        storage = open_storage(plan.target)
        parts = tuple(name for name, _ in part_manifests(plan, unit, storage))
        return Surveyed(unit, is_built=plan.is_built(unit, storage), parts=parts)
    except HansardError as error:
        return Surveyed(unit, error=str(error))


def build_unit(plan: Plan, unit: Unit) -> Built:
    """Read a unit's files and write its rows; what hinders it is in the answer, so that the others go on."""
    began = time.process_time()
    try:
        with tempfile.TemporaryDirectory(prefix="hansard-build-", dir=_scratch()) as scratch:
            built = _build(plan, unit, scratch)
    except HansardError as error:
        built = Built(unit.machine, unit.number, unit.bytes, error=str(error))
    except Exception as error:  # noqa: BLE001 - of one machine of thousands
        built = Built(unit.machine, unit.number, unit.bytes, error=f"{type(error).__name__}: {error}")
    return replace(built, cpu_seconds=time.process_time() - began)


def _scratch() -> str | None:
    """Spark's own folder for what does not fit into memory, which it removes if a worker is killed."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return folder if folder and os.path.isdir(folder) else None


def _build(plan: Plan, unit: Unit, scratch: str) -> Built:
    storage = open_storage(plan.target)
    names = plan.names(unit)
    former = read_manifest(storage, file_name(names.machine))
    if former is not None:
        check_origin(former)
    history = plan.histories.open(unit.machine, os.path.join(scratch, "copied"))
    roots = [
        root if unit.only is None else replace(root, only=frozenset(unit.only.get(history.named(root), ())))
        for root in history.roots
    ]
    home = os.path.join(scratch, "store")
    os.mkdir(home, 0o700)
    if plan.prices is not None:
        write_private(os.path.join(home, FILE_NAME), plan.prices)
    report = sync(
        home,
        roots,
        SyncRequest(workers=False, text=False),
        max_file=plan.max_file,
        prices=Prices(home, plan.overrides),
    )
    with (
        closing(Reader(home)) as reader,
        closing(Record.open(os.path.join(home, "record.db"), readonly=True)) as record,
    ):
        # What could not be read now is tried again by the next build.
        is_whole = not report.unreadable and not report.problems
        pusher = Pusher(
            reader,
            record,
            storage,
            names,
            opened=plan.opened,
            redact=_cleaner(plan, names, history, _homes(reader)),
            mode=plan.mode,
            version=_hansard(),
            origin=Origin(plan.source, plan.state(unit) if is_whole else ""),
        )
        pushed = pusher.run(home)
        unreadable = list(report.unreadable)
        unreadable += [f"{history.shown}/{one.path}: {one.reason}" for one in record.quarantined()]
    return Built(
        unit.machine,
        unit.number,
        unit.bytes,
        sessions=pushed.sessions + pushed.unchanged,
        files=pushed.files,
        rows=pushed.rows,
        written=pushed.bytes,
        unreadable=tuple(unreadable),
    )


def _homes(reader: Reader) -> list[str]:
    """The home directories that sessions were started in."""
    folders = reader.rows("SELECT DISTINCT cwd FROM sessions WHERE cwd <> ''")
    return sorted({found[0] for (cwd,) in folders if (found := _HOME.match(cwd)) is not None})


def _cleaner(plan: Plan, names: Names, history: History, homes: Iterable[str]) -> Callable[[str], str] | None:
    """What is done to every text; the folder of a machine's history counts as its home directory."""
    redact: Any = None
    if plan.mode != "off":
        from hansard.guard.detection import detector
        from hansard.guard.redaction import Redactor

        redact = Redactor(detector(), plan.redaction_key, strict=plan.mode == "strict")
    clean = names.cleaner(redact, [history.shown, *homes])
    if history.folder == history.shown:
        return clean

    def renamed(text: str) -> str:
        text = text.replace(history.folder, history.shown)
        return text if clean is None else clean(text)

    return renamed


def line_keys(client: str, path: str) -> set[int]:
    """Hashes of the ids of a transcript's lines, and of the sessions that they name."""
    reader = client_of(client)
    found: set[int] = set()

    def pieces() -> Iterator[bytes]:
        with open(path, "rb") as file:
            while piece := file.read(_PIECE):
                yield piece

    last: list[str] = []
    for _, line in reader.lines(pieces(), 0):
        if isinstance(line, bytes):
            sessions, uuid = reader.line_names(line)
            if uuid:
                found.add(_hash(f"line {uuid}"))
            if sessions != last:
                last = sessions
                found.update(_hash(f"session {session}") for session in sessions)
    return found


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True)


_encode = msgspec.msgpack.Encoder().encode
_units = msgspec.msgpack.Decoder(list[Unit]).decode


def survey_batches(plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
    """For `mapInArrow`: each task names machines."""
    yield from _answers(batches, lambda task: [survey(plan, name) for name in msgspec.msgpack.decode(task)])


def build_batches(plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
    """For `mapInArrow`: each task has units."""
    yield from _answers(batches, lambda task: [build_unit(plan, unit) for unit in _units(task)])


def line_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """For `mapInArrow`: each task names transcripts by number, client and path; the answers are keys with numbers."""
    import pyarrow as pa

    for batch in batches:
        for task in batch.column(0).to_pylist():
            for number, client, path in msgspec.msgpack.decode(task):
                keys = pa.array(list(line_keys(client, path)), pa.int64())
                numbers = pa.array([number] * len(keys), pa.int64())
                yield pa.RecordBatch.from_arrays([keys, numbers], names=["key", "file"])


def _answers(batches: Iterable[Any], answer: Callable[[bytes], object]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        for task in batch.column(0).to_pylist():
            yield pa.RecordBatch.from_arrays([pa.array([_encode(answer(task))], pa.binary())], names=["answer"])


def sessions_of(manifests: Mapping[int, Manifest]) -> dict[str, int]:
    """Which part has a session, by the manifests of the parts."""
    return {session: number for number, one in manifests.items() for part in one.parts for session in part.sessions}
