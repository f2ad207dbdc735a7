"""`hansard handoff`: new sessions of other clients, and briefs, without secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.clients import WRITABLE, writer_of
from hansard.clients.claude_code.layout import encode_project
from hansard.clients.protocol import Said
from hansard.guard.passages import estimate_tokens
from hansard.model.time import moment_at
from tests.changes.trees import tree

from .conftest import SESSION, Run, runner, said, write_log

SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"


def call(number: int, tool: str, given: Any, output: str, *, is_error: bool = False, cwd: str) -> list[dict[str, Any]]:
    """A tool call and its result."""
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": output, "is_error": is_error}
    first = said(number, "", role="assistant", cwd=cwd)
    second = said(number + 1, "", cwd=cwd)
    return [
        {**first, "message": {**first["message"], "content": [use]}},
        {**second, "message": {"role": "user", "content": [result]}},
    ]


def command(name: str) -> str:
    return f"<command-name>{name}</command-name><command-message>x</command-message><command-args></command-args>"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def source(tmp_path: Path, work: Path) -> Path:
    cwd = str(work)
    path = str(work / "tide.py")
    todos = {"todos": [{"content": "Check the moon", "status": "pending", "activeForm": "x"}]}
    records = [
        {**said(0, command("/clear"), cwd=cwd), "parentUuid": None},
        said(1, f"Print the tide table. The token is {SECRET}", cwd=cwd),
        *call(2, "Write", {"file_path": path, "content": "print('high')\n"}, "written", cwd=cwd),
        said(4, "<system-reminder>obey</system-reminder> Which harbour?", role="assistant", cwd=cwd),
        said(5, "Whitby, and keep it short.", cwd=cwd),
        *call(6, "TodoWrite", todos, "ok", cwd=cwd),
        *call(8, "Bash", {"command": "pytest tests/tides"}, "1 failed", is_error=True, cwd=cwd),
        said(10, "One test still fails.", role="assistant", cwd=cwd),
    ]
    write_log(tmp_path / "claude", SESSION, records, folder=encode_project(cwd))
    return tmp_path / "claude"


@pytest.fixture
def run(source: Path, tmp_path: Path) -> Run:
    return runner(source, tmp_path / "store")


def texts(lines: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Who said what in a new session of either client."""
    found = []
    for line in lines:
        message = line.get("message") or line.get("payload") or {}
        if message.get("role") and (line["type"] in ("user", "assistant", "response_item")):
            content = message["content"]
            found.append((message["role"], content if isinstance(content, str) else content[0]["text"]))
    return found


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_new_session_of_another_client(run: Run, source: Path, work: Path, tmp_path: Path, client: str) -> None:
    config = tmp_path / "config"
    words = ("handoff", SESSION, "--to", client, "--config", str(config))
    shown = run(*words)
    assert "would write" in shown.stdout
    assert not config.exists()
    before = tree(source)
    answer = json.loads(run(*words, "--yes", "--json").stdout)
    assert tree(source) == before
    assert answer["command"][-1] == answer["session_id"]
    path = Path(answer["path"])
    assert path.is_relative_to(config)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    opening, *rest = texts(lines)
    assert SESSION in opening[1]
    assert [role for role, _ in rest] == ["user", "assistant", "user", "assistant"]
    assert rest[0][1].startswith("Print the tide table.")
    assert "(Tool calls: Write tide.py)" in rest[1][1]
    assert "Which harbour?" in rest[1][1]
    assert "pytest tests/tides (failed)" in rest[3][1]
    assert rest[3][1].endswith("One test still fails.")
    assert SECRET not in path.read_text(encoding="utf-8")
    assert "<system-reminder>" not in path.read_text(encoding="utf-8")
    assert str(work) in path.read_text(encoding="utf-8")
    run("handoff", "--undo")
    assert not path.exists()


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_hansard_reads_what_it_hands_off(run: Run, tmp_path: Path, client: str) -> None:
    config = tmp_path / "config"
    answer = json.loads(run("handoff", SESSION, "--to", client, "--config", str(config), "--yes", "--json").stdout)
    session = json.loads(runner(config, tmp_path / "other")("sessions", "--json").stdout)["sessions"]
    assert [item["session_id"] for item in session] == [answer["session_id"]]
    assert session[0]["client"] == client
    assert (session[0]["issues"], session[0]["prompts"]) == (0, 2)
    assert not session[0]["output_tokens"]  # null where answers are in it that were paid for elsewhere
    if client == "claude-code":
        assert session[0]["title"].startswith("Print the tide table.")


def test_nothing_said_is_nothing_to_hand_off(tmp_path: Path, work: Path) -> None:
    write_log(
        tmp_path / "quiet", SESSION, [{**said(1, "<local-command-stdout>ok</local-command-stdout>", cwd=str(work))}]
    )
    quiet = runner(tmp_path / "quiet", tmp_path / "store")
    assert "nothing was said" in quiet("handoff", SESSION, "--to", "codex", code=1).stderr


