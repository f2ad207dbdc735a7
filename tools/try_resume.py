"""Resume, hand off, free and scrub sessions with the real clients against a stub on the loopback, and print what the model would have seen.

    python tools/try_resume.py --claude PATH [--codex PATH] [--megabytes 40]

Everything happens in a scratch directory with its own homes. A session is recorded by the client itself, then made large or damaged; each
case is resumed as it is, and again through `hansard resume --slim` or `--repair`.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SESSION = "11111111-1111-4111-8111-111111111111"
PROMPTS = ["alpha run-a-tool", "beta", "gamma run-a-tool", "delta"]
_seen: list[tuple[int, dict[str, Any]]] = []  # bytes and content of requests
_numbers = itertools.count(1)


class Stub(BaseHTTPRequestHandler):
    """The Messages API and the Responses API, as far as the clients need them."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _send(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header("request-id", f"req_{next(_numbers)}")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._send(b'{"object":"list","data":[],"models":[]}')

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = json.loads(raw or b"{}")
        if "count_tokens" in self.path:
            self._send(b'{"input_tokens":100}')
            return
        _seen.append((len(raw), request))
        number = next(_numbers)
        events = _responses(number) if self.path.endswith("/responses") else _messages(request, number)
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(text.encode(), "text/event-stream")


def _messages(request: dict[str, Any], number: int) -> list[dict[str, Any]]:
    last = json.dumps(request["messages"][-3:])
    wants_tool = "run-a-tool" in last and "tool_result" not in last and not last.count("run-a-tool") > 1
    usage = {"input_tokens": 10, "output_tokens": 5}
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": f"answer {number}"}
    if wants_tool:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}
        command = {"command": "seq 1 3000", "description": "count"}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(command)}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": request.get("model", "m")}
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    stop = {"stop_reason": "tool_use" if wants_tool else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]


def _responses(number: int) -> list[dict[str, Any]]:
    content = [{"type": "output_text", "text": f"answer {number}", "annotations": []}]
    item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}
    usage = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


class Trial:
    """A scratch directory with a config directory, a project and a store."""

    def __init__(self, place: Path, options: argparse.Namespace, port: int) -> None:
        self.place, self.options, self.port = place, options, port
        self.config, self.work, self.store = place / "claude", place / "work", place / "store"
        for folder in (self.config, self.work, place / "tmp"):
            folder.mkdir()
        self.codex = place / "codex"

    def run(self, command: list[str], timeout: int = 300) -> subprocess.CompletedProcess[str]:
        """Run a program in the project, with the clients' homes and the stub."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.place),
            "TMPDIR": str(self.place / "tmp"),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CODEX_HOME": str(self.codex),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.port}",
            "ANTHROPIC_API_KEY": "stub",
            "NO_PROXY": "127.0.0.1",
            "IS_SANDBOX": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        _seen.clear()
        return subprocess.run(
            command,
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def claude(self, *words: str) -> str:
        """Run the client for one prompt; what the model saw, the time and the most memory of any client so far."""
        start = time.monotonic()
        done = self.run([self.options.claude, "-p", "--dangerously-skip-permissions", *words])
        spent = time.monotonic() - start
        if not _seen:
            return f"exit {done.returncode}: {(done.stdout + done.stderr).strip()[:90]!r}"
        size, request = _seen[-1]
        text = json.dumps(request["messages"])
        turns = [prompt.split()[0] for prompt in PROMPTS if prompt in text]
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        return f"model saw {', '.join(turns) or 'no earlier prompt'}; request {size:,} bytes, {spent:.1f} s, peak so far {peak} MiB"

    def hansard(self, *words: str) -> Any:
        done = self.run(
            [sys.executable, "-m", "hansard", *words, "--json", "--home", str(self.store), "--root", str(self.config)]
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    @property
    def transcript(self) -> Path:
        return next(self.config.glob(f"projects/*/{SESSION}.jsonl"))

    def record(self) -> None:
        """Let the client write a session of four prompts."""
        for number, prompt in enumerate(PROMPTS):
            self.claude(*(("--resume", SESSION) if number else ("--session-id", SESSION)), prompt)


def grown(data: bytes, megabytes: int) -> bytes:
    """The session with many more tool calls and pictures before its last prompt."""
    lines = data.splitlines(keepends=True)
    records = [json.loads(line) for line in lines]
    at = max(at for at, r in enumerate(records) if r["type"] == "user" and isinstance(r["message"]["content"], str))
    call = next(r for r in records if r["type"] == "assistant" and r["message"]["content"][0]["type"] == "tool_use")
    result = next(r for r in records if r["type"] == "user" and isinstance(r["message"]["content"], list))
    parent, added, size = records[at]["parentUuid"], [], 0
    picture = base64.b64encode(os.urandom(150_000)).decode()
    for number in itertools.count():
        if size > megabytes << 20:
            break
        one, two, name = str(uuid.uuid4()), str(uuid.uuid4()), f"toolu_more_{number}"
        block = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": f"cat part-{number}"}}
        content: Any = f"part {number}\n" * 2_000
        if number % 20 == 0:
            content = [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}},
            ]
        message = {**call["message"], "id": f"msg_more_{number}", "content": [block]}
        answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": content}]}
        for record in (
            {**call, "uuid": one, "parentUuid": parent, "requestId": f"req_more_{number}", "message": message},
            {**result, "uuid": two, "parentUuid": one, "message": answer, "sourceToolAssistantUUID": one},
        ):
            added.append(json.dumps(record).encode() + b"\n")
            size += len(added[-1])
        parent = two
    records[at]["parentUuid"] = parent
    lines[at] = json.dumps(records[at]).encode() + b"\n"
    return b"".join([*lines[:at], *added, *lines[at:]])


def _edited(number: int, **changes: Any) -> Callable[[bytes], bytes]:
    """Change the conversation's record with this number."""

    def edit(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        records = [json.loads(line) for line in lines]
        talk = [at for at, record in enumerate(records) if record["type"] in ("user", "assistant")]
        values = {key: records[talk[-1]]["uuid"] if value == "LAST" else value for key, value in changes.items()}
        lines[talk[number]] = json.dumps({**records[talk[number]], **values}).encode() + b"\n"
        return b"".join(lines)

    return edit


def _torn(data: bytes) -> bytes:
    """Cut the file within the last answer."""
    lines = data.splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if json.loads(line)["type"] == "assistant")
    return b"".join(lines[:last]) + lines[last][:300]


