"""What the rules of the configuration free and delete, and what a hold keeps."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.config.retention_settings import retention
from hansard.errors import UsageError
from hansard.model.retention import Retention, Rule
from hansard.model.store_requests import ForgetRequest
from hansard.retention.files import HELD
from hansard.sync.erasing import erase
from hansard.sync.rebuild import rebuild
from tests.record.making import found
from tests.retention.conftest import FORK, OTHER, SECRET, WORD
from tests.retention.test_forget import assert_verified, said
from tests.retention.test_free import files, reasons
from tests.sync.dumping import assert_same, dump
from tests.sync.making import main_path, session, user

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.erasing import Receipt
    from hansard.model.retention import RetentionDone
    from tests.sync.making import Tree

PROJECT = "/home/mira/src/app"
NOBODY = session(599)


def test_a_second_run_at_once_leaves_no_receipt(h: Hansard, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Retention(general=Rule(delete_after=1))
    done: list[RetentionDone] = []

    def after_another(*given: Any, **more: Any) -> Receipt:
        monkeypatch.setattr("hansard.retention.policy.erase", erase)
        with hansard.open(tree.home, roots=[tree.config]) as other:
            done.append(other.apply_retention(rules))
        return erase(*given, **more)

    monkeypatch.setattr("hansard.retention.policy.erase", after_another)
    second = h.apply_retention(rules)
    assert done[0].receipt is not None
    assert second.receipt is None
    assert h.receipts() == [done[0].receipt]


@pytest.mark.parametrize(
    ("rules", "kind", "expected"),
    [
        (Retention(), "transcript", 0),
        (Retention(general=Rule(free_after=90)), "transcript", 90),
        (Retention(general=Rule(free_after=90), kinds={"todo": Rule(free_after=7)}), "todo", 7),
        (Retention(general=Rule(free_after=90), kinds={"todo": Rule(free_after=7)}), "paste", 90),
        (Retention(general=Rule(free_after=90), kinds={"todo": Rule(delete_after=7)}), "todo", 90),
        (Retention(kinds={"todo": Rule(free_after=7)}, projects={"app": Rule(free_after=30)}), "todo", 30),
        (Retention(general=Rule(free_after=90), projects={PROJECT: Rule(free_after=0)}), "todo", 0),
        (Retention(general=Rule(free_after=90), projects={"ap": Rule(free_after=5)}), "todo", 90),
    ],
)
def test_which_rule_decides(rules: Retention, kind: str, expected: int) -> None:
    assert rules.days("free_after", PROJECT, kind) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "is a table"),
        ({"free_after": 3}, "unknown key free_after"),
        ({"free_after_days": 0}, "at least 1"),
        ({"free_after_days": True}, "at least 1"),
        ({"hold": "webshop"}, "must be a list"),
        ({"kinds": {"plan": {}}}, "unknown key plan"),
        ({"kinds": {"transcript": {"delete_after_days": 3}}}, "deleted as a whole"),
        ({"kinds": 3}, "are tables"),
        ({"projects": {"app": {"hold": []}}}, "unknown key hold"),
    ],
)
def test_errors_in_the_configuration(value: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        retention("config.toml", value)


def test_the_configuration() -> None:
    value = {
        "free_after_days": 90,
        "hold": ["webshop"],
        "kinds": {"file_history": {"free_after_days": 14, "delete_after_days": "never"}},
        "projects": {"scratch": {"delete_after_days": 30}},
    }
    rules = retention("config.toml", value)
    assert rules == Retention(
        general=Rule(free_after=90),
        kinds={"file_history": Rule(free_after=14, delete_after=0)},
        projects={"scratch": Rule(delete_after=30)},
        hold=("webshop",),
    )
    assert rules.has_rules
    assert not Retention(hold=("a",), general=Rule(free_after=0)).has_rules


def test_nothing_goes_without_a_rule(h: Hansard, tree: Tree) -> None:
    before, there = dump(tree.home), files(tree.config)
    plan = h.plan_retention(Retention())
    assert (plan.free.items, plan.delete, plan.held) == ((), None, 0)
    assert_same(before, dump(tree.home))
    assert h.apply_retention(Retention()).receipt is None
    assert files(tree.config) == there


def test_free_by_kind(h: Hansard, tree: Tree) -> None:
    rules = Retention(kinds={"tool_result": Rule(free_after=30)})
    assert [item.kind for item in h.plan_retention(rules).free.items] == ["tool_result"]
    assert h.apply_retention(rules).freed.files == 1
    assert (tree.config / main_path(SECRET)).exists()
    assert h.apply_retention(rules).freed.files == 0


def test_what_is_due_is_deleted(h: Hansard, tree: Tree) -> None:
    """Both sessions are of the story's day; a third is of today."""
    rules = Retention(projects={"app": Rule(delete_after=1)})
    plan = h.plan_retention(rules)
    assert plan.delete is not None
    assert {session.session_id for session in plan.delete.sessions} == {SECRET, FORK, OTHER}
    done = h.apply_retention(rules)
    assert done.receipt is not None
    assert (done.receipt.erased.reason, done.receipt.erased.sessions) == ("policy", 3)
    assert found(tree.home, WORD.encode()) == []
    for _ in range(2):
        assert not h.sessions(debris=True).sessions
        h.sync()
        rebuild(str(tree.home))
    assert h.plan_retention(rules).delete is None
    assert h.apply_retention(rules).receipt is None, "no second receipt"
    assert_verified(h)


