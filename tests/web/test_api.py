"""The JSON API: the answers of the command line, whole and in pages, and what may be changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import hansard
from hansard.cli.app import hansard as command
from hansard.model.serialize import plain
from hansard.render.document import pieces
from hansard.web.api import ENDPOINTS, threads
from tests.web.serving import Site, site

if TYPE_CHECKING:
    import httpx

# What is not over changes with the clock: a block that began yesterday may still be open after midnight.
_BEFORE = f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%d}"
_HARD = "/home/mira/src/lanternfish"


@pytest.fixture(scope="module")
def own(demo_store: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server on a copy of the demo's store; whoever changes it takes that back."""
    root, home = demo_store
    copy = tmp_path_factory.mktemp("web-own") / "home"
    shutil.copytree(home, copy)
    with site(copy, root) as running:
        yield running


def printed(demo: Site, *arguments: str) -> Any:
    """What a command says with --json."""
    where = ["--home", demo.settings.home, "--root", demo.settings.roots[0], "--no-sync", "--json"]
    result = CliRunner().invoke(command, [*arguments, *where], catch_exceptions=False)
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["sessions"], "/api/sessions"),
        (["sessions", "--limit", "3", "--sort", "title"], "/api/sessions?limit=3&sort=title"),
        (["sessions", "--sort", "cost", "--reverse"], "/api/sessions?sort=cost&order=asc"),
        (["sessions", "is:error", "--errors", "--all"], "/api/sessions?q=is:error&errors=true&all=1"),
        (["sessions", "--tool", "Bash", "--since", "2w"], "/api/sessions?tool=Bash&since=2w"),
        (["projects"], "/api/projects"),
        (["projects", "tide"], "/api/projects?text=tide"),
        (["prompts"], "/api/prompts"),
        (["prompts", "list", "--unique", "--reverse"], "/api/prompts?q=list&unique=true&reverse=true"),
        (["prompts", "--source", "command", "--limit", "2"], "/api/prompts?source=command&limit=2"),
        (["search", "list"], "/api/search?q=list"),
        (["search", "list", "--group", "session", "--limit", "4"], "/api/search?q=list&group=true&limit=4"),
        (["search", "list", "--facets", "-C", "2"], "/api/search?q=list&facets=true&context=2"),
        (["search", "list", "--sort", "newest"], "/api/search?q=list&sort=newest"),
        (["usage"], "/api/usage"),
        (["usage", "--by", "month,model", "--breakdown"], "/api/usage?by=month,model&breakdown=true"),
        (["usage", "--by", "project", "--work", "--order", "asc"], "/api/usage?by=project&work=true&order=asc"),
        (["usage", "model:opus", "--mode", "calculate"], "/api/usage?q=model:opus&mode=calculate"),
        (["usage", "this-month", "--match", "list"], "/api/usage?q=this-month&match=list"),
        (["tools", "this-month", "--timezone", "UTC"], "/api/tools?q=this-month"),
        (["blocks", "--until", _BEFORE], f"/api/blocks?until={_BEFORE}"),
        (["blocks", "--until", _BEFORE, "--no-gaps"], f"/api/blocks?until={_BEFORE}&no_gaps=true"),
        (["explain", "@last"], "/api/explain?target=@last"),
        (["explain", "--until", _BEFORE], f"/api/explain?until={_BEFORE}"),
        (["explain", "--by", "agent", "main", "--limit", "1"], "/api/explain?by=agent&key=main&limit=1"),
        (["explain", "--by", "project", _HARD, "--limit", "3"], f"/api/explain?by=project&key={_HARD}&limit=3"),
        (["related", "@last"], "/api/sessions/@last/related"),
        (["prices"], "/api/prices"),
        (["prices", "opus"], "/api/prices?text=opus"),
        (["status"], "/api/status"),
        (["doctor"], "/api/doctor"),
        (["tag"], "/api/tags"),
        (["note", "@last"], "/api/sessions/@last/remarks"),
    ],
)
def test_the_answer_is_that_of_the_command(demo: Site, client: httpx.Client, arguments: list[str], path: str) -> None:
    if arguments[0] in ("usage", "blocks", "explain"):
        arguments = [*arguments, "--timezone", "UTC"]
    answer = client.get(path)

    expected = printed(demo, *arguments)
    assert answer.status_code == 200
    found = answer.json()
    if arguments[0] == "search":  # a cursor holds the moment of the first page
        for changing in ("took_ms", "next_cursor"):
            assert type(found.pop(changing)) is type(expected.pop(changing))
    assert found == expected
    assert answer.headers["content-type"] == "application/json"


