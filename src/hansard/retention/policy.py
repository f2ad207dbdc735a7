"""Policies: what is freed and deleted by the rules of the configuration, and what a hold keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from hansard.model.retention import Retention, RetentionDone, RetentionPlan, is_project
from hansard.model.store_requests import ForgetRequest
from hansard.record.store import GONE, LIVE, Record
from hansard.retention.free import DAY, ClientFile, free_chosen, list_files, plan_chosen
from hansard.retention.planner import Planner
from hansard.sync.data_files import RECORD, place
from hansard.sync.erasing import Order, erase

if TYPE_CHECKING:
    from hansard.model.erasing import ForgetPlan
    from hansard.query.reader import Reader
    from hansard.retention.files import StoreLocation

_NS = 1_000_000_000


class _NothingDueError(Exception):
    """Nothing is due any more; nothing is erased, and there is no receipt."""


def plan_retention(reader: Reader, record: Record, location: StoreLocation) -> RetentionPlan:
    """Plan what the rules would free and delete now; nothing is changed."""
    rules = location.rules
    sessions = _sessions(reader)
    deleted, _ = _plan_deletion(reader, record, location)
    names = {*rules.hold, *rules.projects}
    known = {
        name for name in names for id_, (project, _) in sessions.items() if name == id_ or is_project(name, project)
    }
    return RetentionPlan(
        free=plan_chosen(reader, record, _free_rule(rules), location),
        delete=deleted,
        held=sum(rules.holds(id_, project) for id_, (project, _) in sessions.items()),
        unknown=tuple(sorted(names - known)),
    )


def apply_retention(location: StoreLocation) -> RetentionDone:
    """Free, then delete what is due, looked up anew while no other process can write."""
    freed = free_chosen(location, lambda _: _free_rule(location.rules))

    def order(record: Record) -> Order:
        with closing(location.open_index()) as opened:
            plan, planned = _plan_deletion(opened, record, location)
        if plan is None:
            raise _NothingDueError
        return planned

    home = location.home
    with closing(location.open_index()) as opened, Record.open(place(home, RECORD), readonly=True) as record:
        is_due = _plan_deletion(opened, record, location)[0] is not None
    receipt = None
    if is_due:
        with suppress(_NothingDueError):  # another run did it meanwhile
            receipt = erase(home, order, prices=location.prices)
    return RetentionDone(freed=freed, receipt=receipt)


def _free_rule(rules: Retention) -> Callable[[ClientFile], bool]:
    now = time.time_ns()

    def is_due(file: ClientFile) -> bool:
        days = rules.days("free_after", file.project, file.kind)
        return bool(days) and file.known.mtime_ns < now - days * DAY * _NS

    return is_due


def _sessions(reader: Reader) -> dict[str, tuple[str, int | None]]:
    """Project and last activity, in milliseconds, of every session."""
    rows = reader.rows("SELECT session_id, project, ended_at FROM sessions")
    return {id_: (project, ended) for id_, project, ended in rows}


def _plan_deletion(reader: Reader, record: Record, location: StoreLocation) -> tuple[ForgetPlan | None, Order]:
    rules = location.rules
    now = time.time()
    whole: set[str] = set()
    for id_, (project, ended) in _sessions(reader).items():
        days = rules.days("delete_after", project)
        if days and ended is not None and ended / 1000 < now - days * DAY and not rules.holds(id_, project):
            whole.add(id_)
    planner = Planner(reader, record, ForgetRequest(keep_copies=True), location, "policy")
    planner.add_sessions(whole, None)
    if any(rule.delete_after for rule in rules.kinds.values()):
        files = [
            file for state in (LIVE, GONE) for file in list_files(reader, record, location.roots, location.home, state)
        ]
        planner.add_files(
            {
                file.known.file_id: file.kind
                for file in files
                if file.kind in rules.kinds
                and file.session_id not in whole
                and not rules.holds(file.session_id, file.project)
                and (days := rules.days("delete_after", file.project, file.kind))
                and file.known.mtime_ns < (now - days * DAY) * _NS
            }
        )
    if not planner.takes_something:
        return None, planner.order
    planner.add_copies()
    return planner.end()
