"""The rows of real transcripts against what was counted by other means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from tests.sync.making import ask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.recordings import History, Recording

Expectation = tuple[str, Path, str, dict[str, Any]]


@pytest.fixture(scope="module")
def expectations(recordings: list[Recording]) -> list[Expectation]:
    """(recording, store, transcript, what EXPECT.json says of it) of every transcript that a real client wrote."""
    found = [
        (recording.id, recording.store, f"projects/{path}", said)
        for recording in recordings
        for path, said in recording.expected.items()
    ]
    assert len(found) > 600
    return found


def _transcript(home: Path, path: str) -> tuple[int, int, int, str, tuple[int, int]]:
    ((number, lines, size, kind),) = ask(
        home, "SELECT id, lines, size, kind FROM transcripts WHERE path = ? AND current = 1", path
    )
    return number, lines, size, kind, (number << 40, (number << 40) + (1 << 40) - 1)


def _differing(expectations: list[Expectation], of_rows: Any, of_said: Any) -> Iterator[str]:
    for recording, home, path, said in expectations:
        ours, theirs = of_rows(home, path, said), of_said(said)
        if ours != theirs:
            yield f"{recording} {path}: {ours} is not {theirs}"


def test_lines_and_bytes(expectations: list[Expectation]) -> None:
    def rows(home: Path, path: str, _said: object) -> object:
        _, lines, size, _, _ = _transcript(home, path)
        return lines, size

    assert not list(_differing(expectations, rows, lambda said: (said["lines"], said["bytes"])))


def test_kinds(expectations: list[Expectation]) -> None:
    def rows(home: Path, path: str, _said: object) -> object:
        number = _transcript(home, path)[0]
        return dict(ask(home, "SELECT kind, count FROM record_kinds WHERE transcript = ?", number))

    assert not list(_differing(expectations, rows, lambda said: said["kinds"]))


def test_api_messages(expectations: list[Expectation]) -> None:
    def rows(home: Path, path: str, _said: object) -> object:
        return ask(home, "SELECT count(*) FROM messages WHERE id BETWEEN ? AND ?", *_transcript(home, path)[4])[0][0]

    assert not list(_differing(expectations, rows, lambda said: said["api_messages"]))


def test_tool_uses_by_name(expectations: list[Expectation]) -> None:
    def rows(home: Path, path: str, _said: object) -> object:
        sql = "SELECT tool, count(*) FROM tool_calls WHERE id BETWEEN ? AND ? GROUP BY tool"
        return dict(ask(home, sql, *_transcript(home, path)[4]))

    assert not list(_differing(expectations, rows, lambda said: said["tool_uses"]))


def test_tool_errors(expectations: list[Expectation]) -> None:
    def rows(home: Path, path: str, _said: object) -> object:
        sql = "SELECT count(*) FROM blocks WHERE kind = 'tool_result' AND is_error AND id BETWEEN ? AND ?"
        return ask(home, sql, *_transcript(home, path)[4])[0][0]

    assert not list(_differing(expectations, rows, lambda said: said["tool_errors"]))


def test_prompts(expectations: list[Expectation]) -> None:
    """What EXPECT.json calls a prompt is also what a subagent was told, which the index calls an instruction."""
    for recording, home, path, said in expectations:
        span = _transcript(home, path)[4]
        spoken = ask(
            home,
            "SELECT r.id, p.text FROM records r LEFT JOIN prompts p ON p.id = r.id WHERE r.kind = 'user'"
            " AND r.role IN ('prompt', 'instruction') AND r.id BETWEEN ? AND ? ORDER BY r.id",
            *span,
        )
        assert len(spoken) == len(said["prompts"]), f"{recording} {path}"
        for (_, text), expected in zip(spoken, said["prompts"], strict=True):
            # EXPECT.json has the beginnings of long ones. The text of an instruction is in the record only.
            assert text is None or text.startswith(expected), f"{recording} {path}"
        typed = ask(home, "SELECT count(*) FROM prompts WHERE source = 'prompt' AND id BETWEEN ? AND ?", *span)[0][0]
        assert typed == sum(text is not None for _, text in spoken), f"{recording} {path}"


def test_queued_prompts(expectations: list[Expectation]) -> None:
    """EXPECT.json counts attachments; before 2.1.90 a prompt typed while the model worked stands in the queue's records."""
    more = []
    for recording, home, path, said in expectations:
        sql = "SELECT text FROM prompts WHERE source = 'queued' AND id BETWEEN ? AND ? ORDER BY id"
        ours = [row[0] for row in ask(home, sql, *_transcript(home, path)[4])]
        if len(ours) != len(said["queued_prompts"]):
            assert not said["queued_prompts"]
            more.append((recording, ours))
    queued = ["Queued while busy."]
    assert more == [("real-client/2.0.76/tui", queued), ("real-client/2.1.20/tui", queued)]


def test_usage_by_message(expectations: list[Expectation]) -> None:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")

    def rows(home: Path, path: str, _said: object) -> object:
        sql = (
            "SELECT model, sum(input), sum(output), sum(cache_read), sum(cache_write) FROM usage"
            " WHERE key IN (SELECT key FROM messages WHERE id BETWEEN ? AND ?) GROUP BY model"
        )
        return {row[0]: dict(zip(names, row[1:], strict=True)) for row in ask(home, sql, *_transcript(home, path)[4])}

    assert not list(_differing(expectations, rows, lambda said: said["usage_by_message_id"]))


def test_the_doctor_finds_nothing(histories: dict[str, History]) -> None:
    with hansard.open(histories["real clients"].store) as h:
        diagnosis = h.doctor()
    assert (diagnosis.drift, diagnosis.issues) == ((), ())


def test_totals_of_the_public_corpus(corpus: Path, histories: dict[str, History]) -> None:
    home = histories["public"].store
    sums = ask(
        home,
        "SELECT count(*), sum(input), sum(output), sum(cache_read), sum(cache_write) FROM usage GROUP BY is_progress",
    )
    assert sums == [
        (8_359, 95_478, 1_084_695, 694_040_598, 21_440_011),
        (1_499, 86_963, 10_843, 100_620_425, 6_766_606),
    ]
    per_session = ask(
        home,
        "SELECT sum(api_messages), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens) FROM sessions",
    )
    assert per_session == [(9_858, 182_441, 1_095_538, 794_661_023)]
    sizes = [path.stat().st_size for path in (corpus / "public").rglob("*.jsonl")]
    assert ask(home, "SELECT count(*), sum(size) FROM transcripts") == [(len(sizes), sum(sizes))]
    # Every message of a transcript has its usage, and every usage row the message it was taken from.
    assert ask(home, "SELECT count(*) FROM usage WHERE NOT is_progress AND key NOT IN (SELECT key FROM messages)") == [
        (0,)
    ]
