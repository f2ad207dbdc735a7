"""A lake, opened: what the library and the front ends ask."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import NotFound
from hansard.lake.audit import RELATIONS as OF_AUDITS
from hansard.lake.audit import LakeAudit, count_risks
from hansard.lake.engines import Engine, open_engine
from hansard.lake.manifest import read_manifests
from hansard.lake.names import PART
from hansard.lake.relations import RELATIONS
from hansard.lake.storage import open_storage
from hansard.lake.usage import RELATIONS as OF_REPORTS
from hansard.lake.usage import LakeLedger
from hansard.ledger.current import check_limit
from hansard.ledger.report import make_report
from hansard.model.calendar import find_zone
from hansard.model.fields import Timestamp
from hansard.model.store_requests import LakeAuditRequest, LakeUsageRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.ledger.dimensions import Groups
    from hansard.model.ledger import Budget, Limit, UsageReport, UsageRow


class LakeMachine(Struct, frozen=True):
    """A machine that has pushed."""

    machine: str
    person: str
    table: str  # parquet, delta
    version: str  # of Hansard, at its last push
    pushed_at: Timestamp | None  # None: its first push or build was interrupted
    sessions: int
    files: int
    bytes: int


class LakeStatus(Struct, frozen=True):
    """A lake at a glance."""

    target: str
    machines: tuple[LakeMachine, ...]


class Lake:
    """A lake, as the manifests of its machines are now. Use it in a `with`, or call `close()`."""

    def __init__(self, target: str) -> None:
        self._storage = open_storage(target)
        self._manifests = read_manifests(self._storage)
        self._scratch = tempfile.TemporaryDirectory(prefix="hansard-lake-")
        self._engines: dict[tuple[Any, ...], Engine] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what was started, and remove what was fetched."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()
        self._scratch.cleanup()

    def status(self) -> LakeStatus:
        """The machines that have pushed, or were built."""
        found: dict[str, LakeMachine] = {}
        for one in self._manifests:
            if one.origin is not None and not one.parts:  # a former part
                continue
            machine = one.machine.partition(PART)[0]
            files = list(one.files())
            sessions = sum(len(part.sessions) for part in one.parts)
            size = sum(file.bytes for file in files)
            known = found.get(machine)
            if known is not None:
                moments = [moment for moment in (one.pushed_at, known.pushed_at) if moment is not None]
                found[machine] = replace(
                    known,
                    pushed_at=max(moments) if len(moments) > 1 else None,
                    sessions=known.sessions + sessions,
                    files=known.files + len(files),
                    bytes=known.bytes + size,
                )
                continue
            found[machine] = LakeMachine(
                machine, one.person, one.table, one.hansard, one.pushed_at, sessions, len(files), size
            )
        return LakeStatus(self._storage.shown, tuple(found.values()))

    def engine(
        self, name: str = "duckdb", *, master: str | None = None, relations: Iterable[str] = RELATIONS
    ) -> Engine:
        """An engine with the merged public views, for SQL; close it."""
        if not self._manifests:
            raise NotFound(f"{self._storage.shown}: nothing was pushed there yet; run `hansard lake push` on a machine")
        files = self.locations if name == "spark" else self.files
        return open_engine(name, files, relations, self._scratch.name, master)

    def files(self, relation: str) -> list[str]:
        """The current files of a relation, as paths on this machine: those of an object store are fetched."""
        return [self._storage.fetch(path, self._scratch.name) for path in self._paths(relation)]

    def locations(self, relation: str) -> list[str]:
        """The current files of a relation where they are, for engines that read object stores themselves."""
        return [self._storage.location(path) for path in self._paths(relation)]

    def _paths(self, relation: str) -> list[str]:
        paths = [
            file.path
            for manifest in self._manifests
            if manifest.table == "parquet"
            for file in manifest.files()
            if file.view == relation
        ]
        if any(manifest.table == "delta" for manifest in self._manifests):
            from hansard.lake.delta import delta_files

            paths += delta_files(self._storage, relation)
        return paths

    def usage(
        self, request: LakeUsageRequest | None = None, *, groups: Groups = MappingProxyType({}), **fields: Any
    ) -> UsageReport:
        """Tokens and cost of all machines, each message once; the same report as `Hansard.usage`."""
        request = request or LakeUsageRequest(**fields)
        ledger = LakeLedger(
            self._kept(request, OF_REPORTS), request, groups, lambda: self._kept(request, (*OF_REPORTS, "messages"))
        )
        return make_report(ledger, request)

    def budgets(self, limits: Iterable[Limit], request: LakeUsageRequest | None = None, **fields: Any) -> list[Budget]:
        """How much all machines have spent of limits of a day, week or month; of the request, the engine and the time count."""
        request = request or LakeUsageRequest(**fields)
        engine, now = self._kept(request, OF_REPORTS), request.now or datetime.now(UTC)

        def spent(since: datetime, project: str | None) -> UsageRow:
            asked = LakeUsageRequest(by="total", since=since, project=project, mode=request.mode, now=now)
            return make_report(LakeLedger(engine, asked), asked).totals

        zone = find_zone(request.timezone)
        return [check_limit(limit, spent, zone, now) for limit in limits]

    def audit(
        self, request: LakeAuditRequest | None = None, *, groups: Groups = MappingProxyType({}), **fields: Any
    ) -> LakeAudit:
        """How many risky operations `hansard audit` finds on all machines, each once."""
        request = request or LakeAuditRequest(**fields)
        return count_risks(self._kept(request, OF_AUDITS), request, groups)

    def _kept(self, request: LakeUsageRequest | LakeAuditRequest, relations: tuple[str, ...]) -> Engine:
        """The engine of a request, which is kept for the next one."""
        key = (request.engine, request.master, relations)
        if key not in self._engines:
            self._engines[key] = self.engine(request.engine, master=request.master, relations=relations)
        return self._engines[key]
