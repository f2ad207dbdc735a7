"""Forgetting: planned, shown and done, and allowing a session again."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from hansard.errors import NotFound, UsageError
from hansard.model.names import shown_id
from hansard.query import forgetting
from hansard.query.sessions import find_session
from hansard.record.tombstones import LINE, MESSAGE, SESSION
from hansard.retention.planner import Planner
from hansard.retention.secrets import add_secrets
from hansard.secrets.lists import Findings
from hansard.sync.erasing import Order, erase
from hansard.sync.remarking import remark

if TYPE_CHECKING:
    from hansard.model.erasing import ForgetPlan, Receipt
    from hansard.model.store_requests import ForgetRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Record
    from hansard.retention.files import StoreLocation
    from hansard.sync.report import Listener


def plan_forget(
    reader: Reader,
    record: Record,
    request: ForgetRequest,
    location: StoreLocation,
) -> tuple[ForgetPlan, Order]:
    """Plan an erasure, and the order to carry it out; nothing is changed."""
    if not (request.names or request.project or request.match or request.messages or request.secrets):
        raise UsageError("name what to forget: sessions, --project, --message, --match or --secret")
    planner = Planner(reader, record, request, location)
    project = forgetting.find_project(reader, request.project) if request.project else None
    sessions = {session_named(reader, name) for name in request.names}
    if project is not None:
        sessions.update(forgetting.sessions_of(reader, project))
    planner.add_sessions(sessions, project)
    planner.add_messages(request.messages)
    if request.match:
        planner.add_matches(request.match)
    if request.secrets:
        with closing(Findings(location.home, reader, record)) as findings:
            add_secrets(planner, findings, request.secrets)
    if not planner.found:
        raise NotFound("nothing to forget: no line and no file has it")
    if not planner.takes_something:
        raise UsageError(
            "nothing can be erased: all of it is under a hold (`hold` below [retention] in the configuration)"
        )
    planner.add_copies()
    return planner.end()


def session_named(reader: Reader, name: str) -> str:
    """A session by its id, the beginning of its id, or its place in the list: words of a title are too little to erase by."""
    session = find_session(reader, name)
    if not name.startswith("@") and not session.session_id.startswith(name) and shown_id(session.session_id) != name:
        raise UsageError(
            f"{name!r} is in the title of session {session.session_id}: {session.title}. To forget it, name it by its id"
        )
    return session.session_id


def forget(location: StoreLocation, request: ForgetRequest, listener: Listener | None = None) -> Receipt:
    """Erase everything that `plan_forget` names, looked up anew while no other process can write."""

    def order(record: Record) -> Order:
        with closing(location.open_index()) as opened:
            return plan_forget(opened, record, request, location)[1]

    return erase(location.home, order, prices=location.prices, listener=listener)


def allow(location: StoreLocation, client: str, name: str) -> bool:
    """Let a session or a message that was forgotten be stored again, by its full id; False if it was not forgotten."""
    found = False

    def change(record: Record) -> None:
        nonlocal found
        if record.exhume(SESSION, client, name):
            found = True
            return
        exhumed = [record.exhume(kind, client, name) for kind in (MESSAGE, LINE)]
        found = any(exhumed)
        if not found:
            return
        with closing(location.open_index()) as opened:
            holders = {line.transcript for line in forgetting.same_lines(opened, [name])}
        for made in record.generations():
            if made.current and made.id in holders:
                record.expect_rewrite(made.file_id)

    remark(location.home, change, prices=location.prices)
    return found
