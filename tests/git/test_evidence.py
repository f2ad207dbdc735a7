"""Other evidence than edits: shell commands, notebooks, subagents, marks of other tools; and repositories that mean harm."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard as command
from hansard.engine import Hansard
from hansard.errors import NotFound
from hansard.git import repository as repositories
from hansard.git.attribution import read_note, read_trace
from hansard.git.repository import GitFailed, Repository
from hansard.git.shell import made_commits, read_command
from tests.demo_history.tools import bash, notebook_edit
from tests.git.making import Workshop
from tests.git.test_blame import PARSER


def certainties(h: Hansard, shop: Workshop, path: str) -> list[str]:
    return [line.certainty for line in h.blame(str(shop.root / path)).lines]


def test_commands_tell_what_they_write() -> None:
    read = read_command(
        "cd sub && cat > 'a b.txt' <<'EOF'\none\ntwo\nEOF\nsed -i s/a/b/ ../main.py\ngit commit -qam x", "/repo"
    )
    assert read.writes == [("/repo/sub/a b.txt", ["one", "two"])]
    assert "/repo/main.py" in read.edited
    assert read.commits
    assert read_command("echo 'hello' >> notes.txt", "/repo").writes == [("/repo/notes.txt", ["hello"])]
    assert read_command("ls -la; git log", "/repo") == ([], [], [], "", False, [], [])
    assert read_command("cat <<EOF", "/repo").writes == []
    read = read_command("cat a.py 2>/dev/null | sort > b.txt; cp a.py /tmp && black c.py | tee log.txt", "/repo")
    assert (read.writes, read.outputs, read.edited) == ([], ["/repo/b.txt", "/repo/log.txt"], [])
    assert made_commits("[main 1a2b3c4] Add tides\n 1 file\n[x (root-commit) 99aabbc] y") == [
        ("1a2b3c4", "Add tides"),
        ("99aabbc", "y"),
    ]


@pytest.mark.parametrize(
    ("command", "writes", "outputs"),
    [
        ("git commit -m 'x > y'", {}, []),
        ("git commit -m \"$(cat <<'EOF'\na -> b > c\nEOF\n)\" 2>/dev/null", {}, []),
        ("cd a; cd b; echo z > c", {}, ["/p/a/b/c"]),
        ("(cd sub && echo 1 > f); echo 2 > g", {}, ["/p/sub/f", "/p/g"]),
        ("cd sub | true; ls > g", {}, ["/p/g"]),
        ("ls | while read f; do cd d; ls > f; done; ls > g", {}, ["/p/d/f", "/p/g"]),
        ('cd "$(mktemp -d)" && ls > f; ls > /p/g', {}, ["/p/g"]),
        ("mkdir -p d && echo 'one' > d/f && echo 'two' >> d/g", {"/p/d/f": ["one"], "/p/d/g": ["two"]}, []),
        ("cat > f <<A && cat > g <<B\n1\nA\n2\n3\nB\n", {"/p/f": ["1"], "/p/g": ["2", "3"]}, []),
        ("cat <<'E' | sudo tee f >/dev/null\n1\nE", {"/p/f": ["1"]}, []),
        ("python3 - > out <<'E'\nprint(1 > 2)\nE", {}, ["/p/out"]),
        ("cat > s.sh <<'E'\necho 'in' > t\nE\nbash s.sh", {"/p/s.sh": ["echo 'in' > t"]}, ["/p/t"]),
        ("docker exec box sh -c 'ls > /p/f'; ssh host 'ls > /p/g'", {}, []),
    ],
)
def test_what_commands_write_where(command: str, writes: dict[str, list[str]], outputs: list[str]) -> None:
    read = read_command(command, "/p")
    assert (dict(read.writes), read.outputs) == (writes, outputs)


def test_folders_of_worktrees_and_edits() -> None:
    read = read_command("cd /w && git -C repo worktree add -b topic ../topic; sed -i s/a/b/ x.py", "/p")
    assert (read.worktrees, read.edited) == (["/w/topic"], ["/w/s/a/b", "/w/x.py"])
    assert [item.path for item in read.substitutions] == ["/w/x.py"]


def test_here_documents_are_edits(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write it with the shell")
    shop.type("tide.py", PARSER)
    shop.call(writer, bash(f"cat > tide.py <<'EOF'\n{PARSER}EOF"))
    shop.commit("Shell")
    shop.save()
    h.sync()
    assert certainties(h, shop, "tide.py") == ["exact"] * 7


def test_a_time_window_is_told_as_such(shop: Workshop, h: Hansard) -> None:
    shop.type("tide.py", PARSER)
    shop.commit("By hand")
    writer = shop.session("Rename it")
    shop.type("tide.py", PARSER.replace("left", "first"))
    shop.call(writer, bash("sed -i s/left/first/ tide.py"))
    shop.commit_by(writer, "Rename")
    shop.save()
    h.sync()
    assert certainties(h, shop, "tide.py") == ["unknown"] * 5 + ["window"] * 2


@pytest.mark.parametrize(
    "line",
    ["cat tide.py > /tmp/seen", "cp tide.py /tmp; git stash; git stash pop", "black tide.py", "cat x > lib/tide.py"],
)
def test_a_command_that_only_names_a_file_has_not_written_it(line: str, shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Look at it")
    shop.type("tide.py", PARSER)
    shop.call(writer, bash(line))
    shop.commit_by(writer, "By hand")
    shop.save()
    h.sync()
    assert certainties(h, shop, "tide.py") == ["unknown"] * 7


def test_the_output_of_a_program_is_in_the_window(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Generate it")
    shop.type("tide.py", PARSER)
    shop.call(writer, bash("python make_parser.py > tide.py"))
    shop.commit_by(writer, "Generate")
    shop.save()
    h.sync()
    assert certainties(h, shop, "tide.py") == ["window", *["unknown"] * 2, *["window"] * 4]


def test_a_script_has_written_only_what_it_contains(shop: Workshop, h: Hansard) -> None:
    shop.type("tide.py", PARSER)
    shop.commit("By hand")
    writer = shop.session("Use a script")
    shop.type("tide.py", PARSER.replace("import os", "import sys\nimport collections").replace("tide table", "table"))
    script = "text = open('tide.py').read()\nopen('tide.py', 'w').write(text.replace('import os', 'import sys'))"
    shop.call(writer, bash(f"python - <<'EOF'\n{script}\nEOF"))
    shop.commit_by(writer, "Both")
    shop.save()
    h.sync()
    found = h.blame(str(shop.root / "tide.py")).lines
    assert [line.text for line in found if line.certainty == "window"] == ["import sys"]


def test_a_substitution_has_written_only_lines_that_it_changed(shop: Workshop, h: Hansard) -> None:
    shop.type("tide.py", PARSER)
    shop.commit("By hand")
    writer = shop.session("Rename it")
    own = "\n\ndef begin(first):\n    return first.upper()\n"
    shop.type("tide.py", PARSER.replace("left", "first") + own)
    shop.call(writer, bash("sed -i s/left/first/ tide.py"))
    shop.commit_by(writer, "Rename")
    shop.save()
    h.sync()
    assert certainties(h, shop, "tide.py") == ["unknown"] * 5 + ["window"] * 2 + ["unknown"] * 4


def test_cells_of_notebooks(shop: Workshop, h: Hansard) -> None:
    def notebook(source: str) -> str:
        cell: dict[str, object] = {
            "cell_type": "code",
            "execution_count": None,
            "id": "c1",
            "metadata": {},
            "outputs": [],
            "source": source,
        }
        return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)

    shop.type("tide.ipynb", notebook("1"))
    shop.commit("By hand")
    writer = shop.session("Plot the tides")
    shop.type("tide.ipynb", notebook("plot_the_tides(of_a_day)"))
    shop.call(writer, notebook_edit(str(shop.root / "tide.ipynb"), "c1", "1", "plot_the_tides(of_a_day)"))
    shop.commit("Plot")
    shop.save()
    h.sync()
    lines = h.blame(str(shop.root / "tide.ipynb")).lines
    assert [line.text.strip() for line in lines if line.certainty == "exact"] == [
        '"source": "plot_the_tides(of_a_day)"'
    ]


def test_edits_of_subagents_belong_to_the_turn_that_started_them(shop: Workshop, h: Hansard) -> None:
    from tests.demo_history.tools import write

    writer = shop.session("First turn")
    writer.reply("Yes.")
    writer.prompt("Let an agent write it")
    shop.type("tide.py", PARSER)
    with writer.agent("Write", "Write the parser.", kind="general-purpose") as helper:
        helper.tool(write(str(shop.root / "tide.py"), PARSER))
        helper.reply("Done.")
    shop.now = max(shop.now, writer.page.clock.now)
    shop.commit("By an agent")
    shop.save()
    h.sync()
    (edit,) = h.blame(str(shop.root / "tide.py")).edits
    assert edit.agent_id
    assert (edit.turn, edit.prompt) == (2, "Let an agent write it")


# -- marks


def test_marks_of_other_tools_are_evidence(shop: Workshop, h: Hansard) -> None:
    shop.type("tide.py", PARSER)
    commit = shop.commit(
        "Work\n\nClaude-Session: https://claude.ai/code/session_1\nCo-Authored-By: Claude <noreply@anthropic.com>\nCo-Authored-By: Ada <ada@example.invalid>"
    )
    about = {"sessions": {"s_0123456789abcd": {"agent_id": {"tool": "cursor", "id": "c-1", "model": "m"}}}}
    note = f"tide.py\n  s_0123456789abcd::t_0123456789abcd 4-5\n  h_0123456789abcd 6\n---\n{json.dumps(about)}"
    shop.git("notes", "--ref=ai", "add", "-m", note, commit)
    shop.session("Nothing").reply("Yes.")
    shop.save()
    h.sync()
    report = h.blame(str(shop.root / "tide.py"))
    assert [line.number for line in report.lines if line.certainty == "marked"] == [4, 5]
    mark = report.lines[3].mark
    assert mark is not None
    assert (mark.source, mark.tool, mark.value) == ("git-ai", "cursor", "c-1")
    assert [(mark.source, mark.value) for mark in report.commits[0].marks] == [
        ("Claude-Session", "https://claude.ai/code/session_1"),
        ("Co-Authored-By", "Claude <noreply@anthropic.com>"),
    ]


def test_marks_that_make_no_sense_are_nothing() -> None:
    for text in ("", "a\n  b", "a\n  b x-y\n---\n[]", "a\n  s 1-2\n---\n" + "[" * 5000, "\0\n  \0 1"):
        assert all(mark.lines for mark in read_note(text, "c"))
    for line in (
        b"",
        b"{",
        b"[]",
        b'{"files": 1}',
        b'{"vcs": {"revision": "c"}, "files": [{"path": "a", "conversations": [{"ranges": [{"start_line": "x"}]}]}]}',
    ):
        assert read_trace(line) == []
    trace = {
        "vcs": {"revision": "c"},
        "tool": {"name": "t"},
        "files": [
            {
                "path": "a",
                "conversations": [
                    {"contributor": {"type": "ai", "model_id": "m"}, "ranges": [{"start_line": 1, "end_line": 2}]}
                ],
            }
        ],
    }
    (mark,) = read_trace(json.dumps(trace).encode())
    assert (mark.path, mark.lines, mark.model) == ("a", ((1, 2),), "m")


# -- repositories that mean harm


def test_nothing_that_a_repository_names_is_run(shop: Workshop, h: Hansard) -> None:
    trap = shop.folder / "trap"
    script = shop.folder / "trap.sh"
    script.write_text(f"#!/bin/sh\ntouch '{trap}'\ncat\n")
    script.chmod(0o755)
    writer = shop.session("Write a parser for tide tables")
    shop.write(writer, "tide.py", PARSER)
    shop.type(".gitattributes", "*.py filter=trap diff=trap\n")
    shop.commit("Parse")
    for name in (
        "core.fsmonitor",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "filter.trap.clean",
        "filter.trap.smudge",
        "core.pager",
        "core.sshCommand",
        "gpg.program",
    ):
        shop.git("config", name, str(script))
    shop.git("config", "filter.trap.required", "true")
    shop.git("config", "log.showSignature", "true")
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        place = shop.root / ".git" / "hooks" / hook
        place.parent.mkdir(exist_ok=True)
        place.write_text(script.read_text())
        place.chmod(0o755)
    (shop.root / "tide.py").write_text(PARSER + "# more\n")
    shop.save()
    h.sync()
    trap.unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in shop.root.rglob("*") if path.is_file()}
    assert len(h.blame(str(shop.root / "tide.py")).lines) == 8
    h.blame(str(shop.root / "tide.py"), rev="HEAD")
    h.blame_commit("HEAD", str(shop.root))
    h.commits(repository=str(shop.root))
    assert not trap.exists()
    assert {path: path.stat().st_mtime_ns for path in shop.root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", [b"plain", b"a=b", b"caf\xe9", b"a.b=c.clean"])
def test_no_filter_is_run_whatever_its_name(name: bytes, shop: Workshop, h: Hansard) -> None:
    trap = shop.folder / "trap"
    shop.session("Read it")
    shop.save()
    h.sync()
    shop.type("tide.py", PARSER)
    shop.commit("Parse")
    (shop.root / ".git" / "info").mkdir(exist_ok=True)
    (shop.root / ".git" / "info" / "attributes").write_bytes(b"*.py filter=" + name + b"\n")
    with (shop.root / ".git" / "config").open("ab") as config:
        config.write(b'[filter "' + name + f'"]\n\tclean = touch {trap}; cat\n\trequired = true\n'.encode())
    (shop.root / "tide.py").write_text(PARSER + "# more\n")
    shop.git("hash-object", "tide.py")
    assert trap.exists()
    trap.unlink()
    assert len(h.blame(str(shop.root / "tide.py")).lines) == 8
    assert not trap.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_in_the_place_of_files_are_not_waited_for(shop: Workshop, h: Hansard) -> None:
    shop.session("Read it")
    shop.save()
    h.sync()
    shop.type("tide.py", PARSER)
    shop.commit("Parse")
    (shop.root / ".agent-trace").mkdir()
    os.mkfifo(shop.root / ".agent-trace" / "traces.jsonl")
    assert len(h.blame(str(shop.root / "tide.py")).lines) == 7
    (shop.root / "tide.py").unlink()
    os.mkfifo(shop.root / "tide.py")
    with pytest.raises(NotFound, match="not a regular file"):
        h.blame(str(shop.root / "tide.py"))


def test_git_that_does_not_answer_is_stopped(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    program.chmod(0o755)
    monkeypatch.setattr(repositories, "_program", lambda: str(program))
    monkeypatch.setattr(repositories, "_TIMEOUT", 0.01)
    with pytest.raises(GitFailed, match="git rev-parse: stopped"):
        Repository(str(shop.root)).log()
    monkeypatch.setattr(repositories, "_LONG_TIMEOUT", 0.01)
    with pytest.raises(GitFailed, match="git diff-tree: stopped"):
        list(Repository(str(shop.root)).patches(["0" * 40]))


def test_the_commits_that_are_read_are_told(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write a parser for tide tables")
    shop.write(writer, "tide.py", PARSER)
    for subject in ("One", "Two", "Three"):
        shop.type("notes.txt", subject)
        shop.commit(subject)
    shop.save()
    h.sync()
    told: list[tuple[int, int]] = []
    h.commits(repository=str(shop.root), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    told.clear()
    h.commits(repository=str(shop.root), progress=lambda done, total: told.append((done, total)))
    assert told == []


@pytest.mark.skipif(os.name == "nt", reason="Windows does not delete a current directory")
@pytest.mark.parametrize("words", ["commits", "git notes", "git hook status", "blame HEAD", "blame tide.py", "mcp"])
def test_a_current_directory_that_is_gone_is_told(
    words: str, shop: Workshop, h: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.session("Read it")
    shop.save()
    h.sync()
    gone = shop.folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    gone.rmdir()
    place = ["--home", str(shop.folder / "store"), "--root", str(shop.config)]
    done = CliRunner().invoke(command, [*words.split(), *place])
    assert (done.exit_code, done.output) == (3, "hansard: the current directory no longer exists\n")


def test_odd_names_and_contents(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Odd files")
    for name in ("-rf.py", "a b.py", 'quo"te.py', "ümläut.py", "line\x1b[31m.py"):
        shop.write(writer, name, PARSER.replace("tide", f"tide {len(name)} of {name[0]}"))
    (shop.root / "binary.bin").write_bytes(b"\0\1\2" * 100)
    (shop.root / "latin.txt").write_bytes(b"caf\xe9\n")
    shop.commit("Odd\x1b[2J")
    shop.save()
    h.sync()
    for name in ("-rf.py", "a b.py", 'quo"te.py', "ümläut.py", "line\x1b[31m.py"):
        assert set(certainties(h, shop, name)) == {"exact"}, name
    assert certainties(h, shop, "latin.txt") == ["unknown"]
    report = h.blame_commit("HEAD", str(shop.root))
    assert report.skipped == ("binary.bin",)
    assert {file.path for file in report.files} >= {"-rf.py", "a b.py", 'quo"te.py', "ümläut.py"}
    assert {line.certainty for file in report.files if file.path.endswith(".py") for line in file.lines} == {"exact"}


def test_what_is_not_there_is_told(shop: Workshop, h: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.type("tide.py", PARSER)
    shop.commit("By hand")
    shop.session("Nothing").reply("Yes.")
    shop.save()
    h.sync()
    for name in ("--output=x", "nothing", "HEAD~99", ""):
        with pytest.raises(NotFound):
            h.blame_commit(name, str(shop.root))
    with pytest.raises(NotFound, match="not in a git repository"):
        h.blame(str(tmp_path / "claude" / "none.py"))
    with pytest.raises(NotFound):
        h.blame(str(shop.root / "none.py"))
    monkeypatch.setenv("PATH", os.devnull)
    repositories._program.cache_clear()
    try:
        with pytest.raises(GitFailed, match="git is not installed"):
            Repository.find(str(shop.root))
    finally:
        repositories._program.cache_clear()


def test_a_session_page_lists_its_commits_and_the_other_sessions_in_them(shop: Workshop, h: Hansard) -> None:
    from hansard.web.responses import page

    first, second = shop.session("Write a parser for tide tables"), shop.session("Count the tides of a day")
    shop.write(first, "tide.py", PARSER)
    shop.edit(second, "tide.py", "import os\n", "import os\nimport collections as tides_of_a_day\n")
    commit = shop.commit_by(first, "Parse tide tables")
    shop.save()
    h.sync()
    drawn = page(
        "session_related.html", related=[], commits=h.commits(first.session_id).commits, session_id=first.session_id
    )
    assert commit[:8] in drawn
    assert "7 of 8 lines by this session, which made the commit" in drawn
    assert f'href="/sessions/{second.session_id}"' in drawn
