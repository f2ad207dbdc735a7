"""Files for other tools: trajectories, traces and spans agree with the ledger and keep their formats' rules."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.export.formats import find_format
from hansard.model.sessions import Session
from tests.cli.conftest import OTHER, SESSION, runner, said, write_log
from tests.clients.test_invented import FOLIO, installed, store
from tests.export.trajectories import check_references, check_trajectory, trajectories

__all__ = ["installed", "store"]  # fixtures
SECRET = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"


def figures(session: Session) -> list[Any]:
    counts = [session.input_tokens, session.output_tokens, session.cache_read_tokens, session.cache_write_tokens]
    return [session.api_messages, *counts, session.cost_usd or 0]


def exported(h: Hansard, tmp_path: Path, form: str) -> Iterator[tuple[Session, Path]]:
    sessions = h.sessions(limit=None, debris=True).sessions
    done = h.export(sessions, tmp_path / form, format=form, redact=False)
    assert not done.failed
    assert done.not_included
    files = {file.session_id: Path(file.path) for file in done.files}
    for session in sessions:
        yield session, files[session.session_id]


def spans_of(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for line in path.read_bytes().splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    yield span, {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


# -- trajectories


def test_the_metrics_of_trajectories_are_those_of_the_ledger(demo: Hansard, tmp_path: Path) -> None:
    references = 0
    for session, path in exported(demo, tmp_path, "atif"):
        document = json.loads(path.read_bytes())
        check_trajectory(document)
        references += check_references(document)
        found: list[Any] = [0, 0, 0, 0, 0, Decimal(0)]
        for one in trajectories(document):
            totals = [0, 0, 0]
            for step in one["steps"]:
                if "metrics" not in step:
                    continue
                metrics, extra = step["metrics"], step["metrics"]["extra"]
                written = extra.get("cache_creation_input_tokens", 0)
                counts = [extra["input_tokens"], metrics["completion_tokens"], metrics["cached_tokens"], written]
                assert metrics["prompt_tokens"] == counts[0] + counts[2] + counts[3]
                new = [step["llm_call_count"], *counts, Decimal(extra.get("cost_usd", "0"))]
                found = [a + b for a, b in zip(found, new, strict=True)]
                names = ("prompt_tokens", "completion_tokens", "cached_tokens")
                totals = [total + metrics[name] for total, name in zip(totals, names, strict=True)]
            final = one["final_metrics"]
            assert totals == [final.get(f"total_{name}_tokens", 0) for name in ("prompt", "completion", "cached")]
        final = document["final_metrics"]
        assert final.get("total_cost_usd", 0) == float(session.cost_usd or 0)
        assert final["extra"]["session"].get("api_messages_without_step", 0) == 0
        assert found == figures(session)
    assert references > 5


def test_a_step_is_an_answer_with_its_calls_and_their_results(demo: Hansard, tmp_path: Path) -> None:
    for session, path in exported(demo, tmp_path, "atif"):
        document = json.loads(path.read_bytes())
        entries = list(demo.read(session).entries())
        steps = document["steps"]
        prompts = [step for step in steps if step["source"] == "user"]
        assert len(prompts) == sum(entry.kind in ("prompt", "command", "bash") for entry in entries)
        calls = [call for step in steps for call in step.get("tool_calls", [])]
        known = [entry.tool for entry in entries if entry.tool is not None]
        assert [call["function_name"] for call in calls] == [call.tool for call in known]
        results = [one for step in steps for one in step.get("observation", {}).get("results", [])]
        assert sum("content" in one for one in results) == sum(call.output is not None for call in known)
        assert sum(one.get("extra", {}).get("is_error", False) for one in results) == sum(
            call.is_error for call in known
        )


def test_what_another_session_began_is_marked_as_copied(demo: Hansard, tmp_path: Path) -> None:
    copied = Counter(
        session.session_id
        for session, path in exported(demo, tmp_path, "atif")
        for step in json.loads(path.read_bytes())["steps"]
        if step.get("is_copied_context")
    )
    links = [link for session in demo.sessions(limit=None).sessions for link in demo.links(session.session_id)]
    assert copied
    assert set(copied) <= {end for link in links for end in (link.source, link.target)}


# -- traces


def test_traces_are_the_lines_of_the_transcripts(demo: Hansard, tmp_path: Path) -> None:
    for session, path in exported(demo, tmp_path, "traces"):
        recorded = Counter[bytes]()
        for transcript in demo.transcripts(session.session_id):
            if transcript.kind in ("main", "agent") and transcript.current:
                number, _ = demo.find_transcript(transcript.path)
                recorded.update(b"".join(demo.transcript_bytes(number)).split(b"\n"))
        written = Counter(path.read_bytes().split(b"\n"))
        assert not written - recorded
        for line in recorded - written:  # nothing but lines that are not JSON is missing
            with pytest.raises(ValueError, match=r".*"):
                json.loads(line)


def test_only_lines_with_a_secret_are_written_anew(tmp_path: Path) -> None:
    root = tmp_path / "claude"
    lines = [said(1, "When is high tide?"), said(2, f'Use "{SECRET}"\n', role="assistant"), said(3, "Thanks.")]
    path = write_log(root, SESSION, lines)
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        h.export([SESSION], tmp_path / "x.trace.jsonl")
    before = path.read_bytes().splitlines()
    after = (tmp_path / "x.trace.jsonl").read_bytes().splitlines()
    assert (after[0], after[2]) == (before[0], before[2])
    said_now = json.loads(after[1])["message"].pop("content")
    assert re.fullmatch(r'Use "\[github-[a-z]+:[0-9a-f]{4}\]"\n', said_now[0]["text"])
    assert json.loads(after[1]) | {"message": None} == json.loads(before[1]) | {"message": None}


def test_lines_that_are_not_json_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "claude"
    path = write_log(root, SESSION, [said(1, "When is high tide?")])
    path.write_bytes(b'{"torn": \n[1]\n\n' + path.read_bytes() + b'{"unfinished')
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        h.export([SESSION], tmp_path / "x.trace.jsonl")
    assert [json.loads(line)["type"] for line in (tmp_path / "x.trace.jsonl").read_bytes().splitlines()] == ["user"]


def test_sessions_of_other_clients_are_traces_too(store: Hansard, tmp_path: Path) -> None:
    store.export([FOLIO], tmp_path / "x.trace.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "x.trace.jsonl").read_bytes().splitlines()]
    assert lines[0] == {"type": "session", "harness": "folio", "id": FOLIO, "name": "A lighthouse"}
    messages = [line["message"] for line in lines[1:]]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[0]["content"] == "Where is the lighthouse keeper?"
    call = messages[1]["toolCalls"][0]
    assert call["function"]["name"] == "make"
    assert json.loads(call["function"]["arguments"])["content"] == "tower\nlight\n"
    assert messages[2] == {"role": "tool", "toolCallId": call["id"], "content": "made"}


# -- spans


def test_spans_are_those_of_the_ledger(demo: Hansard, tmp_path: Path) -> None:
    calls = agents = 0
    for session, path in exported(demo, tmp_path, "otlp"):
        found: list[Any] = [0, 0, 0, 0, 0, Decimal(0)]
        spans = list(spans_of(path))
        known = {(span["traceId"], span["spanId"]) for span, _ in spans}
        assert len(known) == len(spans)
        for span, about in spans:
            assert "parentSpanId" not in span or (span["traceId"], span["parentSpanId"]) in known
            assert 0 < int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), (session, span)
            assert about["gen_ai.conversation.id"] == session.session_id
            calls += about["gen_ai.operation.name"] == "execute_tool"
            agents += "gen_ai.agent.id" in about and "parentSpanId" in span
            if about["gen_ai.operation.name"] == "chat":
                read, written = (int(about[f"gen_ai.usage.cache_{name}.input_tokens"]) for name in ("read", "creation"))
                given = int(about["gen_ai.usage.input_tokens"]) - read - written
                counts = [1, given, int(about["gen_ai.usage.output_tokens"]), read, written]
                new = [*counts, Decimal(about.get("hansard.cost_usd", "0"))]
                found = [a + b for a, b in zip(found, new, strict=True)]
        assert found == figures(session)
    assert calls == len(demo.calls(limit=None).calls)
    assert agents > 5


def test_spans_have_the_same_ids_in_every_export(tmp_path: Path) -> None:
    root = tmp_path / "claude"
    lines = [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")]
    found = []
    for number in range(2):
        write_log(root, SESSION, lines)
        with hansard.open(tmp_path / f"store{number}", [root]) as h:
            write_log(root, OTHER, lines[:number])  # other numbers of transcripts
            h.sync()
            h.export([SESSION], tmp_path / f"{number}.otlp.jsonl")
        found.append({span["spanId"] for span, _ in spans_of(tmp_path / f"{number}.otlp.jsonl")})
        lines += [said(3, "And low tide?"), said(4, "At six.", role="assistant")]
    assert len(found[0]) == 2
    assert len(found[1]) == 4
    assert found[0] < found[1]


def test_messages_of_former_generations_are_spans_too(tmp_path: Path) -> None:
    root = tmp_path / "claude"
    log = [said(number, f"words {number}", role="assistant" if number % 2 == 0 else "user") for number in range(1, 9)]
    path = write_log(root, SESSION, log)
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        lost = [record | {"uuid": f"x{number}"} for number, record in enumerate(log[:3])]
        lost[1] = said(2, "Other words", role="assistant")
        lost[1]["message"]["id"] = "msg_other"
        path.write_text("".join(json.dumps(record) + "\n" for record in lost))
        h.sync()
        session = h.session(SESSION)
        assert session.api_messages == 5
        h.export([SESSION], tmp_path / "x.otlp.jsonl")
        h.export([SESSION], tmp_path / "x.atif.json")
    chats = [about for _, about in spans_of(tmp_path / "x.otlp.jsonl") if about["gen_ai.operation.name"] == "chat"]
    assert len(chats) == 5
    document = json.loads((tmp_path / "x.atif.json").read_bytes())
    check_trajectory(document)
    final = document["final_metrics"]
    assert final["extra"]["session"]["api_messages_without_step"] == 1
    assert final["total_cost_usd"] == float(session.cost_usd or 0)


def test_several_sessions_fit_in_one_file_of_spans(small: Hansard, tmp_path: Path) -> None:
    assert small.export(None, tmp_path / "all.otlp.jsonl").written == 1
    assert {about["gen_ai.conversation.id"] for _, about in spans_of(tmp_path / "all.otlp.jsonl")} == {SESSION, OTHER}
    for name in ("all.trace.jsonl", "all.atif.json"):
        with pytest.raises(UsageError, match="need a directory"):
            small.export(None, tmp_path / name)


# -- the command


@pytest.mark.parametrize(
    ("to", "form"),
    [
        ("x.atif.json", "atif"),
        ("x.json", "json"),
        ("X.TRACE.JSONL", "traces"),
        ("x.otlp.jsonl", "otlp"),
        ("x.jsonl", "jsonl"),
    ],
)
def test_the_longest_extension_tells_the_format(to: str, form: str) -> None:
    assert find_format(None, to) == form
    assert find_format("atif", to) == "atif"


def test_what_is_not_included_is_said_beside_the_export(root: Path, tmp_path: Path) -> None:
    run = runner(root, tmp_path / "store")
    result = run("export", SESSION, "--to", str(tmp_path / "x.atif.json"))
    assert "not in files of this format: records that are not shown" in result.stderr
    assert "not in files" not in run("export", SESSION, "--to", str(tmp_path / "x.md")).stderr
