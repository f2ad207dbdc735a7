"""Calls of Hansard's own MCP server repeat what was asked about the history: searches leave them out unless they are named."""

from __future__ import annotations

import pytest

from hansard.model.tools import is_own
from tests.ledger.making import ONE, TWO, opened
from tests.sync.making import Tree, assistant, call, main_path, result, user


@pytest.mark.parametrize(
    ("tool", "own"),
    [
        ("mcp__hansard__search", True),
        ("mcp__plugin_hansard_history__recall", True),
        ("mcp__hansards__search", False),
        ("mcp__github__hansard", False),
        ("Bash", False),
    ],
)
def test_which_tools_are_its_own(tool: str, own: bool) -> None:
    assert is_own(tool) is own


@pytest.mark.parametrize("tool", ["mcp__hansard__search", "mcp__plugin_hansard_history__recall"])
def test_its_own_calls_are_left_out(tree: Tree, tool: str) -> None:
    tree.write(
        main_path(ONE), [user(ONE, "u1", "The zebra escaped."), assistant(ONE, "a1", "msg_011", "Call the zoo.", 1)]
    )
    tree.write(
        main_path(TWO),
        [
            user(TWO, "u2", "What happened to the animal?", 2),
            assistant(TWO, "a2", "msg_012", [call("toolu_01s", tool, query="zebra")], 3),
            result(TWO, "r2", "toolu_01s", "one session: the zebra escaped", 4),
            assistant(TWO, "a3", "msg_013", [call("toolu_01b", "Bash", command="grep zebra log")], 5),
        ],
    )
    with opened(tree) as h:
        found = h.search("zebra")
        assert sorted((hit.session_id, hit.kind) for hit in found.hits) == [(ONE, "prompt"), (TWO, "call")]
        assert (found.total, h.count("zebra")) == (2, 2)
        assert [hit.kind for hit in h.search("tool:hansard zebra").hits] == ["call", "result"]
        assert len(h.search("tool:mcp__* zebra").hits) == 2
        assert len(h.search(f"session:{TWO} zebra").hits) == 3
        assert h.search("zebra -tool:Bash").total == 1
        assert [session.session_id for session in h.sessions('"the zebra escaped"').sessions] == [ONE]
        assert {row.tool for row in h.tools().tools} == {tool, "Bash"}