def test_a_list_goes_on_where_its_page_ended(client: httpx.Client) -> None:
    for path, key in (
        ("/api/sessions?limit=7", "sessions"),
        ("/api/prompts?limit=50", "prompts"),
        ("/api/files?limit=9", "files"),
    ):
        whole = client.get(path.partition("?")[0], params={"limit": 500}).json()
        found: list[Any] = []
        cursor = None
        while True:
            page = client.get(
                path, params={"limit": path.rpartition("=")[2]} | ({"cursor": cursor} if cursor else {})
            ).json()
            found += page[key]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert found == whole[key]
        assert len(found) == whole["total"] > 9


@pytest.mark.parametrize(
    "path",
    [
        "/api/sessions?cursor=nonsense",
        "/api/sessions?cursor=WyJ0aXRsZSIsICJ4IiwgInkiXQ==",
        "/api/sessions?cursor=bnVsbA==",
        "/api/prompts?cursor=nonsense",
        "/api/prompts?cursor=WzEsMl0=",
        "/api/search?q=list&cursor=nonsense",
        "/api/search?q=list&cursor=WzFd",
        "/api/files?cursor=e30=",
        "/api/files?cursor=%FF%FE",
        "/api/calls?cursor=WzEsMiwzXQ==",
        "/api/sessions?limit=0",
        "/api/sessions?limit=501",
        "/api/sessions?limit=1e2",
        "/api/sessions?limit=5&limit=6",
        "/api/sessions?limit=٣",
        "/api/sessions?sort=weight",
        "/api/sessions?errors=maybe",
        "/api/sessions?since=soon",
        "/api/sessions?colour=blue",
        "/api/sessions?q=since:never",
        "/api/sessions?q=%00",
        "/api/sessions?project=" + "x" * 2001,
        "/api/search",
        "/api/search?q=%20",
        "/api/usage?by=colour",
        "/api/usage?by=day,day",
        "/api/usage?timezone=Atlantis/Capital",
        "/api/usage?timezone=../../etc/passwd",
        "/api/usage?q=opus",
        "/api/tools?q=opus",
        "/api/calls?q=opus",
        "/api/blocks?q=opus",
        "/api/explain?q=opus",
        "/api/explain?by=day",
        "/api/files/history",
        "/api/calls?kind=odd",
        "/api/sessions/@last/turns?limit=51",
        "/api/sessions/@last/turns?first=0",
        "/api/sessions/@last/raw?offset=-1",
        "/api/revision?token=x",
        "/api/status?" + "&".join(f"a{number}=1" for number in range(300)),
    ],
)
def test_what_makes_no_sense_is_refused(client: httpx.Client, path: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"
    assert answer.json()["error"]["status"] == 400
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "rest", ["", "/turns", "/agents", "/links", "/related", "/todos", "/transcripts", "/files", "/raw"]
)
def test_a_session_is_found_by_its_names(client: httpx.Client, rest: str) -> None:
    latest = client.get("/api/sessions?limit=1").json()["sessions"][0]["session_id"]
    exact = client.get(f"/api/sessions/{latest}{rest}")
    assert exact.status_code == 200
    for name in ("@last", latest[:13]):
        assert client.get(f"/api/sessions/{name}{rest}").content == exact.content

    unknown = client.get(f"/api/sessions/no-such-session{rest}")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "not_found")
    several = client.get(f"/api/sessions/a{rest}")
    assert (several.status_code, several.json()["error"]["code"]) == (409, "ambiguous")
    assert client.get(f"/api/sessions/{latest}%2F..{rest}").status_code == 404


def test_head_says_what_get_would(client: httpx.Client) -> None:
    for path in ("/api/sessions", "/api/sessions/@last", "/api/sessions/@last/raw", "/api/openapi.json"):
        told, head = client.get(path), client.head(path)
        assert head.status_code == 200
        assert head.content == b""
        assert head.headers["content-type"] == told.headers["content-type"]
        assert head.headers["content-length"] == str(len(told.content))
    assert client.head("/api/events").headers["content-type"].startswith("text/event-stream")
    assert client.head("/api/sessions/no-such-session").status_code == 404


# -- a session


