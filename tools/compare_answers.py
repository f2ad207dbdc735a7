"""Compare what two checkouts of Hansard answer about the same history: `compare_answers.py OLD NEW ROOT`.

Each checkout has its own `.venv` and makes its own store. Answers are compared as JSON or to the byte; keys that tell when
something was asked, and those given with --new-key, are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

COMMANDS = """
sessions --all --limit 1000 --json
sessions
usage --json
usage --by model --json
usage
tools --json
files --json
prompts --limit 500 --json
projects --json
recover --json
status --json
search --json --limit 50 error
search --json --limit 50 tool:Bash git
search test OR fix
"""
WHEN_ASKED = {"next_cursor", "last_sync", "text_bytes", "took_ms"}
SHOWN = 25  # sessions


def main() -> None:
    """Print what differs, and how much was compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("--new-key", action="append", default=[])
    given = parser.parse_args()
    ignored = WHEN_ASKED | set(given.new_key)
    with tempfile.TemporaryDirectory() as scratch:

        def ask(tree: Path, *words: str) -> str:
            home = Path(scratch, "old" if tree == given.old else "new")
            command = [tree / ".venv/bin/python", "-m", "hansard", "--home", home, "--root", given.root, *words]
            env = {**os.environ, "HOME": scratch, "NO_COLOR": "1", "COLUMNS": "120", "TZ": "UTC"}
            answer = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
            return f"{answer.stdout}{answer.stderr if answer.returncode else ''}".replace(str(home), "")

        for tree in (given.old, given.new):
            ask(tree, "sync")
        listed = json.loads(ask(given.new, "--no-sync", *COMMANDS.split("\n")[1].split()))["sessions"]
        ids = [session["session_id"] for session in listed]
        commands = [line.split() for line in COMMANDS.strip().split("\n")]
        for session in ids[:: max(1, len(ids) // SHOWN)]:
            commands += [["show", session], ["show", session, "--json"], ["show", session, "--tools", "--thinking"]]
        different = 0
        for words in commands:
            answers = [ask(tree, "--no-sync", *words) for tree in (given.old, given.new)]
            if all(answer.startswith("{") for answer in answers):
                answers = [json.dumps(_without(json.loads(answer), ignored)) for answer in answers]
            if answers[0] != answers[1]:
                different += 1
                print("different:", *words)
    print(f"{len(commands)} answers compared, {different} different")


def _without(value: Any, keys: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