def _glued(data: bytes) -> bytes:
    """Lose the newline behind the second prompt."""
    at = data.index(b"\n", data.index(b'"content":"beta"', data.index(b'"parentUuid"')))
    return data[:at] + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "torn tail": _torn,
    "two records on one line": _glued,
    "last prompt without a parent": _edited(-2, parentUuid=None),
    "parent that does not exist": _edited(-2, parentUuid=str(uuid.uuid4())),
    "circle of parents": _edited(2, parentUuid="LAST"),
    "last record without a valid time": _edited(-1, timestamp="soon"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claude", required=True, help="the client's program")
    parser.add_argument("--codex", help="likewise")
    parser.add_argument("--megabytes", type=int, default=40, help="size of the large session")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), options, server.server_port)
        trial.record()
        intact = trial.transcript.read_bytes()
        print(f"intact: {trial.claude('--resume', SESSION, 'omega')}")
        for name, damage in DAMAGES.items():
            damaged = damage(intact)
            trial.transcript.write_bytes(damaged)
            copy = trial.hansard("resume", SESSION, "--repair", "--no-run")
            changes = {key: value for key, value in (copy["copy"] or {}).items() if value and isinstance(value, int)}
            print(f"{name}\n  before: {trial.claude('--resume', SESSION, 'omega')}")
            if copy["copy"]:
                print(f"  after:  {trial.claude('--resume', copy['copy']['session_id'], 'omega')}\n          {changes}")
        _hand_off(trial, intact)
        _free(trial, intact)
        _scrub(trial)
        trial.transcript.write_bytes(grown(intact, options.megabytes))
        copy = trial.hansard("resume", SESSION, "--slim", "--no-run")["copy"]
        changes = {key: value for key, value in copy.items() if value and isinstance(value, int)}
        print(f"large: {trial.transcript.stat().st_size:,} bytes")
        print(f"  after:  {trial.claude('--resume', copy['session_id'], 'omega')}\n          {changes}")
        print(f"  before: {trial.claude('--resume', SESSION, 'omega')}")
    server.shutdown()


