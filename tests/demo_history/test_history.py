import ast
import json
import os
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.demo_history.client import ERAS
from tests.demo_history.history import write_history
from tests.demo_history.reading import digest, kind, transcripts

NOW = datetime(2026, 11, 15, 18, 30, tzinfo=UTC)


def era_of_record(record: dict[str, Any]) -> str | None:
    return record.get("version") if record.get("version") in {era.version for era in ERAS} else None


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("history")
    write_history(root, now=NOW)
    return root


@pytest.fixture(scope="module")
def logs(history: Path) -> dict[str, list[dict[str, Any]]]:
    return transcripts(history)


@pytest.fixture(scope="module")
def sessions(logs: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Only transcripts, without history.jsonl."""
    return {path: records for path, records in logs.items() if path.startswith("projects/")}


def test_same_seed_same_bytes(history: Path, tmp_path: Path) -> None:
    write_history(tmp_path, now=NOW)
    assert digest(tmp_path) == digest(history)


def test_other_seed_other_sessions(history: Path, tmp_path: Path) -> None:
    write_history(tmp_path, seed=8, now=NOW)
    assert not {path for path in digest(tmp_path) if path.endswith(".jsonl")} & set(digest(history)) - {"history.jsonl"}


def test_size_and_shape(history: Path, sessions: dict[str, list[dict[str, Any]]]) -> None:
    total = sum(path.stat().st_size for path in history.rglob("*") if path.is_file())
    assert 3_000_000 < total < 8_000_000
    mains = [path for path in sessions if path.count("/") == 2 and "/agent-" not in path]
    assert 55 <= len(mains) <= 90
    assert len({path.split("/")[1] for path in mains}) >= 6


def test_times_end_at_now(history: Path, sessions: dict[str, list[dict[str, Any]]]) -> None:
    stamps = [record["timestamp"] for records in sessions.values() for record in records if "timestamp" in record]
    newest, oldest = max(stamps), min(stamps)
    assert newest <= "2026-11-15T18:30:00.000Z"
    assert newest > "2026-11-15T17"
    assert oldest > (NOW - timedelta(days=61)).strftime("%Y-%m-%dT")
    assert max(path.stat().st_mtime for path in history.rglob("*.jsonl")) <= NOW.timestamp()


def test_mtime_is_the_time_of_the_last_line(history: Path, sessions: dict[str, list[dict[str, Any]]]) -> None:
    for path, records in sessions.items():
        stamps = [record["timestamp"] for record in records if "timestamp" in record]
        if stamps:
            last = datetime.fromisoformat(max(stamps)).timestamp()
            assert 0 <= (history / path).stat().st_mtime - last < 120


def test_parents_resolve(sessions: dict[str, list[dict[str, Any]]]) -> None:
    for path, records in sessions.items():
        known = {record["uuid"] for record in records if "uuid" in record}
        for record in records:
            assert record.get("parentUuid") is None or record["parentUuid"] in known, path
            assert record.get("logicalParentUuid") is None or record["logicalParentUuid"] in known, path


def test_uuids_are_unique_except_in_copies(sessions: dict[str, list[dict[str, Any]]]) -> None:
    files: dict[str, set[str]] = defaultdict(set)
    for path, records in sessions.items():
        counted = Counter(record["uuid"] for record in records if "uuid" in record)
        assert not [uuid for uuid, count in counted.items() if count > 1], path
        for uuid in counted:
            files[uuid].add(path)
    shared = Counter(frozenset(paths) for paths in files.values() if len(paths) > 1)
    # A fork in each era that has the twist, and two branches.
    assert len(shared) >= 5
    assert all(len(paths) == 2 for paths in shared)
    assert min(shared.values()) > 10


def test_message_ids_are_unique_except_in_copies(sessions: dict[str, list[dict[str, Any]]]) -> None:
    lines: dict[str, set[str]] = defaultdict(set)
    for records in sessions.values():
        for record in records:
            if record.get("type") == "assistant":
                lines[record["message"]["id"]].add(record["parentUuid"])
    assert max(len(parents) for parents in lines.values()) < 8


def test_results_answer_calls(sessions: dict[str, list[dict[str, Any]]]) -> None:
    open_calls = []
    for path, records in sessions.items():
        calls, results = [], []
        for record in records:
            content = record["message"]["content"] if record.get("type") in {"user", "assistant"} else []
            for block in content if isinstance(content, list) else []:
                if block["type"] == "tool_use":
                    calls.append(block["id"])
                elif block["type"] == "tool_result":
                    results.append(block["tool_use_id"])
        assert len(results) == len(set(results))
        assert set(results) <= set(calls), path
        open_calls += [call for call in calls if call not in results]
    # A killed client in 2.1.20 and the session that is still running.
    assert 1 <= len(open_calls) <= 4


def test_every_era_and_kind_is_there(sessions: dict[str, list[dict[str, Any]]]) -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for records in sessions.values():
        era = next((found for record in records if (found := era_of_record(record))), "none")
        kinds[era] |= {kind(record) for record in records}
    assert {"user", "assistant", "summary", "system/compact_boundary"} <= kinds["1.0.128"]
    assert {"queue-operation", "file-history-snapshot", "summary"} <= kinds["2.0.76"]
    progress = {f"progress/{name}" for name in ("bash_progress", "hook_progress", "agent_progress", "mcp_progress")}
    assert progress | {"queue-operation", "system/compact_boundary"} <= kinds["2.1.20"]
    assert {
        "attachment/skill_listing",
        "attachment/hook_success",
        "attachment/queued_command",
        "attachment/plan_mode",
        "last-prompt",
        "permission-mode",
        "custom-title",
        "agent-name",
        "ai-title",
        "system/turn_duration",
        "worktree-state",
        "pr-link",
    } <= kinds["2.1.112"]
    assert {
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attachment/prompt_snapshot",
        "attachment/queued_command",
        "continued-in",
        "cost-state",
        "file-history-delta",
        "fork-context-ref",
        "mode",
        "pr-link",
        "system/api_error",
        "system/compact_boundary",
        "system/local_command",
        "system/stop_hook_summary",
        "tools-used",
        "worktree-state",
    } <= kinds["2.1.325"]


def test_every_tool_is_there(sessions: dict[str, list[dict[str, Any]]]) -> None:
    names = {
        block["name"]
        for records in sessions.values()
        for record in records
        if record.get("type") == "assistant"
        for block in record["message"]["content"]
        if block["type"] == "tool_use"
    }
    assert names >= {
        *("Bash", "Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Grep", "Glob", "WebFetch", "WebSearch"),
        *("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "AskUserQuestion", "ExitPlanMode", "Task", "Agent"),
        *("ToolSearch", "mcp__tracker__find_issues", "mcp__browser__screenshot"),
    }


def test_every_layout_is_there(history: Path) -> None:
    def any_of(pattern: str) -> bool:
        return bool(list(history.glob(pattern)))

    for pattern in (
        "projects/*/agent-*.jsonl",
        "projects/*/*/subagents/agent-*.jsonl",
        "projects/*/*/subagents/agent-*.meta.json",
        "projects/*/*/tool-results/toolu_*.txt",
        "projects/*/*/tool-results/b????????.txt",
        "projects/*/*/custom-title.json",
        "projects/*/sessions-index.json",
        "projects/*/memory/MEMORY.md",
        "projects/*--claude-worktrees-*/*.jsonl",
        "todos/*-agent-*.json",
        "tasks/*/1.json",
        "plans/*.md",
        "paste-cache/*.txt",
        "file-history/*/*@v*",
        "sessions/*.json",
        "settings.json",
        "history.jsonl",
    ):
        assert any_of(pattern), pattern


def test_debris_is_there(history: Path, sessions: dict[str, list[dict[str, Any]]]) -> None:
    assert any(path.stat().st_size == 0 for path in history.glob("projects/*/*.jsonl"))
    assert any([record["type"] for record in records] == ["summary"] for records in sessions.values())
    warmups = [
        records for records in sessions.values() if records and records[0].get("message", {}).get("content") == "Warmup"
    ]
    assert {len(records) for records in warmups} == {1, 2}


def test_summaries_name_leaves_of_other_files(sessions: dict[str, list[dict[str, Any]]]) -> None:
    home = {record["uuid"]: path for path, records in sessions.items() for record in records if "uuid" in record}
    named = [
        (path, home[record["leafUuid"]])
        for path, records in sessions.items()
        for record in records
        if record.get("type") == "summary"
    ]
    assert named
    assert all(path != other and path.split("/")[1] == other.split("/")[1] for path, other in named)


def test_index_of_sessions_is_stale(history: Path) -> None:
    for path in history.glob("projects/*/sessions-index.json"):
        named = {entry["sessionId"] for entry in json.loads(path.read_bytes())["entries"]}
        there = {main.stem for main in path.parent.glob("*.jsonl")}
        assert named < there


def test_prompts_of_deleted_sessions_survive(history: Path, logs: dict[str, list[dict[str, Any]]]) -> None:
    lines = logs["history.jsonl"]
    assert [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)
    there = {path.stem for path in history.glob("projects/*/*.jsonl")}
    gone = [line for line in lines if line.get("sessionId") and line["sessionId"] not in there]
    assert len(gone) >= 5
    assert any("sessionId" not in line for line in lines)
    assert any(line["display"].startswith("!") for line in lines)
    assert any(line["display"].startswith("/") for line in lines)
    pasted = [part for line in lines for part in line["pastedContents"].values() if "contentHash" in part]
    assert pasted
    assert all((history / "paste-cache" / f"{part['contentHash']}.txt").is_file() for part in pasted)


def test_kept_outputs_are_named_by_their_lines(history: Path, sessions: dict[str, list[dict[str, Any]]]) -> None:
    named = set()
    for records in sessions.values():
        for record in records:
            result = record.get("toolUseResult")
            if isinstance(result, dict) and "persistedOutputPath" in result:
                named.add(result["persistedOutputPath"].rsplit("/", 1)[-1])
    kept = {path.name for path in history.glob("projects/*/*/tool-results/b*.txt")}
    assert kept == named


def test_languages_and_hostile_text(sessions: dict[str, list[dict[str, Any]]]) -> None:
    text = json.dumps(list(sessions.values()), ensure_ascii=False)
    for part in ("梅雨", "fâcheux", "👨‍👩‍👧‍👦", "<script>", "\\u001b["):
        assert part in text


def test_default_now_is_the_present(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    write_history(tmp_path, days=7)
    newest = max(path.stat().st_mtime for path in tmp_path.rglob("*.jsonl"))
    assert before - timedelta(hours=2) < datetime.fromtimestamp(newest, UTC) <= datetime.now(UTC)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_modes(history: Path) -> None:
    assert (history / "history.jsonl").stat().st_mode & 0o777 == 0o600
    modes = {path.stat().st_mode & 0o777 for path in history.glob("projects/*/*.jsonl")}
    assert modes == {0o600, 0o644}


def test_the_generator_imports_nothing_of_hansard() -> None:
    modules = [path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")]
    assert len(modules) > 10
    for path in modules:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        assert "hansard" not in {name.partition(".")[0] for name in names}, path
