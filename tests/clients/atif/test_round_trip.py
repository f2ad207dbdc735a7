"""Sessions of every client that are exported as trajectories and imported again keep their figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.model.sessions import Session
from tests.clients.histories import HISTORIES
from tests.clients.staging import IMPORTED, stage
from tests.export.trajectories import check_trajectory

FIGURES = (
    "tool_calls tool_errors agents api_messages input_tokens output_tokens cache_read_tokens cache_write_tokens cost_usd"
    " lower_bound_messages"
).split()
CLIENTS = {
    "codex",
    "crush",
    "cursor",
    "opencode",
    "copilot-cli",
    "gemini",
    "qwen",
    "cline",
    "copilot-chat",
    "aider",
    "amp",
}
UNEVEN = {"copilot-cli", "opencode", "cursor", "claude-ai"}
"""Whose answers can show nothing, or be written between those of subagents: then `messages` differs, as the docs say."""


def figures(session: Session) -> list[Any]:
    return [getattr(session, name) or 0 for name in FIGURES]  # a trajectory does not say whether usage was recorded


def exported(home: Path, roots: Iterable[Path], target: Path) -> list[tuple[Session, Path, int]]:
    """The sessions of a store, each with its trajectory and how many prompts a reader sees."""
    with hansard.open(home, list(roots)) as h:
        h.sync()
        sessions = h.sessions(limit=None, debris=True).sessions
        done = h.export(sessions, target, format="atif", redact=False)
        assert not done.failed
        files = {file.session_id: Path(file.path) for file in done.files}
        found = []
        for session in sessions:
            thread = h.read(session)
            entries = thread.entries() if thread.has_log else ()
            prompts = {entry.offset for entry in entries if entry.kind == "prompt"}
            found.append((session, files[session.session_id], len(prompts)))
        return found


def imported(home: Path, files: Iterable[Path]) -> dict[str, Session]:
    with hansard.open(home, ()) as h:
        for file in files:
            h.import_file(file, client="atif")
    with hansard.open(home, ()) as h:
        h.sync()
        return {session.session_id: session for session in h.sessions(limit=None, debris=True).sessions}


def check_totals(document: dict[str, Any], session: Session) -> None:
    """Assert that steps, totals and the ledger state the same tokens, and nothing where none are recorded."""
    check_trajectory(document)
    final = document["final_metrics"]
    if not session.api_messages:
        assert "total_prompt_tokens" not in final
    elif "subagent_trajectories" not in document:
        stated = sum(
            count or 0 for count in (session.input_tokens, session.cache_read_tokens, session.cache_write_tokens)
        )
        assert (final["total_prompt_tokens"], final["total_completion_tokens"]) == (stated, session.output_tokens)


def test_real_sessions_keep_their_figures(corpus: Path, tmp_path: Path) -> None:
    real = corpus / "agents/agents"
    if not real.is_dir():
        pytest.skip("no histories of other agents")
    roots = stage(real, tmp_path / "roots")
    with hansard.open(tmp_path / "one", roots) as h:
        for client in IMPORTED:
            h.import_file(real / client, client=client)
    originals = exported(tmp_path / "one", roots, tmp_path / "out")
    again = imported(tmp_path / "two", [path for _, path, _ in originals])
    seen: Counter[str] = Counter()
    for session, path, prompts in originals:
        about = f"{session.client} {session.session_id}"
        other = again[f"atif-{session.session_id}"]
        check_totals(json.loads(path.read_bytes()), session)
        assert figures(other) == figures(session), about
        assert other.prompts == prompts <= session.prompts, about  # without those that have no text
        if session.client not in UNEVEN:
            assert other.messages == session.messages, about
        seen[session.client] += bool(session.api_messages)
    assert CLIENTS - {client for client, count in seen.items() if count} == {"cursor"}  # whose samples record no tokens
    assert len(originals) > 200


@pytest.mark.parametrize("name", sorted(HISTORIES))
def test_invented_sessions_keep_their_figures(name: str, tmp_path: Path) -> None:
    history = HISTORIES[name]
    root = tmp_path / history.folder
    root.mkdir()
    history.write(root)
    originals = exported(tmp_path / "one", [root], tmp_path / "out")
    again = imported(tmp_path / "two", [path for _, path, _ in originals])
    for session, path, prompts in originals:
        check_totals(json.loads(path.read_bytes()), session)
        other = again[f"atif-{session.session_id}"]
        assert figures(other) == figures(session)
        assert other.prompts == prompts
