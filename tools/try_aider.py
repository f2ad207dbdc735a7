"""Run the real Aider against a model that is invented here, and compare what Hansard imports with what happened.

    python -m venv /tmp/aider && /tmp/aider/bin/pip install aider-chat
    python -m tools.try_aider /tmp/aider/bin/aider

Nothing leaves the machine: the client talks to a server on the loopback interface, with a home directory of its own. It runs a question,
then a prompt that writes a file; each is a run, and a session of its own. Exits with 1 if a figure differs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import hansard
from tools.try_agents import FIRST, SECOND, Model


def main() -> int:
    """Run it and print both sides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--keep", help="a directory for the client's files, which is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(options.keep or scratch).resolve()
        run(os.path.abspath(options.program), place)
        figures = read(place)
    for figure, (found, expected) in figures.items():
        more = "" if found == expected else f", expected {expected}"
        print(f"{'ok' if found == expected else 'DIFFERS':8} {figure}: {found}{more}")
    return int(any(found != expected for found, expected in figures.values()))


def run(program: str, place: Path) -> None:
    """Make the runs."""
    home, work = place / "home", place / "work"
    home.mkdir(parents=True)
    work.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(work)], check=True)  # noqa: S607
    (work / "tides.txt").write_text("high water at 17:40 in Emden\n")
    Model.spent, Model.work, Model.numbers = [], str(work), itertools.count(1)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    environ = {**os.environ, "HOME": str(home), "PWD": str(work), "OPENAI_API_BASE": address, "OPENAI_API_KEY": "x"}
    environ |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "AIDER_ANALYTICS_DISABLE": "true"}
    common = [program, "--model", "openai/stub-1", "--yes-always", "--no-auto-commits", "--no-check-update"]
    common += ["--no-show-model-warnings", "--no-stream", "--edit-format", "whole"]
    with (place / "output.txt").open("ab") as output:
        for prompt in (FIRST, SECOND):
            subprocess.run(
                [*common, "--message", prompt, "tides.txt"],
                env=environ,
                cwd=work,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=180,
                check=True,
            )
    server.shutdown()


def read(place: Path) -> dict[str, tuple[Any, Any]]:
    """What Hansard reads, and what happened."""
    history = place / "work/.aider.chat.history.md"
    with hansard.open(place / "store", ()) as h:
        (report,) = h.import_file(history)
    with hansard.open(place / "store", ()) as h:
        h.sync()
        sessions = h.sessions(limit=None).sessions
        totals = h.usage(by="total").totals
        prompts = sorted(session.first_prompt for session in sessions)
        calls = sum(session.tool_calls for session in sessions)
        changed = {item.path for session in sessions for item in h.read(session).changed_files(10)}
        issues = h.reader.one("SELECT coalesce(sum(count), 0) FROM issues")[0]
    read, cached, wrote = map(sum, zip(*Model.spent, strict=True))
    rounded = abs(totals.input_tokens + totals.cache_read_tokens - read - cached) <= 50 * len(Model.spent)
    return {
        "runs": (report.conversations, 2),
        "prompts": (prompts, sorted((FIRST, SECOND))),
        "calls": (calls, 1),
        "files changed": (changed, {"tides.txt"}),
        "tokens sent, as far as they are rounded": (rounded, True),
        "tokens received": (totals.output_tokens, wrote),
        "issues": (issues, 0),
    }


if __name__ == "__main__":
    sys.exit(main())
