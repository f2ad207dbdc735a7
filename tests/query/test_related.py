"""Sessions like a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.errors import UsageError
from tests.sync.making import Tree, assistant, call, main_path, result, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.engine import Hansard
    from hansard.model.sessions import Related
    from tests.recordings import History
    from tests.sync.making import Line

HOME = "/home/mira/src/app"


@pytest.fixture
def store(tree: Tree) -> Iterator[Hansard]:
    with hansard.open(tree.home) as opened:
        yield opened


def write(
    tree: Tree, number: int, prompt: str, *, read: tuple[str, ...] = (), changed: tuple[str, ...] = (), **more: Any
) -> str:
    """A session with one prompt that reads and changes some files."""
    session_id = session(number)
    begin = number * 100_000
    lines: list[Line] = [user(session_id, f"u{number}", prompt, begin, **more)]
    for place, path in enumerate((*read, *changed)):
        name = f"{number}-{place}"
        tool = "Read" if place < len(read) else "Edit"
        given = {"file_path": path} if tool == "Read" else {"file_path": path, "old_string": "a", "new_string": "b"}
        outcome = None if tool == "Read" else {"filePath": path, "structuredPatch": []}
        lines.append(
            assistant(session_id, f"a{name}", f"m{name}", [call(f"t{name}", tool, **given)], begin + 1, **more)
        )
        lines.append(result(session_id, f"r{name}", f"t{name}", "fine", begin + 2, outcome))
    lines.append(assistant(session_id, f"z{number}", f"mz{number}", "Done.", begin + 3, **more))
    tree.write(main_path(session_id), lines)
    return session_id


def ids(found: list[Related]) -> list[str]:
    return [item.session.session_id for item in found]


def test_a_rare_file_says_more_than_a_common_one(tree: Tree, store: Hansard) -> None:
    common, rare = f"{HOME}/README.md", f"{HOME}/src/gauge.py"
    wanted = write(tree, 1, "alpha", read=(common,), changed=(rare,))
    for number in range(2, 14):
        write(tree, number, f"number{number}", read=(common,))
    like = write(tree, 20, "omega", read=(common,), changed=(rare,))
    tree.sync()
    found = store.related(wanted)
    assert ids(found) == [like]  # what all have is nothing in common
    assert found[0].files == (rare,)
    assert found[0].shared_files == 1
    assert found[0].same_project
    assert (found[0].links, found[0].words) == ((), ())


def test_who_changed_a_file_is_nearer_than_who_read_it(tree: Tree, store: Hansard) -> None:
    path = f"{HOME}/src/gauge.py"
    wanted = write(tree, 1, "alpha", changed=(path,))
    reader, writer = write(tree, 2, "beta", read=(path,)), write(tree, 3, "gamma", changed=(path,))
    tree.sync()
    assert ids(store.related(wanted)) == [writer, reader]


def test_distinctive_words(tree: Tree, store: Hansard) -> None:
    wanted = write(tree, 1, "Please fix the flaky login test of the harbour page")
    like = write(tree, 2, "The login of the harbour is flaky again, please have a look at the test")
    write(tree, 3, "Please look at the page and tell what you think of it")
    for number in range(4, 40):
        write(tree, number, f"Please do the page number{number}")
    tree.sync()
    found = store.related(wanted)
    assert ids(found)[0] == like
    assert set(found[0].words) == {"flaky", "login", "harbour", "test"}
    assert len(found) == 1


def test_files_come_before_words_and_the_project_before_chance(tree: Tree, store: Hansard) -> None:
    path = f"{HOME}/src/gauge.py"
    wanted = write(
        tree, 1, "Calibrate the sextant and the compass of the harbour pilot", changed=(path, f"{HOME}/b.py")
    )
    other = "/home/mira/src/elsewhere"
    chance = write(tree, 2, "Sextant, compass, harbour, pilot: calibrate them all", cwd=other)
    near = write(tree, 3, "What is a sextant?")
    shares = write(tree, 4, "Something quite different", changed=(path,))
    for number in range(5, 24):
        write(tree, number, f"Something about number{number}", changed=(f"{HOME}/{number}.py",))
    tree.sync()
    assert ids(store.related(wanted))[:3] == [shares, near, chance]


def test_words_of_later_prompts_count(tree: Tree, store: Hansard) -> None:
    wanted = write(tree, 1, "Where does the sextant drift come from?")
    like = write(tree, 2, "Hello there")
    tree.append(main_path(like), [user(like, "later", "It is the sextant, it has drifted: drift", 200_050)])
    for number in range(3, 20):
        write(tree, number, f"Something about number{number}")
    tree.sync()
    found = store.related(wanted)
    assert ids(found) == [like]
    assert set(found[0].words) == {"drift", "sextant"}


def test_words_of_scripts_without_spaces(tree: Tree, store: Hansard) -> None:
    wanted = write(tree, 1, "雨雲の検索が遅い")
    like = write(tree, 2, "検索をもっと速く、雨雲も")
    write(tree, 3, "こんにちは")
    tree.sync()
    found = store.related(wanted)
    assert ids(found) == [like]
    assert {"雨雲", "検索"} <= set(found[0].words)


def test_links_come_first(tree: Tree, store: Hansard) -> None:
    path = f"{HOME}/src/gauge.py"
    wanted = write(tree, 1, "alpha", changed=(path,))
    write(tree, 2, "beta", changed=(path,))
    origin = tree.place(main_path(wanted)).read_bytes()
    fork = session(3)
    tree.write(main_path(fork), origin.replace(wanted.encode(), fork.encode()))
    tree.append(main_path(fork), [user(fork, "own", "Another way", 100_090)])
    tree.sync()
    for one, other in ((wanted, fork), (fork, wanted)):
        best = store.related(one)[0]
        assert best.session.session_id == other
        assert best.links == ("fork",)
        assert best.score > 1


def test_worktrees_are_the_same_files(tree: Tree, store: Hansard) -> None:
    plain, tree_a, tree_b = (
        f"{HOME}{folder}/src/gauge.py" for folder in ("", "/.claude/worktrees/a", "/.claude/worktrees/b")
    )
    one = write(tree, 1, "alpha", changed=(plain,))
    two = write(tree, 2, "beta", changed=(tree_a,), cwd=f"{HOME}/.claude/worktrees/a")
    three = write(tree, 3, "gamma", changed=(tree_b,), cwd=f"{HOME}/.claude/worktrees/b")
    tree.sync()
    for wanted in (one, two, three):
        found = store.related(wanted)
        assert set(ids(found)) == {one, two, three} - {wanted}
        assert {item.files for item in found} == {(plain,)}


def test_debris_and_strangers_are_not_offered(tree: Tree, store: Hansard) -> None:
    wanted = write(tree, 1, "alpha", changed=(f"{HOME}/a.py",))
    write(tree, 2, "beta", changed=(f"{HOME}/b.py",))
    tree.write(main_path(session(3)), [user(session(3), "u", "<command-name>/clear</command-name>")])
    tree.sync()
    assert store.sessions(debris=True).total == 3
    assert store.related(wanted) == []


def test_limits_and_order(tree: Tree, store: Hansard) -> None:
    path = f"{HOME}/src/gauge.py"
    numbers = (3, 5, 2, 4, 1)
    for number in numbers:
        write(tree, number, f"number{number}", changed=(path,))
        tree.sync()
    every = store.related(session(1), limit=None)
    assert ids(every) == [session(number) for number in (2, 3, 4, 5)]  # the nearest in time first
    assert ids(store.related(session(1), limit=2)) == ids(every)[:2]
    with pytest.raises(UsageError):
        store.related(session(1), limit=0)


def test_without_full_text(tree: Tree, store: Hansard) -> None:
    wanted = write(tree, 1, "The sextant drifts")
    like = write(tree, 2, "Again the sextant drifts")
    tree.sync()
    (tree.home / "text.db").unlink()
    assert ids(store.related(wanted)) == [like]


@pytest.mark.parametrize("name", ["real clients", "public"])
def test_real_sessions(histories: dict[str, History], name: str) -> None:
    with hansard.open(histories[name].store) as opened:
        sessions = opened.sessions(limit=None).sessions
        assert sessions
        shown = {item.session_id for item in sessions}
        for item in sessions[::7]:
            found = opened.related(item.session_id)
            scores = [other.score for other in found]
            assert scores == sorted(scores, reverse=True)
            assert set(ids(found)) <= shown - {item.session_id}
            assert all(other.links or other.files or other.words for other in found)
            forks = {
                end
                for link in opened.links(item.session_id)
                if link.relation in ("fork", "branch")
                for end in (link.source, link.target)
            }
            assert forks & shown - {item.session_id} <= set(ids(found[: len(forks)]))
