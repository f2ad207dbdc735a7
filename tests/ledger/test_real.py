"""What real clients wrote: counted by a separate script (EXPECT.json), and by the client itself (`cost-state`)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hansard.model.ledger import UsageRow
from tests.ledger.conftest import Kept, kept_of
from tests.ledger.test_report import assert_slowly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.recordings import Recording

NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
STATED = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "webSearchRequests")
NO_LINE = "requests that leave no line: compactions, retries, titles, web searches"
FORK = "a fork: the client goes on counting, here the copied answers stay with the session that owns them"
LATER = "answers came after the last count"
KILLED = "the client that was killed wrote no count, and the next one began anew"
# Sessions of which the client's own count is another one, and why.
OTHERWISE = {
    "real-client": {
        ("2.1.325/api_errors", "17cd42cf"): NO_LINE,
        ("2.1.325/compact", "78b43721"): NO_LINE,
        ("2.1.325/killed", "00000003"): KILLED,
        ("2.1.325/resume", "685f6f8f"): FORK,
        ("2.1.325/resume", "69309fa7"): FORK,
        ("2.1.325/tui", "8ff9fbda"): NO_LINE,  # and an interrupted answer has no end
        ("2.1.325/tui2", "8be5cc0b"): LATER,
    },
    "real-client-2": {
        ("2.1.250/statscache", "2f4c453a"): NO_LINE,
        ("2.1.250/tui", "9a046f7b"): NO_LINE,
        ("2.1.250/tui2", "d65ab653"): LATER,
        ("2.1.325/api_errors", "a1a36e0a"): NO_LINE,
        ("2.1.325/compact", "b1193b2c"): NO_LINE,
        ("2.1.325/concurrent", "8a61b83c"): "two clients wrote it, and each counted its own answers",
        ("2.1.325/hooks_all", "13a0248f"): NO_LINE,
        ("2.1.325/hooks_all", "2c58e8b5"): "a fork, and no file of its has the answers of the parent's subagents",
        ("2.1.325/hooks_all", "59340b4d"): NO_LINE,
        ("2.1.325/killed", "00000003"): KILLED,
        ("2.1.325/resume", "39ef5668"): FORK,
        ("2.1.325/resume", "ff62a2da"): FORK,
        ("2.1.325/tui", "91f3c497"): NO_LINE,
        ("2.1.325/tui2", "83f854fe"): LATER,
        ("2.1.325/web", "5a7e2067"): NO_LINE,
    },
    "real-client-3": {
        ("2.1.326/api_errors", "63daf9e8"): NO_LINE,
        ("2.1.326/compact", "3ffd2abd"): NO_LINE,
        ("2.1.326/killed", "00000003"): KILLED,
        ("2.1.326/resume", "a664bb90"): FORK,
        ("2.1.326/resume", "d90304d0"): FORK,
        ("2.1.326/tui", "04449b03"): NO_LINE,
    },
}


@dataclass
class Scenario:
    """One recorded scenario."""

    archive: str
    name: str  # the client's version and what happened
    kept: Kept
    expect: dict[str, Any]

    def row(self, session_id: str) -> dict[str, UsageRow]:
        """What a session used, by model."""
        report = self.kept.h.usage(f"session:{session_id}", by="model")
        return {str(row.key["model"]): row for row in report.rows}


@pytest.fixture(scope="module")
def scenarios(recordings: list[Recording]) -> Iterator[list[Scenario]]:
    with ExitStack() as opened:
        yield [
            Scenario(
                recording.archive,
                f"{recording.version}/{recording.name}",
                opened.enter_context(kept_of(recording)),
                recording.expected,
            )
            for recording in recordings
        ]


def counted(row: UsageRow) -> dict[str, int]:
    writes = row.cache_write_5m_tokens + row.cache_write_1h_tokens
    return dict(zip(NAMES, (row.input_tokens, row.output_tokens, row.cache_read_tokens, writes), strict=True))


def test_usage_by_message(scenarios: list[Scenario]) -> None:
    """EXPECT.json counts file by file; where no two files share a message, that is what a report by model says."""
    alone = 0
    for scenario in scenarios:
        reader = scenario.kept.h.reader
        copied = reader.one("SELECT count(*) FROM (SELECT 1 FROM messages GROUP BY key HAVING count(*) > 1)")[0]
        expected: dict[str, dict[str, int]] = {}
        for said in scenario.expect.values():
            for model, counts in said["usage_by_message_id"].items():
                known = expected.setdefault(model, dict.fromkeys(NAMES, 0))
                for name in NAMES:
                    known[name] += counts[name]
        report = scenario.kept.h.usage(by="model")
        found = {str(row.key["model"]): counted(row) for row in report.rows}
        if not copied:
            alone += 1
            assert found == expected, scenario.name
        else:
            assert found.keys() == expected.keys()
            assert all(found[model][name] <= expected[model][name] for model in found for name in NAMES)
        messages = sum(said["api_messages"] for said in scenario.expect.values())
        assert report.totals.api_messages == messages if not copied else report.totals.api_messages <= messages
    assert alone > 50


def test_usage_by_message_of_each_transcript(scenarios: list[Scenario]) -> None:
    """File by file, whoever owns the messages."""
    for scenario in scenarios:
        reader = scenario.kept.h.reader
        for path, said in scenario.expect.items():
            rows = reader.rows(
                "SELECT model, sum(input), sum(output), sum(cache_read), sum(cache_write) FROM usage WHERE key IN (SELECT m.key"
                " FROM messages m JOIN transcripts t ON t.id = m.id >> 40 AND t.current AND t.path = ?) GROUP BY model",
                (f"projects/{path}",),
            )
            assert {row[0]: dict(zip(NAMES, row[1:], strict=True)) for row in rows} == said["usage_by_message_id"], path


def states(scenarios: list[Scenario]) -> Iterator[tuple[Scenario, str, dict[str, Any]]]:
    """Each session of which the client wrote a count."""
    for scenario in scenarios:
        for path, said in scenario.expect.items():
            if said.get("client_cost_state"):
                state = said["client_cost_state"]
                # 2.1.250 counts under the name of the setting, which says how long a context may be.
                yield scenario, Path(path).stem, {model.removesuffix("[1m]"): state[model] for model in state}


def test_the_clients_own_count(scenarios: list[Scenario]) -> None:
    """Tokens exactly and money to the cent, in every session of which each request left a line."""
    exact, differing = 0, {archive: set[tuple[str, str]]() for archive in OTHERWISE}
    for scenario, session_id, state in states(scenarios):
        ours = scenario.row(session_id)
        tokens = {model: (*counted(row).values(), row.web_searches) for model, row in ours.items()}
        if tokens != {model: tuple(counts[name] for name in STATED) for model, counts in state.items()}:
            differing[scenario.archive].add((scenario.name, session_id[:8]))
            continue
        exact += 1
        for model, counts in state.items():
            if "cacheCreationEphemeral5mInputTokens" in counts:  # not in 2.1.250
                split = (ours[model].cache_write_5m_tokens, ours[model].cache_write_1h_tokens)
                assert split == (
                    counts["cacheCreationEphemeral5mInputTokens"],
                    counts["cacheCreationEphemeral1hInputTokens"],
                )
            # The client adds up in binary: what differs is its last digits.
            cost = ours[model].cost_usd
            assert cost is not None
            assert abs(cost - Decimal(str(counts["costUSD"]))) < Decimal("0.0000001"), (scenario.name, session_id)
    assert exact >= 139
    for archive, sessions in OTHERWISE.items():
        assert differing[archive] == sessions.keys()


def test_forks_as_the_client_counts_them(scenarios: list[Scenario]) -> None:
    """What a fork's file holds, copies included, is what the client says."""
    checked = 0
    for scenario, session_id, state in states(scenarios):
        why = OTHERWISE[scenario.archive].get((scenario.name, session_id[:8]))
        if scenario.name.endswith("/resume") and why == FORK:
            rows = scenario.kept.h.reader.rows(
                "SELECT u.model, sum(u.input), sum(u.output), sum(u.cache_read), sum(u.cache_write) FROM usage u WHERE u.key IN"
                " (SELECT m.key FROM messages m JOIN transcripts t ON t.id = m.id >> 40 WHERE t.session_id = ?) GROUP BY u.model",
                (session_id,),
            )
            found = {row[0]: row[1:] for row in rows}
            assert found == {model: tuple(counts[name] for name in STATED[:4]) for model, counts in state.items()}
            checked += 1
    assert checked == 6


@pytest.mark.parametrize("by", ["session,subagent,model", "tool,branch", "agent,hour"])
def test_recordings_slowly(scenarios: list[Scenario], by: str) -> None:
    for scenario in scenarios[::4]:
        assert_slowly(scenario.kept, by, "Australia/Lord_Howe")
