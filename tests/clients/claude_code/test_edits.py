"""Lines added and removed, from what a result states or, failing that, from what the call had planned."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from hansard.clients.claude_code.edits import Edit, outcome_of, planned_edit, stated_edit
from hansard.clients.state import OpenCall, Outcome
from tests.clients.claude_code.making import assistant, fold, tool_result, tool_use, user


def planned(name: str, given: Any) -> Edit | None:
    return planned_edit(name, Raw(json.dumps(given).encode()))


def stated(result: Any) -> Outcome | None:
    return outcome_of(Raw(json.dumps(result).encode()))


def call(change: str, added: int = 1, removed: int = 1) -> OpenCall:
    return OpenCall(1, "Edit", None, "/planned", change, added, removed)


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("a\nb\nc", "a\nX\nc", (1, 1)),
        ("a\n", "a\nb\n", (1, 0)),
        ("a\nb\n", "a\n", (0, 1)),
        ("", "a\nb", (2, 0)),
        ("a\nb", "", (0, 2)),
        ("same", "same", (0, 0)),
        ("one\u2028line", "one\u2028line!", (1, 1)),
        ("page\fbreak", "page\fbroken", (1, 1)),
        ("a\na\na", "a\na", (0, 1)),
    ],
)
def test_planned_replacements(old: str, new: str, counts: tuple[int, int]) -> None:
    assert planned("Edit", {"old_string": old, "new_string": new}) == Edit("edit", *counts)


def test_planned_by_other_tools() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "", "new_string": "c\nd"}]
    assert planned("MultiEdit", {"edits": edits}) == Edit("edit", 3, 1)
    assert planned("Write", {"content": "a\nb\n"}) == Edit("write", 2, 0)
    assert planned("Write", {"content": "a\nb"}) == Edit("write", 2, 0)
    assert planned("NotebookEdit", {"new_source": "x"}) == Edit("notebook", 1, 0)
    assert planned("Bash", {"command": "rm"}) is None


@pytest.mark.parametrize("given", [None, [], "text", 7, {}, {"edits": 7}, {"old_string": 7}, {"edits": [7, None]}])
def test_planned_by_nonsense(given: Any) -> None:
    assert planned("Edit", given) == Edit("edit", 0, 0)


def test_nonsense_beside_a_replacement() -> None:
    assert planned("Edit", {"old_string": "a", "new_string": "b\nc", "content": 7}) == Edit("edit", 2, 1)


def test_the_patch_is_believed_before_the_plan() -> None:
    outcome = stated({"filePath": "/real", "structuredPatch": [{"lines": ["+a", "+b", "-c", " d"]}, {"lines": ["+e"]}]})
    assert stated_edit(call("edit"), outcome) == Edit("edit", 3, 1, "/real")
    assert stated_edit(call("edit"), None) == Edit("edit", 1, 1, "/planned")
    assert stated_edit(call("edit"), stated({})) == Edit("edit", 1, 1, "/planned")


def test_a_write_creates_or_updates() -> None:
    created = stated({"type": "create", "content": "a\nb\nc"})
    assert stated_edit(call("write", 9, 0), created) == Edit("create", 3, 0, "/planned")
    assert stated_edit(call("write", 9, 0), stated({"type": "update"})) == Edit("update", 0, 0, "/planned")
    assert stated_edit(call("write", 9, 0), None) == Edit("create", 9, 0, "/planned")


def test_an_edit_in_a_transcript() -> None:
    given = {"file_path": "/f", "old_string": "a", "new_string": "b\nc"}
    patch = {"filePath": "/f", "structuredPatch": [{"oldStart": "?", "lines": ["-a", "+b", "+c", "+d"]}]}
    folded = fold(assistant(tool_use("Edit", given)), user([tool_result("done")], toolUseResult=patch))
    (row,) = folded.rows.calls.values()
    assert (row[5], row[9], row[10], row[11]) == ("/f", "edit", 3, 1)
    failed = fold(assistant(tool_use("Edit", given)), user([tool_result("no such text", is_error=True)]))
    (row,) = failed.rows.calls.values()
    assert (row[9], row[10], row[11]) == (None, 0, 0)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_counts_add_up(old: list[str], new: list[str]) -> None:
    edit = planned(
        "Edit", {"old_string": "".join(f"{line}\n" for line in old), "new_string": "".join(f"{x}\n" for x in new)}
    )
    assert edit is not None
    assert edit.added - edit.removed == len(new) - len(old)
    assert 0 <= edit.added <= len(new)
    assert 0 <= edit.removed <= len(old)
