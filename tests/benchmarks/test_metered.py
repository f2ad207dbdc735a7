import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import hansard
from benchmarks.load.metered import CLIENTS, LONG, NOBODYS, MeteredStats, write_metered
from hansard.errors import UsageError

MESSAGES = 12_000

Records = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MeteredStats]:
    root = tmp_path_factory.mktemp("metered")
    return root, write_metered(root, messages=MESSAGES)


@pytest.fixture(scope="module")
def records(written: tuple[Path, MeteredStats]) -> Records:
    root, _ = written
    return {
        path.relative_to(root).as_posix(): [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        for path in sorted(root.rglob("*.jsonl"))
    }


def answers(records: Records) -> list[dict[str, Any]]:
    return [line for lines in records.values() for line in lines if line["type"] == "assistant"]


def test_what_was_written_is_told(written: tuple[Path, MeteredStats], records: Records) -> None:
    root, stats = written
    assert stats.messages == MESSAGES == len({line["message"]["id"] for line in answers(records)})
    assert stats.files == len(records)
    assert stats.lines == sum(map(len, records.values()))
    assert stats.bytes == sum(path.stat().st_size for path in root.rglob("*.jsonl"))
    assert 1.2 < stats.answer_lines / stats.messages < 1.6
    assert stats.bytes / stats.messages < 1200  # a million of them in little more than a gigabyte
    times = sorted(line["timestamp"] for line in answers(records))
    assert times[0] < "2025-12"
    assert times[-1] > "2026-10"


def test_hansard_counts_what_was_written(written: tuple[Path, MeteredStats], tmp_path: Path) -> None:
    root, stats = written
    with hansard.open(tmp_path / "store", [root]) as h:
        assert h.sync().issues == 0
        totals = h.usage(by="total").totals
        quarters = h.reader.one("SELECT count(*) FROM spending")[0]
    assert (totals.api_messages, totals.lower_bound_messages) == (stats.messages, stats.lower_bounds)
    assert (totals.input_tokens, totals.output_tokens) == (stats.input_tokens, stats.output_tokens)
    assert totals.cache_read_tokens == stats.cache_read_tokens
    assert totals.cache_write_5m_tokens == stats.cache_write_5m_tokens
    assert totals.cache_write_1h_tokens == stats.cache_write_1h_tokens
    assert totals.web_searches == stats.web_searches
    assert totals.cost_usd
    assert 4 < stats.messages / quarters < 16  # 8 in the public transcripts


def test_same_seed_same_bytes(written: tuple[Path, MeteredStats], tmp_path: Path) -> None:
    def digest(root: Path) -> dict[str, str]:
        paths = sorted(path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

    write_metered(tmp_path / "same", messages=MESSAGES)
    assert digest(tmp_path / "same") == digest(written[0])
    write_metered(tmp_path / "other", messages=MESSAGES, seed=8)
    assert digest(tmp_path / "other") != digest(written[0])


def test_lines_of_an_answer_repeat_or_fall_short(records: Records) -> None:
    lines: dict[str, list[dict[str, Any]]] = {}
    for name, group in records.items():
        for line in group:
            if line["type"] == "assistant" and line["sessionId"] in name:
                lines.setdefault(line["message"]["id"], []).append(line)
    several = [group for group in lines.values() if len({line["uuid"] for line in group}) > 1]
    assert len(several) > MESSAGES / 10
    outputs = [{line["message"]["usage"]["output_tokens"] for line in group} for group in several]
    assert any(len(found) > 1 for found in outputs)
    assert any(len(found) == 1 for found in outputs)
    assert {line["message"]["stop_reason"] for group in several for line in group} == {None, "tool_use", "end_turn"}


def test_everything_that_the_ledger_knows_is_there(records: Records) -> None:
    lines = answers(records)
    used = [line["message"]["usage"] for line in lines]
    assert {line["version"] for line in lines} == {client.version.decode() for client in CLIENTS}
    models = {line["message"]["model"] for line in lines}
    assert len(models) >= 8
    assert NOBODYS.decode() in models
    assert any(usage["cache_creation"]["ephemeral_1h_input_tokens"] for usage in used)
    assert any(usage["cache_creation"]["ephemeral_5m_input_tokens"] for usage in used)
    assert 200_000 < max(usage["cache_read_input_tokens"] for usage in used) < LONG
    assert {usage.get("speed") for usage in used} == {None, "standard"}
    assert any("server_tool_use" in usage for usage in used)
    assert any(line["isSidechain"] for line in lines)
    assert len({line["cwd"] for line in lines}) > 5
    assert len({line["gitBranch"] for line in lines}) > 3
    calls = [block for line in lines for block in line["message"]["content"] if block["type"] == "tool_use"]
    assert {block["name"] for block in calls} >= {"Bash", "Read", "Grep", "Edit", "Write", "Glob", "Task"}


def test_forks_copy_and_parents_resolve(tmp_path: Path) -> None:
    stats = write_metered(tmp_path, messages=MESSAGES, seed=10)
    seen: Counter[str] = Counter()
    for path in tmp_path.rglob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        known = {line["uuid"] for line in lines}
        assert all(line["parentUuid"] in known | {None} for line in lines)
        assert {line["sessionId"] for line in lines} <= {path.stem, path.parts[-3]}
        assert [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)
        seen.update(known)
    assert stats.copied_lines == sum(count - 1 for count in seen.values()) > 0


def test_progress_and_refusal(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    stats = write_metered(tmp_path, messages=500, progress=lambda done, total: told.append((done, total)))
    assert stats.messages == 500
    assert told == sorted(told)
    assert told[-1] == (500, 500)
    with pytest.raises(UsageError, match="too few"):
        write_metered(tmp_path, messages=0)
