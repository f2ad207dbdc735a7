"""Scrubbing: placeholders for the secrets of a session in the client's own files, and in the record too unless it keeps the former content.

With a backup only the client's files change: the record keeps what was there as a former generation. Without one the record is erased
first, as `forget` does it, and then the client's files get what it has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from hansard.clients import client_of
from hansard.errors import NotFound
from hansard.guard.redaction import fingerprint
from hansard.model.erasing import LEAVE, ForgetPlan
from hansard.model.secrets import ACCEPTED, Scrubbed
from hansard.model.store_requests import ForgetRequest
from hansard.query import forgetting
from hansard.record.erase import Patch
from hansard.record.store import Generation
from hansard.retention.forget import session_named
from hansard.retention.planner import Planner
from hansard.retention.secrets import SecretPlaces
from hansard.secrets.lists import Findings
from hansard.secrets.masking import patches
from hansard.secrets.redactor import StoreRedactor
from hansard.sources.roots import FileKind
from hansard.sync.erasing import Order, erase
from hansard.sync.overwriting import SourceEdit, current_version, overwrite_sources

if TYPE_CHECKING:
    from hansard.guard.detection import Secret
    from hansard.model.store_requests import ScrubRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Record
    from hansard.retention.files import StoreLocation

_SOURCE, _NAME = "source", "name"


class ScrubOrder(NamedTuple):
    """A planned scrub: what is shown, erased from the record (without a backup), and overwritten in the client's files (with one)."""

    plan: ForgetPlan
    order: Order
    edits: list[SourceEdit]
    secrets: int


def plan_scrub(
    reader: Reader,
    record: Record,
    request: ScrubRequest,
    location: StoreLocation,
) -> ScrubOrder:
    """Find the secrets in the files of some sessions that are neither accepted nor false alarms; nothing is changed."""
    planner = Planner(reader, record, ForgetRequest(source=True), location, reason="secret")
    sessions = {session_named(reader, name) for name in request.names}
    planner.refuse_held(sessions)
    planner.describe(sessions)
    find = _finder(location.home, record)
    places = SecretPlaces(planner, find)
    _add_files(planner, places, sessions, is_all=not request.backup)
    named = [file for file in planner.files_of(sessions) if find(file.path)]
    if not places.found:
        of_names = f", but in the names of {len(named)} of its files: forget the session" if named else ""
        raise NotFound(
            f"no secret is written in it{of_names}; `hansard secrets --state all` lists those that you accepted"
        )
    for file in named:
        planner.leave(_NAME, file, "it is in its name: forget the session", size=0)
    planner.order.secrets |= places.found
    if not request.backup:
        _add_remarks(planner, places, sessions)
        planner.texts = places.texts
        planner.add_copies()
    _warn(planner, places, location.home)
    plan, order = planner.end()
    if not request.backup:
        return ScrubOrder(plan, order, [], len(places.found))
    items = tuple(item for item in plan.items if item.kind in (_SOURCE, _NAME))
    edits = [] if not items else _edits(record, order)
    return ScrubOrder(
        ForgetPlan(sessions=plan.sessions, items=items, warnings=plan.warnings), order, edits, len(places.found)
    )


def scrub(location: StoreLocation, request: ScrubRequest) -> Scrubbed:
    """Do what `plan_scrub` names, looked up anew while no other process can write."""
    found: list[ScrubOrder] = []

    def plan(record: Record) -> ScrubOrder:
        with closing(location.open_index()) as opened:
            found.append(plan_scrub(opened, record, request, location))
        return found[-1]

    receipt = None
    left: dict[str, str] = {}
    if request.backup:
        left = overwrite_sources(location.home, lambda record: plan(record).edits, prices=location.prices)
    else:
        receipt = erase(location.home, lambda record: plan(record).order, prices=location.prices)
    done = [item for item in found[-1].plan.items if item.kind == _SOURCE]
    left |= {item.place: item.reason for item in done if item.action == LEAVE}
    left |= {item.place: item.reason for item in found[-1].plan.items if item.kind == _NAME}
    return Scrubbed(
        secrets=found[-1].secrets,
        files=sum(item.place not in left for item in done),
        left=tuple(sorted(left.items())),
        receipt=receipt,
    )


