"""Importing the library stays cheap: no user interface, no event loop, no file watcher comes with it."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hansard.clients import BUILT_IN
from hansard.demo import write_history

UNWANTED = set(
    "asyncio click duckdb genai_prices httpx2 jinja2 mcp pydantic resvg_py rich starlette textual uvicorn watchfiles".split()
)
COMMANDS = "import hansard.cli.app, hansard.cli.commands.show, hansard.cli.commands.resume, hansard.cli.arguments"
STORAGE = {"apsw", "msgspec", "zstandard"}


def loaded_by(statement: str) -> set[str]:
    """Run a statement in a new interpreter and tell which top-level modules it left loaded."""
    code = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_the_probe_sees_what_is_imported() -> None:
    assert {"click", "apsw"} <= loaded_by("import click, apsw")


def test_import_hansard_loads_nothing_but_names() -> None:
    assert not loaded_by("import hansard") & (UNWANTED | STORAGE)


@pytest.mark.parametrize(
    "statement", ["import hansard.engine", "import hansard; hansard.open", "import hansard.errors"]
)
def test_the_engine_loads_no_user_interface(statement: str) -> None:
    assert not loaded_by(statement) & UNWANTED


def test_commands_load_no_screen_before_they_show_one() -> None:
    assert not loaded_by(COMMANDS) & {"textual", "rich", "asyncio"}


def test_what_every_command_loads_makes_no_dataclass_and_loads_no_openssl() -> None:
    statement = "import hansard.cli.app, hansard.config, hansard.engine, hansard.sync.run, hansard.index.store"
    assert not loaded_by(statement) & {"_hashlib", "dataclasses", "shutil"}


COMMAND = """
sys.argv[1:] = {0!r}
from hansard.cli import main
try:
    main()
except SystemExit as exit:
    assert not exit.code
"""


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hygiene")
    write_history(place / "claude", now=datetime.now(UTC))
    later = time.time_ns() + 60 * 10**9  # by then the files have come to rest, so the next sync finds nothing
    sync = ["sync", "--home", str(place / "store"), "--root", str(place / "claude")]
    loaded_by(f"import time\ntime.time_ns = lambda: {later}" + COMMAND.format(sync))
    return place


@pytest.mark.parametrize("command", ["", "sync", "sessions", "usage", "status"])
def test_a_warm_command_loads_little_of_the_standard_library(command: str, synced: Path) -> None:
    common = ["--home", str(synced / "store"), "--root", str(synced / "claude")]
    late = {"ast", "dis", "gettext", "inspect", "platform", "textwrap", "tokenize", "typing_extensions", "zstandard"}
    late |= {"bz2", "lzma", "shutil", "zlib"}
    assert loaded_by(COMMAND.format([*command.split(), *common])) & late == set()


def test_a_search_loads_no_openssl(synced: Path) -> None:
    common = ["--home", str(synced / "store"), "--root", str(synced / "claude")]
    # Results in files of their own are compared with their hashes, which does load it.
    assert "_hashlib" not in loaded_by(COMMAND.format(["search", "error", "-kind:result", *common]))


def test_an_editor_without_chats_is_no_history(tmp_path: Path) -> None:
    storage = tmp_path / ".config/Code/User/workspaceStorage/1"
    storage.mkdir(parents=True)
    assert [name for name, known in BUILT_IN.items() if known.is_used({}, str(tmp_path))] == []
    (storage / "chatSessions").mkdir()
    assert [name for name, known in BUILT_IN.items() if known.is_used({}, str(tmp_path))] == ["copilot-chat"]


def test_clients_without_a_history_are_not_imported(synced: Path) -> None:
    common = ["--home", str(synced / "store"), "--root", str(synced / "claude")]
    code = COMMAND.format(["sessions", *common])
    code += "\nprint(*[name for name in sys.modules if name.startswith('hansard.clients.')])"
    done = subprocess.run([sys.executable, "-c", f"import sys\n{code}"], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[2] for name in done.stdout.splitlines()[-1].split()}
    assert "claude_code" in loaded
    assert not loaded & {"generic", "generic_fold", "elsewhere", *(name.replace("-", "_") for name in BUILT_IN)}
