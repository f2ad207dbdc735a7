"""Names are looked up inside the scope: of other projects nothing can be read, listed, suggested or told from what does not exist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import hansard
from hansard.mcp.server import Server
from hansard.model.names import shown_id
from tests.mcp.conftest import Call, caller, server_on
from tests.mcp.writing import ELSEWHERE, FIRST, OTHER, SECOND, Log

MESSAGE = str(UUID(int=UUID(ELSEWHERE).int ^ 1))  # the first of the other project
ODD = "A session id with a sentence in it"
OF_OTHERS = (
    ELSEWHERE, ELSEWHERE[:8], "bbbb", MESSAGE, MESSAGE[:10], "narwhal", "keeps a narwhal", "@3", "@4", ODD, ODD[:9], shown_id(ODD),
    "The parser of the other project keeps a narwhal.",
)  # fmt: skip
QUERIES = ('session:"NAME"', 'x session:"NAME"', '"NAME"', 'project:"NAME"', 'branch:"NAME"', 'title:"NAME"')


def _of_nobody(name: str) -> str:
    """A name of the same shape that no project has."""
    if name.startswith(("@", "id-")):
        return "@9" if name[0] == "@" else shown_id("nobody's id")
    return name.replace("bbbb", "cccc").replace("narwhal", "wallaby").replace("A session", "A bullock")


@pytest.fixture(scope="module")
def scoped(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server in one of two repositories; the other one has newer sessions, one of them with an id that is none."""
    place = tmp_path_factory.mktemp("scope")
    root = place / "claude"
    for number, session in enumerate((FIRST, SECOND)):
        log = Log(session, day=1 + number)
        log.prompt("Why is the parser slow?" if session == FIRST else "The login test is flaky.")
        log.reply("It decodes twice.")
        log.write(root)
    other = Log(ELSEWHERE, cwd=OTHER, branch="narwhalbranch", day=3)
    other.prompt("The parser of the other project keeps a narwhal.")
    other.reply("The narwhal has a tusk.")
    other.write(root)
    odd = Log(ODD, cwd=OTHER, day=4, uuid="A message uuid with a sentence in it ", file="odd")
    odd.prompt("Of an odd narwhal.")
    odd.write(root)
    with hansard.open(place / "home", [root]) as h:
        h.sync()
    return server_on(place / "home", root)


def asked(server: Server, method: str, **params: Any) -> str:
    response = server.handle({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return json.dumps(response, ensure_ascii=False)


def ways(server: Server, name: str) -> dict[str, str]:
    """What each request says that takes the name of a session or message."""
    said = {
        "read": asked(server, "tools/call", name="read", arguments={"target": name}),
        "read a turn": asked(server, "tools/call", name="read", arguments={"target": name, "turn": 1}),
        "prompt": asked(server, "prompts/get", name="continue_from", arguments={"session": name}),
        "resource": asked(server, "resources/read", uri=f"hansard://session/{name}"),
        "resource turn": asked(server, "resources/read", uri=f"hansard://session/{name}/turn/1"),
    }
    for tool in ("search", "sessions", "usage"):
        for query in QUERIES:
            arguments = {"query": query.replace("NAME", name)}
            said[f"{tool} {query}"] = asked(server, "tools/call", name=tool, arguments=arguments)
    if name.isalnum():  # of others it repeats single words
        said["recall"] = asked(server, "tools/call", name="recall", arguments={"question": f"about {name}"})
    said["recall in a session"] = asked(
        server, "tools/call", name="recall", arguments={"question": "app", "session": name}
    )
    said["recall like"] = asked(server, "tools/call", name="recall", arguments={"question": "app", "like": name})
    for key, text in said.items():  # what the client asked itself, and the random word of the marks
        said[key] = "".join(part.partition("⟧")[2] for part in ("⟧" + text.replace(name, "NAME")).split("⟦"))
    return said


def test_names_of_other_projects_do_not_exist(scoped: Server) -> None:
    for name in OF_OTHERS:
        expected = ways(scoped, _of_nobody(name))
        for way, said in ways(scoped, name).items():
            assert "narwhal" not in said, (name, way)
            assert ELSEWHERE[:8] not in said, (name, way)
            assert shown_id(ODD) not in said, (name, way)
            assert said == expected[way], (name, way)
    call = caller(scoped)
    assert call("read", target=ELSEWHERE, scope="all")["session"]["project"] == OTHER
    assert call("read", target=shown_id(ODD), scope="all")["session"]["session"] == shown_id(ODD)


def test_a_name_that_several_projects_have_is_the_one_in_scope(scoped: Server) -> None:
    call = caller(scoped)
    assert call("read", target="parser")["session"]["session"] == FIRST
    assert "does not name one" in call("read", target="parser", scope="all")["error"]
    assert call("read", target="@1")["session"]["session"] == SECOND
    assert call("search", query="flaky session:@last")["passages"][0]["session"] == SECOND
    assert call("sessions", query="session:@2")["sessions"][0]["session"] == FIRST
    assert call("usage", query="session:@last", by="session")["rows"][0]["key"] == SECOND


def test_ambiguity_names_nothing(scoped: Server) -> None:
    """Two sessions of this repository begin alike: the answer is that of a name that does not exist."""
    call = caller(scoped)
    said = call("read", target="aaaa000")["error"]
    assert said.replace("aaaa000", "NAME") == call("read", target="cccc000")["error"].replace("cccc000", "NAME")


@pytest.mark.parametrize(
    "query", ["narwhall", "project:app-secrett", "branch:narwhalbranc", "tuskk flaky", "narwhal flaky"]
)
def test_hints_are_not_taken_from_other_projects(scoped: Server, query: str) -> None:
    said = str(caller(scoped)("search", query=query))
    assert "did you mean" not in said
    assert "does not occur" not in said
    assert "app-secret" not in said.replace(query, "")


def test_listed_resources_have_quoted_titles(scoped: Server) -> None:
    listed = json.loads(asked(scoped, "resources/list"))["result"]["resources"]
    assert {one["name"] for one in listed} == {FIRST, SECOND}
    assert all(one["title"].startswith("⟦") and one["title"].endswith("⟧") for one in listed)
    assert all(one["uri"] == f"hansard://session/{one['name']}" for one in listed)


def test_a_forged_git_file_does_not_widen_the_scope(scoped_folders: tuple[Call, str]) -> None:
    call, theirs = scoped_folders
    assert "sessions" not in call("sessions")
    assert "error" in call("read", target=FIRST)
    assert theirs not in str(call("search", query="parser"))


@pytest.fixture
def scoped_folders(tmp_path: Path) -> tuple[Call, str]:
    """A server in a folder whose `.git` file claims to be a worktree of a repository with sessions."""
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    (theirs / ".git" / "worktrees" / "real").mkdir(parents=True)
    (theirs / ".git" / "worktrees" / "real" / "gitdir").write_text(f"{tmp_path}/real/.git\n")
    mine.mkdir()
    (mine / ".git").write_text(f"gitdir: {theirs}/.git/worktrees/real\n")
    log = Log(FIRST, cwd=str(theirs))
    log.prompt("Why is the parser slow?")
    log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "home", [tmp_path / "claude"]) as h:
        h.sync()
    return caller(server_on(tmp_path / "home", tmp_path / "claude", folder=str(mine))), str(theirs)
