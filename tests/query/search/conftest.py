"""The demo history and some lines that are hard to search, in one store for all tests."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import hansard
from hansard.demo import write_history
from hansard.engine import Hansard
from tests.sync.making import assistant, call, main_path, session, user

HARD = session(77)
FORKED = session(78)
FAILED = {
    "type": "tool_result",
    "tool_use_id": "t1",
    "content": "fatal: не найдено, ёлка; Ελλάδα δοκιμή",
    "is_error": True,
}


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    base = tmp_path_factory.mktemp("search")
    root = base / ".claude"
    write_history(root)
    lines = [
        user(HARD, "h1", "parseLine, parse_line and HTTPServer2 in path/to/file.py:42 with --flag and vis-timeline"),
        assistant(
            HARD,
            "h2",
            "m1",
            "数据库连接失败; 日本語のテスト、한국어 검색 café naïve Ünïcode C++ and C# at 100ms 🎉 ✓",
            1,
            "h1",
        ),
        assistant(
            HARD, "h3", "m2", [call("t1", "mcp__git__log", path="sha256 deadbeef12ab")], 2, "h2", stop="tool_use"
        ),
        user(HARD, "h4", [FAILED], 3, "h3"),
        user(
            HARD, "h5", [{"type": "text", "text": "look at this"}, {"type": "image", "source": {"data": "x"}}], 4, "h4"
        ),
        user(HARD, "h6", [{"type": "image", "source": {"data": "x"}}], 5, "h5"),
        user(HARD, "h7", "<command-name>/review</command-name><command-args>the parser</command-args>", 6, "h6"),
        {"type": "custom-title", "customTitle": "Hard words", "sessionId": HARD},
        {"type": "custom-title", "customTitle": "Hard words", "sessionId": HARD},
        {"type": "ai-title", "aiTitle": "Searching in every script", "sessionId": HARD},
        user(HARD, "h8", "the setup of the set up; fixes, fixed, fixing; tests; committed", 7, "h7"),
    ]
    fork = [{**line, "sessionId": FORKED} for line in lines if "uuid" in line] + [
        user(FORKED, "f1", "only the fork says xylophone", 9, "h8")
    ]
    for name, content in ((HARD, lines), (FORKED, fork)):
        path = root / main_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in content), encoding="utf-8")
    with (root / "history.jsonl").open("a", encoding="utf-8") as history:
        lost = {
            "display": "a prompt that nobody kept",
            "timestamp": 1_750_000_000_000,
            "project": "/gone",
            "sessionId": session(99),
        }
        history.write(json.dumps(lost) + "\n")
    with hansard.open(base / "store", roots=[root]) as opened:
        opened.sync()
        opened.tag(HARD, "Infra", "client/acme", "Straße")
        opened.tag(FORKED, "infra-old")
        opened.tag(session(99), "lost", "INFRA")
        opened.pin(FORKED, session(99))
        opened.pin_message(HARD, "h2")
        opened.note(HARD, "Ask Mira about the\nCafé parser.")
        opened.note(HARD, "the clock")
        yield opened
