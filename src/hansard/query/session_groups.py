"""Sessions by project or by day, each group with its totals and the first of its sessions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from hansard.errors import UsageError
from hansard.index.schema import NO_USAGE, recorded_sum
from hansard.model.requests import SessionGroupsRequest
from hansard.model.sessions import SessionGroup, SessionGroups
from hansard.model.time import from_milliseconds, moment_at
from hansard.query.compile import ALL_TOKENS, Condition
from hansard.query.duplicates import REPEATED, find_repeated_work, once
from hansard.query.language.options import query_of
from hansard.query.reader import Reader
from hansard.query.sessions import in_order, together, where_sessions
from hansard.storage.cursors import read_cursor, write_cursor
from hansard.storage.sqlite import from_json, to_json

GROUPS = ("project", "day")
_SUMS = (
    f"{once('prompts')}, sum(messages), {once('calls')}, {once('errors')},"
    f" {recorded_sum(ALL_TOKENS)}, {once('files')}, {once('added')}, {once('removed')}, sum(messages + api_messages),"
    f" sum({NO_USAGE}) > 0 OR sum(lower_bound_messages) > 0 OR sum(json_array_length(c.unpriced_models)) > 0, json_group_array(c.cost_usd)"
)
_DATED = "ended_at BETWEEN 100000000 AND 253300000000000"  # within the range of every calendar


class _Group(NamedTuple):
    """A group and its sessions."""

    age: int  # the time of its latest session, negated
    key: str
    ids: list[str]


def list_groups(reader: Reader, request: SessionGroupsRequest) -> SessionGroups:
    """One page of groups, latest first, each with its first sessions in the requested order; days are in the request's zone."""
    by, limit = request.by, request.limit
    if by not in GROUPS:
        raise UsageError(f"sessions cannot be grouped by {by!r}; choose one of {', '.join(GROUPS)}")
    if limit < 1 or request.each < 1:
        raise UsageError("both limits must be at least 1")
    where, values = where_sessions(reader, query_of(request, request.query))
    groups = _days(reader, where, values, request.zone) if by == "day" else _projects(reader, where, values)
    found = sorted(groups)
    after = None if request.cursor is None else read_cursor(request.cursor, ["groups", by], int, str)
    left = found if after is None else [group for group in found if group[:2] > after]
    shown = tuple(_shown(reader, request, group) for group in left[:limit])
    more = write_cursor(["groups", by], left[limit - 1][:2]) if len(left) > limit else None
    return SessionGroups(shown, more, len(found), sum(len(group.ids) for group in found))


def _shown(reader: Reader, request: SessionGroupsRequest, group: _Group) -> SessionGroup:
    among = Condition("session_id IN (SELECT value FROM json_each(?))", (to_json(group.ids),))
    *sums, messages, is_lower_bound, costs = reader.one(
        f"SELECT {_SUMS} FROM sessions LEFT JOIN session_costs c USING (session_id) {REPEATED} WHERE {among.sql}",
        (find_repeated_work(reader), *among.values),
    )
    cost = together(from_json(costs), messages=messages)
    last_at = from_milliseconds(-group.age) if group.age else None
    sessions, next_cursor = in_order(reader, *among, sort=request.sort, ascending=request.ascending, limit=request.each)
    made: Any = (
        request.by,
        group.key,
        len(group.ids),
        *sums,
        last_at,
        cost,
        bool(is_lower_bound),
        sessions,
        next_cursor,
    )
    return SessionGroup(*made)


def of_group(by: str, key: str, zone: tzinfo | None) -> Condition:
    if by == "project":
        return Condition("project = ?", (key,))
    if by != "day":
        raise UsageError(f"sessions cannot be grouped by {by!r}; choose one of {', '.join(GROUPS)}")
    if not key:
        return Condition(f"NOT coalesce({_DATED}, 0)")
    try:
        day = date.fromisoformat(key)
        ends = (_begin(day, zone), _begin(day + timedelta(days=1), zone))
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{key!r} is not a day; write it as 2026-01-31") from error
    return Condition("ended_at >= ? AND ended_at < ?", ends)


def _begin(day: date, zone: tzinfo | None) -> int:
    """When a day begins, in milliseconds; without a zone, in the system's own."""
    return int(datetime.combine(day, time(), zone).astimezone(UTC).timestamp()) * 1000


def _projects(reader: Reader, where: str, values: list[Any]) -> Iterator[_Group]:
    for age, key, ids in reader.rows(
        "SELECT -coalesce(max(ended_at), 0), project, json_group_array(session_id) FROM sessions"
        f" WHERE {where} GROUP BY project",
        tuple(values),
    ):
        yield _Group(age, key, from_json(ids))


def _days(reader: Reader, where: str, values: list[Any], zone: tzinfo | None) -> Iterator[_Group]:
    """Days on which sessions ended; a day's name is computed once, at its latest session."""
    undated = _Group(0, "", [])
    group = undated
    begin = 0
    for ended, is_dated, session_id in reader.rows(
        f"SELECT ended_at, coalesce({_DATED}, 0), session_id FROM sessions WHERE {where} ORDER BY ended_at DESC",
        tuple(values),
    ):
        if not is_dated:
            undated.ids.append(session_id)
            continue
        if group is undated or ended < begin:
            if group is not undated:
                yield group
            day = moment_at(ended).astimezone(zone).date()
            begin = _begin(day, zone)
            group = _Group(-ended, day.isoformat(), [])
        group.ids.append(session_id)
    yield from (one for one in ((group, undated) if group is not undated else (undated,)) if one.ids)
