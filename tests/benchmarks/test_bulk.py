import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load.bulk import BulkStats, write_bulk
from hansard.errors import UsageError

TOTAL = 6 << 20


def write_small(root: Path) -> BulkStats:
    return write_bulk(root, total_bytes=TOTAL, files=24, biggest=1 << 20, long_line=1 << 20)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BulkStats]:
    root = tmp_path_factory.mktemp("bulk")
    return root, write_small(root)


@pytest.fixture(scope="module")
def records(written: tuple[Path, BulkStats]) -> dict[str, list[dict[str, Any]]]:
    root, _ = written
    return {
        path.relative_to(root).as_posix(): [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        for path in sorted(root.rglob("*.jsonl"))
    }


def test_what_was_asked_for_was_written(
    written: tuple[Path, BulkStats], records: dict[str, list[dict[str, Any]]]
) -> None:
    root, stats = written
    sizes = [path.stat().st_size for path in root.rglob("*.jsonl")]
    assert stats.files == len(sizes) == 24
    assert stats.bytes == sum(sizes)
    assert stats.lines == sum(len(lines) for lines in records.values())
    assert 0.9 < stats.bytes / TOTAL < 1.15
    assert max(sizes) >= 1 << 20
    longest = max(len(line) for path in root.rglob("*.jsonl") for line in path.read_bytes().split(b"\n"))
    assert longest >= 1 << 20


def test_same_seed_same_bytes(written: tuple[Path, BulkStats], tmp_path: Path) -> None:
    def digest(root: Path) -> dict[str, str]:
        paths = sorted(root.rglob("*.jsonl"))
        return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

    write_small(tmp_path)
    assert digest(tmp_path) == digest(written[0])


def test_identifiers_are_unique_and_parents_resolve(records: dict[str, list[dict[str, Any]]]) -> None:
    uuids = [record["uuid"] for lines in records.values() for record in lines]
    assert len(uuids) == len(set(uuids))
    for lines in records.values():
        known = {record["uuid"] for record in lines}
        assert all(record["parentUuid"] is None or record["parentUuid"] in known for record in lines)


def test_calls_and_results_pair(written: tuple[Path, BulkStats], records: dict[str, list[dict[str, Any]]]) -> None:
    calls, results = [], []
    for lines in records.values():
        for record in lines:
            content = record["message"]["content"] if record["type"] != "progress" else ""
            for block in content if isinstance(content, list) else []:
                if block["type"] == "tool_use":
                    calls.append(block["id"])
                elif block["type"] == "tool_result":
                    results.append(block["tool_use_id"])
    assert len(calls) == len(set(calls)) == written[1].tool_calls
    assert sorted(calls) == sorted(results)


def test_totals_are_those_of_the_lines(
    written: tuple[Path, BulkStats], records: dict[str, list[dict[str, Any]]]
) -> None:
    messages = {
        record["message"]["id"]: record["message"]["usage"]
        for lines in records.values()
        for record in lines
        if record["type"] == "assistant"
    }
    stats = written[1]
    assert stats.api_messages == len(messages)
    assert stats.output_tokens == sum(usage["output_tokens"] for usage in messages.values())
    assert stats.input_tokens == sum(usage["input_tokens"] for usage in messages.values())
    assert stats.cache_read_tokens == sum(usage["cache_read_input_tokens"] for usage in messages.values())
    assert stats.cache_write_tokens == sum(usage["cache_creation_input_tokens"] for usage in messages.values())


def test_layouts(records: dict[str, list[dict[str, Any]]]) -> None:
    agents = [path for path in records if "/subagents/agent-" in path]
    assert 0 < len(agents) < len(records)
    mains = {path.removesuffix(".jsonl") for path in records}
    assert all(path.split("/subagents/", maxsplit=1)[0] in mains for path in agents)


def test_it_shrinks_like_real_transcripts(written: tuple[Path, BulkStats]) -> None:
    big = max(written[0].rglob("*.jsonl"), key=lambda path: len(path.read_bytes().split(b"\n")))
    data = big.read_bytes()[: 1 << 18]
    assert 0.08 < len(zlib.compress(data, 3)) / len(data) < 0.28


def test_without_the_large_ones(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    stats = write_bulk(
        tmp_path,
        total_bytes=1 << 20,
        files=10,
        biggest=0,
        long_line=0,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert stats.files == 10
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (stats.bytes, 1 << 20)


def test_too_little_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too few"):
        write_bulk(tmp_path, total_bytes=1 << 20)
