"""Run real Gemini CLI, Qwen Code and Copilot CLI against a model that is invented here, and compare what Hansard reads with what happened.

    npm install --prefix /tmp/agents @google/gemini-cli @github/copilot @qwen-code/qwen-code@0.15.10
    python tools/try_agents.py /tmp/agents/node_modules/.bin

Nothing leaves the machine: each client talks to a server on the loopback interface, with a home directory of its own. It runs a prompt
with a shell command, then resumes the session with one that writes a file. Exits with 1 if a figure differs.
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
from typing import Any

import hansard

CONTENT = "low water at 05:12 in Emden\n"


class Model(BaseHTTPRequestHandler):
    """Answers with one call for each prompt that asks for one, then with a sentence; notes the tokens that it states."""

    protocol_version = "HTTP/1.1"
    numbers = itertools.count(1)
    spent: list[tuple[int, int, int]] = []  # noqa: RUF012 - one for each run
    work = ""

    def log_message(self, *given: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(
            json.dumps({"object": "list", "data": [{"id": "stub-1", "object": "model"}]}).encode(), "application/json"
        )

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if "countTokens" in self.path:
            self._send(b'{"totalTokens": 10}', "application/json")
        elif "enerateContent" in self.path:
            self._gemini(asked)
        else:
            self._chat(asked)

    def _call(self, tools: list[str], asked: str) -> tuple[str, dict[str, Any]] | None:
        """The call that a prompt asks for, in the words of the client."""
        shell = next((tool for tool in tools if tool in ("bash", "run_shell_command")), "")
        if "run something" in asked and shell:
            return shell, {"command": "echo tide", "description": "say it"}
        path = os.path.join(self.work, "tides.txt")
        if "write something" in asked:
            if "write_file" in tools:
                return "write_file", {"file_path": path, "content": CONTENT}
            if "create" in tools:
                return "create", {"path": path, "file_text": CONTENT}
            if "write" in tools:
                return "write", {"filePath": path, "content": CONTENT}
        if "start a helper" in asked and "task" in tools:
            return "task", {"description": "Gulls", "prompt": "Count the gulls", "subagent_type": "general"}
        return None

    def _gemini(self, asked: dict[str, Any]) -> None:
        number = next(self.numbers)
        last = (asked.get("contents") or [{}])[-1].get("parts") or [{}]
        tools = [made["name"] for tool in asked.get("tools") or [] for made in tool.get("functionDeclarations") or []]
        is_result = any("functionResponse" in part for part in last)
        call = None if is_result else self._call(tools, json.dumps(last))
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": f"Answer {number}."}
        read, wrote = 3000 + 10 * number, 70 + number
        if tools:  # calls for summaries and routing have none, and are not recorded
            self.spent.append((read - 1000, 1000, wrote + 15))
        usage = {
            "promptTokenCount": read,
            "candidatesTokenCount": wrote,
            "cachedContentTokenCount": 1000,
            "thoughtsTokenCount": 15,
        }
        usage["totalTokenCount"] = read + wrote + 15
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub-1"}
        if "stream" in self.path:
            self._send(f"data: {json.dumps(answer)}\n\n".encode(), "text/event-stream")
        else:
            self._send(json.dumps(answer).encode(), "application/json")

    def _chat(self, asked: dict[str, Any]) -> None:
        number = next(self.numbers)
        messages = asked.get("messages") or [{}]
        tools = [tool["function"]["name"] for tool in asked.get("tools") or [] if tool.get("type") == "function"]
        call = None if messages[-1].get("role") == "tool" else self._call(tools, json.dumps(messages[-1]))
        read, wrote = 2000 + 10 * number, 60 + number
        if "title generator" not in json.dumps(messages[0]):  # such calls are not recorded
            self.spent.append((read - 1500, 1500, wrote))
        usage = {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
        usage |= {"prompt_tokens_details": {"cached_tokens": 1500}}  # type: ignore[dict-item]
        text = f"Answer {number}."
        if not tools and "write something" in str(messages[-1].get("content")):
            text += f"\n\ntides.txt\n```\n{CONTENT}```\n"  # as Aider asks for it
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message = {
                "role": "assistant",
                "tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}],
            }
        base = {"id": f"c{number}", "created": 1, "model": "stub-1"}
        if not asked.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send(json.dumps(body).encode(), "application/json")
            return
        end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {"choices": [end]},
            {"choices": [], "usage": usage},
        ]
        sent = [json.dumps({**base, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
        self._send("".join(f"data: {chunk}\n\n" for chunk in [*sent, "[DONE]"]).encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


FIRST, SECOND = "Please run something", "Please write something"


def _gemini(program: str, home: Path, address: str) -> tuple[Path, dict[str, str], list[list[str]]]:
    root = home / ".gemini"
    root.mkdir()
    (root / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    environ = {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "x", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    common = [program, "--yolo", "-m", "gemini-2.5-pro"]
    return root, environ, [[*common, "-p", FIRST], [*common, "--resume", "latest", "-p", SECOND]]


def _qwen(program: str, home: Path, address: str) -> tuple[Path, dict[str, str], list[list[str]]]:
    environ = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "x", "OPENAI_MODEL": "stub-1"}
    common = [program, "--auth-type", "openai", "--yolo"]
    return home / ".qwen", environ, [[*common, "-p", FIRST], [*common, "--continue", "-p", SECOND]]


def _copilot(program: str, home: Path, address: str) -> tuple[Path, dict[str, str], list[list[str]]]:
    environ = {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"{address}/v1", "COPILOT_MODEL": "gpt-4.1"}
    common = [program, "--allow-all-tools", "--allow-all-paths"]
    return home / ".copilot", environ, [[*common, "-p", FIRST], [*common, "--continue", "-p", SECOND]]


CLIENTS = {"gemini": _gemini, "qwen": _qwen, "copilot": _copilot}


def main() -> int:
    """Run each client and print both sides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where the programs are")
    parser.add_argument("--only", choices=sorted(CLIENTS))
    parser.add_argument("--keep", help="a directory for the clients' files, which is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        failed = [
            name
            for name in ([options.only] if options.only else CLIENTS)
            if not _try(name, os.path.abspath(options.folder), Path(options.keep or scratch).resolve() / name)
        ]
    return int(bool(failed))