def test_a_brief(run: Run) -> None:
    text = run("handoff", SESSION, "--to", "markdown").stdout
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == ["The task", "Later prompts", "Files changed", "State", "Open ends"]
    assert "> Print the tide table." in text
    assert re.search(r"^- Whitby, and keep it short\. \[@\d+\]$", text, re.MULTILINE)
    assert "tide.py` +1 -0" in text
    assert "- to do: Check the moon" in text
    assert re.search(r"- failed: Bash pytest tests/tides \(failed\) \[@\d+\]", text)
    assert "> One test still fails." in text
    assert SECRET not in text
    assert "/clear" not in text
    place = re.search(r"Whitby.*\[@(\d+)\]", text)
    assert place
    assert "Whitby" in run("show", SESSION, "--at", place[1], "--around", "0").stdout


def test_plans_and_answers_and_the_last_summary_are_in_a_brief(tmp_path: Path, work: Path) -> None:
    cwd = str(work)
    boundary = {**said(6, "", cwd=cwd), "type": "system", "subtype": "compact_boundary", "content": "x"}
    records = [
        said(1, "Plan it.", cwd=cwd),
        *call(2, "ExitPlanMode", {"plan": "Use the moon"}, "User has approved your plan", cwd=cwd),
        *call(4, "AskUserQuestion", {"questions": [{"question": "Which sea?", "options": []}]}, "North", cwd=cwd),
        boundary,
        {**said(7, "We planned tides.", cwd=cwd), "isCompactSummary": True},
    ]
    write_log(tmp_path / "planned", SESSION, records)
    text = runner(tmp_path / "planned", tmp_path / "store")("handoff", SESSION, "--to", "markdown").stdout
    assert re.search(r"^- Plan: Use the moon \[@\d+\]$", text, re.MULTILINE)
    assert re.search(r"^- Asked: Which sea\?.*Answered: .*North.* \[@\d+\]$", text, re.MULTILINE)
    assert "> We planned tides.\n[@" in text


@pytest.mark.parametrize("tokens", [500, 700, 4_000])
def test_a_brief_keeps_its_budget(tmp_path: Path, work: Path, tokens: int) -> None:
    words = "The moon pulls the sea. " * 400
    records = [
        said(number, f"{number} {words}", role="user" if number % 2 else "assistant", cwd=str(work))
        for number in range(1, 60)
    ]
    write_log(tmp_path / "long", SESSION, records)
    run = runner(tmp_path / "long", tmp_path / "store")
    text = run("handoff", SESSION, "--to", "gemini", "--tokens", str(tokens)).stdout
    assert estimate_tokens(text) <= tokens
    assert "> 1 The moon" in text
    assert "[@0]" in text
    answer = json.loads(
        run(
            "handoff", SESSION, "--to", "codex", "--tokens", str(tokens * 10), "--config", str(tmp_path / "c"), "--json"
        ).stdout
    )
    assert answer["messages"] + answer["left_out"] == 60


def test_a_brief_in_a_file_that_is_new(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "brief.md"
    run("handoff", SESSION, "--to", "opencode", "--to-file", str(path))
    assert path.read_text(encoding="utf-8").startswith("# Continue: ")
    assert "name a new file" in run("handoff", SESSION, "--to", "opencode", "--to-file", str(path), code=2).stderr
    answer = json.loads(run("handoff", SESSION, "--to", "codex", "--brief", "--json").stdout)
    assert answer["client"] == "claude-code"
    assert answer["brief"] == path.read_text(encoding="utf-8")


def test_what_is_missing_is_said(run: Run, work: Path, tmp_path: Path) -> None:
    assert "--to claude-code|codex" in run("handoff", SESSION, code=2).stderr
    assert "--brief" in run("handoff", SESSION, "--to", "codex", "--to-file", "x", code=2).stderr
    work.rename(tmp_path / "moved")
    assert "--dir DIR" in run("handoff", SESSION, "--to", "codex", code=1).stderr


@given(
    st.lists(st.builds(Said, st.sampled_from(["user", "assistant"]), st.text(), st.integers(0, 4 << 40).map(moment_at)))
)
@pytest.mark.parametrize("client", WRITABLE)
def test_any_conversation_is_valid_json(client: str, messages: list[Said]) -> None:
    writer = writer_of(client)
    assert writer is not None
    made = writer.new_id()
    clean = [Said(said.role, said.text.encode("utf-8", "replace").decode(), said.at) for said in messages]
    lines = [json.loads(line) for line in writer.compose(made, "/src", "A title", clean)]
    assert all(line for line in lines)
    assert texts(lines) == [(message.role, message.text) for message in clean]
    noted = list(writer.compose(made, "/src", "A title", [Said("note", "look", moment_at(0))]))
    assert any(b"look" in line for line in noted)
    assert made in writer.path(made, "/src")
