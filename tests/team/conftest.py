"""A PostgreSQL server of the tests' own, and an empty schema for each test."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

import hansard
from benchmarks.postgres import Server, find_programs
from hansard.engine import Hansard
from hansard.team.connect import Database
from hansard.team.push import PushReport
from hansard.team.store import Team
from tests.machines import two_machines
from tests.team.server import LOGINS, started

_NUMBERS = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server on a socket in a folder of its own."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL 15 or newer: `make postgres` installs it")
    pytest.importorskip("psycopg")
    with started(programs) as running:
        yield running


class Place(NamedTuple):
    """A schema of the server with the tables of a team."""

    server: Server
    schema: str

    def url(self, login: str = "keeper") -> str:
        return self.server.url(login)

    def team(self, login: str = "keeper") -> Team:
        return Team(self.url(login), schema=self.schema)

    def database(self, login: str = "keeper") -> Database:
        return Database(self.url(login), self.schema)

    def rows(self, sql: str, values: tuple[Any, ...] = (), *, login: str = "keeper") -> list[Any]:
        with self.database(login) as database:
            return database.rows(sql, values)


@pytest.fixture(scope="session")
def make_place(server: Server) -> Callable[[], Place]:
    """A function that makes a schema with the tables of a team."""

    def make() -> Place:
        place = Place(server, f'team {next(_NUMBERS)} "of" {getpass.getuser()}')
        with place.team() as team:
            team.init()
        return place

    return make


@pytest.fixture
def place(make_place: Callable[[], Place]) -> Place:
    """A schema with the tables of a team."""
    return make_place()


def push(h: Hansard, place: Place, machine: str, login: str = "keeper", opened: tuple[str, ...] = ()) -> PushReport:
    return h.push_team(database=place.url(login), schema=place.schema, machine=machine, opened=opened)


def everything_of(h: Hansard) -> tuple[str, ...]:
    """All projects, to open them."""
    return tuple(project.project for project in h.projects() if project.project)


@pytest.fixture(scope="session")
def metered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Hansard]]:
    """A history of which two machines have parts, some of them both; and one store with the files of both."""
    with two_machines(tmp_path_factory.mktemp("metered"), 1500) as stores:
        yield stores


TOKEN = "ghp_" + "a1B2" * 9


def write_session(folder: Path, cwd: str, words: str) -> None:
    """A session with a prompt, an answer, a tool call on a file, and a title."""
    name = cwd.replace("/", "-")
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": f"{name}-1", "message": {"role": "user", "content": f"{words} prompt {TOKEN}"}},
        {
            "type": "assistant",
            "uuid": f"{name}-2",
            "parentUuid": f"{name}-1",
            "message": {
                "id": f"msg_01{name}",
                "role": "assistant",
                "model": "claude-opus-4-6",
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 5, "output_tokens": 7},
                "content": [
                    {"type": "text", "text": f"{words} answer"},
                    {
                        "type": "tool_use",
                        "id": f"toolu_{name}",
                        "name": "Edit",
                        "input": {"file_path": f"{cwd}/{words}.py"},
                    },
                ],
            },
        },
        {"type": "summary", "summary": f"{words} title", "leafUuid": f"{name}-2"},
    ]
    path = folder / "projects" / name / f"{name}.jsonl"
    path.parent.mkdir(parents=True)
    shared = {
        "sessionId": name,
        "cwd": cwd,
        "timestamp": "2026-05-01T10:00:00.000Z",
        "version": "2.1.0",
        "gitBranch": "main",
    }
    path.write_text("".join(json.dumps(shared | line) + "\n" for line in lines), encoding="utf-8")


PROJECTS = {"ann": ("/home/ann/webshop", "/home/ann/diary"), "bob": ("/home/bob/webshop", "/home/bob/api")}


@pytest.fixture(scope="session")
def shared(make_place: Callable[[], Place], tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Ann and bob have pushed two projects each; ann opened her webshop. Cia leads, dan belongs to the webshops, and o'neil is an admin."""
    place = make_place()
    with place.team() as team:
        for login in ("ann", "bob"):
            team.grant(login)
        team.grant("cia", "lead", ["webshop"])
        team.grant("dan", "member", ["webshop"])
        team.grant(LOGINS[-1], "admin")
    for login, projects in PROJECTS.items():
        folder = tmp_path_factory.mktemp(login)
        for project in projects:
            write_session(folder / "claude", project, f"{login}'s {project.rpartition('/')[2]}")
        with hansard.open(folder / "store", [folder / "claude"]) as h:
            h.sync()
            push(h, place, "laptop", login=login, opened=("webshop",) if login == "ann" else ())
    return place


HISTORIES = ("hard", "public", "metered")


class Twice(NamedTuple):
    """A history, and a database to which two machines have pushed all of it, at least one with all of its texts."""

    h: Hansard
    place: Place


@pytest.fixture(scope="session")
def twice(request: pytest.FixtureRequest, make_place: Callable[[], Place]) -> Iterator[Callable[[str], Twice]]:
    """A function that gives one of the `HISTORIES` as two machines pushed it."""
    known: dict[str, Twice] = {}
    opened: list[Hansard] = []

    def open_store(name: str) -> Hansard:
        if name == "hard":
            return cast("Hansard", request.getfixturevalue("hard")[0])
        if name == "metered":
            return cast("Hansard", request.getfixturevalue("metered")["both"])
        history = request.getfixturevalue("histories")[name]
        opened.append(hansard.open(history.store, history.roots))
        return opened[-1]

    def made(name: str) -> Twice:
        if name not in known:
            h, place = open_store(name), make_place()
            push(h, place, "desktop", opened=everything_of(h))
            push(h, place, "laptop", opened=() if name == "public" else everything_of(h))  # its texts take long
            known[name] = Twice(h, place)
        return known[name]

    yield made
    for h in opened:
        h.close()