def test_turns_come_in_windows_of_the_same_tree(demo: Site, client: httpx.Client) -> None:
    longest = client.get("/api/sessions?sort=prompts&limit=1").json()["sessions"][0]["session_id"]
    with hansard.open(demo.settings.home) as h:
        tree = h.read(longest)
        expected = json.loads(b"".join(pieces(tree)))["thread"]["turns"]
    path = f"/api/sessions/{longest}/turns"

    found: list[Any] = []
    first: int | None = 1
    while first is not None:
        page = client.get(path, params={"first": first, "limit": 2, "agents": 1, "pictures": 1}).json()
        assert page["total"] == len(expected)
        found += page["turns"]
        first = page["next"]

    assert len(expected) > 2
    assert found == expected
    last = client.get(path, params={"last": True, "limit": 1}).json()
    assert [turn["number"] for turn in last["turns"]] == [len(expected)]
    assert last["next"] is None
    beyond = client.get(path, params={"first": len(expected) + 1})
    assert (beyond.status_code, beyond.json()["error"]["code"]) == (404, "not_found")


def test_large_turns_come_one_by_one(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_ENOUGH", 1)

    page = client.get("/api/sessions/@last/turns?limit=50").json()

    assert [turn["number"] for turn in page["turns"]] == [1]
    assert page["next"] == 2


def test_a_subagent_has_turns_too(client: httpx.Client) -> None:
    session = next(item for item in client.get("/api/sessions?limit=500").json()["sessions"] if item["agents"])
    path = f"/api/sessions/{session['session_id']}"
    agent = client.get(f"{path}/agents").json()["agents"][0]

    page = client.get(f"{path}/turns", params={"agent": agent["agent_id"]}).json()

    assert page["agent"] == agent
    assert page["turns"][0]["items"]
    assert client.get(f"{path}/turns", params={"agent": "nobody"}).status_code == 404


def test_raw_bytes_are_verbatim(client: httpx.Client) -> None:
    session = next(item for item in client.get("/api/sessions?limit=500").json()["sessions"] if item["agents"])
    path = f"/api/sessions/{session['session_id']}"
    logs = client.get(f"{path}/transcripts").json()["transcripts"]
    assert len(logs) > 1
    for log in logs:
        written = (Path(log["root"]) / log["path"]).read_bytes()
        answer = client.get(f"{path}/raw", params={"transcript": log["path"]})
        assert answer.content == written
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-length"] == str(len(written))
        second = written.index(b"\n") + 1
        line = client.get(f"{path}/raw", params={"transcript": log["path"], "offset": second}).content
        assert line == written[second:].split(b"\n")[0] + b"\n"
    assert client.get(f"{path}/raw").content == (Path(logs[0]["root"]) / logs[0]["path"]).read_bytes()

    no_such: tuple[dict[str, int | str], ...] = (
        {"offset": 10**9},
        {"transcript": "no/such/file.jsonl"},
        {"transcript": "../../../etc/passwd"},
        {"generation": 9},
    )
    for asked in no_such:
        refused = client.get(f"{path}/raw", params=asked)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
    other = next(item for item in client.get("/api/sessions").json()["sessions"] if item != session)
    assert (
        client.get(f"/api/sessions/{other['session_id']}/raw", params={"transcript": logs[0]["path"]}).status_code
        == 404
    )


def test_what_a_session_consists_of(demo: Site, client: httpx.Client) -> None:
    with hansard.open(demo.settings.home) as h:
        for session in h.sessions(limit=None).sessions[:20]:
            path = f"/api/sessions/{session.session_id}"
            for name, value in (
                ("agents", h.agents(session.session_id)),
                ("links", h.links(session.session_id)),
                ("todos", h.todos(session.session_id)),
                ("transcripts", h.transcripts(session.session_id)),
                ("files", h.file_changes(session.session_id)[:100]),
            ):
                assert client.get(f"{path}/{name}").json()[name] == plain(value)


def test_changes_of_files_come_in_pages(client: httpx.Client) -> None:
    session = max(client.get("/api/sessions?limit=500").json()["sessions"], key=lambda item: item["files_changed"])
    path = f"/api/sessions/{session['session_id']}/files"
    whole = client.get(path, params={"limit": 500}).json()
    assert whole["total"] == len(whole["files"]) > 1
    assert whole["next"] is None
    first = client.get(path, params={"limit": 1}).json()
    second = client.get(path, params={"limit": 1, "first": first["next"]}).json()
    assert first["files"] + second["files"] == whole["files"][:2]
    assert client.get(path, params={"path": "no such file"}).json() == {"files": [], "total": 0, "next": None}


def test_rows_that_are_left_out_are_counted(client: httpx.Client) -> None:
    whole = client.get("/api/usage?by=day,model").json()
    cut = client.get("/api/usage?by=day,model&limit=3").json()

    assert cut.pop("rows_left_out") == len(whole["rows"]) - 3
    assert cut == whole | {"rows": whole["rows"][:3]}
    assert "rows_left_out" not in whole
    blocks = client.get(f"/api/blocks?until={_BEFORE}").json()["blocks"]
    latest = client.get(f"/api/blocks?until={_BEFORE}&limit=2").json()
    assert (latest["blocks"], latest["blocks_left_out"]) == (blocks[-2:], len(blocks) - 2)


def test_tools_and_files_agree_with_each_other(client: httpx.Client) -> None:
    tools = client.get("/api/tools").json()
    assert sum(tool["calls"] for tool in tools["tools"]) == tools["totals"]["calls"]
    newest = client.get("/api/files?limit=1").json()["files"][0]
    history = client.get("/api/files/history", params={"path": newest["path"]}).json()
    assert (history["changes"], history["sessions"]) == (newest["changes"], newest["sessions"])
    assert history["page"]["calls"][0]["path"] == newest["path"]
    failed = client.get("/api/calls?kind=errors&limit=200").json()
    assert all(call["is_error"] for call in failed["calls"])
    assert client.get("/api/files/history?path=no-such-file").status_code == 404


# -- what a client already has


def test_an_answer_that_is_known_is_not_sent_again(own: Site) -> None:
    with own.client(headers={"origin": own.address}) as client:
        path = "/api/sessions/@last"
        first = client.get(path)
        tag = first.headers["etag"]
        for header in (tag, f'"other", W/{tag}', "*"):
            again = client.get(path, headers={"if-none-match": header})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
            assert "content-security-policy" in again.headers

        assert client.put(f"{path}/pin").json()["pinned"] is True

        changed = client.get(path, headers={"if-none-match": tag})
        assert changed.status_code == 200
        assert changed.headers["etag"] != tag
        assert changed.json()["pinned"] is True
        assert client.delete(f"{path}/pin").json()["pinned"] is False


def test_what_depends_on_the_clock_has_no_tag() -> None:
    for endpoint in ENDPOINTS:
        if endpoint.has_etag:
            assert endpoint.method == "GET"
            assert not any(one.name in ("since", "until", "q") for one in endpoint.parameters)


# -- what the user says about sessions


def test_remarks_are_made_and_taken_back(own: Site) -> None:
    with own.client(headers={"origin": own.address}) as client:
        path = "/api/sessions/@last"
        before = client.get(f"{path}/remarks").json()
        assert before | {"pinned": False, "tags": [], "notes": [], "renamed": False} == before

        assert client.put(f"{path}/pin").json() == before | {"pinned": True}
        assert client.put(f"{path}/pin").json() == before | {"pinned": True}
        assert client.delete(f"{path}/pin").json() == before

        assert client.put(f"{path}/tags/infra").json()["tags"] == ["infra"]
        assert client.put(f"{path}/tags/client%2Facme").json()["tags"] == ["infra", "client/acme"]
        assert client.get("/api/tags").json() == {
            "tags": [{"tag": "client/acme", "sessions": 1}, {"tag": "infra", "sessions": 1}]
        }
        assert client.delete(f"{path}/tags/INFRA").json()["tags"] == ["client/acme"]
        assert client.delete(f"{path}/tags/client/acme").json() == before

        renamed = client.put(f"{path}/title", json={"title": "  The week\n the login broke "}).json()
        assert renamed == before | {"title": "The week the login broke", "renamed": True}
        assert client.get(path).json()["title"] == "The week the login broke"
        assert client.delete(f"{path}/title").json() == before

        assert client.post(f"{path}/notes", json={"text": "one\ntwo"}).json()["notes"] == ["one\ntwo"]
        assert client.post(f"{path}/notes", json={"text": "three"}).json()["notes"] == ["one\ntwo", "three"]
        assert client.delete(f"{path}/notes/1").json()["notes"] == ["three"]
        assert client.delete(f"{path}/notes/2").status_code == 404
        assert client.delete(f"{path}/notes/1").json() == before


@pytest.mark.parametrize(
    ("method", "rest", "sent", "status"),
    [
        ("PUT", "/title", {"json": {}}, 400),
        ("PUT", "/title", {"json": {"title": ""}}, 400),
        ("PUT", "/title", {"json": {"title": " \n "}}, 400),
        ("PUT", "/title", {"json": {"title": "x" * 201}}, 400),
        ("PUT", "/title", {"json": {"title": 7}}, 400),
        ("PUT", "/title", {"json": {"title": "x", "colour": "blue"}}, 400),
        ("PUT", "/title", {"json": ["title"]}, 400),
        ("PUT", "/title", {"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ("PUT", "/title", {"content": b"\xff", "headers": {"content-type": "application/json"}}, 400),
        ("PUT", "/title", {"content": b"[" * 60_000, "headers": {"content-type": "application/json"}}, 400),
        ("PUT", "/title", {"content": b'{"title": "x"}'}, 415),
        ("PUT", "/title", {"content": b'{"title": "x"}', "headers": {"content-type": "text/plain"}}, 415),
        ("PUT", "/title", {"data": {"title": "x"}}, 415),
        ("POST", "/notes", {"json": {"text": "x" * 10_001}}, 400),
        ("POST", "/notes", {"json": {"text": "x" * 70_000}}, 413),
        (
            "POST",
            "/notes",
            {"content": (b"x" * 1000 for _ in range(100)), "headers": {"content-type": "application/json"}},
            413,
        ),
        ("POST", "/notes?text=x", {"json": {"text": "x"}}, 400),
        ("PUT", "/tags/two%20words", {}, 400),
        ("PUT", "/tags/a%2Cb", {}, 400),
        ("PUT", "/tags/", {}, 400),
        ("PUT", "/tags/" + "x" * 65, {}, 400),
        ("PUT", "/pin", {"json": {"pinned": True}}, 400),
        ("PUT", "/pin", {"content": b"x"}, 415),
        ("DELETE", "/notes/0", {}, 400),
        ("DELETE", "/notes/-1", {}, 400),
        ("DELETE", "/notes/one", {}, 400),
        ("POST", "/pin", {}, 405),
        ("PATCH", "/title", {"json": {"title": "x"}}, 405),
    ],
)
def test_a_remark_that_cannot_be_kept_changes_nothing(
    own: Site, method: str, rest: str, sent: dict[str, Any], status: int
) -> None:
    with own.client() as client:
        before = client.get("/api/sessions/@last/remarks").json()
        given = dict(sent)
        headers = {"origin": own.address} | given.pop("headers", {})

        refused = client.request(method, f"/api/sessions/@last{rest}", headers=headers, **given)

        assert refused.status_code == status
        assert refused.json()["error"]["status"] == status
        assert client.get("/api/sessions/@last/remarks").json() == before


def test_a_server_that_only_reads_changes_nothing(demo_store: tuple[Path, Path]) -> None:
    root, home = demo_store
    with site(home, root, read_only=True) as running, running.client(headers={"origin": running.address}) as client:
        for endpoint in ENDPOINTS:
            if endpoint.writes:
                path = endpoint.path.replace("{session}", "@last").replace("{tag:path}", "x").replace("{number}", "1")
                refused = client.request(endpoint.method, path, json={"title": "x"} if endpoint.body else None)
                assert (refused.status_code, refused.json()["error"]["code"]) == (403, "read_only")
        assert client.get("/api/sessions/@last/remarks").status_code == 200


def test_nothing_but_get_and_remarks_and_links() -> None:
    others = {
        (endpoint.method, endpoint.path) for endpoint in ENDPOINTS if not endpoint.writes and endpoint.method != "GET"
    }
    assert others == {("POST", "/api/links")}
    assert {endpoint.method for endpoint in ENDPOINTS if endpoint.writes} == {"PUT", "POST", "DELETE"}


def test_an_empty_store_answers_too(tmp_path: Path) -> None:
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    with site(tmp_path / "home", tmp_path / "claude") as running, running.client() as client:
        for endpoint in ENDPOINTS:
            if endpoint.method == "GET" and endpoint.kind == "application/json":
                path = endpoint.path
                needed = {one.name: "x" for one in endpoint.parameters if one.required}
                if path == "/api/sql":
                    needed["q"] = "SELECT 1"
                known = "{" not in path and endpoint.path not in ("/api/explain", "/api/files/history", "/api/secrets")
                assert client.get(path, params=needed).status_code == (200 if known else 404), path
        assert client.get("/api/sessions").json() == {"sessions": [], "next_cursor": None, "total": 0}
