"""Run the real OpenCode against a model that is invented here, and compare what Hansard reads with what happened.

    npm install --prefix /tmp/agents opencode-ai
    python -m tools.try_opencode /tmp/agents/node_modules/.bin/opencode

Nothing leaves the machine: the client talks to a server on the loopback interface, with a home directory of its own. It runs a prompt
with a shell command, goes on with one that writes a file and one that starts a subagent, compacts the session, and forks it. Exits with
1 if a figure differs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import hansard
from tools.try_agents import FIRST, SECOND, Model

HELPER = "Please start a helper"
FORKED = "Please go on elsewhere"
_TRIES = 100


def main() -> int:
    """Run it and print both sides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--keep", help="a directory for the client's files, which is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(options.keep or scratch).resolve()
        session = run(os.path.abspath(options.program), place)
        figures = read(place, session)
    for figure, (found, expected) in figures.items():
        more = "" if found == expected else f", expected {expected}"
        print(f"{'ok' if found == expected else 'DIFFERS':8} {figure}: {found}{more}")
    return int(any(found != expected for found, expected in figures.values()))


def run(program: str, place: Path) -> str:
    """Make the sessions; returns the id of the first."""
    home, work = place / "home", place / "work"
    (home / ".config/opencode").mkdir(parents=True)
    work.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(work)], check=True)  # noqa: S607
    Model.spent, Model.work, Model.numbers = [], str(work), itertools.count(1)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"http://127.0.0.1:{server.server_address[1]}/v1", "apiKey": "x"},
        "models": {"stub-1": {"limit": {"context": 100_000, "output": 8_000}}},
    }
    config = {"provider": {"stub": provider}, "model": "stub/stub-1", "small_model": "stub/stub-1", "autoupdate": False}
    (home / ".config/opencode/opencode.json").write_text(json.dumps(config))
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "OPENCODE"))}
    environ |= {"HOME": str(home), "PWD": str(work), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with (place / "output.txt").open("ab") as output:
        given: dict[str, Any] = {
            "env": environ,
            "cwd": work,
            "stdin": subprocess.DEVNULL,
            "stdout": output,
            "stderr": output,
        }
        common = [program, "run", "--auto"]
        for more in ([FIRST], ["--continue", SECOND], ["--continue", HELPER]):
            subprocess.run([*common, *more], check=True, timeout=180, **given)
        session = compact(program, given)
        subprocess.run([*common, "--session", session, "--fork", FORKED], check=True, timeout=180, **given)
    server.shutdown()
    return session


def compact(program: str, given: Mapping[str, Any]) -> str:
    """Summarize the session that was not started by a call, through the client's own server; returns its id."""
    port = 40_000 + os.getpid() % 20_000
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([program, "serve", "--port", str(port), "--hostname", "127.0.0.1"], **given)
    try:
        sessions = _when_it_listens(f"{address}/session")
        (session,) = [one["id"] for one in sessions if not one.get("parentID")]
        _ask(f"{address}/session/{session}/summarize", {"providerID": "stub", "modelID": "stub-1"})
    finally:
        process.terminate()
        process.wait(20)
    return str(session)


def _when_it_listens(address: str) -> Any:
    for _ in range(_TRIES - 1):
        try:
            return _ask(address)
        except OSError:
            time.sleep(0.2)
    return _ask(address)


def _ask(address: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"content-type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
        return json.loads(answer.read() or b"null")


def read(place: Path, first: str) -> dict[str, tuple[Any, Any]]:
    """What Hansard reads, and what happened."""
    work = place / "work"
    with hansard.open(place / "store", [place / "home/.local/share/opencode"]) as h:
        h.sync()
        sessions = {session.session_id: session for session in h.sessions(limit=None).sessions}
        session = sessions.pop(first)
        (fork,) = sessions.values()
        totals = h.usage(by="total").totals
        changed = {item.path for item in h.read(first).changed_files(10)}
        links = [(link.source, link.relation) for link in h.links(fork.session_id)]
        prompts = [entry.text.strip('"\n ') for entry in h.read(first).entries() if entry.kind == "prompt"]
        compactions = [entry for entry in h.read(first).entries() if entry.kind == "compaction"]
        agents = [(agent.agent_type, agent.tool_use_id is not None) for agent in h.agents(first)]
        unknown = [(item.kind, item.field) for item in h.drift()]
        issues = h.reader.one("SELECT coalesce(sum(count), 0) FROM issues")[0]
        left_out = [item.path for item in h.status().left_out]
        used = (totals.input_tokens, totals.cache_read_tokens, totals.output_tokens)
        of_fork = fork.api_messages
    return {
        "prompts": (prompts, [FIRST, SECOND, HELPER]),
        "failed calls": (session.tool_errors, 0),
        "files changed": (changed, {str(work / "tides.txt")}),
        "subagents": (agents, [("general", True)]),
        "compactions": (len(compactions), 1),
        "fork": (links, [(first, "fork")]),
        "answers of the fork": (of_fork, 1),
        "working directory": (session.cwd, str(work)),
        "tokens": (used, tuple(map(sum, zip(*Model.spent, strict=True)))),
        "issues, unknown, not read": ((issues, unknown, left_out), (0, [], [])),
    }


if __name__ == "__main__":
    sys.exit(main())
