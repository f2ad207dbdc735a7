"""`hansard search`: what it shows, what it tells, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard
from hansard.demo import write_history
from hansard.engine import Hansard
from hansard.model.search import Facets, SearchPage
from hansard.query.language import syntax_help
from hansard.render.text import width

from .conftest import OTHER, SESSION, Run, runner, said, write_log

GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
PAGE_KEYS = ["hits", "total", "truncated", "next_cursor", "took_ms", "not_indexed_bytes", "notes", "found_notes"]
CASES = {
    "search.txt": ["gauge", "tide", "--limit", "3"],
    "search_colour.txt": ["gauge", "tide", "--limit", "2", "--color", "always"],
    "search_narrow.txt": ["梅雨", "OR", "is:subagent", "--limit", "3", "-C", "1"],
    "search_flat.txt": ["is:error", "--group", "none", "--sort", "newest", "--limit", "5"],
    "search_facets.txt": ["is:fork", "--limit", "1", "--facets"],
}


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo history, read only."""
    place = tmp_path_factory.mktemp("demo")
    write_history(place / "claude", now=NOW)
    return place


@pytest.fixture
def run_demo(demo: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on the demo history, at the moment when it ends."""
    return runner(demo / "claude", demo / "store")


@pytest.mark.skipif(os.name == "nt", reason="the zone cannot be set there")
@pytest.mark.parametrize("name", CASES)
def test_what_it_looks_like(run_demo: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60" if "narrow" in name else "80")
    output = run_demo("search", *CASES[name]).stdout
    path = GOLDEN / name
    if os.environ.get("HANSARD_GOLDEN") == "write":
        path.write_bytes(output.encode())
    assert output == path.read_bytes().decode()


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("flags", [[], ["--group", "none"], ["-C", "3", "--facets"]])
def test_every_line_fits(run_demo: Run, monkeypatch: pytest.MonkeyPatch, columns: int, flags: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run_demo("search", "雨 OR test OR is:subagent", "--limit", "30", *flags).stdout.splitlines()
    assert len(lines) > 60
    assert max(map(width, lines)) <= min(columns, 120)


def test_a_pipe_gets_no_colours_and_eighty_columns(run: Run) -> None:
    result = run("search", "tide")
    assert "\x1b" not in result.stdout
    assert result.stdout.splitlines()[0].startswith(f"{SESSION[:8]}  tide  When is high tide?  ")
    assert "    When is high tide?" in result.stdout.splitlines()
    assert result.stderr == ""


def test_colours_when_asked_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("search", "tide").stdout
    assert "high \x1b[1;33mtide\x1b[0m?" in run("search", "tide", "--color", "always").stdout


def test_hostile_text_stays_text(run: Run) -> None:
    output = run("search", "sail").stdout
    assert "Wrap the sail [red]now[/red] !" in output
    assert "\x1b" not in output


def test_the_place_can_be_opened(run: Run) -> None:
    command = next(
        line.split("hansard ")[1] for line in run("search", "noon").stdout.splitlines() if "hansard " in line
    )
    assert "At noon." in run(*command.split()).stdout.partition("▶ here")[2]


# -- JSON


def answer(run: Run, *args: str, code: int = 0) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run("search", *args, "--json", code=code).stdout)
    return result


def test_json_is_flat_unless_told(run: Run) -> None:
    page = answer(run, "tide")
    assert list(page) == PAGE_KEYS
    assert page["total"] == 1
    (hit,) = page["hits"]
    assert (hit["session_id"], hit["kind"], hit["role"]) == (SESSION, "prompt", "user")
    assert (hit["snippet"], hit["highlights"]) == ("When is high tide?", [[13, 17]])
    assert hit["timestamp"] == "2026-05-01T10:00:01.000Z"


def test_json_by_session(run: Run) -> None:
    page = answer(run, "tide", "--group", "session")
    assert list(page) == [PAGE_KEYS[0], "sessions", *PAGE_KEYS[1:]]
    assert [session["session_id"] for session in page["sessions"]] == [SESSION]
    assert page["sessions"][0]["hits"] == page["hits"]


def test_json_with_facets(run: Run) -> None:
    page = answer(run, "tide OR noon", "--facets")
    assert list(page) == [*PAGE_KEYS[:-1], "facets", PAGE_KEYS[-1]]
    assert page["facets"]["project"] == [["/src/tide", 2]]
    assert page["facets"]["month"] == [["2026-05", 2]]


def test_an_empty_answer_is_an_answer(run: Run) -> None:
    assert answer(run, "zebra", code=1)["hits"] == []


# -- options


def test_the_limit_is_of_sessions_or_of_hits(run_demo: Run) -> None:
    assert len(answer(run_demo, "is:subagent")["hits"]) == 20
    assert len(answer(run_demo, "is:subagent", "--limit", "3")["hits"]) == 3
    assert len(answer(run_demo, "test", "--group", "session")["sessions"]) == 10
    assert len(answer(run_demo, "test", "--group", "session", "--limit", "2")["sessions"]) == 2


def test_the_newest_first(run_demo: Run) -> None:
    times = [hit["timestamp"] for hit in answer(run_demo, "test", "--sort", "newest")["hits"]]
    assert times == sorted(times, reverse=True)


def test_context(run: Run, root: Path) -> None:
    write_log(root, SESSION, [said(1, "one\ntwo\nzebra\nfour\nfive")])
    lines = run("search", "zebra", "-C1").stdout.splitlines()
    assert [line for line in lines if "│" in line] == ["    │ two", "    │ four"]
    (hit,) = answer(run, "zebra", "--context", "2")["hits"]
    assert (hit["before"], hit["after"]) == (["one", "two"], ["four", "five"])


def test_pages(run_demo: Run) -> None:
    seen: list[str] = []
    for page in range(1, 100):
        result = run_demo("search", "gauge", "-n", "4", "--page", str(page))
        seen += [line[:8] for line in result.stdout.splitlines() if line[:1].strip() and not line.startswith("- ")]
        if f"--page {page + 1} shows the next" not in result.stderr:
            break
        assert " matches in 4 sessions; --page " in result.stderr
    assert len(seen) == len(set(seen)) > 4
    found = answer(run_demo, "gauge", "--limit", "1000")["hits"]
    assert set(seen) == {hit["session_id"][:8] for hit in found if hit["session_id"]}


def test_a_page_beyond_the_last(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hansard, "search", lambda *_args, **_more: SearchPage((), (), 3, False, None, 1.0, 0, ()))
    result = run("search", "tide", "--cursor", "x", code=1)
    assert result.stderr == "hansard: no more results\n"


def test_count(run: Run) -> None:
    assert run("search", "tide OR noon", "--count").stdout == "2\n"
    assert run("search", "zebra", "--count", code=1).stdout == "0\n"
    assert answer(run, "tide", "--count") == {"total": 1}


@pytest.mark.parametrize("flags", [["--facets"], ["--cursor", "x"]])
def test_a_count_is_only_a_number(run: Run, flags: list[str]) -> None:
    assert f"leave {flags[0]} out" in run("search", "tide", "--count", *flags, code=2).stderr


def test_the_syntax_needs_no_store(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        hansard, ["search", "--syntax", "--root", str(tmp_path / "no"), "--home", str(tmp_path / "s")]
    )
    assert (result.exit_code, result.stdout) == (0, syntax_help())
    assert not (tmp_path / "s").exists()
    result = CliRunner().invoke(hansard, ["search", "--syntax", "--json"])
    assert json.loads(result.stdout) == {"syntax": syntax_help()}


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["tide", "-noon"], 1),
        (["tide", "-high"], 0),
        (["-tide", "-noon"], 2),
        (["--", "-tide", "--count"], 0),
        (["--", "-tide"], 3),
        (["tide", "--no-verify"], 0),
        (["-role:user", "--limit", "5"], 2),
        (["-C", "0", "tide"], 1),
        (["tide", "-q"], 1),
        (["-rf", "tide"], 1),
    ],
)
def test_words_that_begin_with_a_dash(run: Run, args: list[str], found: int) -> None:
    args = (
        [*args[: args.index("--")], "--json", "--no-sync", *args[args.index("--") :]]
        if "--" in args
        else [*args, "--json"]
    )
    run("sync")
    home, root = (str(value) for value in _places(run))
    result = CliRunner().invoke(hansard, ["--home", home, "--root", root, "search", *args])
    assert len(json.loads(result.stdout)["hits"]) == found
    assert result.exit_code == (0 if found else 1)


def _places(run: Run) -> tuple[str, str]:
    status = json.loads(run("status", "--json").stdout)
    return status["home"], status["roots"][0]["path"]


# -- what is told


def test_nothing_found_says_what_to_try(run: Run) -> None:
    assert run("search", "zebra", code=1).stderr == (
        "hansard: nothing matches 'zebra'\n'zebra' does not occur\nTo search the verbatim text: hansard grep REGEX\n"
    )
    told = run("search", "zebra", "crossing", "--limt", "5", code=1).stderr
    assert "'crossing' does not occur" in told
    assert (
        "Try fewer words, wor* for a prefix, or" in run("search", "is:subagent", "is:fork", "kind:note", code=1).stderr
    )
    assert "--limt was taken as a search word; did you mean the option --limit?" in told
    assert "wor*" in run("search", '"no such thing"', code=1).stderr
    assert "…'" in run("search", "z" * 100, code=1).stderr


def test_matches_for_fewer_words_are_offered(run: Run) -> None:
    found = run("search", "high", "zebra", "tide", code=1)
    assert found.stderr.endswith("'zebra' does not occur\nno message has all words; best matches for 2 of 3:\n")
    assert "When is high tide?" in found.stdout
    as_json = json.loads(run("search", "high", "zebra", "tide", "--json", code=1).stdout)
    assert as_json["hits"] == []
    assert [hit["kind"] for hit in as_json["partial"]["hits"]]
    assert run("search", "--count", "high", "zebra", code=1).stdout == "0\n"


def test_nothing_asked(run: Run) -> None:
    assert "--syntax" in run("search", code=2).stderr


def test_a_mistake_is_pointed_at(run: Run) -> None:
    result = run("search", "雨", "kind:zebra", code=2)
    assert result.stdout == ""
    assert result.stderr.splitlines()[1:] == ["  雨 kind:zebra", "          ^"]


def test_a_cursor_of_another_search(run_demo: Run) -> None:
    cursor = answer(run_demo, "test")["next_cursor"]
    assert "cursor" in run_demo("search", "test", "--cursor", cursor, code=2).stderr


def test_what_is_not_indexed_yet_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    facets = Facets((), (), (), (), 20_000, truncated=True)
    hits = Hansard.search

    def partly(self: Hansard, *query: Any, **more: Any) -> SearchPage:
        page = hits(self, *query, **more)
        return SearchPage(page.hits, page.sessions, 7, True, "next", 1.0, 3 << 20, ("a note\x1b[2J",), facets)

    monkeypatch.setattr(Hansard, "search", partly)
    assert run("search", "tide").stderr == (
        "a note\nhansard: 3.0 MiB not indexed yet: run `hansard sync`\n"
        "the newest 20,000 matches were counted; there are more\n"
        "1 of more than 7 matches in 1 session; --page 2 shows the next\n"
    )
    assert "not indexed yet: run `hansard sync`" in run("search", "tide", "--no-sync", "--json").stderr
    assert "1 of more than 7 matches; --page 2 shows the next\n" in run("search", "tide", "--group", "none").stderr


def test_a_store_without_anything(tmp_path: Path) -> None:
    result = CliRunner().invoke(hansard, ["search", "tide", "--home", str(tmp_path / "s"), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["hits"] == []
    assert "no Claude Code history found" in result.stderr


def test_plain_text_costs_no_rich(root: Path, tmp_path: Path) -> None:
    args = ["search", "tide", "--home", str(tmp_path / "s"), "--root", str(root)]
    code = f"import sys; sys.argv = ['hansard', *{args!r}]\nimport hansard.cli\ntry: hansard.cli.main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert SESSION[:8] in done.stdout
    assert OTHER[:8] not in done.stdout
    assert not {"rich", "difflib", "shlex", "hansard.thread.reader"} & set(done.stderr.split())
