"""Invented clients, known to Hansard by nothing but their entry points, pass through every front end."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import hansard
from hansard import clients
from hansard.cli.app import hansard as command
from hansard.clients.tools import Shell, ToolUse
from hansard.config import Settings
from hansard.engine import Hansard
from hansard.mcp.server import Server
from hansard.mcp.store import Repository, Store
from tests.clients.invented.quill import Quill
from tests.sync.dumping import dump
from tests.tui.driving import Driver, drive
from tests.web.serving import site

ROOT = Path(__file__).parents[2]
QUILL, FOLIO = "quill-session-1", "folio-1"
ENTRY_POINTS = """
[hansard.clients]
quill = tests.clients.invented.quill:Quill
folio = tests.clients.invented.folio:Folio
"""
Run = Callable[..., Result]


def quill_events(app: str) -> list[dict[str, Any]]:
    """A sheet of Quill's."""

    def event(who: str, second: int, number: int, pieces: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        stamp = f"2026-11-01T10:00:{second:02}+00:00"
        found = {"who": who, "t": stamp, "n": f"e{number}", "after": f"e{number - 1}", "at": app, "ref": "main"}
        return {**found, "payload": {"pieces": pieces, **more}}

    def spent(read: int, wrote: int, turn: str) -> dict[str, Any]:
        return {"turn": turn, "engine": "claude-sonnet-4-5", "spent": {"in": read, "out": wrote, "warm": 5}}

    look = {"do": "exec", "ticket": "k1", "line": "cat tides.txt"}
    put = {
        "do": "put",
        "ticket": "k2",
        "file": f"{app}/out.txt",
        "body": "low water at 05:12 in Emden\nhigh at 17:40\n",
    }
    return [
        {"who": "sheet", "quill": "0.9", "payload": {"heading": "Tide tables"}},
        event("human", 0, 1, [{"say": "When is high tide in Emden?"}]),
        event("model", 5, 2, [{"muse": "An almanac?"}, {"say": "I will look."}, look], **spent(100, 20, "t1")),
        event("human", 6, 3, [{"done": "k1", "out": "05:12 17:40"}]),
        event("model", 9, 4, [{"say": "At 05:12 and 17:40."}, put], **spent(150, 30, "t2")),
        event("human", 10, 5, [{"done": "k2", "out": "ok"}]),
        event("human", 20, 6, [{"say": "Thank you."}]),
    ]


def folio_book(app: str) -> dict[str, Any]:
    """A book of Folio's."""
    step = {"tool": "make", "with": {"write": f"{app}/tower.txt", "content": "tower\nlight\n"}, "gave": "made"}
    asked = {"author": "me", "clock": 1_793_500_000, "key": "l1", "lines": ["Where is the lighthouse keeper?"]}
    told = {"author": "it", "clock": 1_793_500_005, "key": "l2", "lines": ["In the tower."], "steps": [step]}
    told |= {"mind": "claude-sonnet-4-5", "tokens": [50, 7]}
    return {"id": FOLIO, "folder": app, "name": "A lighthouse", "leaves": [asked, told], "closed": True}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's home on a machine with a package that declares both clients."""
    site = tmp_path / "site"
    info = site / "invented_clients-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: invented-clients\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(site), str(ROOT))))
    user, app = tmp_path / "user", tmp_path / "app"
    app.mkdir()
    (user / ".quill/sheets").mkdir(parents=True)
    (user / ".folio/books").mkdir(parents=True)
    lines = [json.dumps(event) for event in quill_events(str(app))]
    (user / f".quill/sheets/{QUILL}.jsonl").write_text("\n".join(lines) + "\n")
    (user / f".folio/books/{FOLIO}.json").write_text(json.dumps(folio_book(str(app)), indent=1))
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("USERPROFILE", str(user))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    forget()
    yield user
    forget()


def forget() -> None:
    clients.client_of.cache_clear()
    clients._entry_points.cache_clear()


@pytest.fixture
def store(installed: Path, tmp_path: Path) -> Iterator[Hansard]:
    with hansard.open(tmp_path / "home", [installed / ".quill", installed / ".folio"]) as h:
        h.sync()
        yield h


@pytest.fixture
def run(store: Hansard, tmp_path: Path) -> Run:
    """Runs a command on the store, whose roots are the default ones of both clients."""

    def ran(*given: str, code: int = 0) -> Result:
        result = CliRunner().invoke(command, ["--home", store.home, *given], catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result

    return ran


def test_default_roots_and_sessions(run: Run) -> None:
    answer = json.loads(run("sessions", "--json").stdout)
    found = {session["session_id"]: session for session in answer["sessions"]}
    assert {name: session["client"] for name, session in found.items()} == {QUILL: "quill", FOLIO: "folio"}
    assert (found[QUILL]["title"], found[QUILL]["prompts"], found[QUILL]["tool_calls"]) == ("Tide tables", 2, 2)
    assert (found[FOLIO]["title"], found[FOLIO]["lines_added"]) == ("A lighthouse", 2)


def test_search_by_client(run: Run) -> None:
    def sessions(*query: str) -> set[str]:
        return {hit["session_id"] for hit in json.loads(run("search", "--json", *query).stdout)["hits"]}

    assert sessions("lighthouse") == {FOLIO}
    assert sessions("tower", "OR", "tide") == {QUILL, FOLIO}
    assert sessions("(tower", "OR", "tide)", "client:quill") == {QUILL}
    assert sessions("tool:exec") == {QUILL}


def test_facets_count_clients(store: Hansard) -> None:
    assert dict(store.facets("tower OR Emden").client) == {"quill": 2, "folio": 2}


def test_show(run: Run) -> None:
    shown = run("show", QUILL).stdout
    for text in (
        "When is high tide in Emden?",
        "Quill",
        "I will look.",
        "05:12 17:40",
        "out.txt",
        "+2 -0",
    ):
        assert text in shown
    assert "main quill 0.9" in " ".join(shown.split())  # however long the path before it is
    shown = run("show", FOLIO).stdout
    for text in ("Where is the lighthouse keeper?", "In the tower.", "tower.txt", "made"):
        assert text in shown


def test_usage_and_explain(run: Run) -> None:
    total = json.loads(run("usage", "--by", "total", "--json").stdout)["totals"]
    assert (total["input_tokens"], total["output_tokens"], total["cache_read_tokens"]) == (300, 57, 10)
    explained = json.loads(run("explain", QUILL, "--json").stdout)
    assert Decimal(str(explained["figure"]["cost_usd"])) > 0
    (session,) = (row for row in json.loads(run("sessions", "--json").stdout)["sessions"] if row["session_id"] == QUILL)
    assert Decimal(str(session["cost_usd"])) == Decimal(str(explained["figure"]["cost_usd"]))


@pytest.mark.parametrize("form", ["html", "markdown", "json", "jsonl"])
def test_export(run: Run, tmp_path: Path, form: str) -> None:
    run("export", QUILL, FOLIO, "--format", form, "--to", str(tmp_path / "out"))
    text = "".join(path.read_text() for path in (tmp_path / "out").rglob(f"*.{form.replace('markdown', 'md')}"))
    assert "When is high tide in Emden?" in text
    assert "In the tower." in text


def test_mcp(store: Hansard, tmp_path: Path) -> None:
    settings = Settings(store.home, tuple(root.path for root in store.roots), 1 << 26)
    server = Server(Store(settings, syncing=False), Repository(str(tmp_path / "app")))

    def call(name: str, **given: Any) -> str:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}}
        response = server.handle(message)
        assert response is not None
        assert not response["result"]["isError"], response
        return str(response["result"]["content"][0]["text"])

    assert "high tide in Emden" in call("search", query="Emden")
    assert "In the tower." in call("read", target=FOLIO, turn=1)


