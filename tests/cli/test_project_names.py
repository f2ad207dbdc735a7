"""A project is called by its shortest unique suffix, and the same on every face."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.cli.statusline.figures import settings_and_figures
from hansard.cli.statusline.line import ClientInput, compose
from hansard.cli.statusline.snapshot import SHAPE, HighWaterMark, Snapshot
from hansard.model.names import shortest_names
from tests.cli.conftest import Run, runner, said, write_log
from tests.web.serving import site

PROJECTS = {"/home/alex/cli": "alex/cli", "/home/mira/cli": "mira/cli", "/home/mira/app": "app"}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/home/alex/cli"], ["cli"]),
        (["/a/x/cli", "/b/x/cli", "/b/x/web"], ["a/x/cli", "b/x/cli", "web"]),
        (["/cli", "/a/cli"], ["/cli", "a/cli"]),
        (["C:\\src\\cli", "C:\\lab\\cli"], ["src/cli", "lab/cli"]),
        (["C:\\cli", "C:/cli"], ["C:\\cli", "C:/cli"]),
        (["/", ""], ["/", ""]),
        (["/src/cli/", "/src/web"], ["cli", "web"]),
    ],
)
def test_shortest_unique_suffixes(paths: list[str], names: list[str]) -> None:
    assert shortest_names(paths) == dict(zip(paths, names, strict=True))


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4).map(lambda parts: "/" + "/".join(parts))))
def test_names_are_unique_suffixes(paths: list[str]) -> None:
    names = shortest_names(paths)
    assert len(set(names.values())) == len(set(paths))
    assert all(path.endswith(name) for path, name in names.items())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "claude"
    for number, cwd in enumerate(PROJECTS, 1):
        session = f"{number}1111111-aaaa-4aaa-8aaa-111111111111"
        talk = [said(1, "Which way?", session=session, cwd=cwd)]
        talk.append(said(2, "This way.", role="assistant", session=session, cwd=cwd))
        write_log(place, session, talk, folder=cwd.replace("/", "-"))
    return place


@pytest.fixture
def run(root: Path, tmp_path: Path) -> Run:
    return runner(root, tmp_path / "store")


@pytest.mark.parametrize(
    "command",
    [
        ("projects",),
        ("sessions",),
        ("usage", "--by", "project"),
        ("prompts",),
        ("search", "way"),
        ("search", "way", "--facets"),
    ],
)
def test_every_command_calls_a_project_the_same(run: Run, command: tuple[str, ...]) -> None:
    assert _calls_them(run(*command).stdout)


def test_json_has_the_path_and_projects_the_name_too(run: Run) -> None:
    found = json.loads(run("projects", "--json").stdout)["projects"]
    assert {item["project"]: item["name"] for item in found} == PROJECTS


def test_a_name_selects_its_project(run: Run) -> None:
    found = json.loads(run("sessions", "project:alex/cli", "--json").stdout)["sessions"]
    assert [item["project"] for item in found] == ["/home/alex/cli"]


def test_exports_and_pages_say_the_same(run: Run, root: Path, tmp_path: Path) -> None:
    for form in ("html", "markdown"):
        run("export", "--all", "--format", form, "--to", str(tmp_path / form))
        (index,) = (path for path in (tmp_path / form).iterdir() if path.stem == "index")
        assert _calls_them(index.read_text(encoding="utf-8"))
    with site(tmp_path / "store", root) as running, running.client() as client:
        for page in (
            "/sessions",
            "/sessions?group=project",
            "/prompts",
            "/search?q=way",
            "/usage?by=project&since=2026-04-01",
        ):
            assert _calls_them(client.get(page).text), page


def _calls_them(text: str) -> bool:
    return all(name in text.replace(path, "") for path, name in PROJECTS.items())


def test_the_status_line_says_the_same(run: Run, tmp_path: Path) -> None:
    run("sync")
    values = {"shape": SHAPE, "state": "", "checked": 0, "next_sync": 0, "unkept": None, "unkept_at": 0}
    values |= settings_and_figures(str(tmp_path / "store"), None)
    for path, name in PROJECTS.items():
        client = ClientInput(json.dumps({"workspace": {"project_dir": path}}).encode())
        line = compose("{project}", client, Snapshot(values), "", 0, HighWaterMark("", None), colored=False)
        assert line.split(" · ")[0] == name
