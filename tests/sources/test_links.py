"""Links: followed inside the root and to where the user allowed it, never into our own data, and listed otherwise."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hansard.clients.roots import open_roots
from hansard.errors import UsageError
from hansard.sources.discover import Found, LeftOut, discover
from hansard.sources.roots import Root

SID = "0b2d0a2e-8f3c-4b2c-9b5e-1234567890ab"
HERE = f"projects/-a/{SID}.jsonl"


def write(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def link(path: Path, target: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config directory with one transcript."""
    write(tmp_path / ".claude" / HERE)
    return tmp_path / ".claude"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside of it that looks like a project's."""
    write(tmp_path / "outside" / "far.jsonl")
    write(tmp_path / "outside" / "sub" / "note.txt")
    return tmp_path / "outside"


def take(config: Path, *follow: Path, data: Path | None = None) -> Root:
    (root,) = open_roots([str(config)], follow_links=map(str, follow), data_directory=str(data) if data else "")
    return root


def paths(found: list[Found]) -> set[str]:
    return {item.path for item in found}


def unfollowed(left_out: list[LeftOut]) -> dict[str, str]:
    return {item.path: item.target for item in left_out if item.target}


_scans: list[list[str]] = []
_hooked = False


@contextmanager
def scanning() -> Iterator[list[str]]:
    """Collect the folders that are listed, as the interpreter itself tells it."""
    global _hooked  # noqa: PLW0603 - an audit hook can never be taken away again
    if not _hooked:
        sys.addaudithook(lambda event, args: _scans[-1].append(args[0]) if event == "os.scandir" and _scans else None)
        _hooked = True
    _scans.append([])
    try:
        yield _scans[-1]
    finally:
        _scans.pop()


def test_a_link_out_is_listed_with_where_it_leads(config: Path, outside: Path) -> None:
    link(config / "projects" / "-linked", outside)
    link(config / "projects" / "-a" / "more.jsonl", outside / "far.jsonl")
    link(config / "tasks" / SID, outside)
    with scanning() as scanned:
        found, unreadable, left_out = discover(take(config))
    assert paths(found) == {HERE}
    assert unreadable == []
    assert unfollowed(left_out) == {
        "projects/-linked": str(outside),
        "projects/-a/more.jsonl": str(outside / "far.jsonl"),
        f"tasks/{SID}": str(outside),
    }
    assert {item.reason for item in left_out} == {
        f"a link to {outside}, outside the root",
        f"a link to {outside / 'far.jsonl'}, outside the root",
    }
    assert not any(folder.startswith(str(outside)) or "-linked" in folder for folder in scanned)


@pytest.mark.parametrize("target", ["/", "/proc", "/usr"])
def test_a_huge_tree_costs_nothing(config: Path, target: str) -> None:
    if not os.path.isdir(target):
        pytest.skip(f"there is no {target} here")
    with scanning() as scanned:
        before = discover(take(config))[0]
    count = len(scanned)
    link(config / "projects" / "-all", Path(target))
    with scanning() as scanned:
        found, _, left_out = discover(take(config))
    assert len(scanned) == count
    assert found == before
    assert unfollowed(left_out) == {"projects/-all": os.path.realpath(target)}


def test_a_link_to_where_the_user_allowed_it_is_followed(config: Path, outside: Path, tmp_path: Path) -> None:
    link(config / "projects" / "-linked", outside)
    link(config / "projects" / "-sub", outside / "sub")
    link(outside / "away", write(tmp_path / "elsewhere" / "x.jsonl").parent)
    link(outside / "back", config / "projects")
    found, _, left_out = discover(take(config, outside))
    # One tree is one tree: -sub is a part of what -linked leads to.
    assert paths(found) == {HERE, "projects/-linked/far.jsonl", "projects/-linked/sub/note.txt"}
    assert unfollowed(left_out) == {"projects/-linked/away": str(tmp_path / "elsewhere")}


def test_an_allowed_folder_may_be_named_through_a_link_or_from_above(
    config: Path, outside: Path, tmp_path: Path
) -> None:
    link(config / "projects" / "-linked", outside)
    for allowed in (link(tmp_path / "name", outside), tmp_path, Path("/")):
        assert "projects/-linked/far.jsonl" in paths(discover(take(config, allowed))[0])
    for other in (outside / "sub", tmp_path / "out", tmp_path / "missing"):
        assert unfollowed(discover(take(config, other))[2]) == {"projects/-linked": str(outside)}