def _finder(home: str, record: Record) -> Callable[[str], list[Secret]]:
    redactor, key = StoreRedactor(home, "on"), record.secret_key()
    accepted = {secret_id for secret_id, state in record.secret_states().items() if state.state == ACCEPTED}

    def find(text: str) -> list[Secret]:
        found = redactor.find(text)
        return [one for one in found if fingerprint(key, one.value) not in accepted] if accepted else found

    return find


def _add_files(planner: Planner, places: SecretPlaces, sessions: set[str], *, is_all: bool) -> None:
    """The files of the sessions, with all former contents or only as they are now; their prompts, and what lists of sessions say of them."""
    record = planner.record
    chosen = planner.files_of(sessions)
    own, shared = planner.mentioned_files(chosen, sessions)
    for file in shared:
        planner.leave("file", file, "another session points to it")
    for file in (*chosen, *own):
        for made in record.generations_of(file.known.file_id):
            if is_all or made.current:
                places.add_log(made)
        for snapshot in record.snapshots_of(file.known.file_id):
            if is_all or snapshot.current:
                places.add_snapshot(snapshot)
    typed: defaultdict[int, set[int]] = defaultdict(set)
    for line in forgetting.typed_lines(planner.reader, sessions, None):
        typed[line.transcript].add(line.offset)
    for transcript, offsets in typed.items():
        made = planner.generations[transcript]
        if is_all or made.current:
            places.add_log(made, offsets)
    for snapshot in record.snapshots([FileKind.SESSIONS_INDEX]):
        if is_all or snapshot.current:
            data = record.read_snapshot(snapshot.id)
            found: list[Patch] = []
            for session_id, start, end in client_of(planner.files[snapshot.file_id].root.client).listed_sessions(data):
                if session_id in sessions:
                    found += patches(data[start:end], places.masked(data[start:end]), start)
            if found:
                planner.patch_snapshot("secret", snapshot, found)


def _add_remarks(planner: Planner, places: SecretPlaces, sessions: set[str]) -> None:
    remarks = [remark for remark in planner.record.all_remarks() if remark.session_id in sessions]
    texts = {remark.id: remark.value.encode("utf-8", "surrogateescape") for remark in remarks}
    planner.add_remarks(id_ for id_, text in texts.items() if places.masked(text) != text)


def _edits(record: Record, order: Order) -> list[SourceEdit]:
    """The edits of the client's own files that may be overwritten."""
    edits = []
    for _, target in order.copies:
        number, _, place = target.partition(":")
        version = current_version(record, int(number))
        if version is not None:
            changed = order.logs if isinstance(version, Generation) else order.snapshots
            edits.append(SourceEdit(int(number), place, changed[version.id]))
    return edits


def _warn(planner: Planner, places: SecretPlaces, home: str) -> None:
    if any(planner.files[file_id].known.kind == FileKind.FILE_HISTORY for file_id in planner.patched_files()):
        planner.warnings.append(
            "its file history has secrets: rewinding in the client will write placeholders into those files"
        )
    names = {session.session_id for session in planner.sessions}
    with closing(Findings(home, planner.reader, planner.record)) as findings:
        rows = [row for secret_id in places.found for row in findings.rows(secret_id)]
        findings.owners(rows)
        others = {row.fingerprint for row in rows if findings.owner(row).session_id not in {*names, ""}}
    if others:
        planner.warnings.append(
            f"{len(others)} of {len(places.found)} secrets are in other sessions too, which stay as they are:"
            " `hansard forget --secret ID` takes a secret out everywhere"
        )
