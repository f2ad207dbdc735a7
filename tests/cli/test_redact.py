"""`--redact`: one option, on by default for what leaves the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hansard.directories import config_path

from .conftest import SESSION, Run, said, write_log

TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"
PART = TOKEN[:16]  # of a table's cell
SHOWN = (
    ("show", SESSION),
    ("show", SESSION, "--markdown"),
    ("show", SESSION, "--json"),
    ("show", SESSION, "--html"),
    ("search", "deploy"),
    ("grep", "deploy"),
    ("prompts",),
    ("sessions", "--json"),
    ("sql", "SELECT first_prompt FROM sessions"),
)
OUTGOING = (("git", "message", SESSION), ("handoff", SESSION, "--to", "markdown"))


@pytest.fixture(autouse=True)
def with_secret(root: Path) -> None:
    write_log(root, SESSION, [said(1, f"deploy with {TOKEN} now"), said(2, f"deploy: {TOKEN}", role="assistant")])


def set_mode(mode: str) -> None:
    path = Path(config_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'redact = "{mode}"\n')


@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
def test_what_you_see_is_redacted_on_request(run: Run, words: tuple[str, ...]) -> None:
    assert PART in run(*words).stdout
    assert PART not in run(*words, "--redact", "strict" if words[0] in ("show", "sql") else "on").stdout
    set_mode("on")
    assert PART not in run(*words).stdout
    assert PART in run(*words, "--redact", "off").stdout


@pytest.mark.parametrize("words", [*SHOWN[3:6], SHOWN[-1]], ids=" ".join)
def test_a_store_that_was_never_searched_is_said_to_be_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Only where redaction relies on it, and only of more than it reads itself."""
    asked = (*words, "--redact", "on")
    assert "never searched" not in run(*asked).stderr
    monkeypatch.setattr("hansard.secrets.counts.NEWEST", 100)
    assert run(*asked).stderr.count("never searched for secrets") == 1
    assert "never searched" not in run(*words).stderr
    run("secrets", "scan")
    assert "never searched" not in run(*asked).stderr


@pytest.mark.parametrize("words", OUTGOING, ids=" ".join)
def test_what_leaves_is_redacted_unless_the_command_says_otherwise(run: Run, words: tuple[str, ...]) -> None:
    secret = run("secrets", "scan")
    assert "1 secret known" in secret.stdout
    (one,) = json.loads(run("secrets", "--json").stdout)["secrets"]
    for more in ((), ("--redact", "on")):
        text = run(*words, *more).stdout
        assert TOKEN not in text
        assert f":{one['secret_id'][:4]}]" in text  # the same placeholder as everywhere
    set_mode("off")
    assert TOKEN not in run(*words).stdout
    assert TOKEN in run(*words, "--redact", "off").stdout
    run("secrets", "resolve", one["secret_id"], "false-alarm")
    assert TOKEN in run(*words).stdout


@pytest.mark.parametrize("form", ["html", "markdown", "json", "jsonl", "csv", "traces", "atif", "bulk"])
def test_an_export_says_how_many_secrets_it_replaced(run: Run, tmp_path: Path, form: str) -> None:
    to = tmp_path / "out"
    done = run("export", SESSION, "--format", form, "--to", str(to))
    assert "1 secret redacted; --redact off keeps them" in done.stdout
    answer = json.loads(run("export", SESSION, "--format", form, "--to", str(to), "--json").stdout)
    assert (answer["redaction"], answer["redacted"], answer["unchanged"] > 0) == ("on", 0, True)
    assert max(file["redacted"] for file in answer["files"]) == 1
    texts = [path.read_text() for path in to.rglob("*") if path.is_file() and path.name[0] != "."]
    assert not any(TOKEN in text for text in texts)
    if form != "csv":
        says = {
            "html": "Redacted: 1 secret",
            "markdown": "Redacted: 1 secret",
            "traces": "Redacted: 1 secret",
            "bulk": "Redacted: 1 secret",
        }
        assert any(says.get(form, '"redacted_secrets":') in text for text in texts)
    again = run("export", SESSION, "--format", form, "--to", str(to), "--no-redact")
    assert "redacted" not in again.stdout
    assert any(TOKEN in path.read_text() for path in to.rglob("*") if path.is_file())


def test_a_decision_makes_an_export_write_again(run: Run, tmp_path: Path) -> None:
    to = str(tmp_path / "one.md")
    run("export", SESSION, "--to", to)
    run("secrets", "scan")
    (one,) = json.loads(run("secrets", "--json").stdout)["secrets"]
    run("secrets", "resolve", one["secret_id"], "false-alarm")
    assert "1 file written" in run("export", SESSION, "--to", to).stdout
    assert TOKEN in Path(to).read_text()


@pytest.mark.parametrize("words", [("cat", SESSION), ("restore", SESSION, "--to", "x")], ids=" ".join)
def test_what_is_verbatim_cannot_be_redacted(run: Run, words: tuple[str, ...]) -> None:
    assert "without redaction" in run(*words, "--redact", "on", code=2).stderr
    set_mode("on")
    assert TOKEN in run("cat", SESSION).stdout


def test_a_wrong_mode_is_refused(run: Run) -> None:
    assert "'off', 'on', 'strict'" in run("sessions", "--redact", "perhaps", code=2).stderr
    set_mode("perhaps")
    assert 'redact must be "off", "on" or "strict"' in run("sessions", code=2).stderr
