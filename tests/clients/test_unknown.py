"""Kinds of records, parts and fields that Hansard does not know are counted for every client, and none of the known ones is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.clients import client_of
from hansard.clients.generic import GenericClient
from tests.clients.folding import fold_bytes
from tests.clients.staging import IMPORTED, stage


def unknown(client: str, *lines: Any) -> set[tuple[str, str, str]]:
    """Version, kind and field of what is not known in a file of these lines, or in one document."""
    known = client_of(client)
    assert isinstance(known, GenericClient)
    content = lines[0] if isinstance(lines[0], str) else "".join(json.dumps(line) + "\n" for line in lines)
    drift = fold_bytes(known, content.encode()).state.drift
    assert all(count == 1 for count, _ in drift.values())
    version, kind, field = zip(*(key.split("\t") for key in drift), strict=True) if drift else ((), (), ())
    return set(zip(version, kind, field, strict=True))


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-01T10:00:00Z", "type": kind, "payload": payload}


META = codex("session_meta", id="t", cli_version="0.170.0", timestamp="2026-11-01T10:00:00Z")
START = {
    "type": "session.start",
    "data": {"sessionId": "s", "copilotVersion": "2.0"},
    "id": "e",
    "timestamp": "",
    "parentId": None,
}


def message(*parts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": part, "text": "a"} for part in parts], **more}


CASES: dict[str, tuple[list[Any], set[tuple[str, str, str]]]] = {
    "codex": (
        [
            META,
            codex("new_thing_of_2027", x=1),
            codex("event_msg", type="never_seen"),
            codex("event_msg", type="token_count", info=None),
            codex("response_item", type="never_said"),
            codex("event_msg", type="item_completed", item={"type": "NeverDone"}),
        ],
        {
            ("0.170.0", kind, "")
            for kind in (
                "new_thing_of_2027",
                "event_msg/never_seen",
                "response_item/never_said",
                "item_completed NeverDone",
            )
        },
    ),
    "copilot-cli": (
        [START, {**START, "type": "session.new_thing", "data": {}}, {**START, "type": "session.info", "extra": 1}],
        {("2.0", "session.new_thing", ""), ("2.0", "session.info", "extra")},
    ),
    "gemini": (
        [
            {"sessionId": "s", "projectHash": "h", "startTime": "2026-11-01T10:00:00Z"},
            {"id": "1", "timestamp": "", "type": "new", "content": ""},
            {"id": "2", "timestamp": "", "type": "user", "content": "a", "mood": "good"},
        ],
        {("", "new", ""), ("", "user", "mood")},
    ),
    "qwen": (
        [
            {"uuid": "1", "sessionId": "s", "type": "system", "subtype": "new_thing", "version": "9"},
            {"uuid": "2", "sessionId": "s", "type": "user", "message": {"parts": [{"text": "a"}]}, "mood": 1},
        ],
        {("9", "system/new_thing", ""), ("9", "user", "mood")},
    ),
    "cline": ([json.dumps([{"ts": 1, "type": "say", "say": "new_thing", "text": "a"}])], {("", "say/new_thing", "")}),
    "copilot-chat": (
        [
            {"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": []}},
            {
                "kind": 2,
                "k": ["requests"],
                "v": [{"requestId": "r", "message": "a", "response": [{"kind": "new_thing"}, {"value": "b"}]}],
            },
        ],
        {("", "part/new_thing", "")},
    ),
    "opencode": (
        [
            {
                "id": "m",
                "message": {"id": "m", "data": {"role": "user", "time": {"created": 1}}},
                "part": [{"data": {"type": "new"}}],
            },
            {"id": "n", "message": {"id": "n", "data": {"role": "robot", "time": {"created": 1}}}},
        ],
        {("", "part/new", ""), ("", "robot", "")},
    ),
    "crush": (
        [{"id": "m", "messages": {"id": "m", "role": "user", "created_at": 1, "parts": [{"type": "new", "data": {}}]}}],
        {("", "part/new", "")},
    ),
    "goose": (
        [{"id": "m", "messages": {"role": "user", "created_timestamp": 1, "content_json": [{"type": "new"}]}}],
        {("", "part/new", "")},
    ),
    "zed": (
        [
            {"id": "0", "message": {"value": {"User": {"content": [{"New": {}}]}}}},
            {"id": "1", "message": {"value": {"Newer": {}}}},
        ],
        {("", "part/New", ""), ("", "newer", "")},
    ),
    "amp": (
        [json.dumps({"id": "T-1", "messages": [message("new", role="user", messageId=0)]})],
        {("", "part/new", "")},
    ),
    "claude-ai": (
        [json.dumps({"uuid": "c", "chat_messages": [message("new", sender="human", uuid="1")]})],
        {("", "part/new", "")},
    ),
    "droid": (
        [
            {"type": "session_start", "id": "s"},
            {"type": "new"},
            {"type": "message", "message": message("newer", role="user")},
        ],
        {("", "new", ""), ("", "part/newer", "")},
    ),
    "continue": (
        [json.dumps({"sessionId": "s", "history": [{"message": {"role": "new", "content": "a"}}]})],
        {("", "message/new", "")},
    ),
    "chatgpt": (
        [
            json.dumps(
                {
                    "mapping": {
                        "a": {"id": "a", "message": {"author": {"role": "user"}, "content": {"content_type": "new"}}}
                    }
                }
            )
        ],
        {("", "part/new", "")},
    ),
}


@pytest.mark.parametrize("client", sorted(CASES))
def test_what_is_not_known_is_counted(client: str) -> None:
    lines, expected = CASES[client]
    assert unknown(client, *lines) == expected


def test_doctor_names_what_newer_clients_write(tmp_path: Path) -> None:
    folder = tmp_path / "root/sessions/2026/11/01"
    folder.mkdir(parents=True)
    lines = [META, codex("new_thing_of_2027"), codex("new_thing_of_2027")]
    (folder / "rollout-2026-11-01T10-00-00-t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with hansard.open(tmp_path / "home", [tmp_path / "root"]) as h:
        h.sync()
        (found,) = h.doctor().drift
        assert (found.version, found.kind, found.field, found.count) == ("0.170.0", "new_thing_of_2027", "", 2)


@pytest.fixture
def real(corpus: Path) -> Path:
    if not (corpus / "agents/agents").is_dir():
        pytest.skip("no histories of other agents")
    return corpus / "agents/agents"


def test_nothing_in_real_histories_is_unknown(real: Path, tmp_path: Path) -> None:
    roots = stage(real, tmp_path / "roots")
    with hansard.open(tmp_path / "home", roots) as h:
        for client in IMPORTED:
            h.import_file(real / client, client=client)
    with hansard.open(tmp_path / "home", roots) as h:
        h.sync()
        assert {(item.kind, item.field) for item in h.drift()} == set()
