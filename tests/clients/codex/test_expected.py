"""Real rollouts of every generation, against what a separate script counted in them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

import hansard

TRANSCRIPT = "id BETWEEN ? << 40 AND (? << 40) + (1 << 40) - 1"
OWN = "id >= (? << 40) + ? AND id <= (? << 40) + (1 << 40) - 1"
TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens")


@pytest.fixture(scope="module")
def real(corpus: Path) -> Path:
    folder = corpus / "agents/agents/codex"
    if not folder.is_dir():
        pytest.skip("no histories of other agents")
    return folder


@pytest.fixture(scope="module")
def index(real: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home = tmp_path_factory.mktemp("codex")
    loose = home / "loose/sessions/2025"
    loose.mkdir(parents=True)
    shutil.copy(real / "fixtures-agent-history/compaction/codex/session_with_compaction.jsonl", loose)
    roots = {path.parent for name in ("sessions", "archived_sessions") for path in real.glob(f"*/{name}")}
    with hansard.open(home / "store", [*sorted(roots), home / "loose"]) as h:
        h.sync()
    connection = apsw.Connection(str(home / "store/index.db"), flags=apsw.SQLITE_OPEN_READONLY)
    yield connection
    connection.close()


def counted(index: Any, name: str) -> dict[str, Any]:
    """What the index has of a rollout, in the words of the script."""
    ((id_, copied, records, first, kinds),) = index.execute(
        "SELECT id, copied, records, first_ts, (SELECT json_group_object(kind, count) FROM record_kinds k WHERE k.transcript = t.id)"
        " FROM transcripts t WHERE path LIKE ?",
        (f"%{name}",),
    ).fetchall()
    whole, own = (id_, id_), (id_, copied, id_)
    kind_counts = json.loads(kinds)

    def count(sql: str) -> int:
        return int(index.execute(sql, own).get)

    tokens = index.execute(
        "SELECT coalesce(sum(u.input + u.cache_read + u.cache_write), 0), coalesce(sum(u.cache_read), 0), coalesce(sum(u.output), 0)"
        f" FROM messages m JOIN usage u ON u.key = m.key WHERE m.{TRANSCRIPT}",
        whole,
    ).get
    calls = index.execute(
        f"SELECT tool, tool_use_id, result_id IS NOT NULL FROM tool_calls WHERE {OWN} AND part = 0",
        own,
    ).fetchall()
    return {
        "records": records,
        "prompts": count(f"SELECT count(*) FROM records WHERE {OWN} AND role IN ('prompt', 'instruction')"),
        "replies": count(
            f"SELECT count(*) FROM blocks WHERE {OWN} AND kind = 'text' AND id IN (SELECT id FROM records WHERE role = 'reply')"
        ),
        "calls": len(calls),
        "results": sum(is_answered for _, _, is_answered in calls),
        "tools": Counter(tool.removeprefix("mcp__") for tool, _, _ in calls),
        "compactions": count(f"SELECT count(*) FROM compactions WHERE {OWN}"),
        "reasoning": count(f"SELECT count(DISTINCT id - n) FROM blocks WHERE {OWN} AND kind = 'thinking'")
        + kind_counts.get("reasoning", 0),
        "inherited": kind_counts.get("inherited", 0),
        "tokens": dict(zip(TOKENS, tokens, strict=True)),
        "start": datetime.fromtimestamp(first // 1000, UTC).isoformat()[:19],
    }


def test_every_rollout_agrees(index: Any, real: Path) -> None:
    wrong = []
    for line in (real / "EXPECT.jsonl").read_text().splitlines():
        expected = json.loads(line)
        found = counted(index, expected["file"])
        wanted = {name: expected[name] for name in found if name in expected}
        wanted["tools"] = Counter(expected["tools"])
        wanted["tokens"] = {name: expected["tokens"].get(name, 0) for name in TOKENS}
        wrong += [
            (expected["file"], name, found[name], value) for name, value in wanted.items() if found[name] != value
        ]
    assert wrong == []


def test_every_answer_has_the_model_of_its_turn(index: Any, real: Path) -> None:
    for line in (real / "EXPECT.jsonl").read_text().splitlines():
        expected = json.loads(line)
        models = index.execute(
            "SELECT DISTINCT m.model FROM messages m JOIN transcripts t ON t.path LIKE ? AND m.id >> 40 = t.id",
            (f"%{expected['file']}",),
        ).fetchall()
        assert {model for (model,) in models} <= set(expected["models"])


def test_subagents_belong_to_the_session_that_started_them(index: Any) -> None:
    found = index.execute(
        "SELECT a.session_id, a.agent_id, a.agent_type, a.linked_by FROM agents a JOIN transcripts t ON t.id = a.transcript WHERE t.root LIKE '%0.166.0'"
    ).fetchall()
    parent, child = "01a1e3d1-e327-7b30-a731-cfc845d811b9", "01a1e3d1-e486-7bb1-a7f1-6ff9b79116c1"
    assert found == [(parent, child, "Planck", "result")]


def test_forks_and_titles(index: Any) -> None:
    forked = index.execute("SELECT source, target FROM links WHERE relation = 'branch'").fetchall()
    assert ("01a1e3d1-7422-70c3-8427-a235986ecaf6", "01a1e3d1-de4e-7531-b260-745fae2435f4") in forked
    titles: dict[str, str] = dict(index.execute("SELECT session_id, title FROM sessions").fetchall())
    assert titles["019e0317-0939-7262-9c00-59e4b98f1c8b"] == "Build physics reasoning pipeline"
    assert titles["019cfd89-1bf4-7aa1-8b37-259f8981f332"] == "Respond to greeting"


def test_patches_are_edits_with_lines(index: Any) -> None:
    rows = index.execute(
        "SELECT change, count(*), sum(added), sum(removed), sum(path LIKE '/%') FROM tool_calls"
        " WHERE tool = 'apply_patch' AND path IS NOT NULL AND id >> 40 = (SELECT id FROM transcripts WHERE path LIKE '%019e0317-0939%') GROUP BY 1"
    ).fetchall()
    assert rows == [("create", 16, 1031, 0, 16), ("edit", 31, 820, 56, 31)]