def test_a_young_session_keeps_its_copies(h: Hansard, tree: Tree) -> None:
    """A fork that is not due keeps what it copied."""
    with hansard.open(tree.home, roots=[tree.config], hold=[FORK]) as held:
        rules = Retention(general=Rule(delete_after=1), hold=(FORK,))
        plan = held.plan_retention(rules)
        assert plan.held == 1
        assert plan.delete is not None
        assert {session.session_id for session in plan.delete.sessions} == {SECRET, OTHER}
        before = said(held, FORK)
        held.apply_retention(rules)
        assert said(held, FORK) == before
        assert_verified(held)


def test_delete_by_kind(h: Hansard, tree: Tree) -> None:
    rules = Retention(kinds={"tool_result": Rule(delete_after=30), "file_history": Rule(delete_after=30)})
    done = h.apply_retention(rules)
    assert done.receipt is not None
    assert (done.receipt.erased.sessions, done.receipt.erased.files) == (0, 2)
    for _ in range(2):
        assert not [file for file in h.side_files() if file.kind in ("tool_result", "file_history")]
        h.sync()
    assert h.conversation(SECRET).entries
    assert h.plan_retention(rules).delete is None


def test_a_hold_beats_every_rule(h: Hansard, tree: Tree) -> None:
    before = files(tree.config)
    for name in (PROJECT, "app"):
        rules = Retention(general=Rule(free_after=1, delete_after=1), hold=(name, "unheard-of"))
        plan = h.plan_retention(rules)
        assert plan.held == 3
        assert plan.delete is None
        assert plan.unknown == ("unheard-of",)
        assert {item.reason for item in plan.free.items if item.session_id} == {HELD}
        done = h.apply_retention(rules)
        assert done.receipt is None
        assert {path for path in before if path not in files(tree.config)} <= {f"paste-cache/{'ab12cd34'}.txt"}


def test_a_hold_beats_forget_and_free(h: Hansard, tree: Tree) -> None:
    h.close()
    with hansard.open(tree.home, roots=[tree.config], hold=[SECRET]) as held:
        before = dump(tree.home)
        for request in (ForgetRequest(names=[SECRET]), ForgetRequest(project=PROJECT)):
            with pytest.raises(UsageError, match=f"under a hold.*{SECRET}"):
                held.plan_forget(request)
            with pytest.raises(UsageError, match="under a hold"):
                held.forget(request)
        assert_same(before, dump(tree.home))
        plan = held.plan_forget(match=WORD)
        assert {item.session_id for item in plan.items if item.reason == HELD} >= {SECRET}
        assert SECRET not in {item.session_id for item in plan.items if item.action != "leave"}
        assert set(reasons(held.plan_free(names=[SECRET])).values()) == {HELD}
        assert held.free(names=[SECRET]).files == 0
        assert held.free(names=[OTHER]).files == 1
        with pytest.raises(UsageError, match="all of it is under a hold"):
            held.plan_forget(match='"I told quetzalcoatlus"')


def test_freed_then_deleted(h: Hansard, tree: Tree) -> None:
    """Both rules at once leave nothing anywhere but what the client keeps using."""
    rules = Retention(general=Rule(free_after=30, delete_after=1))
    done = h.apply_retention(rules)
    assert done.freed.files > 0
    assert done.receipt is not None
    assert not list(tree.config.rglob("5e55*.jsonl"))
    shutil.rmtree(tree.config)
    os.mkdir(tree.config)
    h.sync()
    assert not h.sessions(debris=True).sessions


def test_what_the_client_writes_now_is_not_due(h: Hansard, tree: Tree) -> None:
    from datetime import UTC, datetime

    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    tree.write(main_path(NOBODY), [{**user(NOBODY, "n1", "Now."), "timestamp": now}])
    h.sync()
    plan = h.plan_retention(Retention(general=Rule(delete_after=1)))
    assert plan.delete is not None
    assert NOBODY not in {session.session_id for session in plan.delete.sessions}