def _try(name: str, folder: str, place: Path) -> bool:
    home, work = place / "home", place / "work"
    home.mkdir(parents=True)
    work.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(work)], check=True)  # noqa: S607
    Model.spent, Model.work, Model.numbers = [], str(work), itertools.count(1)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    root, environ, commands = CLIENTS[name](os.path.join(folder, name), home, address)
    environ = {
        **os.environ,
        **environ,
        "HOME": str(home),
        "PWD": str(work),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    for command in commands:
        with open(place / "output.txt", "ab") as output:
            subprocess.run(
                command,
                env=environ,
                cwd=work,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=180,
                check=True,
            )
    server.shutdown()
    with hansard.open(place / "store", [root]) as h:
        h.sync()
        (session,) = h.sessions(limit=None).sessions
        totals = h.usage(by="total").totals
        changed = {item.path for item in h.read(session.session_id).changed_files(10)}
        issues = h.reader.one("SELECT coalesce(sum(count), 0) FROM issues")[0]
    figures = {
        "prompts": (session.prompts, 2),
        "calls": (session.tool_calls, 2),
        "failed calls": (session.tool_errors, 0),
        "files changed": (changed, {str(work / "tides.txt")}),
        "working directory": (session.cwd, str(work)),
        "issues": (issues, 0),
        "tokens": (
            (totals.input_tokens, totals.cache_read_tokens, totals.output_tokens),
            tuple(map(sum, zip(*Model.spent, strict=True))),
        ),
    }
    for figure, (found, expected) in figures.items():
        is_right = found == expected
        print(
            f"{'ok' if is_right else 'DIFFERS':8} {name}: {figure}: {found}"
            + ("" if is_right else f", expected {expected}")
        )
    return all(found == expected for found, expected in figures.values())


if __name__ == "__main__":
    sys.exit(main())
