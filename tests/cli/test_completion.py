"""Shell completion: what is offered, that nothing is synced for it, and that no name can do harm."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hansard.cli import completion
from hansard.cli.app import hansard

from .conftest import OTHER, SESSION, Run, runner, said, write_log, write_small_history

BRANCH = "$(touch${IFS}harm)"


@pytest.fixture(scope="session")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sessions in `claude`, one of them tagged, and their store in `store`; both read only."""
    place = tmp_path_factory.mktemp("completion")
    root, third = write_small_history(place / "claude"), "33333333-cccc-4ccc-8ccc-333333333333"
    lines = [said(1, "Title,\x1b[31m with\ttab\nand lines", session=third) | {"gitBranch": BRANCH}]
    write_log(root, third, [*lines, said(2, "Done.", role="assistant", session=third)])
    run = runner(root, place / "store")
    run("sync")
    run("tag", SESSION, "infra")
    return place


@pytest.fixture
def asked(tagged: Path) -> dict[str, str]:
    """The environment of a shell that asks."""
    return {**os.environ, "HANSARD_HOME": str(tagged / "store"), "CLAUDE_CONFIG_DIR": str(tagged / "claude")}


def complete(asked: dict[str, str], line: str, shell: str = "bash") -> list[str]:
    words = line.split(" ")
    environment = {
        **asked,
        "_HANSARD_COMPLETE": f"{shell}_complete",
        "_HANSARD_LINE": line,
        "COMP_WORDS": line,
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1),
    }
    completion.register()
    done = CliRunner().invoke(hansard, [], env=environment, prog_name="hansard")
    assert done.stderr == ""
    return list(filter(None, done.stdout.splitlines()))


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("hansard sho", ["show"]),
        ("hansard show 22", [OTHER]),
        ("hansard show @", ["@last"]),
        ("hansard pin 1", [SESSION]),
        ("hansard secrets scrub 1", [SESSION]),
        ("hansard secrets sc", ["scan", "scrub"]),
        ("hansard secrets --state acc", ["accepted"]),
        ("hansard sessions --project ti", ["tide"]),
        ("hansard sessions --model claude-o", ["claude-opus-5-5"]),
        ("hansard usage --model opu", ["opus-5-5"]),
        ("hansard search model:opu", ["opus-5-5"]),
        ("hansard sessions --branch ", ["main"]),
        ("hansard sessions --sort pr", ["prompts", "project"]),
        ("hansard sessions proj", ["project:"]),
        ("hansard search project:sa", ["sail"]),  # bash takes the colon for the end of a word
        ("hansard search is:pin", ["pinned"]),
        ("hansard search tag:", ["infra"]),
        ("hansard sessions --wrong since:7", ["7d"]),
        ("hansard usage --by day,mod", ["day,model"]),
        ("hansard restore --to ", [""]),
    ],
)
def test_what_is_offered(asked: dict[str, str], line: str, offered: list[str]) -> None:
    assert [reply.partition(",")[2] for reply in complete(asked, line)] == offered


def test_titles_describe_sessions_and_are_one_clean_line(asked: dict[str, str]) -> None:
    assert complete(asked, "hansard show 3", "zsh")[2] == "Title with tab and lines"
    assert complete(asked, "hansard show 3", "fish") == [
        "plain,33333333-cccc-4ccc-8ccc-333333333333\tTitle with tab and lines"
    ]


def test_what_a_shell_would_run_is_never_offered(asked: dict[str, str]) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "touch" not in "".join(complete(asked, "hansard sessions --branch ", shell))


def test_nothing_is_synced_or_made(asked: dict[str, str], root: Path, tmp_path: Path) -> None:
    asked["CLAUDE_CONFIG_DIR"] = str(root)
    late = "44444444-dddd-4ddd-8ddd-444444444444"
    write_log(root, late, [said(1, "Later.", session=late)])
    shutil.copytree(asked["HANSARD_HOME"], tmp_path / "store")
    asked["HANSARD_HOME"] = str(tmp_path / "store")
    assert complete(asked, "hansard show 4") == []
    asked["HANSARD_HOME"] = str(tmp_path / "nothing")
    assert complete(asked, "hansard show 1") == []
    assert not (tmp_path / "nothing").exists()


def test_in_a_real_bash(asked: dict[str, str], run: Run, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    program = tmp_path / "hansard"
    code = "from hansard.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"\n')
    program.chmod(0o755)
    script = run("completion", "bash").stdout + (
        "\nCOMP_LINE='hansard sessions project:ti'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(hansard sessions project : ti)"
        f'\nCOMP_CWORD=4; compopt() {{ :; }}; _hansard_completion {shlex.quote(str(program))} ti :; echo "${{COMPREPLY[@]}}"\n'
    )
    done = subprocess.run([bash, "--norc"], input=script, env=asked, capture_output=True, text=True, check=False)
    if "nosort" in done.stderr:
        pytest.skip("this bash is older than 4.4")
    assert done.stdout.strip() == "tide"