def test_web(store: Hansard, installed: Path) -> None:
    with site(Path(store.home), installed / ".quill", installed / ".folio") as running, running.client() as client:
        assert "In the tower." in client.get(f"/sessions/{FOLIO}").text
        assert "Tide tables" in client.get("/sessions").text
        answer = client.get("/api/sessions").json()
        assert "quill" in json.dumps(answer)


def test_tui(store: Hansard) -> None:
    async def steps(driver: Driver) -> None:
        assert "Tide tables" in driver.text
        assert "A lighthouse" in driver.text

    drive(Path(store.home), steps)


def test_blame(run: Run, tmp_path: Path) -> None:
    app = tmp_path / "app"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", str(app)]
    subprocess.run([*git, "init", "-q"], check=True)
    (app / "out.txt").write_text("low water at 05:12 in Emden\nhigh at 17:40\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "tides"], check=True)
    answer = json.loads(run("blame", str(app / "out.txt"), "--json").stdout)
    assert QUILL in json.dumps(answer)


def test_verify_restore_and_rebuild(run: Run, store: Hansard, installed: Path, tmp_path: Path) -> None:
    assert "all intact" in run("verify").stdout
    before = dump(Path(store.home))
    run("rebuild")
    assert dump(Path(store.home)) == before
    sheet = installed / f".quill/sheets/{QUILL}.jsonl"
    book = installed / f".folio/books/{FOLIO}.json"
    contents = sheet.read_bytes(), book.read_bytes()
    sheet.unlink()
    book.unlink()
    run("sync")
    run("restore", QUILL, FOLIO, "--to", str(tmp_path / "back"))
    back = {path.name: path.read_bytes() for path in (tmp_path / "back").rglob("*") if path.is_file()}
    assert (back[sheet.name], back[book.name]) == contents


@pytest.mark.parametrize("share", [0.001, 0.05, 0.4, 0.6, 0.83, 0.86, 0.92, 0.99])
def test_any_split_gives_the_same_rows(installed: Path, tmp_path: Path, share: float) -> None:
    roots = [installed / ".quill", installed / ".folio"]
    paths = [installed / f".quill/sheets/{QUILL}.jsonl", installed / f".folio/books/{FOLIO}.json"]
    contents = [path.read_bytes() for path in paths]
    for name, shares in (("split", (share, 1)), ("whole", (1,))):
        with hansard.open(tmp_path / name, roots) as h:
            for part in shares:
                for path, content in zip(paths, contents, strict=True):
                    path.write_bytes(content[: math.ceil(part * len(content))])
                h.sync()
    assert dump(tmp_path / "split") == dump(tmp_path / "whole")


def test_an_unfinished_document_has_the_records_of_the_whole_one_so_far(installed: Path) -> None:
    content = (installed / f".folio/books/{FOLIO}.json").read_bytes()
    folio = clients.client_of("folio")
    whole = list(folio.lines([content], 0))
    assert len(whole) == 4
    for end in range(len(content)):
        lines = list(folio.lines([content[:end]], 0))
        assert lines == whole[: len(lines)]


def test_a_document_that_is_written_anew(store: Hansard, installed: Path, tmp_path: Path) -> None:
    path = installed / f".folio/books/{FOLIO}.json"
    book = json.loads(path.read_text())
    book["leaves"].append({"author": "me", "clock": 1_793_500_090, "key": "l3", "lines": ["And the lamp?"]})
    path.write_text(json.dumps(book))
    store.sync()
    (session,) = (session for session in store.sessions().sessions if session.session_id == FOLIO)
    assert session.prompts == 2
    assert [hit.session_id for hit in store.search("lamp").hits] == [FOLIO]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="crashes are made with fork")
