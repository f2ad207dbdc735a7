"""Put placeholders in place of secrets and leave everything around them.

`SecretPlaces` adds to a plan every place of some secrets. A line is only named in a tombstone together with the secrets that were in it, so
that a fork made later keeps the line and not the secret.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from hansard.clients import client_of
from hansard.clients.lines import LongLine, length_of
from hansard.errors import NotFound
from hansard.grep.search import grep
from hansard.guard.detection import detector
from hansard.guard.redaction import fingerprint
from hansard.model.store_requests import GrepRequest
from hansard.retention.files import HELD
from hansard.secrets.lists import Findings, reveal
from hansard.secrets.masking import Masker, is_text, patches
from hansard.secrets.store import FILE, LOG, MOST_PER_LOG, NAMED, REMARK
from hansard.secrets.values import SHORTEST, Value

if TYPE_CHECKING:
    from hansard.guard.detection import Secret
    from hansard.record.store import Generation, Snapshot
    from hansard.retention.planner import Planner

_KIND = "secret"


class SecretPlaces:
    """Puts placeholders in place of secrets into a plan."""

    def __init__(self, planner: Planner, find: Callable[[str], list[Secret]], values: Collection[Value] = ()) -> None:
        self._planner = planner
        self._record = planner.record
        key = self._record.secret_key()
        self._masker = Masker(find, key, values)
        # As a sync will do it with copies of these lines.
        self._alone = Masker(
            lambda text: [one for one in detector().find(text) if fingerprint(key, one.value) in self.found], key
        )
        self.found: set[str] = set()
        """The ids of the secrets."""

    @property
    def texts(self) -> list[str]:
        """The secrets themselves, as far as they are long enough to be looked for in copies."""
        return [text for text in self._masker.texts.values() if len(text) >= SHORTEST]

    def masked(self, data: bytes) -> bytes:
        """A text with placeholders."""
        masked = self._masker.data(data)
        self.found |= masked.secrets
        return masked.data

    def add_log(self, made: Generation, offsets: Collection[int] | None = None) -> None:
        """The lines of a log, or those at some offsets."""
        planner = self._planner
        if planner.is_held(made):
            planner.leave(_KIND, planner.files[made.file_id], HELD)
            return
        client = client_of(planner.files[made.file_id].root.client)
        changed = []
        lines = 0
        pieces = self._record.read(made.id, mend=True)
        for one in self._masker.log(client, pieces, is_aside=made.kind == "agent", offsets=offsets):
            if isinstance(one.line, LongLine):
                planner.warnings.append(
                    f"{made.path}: a line of {length_of(one.line):,} bytes at {one.offset} is too long, and stays as it is"
                )
                continue
            self.found |= one.secrets
            changed += patches(one.line, client.usable_line(one.line, one.data), one.offset)
            lines += 1
            if line_id := client.line_names(one.line)[1]:
                is_enough = self._alone.data(one.line).data == one.data
                (planner.order.masked if is_enough else planner.order.messages).add((client.name, line_id))
        if changed:
            planner.patch_log(_KIND, made, changed, lines)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """A small file as it was once seen."""
        planner = self._planner
        file = planner.files[snapshot.file_id]
        data = self._record.read_snapshot(snapshot.id)
        if not is_text(data):
            return
        if planner.session_of(file) in planner.held:
            planner.leave(_KIND, file, HELD)
        elif (masked := self.masked(data)) != data:
            planner.patch_snapshot(_KIND, snapshot, patches(data, masked))


def add_secrets(planner: Planner, findings: Findings, names: Iterable[str]) -> None:
    """Every place of some secrets: those that a scan found, and all that have one of them literally."""
    record = planner.record
    ids = {findings.find(name) for name in names}
    key = record.secret_key()
    values = []
    for secret_id in ids:
        rows = findings.rows(secret_id)
        with suppress(NotFound):  # split over texts everywhere
            text = reveal(findings, record, secret_id)
            if len(text) >= SHORTEST:
                values.append(Value(rows[0].rule, secret_id, text))

    def find(text: str) -> list[Secret]:
        return [one for one in detector().find(text) if fingerprint(key, one.value) in ids]

    places = SecretPlaces(planner, find, values)
    offsets, snapshots, remarks, files = _places(findings, ids)
    _add_literal(planner, values, offsets, snapshots)
    for made in planner.generations.values():
        if made.id in offsets:
            places.add_log(made, offsets[made.id])
    for snapshot in record.snapshots():
        if snapshot.id in snapshots:
            places.add_snapshot(snapshot)
    patterns = [value.pattern() for value in values]
    planner.add_remarks(
        remark.id
        for remark in record.all_remarks()
        if remark.id in remarks or any(pattern.search(_bytes(remark.value)) for pattern in patterns)
    )
    for file_id, path in record.file_names():
        if file_id in files or any(pattern.search(_bytes(path)) for pattern in patterns):
            planner.leave("name", planner.files[file_id], "it is in its name: forget the session", size=0)
    planner.order.secrets |= ids
    planner.texts += places.texts


def _places(
    findings: Findings, ids: Collection[str]
) -> tuple[dict[int, set[int] | None], set[int], set[int], set[int]]:
    """The places in which a scan found secrets: offsets of lines by log (None: anywhere in it), snapshots, remarks, names of files."""
    offsets: dict[int, set[int] | None] = {}
    others: dict[str, set[int]] = {FILE: set(), REMARK: set(), NAMED: set()}
    for secret_id in ids:
        counts: defaultdict[int, int] = defaultdict(int)
        for row in findings.rows(secret_id):
            if row.source != LOG:
                others[row.source].add(row.ref)
                continue
            counts[row.ref] += 1
            known = offsets.setdefault(row.ref, set())
            # The first part of a split secret is in a line before; of very many places the last are only counted.
            if not row.length or counts[row.ref] >= MOST_PER_LOG:
                offsets[row.ref] = None
            elif known is not None:
                known.add(row.offset)
    return offsets, others[FILE], others[REMARK], others[NAMED]


def _add_literal(
    planner: Planner, values: Collection[Value], offsets: dict[int, set[int] | None], snapshots: set[int]
) -> None:
    """Add the lines and files that have one of some values, whatever is around it."""
    roots = {root.path: root.id for root in planner.record.roots()}
    logs = {(made.root_id, made.path, made.seq): made for made in planner.generations.values()}
    if not values:
        return
    pattern = "|".join(value.line_pattern() for value in values)
    for hit in grep(planner.reader, planner.record, GrepRequest(pattern, all_generations=True)):
        root_id = roots[hit.file.root]
        made = logs.get((root_id, hit.file.path, hit.file.generation))
        if made is not None:
            known = offsets.setdefault(made.id, set())
            if known is not None:
                known.add(hit.offset)
            continue
        file = planner.record.known_file(root_id, hit.file.path)
        if file is not None:
            snapshots.add(planner.record.snapshots_of(file.file_id)[hit.file.generation - 1].id)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
