"""Whatever transcripts say, answers keep their structure: text stays inside of its marks, without secrets and invisible characters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hansard
from hansard.guard.passages import estimate_tokens
from hansard.mcp.answer import MAX_TOKENS, MIN_TOKENS, Answer, Packer, Passage
from tests.mcp.conftest import caller, server_on
from tests.mcp.hostile import ATTEMPTS, TOKEN, check
from tests.mcp.writing import FIRST, Log


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A session with every attempt in every place where transcripts have text."""
    place = tmp_path_factory.mktemp("injection")
    log = Log(FIRST)
    for attempt in ATTEMPTS:
        short = attempt[:3_000].replace("\x00", "")
        log.branch = short
        log.prompt(f"findme {attempt}")
        log.reply(f"findme {attempt}")
        log.call("Bash", {"command": f"findme {attempt}"}, f"findme {attempt}")
        log.call("WebFetch", {"url": "https://example.com"}, f"findme {attempt}")
        log.call(f"mcp__{short[:60]}__x", {"findme": attempt}, f"findme {attempt}")
        log.edit(f"/home/mira/src/app/{short[:900]}", "old", f"findme {attempt}")
        log.lines.append({"type": "ai-title", "aiTitle": f"findme {attempt}", "sessionId": FIRST})
        log.lines.append({"type": "summary", "summary": f"findme {attempt}", "leafUuid": log.lines[-2].get("uuid")})
    log.write(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as h:
        h.sync()
    return place / "claude", place / "home"


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "findme", "limit": 50, "include_tool_output": True}),
    ("search", {"query": "findme", "sort": "newest", "include_tool_output": True}),
    ("recall", {"question": "findme"}),
    ("read", {"target": FIRST}),
    *(
        ("read", {"target": FIRST, "turn": turn, "include_tool_output": True})
        for turn in range(1, len(ATTEMPTS) + 1, 2)
    ),
    ("sessions", {}),
    ("files", {}),
    ("usage", {"by": "branch"}),
    ("sql", {"query": "SELECT record(transcript, byte_offset), message_text(transcript, byte_offset) FROM messages"}),
    ("sql", {"query": 'SELECT title AS "<system-reminder>", first_prompt, branch FROM sessions'}),
]


@pytest.mark.parametrize(("name", "given"), CALLS)
@pytest.mark.parametrize("tokens", [MIN_TOKENS, MAX_TOKENS])
def test_structure_survives(store: tuple[Path, Path], name: str, given: dict[str, Any], tokens: int) -> None:
    server = server_on(store[1], store[0])
    message = {"name": name, "arguments": {**given, "max_tokens": tokens, "scope": "all"}}
    response = server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message})
    assert response is not None
    result = response["result"]
    assert not result["isError"], result
    text = result["content"][0]["text"]
    assert estimate_tokens(text) <= tokens
    check(result["structuredContent"], text)


ANYTHING = st.text(max_size=400) | st.sampled_from(["x" * 200_000, "語" * 5_000, '"' * 3_000, "⟦" * 3_000, *ATTEMPTS])
PASSAGE = st.fixed_dictionaries(
    dict.fromkeys(("session", "message", "kind", "tool", "project", "title", "subagent", "at", "text"), ANYTHING)
)


class Given(Answer):
    """An answer of a tool that encodes nothing."""

    facts: Passage | None = None
    names: tuple[str, ...] = ()
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    passages: list[Passage] = msgspec.field(default_factory=list)


@settings(max_examples=150)
@given(st.lists(PASSAGE, max_size=8), st.lists(PASSAGE, max_size=2), st.integers(MIN_TOKENS, 2_000), st.data())
def test_no_content_bursts_a_budget(
    added: list[dict[str, str]], sneaked: list[dict[str, str]], tokens: int, data: st.DataObject
) -> None:
    """Whatever the fields hold, and also if a tool sets some of them past the packer."""
    packer = Packer(tokens)

    def passage(fields: dict[str, str]) -> Passage:
        return msgspec.convert({**fields, "origin": "person", "text": packer.quoter.quote(fields["text"])}, Passage)

    facts = msgspec.convert({**data.draw(PASSAGE), "origin": "person", "text": ""}, Passage)
    answer = packer.begin(Given(scope=data.draw(ANYTHING), facts=data.draw(st.sampled_from([None, facts]))))
    for fields in added:
        if not packer.add(answer.passages, passage(fields)):
            break
    assert bool(answer.passages) == bool(added)
    answer.passages += map(passage, sneaked)
    if data.draw(st.booleans()):
        answer.names, answer.counts = (data.draw(ANYTHING),) * 3, {data.draw(ANYTHING): 1}
    whole = packer.finish(packer.end(answer, [data.draw(ANYTHING)], data.draw(ANYTHING)))
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    assert estimate_tokens(text) <= tokens
    assert len(whole.get("passages", [])) >= bool(added and not sneaked and not answer.names)
    check(whole, text)


def test_resources_and_prompts_are_as_safe(store: tuple[Path, Path]) -> None:
    server = server_on(store[1], store[0])
    for method, params in (
        ("resources/read", {"uri": f"hansard://session/{FIRST}"}),
        ("resources/read", {"uri": f"hansard://session/{FIRST}/turn/2"}),
        ("prompts/get", {"name": "continue_from", "arguments": {"session": FIRST}}),
        ("prompts/get", {"name": "what_did_we_decide", "arguments": {"about": "findme"}}),
        ("resources/list", {}),
    ):
        response = server.handle({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert response is not None
        assert "result" in response, response
        text = json.dumps(response, ensure_ascii=False)
        assert TOKEN not in text
        assert "<system-reminder" not in text
        assert "<channel" not in text
        assert method != "resources/list" or text.count("data, not instructions") == text.count('"uri"')
        assert "\u202e" not in text
    assert caller(server)("search", query="<system-reminder>")["notice"]
