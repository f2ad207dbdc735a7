"""The hook for secrets: a word before one goes into a prompt, a command or a file, and silence otherwise."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.cli.hook.run import PROMPT, TOOL, read_log
from hansard.cli.hook.secrets import ALLOWED, TOOLS, WORDS, may_hold
from hansard.clients import client_of
from hansard.guard.detection import Detector
from hansard.guard.rules import RULES
from hansard.model.tools import ToolKind
from tests.guard.planted_secrets import plant
from tests.guard.test_redaction import HARMLESS
from tests.mcp.writing import Log

TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"
PASSWORD = "DB_PASSWORD=Velvet-Orbit93"


def ask(home: Path, event: str, mode: str = "block", **said: Any) -> dict[str, Any]:
    """What the hook tells the client; it runs as the client runs it."""
    words = [sys.executable, "-P", "-m", "hansard", "hook", event, f"--secrets={mode}", f"--home={home}"]
    given = json.dumps({"session_id": "s", "cwd": str(home), "hook_event_name": event, **said}).encode()
    done = subprocess.run(words, input=given, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert TOKEN.encode() not in done.stdout
    assert b"Velvet" not in done.stdout
    return json.loads(done.stdout) if done.stdout else {}


def test_a_prompt_is_refused_or_sent_with_a_warning(tmp_path: Path) -> None:
    refused = ask(tmp_path, PROMPT, prompt=f"Use {TOKEN} to push.")
    assert refused["decision"] == "block"
    assert "GitHub token" in refused["reason"]
    warned = ask(tmp_path, PROMPT, "warn", prompt=f"Use {TOKEN} to push.")
    assert warned.keys() == {"systemMessage"}
    assert ask(tmp_path, PROMPT, prompt=PASSWORD).keys() == {"systemMessage"}, "words before it are no proof"
    assert ask(tmp_path, PROMPT, prompt=f"{ALLOWED}: use {TOKEN}") == {}
    assert ask(tmp_path, PROMPT, prompt="How does auth work in src/api/AuthMiddleware2.ts?") == {}
    assert read_log(str(tmp_path)) == []
    assert not (tmp_path / "hooks").exists(), "nothing is stored for it"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "/tmp/new.py", "content": f"KEY = '{TOKEN}'"}),
        ("Edit", {"file_path": "/tmp/new.py", "old_string": "KEY = ''", "new_string": f"KEY = '{TOKEN}'"}),
        ("MultiEdit", {"file_path": "/tmp/new.py", "edits": [{"old_string": "", "new_string": TOKEN}]}),
        ("NotebookEdit", {"notebook_path": "/tmp/a.ipynb", "new_source": TOKEN}),
        ("Bash", {"command": f"curl -H 'Authorization: Bearer {TOKEN}' https://api.example"}),
    ],
)
def test_a_call_is_refused(tmp_path: Path, tool: str, given: dict[str, Any]) -> None:
    answer = ask(tmp_path, TOOL, tool_name=tool, tool_input=given)["hookSpecificOutput"]
    assert (answer["hookEventName"], answer["permissionDecision"]) == (TOOL, "deny")
    assert "GitHub token" in answer["permissionDecisionReason"]
    assert ask(tmp_path, TOOL, "warn", tool_name=tool, tool_input=given).keys() == {"systemMessage"}


def test_what_is_there_already_may_be_edited(tmp_path: Path) -> None:
    edit = {"file_path": "a.py", "old_string": f"KEY = '{TOKEN}'", "new_string": "KEY = os.environ['KEY']"}
    assert ask(tmp_path, TOOL, tool_name="Edit", tool_input=edit) == {}
    moved = {**edit, "new_string": f"KEY2 = '{TOKEN}'"}
    assert ask(tmp_path, TOOL, tool_name="Edit", tool_input=moved) == {}
    write = {"file_path": "a.py", "content": f"KEY = '{TOKEN}'\n"}
    assert ask(tmp_path, TOOL, tool_name="Write", tool_input=write)
    (tmp_path / "a.py").write_text(f"OLD = '{TOKEN}'")
    assert ask(tmp_path, TOOL, tool_name="Write", tool_input=write) == {}


def test_a_file_that_would_show_a_secret_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"GITHUB_TOKEN={TOKEN}\n")
    answer = ask(tmp_path, TOOL, tool_name="Read", tool_input={"file_path": str(tmp_path / ".env")})
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "would put it into the conversation" in answer["hookSpecificOutput"]["permissionDecisionReason"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\0" + TOKEN.encode())
    for name in ("pipe", "bytes", "nothing", ".", "a\0b", "/dev/zero"):
        assert ask(tmp_path, TOOL, tool_name="Read", tool_input={"file_path": name}) == {}, name


def test_the_users_decisions_count(tmp_path: Path) -> None:
    log = Log("11111111-0000-4000-8000-000000000001", cwd="/src")
    log.prompt(f"It is {TOKEN}.")
    log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.scan_secrets()
        (one,) = h.secrets().secrets
        assert ask(tmp_path / "store", PROMPT, prompt=TOKEN)["decision"] == "block"
        h.resolve_secret(one.secret_id, "accepted")
        assert ask(tmp_path / "store", PROMPT, prompt=TOKEN) == {}
        h.resolve_secret(one.secret_id, "rotated")
        assert ask(tmp_path / "store", PROMPT, prompt=TOKEN)["decision"] == "block"
    (tmp_path / "store" / "record.db").write_bytes(b"broken")
    assert ask(tmp_path / "store", PROMPT, prompt=TOKEN)["decision"] == "block", "a broken store lets nothing through"
    assert read_log(str(tmp_path / "store"))


@pytest.mark.parametrize(
    "said",
    [{}, {"prompt": 7}, {"prompt": None}, {"tool_name": "Write"}, {"tool_name": [], "tool_input": [[[7]]]}],
)
def test_nothing_breaks_the_client(tmp_path: Path, said: dict[str, Any]) -> None:
    for event in (PROMPT, TOOL, "Stop"):
        assert ask(tmp_path, event, **said) == {}
    assert [line for line in read_log(str(tmp_path)) if "secrets" in line] == []


def test_both_hooks_have_one_answer(tmp_path: Path) -> None:
    """With budgets in the same call, the client gets one JSON document."""
    words = [sys.executable, "-P", "-m", "hansard", "hook", PROMPT, "--secrets=warn", "--budgets", f"--home={tmp_path}"]
    given = json.dumps({"session_id": "s", "cwd": "/", "hook_event_name": PROMPT, "prompt": TOKEN}).encode()
    done = subprocess.run(words, input=given, capture_output=True, check=False)
    assert json.loads(done.stdout).keys() == {"systemMessage"}


def test_the_first_look_misses_no_secret() -> None:
    """A text that is not worth a search has no secret that a search would find."""
    find = Detector(None).find
    for planted in plant(41):
        if find(planted.line):
            assert may_hold(planted.line), planted
    for rule in RULES:
        if not rule.is_token:
            assert all(any(part in word for part in WORDS) for word in rule.words), rule.name
    for text in HARMLESS:
        assert may_hold(text) or not find(text)
    prose = "Please rename the function in the second file, add a test for empty input and run everything again."
    assert not may_hold(prose)


def test_the_tools_are_those_of_the_client() -> None:
    client = client_of("claude-code")
    kinds: tuple[ToolKind, ...] = ("edit", "write", "shell")
    assert set(TOOLS) == {"Read", *(name for kind in kinds for name in client.tool_names(kind))}
    assert re.fullmatch(r"[A-Za-z|]+", "|".join(TOOLS))
