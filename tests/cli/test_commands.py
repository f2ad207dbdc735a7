"""Every command: its answer for people, its answer for programs."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from hansard.cli.app import COMMANDS
from hansard.storage.sqlite import connect

from .conftest import OTHER, SESSION, Run, said, write_log

SESSION_KEYS = set(
    "session_id project title first_prompt started_at ended_at prompts messages tool_calls agents models input_tokens"
    " output_tokens cache_read_tokens cache_write_tokens cost_usd source_state".split()
)


def test_sessions_json_has_the_agreed_shape(run: Run) -> None:
    answer = json.loads(run("sessions", "--json").stdout)
    assert {"sessions", "next_cursor"} <= set(answer)
    assert set(answer["sessions"][0]) >= SESSION_KEYS
    assert {item["session_id"] for item in answer["sessions"]} == {SESSION, OTHER}
    one = next(item for item in answer["sessions"] if item["session_id"] == SESSION)
    assert one["started_at"] == "2026-05-01T10:00:01.000Z"
    assert one["cost_usd"] == "0.000112"  # 3 tokens at $4 and 5 at $20 per million
    assert one["unpriced_models"] == []
    assert (one["prompts"], one["output_tokens"]) == (1, 5)


def test_sessions_pages(run: Run) -> None:
    first = json.loads(run("sessions", "--limit", "1", "--json").stdout)
    second = json.loads(run("sessions", "--limit", "1", "--cursor", first["next_cursor"], "--json").stdout)
    assert second["next_cursor"] is None
    assert {page["sessions"][0]["session_id"] for page in (first, second)} == {SESSION, OTHER}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--project", "tide"], {SESSION}),
        (["--text", "high tide"], {SESSION}),
        (["--since", "2026-05-01"], {SESSION, OTHER}),
        (["--until", "2026-05-01", "--branch", "main"], {SESSION, OTHER}),
        (["--model", "opus", "--client-version", "2.1.0"], {SESSION, OTHER}),
        (["--sort", "title", "--reverse"], {SESSION, OTHER}),
        (["--all"], {SESSION, OTHER}),
    ],
)
def test_sessions_filters(run: Run, options: list[str], found: set[str]) -> None:
    answer = json.loads(run("sessions", *options, "--json").stdout)
    assert {item["session_id"] for item in answer["sessions"]} == found


@pytest.mark.parametrize(
    "options",
    [["--since", "1h"], ["--until", "2026-04-30"], ["--errors"], ["--gone"], ["--tool", "Bash"], ["--project", "%"]],
)
def test_nothing_found_is_1(run: Run, options: list[str]) -> None:
    result = run("sessions", *options, "--json", code=1)
    assert json.loads(result.stdout)["sessions"] == []
    assert "no session matches" in result.stderr
    assert run("sessions", *options, code=1).stdout == ""


def test_gone_sessions_are_still_there(run: Run, root: Path) -> None:
    run("sync")
    (root / "projects" / "-src-tide" / f"{SESSION}.jsonl").unlink()
    answer = json.loads(run("sessions", "--gone", "--json").stdout)
    assert [item["session_id"] for item in answer["sessions"]] == [SESSION]
    assert "gone" in run("sessions").stdout


def test_markup_and_escapes_in_titles_are_text(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    result = run("sessions", "--color", "always")
    assert "[red]now[/red]" in result.stdout
    assert "\x1b[31m" not in result.stdout


@pytest.mark.parametrize(
    "command", [[], ["sessions"], ["projects"], ["status"], ["doctor"], ["show", SESSION], ["verify"]]
)
@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_lines_fit_the_terminal(
    run_hard: Run, hard: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, command: list[str], columns: str
) -> None:
    from hansard.render.text import width

    monkeypatch.setenv("COLUMNS", columns)
    if command[:1] == ["show"]:
        command = ["show", hard[1]]
    if command == ["verify"]:
        run_hard("sync")
    output = run_hard(*command).stdout
    assert output
    assert all(width(line) <= int(columns) for line in output.split("\n"))


@pytest.mark.parametrize("command", [["sessions"], [], ["status"], ["show", "@last"]])
def test_colour_only_where_it_is_wanted(run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    assert "\x1b" not in run(*command).stdout
    coloured = run(*command, "--color", "always").stdout
    assert "\x1b[" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(*command, "--color", "auto").stdout
    assert "\x1b" not in run(*command, "--color", "never").stdout


def test_common_options_may_stand_before_the_command(root: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from hansard.cli.app import hansard

    args = ["--home", str(tmp_path / "s"), "--root", str(root), "--json", "sessions"]
    result = CliRunner().invoke(hansard, args)
    assert len(json.loads(result.stdout)["sessions"]) == 2


def test_projects(run: Run) -> None:
    answer = json.loads(run("projects", "--json").stdout)
    assert {item["name"] for item in answer["projects"]} == {"tide", "sail"}
    assert "tide" in run("projects", "tide").stdout
    assert run("projects", "nothing", code=1).stdout == ""


def test_sync_json(run: Run, root: Path) -> None:
    answer = json.loads(run("sync", "--json").stdout)
    assert {"transcripts", "changed", "bytes_read", "records", "issues", "seconds"} <= set(answer)
    assert (answer["transcripts"], answer["changed"], answer["records"]) == (2, 2, 4)
    assert json.loads(run("sync", "--json").stdout)["changed"] == 0
    assert "2 transcripts, 0 files changed" in run("sync").stdout
    run("sync", "--no-sync", code=2)


def test_no_sync_answers_from_what_is_indexed(run: Run, root: Path) -> None:
    run("sessions", "--no-sync", code=1)
    run("sync")
    write_log(root, SESSION.replace("1", "3"), [said(1, "New", session=SESSION.replace("1", "3"))])
    assert len(json.loads(run("sessions", "--no-sync", "--json").stdout)["sessions"]) == 2
    assert len(json.loads(run("sessions", "--json").stdout)["sessions"]) == 3


def test_rebuild_gives_the_same_answers(run: Run) -> None:
    before = run("sessions", "--json").stdout
    run("rebuild")
    assert run("sessions", "--json").stdout == before


def test_rebuild_needs_a_store(run: Run, root: Path) -> None:
    assert "nothing has been synced" in run("rebuild", code=1).stderr


def test_status(run: Run) -> None:
    answer = json.loads(run("status", "--json").stdout)
    assert answer["sessions"] == 2
    assert answer["roots"][0]["logs"] == 2
    text = run("status").stdout
    assert "2 transcripts, 2 sessions, 2 projects" in text
    assert "Clean-up" in text


def test_status_tells_what_the_client_deletes_next(run: Run, root: Path) -> None:
    import os
    import time

    old = time.time() - 28.5 * 86400
    path = root / "projects" / "-src-tide" / f"{SESSION}.jsonl"
    os.utime(path, (old, old))
    text = run("status").stdout
    assert "1 transcript" in text
    assert "all kept here" in text
    assert "in 35 h" in text
    assert "NOT kept" not in run().stdout


def test_doctor_reports_bad_lines_with_their_place(run: Run, root: Path) -> None:
    path = root / "projects" / "-src-tide" / f"{SESSION}.jsonl"
    place = path.stat().st_size
    with path.open("a", encoding="utf-8") as file:
        file.write("{not json}\n")
    answer = json.loads(run("doctor", "--json").stdout)
    assert answer["issues"][0]["count"] == 1
    assert answer["issues"][0]["examples"][0]["offset"] == place
    assert f"{place:,}" in run("doctor").stdout


@pytest.mark.parametrize("name", ["index.db", "text.db"])
def test_doctor_looks_into_the_indexes(run: Run, tmp_path: Path, name: str) -> None:
    run("sync")
    path = tmp_path / "store" / name
    content = bytearray(path.read_bytes())
    content[8192 : len(content) - 4096] = bytes(len(content) - 12288)
    path.write_bytes(content)
    assert "rebuild" in run("doctor", "--no-sync", code=1).stdout
    run("rebuild")
    run("doctor", "--no-sync")


def test_status_counts_clients_that_run(run: Run, root: Path) -> None:
    (root / "sessions").mkdir()
    for name, pid in (("alive", os.getpid()), ("dead", 2**31 - 7)):
        (root / "sessions" / f"{name}.json").write_text(json.dumps({"pid": pid}), encoding="utf-8")
    running = json.loads(run("status", "--json").stdout)["roots"][0]["running"]
    assert running == (2 if os.name == "nt" else 1)  # where one cannot ask, the note is believed


def test_doctor_is_1_when_the_store_is_damaged(run: Run, tmp_path: Path) -> None:
    run("sync")
    (tmp_path / "store" / "record.db").write_bytes(b"no database" * 1000)
    result = run("doctor", "--json", code=1)
    assert json.loads(result.stdout)["findings"][0]["level"] == "error"


def test_show_json_is_the_conversation_and_its_session(run: Run) -> None:
    answer = json.loads(run("show", SESSION[:6], "--json").stdout)
    assert answer["session"]["session_id"] == answer["session_id"] == SESSION
    assert [(entry["kind"], entry["text"]) for entry in answer["entries"]] == [
        ("prompt", "When is high tide?"),
        ("reply", "At noon."),
    ]


def test_show_finds_sessions_by_title(run: Run) -> None:
    assert "At noon." in run("show", "high tide").stdout


def test_show_agents_and_branches(run_hard: Run, hard: tuple[Path, str]) -> None:
    answer = json.loads(run_hard("show", hard[1], "--json").stdout)
    agent = answer["agents"][0]["agent_id"]
    assert "Outer: pass this on." in run_hard("show", hard[1], "--agent", agent[:6]).stdout
    assert "taken back" in run_hard("show", hard[1], "--branch", "1").stdout
    assert "no branch 9" in run_hard("show", hard[1], "--branch", "9", code=1).stderr
    assert "no subagent" in run_hard("show", hard[1], "--agent", "zzz", code=1).stderr


def test_show_takes_the_names_of_subagents(run_hard: Run, hard: tuple[Path, str]) -> None:
    agents = json.loads(run_hard("show", hard[1], "--json").stdout)["agents"]
    assert [agent["number"] for agent in agents] == list(range(1, len(agents) + 1))
    for name in (str(agents[0]["number"]), "#1", "Outer", "outer"):
        assert "Outer: pass this on." in run_hard("show", hard[1], "--agent", name).stdout
    for name, count in (("a", len(agents)), ("explore", sum(agent["agent_type"] == "Explore" for agent in agents))):
        message = run_hard("show", hard[1], "--agent", name, code=2).stderr
        assert f"{count} subagents match {name!r}:" in message
    assert "Explore 2: Reader" in run_hard("show", hard[1]).stdout


def test_cat_gives_the_bytes(run: Run, root: Path) -> None:
    content = (root / "projects" / "-src-tide" / f"{SESSION}.jsonl").read_bytes()
    assert run("cat", SESSION[:5]).stdout_bytes == content
    assert run("cat", f"{SESSION}.jsonl").stdout_bytes == content
    answer = json.loads(run("cat", SESSION, "--json").stdout)
    assert answer["bytes"] == len(content)
    assert answer["sha256"] == sha256(content).hexdigest()
    assert answer["transcript"] == f"projects/-src-tide/{SESSION}.jsonl"


def test_cat_gives_earlier_generations(run: Run, root: Path) -> None:
    path = root / "projects" / "-src-tide" / f"{SESSION}.jsonl"
    before = path.read_bytes()
    run("sync")
    write_log(root, SESSION, [said(number, "Something else entirely?") for number in (1, 2, 3)])
    assert run("cat", SESSION).stdout_bytes == path.read_bytes()
    assert run("cat", SESSION, "--generation", "1").stdout_bytes == before
    run("cat", SESSION, "--generation", "7", code=1)


def test_restore(run: Run, root: Path, tmp_path: Path) -> None:
    to = tmp_path / "back"
    plan = json.loads(run("restore", "--all", "--to", str(to), "--dry-run", "--json").stdout)
    assert {item["action"] for item in plan["files"]} == {"write"}
    assert not to.exists()
    done = json.loads(run("restore", "--all", "--to", str(to), "--json").stdout)
    assert (done["written"], done["same"]) == (2, 0)
    for path in (root / "projects").rglob("*.jsonl"):
        assert (to / path.relative_to(root)).read_bytes() == path.read_bytes()
    assert "2 files were already there" in run("restore", "--all", "--to", str(to)).stdout
    assert "1 file was already there" in run("restore", SESSION, "--to", str(to)).stdout
    copy = to / "projects" / "-src-tide" / f"{SESSION}.jsonl"
    copy.write_text("changed")
    assert "DIFFERS" in run("restore", SESSION, "--to", str(to), "--dry-run").stdout
    assert "--overwrite replaces them" in run("restore", SESSION, "--to", str(to), code=8).stderr
    assert copy.read_text() == "changed"
    run("restore", SESSION, "--to", str(to), "--overwrite")
    assert copy.stat().st_size > 100


def test_restore_into_the_config_directory_itself(run: Run, root: Path) -> None:
    path = root / "projects" / "-src-tide" / f"{SESSION}.jsonl"
    content = path.read_bytes()
    run("sync")
    path.unlink()
    run("restore", SESSION, "--to", str(root))
    assert path.read_bytes() == content
    assert json.loads(run("sessions", "--project", "tide", "--json").stdout)["sessions"][0]["source_state"] == "live"


def test_restore_needs_to_know_what(run: Run, tmp_path: Path) -> None:
    run("restore", "--to", str(tmp_path / "x"), code=2)
    run("restore", "--all", SESSION, "--to", str(tmp_path / "x"), code=2)


def test_verify_refuses_what_is_not_a_revision_before_it_reads_anything(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("sync")
    monkeypatch.setattr("hansard.sync.verify._repaired", None)
    for text in ("foo", "", ":", "7d is", "12:xyz"):
        assert f"invalid revision {text!r}" in run("verify", "--since", text, "--repair", code=2).stderr


def test_verify(run: Run, root: Path, tmp_path: Path) -> None:
    run("verify", code=1)  # nothing is kept yet
    run("sync")
    answer = json.loads(run("verify", "--json").stdout)
    assert answer["transcripts"] == 2
    assert answer["mismatches"] == []
    assert "2 files compared" in run("verify", "--deep").stdout

    db = connect(str(tmp_path / "store" / "record.db"))
    db.execute("UPDATE chunk SET hash = zeroblob(16) WHERE id = 1")
    db.close()
    result = run("verify", "--json", code=1)
    assert len(json.loads(result.stdout)["mismatches"]) == 1
    assert "1 MISMATCH" in run("verify", code=1).stdout


def test_overview(run: Run) -> None:
    text = run().stdout
    assert text.startswith("Hansard  2 sessions in 2 projects")
    assert "When is high tide?" in text
    answer = json.loads(run("--json").stdout)
    assert answer["demo"] is False
    assert answer["activity"]["all"]["prompts"] == 2
    assert answer["activity"]["today"]["prompts"] == 0


def test_the_overview_tells_how_to_call_the_program(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "bin" / "hansard")])
    monkeypatch.setenv("PATH", "")
    assert f"Next: {Path('bin', 'hansard')} show @last" in run().stdout


def test_a_saved_stream_has_no_times(run: Run, root: Path) -> None:
    third = "33333333-cccc-4ccc-8ccc-333333333333"
    reply = said(1, "Hello.", role="assistant", session=third)["message"]
    lines = [
        {"type": "system", "subtype": "init", "cwd": "/src/tide", "session_id": third, "model": "claude-opus-5-5"},
        {"type": "assistant", "message": reply, "parent_tool_use_id": None, "session_id": third},
    ]
    write_log(root, "out", lines)
    text = run("show", third).stdout
    assert "Hello." in text
    assert "\n0 prompts, 1 message" in text


def test_schema_and_completion(run: Run) -> None:
    assert "CREATE TABLE sessions" in run("schema").stdout
    assert "CREATE TABLE chunk" in run("schema", "record").stdout
    assert set(json.loads(run("schema", "--json").stdout)["databases"]) == {"record.db", "index.db", "text.db"}
    for shell in ("bash", "zsh", "fish"):
        assert "_HANSARD_COMPLETE" in run("completion", shell).stdout


def test_every_command_has_help_with_examples(run: Run) -> None:
    overall = run("--help").stdout
    for name in COMMANDS:
        assert name in overall
        text = run(name, "--help").stdout
        assert f"\n  Examples:\n    hansard {name}" in text
        assert "--json" in text


@pytest.mark.parametrize("command", [["resume"], ["related"], ["note"], ["pin"], ["rename", "--remove"], ["cat"]])
def test_without_a_terminal_a_missing_session_is_said(run: Run, command: list[str]) -> None:
    assert "missing argument 'SESSION'" in run(*command, code=2).stderr


def test_without_a_terminal_show_means_the_newest(run: Run) -> None:
    assert run("show").stdout == run("show", "@last").stdout


def test_help_is_that_of_the_command(run: Run) -> None:
    assert run("help").stdout == run("--help").stdout
    assert run("help", "grep").stdout == run("grep", "--help").stdout
    assert "did you mean 'search'?" in run("help", "serach", code=2).stderr
