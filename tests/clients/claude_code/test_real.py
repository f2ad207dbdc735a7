"""What real clients left, counted by the fold and by a separate script that read the raw lines."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from hansard.clients.claude_code.decode import items
from hansard.clients.lines import Lines
from hansard.clients.usage import merge
from tests.clients.claude_code.making import folding
from tests.recordings import ARCHIVES, find_recordings

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.clients.claude_code.fold import Fold
    from hansard.clients.usage import Stated


def fold_file(path: Path) -> Fold:
    folded = folding(is_agent=path.name.startswith("agent-"), path=str(path))
    for offset, own in Lines([path.read_bytes()], 0):
        folded.state.lines += 1
        for item in items(own, offset):
            folded.feed(item)
    return folded


def tokens(usage: Stated) -> dict[str, int]:
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    }


def counted(folded: Fold) -> dict[str, Any]:
    state = folded.state
    usage: dict[str, Counter[str]] = {}
    for stated in folded.rows.usage.values():
        usage.setdefault(stated.model, Counter()).update(tokens(stated))
    spoken = [row for row in folded.rows.records if row[2] == "user" and row[4] in ("prompt", "instruction")]
    return {
        "lines": state.lines,
        "kinds": state.kinds,
        "api_messages": state.messages,
        "tool_uses": Counter(row[2] for row in folded.rows.calls.values()),
        "tool_errors": sum(row[5] for row in folded.rows.blocks if row[2] == "tool_result"),
        "prompts": len(spoken),
        "usage_by_message_id": usage,
        "client_cost_state": json.loads(state.cost_state) if state.cost_state else None,
        "custom_title": state.custom_title or None,
    }


def test_every_scenario_counts_as_expected(corpus: Path) -> None:
    transcripts = 0
    for recording in find_recordings(corpus):
        for path, expected in recording.expected.items():
            folded = fold_file(recording.root / "projects" / path)
            mine = counted(folded)
            theirs = {name: expected[name] for name in mine} | {"prompts": len(expected["prompts"])}
            assert mine == theirs, f"{recording.id} {path}"
            assert folded.state.issues == 0
            assert folded.state.drift == {}
            if "attachment/queued_command" in folded.state.kinds:
                assert folded.state.queued == len(expected["queued_prompts"])
            transcripts += 1
    assert transcripts > 600


def test_nothing_in_a_saved_stream_is_unknown(corpus: Path) -> None:
    """What `-p --output-format stream-json` wrote, saved by hand."""
    streams = sorted(path for archive in ARCHIVES for path in (corpus / archive).rglob("streams/**/*.jsonl"))
    assert len(streams) > 5
    for path in streams:
        state = fold_file(path).state
        assert (state.drift, state.issues) == ({}, 0), path.name


def test_tokens_of_the_public_corpus(corpus: Path) -> None:
    usage: dict[str, Stated] = {}
    for path in sorted((corpus / "public").rglob("*.jsonl"), reverse=True):
        for key, stated in fold_file(path).rows.usage.items():
            usage[key] = merge(usage[key], stated) if key in usage else stated
    assert sum(stated.is_progress for stated in usage.values()) == 1_499
    usage = {key: stated for key, stated in usage.items() if not stated.is_progress}
    total: Counter[str] = Counter()
    for stated in usage.values():
        total.update(tokens(stated))
    assert len(usage) == 8359
    assert total == {
        "input_tokens": 95_478,
        "output_tokens": 1_084_695,
        "cache_read_input_tokens": 694_040_598,
        "cache_creation_input_tokens": 21_440_011,
    }
