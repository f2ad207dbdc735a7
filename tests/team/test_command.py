"""`hansard team` on the command line."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard
from hansard.cli.commands.team import team
from hansard.errors import UsageError
from hansard.model.requests import SearchRequest, SessionsRequest, UsageRequest
from hansard.query.language import FIELDS
from hansard.team.schema import VERSION
from tests.team.conftest import Place, write_session
from tests.test_docs import section


def run(*arguments: str) -> Any:
    return CliRunner().invoke(hansard, ["team", *arguments])


def test_from_nothing_to_figures(place: Place, tmp_path: Path, home: Path) -> None:
    write_session(home / "claude", "/src/webshop", "heron")
    (home / "claude" / "projects").mkdir(exist_ok=True)
    url = place.url()
    config = home / "config" / "hansard" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f"open_projects = ['webshop']\n[team]\ndatabase = {json.dumps(url)}\nmachine = 'laptop'\nschema = {json.dumps(place.schema)}\n"
    )
    assert json.loads(run("init", "--json").stdout) == {"schema_version": VERSION, "former_version": VERSION}
    assert json.loads(run("grant", "ann", "--role", "lead", "--project", "webshop", "--json").stdout)["role"] == "lead"
    pushed = json.loads(run("push", "--json").stdout)
    assert (pushed["machine"], pushed["sessions"], pushed["opened"]) == ("keeper@laptop", 1, ["/src/webshop"])
    again = run("push")
    assert "0 sessions pushed, 1 unchanged" in again.stdout
    assert "Texts of: /src/webshop" in again.stdout
    assert json.loads(run("push", url, "--machine", "other", "--json").stdout)["machine"] == "keeper@other"
    status = json.loads(run("status", "--json").stdout)
    assert [one["machine"] for one in status["machines"]] == ["keeper@laptop", "keeper@other"]
    assert f"keeper (owner), schema {VERSION}" in run("status").stdout
    assert "webshop" in run("members").stdout
    assert run("revoke", "ann").exit_code == 0
    assert run("members").exit_code == 1
    assert place.rows("SELECT title FROM sessions") == [("heron title",)]


def test_reports_and_lists(place: Place, tmp_path: Path, home: Path) -> None:
    write_session(home / "claude", "/src/webshop", "heron")
    url, schema = place.url(), place.schema
    assert run("push", url, "--schema", schema, "--machine", "laptop").exit_code == 0
    where = ("--database", url, "--schema", schema)
    done = run("usage", "--by", "person,machine", *where, "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert [(row["person"], row["machine"], row["output_tokens"]) for row in report["rows"]] == [
        ("keeper", "keeper@laptop", 7)
    ]
    assert "keeper@laptop" in run("usage", "--by", "machine", *where).stdout
    assert run("usage", "--by", "day", "--csv", *where).stdout.startswith("day,")
    assert run("usage", "--person", "nobody", *where).exit_code == 1
    refused = run("usage", "--by", "commit", *where)
    assert (refused.exit_code, "no commits" in refused.stderr) == (2, True)
    found = json.loads(run("sessions", "project:webshop", *where, "--json").stdout)
    assert [(one["person"], one["machine"], one["title"]) for one in found["sessions"]] == [
        ("keeper", "keeper@laptop", "")
    ]
    table = run("sessions", *where).stdout
    assert "PERSON" in table
    assert "keeper" in table
    assert run("sessions", "project:other", *where).exit_code == 1


def test_without_a_database_it_says_how_to_name_one() -> None:
    done = run("status")
    assert done.exit_code == 2
    assert "no database is named" in done.stderr


@pytest.mark.parametrize(
    "text", ["open_projects = 'x'", "open_projects = ['/']", "[team]\nurl = 'x'", "[team]\nmachine = 5"]
)
def test_wrong_settings_are_refused(text: str, home: Path) -> None:
    config = home / "config" / "hansard" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(text)
    done = run("status")
    assert done.exit_code == 2
    assert "config.toml" in done.stderr


@pytest.mark.parametrize("name", team.commands)
def test_every_command_is_documented_and_has_examples(name: str) -> None:
    assert f"| `{name}" in section("team")
    assert f"\n  Examples:\n    hansard team {name}" in run(name, "--help").stdout


DIFFERENT = re.findall(
    r"^\| `hansard team ([^`]+)` \| refused: ([^|]+?) \|$",
    (Path(__file__).parents[2] / "docs" / "team.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize(("asked", "reason"), DIFFERENT)
def test_what_is_refused_is_documented(asked: str, reason: str, place: Place) -> None:
    done = run(*shlex.split(asked), "--database", place.url(), "--schema", place.schema)
    assert done.exit_code == 2
    assert reason in done.stderr


@pytest.mark.parametrize("example", [example for field in FIELDS.values() for example in field.examples])
def test_every_other_field_is_answered(example: str, place: Place) -> None:
    refused = {line.split()[0] for line, _ in DIFFERENT if line.endswith(example)}
    with place.team() as team:
        with pytest.raises(UsageError) if "search" in refused else nullcontext():
            team.search(SearchRequest(example))
        with pytest.raises(UsageError) if "sessions" in refused else nullcontext():
            team.sessions(SessionsRequest(query=example))
        with pytest.raises(UsageError) if "usage" in refused else nullcontext():
            team.usage(UsageRequest(query=example))


def test_search(shared: Place) -> None:
    where = ("--database", shared.url("dan"), "--schema", shared.schema)
    found = run("search", "webshop", "answer", *where)
    assert found.exit_code == 0, found.stderr
    assert "ann's webshop answer" in found.stdout
    assert "ann@laptop" in found.stdout
    assert "hansard show" not in found.stdout
    listed = json.loads(run("search", "kind:prompt", "--facets", *where, "--json").stdout)
    assert [(one["person"], one["machine"], one["kind"]) for one in listed["hits"]] == [("ann", "ann@laptop", "prompt")]
    assert listed["facets"]["kind"] == [["prompt", 1]]
    assert "sessions" not in listed
    nothing = run("search", "diary", *where)
    assert nothing.exit_code == 1
    assert "'diary' occurs in no text that you may read" in nothing.stderr
    assert "hansard grep" not in nothing.stderr
    assert run("search", *where).exit_code == 2
    assert run("search", "webshop", "--person", "bob", *where).exit_code == 1