def _free(trial: Trial, intact: bytes) -> None:
    """Free the client's folder, and resume what was in it: with its file gone, and brought back in each way."""
    for words in (
        ("restore", SESSION, "--to", str(trial.config), "--touch"),
        ("restore", "--all", "--to", str(trial.config), "--touch"),
        ("free", "--undo", "--yes", "--touch"),
    ):
        trial.transcript.write_bytes(intact)
        for path in trial.config.rglob("*"):
            os.utime(path, (1_700_000_000, 1_700_000_000))
        trial.hansard("sync")
        former = {path: path.read_bytes() for path in trial.config.glob("projects/**/*") if path.is_file()}
        done = trial.hansard("free", "--yes")
        print(f"freed: {done['files']} files, {len(done['left'])} left; brought back with {' '.join(words[:2])}")
        print(f"  before: {trial.claude('--resume', SESSION, 'omega')}")
        trial.hansard(*words)
        wanted = [trial.transcript] if SESSION in words else list(former)
        same = sum(path.exists() and path.read_bytes() == former[path] for path in wanted)
        print(f"  byte-identical: {same} of {len(wanted)} files")
        print(f"  after:  {trial.claude('--resume', SESSION, 'omega')}")


def _scrub(trial: Trial) -> None:
    """Scrub a session whose prompt, thought, call and result hold a token, with and without a backup, and resume it."""
    token = "ghp_" + "aB3dE5gH7j" * 3 + "0pQr1s"
    for option in ("--backup", "--no-backup"):
        name = str(uuid.uuid4())
        trial.claude("--session-id", name, f"the token is {token}: run-a-tool")
        trial.claude("--resume", name, "beta")
        transcript = next(trial.config.glob(f"projects/*/{name}.jsonl"))
        lines = transcript.read_bytes().replace(b"2998\\n2999", f"{token}\\n2999".encode()).splitlines(keepends=True)
        thought = {"type": "thinking", "thinking": f"I have {token}.", "signature": "EqoB" * 60}
        for at, line in enumerate(lines):
            record = json.loads(line)
            if record["type"] == "assistant":
                record["message"]["content"].insert(0, thought)
                lines[at] = json.dumps(record).encode() + b"\n"
        transcript.write_bytes(b"".join(lines))
        before = transcript.read_bytes()
        done = trial.hansard("secrets", "scrub", name, option, "--yes")["scrubbed"]
        after = transcript.read_bytes()
        same = [len(line) for line in before.splitlines()] == [len(line) for line in after.splitlines()]
        print(f"scrubbed {option}: {before.count(token.encode())} places, {done['files']} files, lines as long: {same}")
        said = trial.claude("--resume", name, "omega")
        seen = json.dumps([request["messages"] for _, request in _seen])
        signed = seen.count('"signature"')
        print(f"  after:  {said}")
        print(f"  token sent: {token in seen}; placeholder sent: {'[github-' in seen}; signatures sent: {signed}")


def _hand_off(trial: Trial, intact: bytes) -> None:
    trial.transcript.write_bytes(intact)
    made = trial.hansard("handoff", SESSION, "--to", "claude-code", "--yes")
    print(f"handed off to claude-code: {trial.claude('--resume', made['session_id'], 'omega')}")
    print(f"  the opening: {'hansard handoff' in json.dumps(_seen[-1][1]['messages'])}")
    if trial.options.codex is None:
        return
    trial.codex.mkdir()
    provider = f'name = "stub"\nbase_url = "http://127.0.0.1:{trial.port}/v1"\nwire_api = "responses"\n'
    config = f'model = "stub"\nmodel_provider = "stub"\n[model_providers.stub]\n{provider}'
    (trial.codex / "config.toml").write_text(config)
    made = trial.hansard("handoff", SESSION, "--to", "codex", "--yes")
    done = trial.run([trial.options.codex, "exec", "--skip-git-repo-check", "resume", made["session_id"], "omega"])
    if not _seen:
        raise SystemExit(done.stderr)
    text = json.dumps(_seen[-1][1]["input"])
    seen = [prompt.split()[0] for prompt in PROMPTS if prompt in text]
    print(f"handed off to codex: model saw {', '.join(seen)}; the opening: {'handoff' in text}")


if __name__ == "__main__":
    main()
