import hashlib
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import hansard
from benchmarks.load.dense import DenseStats, write_dense
from benchmarks.load.wording import STOP, Wording
from benchmarks.searching import rows
from hansard.errors import UsageError

BLOCKS = 4000

Records = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DenseStats]:
    root = tmp_path_factory.mktemp("dense")
    return root, write_dense(root, blocks=BLOCKS)


@pytest.fixture(scope="module")
def records(written: tuple[Path, DenseStats]) -> Records:
    root, _ = written
    return {
        path.relative_to(root).as_posix(): [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        for path in sorted(root.rglob("*.jsonl"))
    }


def said(records: Records) -> list[dict[str, Any]]:
    """Every content block, of forks too; a prompt is a block of its own."""
    found: list[dict[str, Any]] = []
    for lines in records.values():
        for record in lines:
            if record["type"] in ("user", "assistant"):
                content = record["message"]["content"]
                found += content if isinstance(content, list) else [{"type": "prompt", "text": content}]
    return found


def text_of(block: dict[str, Any]) -> str:
    if block["type"] == "tool_use":
        return "\n".join(block["input"].values())
    return str(block.get("content") or block.get("thinking") or block.get("text"))


def test_exactly_so_many_blocks(written: tuple[Path, DenseStats], records: Records) -> None:
    root, stats = written
    assert stats.blocks == BLOCKS
    assert len(said(records)) == stats.blocks + stats.copied_blocks
    assert stats.bytes == sum(path.stat().st_size for path in root.rglob("*.jsonl"))
    assert stats.lines == sum(map(len, records.values()))
    assert stats.files == len(records)


def test_they_are_the_blocks_that_hansard_indexes(written: tuple[Path, DenseStats], tmp_path: Path) -> None:
    root, stats = written
    with hansard.open(tmp_path / "store", [root]) as h:
        assert h.sync().issues == 0
    blocks = rows(str(tmp_path / "store"))["rows"]
    titles = stats.sessions
    assert stats.blocks <= blocks <= stats.blocks + stats.copied_blocks + titles


def test_lines_are_hardly_more_than_their_text(written: tuple[Path, DenseStats]) -> None:
    stats = written[1]
    assert 500 < stats.text_bytes / stats.blocks < 1000
    assert stats.bytes / (stats.blocks + stats.copied_blocks) < 1800


def test_same_seed_same_bytes(written: tuple[Path, DenseStats], tmp_path: Path) -> None:
    def digest(root: Path) -> dict[str, str]:
        paths = sorted(root.rglob("*.jsonl"))
        return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

    write_dense(tmp_path / "same", blocks=BLOCKS)
    assert digest(tmp_path / "same") == digest(written[0])
    write_dense(tmp_path / "other", blocks=BLOCKS, seed=8)
    assert digest(tmp_path / "other") != digest(written[0])


def test_words_are_as_frequent_as_in_language(records: Records) -> None:
    prose = [text_of(block) for block in said(records) if block["type"] in ("prompt", "text", "thinking")]
    often = Counter(word for text in prose for word in set(text.lower().split()))
    assert often["the"] > 0.5 * len(prose)
    assert sum(often[word] > 0.2 * len(prose) for word in STOP) > 5
    names = Counter(name for block in said(records) for name in set(re.findall(r"\w+", text_of(block))))
    assert sum(count == 1 for count in names.values()) > 0.15 * len(names)


def test_everything_that_is_searched_for_is_there(records: Records) -> None:
    blocks = said(records)
    text = "\n".join(map(text_of, blocks))
    assert any("\u4e00" <= character <= "\u9fff" for character in text)
    assert "é" in text
    assert any(block.get("is_error") for block in blocks)
    assert {block["name"] for block in blocks if block["type"] == "tool_use"} >= {
        "Bash",
        "Read",
        "Grep",
        "Edit",
        "Write",
    }
    lines = [record for group in records.values() for record in group if record["type"] == "user"]
    assert len({record["cwd"] for record in lines}) > 3
    assert len({record["gitBranch"] for record in lines}) > 3
    assert len({record["timestamp"][:7] for record in lines}) > 6
    assert any("structuredPatch" in record.get("toolUseResult", {}) for record in lines)


def test_calls_and_results_pair(records: Records) -> None:
    for lines in records.values():
        content = [block for record in lines if record["type"] != "ai-title" for block in record["message"]["content"]]
        blocks = [block for block in content if isinstance(block, dict)]
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert results == calls[: len(results)]
        assert len(calls) - len(results) <= 1  # the last block may be a call


def test_parents_resolve_and_forks_copy_uuids(tmp_path: Path) -> None:
    stats = write_dense(tmp_path, blocks=10_000, seed=3)
    seen: Counter[str] = Counter()
    for path in tmp_path.rglob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        known = {record["uuid"] for record in lines if "uuid" in record}
        assert all(record.get("parentUuid") in known | {None} for record in lines)
        assert {record["sessionId"] for record in lines} <= {path.stem, path.parts[-3]}
        seen.update(known)
    assert stats.copied_blocks == sum(count - 1 for count in seen.values()) > 0


def test_progress_and_refusal(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_dense(tmp_path, blocks=500, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (500, 500)
    with pytest.raises(UsageError, match="too few"):
        write_dense(tmp_path, blocks=0)


def test_rare_names_are_many() -> None:
    wording = Wording(random.Random(1))
    drawn = Counter(wording.rare() for _ in range(20_000))
    assert sum(count == 1 for count in drawn.values()) > 5000
    assert drawn.most_common(1)[0][1] > 200
