"""Branch names, commit messages, trailers, notes, and the hook."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard as command
from hansard.engine import Hansard
from hansard.errors import NotFound, UsageError
from hansard.git.attribution import read_note
from hansard.git.commit_message import branch_name, commands_of_tests
from tests.demo_history.tools import ask, bash
from tests.git.making import Workshop
from tests.git.test_blame import PARSER


def run(shop: Workshop, *words: str, given: str | None = None) -> tuple[int, str]:
    place = ["--home", str(shop.folder / "store"), "--root", str(shop.config)]
    done = CliRunner().invoke(command, ["git", *words, *place], input=given)
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fix the flaky login test", "fix-flaky-login-test"),
        ("  Ünïcode & /slashes/.. ~^: ", "unicode-slashes"),
        ("日本語", "session-12345678"),
        ("-x --force", "x-force"),
        ("a" * 300, "a" * 50),
    ],
)
def test_branch_names_are_such_that_git_takes_them(title: str, name: str, shop: Workshop) -> None:
    assert branch_name(title, "123456789") == name
    shop.git("check-ref-format", "--branch", name)


def test_commands_that_run_tests() -> None:
    assert commands_of_tests(["ls", "cd a && pytest -q", "cargo test", "cd a  && pytest -q"]) == [
        "cd a && pytest -q",
        "cargo test",
    ]


def test_a_message_says_what_was_done(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write a parser for tide tables.")
    shop.write(writer, "tide.py", PARSER)
    shop.call(writer, bash("pytest -q", "3 passed"))
    shop.call(writer, ask("Which unit?", "Unit", [("metres", ""), ("feet", "")], "metres"))
    shop.save()
    h.sync()
    words = h.git_words(writer.session_id)
    assert words.branch == "write-parser-tide-tables"
    assert words.message.startswith("Write a parser for tide tables\n\n- tide.py (+7 -0)\n")
    assert "Tests run:\n- pytest -q\n" in words.message
    assert "Decisions:\n- Which unit? metres" in words.message
    assert words.message.endswith(f"\nHansard-Session: {writer.session_id}\n")
    assert run(shop, "branch", writer.session_id, "--prefix", "wip/") == (0, "wip/write-parser-tide-tables\n")
    code, output = run(shop, "branch", "-", "--json", given=json.dumps({"session_id": writer.session_id}))
    assert (code, json.loads(output)["trailer"]) == (0, f"Hansard-Session: {writer.session_id}")
    assert run(shop, "branch", "-", given='{"session_id": "0fcd-new"}') == (0, "session-0fcd-new\n")
    assert run(shop, "branch", "-", given="[]")[0] == 2


KEY = "sk-ant-api03-" + "q7Rm2Xv9Lk4Tz8Wb" * 5


def test_no_secret_gets_into_a_message_or_a_name(shop: Workshop, h: Hansard) -> None:
    writer = shop.session(f"Log in with {KEY} and write the tide tables of the year")
    shop.write(writer, f"{KEY}/tide.py", PARSER)
    shop.call(writer, bash(f"API_KEY={KEY} TOKEN={'x' * 20} pytest -q", "3 passed"))
    shop.call(writer, ask("Which key?", "Key", [(KEY, ""), ("none", "")], KEY))
    shop.save()
    h.sync()
    words = h.git_words(writer.session_id)
    assert "Decisions:" in words.message
    assert "pytest" in words.message
    assert "/tide.py" in words.message
    assert KEY[13:23] not in words.message
    assert KEY[13:23].lower() not in words.branch
    assert "redacted" not in words.branch


@pytest.mark.parametrize("action", ["message", "trailer", "branch"])
@pytest.mark.parametrize("odd", ["x\nSigned-off-by: Mira", "x\u2028y", "@last", "a b", "x" * 300])
def test_an_odd_session_id_of_a_hook_is_refused(action: str, odd: str, shop: Workshop) -> None:
    code, output = run(shop, action, "-", given=json.dumps({"session_id": odd}))
    assert code == 2
    assert "invalid session_id" in output
    assert "\nSigned-off-by" not in output


@pytest.mark.parametrize("prefix", ["wip/", "a/b-", "v1."])
def test_a_prefix_may_be_what_git_takes(prefix: str, shop: Workshop) -> None:
    shop.git("check-ref-format", "--branch", branch_name("Tides", "1", prefix))


@pytest.mark.parametrize(
    "prefix", ["-x/", "a b/", "a..", "/a", "a//", "a~", "a.lock/", ".a", "a/.", "x\ny", "a@{", "a\\"]
)
def test_a_prefix_that_git_does_not_take_is_refused(prefix: str) -> None:
    with pytest.raises(UsageError, match="invalid prefix"):
        branch_name("Tides", "1", prefix)


def test_notes_are_as_git_ai_writes_them(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write a parser for tide tables")
    shop.write(writer, "tide.py", PARSER)
    shop.type("tide.py", PARSER + "\n\ndef double(value):\n    return value * 2\n")
    commit = shop.commit("Parse")
    shop.type("notes.txt", "by hand\n")
    shop.commit("By hand")
    shop.save()
    h.sync()
    text = h.git_note(commit, str(shop.root))
    (mark,) = read_note(text, commit)
    assert (mark.path, mark.lines, mark.value) == ("tide.py", ((1, 7),), writer.session_id)
    with pytest.raises(NotFound):
        h.git_note("HEAD", str(shop.root))
    shop.git("config", "user.name", "Mira")
    shop.git("config", "user.email", "mira@example.invalid")
    h.git_note(commit, str(shop.root), write=True)
    assert shop.git("notes", "--ref=ai", "show", commit).strip() == text.strip()
    with pytest.raises(UsageError, match="already"):
        h.git_note(commit, str(shop.root), write=True)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_the_name_of_a_file_cannot_forge_a_note(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write a parser for tide tables")
    shop.write(writer, "tide.py", PARSER)
    shop.write(writer, "x\nother.py", PARSER + "# more\n")
    commit = shop.commit("Parse")
    shop.save()
    h.sync()
    assert {mark.path for mark in read_note(h.git_note(commit, str(shop.root)), commit)} == {"tide.py"}


def hooks_of(shop: Workshop) -> dict[str, tuple[bytes, int]]:
    folder = shop.root / ".git" / "hooks"
    return (
        {path.name: (path.read_bytes(), path.stat().st_mode) for path in sorted(folder.iterdir())}
        if folder.exists()
        else {}
    )


@pytest.mark.parametrize("existing", [None, "#!/bin/sh\necho 'From the old hook' >> \"$1\"\n"])
def test_the_hook_names_the_session_and_leaves_no_trace(
    shop: Workshop, existing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = shop.root / ".git" / "hooks" / "prepare-commit-msg"
    if existing is not None:
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(existing)
        hook.chmod(0o750)
    before = hooks_of(shop)
    place = ("--repository", str(shop.root))
    assert run(shop, "hook", "install", *place)[0] == 0
    assert hooks_of(shop) == before
    assert run(shop, "hook", "install", "--yes", *place)[0] == 0
    assert run(shop, "hook", "install", "--yes", *place)[0] == 0
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "3f2a91c0-0000-4000-8000-000000000001")
    shop.type("a.txt", "one\n")
    shop.commit("One")
    said = shop.git("log", "-1", "--format=%B")
    assert said.strip().endswith("Hansard-Session: 3f2a91c0-0000-4000-8000-000000000001")
    assert ("From the old hook" in said) == (existing is not None)
    for odd in ("", "$(touch x); rm"):
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", odd)
        shop.type("a.txt", f"two {odd}\n")
        shop.commit("Two")
        assert "Hansard-Session" not in shop.git("log", "-1", "--format=%B")
    assert run(shop, "hook", "remove", "--yes", *place)[0] == 0
    assert hooks_of(shop) == before
    assert run(shop, "hook", "remove", "--yes", *place)[0] == 1


def test_hooks_that_several_repositories_share_are_left_alone(shop: Workshop) -> None:
    shared = shop.folder / "shared"
    shared.mkdir()
    shop.git("config", "core.hooksPath", str(shared))
    code, output = run(shop, "hook", "install", "--yes", "--repository", str(shop.root))
    assert (code, os.listdir(shared)) == (2, [])
    assert "core.hooksPath" in output
    shop.git("config", "core.hooksPath", ".githooks")
    assert run(shop, "hook", "install", "--yes", "--repository", str(shop.root))[0] == 0
    assert (shop.root / ".githooks" / "prepare-commit-msg").exists()
    assert run(shop, "hook", "remove", "--yes", "--repository", str(shop.root))[0] == 0
    assert not (shop.root / ".githooks").exists()


HUSKY = """#!/usr/bin/env sh
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n
[ ! -f "$s" ] && exit 0
sh -e "$s" "$@"
c=$?
exit $c
"""


def husky(shop: Workshop) -> Path:
    """Hooks as husky 9 writes them: a stub that reads a file beside it, which looks for the hook by the name of the stub."""
    stubs = shop.root / ".husky" / "_"
    stubs.mkdir(parents=True, exist_ok=True)
    (stubs / "h").write_text(HUSKY)
    stub = stubs / "prepare-commit-msg"
    stub.write_text('#!/usr/bin/env sh\n. "${0%/*}/h"')
    stub.chmod(0o755)
    shop.git("config", "core.hooksPath", ".husky/_")
    return stub


def test_hooks_that_go_by_their_name_still_run(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = husky(shop)
    before = stub.read_bytes()
    own = shop.root / ".husky" / "prepare-commit-msg"
    own.write_text("echo 'From husky' >> \"$1\"\n")
    place = ("--repository", str(shop.root))
    assert run(shop, "hook", "install", "--yes", *place)[0] == 0
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "3f2a91c0-0000-4000-8000-000000000001")
    shop.commit("One")
    said = shop.git("log", "-1", "--format=%B")
    assert "From husky" in said
    assert said.strip().endswith("Hansard-Session: 3f2a91c0-0000-4000-8000-000000000001")
    own.write_text("exit 3\n")
    with pytest.raises(AssertionError):
        shop.commit("Two")
    own.unlink()
    husky(shop)  # as `npm install` does
    assert "not installed" in run(shop, "hook", "status", *place)[1]
    assert run(shop, "hook", "install", "--yes", *place)[0] == 0
    assert "is installed" in run(shop, "hook", "status", *place)[1]
    shop.commit("Three")
    assert "Hansard-Session" in shop.git("log", "-1", "--format=%B")
    assert run(shop, "hook", "remove", "--yes", *place)[0] == 0
    assert stub.read_bytes() == before
    assert sorted(os.listdir(stub.parent)) == ["h", "prepare-commit-msg"]


@pytest.mark.parametrize(
    ("script", "mode", "words"),
    [
        ("#!/usr/bin/env ruby\nputs $0\n", 0o755, "not a shell script"),
        ("#!/usr/bin/fish\n", 0o755, "not a shell script"),
        ("#!/usr/bin/python3 /bin/sh\n", 0o755, "not a shell script"),
        ("#!/bin/sh\n", 0o644, "not executable"),
    ],
)
def test_a_hook_that_cannot_be_added_to_is_left_alone(script: str, mode: int, words: str, shop: Workshop) -> None:
    hook = shop.root / ".git" / "hooks" / "prepare-commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(script)
    hook.chmod(mode)
    code, output = run(shop, "hook", "install", "--yes", "--repository", str(shop.root))
    assert code == 2
    assert words in output
    assert hook.read_text() == script


def test_a_hook_that_was_edited_since_loses_our_lines_alone(shop: Workshop) -> None:
    hook = shop.root / ".git" / "hooks" / "prepare-commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/bash -eu\necho one\n")
    hook.chmod(0o755)
    assert run(shop, "hook", "install", "--yes", "--repository", str(shop.root))[0] == 0
    shop.commit("One")
    more = "if true; then\n    echo two\nfi\nexit 0\n"
    hook.write_text(hook.read_text().replace("echo one\n", more))
    assert run(shop, "hook", "remove", "--yes", "--repository", str(shop.root))[0] == 0
    assert hook.read_text() == "#!/bin/bash -eu\n" + more
