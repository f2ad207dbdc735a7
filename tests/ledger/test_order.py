"""The ledger does not depend on how the history arrived, nor on how often a thing is written down."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.model.ledger import UsageReport
from hansard.model.serialize import plain
from tests.ledger.conftest import Kept
from tests.ledger.making import FORK, ONE, REPLAY, TWO, of, opened, story
from tests.ledger.slowly import Book, read, said, summed
from tests.sync.making import FOLDER, Line, Tree, agent_path, main_path, memory_folder, raw, session

REPORTS = ("total", "session,subagent,model", "hour,branch", "tool,project", "day,agent", "block")


def everything(tree: Tree) -> Any:
    """All that the ledger says of a tree, in a form that can be compared."""
    with opened(tree) as h:
        reports = [plain(h.usage(by=by, timezone="Asia/Kathmandu", work=True, breakdown=True)) for by in REPORTS]
        return [
            *reports,
            plain(h.blocks()),
            [plain(session) for session in h.sessions(limit=None, debris=True, sort="cost").sessions],
        ]


def written(tree: Tree, files: dict[str, list[Line]]) -> Tree:
    for path, lines in files.items():
        tree.write(path, lines)
    return tree


def totals(tree: Tree) -> UsageReport:
    with opened(tree) as h:
        return h.usage(by="total", work=True)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_any_order_and_any_split(seed: int) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        whole = written(Tree(Path(folder) / "whole", Path(folder) / "one"), story())
        grown = Tree(Path(folder) / "grown", Path(folder) / "two")
        waiting = {path: raw(lines) for path, lines in story().items()}
        while waiting:
            path = dice.choice(sorted(waiting))
            some = dice.randrange(1, 5000)
            grown.append(path, waiting[path][:some])
            waiting[path] = waiting[path][some:]
            if not waiting[path]:
                del waiting[path]
            if dice.random() < 0.6:
                grown.sync(only=None if dice.random() < 0.5 else [str(grown.place(path))])
        found = str(everything(grown)).replace(str(grown.config), "")
        assert found == str(everything(whole)).replace(str(whole.config), "")


def test_the_story_slowly(tree: Tree) -> None:
    written(tree, story())
    report = totals(tree)
    with opened(tree) as h:
        assert said(report.totals) == summed(read(tree.config), Book(h.rates()))
    assert report.totals.api_messages == 9
    assert report.totals.lower_bound_messages == 1
    assert (report.totals.input_tokens, report.totals.output_tokens) == (39, 78)


def test_lines_of_one_answer_in_any_order_of_lines(tree: Tree) -> None:
    expected = totals(written(tree, story())).totals
    dice = random.Random(5)
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        for number in range(5):
            files = {path: dice.sample(lines, len(lines)) for path, lines in story().items()}
            other = written(Tree(Path(folder) / f"{number}", Path(folder) / f"store{number}"), files)
            found = totals(other).totals
            assert said(found) == said(expected)


def test_copies_add_nothing(tree: Tree) -> None:
    """A file that was copied, a fork, a replay, a branch, a former generation, the same line again."""
    files = story()
    expected = totals(written(tree, files)).totals
    # Copies under other names: a backup in another project, a fork of the fork, a subagent resumed elsewhere.
    tree.write(f"projects/-backup/{ONE}.jsonl", files[main_path(ONE)])
    tree.write(f"{FOLDER}/{session(9)}.jsonl", of(session(9), files[main_path(FORK)]))
    tree.write(agent_path(session(9), "a1"), of(session(9), files[agent_path(ONE, "a1")]))
    tree.write(f"{FOLDER}/agent-a1.jsonl", files[agent_path(ONE, "a1")])
    assert totals(tree).totals == expected
    # The same lines once more in the same file, then the file cut short, then made anew.
    tree.append(main_path(TWO), [line for line in files[main_path(TWO)] if line["uuid"] != "none"])
    assert said(totals(tree).totals) == said(expected)
    tree.write(main_path(ONE), files[main_path(ONE)][:2])
    assert said(totals(tree).totals) == said(expected)
    tree.write(main_path(ONE), files[main_path(ONE)])
    assert said(totals(tree).totals) == said(expected)
    tree.place(main_path(REPLAY)).unlink()
    assert said(totals(tree).totals) == said(expected), "what was deleted was used all the same"


def test_a_message_belongs_to_its_earliest_line(tree: Tree) -> None:
    written(tree, story())
    with opened(tree) as h:
        found = {row.key["session"]: row.api_messages for row in h.usage(by="session").rows}
        # Equally old copies: the one whose path is first.
        assert found == {ONE: 4, FORK: 1, REPLAY: 1, TWO: 3}
        branches = {row.key["branch"]: row.api_messages for row in h.usage(by="branch").rows}
        assert branches == {"main": 7, "fix": 2}
        tools = {row.key["tool"]: row.api_messages for row in h.usage(by="tool").rows if row.api_messages}
        assert tools == {"Read": 1, "Grep": 1, None: 7}


def test_the_demo_history_twice(demo: Kept, tree: Tree) -> None:
    """A backup of the whole config directory beside it, under another name and as a second root."""
    import shutil

    from hansard.clients.roots import open_roots
    from hansard.engine import Hansard

    shutil.copytree(demo.config, tree.config, dirs_exist_ok=True)
    roots = open_roots([str(demo.config), str(tree.config)])
    with Hansard(str(tree.home), roots) as h:
        h.sync()
        for by in ("total", "model", "day", "tool", "branch", "agent"):
            both = {tuple(row.key.values()): said(row) for row in h.usage(by=by, timezone="UTC").rows}
            assert both == {tuple(row.key.values()): said(row) for row in demo.h.usage(by=by, timezone="UTC").rows}
