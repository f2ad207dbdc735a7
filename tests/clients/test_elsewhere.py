"""Histories on the machine that are not read: named, and their files counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from hansard.clients.elsewhere import find_unread


@pytest.mark.parametrize(
    ("folder", "name", "reason"),
    [
        (".kimi/sessions/0cc175b9/5a0f7c1e", "kimi", "not supported"),
        (".pi/agent/sessions/--work--", "pi", "not supported"),
        (".openhands/conversations/1", "openhands", "not supported"),
        (".hermes/sessions", "hermes", "not supported"),
        (".local/state/warp-terminal", "warp", "not supported"),
        (".factory/sessions/-work", "droid", "read with `hansard import`"),
    ],
)
def test_a_history_of_another_agent_is_named(folder: str, name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "wire.jsonl").write_text('{"type":"metadata"}\n')
    (found,) = find_unread({}, str(tmp_path), (), ())
    assert (found.client, found.files, found.bytes, found.reason) == (name, 1, 20, reason)


def test_a_variable_names_another_place(tmp_path: Path) -> None:
    (tmp_path / "share/sessions").mkdir(parents=True)
    (found,) = find_unread({"KIMI_SHARE_DIR": str(tmp_path / "share")}, str(tmp_path / "home"), (), ())
    assert (found.client, found.path) == ("kimi", str(tmp_path / "share/sessions"))