def test_links_inside_are_followed_once(config: Path) -> None:
    projects = config / "projects"
    write(projects / ".store" / "x.jsonl")
    write(config / "archive" / "-old" / "y.jsonl")
    link(projects / "-hidden", projects / ".store")
    link(projects / "-old", config / "archive" / "-old")
    link(projects / "-same", config / "archive" / "-old")
    link(projects / "-a" / "same.jsonl", config / HERE)
    found, unreadable, left_out = discover(take(config))
    assert sorted(paths(found)) == [HERE, "projects/-hidden/x.jsonl", "projects/-old/y.jsonl"]
    assert unreadable == []
    assert unfollowed(left_out) == {}


def test_loops_end(config: Path, tmp_path: Path) -> None:
    projects = config / "projects"
    link(projects / "-a" / "up", projects)
    link(projects / "-a" / "self", projects / "-a" / "self")
    link(projects / "-a" / "root", config)
    link(projects / "-a" / "above", tmp_path)
    link(projects / "-b", projects / "-c")
    link(projects / "-c", projects / "-b")
    found, unreadable, left_out = discover(take(config))
    assert paths(found) == {HERE}
    assert {item.relative for item in unreadable} == {"projects/-a/self", "projects/-b", "projects/-c"}
    assert unfollowed(left_out) == {"projects/-a/root": str(config), "projects/-a/above": str(tmp_path)}
    # Also where all of it is allowed.
    found, _, left_out = discover(take(config, tmp_path))
    assert {path for path in paths(found) if SID in path} == {HERE}
    assert unfollowed(left_out) == {}


def test_many_links_cost_as_much_each_as_few(config: Path, outside: Path) -> None:
    def steps(count: int) -> int:
        for number in range(count):
            link(config / "projects" / f"-{count}" / f"in-{number}.jsonl", write(config / "kept" / f"{number}.jsonl"))
            link(config / "projects" / f"-{count}" / f"out-{number}", outside)
        taken = 0

        def step(*_: object) -> None:
            nonlocal taken
            taken += 1

        root = take(config)
        sys.setprofile(step)
        try:
            discover(root)
        finally:
            sys.setprofile(None)
        return taken

    few = steps(50)
    shutil.rmtree(config / "projects" / "-50")
    assert few * 3 < steps(200) < few * 5


def test_a_dangling_link_is_told(config: Path, outside: Path) -> None:
    link(config / "projects" / "-gone", outside / "missing")
    link(config / "projects" / "-a" / "gone.jsonl", outside / "missing.jsonl")
    link(config / "projects" / "-a" / ".#lock", Path("somebody@host.1234"))
    _, unreadable, left_out = discover(take(config))
    assert {(item.relative, item.reason) for item in unreadable} == {
        ("projects/-gone", "broken link"),
        ("projects/-a/gone.jsonl", "broken link"),
    }
    assert [(item.path, item.target) for item in left_out] == [("projects/-a/.#lock", "")]


def test_hidden_links_are_not_entered(config: Path, outside: Path) -> None:
    link(config / "projects" / ".linked", outside)
    link(config / "projects" / "-a" / ".session-aliases", outside)
    found, _, left_out = discover(take(config, outside))
    assert paths(found) == {HERE}
    assert {item.path for item in left_out} == {"projects/.linked", "projects/-a/.session-aliases"}


def test_a_link_to_what_is_not_kept_is_left_out(config: Path) -> None:
    link(config / "projects" / "-a" / "page.html", config / HERE)
    assert [(item.path, item.target) for item in discover(take(config))[2]] == [("projects/-a/page.html", "")]


