"""Changed files, folders and the history of one file: held to a slow twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hansard.engine import Hansard
from hansard.errors import NotFound, UsageError
from tests.query import slow_calls
from tests.query.scattered import PATHS, scatter
from tests.sync.making import assistant, call, main_path, result, session, user

if TYPE_CHECKING:
    from hansard.model.calls import ChangedFile
    from tests.sync.making import Tree

SEEDS = range(6)


def opened(tree: Tree) -> Hansard:
    return Hansard(str(tree.home), tree.roots)


def files(tree: Tree, rows: list[slow_calls.Row] | None = None) -> dict[str, tuple[int, ...]]:
    """Of each file: changes, lines, sessions, time of the last change."""
    changed = [row for row in rows or slow_calls.calls(tree) if row.change is not None and row.path is not None]
    return {
        path: (
            len(some),
            sum(row.added for row in some),
            sum(row.removed for row in some),
            len({row.session_id for row in some}),
            max(row.ts if row.ts is not None else -1 for row in some),
        )
        for path, some in slow_calls.by(changed, lambda row: row.path or "").items()
    }


def told(file: ChangedFile) -> tuple[int, ...]:
    last = -1 if file.last_at is None else round(file.last_at.timestamp() * 1000)
    return (file.changes, file.added, file.removed, file.sessions, last)


def whole(h: Hansard, limit: int, **asked: Any) -> list[ChangedFile]:
    found: list[ChangedFile] = []
    cursor = None
    while True:
        page = h.files(limit=limit, cursor=cursor, **asked)
        found += page.files
        cursor = page.next_cursor
        if cursor is None:
            assert page.total == len(found)
            assert page.changes == sum(file.changes for file in found)
            assert (page.added, page.removed) == (sum(f.added for f in found), sum(f.removed for f in found))
            return found


@pytest.mark.parametrize("seed", SEEDS)
def test_files_in_every_order_and_pages_of_any_size(tree: Tree, seed: int) -> None:
    scatter(tree, seed)
    expected = files(tree)
    keys: dict[str, Any] = {
        "last": lambda path: expected[path][4],
        "changes": lambda path: expected[path][0],
        "lines": lambda path: expected[path][1] + expected[path][2],
        "sessions": lambda path: expected[path][3],
        "path": lambda path: path,
    }
    with opened(tree) as h:
        for sort, key in keys.items():
            for ascending in (True, False):
                for limit in (1, 4, 100):
                    found = whole(h, limit, sort=sort, ascending=ascending)
                    assert {file.path: told(file) for file in found} == expected
                    order = sorted(sorted(expected), key=key, reverse=not ascending)
                    assert [file.path for file in found] == order


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_session_and_its_project(tree: Tree, seed: int) -> None:
    scatter(tree, seed)
    projects = dict(tree.rows("SELECT session_id, project FROM sessions"))
    changed = [row for row in slow_calls.calls(tree) if row.change is not None]
    with opened(tree) as h:
        for file in whole(h, 100):
            last = max(row.ts if row.ts is not None else -1 for row in changed if row.path == file.path)
            by = {
                row.session_id
                for row in changed
                if row.path == file.path and (row.ts if row.ts is not None else -1) == last
            }
            assert file.last_session_id in by
            assert file.project == projects[file.last_session_id]


def test_lines_are_those_of_the_ledger(tree: Tree) -> None:
    scatter(tree, 3)
    with opened(tree) as h:
        work = h.usage(by="total", work=True).totals.work
        page = h.files()
        assert work is not None
        assert (page.added, page.removed) == (work.lines_added, work.lines_removed)


@pytest.mark.parametrize("seed", SEEDS)
def test_folders_hold_what_lies_under_them(tree: Tree, seed: int) -> None:
    scatter(tree, seed)
    expected = files(tree)

    def walk(h: Hansard, under: str | None) -> set[str]:
        page = h.folder(under)
        assert not page.is_truncated
        assert page.total == len(page.folders) + len(page.files)
        found = {file.path for file in page.files}
        for file in page.files:
            assert told(file) == expected[file.path]
        for folder in page.folders:
            inside = {path for path in expected if path.startswith(folder.path)}
            assert folder.path.startswith(page.under)
            assert folder.path.endswith(("/", "\\"))
            assert folder.files == len(inside)
            assert folder.changes == sum(expected[path][0] for path in inside)
            assert (folder.added, folder.removed) == tuple(sum(expected[path][n] for path in inside) for n in (1, 2))
            assert walk(h, folder.path) == inside
            found |= inside
        return found

    with opened(tree) as h:
        assert walk(h, None) == set(expected)


def test_the_top_is_where_files_part_ways(tree: Tree) -> None:
    one = session(1)
    paths = ["/home/mira/src/app/a/b/one.py", "/home/mira/src/app/a/b/two.py", "/home/mira/src/app/c.py"]
    lines = [user(one, "u", "Go.")]
    for number, path in enumerate(paths):
        lines.append(
            assistant(
                one, f"a{number}", f"msg_01{number}", [call(f"t{number}", "Write", file_path=path, content="x")], number
            )
        )
        lines.append(result(one, f"r{number}", f"t{number}", "ok", number + 0.5))
    tree.write(main_path(one), lines)
    tree.sync()
    with opened(tree) as h:
        top = h.folder()
        assert top.under == "/home/mira/src/app/"
        assert [folder.path for folder in top.folders] == ["/home/mira/src/app/a/b/"]
        assert [file.path for file in top.files] == [paths[2]]
        inside = h.folder("/home/mira/src/app/a/")
        assert (inside.under, [folder.path for folder in inside.folders]) == (
            "/home/mira/src/app/a/",
            ["/home/mira/src/app/a/b/"],
        )
        assert h.folder(text="two").under == "/home/mira/src/app/a/b/"
        assert h.folder("/nowhere/").total == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_history_of_a_file(tree: Tree, seed: int) -> None:
    scatter(tree, seed)
    calls = slow_calls.calls(tree)
    expected = files(tree)
    with opened(tree) as h:
        for path in PATHS:
            rows = slow_calls.newest(row for row in calls if row.path == path)
            if not rows:
                with pytest.raises(NotFound):
                    h.file_history(path)
                continue
            changes = [row for row in rows if row.change is not None]
            found = h.file_history(path, limit=500)
            assert (found.changes, found.reads) == (len(changes), len(rows) - len(changes))
            if path in expected:
                assert (found.changes, found.added, found.removed, found.sessions) == expected[path][:4]
            assert [item.tool_use_id for item in found.page.calls] == [row.tool_use_id for row in changes]
            with_reads = h.file_history(path, reads=True, limit=500).page.calls
            assert [item.tool_use_id for item in with_reads] == [row.tool_use_id for row in rows]
            first = h.file_history(path, reads=True, limit=1)
            if len(rows) > 1:
                second = h.file_history(path, reads=True, limit=1, cursor=first.page.next_cursor)
                assert second.page.calls[0].tool_use_id == rows[1].tool_use_id


@pytest.mark.parametrize("cursor", ["", "x", "W10=", "WyJsYXN0IiwgZmFsc2UsICJ4IiwgInAiXQ=="])
def test_a_wrong_cursor_is_refused(tree: Tree, cursor: str) -> None:
    scatter(tree, 1)
    with opened(tree) as h, pytest.raises(UsageError, match="cursor"):
        h.files(cursor=cursor)


def test_a_cursor_of_another_order_is_refused(tree: Tree) -> None:
    scatter(tree, 1)
    with opened(tree) as h:
        cursor = h.files(limit=1).next_cursor
        others: tuple[dict[str, Any], ...] = ({"sort": "path"}, {"ascending": True})
        for other in others:
            with pytest.raises(UsageError, match="sort order"):
                h.files(limit=1, cursor=cursor, **other)


def test_an_empty_store_has_no_files(tree: Tree) -> None:
    with opened(tree) as h:
        page = h.files()
        assert (page.files, page.next_cursor, page.total, page.changes, page.added) == ((), None, 0, 0, 0)
        assert h.folder().total == 0
        with pytest.raises(NotFound):
            h.file_history("/a")
        with pytest.raises(UsageError):
            h.files(sort="x")
