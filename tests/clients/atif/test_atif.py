"""Trajectories: what their steps mean, a session that is exported and imported again, and importing itself."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.clients.atif import TrajectoryLines
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.model.sessions import Session
from hansard.model.threads import Entry
from tests.clients.atif.history import SESSION, trajectory, write
from tests.hard_session import write_hard_session

TOOLS = ("tool", "input", "output", "is_error", "duration_ms")


@pytest.fixture
def h(tmp_path: Path) -> Iterator[Hansard]:
    write(tmp_path / "root")
    with hansard.open(tmp_path / "store", [tmp_path / "root"]) as opened:
        opened.sync()
        yield opened


def test_what_steps_mean(h: Hansard) -> None:
    session = h.session(SESSION)
    assert (session.project, session.branch, session.version) == ("/srv/tides", "main", "2.0")
    assert (session.images, session.tool_errors, session.agents, session.issues) == (1, 1, 1, 0)
    entries = list(h.read(session).entries())
    assert [(entry.kind, entry.text) for entry in entries if entry.tool is None] == [
        ("note", "You are an agent."),
        ("prompt", "When is high water in Emden?"),
        ("thinking", "An almanac?"),
        ("reply", "I look."),
        ("output", "a warning"),
        ("reply", "At 17:40."),
        ("prompt", "Thank you."),
    ]
    calls = [entry.tool for entry in entries if entry.tool is not None]
    assert [(call.tool, call.output, call.is_error) for call in calls] == [
        ("bash", "05:12 17:40", False),
        ("read_file", "no such file", True),
        ("delegate", "It is Thursday.", False),
    ]
    (agent,) = h.agents(SESSION)
    assert (agent.tool_use_id, calls[2].agent_id) == ("c3", agent.agent_id)
    inside = [(entry.kind, entry.text) for entry in h.read(session, agent.agent_id).entries()]
    assert inside == [("prompt", 'Which day is it? {"steps": [}'), ("reply", "It is Thursday.")]


def test_usage_is_what_the_steps_state(h: Hansard) -> None:
    session = h.session(SESSION)
    assert session.api_messages == 3  # without the copied step
    assert (session.input_tokens, session.output_tokens, session.cache_read_tokens) == (110, 35, 160)
    assert session.cost_usd is not None
    assert str(session.cost_usd) == "0.003000000"


def test_totals_count_where_no_step_states_its_usage(tmp_path: Path) -> None:
    document = trajectory()
    del document["subagent_trajectories"]
    document["final_metrics"] |= {"total_prompt_tokens": 500, "total_completion_tokens": 50, "total_cached_tokens": 300}
    document["final_metrics"]["total_cost_usd"] = 0.25
    found = []
    for number in range(2):
        (tmp_path / "x.json").write_text(json.dumps(document))
        imported(tmp_path / f"store{number}", tmp_path / "x.json")
        with hansard.open(tmp_path / f"store{number}") as h:
            session = h.session(SESSION)
            found.append((session.api_messages, session.input_tokens, session.output_tokens, str(session.cost_usd)))
            assert session.models == ("claude-sonnet-4-5",)
        for step in document["steps"]:
            step.pop("metrics", None)
    assert found == [(2, 60, 30, "0.002000000"), (1, 200, 50, "0.250000000")]


def test_lines_from_any_step_on_are_the_same() -> None:
    for data in (json.dumps(trajectory(), indent=1).encode(), json.dumps(trajectory()).encode()):
        whole = list(TrajectoryLines([data], 0))
        assert len([line for _, line in whole if b'"step_id"' in line]) == 9
        assert all(data[offset : offset + len(line)] == line for offset, line in whole)
        for number, (offset, line) in enumerate(whole):
            if not line.lstrip().startswith(b"{") or line.endswith(b"["):
                continue
            assert list(TrajectoryLines([data[offset:]], offset)) == whole[number:]
            behind = offset + len(line)
            assert list(TrajectoryLines([data[behind:]], behind)) == whole[number + 1 :]


@pytest.mark.parametrize("cut", [1, 200, 900, 2000, -1])
def test_a_torn_document_keeps_its_complete_steps(cut: int) -> None:
    data = json.dumps(trajectory()).encode()
    lines = TrajectoryLines([data[:cut]], 0)
    found = list(lines)
    assert found == list(TrajectoryLines([data], 0))[: len(found)]
    assert lines.offset + len(lines.rest) == len(data[:cut])


# -- a session that is exported and imported again


def shape(entry: Entry) -> tuple[object, ...]:
    call = entry.tool
    kind = "note" if entry.kind in ("output", "note") else entry.kind
    return kind, entry.text, entry.branch, call and tuple(getattr(call, name) for name in TOOLS)


def figures(session: Session) -> list[object]:
    names = "title project branch version prompts tool_calls tool_errors agents api_messages input_tokens output_tokens"
    more = "cache_read_tokens cache_write_tokens cost_usd lower_bound_messages"
    return [getattr(session, name) for name in f"{names} {more}".split()]


def test_what_was_exported_is_the_same_when_it_is_imported(tmp_path: Path) -> None:
    session_id = write_hard_session(tmp_path / "claude")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.export([session_id], tmp_path / "x.atif.json")
        h.import_file(tmp_path / "x.atif.json")  # beside the original
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        original, again = h.session(session_id), h.session(f"atif-{session_id}")
        assert figures(again) == figures(original)
        threads = [(h.read(original), h.read(again))]
        pairs = zip(h.agents(session_id), h.agents(again.session_id), strict=True)
        threads += [(h.read(original, one.agent_id), h.read(again, other.agent_id)) for one, other in pairs]
        assert len(threads) == 7
        for one, other in threads:
            expected = [shape(entry) for entry in one.entries()]
            found = [shape(entry) for entry in other.entries()]
            # In an answer, texts come before calls.
            assert [entry for entry in found if not entry[3]] == [entry for entry in expected if not entry[3]]
            assert [entry for entry in found if entry[3]] == [entry for entry in expected if entry[3]]


# -- files that are imported


def imported(home: Path, file: Path) -> int:
    """Import a file and sync; gives how many trajectories were new."""
    with hansard.open(home) as h:
        (report,) = h.import_file(file)
        assert (report.client, report.conversations) == ("atif", 1)
    with hansard.open(home) as h:
        h.sync()
    return report.written


def test_an_import_is_a_private_copy(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(trajectory()))
    assert imported(tmp_path / "store", tmp_path / "x.json") == 1
    copy = tmp_path / f"store/imports/atif/atif-conversations/{SESSION}.json"
    assert copy.read_bytes() == (tmp_path / "x.json").read_bytes()
    if os.name != "nt":
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    (tmp_path / "x.json").unlink()
    with hansard.open(tmp_path / "store") as h:
        assert h.session(SESSION).source_state == "live"


def test_nothing_that_was_imported_is_replaced(tmp_path: Path) -> None:
    store, source = tmp_path / "store", tmp_path / "x.json"
    source.write_text(json.dumps(trajectory()))
    assert [imported(store, source), imported(store, source)] == [1, 0]
    source.write_text(json.dumps(trajectory() | {"notes": "other"}))
    assert [imported(store, source), imported(store, source)] == [1, 0]
    with hansard.open(store) as h:
        assert {session.session_id for session in h.sessions().sessions} == {SESSION, f"{SESSION}-2"}


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b'{"schema_version": "ATIF-v2.0", "steps": []}', b'{"schema_version": "ATIF-v1.7", "steps": 1}'],
)
def test_other_files_are_rejected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with hansard.open(tmp_path / "store") as h, pytest.raises(UsageError, match="no conversations"):
        h.import_file(tmp_path / "x.json")


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a/b", "..", "x\0y", "run 7", "ü"])
def test_a_hostile_id_does_not_leave_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.json").write_text(json.dumps(trajectory() | {"session_id": name}))
    assert imported(tmp_path / "store", tmp_path / "x.json") == 1
    assert len(list((tmp_path / "store/imports/atif/atif-conversations").iterdir())) == 1
    with hansard.open(tmp_path / "store") as h:
        (session,) = h.sessions().sessions
        assert session.prompts == 2
