"""What real clients wrote: counted by a separate script (EXPECT.json), and by the client itself (`cost-state`)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hansard.model import UsageRow
from tests.ledger.conftest import Kept, keep
from tests.ledger.test_report import assert_slowly

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
STATED = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "webSearchRequests")
# Sessions of which the client's own count is another one, and why.
OTHERWISE = {
    ("api_errors", "17cd42cf"): "answers that were cut off or asked for again leave no line",
    ("compact", "78b43721"): "compactions leave no line",
    ("killed", "00000003"): "the client that was killed wrote no count, and the next one began anew",
    ("resume", "685f6f8f"): "a fork: the client goes on counting, here the copied answers stay with the first session",
    ("resume", "69309fa7"): "a fork: the client goes on counting, here the copied answers stay with the first session",
    ("tui", "8ff9fbda"): "a compaction leaves no line, an interrupted answer no end",
    (
        "tui2",
        "20499788",
    ): "a branch: the client begins anew, here copies as old as their originals belong to the first path",
    ("tui2", "8be5cc0b"): "the branch owns what it copied; a last answer came after the last count",
}


@dataclass
class Recording:
    """One recorded scenario."""

    name: str
    version: str
    kept: Kept
    expect: dict[str, Any]

    def row(self, session_id: str) -> dict[str, UsageRow]:
        """What a session used, by model."""
        report = self.kept.h.usage(f"session:{session_id}", by="model")
        return {str(row.key["model"]): row for row in report.rows}


@pytest.fixture(scope="module")
def recordings(corpus: Path, memory: Path) -> Iterator[list[Recording]]:
    found = []
    for place in sorted((corpus / "real-client").rglob("EXPECT.json")):
        version, name = place.parent.relative_to(corpus / "real-client").parts
        kept = keep(place.parent / "dot-claude", memory / version / name)
        found.append(Recording(name, version, kept, json.loads(place.read_bytes())))
    assert len(found) > 60
    yield found
    for recording in found:
        recording.kept.h.close()


def counted(row: UsageRow) -> dict[str, int]:
    writes = row.cache_write_5m_tokens + row.cache_write_1h_tokens
    return dict(zip(NAMES, (row.input_tokens, row.output_tokens, row.cache_read_tokens, writes), strict=True))


def test_usage_by_message(recordings: list[Recording]) -> None:
    """EXPECT.json counts file by file; where no two files share a message, that is what a report by model says."""
    alone = 0
    for recording in recordings:
        reader = recording.kept.h.reader
        copied = reader.one("SELECT count(*) FROM (SELECT 1 FROM messages GROUP BY key HAVING count(*) > 1)")[0]
        expected: dict[str, dict[str, int]] = {}
        for said in recording.expect.values():
            for model, counts in said["usage_by_message_id"].items():
                known = expected.setdefault(model, dict.fromkeys(NAMES, 0))
                for name in NAMES:
                    known[name] += counts[name]
        report = recording.kept.h.usage(by="model")
        found = {str(row.key["model"]): counted(row) for row in report.rows}
        if not copied:
            alone += 1
            assert found == expected, recording.name
        else:
            assert found.keys() == expected.keys()
            assert all(found[model][name] <= expected[model][name] for model in found for name in NAMES)
        messages = sum(said["api_messages"] for said in recording.expect.values())
        assert report.totals.api_messages == messages if not copied else report.totals.api_messages <= messages
    assert alone > 50


def test_usage_by_message_of_each_transcript(recordings: list[Recording]) -> None:
    """File by file, whoever owns the messages."""
    for recording in recordings:
        reader = recording.kept.h.reader
        for path, said in recording.expect.items():
            rows = reader.rows(
                "SELECT model, sum(input), sum(output), sum(cache_read), sum(cache_write) FROM usage WHERE key IN (SELECT m.key"
                " FROM messages m JOIN transcripts t ON t.id = m.id >> 40 AND t.current AND t.path = ?) GROUP BY model",
                (f"projects/{path}",),
            )
            assert {row[0]: dict(zip(NAMES, row[1:], strict=True)) for row in rows} == said["usage_by_message_id"], path


def states(recordings: list[Recording]) -> Iterator[tuple[Recording, str, dict[str, Any]]]:
    """Each session of which the client wrote a count."""
    for recording in recordings:
        for path, said in recording.expect.items():
            if said.get("client_cost_state"):
                yield recording, Path(path).stem, said["client_cost_state"]


def test_the_clients_own_count(recordings: list[Recording]) -> None:
    """Tokens exactly and money to the cent, in every session of which each request left a line."""
    exact, differing = 0, set()
    for recording, session_id, state in states(recordings):
        assert recording.version == "2.1.325"
        ours = recording.row(session_id)
        tokens = {model: (*counted(row).values(), row.web_searches) for model, row in ours.items()}
        if tokens != {model: tuple(counts[name] for name in STATED) for model, counts in state.items()}:
            differing.add((recording.name, session_id[:8]))
            continue
        exact += 1
        for model, counts in state.items():
            split = (ours[model].cache_write_5m_tokens, ours[model].cache_write_1h_tokens)
            assert split == (
                counts["cacheCreationEphemeral5mInputTokens"],
                counts["cacheCreationEphemeral1hInputTokens"],
            )
            # The client adds up in binary: what differs is its last digits.
            cost = ours[model].cost_usd
            assert cost is not None
            assert abs(cost - Decimal(str(counts["costUSD"]))) < Decimal("0.0000001"), (recording.name, session_id)
    assert exact >= 61
    assert differing == OTHERWISE.keys()


def test_forks_as_the_client_counts_them(recordings: list[Recording]) -> None:
    """What a fork's file holds, copies included, is what the client says."""
    checked = 0
    for recording, session_id, state in states(recordings):
        if recording.name == "resume" and (recording.name, session_id[:8]) in OTHERWISE:
            rows = recording.kept.h.reader.rows(
                "SELECT u.model, sum(u.input), sum(u.output), sum(u.cache_read), sum(u.cache_write) FROM usage u WHERE u.key IN"
                " (SELECT m.key FROM messages m JOIN transcripts t ON t.id = m.id >> 40 WHERE t.session_id = ?) GROUP BY u.model",
                (session_id,),
            )
            found = {row[0]: row[1:] for row in rows}
            assert found == {model: tuple(counts[name] for name in STATED[:4]) for model, counts in state.items()}
            checked += 1
    assert checked == 2


@pytest.mark.parametrize("by", ["session,subagent,model", "tool,branch", "agent,hour"])
def test_recordings_slowly(recordings: list[Recording], by: str) -> None:
    for recording in recordings[::4]:
        assert_slowly(recording.kept, by, "Australia/Lord_Howe")
