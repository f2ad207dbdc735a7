"""Run the real Codex against a model that is invented here, and compare what Hansard reads with what happened.

    npm install --prefix /tmp/codex @openai/codex
    python tools/try_codex.py /tmp/codex/node_modules/.bin/codex

Nothing leaves the machine: the client talks to a server on the loopback interface, with a home directory of its own. It runs a
prompt with a shell command and a patch, resumes the thread, forks it, starts a subagent, and compacts a thread. Exits with 1 if a figure differs.
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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import hansard

PATCH = """apply_patch <<'EOF'
*** Begin Patch
*** Add File: tides.txt
+low water at 05:12 in Emden
*** End Patch
EOF"""
CONFIG = """
model = "stub-1"
model_provider = "stub"
[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
"""


class Model(BaseHTTPRequestHandler):
    """Answers with one call for each prompt, then with a sentence; notes the tokens that it states."""

    protocol_version = "HTTP/1.1"
    numbers = itertools.count(1)
    spent: ClassVar[list[tuple[int, int, int]]] = []

    def log_message(self, *given: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(b'{"object":"list","data":[],"models":[]}', "application/json")

    def do_POST(self) -> None:
        asked = json.loads(self._body() or b"{}")
        given = asked.get("input") or [{}]
        number, last = next(self.numbers), given[-1]
        text = json.dumps(last)
        item: dict[str, Any] = {"type": "message", "role": "assistant", "id": f"msg_{number}", "status": "completed"}
        item |= {"content": [{"type": "output_text", "text": f"Answer {number}.", "annotations": []}]}
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        if not str(last.get("type", "")).endswith("_output"):
            if "run something" in text:
                item = {**call, "name": "exec_command", "arguments": json.dumps({"cmd": "echo tide"})}
            elif "write something" in text:
                item = {**call, "name": "exec_command", "arguments": json.dumps({"cmd": PATCH})}
            elif "start a helper" in text:
                task = {"message": "Count the gulls", "fork_context": True}
                item = {**call, "name": "spawn_agent", "namespace": "multi_agent_v1", "arguments": json.dumps(task)}
        read, cached, wrote = 1000 + 10 * number, 900, 50 + number
        self.spent.append((read - cached, cached, wrote))
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": wrote,
            "output_tokens_details": {"reasoning_tokens": 20},
            "total_tokens": read + wrote,
        }
        answer = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item], "usage": usage}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**answer, "status": "in_progress", "output": [], "usage": None}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": answer},
        ]
        sent = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(sent.encode(), "text/event-stream")

    def _body(self) -> bytes:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "zstd":
            from zstandard import ZstdDecompressor

            return ZstdDecompressor().decompressobj().decompress(body)
        return body

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> int:
    """Run the scenario and print both sides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("codex")
    parser.add_argument("--keep", help="a directory for the client's files, which is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        return _try(os.path.abspath(options.codex), Path(options.keep or scratch).resolve())


def _try(codex: str, place: Path) -> int:
    home, work = place / ".codex", place / "work"
    for folder in (home, work):
        folder.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (home / "config.toml").write_text(CONFIG.format(port=server.server_address[1]))
    environ = {**os.environ, "HOME": str(place), "CODEX_HOME": str(home), "NO_PROXY": "127.0.0.1"}

    def run(*given: str) -> None:
        common = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        subprocess.run(
            [codex, "exec", *common, *given], env=environ, cwd=work, stdin=subprocess.DEVNULL, check=True, timeout=120,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def newest() -> str:
        return max(home.rglob("rollout-*.jsonl"), key=lambda path: path.stat().st_mtime_ns).stem[-36:]

    run("Please run something")
    first = newest()
    run("resume", first, "Please write something")
    run("fork", first, "A fork of it")
    run("Please start a helper")
    run("A long thread")
    run("-c", "model_auto_compact_token_limit=500", "resume", newest(), "and on")
    server.shutdown()
    with hansard.open(place / "store", [home]) as h:
        h.sync()
        totals = h.usage(by="total").totals
        session = h.session(first)
        changed = {item.path for item in h.read(first).changed_files(10)}
        agents = h.reader.one("SELECT count(*) FROM agents")[0]
        forks = h.reader.one("SELECT count(*) FROM links WHERE relation = 'branch'")[0]
        compactions = h.reader.one("SELECT count(*) FROM compactions")[0]
        issues = h.reader.one("SELECT coalesce(sum(count), 0) FROM issues")[0]
        sessions = h.sessions(limit=None).sessions
    read = (totals.input_tokens, totals.cache_read_tokens, totals.output_tokens)
    figures = {
        "sessions": (len(sessions), 4),
        "prompts": (sum(item.prompts for item in sessions), 6),
        "prompts of the first": (session.prompts, 2),
        "calls of the first": (session.tool_calls, 2),
        "files changed": (changed, {str(work / "tides.txt")}),
        "subagents": (agents, 1),
        "forks": (forks, 1),
        "compactions": (compactions, 1),
        "issues": (issues, 0),
        "tokens": (read, tuple(map(sum, zip(*Model.spent, strict=True)))),
    }
    for name, (found, expected) in figures.items():
        print(
            f"{'ok' if found == expected else 'DIFFERS':8} {name}: {found}"
            + ("" if found == expected else f", expected {expected}")
        )
    return int(any(found != expected for found, expected in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
