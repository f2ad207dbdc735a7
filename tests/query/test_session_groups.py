"""Sessions by project and by day: every one once, in the days of a zone, in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.errors import UsageError
from hansard.model.calendar import find_zone
from tests.sync.making import Tree, assistant, main_path, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.engine import Hansard
    from hansard.model.sessions import SessionGroup

DAY = 24 * 60
ZONES = ("UTC", "America/Los_Angeles", "Asia/Kathmandu", "Pacific/Kiritimati", None)


@pytest.fixture
def store(tree: Tree) -> Iterator[Hansard]:
    """Nine sessions of three projects on several days, one of no known time."""
    for number in range(1, 9):
        one = session(number)
        cwd = f"/home/mira/src/{'abc'[number % 3]}"
        minutes = number * DAY / 3 + number * 7
        lines = [user(one, f"u{number}", f"task {number}", minutes, cwd=cwd)]
        if number % 2:
            lines.append(assistant(one, f"a{number}", f"m{number}", "done", minutes + 1, f"u{number}", cwd=cwd))
        tree.write(main_path(one), lines)
    nowhen = session(9)
    tree.write(main_path(nowhen), [{**user(nowhen, "u9", "some time", cwd="/home/mira/src/a"), "timestamp": None}])
    tree.sync()
    with hansard.open(tree.home) as opened:
        yield opened


def every(store: Hansard, by: str, **options: Any) -> list[SessionGroup]:
    found: list[SessionGroup] = []
    cursor = None
    while True:
        page = store.session_groups(by=by, cursor=cursor, **options)
        found += page.groups
        assert page.sessions == store.sessions(limit=1).total
        cursor = page.next_cursor
        if cursor is None:
            assert page.total == len(found)
            return found


@pytest.mark.parametrize("by", ["project", "day"])
@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize("each", [1, 3])
def test_every_session_is_in_one_group(store: Hansard, by: str, limit: int, each: int) -> None:
    found: list[str] = []
    for group in every(store, by, limit=limit, each=each, timezone="UTC"):
        assert len(group.sessions) == min(each, group.total)
        found += [one.session_id for one in group.sessions]
        cursor = group.next_cursor
        while cursor is not None:
            page = store.sessions(within=(by, group.key), limit=each, cursor=cursor, timezone="UTC")
            assert page.total == group.total
            found += [one.session_id for one in page.sessions]
            cursor = page.next_cursor

    assert sorted(found) == sorted(one.session_id for one in store.sessions(limit=None).sessions)


@pytest.mark.parametrize("zone", ZONES)
def test_days_are_those_of_the_zone(store: Hansard, zone: Any) -> None:
    groups = every(store, "day", timezone=zone)

    assert [group.key for group in groups] == sorted((group.key for group in groups), reverse=True)
    assert groups[-1].key == ""
    for group in groups[:-1]:
        for one in group.sessions:
            assert one.ended_at is not None
            assert one.ended_at.astimezone(find_zone(zone).info).date().isoformat() == group.key
        again = store.sessions(within=("day", group.key), timezone=zone)
        assert [one.session_id for one in again.sessions] == [one.session_id for one in group.sessions]


def test_sums_are_those_of_the_projects(store: Hansard) -> None:
    groups = every(store, "project")
    projects = store.projects()

    assert [group.key for group in groups] == [project.project for project in projects]
    for group, project in zip(groups, projects, strict=True):
        assert (group.total, group.prompts, group.messages) == (project.sessions, project.prompts, project.messages)
        assert (group.cost_usd, group.last_at) == (project.cost_usd, project.last_at)
        assert group.tokens == sum(one.tokens or 0 for one in group.sessions)


def test_conditions_and_orders(store: Hansard) -> None:
    store.pin(session(4))
    (group,) = store.session_groups(by="project", pinned=True).groups
    assert [one.session_id for one in group.sessions] == [session(4)]
    assert store.session_groups("nothing at all", by="day").groups == ()
    by_title = store.session_groups(by="project", sort="title", project="src/b").groups[0]
    titles = [one.title for one in by_title.sessions]
    assert titles == sorted(titles)


@pytest.mark.parametrize(
    "options",
    [
        {"by": "hour"},
        {"by": "day", "cursor": "x"},
        {"by": "day", "cursor": "WyJwcm9qZWN0IiwgMSwgImEiXQ=="},
        {"by": "day", "sort": "colour"},
        {"by": "day", "limit": 0},
        {"by": "day", "each": 0},
    ],
)
def test_what_makes_no_sense_is_refused(store: Hansard, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        store.session_groups(**options)
    for within in (("hour", "1"), ("day", "someday"), ("day", "2026-02-31")):
        with pytest.raises(UsageError):
            store.sessions(within=within)


def test_values_for_completion(store: Hansard) -> None:
    store.tag(session(1), "Infra")
    store.tag(session(2), "infra", "later")
    assert sorted(store.field_values("project")) == ["/home/mira/src/a", "/home/mira/src/b", "/home/mira/src/c"]
    assert store.field_values("branch") == ["main"]
    assert [value.lower() for value in store.field_values("tag")] == ["infra", "later"]
    assert store.field_values("model", limit=1) == ["claude-opus-4-1"]
    assert store.field_values("title") == []


def test_facets_by_day_and_model(store: Hansard) -> None:
    facets = store.facets("task", timezone="UTC")
    assert sum(count for _, count in facets.day) == facets.counted == 8
    assert facets.day == tuple(sorted(facets.day, reverse=True))
    assert dict(facets.model) == {"claude-opus-4-1": 4}
    assert store.facets("task", most=3).truncated


@pytest.mark.parametrize("sort", ["ended", "title", "prompts"])
@pytest.mark.parametrize("ascending", [True, False])
def test_a_page_around_a_session_has_it_in_its_middle(store: Hansard, sort: str, ascending: bool) -> None:
    listed = [one.session_id for one in store.sessions(sort=sort, ascending=ascending, limit=None).sessions]
    for place, name in enumerate(listed):
        page = store.sessions(sort=sort, ascending=ascending, limit=4, around=name)
        low = max(0, place - 2)
        assert [one.session_id for one in page.sessions] == listed[low : low + 4]
        assert (page.next_cursor is not None) == (low + 4 < len(listed))
