"""`hansard resume`: the client, in the right place, with the transcript where it looks for it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.render.text import command_line, quote

from .conftest import SESSION, Run, said, write_log

needs_posix = pytest.mark.skipif(os.name == "nt", reason="the stand-in for the client is a shell script")
CLIENT = """#!/bin/sh
printf '%s\\n' "$PWD" "$(pwd)" "${CLAUDE_CONFIG_DIR-}" "$#" "$@" > "$SEEN"
test -t 0 && echo "a terminal" >> "$SEEN"
exit 7
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The directory of a session whose name needs quoting."""
    place = tmp_path / "it's work"
    place.mkdir()
    return place


@pytest.fixture
def source(tmp_path: Path, work: Path) -> Path:
    """A config directory with one session in it."""
    place = tmp_path / "claude"
    write_log(place, SESSION, [said(1, "When is high tide?", cwd=str(work)), said(2, "At noon.", role="assistant")])
    return place


@pytest.fixture
def run(source: Path, tmp_path: Path) -> Run:
    from .conftest import runner

    return runner(source, tmp_path / "store")


def start(tmp_path: Path, source: Path, *args: str, client: bool = True) -> tuple[int, str, list[str]]:
    """Run the command in a terminal of its own; gives its exit code, what it wrote and what the client saw."""
    import pty

    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    if client:
        (programs / "claude").write_text(CLIENT)
        (programs / "claude").chmod(0o755)
    seen = tmp_path / "seen"
    environment = {
        **os.environ,
        "PATH": f"{programs}:/usr/bin:/bin",
        "SEEN": str(seen),
        "HANSARD_HOME": str(tmp_path / "store"),
        "TERM": "xterm",
    }
    environment.pop("CLAUDE_CONFIG_DIR", None)
    main, inner = pty.openpty()
    command = [sys.executable, "-m", "hansard", "resume", "--root", str(source), *args]
    with subprocess.Popen(
        command, stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True
    ) as started:
        os.close(inner)
        written = b""
        try:
            while piece := os.read(main, 4096):
                written += piece
        except OSError:  # Linux says so when the last writer is gone
            pass
        os.close(main)
    return started.returncode, written.decode(), seen.read_text().splitlines() if seen.exists() else []


@needs_posix
def test_the_client_runs_in_the_sessions_directory(tmp_path: Path, source: Path, work: Path) -> None:
    code, written, seen = start(tmp_path, source, SESSION[:8], "--", "--model", "o p")
    assert code == 7  # the client's own
    assert seen == [str(work), str(work), str(source), "4", "--resume", SESSION, "--model", "o p", "a terminal"]
    assert "restored" not in written  # a slow machine shows the bar of the sync


@needs_posix
def test_what_the_client_deleted_is_restored_and_stays(tmp_path: Path, source: Path, run: Run) -> None:
    path = source / "projects" / "-src-tide" / f"{SESSION}.jsonl"
    os.utime(path, (1_700_000_000, 1_700_000_000))
    content = path.read_bytes()
    run("sync")
    path.unlink()
    before = time.time() - 60
    code, written, seen = start(tmp_path, source, "@last")
    assert (code, seen[4:6]) == (7, ["--resume", SESSION])
    assert "restored 1 file" in written
    assert path.read_bytes() == content
    assert path.stat().st_mtime > before


@needs_posix
def test_without_a_client_nothing_is_restored(tmp_path: Path, source: Path, run: Run) -> None:
    path = source / "projects" / "-src-tide" / f"{SESSION}.jsonl"
    run("sync")
    path.unlink()
    code, written, _ = start(tmp_path, source, "@last", client=False)
    assert code == 1
    assert "'claude' is not on your PATH" in written
    assert not path.exists()


@needs_posix
def test_a_directory_that_is_gone(tmp_path: Path, source: Path, work: Path) -> None:
    other = tmp_path / "moved"
    work.rename(other)
    code, written, seen = start(tmp_path, source, "@last")
    assert (code, seen) == (1, [])
    assert "no longer exists" in written
    assert "--dir DIR" in written
    code, _, seen = start(tmp_path, source, "@last", "--dir", str(other))
    assert (code, seen[1]) == (7, str(other))


@needs_posix
def test_the_printed_command_does_the_same(tmp_path: Path, run: Run, source: Path, work: Path) -> None:
    printed = run("resume", SESSION, "--print").stdout
    words = shlex.split(printed)
    assert words == ["cd", str(work), "&&", f"CLAUDE_CONFIG_DIR={source}", "claude", "--resume", SESSION]
    (source / "projects" / "-src-tide" / f"{SESSION}.jsonl").unlink()
    words = shlex.split(run("resume", SESSION, "--print").stdout)
    home = str(tmp_path / "store")
    assert words[:8] == ["hansard", "restore", SESSION, "--to", str(source), "--touch", "--home", home]
    assert not (source / "projects" / "-src-tide" / f"{SESSION}.jsonl").exists()


def test_the_usual_config_directory_needs_no_word(
    tmp_path: Path, run: Run, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(source))
    assert json.loads(run("resume", "@last", "--json").stdout)["environment"] == {}


def test_json(run: Run, source: Path, work: Path) -> None:
    answer = json.loads(run("resume", "@last", "--json").stdout)
    assert answer == {
        "session_id": SESSION,
        "directory": str(work),
        "environment": {"CLAUDE_CONFIG_DIR": str(source)},
        "command": ["claude", "--resume", SESSION],
        "restore": None,
    }


def test_an_unknown_session(run: Run) -> None:
    assert "'nowhere'" in run("resume", "nowhere", code=1).stderr


def test_a_subagent_names_its_session(run: Run, source: Path) -> None:
    agent = source / "projects" / "-src-tide" / SESSION / "subagents" / "agent-a497335b28b4899ad.jsonl"
    agent.parent.mkdir(parents=True)
    lines = [said(1, "Look."), said(2, "Seen.", role="assistant")]
    agent.write_text(
        "".join(json.dumps(line | {"isSidechain": True, "agentId": "a497335b28b4899ad"}) + "\n" for line in lines)
    )
    error = run("resume", "agent-a497335b28b4899ad", code=2).stderr
    assert "is a subagent" in error
    assert SESSION in error


def test_a_session_of_which_only_subagents_are_left_says_so(run: Run, source: Path) -> None:
    other = "33333333-cccc-4ccc-8ccc-333333333333"
    agent = source / "projects" / "-src-tide" / other / "subagents" / "agent-a497335b28b4899ad.jsonl"
    agent.parent.mkdir(parents=True)
    lines = [said(1, "Look.", session=other), said(2, "Seen.", role="assistant", session=other)]
    agent.write_text(
        "".join(json.dumps(line | {"isSidechain": True, "agentId": "a497335b28b4899ad"}) + "\n" for line in lines)
    )
    error = run("resume", other, code=2).stderr
    assert "only its subagents remain; its own transcript was deleted before it was stored here" in error
    assert "Seen." in run("show", other, "--agent", "1").stdout


def test_a_saved_stream_cannot_be_resumed(run: Run, source: Path) -> None:
    other = "33333333-cccc-4ccc-8ccc-333333333333"
    stream = [
        {
            "type": "system",
            "subtype": "init",
            "session_id": other,
            "uuid": "i1",
            "cwd": "/src",
            "claude_code_version": "2.1.0",
        },
        {
            "type": "assistant",
            "session_id": other,
            "uuid": "a1",
            "message": said(1, "Done.", role="assistant")["message"],
        },
    ]
    (source / "projects" / "-src-tide" / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in stream))
    error = run("resume", other, code=2).stderr
    assert "cannot be resumed" in error
    assert "run.jsonl" in error


def test_a_projects_directory_is_not_where_the_client_looks(tmp_path: Path, source: Path) -> None:
    from .conftest import runner

    error = runner(source / "projects", tmp_path / "store")("resume", SESSION, code=2).stderr
    assert "does not look" in error
    assert "hansard restore" in error


@needs_posix
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=3
    )
)
def test_no_word_ends_early_or_reaches_the_terminal(words: list[str]) -> None:
    line = command_line(words)
    assert line.isprintable()
    assert len(line.splitlines()) == 1
    if all(word.isprintable() for word in words):
        assert shlex.split(line) == words


@needs_posix
def test_a_shell_reads_what_was_meant() -> None:
    word = "a\x1b[31m'b\\\n$(touch x) é"
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("there is no bash")
    done = subprocess.run([shell, "-c", f"printf %s {quote(word)}"], capture_output=True, text=True, check=True)
    assert done.stdout == word
