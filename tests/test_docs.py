"""The documentation says everything, and what it says is so."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import click
import pytest

from hansard import config, errors
from hansard.cli.app import COMMANDS, USAGE_BY, hansard
from hansard.demo import write_history
from hansard.directories import HOME_VARIABLE
from hansard.engine import Hansard
from hansard.query.sessions import SORTS

PROJECT = Path(__file__).resolve().parent.parent
DOCS = PROJECT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def options_of(command: click.Command) -> set[str]:
    """The long options of a command and of the commands below it."""
    below = command.commands.values() if isinstance(command, click.Group) and command is not hansard else ()
    return set().union(*map(options_of, below)) | {
        option
        for param in command.params
        if isinstance(param, click.Option)
        for option in param.opts
        if option.startswith("--")
    }


def section(name: str) -> str:
    name = "usage" if name in USAGE_BY else name
    found = re.search(rf"^### hansard {name}\n(.*?)(?=^##|\Z)", page("cli.md"), re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no section on `hansard {name}`"
    return found[1]


def test_common_options_are_documented() -> None:
    common = page("cli.md").partition("## Exit codes")[0]
    for option in options_of(hansard) | {"--help"}:
        assert f"`{option}" in common


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    command = hansard.get_command(click.Context(hansard), name)
    assert command is not None
    text = section(name)
    for option in options_of(command) - options_of(hansard):
        assert f"`{option}" in text, f"{option} of `hansard {name}` is not in docs/cli.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_documented_that_is_not_there(name: str) -> None:
    command = hansard.get_command(click.Context(hansard), name)
    assert command is not None
    described = set(re.findall(r"^\| `(--[a-z-]+)", section(name), re.MULTILINE))
    assert described <= options_of(command)


def test_every_order_and_exit_code_is_documented() -> None:
    for order in SORTS:
        assert f"`{order}`" in section("sessions")
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.HansardError)]
    for kind in kinds:
        assert f"| {kind.exit_code} |" in page("cli.md")


def test_every_setting_is_documented() -> None:
    for key in config.KEYS:
        assert f"| `{key}` |" in page("configuration.md")
    assert HOME_VARIABLE in page("configuration.md")


def test_every_command_whose_texts_leave_the_machine_is_in_the_table_of_them() -> None:
    table = page("security.md").partition("## What leaves the machine")[2].partition("\n## ")[0]
    commands = (PROJECT / "src/hansard/cli/commands").glob("*.py")
    leaving = [
        path.stem.replace("_", " ")
        for path in commands
        if re.search(r"outgoing|push_team|push_lake", path.read_text("utf-8"))
    ]
    assert len(leaving) >= 5
    assert [name for name in leaving if f"`hansard {name}" not in table] == []


def test_the_methods_of_the_library_are_documented() -> None:
    bases = [base for base in Hansard.__mro__ if base.__module__.startswith(("hansard.engine", "hansard.api"))]
    public = {name for base in bases for name in vars(base) if not name.startswith("_")}
    for name in public:
        assert f"`{name}(" in page("library.md"), f"Hansard.{name}() is not in docs/library.md"


def test_the_library_example_runs(tmp_path: Path) -> None:
    write_history(tmp_path / "claude", now=datetime.now(UTC))
    first, reading, *_ = re.findall(r"```python\n(.*?)```", page("library.md"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", first + reading],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "asked: " in done.stdout
    assert "exactly as the client wrote them" in done.stdout
    assert "turns before these two" in done.stdout


def test_the_pages_made_from_the_code_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(PROJECT / "tools" / "make_docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@cache
def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_resolve() -> None:
    pages = [*PROJECT.glob("*.md"), *DOCS.rglob("*.md")]
    assert any(path.parent.name == "decisions" for path in pages)
    broken = []
    for path in pages:
        for target, anchor in re.findall(r"\]\(([\w./-]*\.md|)(?:#([\w-]*))?\)", path.read_text(encoding="utf-8")):
            place = path.parent / target if target else path
            if not place.is_file() or (anchor and anchor not in anchors(place)):
                broken.append(f"{path.relative_to(PROJECT)}: {target}#{anchor}")
    assert not broken


def test_the_index_of_decisions_lists_every_file_with_its_title_and_date() -> None:
    rows = []
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        found = re.match(r"# (\d+)\. (.+)\n\nDate: (\d{4}-\d\d-\d\d)", path.read_text(encoding="utf-8"))
        assert found, f"{path.name} has no number, title and date"
        assert path.name.startswith(f"{int(found[1]):04d}-")
        rows.append((path.name[:4], path.name, found[2], found[3]))
    assert rows
    assert re.findall(r"^\| \[(\d+)\]\((.+)\) (.+) \| (.+) \|$", page("decisions/README.md"), re.MULTILINE) == rows


@pytest.mark.parametrize("place", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/decisions"])
def test_every_named_file_exists(place: str) -> None:
    path = PROJECT / place
    named = [
        (each.name, file)
        for each in ([path] if path.is_file() else sorted(path.glob("*.md")))
        for file in re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|c|md|toml|zst))`", each.read_text(encoding="utf-8"))
    ]
    assert named
    roots = (PROJECT, PROJECT / "src/hansard")
    assert not [(name, file) for name, file in named if not any((root / file).exists() for root in roots)]