def test_crashes(installed: Path, tmp_path: Path) -> None:
    config = installed / ".quill"
    with hansard.open(tmp_path / "whole", [config]) as h:
        h.sync()
    (tmp_path / "out").mkdir()
    arguments = ["sync", str(config), str(tmp_path / "none"), str(tmp_path / "out"), "4"]
    left = subprocess.run(
        [sys.executable, "-m", "tests.sync.crashing", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert left
    for home in left[:: max(1, len(left) // 6)]:
        with hansard.open(home, [config]) as h:
            h.sync()
        assert dump(Path(home)) == dump(tmp_path / "whole")


def test_an_impossible_count_is_none(installed: Path, store: Hansard) -> None:
    spent = {"turn": "t9", "engine": "claude-sonnet-4-5", "spent": {"in": 10**30, "out": -4}}
    event = {
        "who": "model",
        "t": "2026-11-01T10:01:00+00:00",
        "n": "e9",
        "payload": {"pieces": [{"say": "?"}], **spent},
    }
    before = store.usage(by="total").totals
    with (installed / f".quill/sheets/{QUILL}.jsonl").open("a") as file:
        file.write(json.dumps(event) + "\n")
    store.sync()
    after = store.usage(by="total").totals
    assert (after.input_tokens, after.output_tokens) == (before.input_tokens, before.output_tokens)
    assert after.api_messages == before.api_messages + 1


def test_junk_is_an_issue(installed: Path, store: Hansard) -> None:
    with (installed / f".quill/sheets/{QUILL}.jsonl").open("ab") as file:
        file.write(b'{"who": "human", "payload": 5}\nnot json\n')
    store.sync()
    (session,) = (session for session in store.sessions().sessions if session.session_id == QUILL)
    assert session.issues == 2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("tests.clients.invented.gone:Gone", "cannot be loaded.*uninstall the package"),
        ("tests.clients.invented.folio:Folio", "names must be the same"),
    ],
)
def test_a_client_that_cannot_be_used_is_a_clear_error(
    installed: Path, tmp_path: Path, target: str, message: str
) -> None:
    (tmp_path / "site/invented_clients-1.0.dist-info/entry_points.txt").write_text(
        f"[hansard.clients]\nquill = {target}\n"
    )
    forget()
    with pytest.raises(hansard.errors.UsageError, match=message):
        clients.all_clients()


def test_an_input_of_another_shape_is_shown_as_it_is() -> None:
    class Strict(Quill):
        def tool_input(self, tool: str, given: Any) -> Shell:
            return Shell(given[tool])

    assert Strict().tool_use("exec", {}, "out") == ToolUse(None, "out", "out")


def test_an_unknown_client_is_a_clear_error(installed: Path) -> None:
    with pytest.raises(hansard.errors.UsageError, match="unknown client parchment"):
        clients.client_of("parchment")
