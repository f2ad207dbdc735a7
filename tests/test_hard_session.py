import json
from pathlib import Path
from typing import Any

import pytest

from tests.demo_history.reading import digest, kind, transcripts
from tests.hard_session import write_hard_session


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hard")


@pytest.fixture(scope="module")
def session(root: Path) -> str:
    return write_hard_session(root)


@pytest.fixture(scope="module")
def records(root: Path, session: str) -> list[dict[str, Any]]:
    (path,) = root.glob(f"projects/*/{session}.jsonl")
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_same_seed_same_bytes(root: Path, session: str, tmp_path: Path) -> None:
    assert write_hard_session(tmp_path) == session
    assert digest(tmp_path) == digest(root)


def test_parents_resolve(root: Path, session: str) -> None:
    for path, records in transcripts(root).items():
        known = {record["uuid"] for record in records if "uuid" in record}
        assert all(record.get("parentUuid") is None or record["parentUuid"] in known for record in records), path


def test_every_block_is_there(records: list[dict[str, Any]]) -> None:
    blocks = set()
    for record in records:
        content = record["message"]["content"] if record["type"] in {"user", "assistant"} else []
        for block in content if isinstance(content, list) else []:
            blocks.add(block["type"])
            inner = block.get("content")
            blocks |= {f"result/{part['type']}" for part in inner} if isinstance(inner, list) else set()
    assert blocks == {
        *("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document"),
        *("result/text", "result/image", "result/tool_reference"),
    }


def test_unknown_kinds_are_there(records: list[dict[str, Any]]) -> None:
    assert {"record-of-tomorrow", "attachment/kind_of_tomorrow"} <= {kind(record) for record in records}


def test_raw_separators_stand_inside_lines(root: Path, session: str) -> None:
    (path,) = root.glob(f"projects/*/{session}.jsonl")
    data = path.read_bytes()
    assert len(data.decode().splitlines()) > data.count(b"\n")


def test_side_files(root: Path, session: str) -> None:
    folder = next(iter(root.glob(f"projects/*/{session}")))
    assert len(list(folder.glob("subagents/agent-*.jsonl"))) == 6
    metas = [json.loads(path.read_bytes()) for path in folder.glob("subagents/*.meta.json")]
    assert max(meta["spawnDepth"] for meta in metas) == 3
    assert len(list(folder.glob("tool-results/*.txt"))) == 2
    assert len(list(folder.glob("subagents/workflows/*/journal.jsonl"))) == 1
    for pattern in ("tasks/*/2.json", "plans/*.md", "paste-cache/*.txt", "file-history/*/*", "history.jsonl"):
        assert list(root.glob(pattern)), pattern


def test_siblings(root: Path, session: str, records: list[dict[str, Any]]) -> None:
    others = [path.stem for path in root.glob("projects/*/*.jsonl") if path.stem != session]
    assert len(others) == 2
    (went,) = [record["continuedInSessionId"] for record in records if record["type"] == "continued-in"]
    assert went in others
