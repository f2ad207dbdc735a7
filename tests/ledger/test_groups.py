"""Usage by groups of projects and by pull requests."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import hansard
from hansard.errors import UsageError
from hansard.ledger.dimensions import group_of
from tests.ledger.making import ONE, TWO, said
from tests.sync.making import Tree, main_path

NOW = datetime(2026, 10, 28, tzinfo=UTC)
GROUPS = {"webshop": ("/src/shop-api", "shop-web"), "rest": ("shop",)}


@pytest.mark.parametrize(
    ("project", "group"),
    [
        ("/src/shop-api", "webshop"),
        ("/src/shop-api/tools", "webshop"),
        ("/src/shop-api-2", "rest"),
        ("/elsewhere/shop-web", "webshop"),
        ("C:\\src\\shop-web", "webshop"),
        ("/src/tide", None),
        ("", None),
    ],
)
def test_the_group_of_a_project(project: str, group: str | None) -> None:
    assert group_of(project, GROUPS) == group
    assert group_of(project, {}) is None


def test_usage_by_group_and_by_pull_request(tree: Tree) -> None:
    link = {"type": "pr-link", "sessionId": ONE, "prNumber": 42, "prUrl": "https://github.com/me/shop/pull/42"}
    later = {**link, "prNumber": 43, "prUrl": "https://github.com/me/shop/pull/43"}
    tree.write(main_path(ONE), [said(ONE, 1, NOW, cwd="/src/shop-api"), link, later])
    tree.write(main_path(TWO).replace("app", "other"), [said(TWO, 2, NOW, cwd="/src/tide")])
    tree.sync()
    with hansard.open(tree.home, groups=GROUPS) as h:
        for by, expected in (
            ("group", {"webshop": 1, None: 1}),
            ("pr", {"https://github.com/me/shop/pull/43": 1, None: 1}),
        ):
            report = h.usage(by=by)
            assert {row.key[by]: row.api_messages for row in report.rows} == expected
            assert h.explain(by=by, key=[next(iter(expected))]).figure.api_messages == 1
    with hansard.open(tree.home) as h, pytest.raises(UsageError, match="no group is set"):
        h.usage(by="group")
