"""How well agents can answer from tool results alone: 30 questions over the public transcripts, with the tokens that each answer takes.

.venv/bin/python -m benchmarks.tool_answers ROOT [HOME]
"""

from __future__ import annotations

import sys
import tempfile
from statistics import median
from typing import Any

from benchmarks.tool_cases import CASES, Case
from hansard.config import Settings
from hansard.guard.passages import estimate_tokens
from hansard.mcp.server import Server
from hansard.mcp.store import Repository, Store


def answer(server: Server, case: Case) -> tuple[bool, int]:
    """Whether the fact is in an answer, and the tokens of all answers up to it."""
    tokens, session = 0, ""
    for tool, given in case.calls:
        arguments = {name: session if value == "{session}" else value for name, value in given.items()}
        message = {"name": tool, "arguments": {"scope": "all", **arguments}}
        response = server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message}) or {}
        result: dict[str, Any] = response["result"]
        text = result["content"][0]["text"]
        tokens += estimate_tokens(text)
        if case.fact in text and not result["isError"]:
            return True, tokens
        sessions = result.get("structuredContent", {}).get("sessions") or [{"session": ""}]
        session = sessions[0]["session"]
    return False, tokens


def main(root: str, home: str) -> int:
    """Ask everything, and print a table."""
    store = Store(Settings(home, (root,), 1 << 26), syncing=False)
    with store._settings.open() as h:  # noqa: SLF001 - the whole history first, however long it takes
        h.sync(wait_seconds=600)
    server = Server(store, Repository(root))
    spent, found = [], 0
    for case in CASES:
        is_found, tokens = answer(server, case)
        found += is_found
        spent.append(tokens)
        asked = case.calls[0][1]
        print(f"{'yes' if is_found else 'NO ':3} {tokens:6,} tokens  {case.calls[0][0]}: {next(iter(asked.values()))}")
    print(f"{found} of {len(CASES)} answered; tokens per question: median {median(spent):,.0f}, most {max(spent):,}")
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else scratch))