@pytest.mark.parametrize("linked", ["root", "projects", "both", "files"])
def test_what_the_user_named_may_be_a_link(config: Path, tmp_path: Path, linked: str) -> None:
    write(config / "plans" / "one.md")
    write(config / "history.jsonl")
    here = {HERE, "plans/one.md", "history.jsonl"}
    if linked in ("projects", "both"):
        (config / "projects").rename(tmp_path / "big")
        link(config / "projects", tmp_path / "big")
    if linked == "files":
        for name in ("plans", "history.jsonl"):
            (config / name).rename(tmp_path / name)
            link(config / name, tmp_path / name)
    root = take(link(tmp_path / "name", config) if linked in ("root", "both") else config)
    found, unreadable, left_out = discover(root)
    assert (paths(found), unreadable, left_out) == (here, [], [])
    # Links in there that stay in there are as good as any.
    write(Path(root.transcripts) / ".store" / "x.jsonl")
    link(Path(root.transcripts) / "-x", Path(root.transcripts) / ".store")
    assert paths(discover(root)[0]) == {*here, "projects/-x/x.jsonl"}
    assert root.reaches(HERE)
    assert root.reaches("history.jsonl")


@pytest.mark.parametrize("name", ["projects", "plans", "file-history"])
def test_an_entry_of_the_layout_does_not_lead_around_the_root(config: Path, tmp_path: Path, name: str) -> None:
    root = take(config)
    if name == "projects":
        (config / "projects").rename(tmp_path / "moved")
    link(config / name, tmp_path)
    with scanning() as scanned:
        found, _, left_out = discover(root)
    assert paths(found) == (set() if name == "projects" else {HERE})
    assert unfollowed(left_out) == {name: str(tmp_path)}
    assert not any(folder.startswith(str(config / name)) for folder in scanned)


def own(folder: Path) -> Path:
    """A data directory, with a file in it that would be kept if it were a project's."""
    write(folder / "statusline.json")
    return folder


def test_our_own_data_is_never_read_through_a_link(config: Path, tmp_path: Path) -> None:
    data = own(tmp_path / "data")
    link(config / "projects" / "-data", data)
    link(config / "projects" / "-a" / "figures.json", data / "statusline.json")
    link(config / "projects" / "-above", tmp_path)
    link(config / "plans", data)
    link(config / "history.jsonl", write(data / "log.jsonl"))
    found, _, left_out = discover(take(config, tmp_path, data, data=data))
    assert paths(found) == {HERE}
    mine = {item.path for item in left_out if "Hansard's own data directory" in item.reason}
    assert mine == {
        "projects/-data",
        "projects/-a/figures.json",
        "projects/-above/data",
        "plans",
        "history.jsonl",
    }


@pytest.mark.parametrize("place", ["projects/hansard", "projects/-a/deep/hansard", "projects"])
@pytest.mark.parametrize("is_linked", [False, True], ids=["plain", "linked"])
def test_a_root_around_our_own_data_does_not_read_it(
    config: Path, tmp_path: Path, place: str, *, is_linked: bool
) -> None:
    data = own(config / (place if place != "projects" else "projects/-data"))
    if is_linked:
        (config / "projects").rename(tmp_path / "big")
        link(config / "projects", tmp_path / "big")
    root = take(config if place != "projects" else config / "projects", data=data)
    found, _, left_out = discover(root)
    assert paths(found) == {HERE}
    ((path, reason),) = [(item.path, item.reason) for item in left_out]
    assert (root.locate(path), reason) == (
        os.path.join(root.transcripts, *data.relative_to(config / "projects").parts),
        "Hansard's own data directory",
    )
    assert not root.reaches(f"{path}/statusline.json")


def test_a_root_in_our_own_data_directory_is_a_root(tmp_path: Path) -> None:
    data = own(tmp_path / "data")
    config = data / "restored"
    write(config / HERE)
    link(config / "projects" / "-data", data)
    found, _, left_out = discover(take(config, data=data))
    assert paths(found) == {HERE}
    assert unfollowed(left_out) == {"projects/-data": str(data)}
    # A config directory may be the data directory too: none of our files lies in the folders of the layout.
    write(data / HERE)
    assert HERE in paths(discover(take(data, data=data))[0])


def test_our_own_data_directory_is_no_projects_directory(tmp_path: Path) -> None:
    write(tmp_path / "data" / "x.jsonl")
    with pytest.raises(UsageError, match="own data directory"):
        take(tmp_path / "data", data=tmp_path / "data")


def test_a_path_is_reached_as_the_walk_reaches_it(config: Path, outside: Path) -> None:
    link(config / "projects" / "-linked", outside)
    for root, is_followed in ((take(config), False), (take(config, outside), True)):
        assert root.reaches(HERE)
        assert root.reaches("projects/-linked/far.jsonl") is is_followed
