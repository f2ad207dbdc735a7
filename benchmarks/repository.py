"""Blame and commits on a repository of 5,000 commits with a file of 10,000 lines, half of them written by recorded edits."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measure import Failed, cli, environment, run
from benchmarks.table import Figure

Tell = Callable[[str], None]

TITLE = "git: 5,000 commits, a file of 10,000 lines, 2,500 recorded edits in 100 sessions"
_COMMITS = 5_000
_LINES = 4  # that a commit adds to the large file
_START = 1_760_000_000
_STEP = 600  # seconds between two commits
_EDITS = 25  # of a session
_WORDS = (
    "tide gauge buoy harbour mooring sounding chart ledger channel beacon anchor pilot berth draught swell keel".split()
)


def figures(scratch: Path, runs: int, tell: Tell) -> Iterator[Figure]:
    """What each question takes, cold and warm, beside git's own blame."""
    if shutil.which("git") is None:
        raise Failed("git is not installed")
    tell("git: preparing")
    root, config, store = scratch / "git-repository", scratch / "git-claude", scratch / "git-store"
    for place in (root, config, store):
        shutil.rmtree(place, ignore_errors=True)
    make(root, config)
    env = environment(scratch / "home", HANSARD_HOME=str(store), CLAUDE_CONFIG_DIR=str(config))
    run(cli("sync"), env)
    file = str(root / "large.py")
    git = ["git", "-C", str(root), "blame", "--porcelain", "--", "large.py"]
    tell("git: blame")
    questions = {
        "blame of a file of 10,000 lines": cli("blame", file, "--json", "--no-sync"),
        "blame of ten lines of it": cli("blame", f"{file}:5000-5010", "--json", "--no-sync"),
        "blame of a commit": cli("blame", "HEAD~10", "--repository", str(root), "--json", "--no-sync"),
        "commits of 5,000": cli("commits", "--repository", str(root), "-n", "0", "--json", "--no-sync"),
        "usage by commit": cli("usage", "--by", "commit", "--json", "--no-sync"),
    }
    own = run(git, env)
    yield Figure("git's own blame of that file", (own.seconds,), "s")
    for name, command in questions.items():
        first = run(command, env)
        warm = tuple(run(command, env).seconds for _ in range(runs))
        yield Figure(f"{name}, warm", warm, "s", 2, beside=(("the first time", first.seconds),))


def make(root: Path, config: Path) -> None:
    """A repository, and the sessions that wrote every other commit of it."""
    dice = random.Random(7)
    large: list[str] = []
    others = [[_line(dice) for _ in range(40)] for _ in range(100)]
    sessions: dict[int, list[dict[str, Any]]] = {}
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    with subprocess.Popen(
        ["git", "-C", str(root), "fast-import", "--quiet", "--date-format=raw"], stdin=subprocess.PIPE
    ) as process:
        pipe = process.stdin
        if pipe is None:
            raise Failed("git fast-import has no input")
        for number in range(_COMMITS):
            at = _START + number * _STEP
            before: list[str]
            if number % 2 == 0:
                name, before = "large.py", list(large)
                place = dice.randrange(len(large) + 1)
                large[place:place] = [_line(dice) for _ in range(_LINES)]
                after = large
            else:
                other = dice.randrange(len(others))
                name, before = f"part/{other}.py", list(others[other])
                place = dice.randrange(len(before))
                others[other][place : place + 1] = [_line(dice), _line(dice)]
                after = others[other]
            if number % 4 < 2:
                session = number // (2 * _EDITS)
                sessions.setdefault(session, []).append(_edit(root / name, before, after, place, at - 60))
            body = ("\n".join(after) + "\n").encode()
            pipe.write(
                f"commit refs/heads/main\ncommitter Mira <mira@example.invalid> {at} +0000\ndata {len(f'Commit {number}')}\nCommit {number}\n"
                f"M 100644 inline {name}\ndata {len(body)}\n".encode()
                + body
                + b"\n"
            )
    subprocess.run(["git", "-C", str(root), "reset", "-q", "--hard", "main"], check=True)
    folder = config / "projects" / "".join(letter if letter.isalnum() else "-" for letter in str(root))
    folder.mkdir(parents=True)
    for session, edits in sessions.items():
        _write_session(folder, str(root), session, edits)


def _line(dice: random.Random) -> str:
    first, second, third = dice.sample(_WORDS, 3)
    return f"{first}_{second} = read_{third}({first}, {dice.randrange(10_000)})"


def _edit(path: Path, before: list[str], after: list[str], place: int, at: int) -> dict[str, Any]:
    added = len(after) - len(before) + (0 if len(after) - len(before) == _LINES else 1)
    low, high = max(0, place - 3), min(len(after), place + added + 3)
    lines = [f"{'+' if place <= number < place + added else ' '}{after[number]}" for number in range(low, high)]
    return {"path": str(path), "at": at, "new": after[place : place + added], "lines": lines, "start": low + 1}


def _write_session(folder: Path, cwd: str, number: int, edits: list[dict[str, Any]]) -> None:
    session_id = str(uuid.UUID(int=number + 1))
    lines: list[dict[str, Any]] = []

    def add(kind: str, at: float, **more: Any) -> None:
        stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        common = {"isSidechain": False, "cwd": cwd, "sessionId": session_id, "version": "2.1.200", "gitBranch": "main"}
        parent = lines[-1]["uuid"] if lines else None
        place = str(uuid.UUID(int=(number + 1) << 64 | len(lines) + 1))
        lines.append({"parentUuid": parent, **common, "type": kind, "uuid": place, "timestamp": stamp, **more})

    for count, edit in enumerate(edits):
        if count % 5 == 0:
            add("user", edit["at"] - 60, message={"role": "user", "content": f"Please change part {count} of {number}"})
        call = f"toolu_{number:06}{count:06}"
        asked = {"file_path": edit["path"], "old_string": "", "new_string": "\n".join(edit["new"])}
        usage = {"input_tokens": 10, "output_tokens": 200, "cache_read_input_tokens": 20_000}
        content = [{"type": "tool_use", "id": call, "name": "Edit", "input": asked}]
        message = {"id": f"msg_{number:06}{count:06}", "role": "assistant", "model": "claude-opus-4-5-20251101"}
        add("assistant", edit["at"], message={**message, "content": content, "stop_reason": "tool_use", "usage": usage})
        patch = [{"oldStart": edit["start"], "oldLines": 6, "newStart": edit["start"], "lines": edit["lines"]}]
        result = [{"type": "tool_result", "tool_use_id": call, "content": "The file was updated."}]
        twin = {"filePath": edit["path"], "structuredPatch": patch}
        add("user", edit["at"] + 1, message={"role": "user", "content": result}, toolUseResult=twin)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    place = folder / f"{session_id}.jsonl"
    place.write_text(text, encoding="utf-8")
    os.utime(place, (edits[-1]["at"], edits[-1]["at"]))
