"""`hansard show --at`: a place of the transcript, and what stands around it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.thread.thread import Thread

from .conftest import SESSION, Run, said, write_log

CALL = {"type": "tool_use", "name": "Bash", "input": {"command": "ls /harbour"}}


def called(number: int, *ids: str) -> dict[str, Any]:
    record = said(number, "", role="assistant")
    record["message"]["content"] = [{**CALL, "id": name} for name in ids]
    return record


def answered(number: int, name: str, text: str) -> dict[str, Any]:
    record = said(number, "")
    record["message"]["content"] = [{"type": "tool_result", "tool_use_id": name, "content": text}]
    return record


def thought(number: int, text: str) -> dict[str, Any]:
    record = said(number, "", role="assistant")
    record["message"]["content"] = [{"type": "thinking", "thinking": text, "signature": "s"}]
    return record


def offsets(path: Path) -> list[int]:
    places, place = [], 0
    for line in path.read_bytes().splitlines(keepends=True):
        places.append(place)
        place += len(line)
    return places


@pytest.fixture
def places(root: Path) -> list[int]:
    """Where the lines of a conversation stand: seven words, two calls at once, a thought, a word."""
    records = [said(number, f"word {number}") for number in range(1, 8)]
    records += [
        called(8, "toolu_a", "toolu_b"),
        answered(9, "toolu_a", "boats\n" * 9),
        answered(10, "toolu_b", "gulls"),
    ]
    records += [
        thought(11, "Count them."),
        said(12, "word 12"),
        {"type": "ai-title", "aiTitle": "Quay", "sessionId": SESSION},
    ]
    return offsets(write_log(root, SESSION, records))


def body(text: str) -> list[str]:
    """The lines below the head."""
    return text.split("\n\n", 1)[1].splitlines()


def rules(text: str) -> list[str]:
    return [line.strip("─ ") for line in text.splitlines() if line.endswith("──")]


def test_a_place_and_what_stands_around_it(run: Run, places: list[int]) -> None:
    output = run("show", SESSION, "--at", str(places[3]), "--around", "1").stdout
    assert body(output) == [
        "── … 2 earlier entries " + "─" * 57,
        "",
        "You  10:00",
        "  word 3",
        "",
        "▶ here, 2026-05-01 10:00 " + "─" * 55,
        "",
        "You",
        "  word 4",
        "",
        "You",
        "  word 5",
        "",
        "── … 5 later entries " + "─" * 59,
    ]


def test_five_entries_unless_told(run: Run, places: list[int]) -> None:
    output = run("show", SESSION, "--at", str(places[0])).stdout
    assert [word for word in output.split() if word.isdigit()][-6:] == ["2", "3", "4", "5", "6", "4"]
    assert rules(output) == ["▶ here, 2026-05-01 10:00", "… 4 later entries"]


@pytest.mark.parametrize("inside", [0, 1, 40])
def test_any_byte_of_the_line_means_it(run: Run, places: list[int], inside: int) -> None:
    output = run("show", SESSION, "--at", str(places[2] + inside), "--around", "0").stdout
    assert "word 3" in output
    assert "word 2" not in output
    assert "word 4" not in output


@pytest.mark.parametrize(("line", "shown", "other"), [(8, "boats", "gulls"), (9, "gulls", "boats")])
def test_a_result_leads_to_its_call_and_is_shown_in_full(
    run: Run, places: list[int], line: int, shown: str, other: str
) -> None:
    output = run("show", SESSION, "--at", str(places[line] + 7), "--around", "0").stdout
    assert "▶ here" in output
    assert "  • Bash ls /harbour" in output
    assert output.count(shown) == (9 if shown == "boats" else 1)
    assert other not in output


def test_a_call_without_tools_is_shown_all_the_same(run: Run, places: list[int]) -> None:
    output = run("show", SESSION, "--at", str(places[7]), "--tools", "none", "--around", "1").stdout
    assert output.count("• Bash") == 2
    assert "word 7" in output
    assert "word 12" in output
    assert rules(output) == ["… 6 earlier entries", "▶ here, 2026-05-01 10:00"]


def test_a_thought_is_shown_where_it_is_the_place(run: Run, places: list[int]) -> None:
    assert "Count them." in run("show", SESSION, "--at", str(places[10]), "--around", "0").stdout
    assert "Count them." not in run("show", SESSION, "--at", str(places[11]), "--around", "1").stdout
    assert "Count them." in run("show", SESSION, "--at", str(places[11]), "--around", "1", "--thinking").stdout


def test_a_line_that_is_not_shown_leads_to_the_one_before(run: Run, places: list[int]) -> None:
    output = run("show", SESSION, "--at", str(places[12]), "--around", "0").stdout
    assert rules(output) == ["… 9 earlier entries", f"▶ nearest to byte {places[12]:,}, which is not shown"]
    assert "word 12" in output


def test_before_the_first_entry(run: Run, root: Path) -> None:
    title = {"type": "ai-title", "aiTitle": "Quay", "sessionId": SESSION}
    write_log(root, SESSION, [title, said(1, "word 1"), said(2, "word 2")])
    output = run("show", SESSION, "--at", "5", "--around", "0").stdout
    assert "word 1" in output
    assert "▶ nearest to byte 5" in output


def test_json(run: Run, places: list[int]) -> None:
    answer = json.loads(run("show", SESSION, "--at", str(places[9]), "--around", "1", "--json").stdout)
    assert answer["at"] == {"offset": places[9], "exact": True, "entries": [1], "earlier": 7, "later": 1}
    assert [entry["kind"] for entry in answer["entries"]] == ["tool", "tool", "thinking"]
    assert answer["entries"][1]["tool"]["output"] == "gulls"
    assert answer["session"]["session_id"] == answer["session_id"] == SESSION


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--at", "999999"], 1, "there is nothing at byte 999,999: projects/-src-tide/" + SESSION),
        (["--at", "-1"], 2, "-1"),
        (["--at", "x"], 2, "'x'"),
        (["--at", "0", "--markdown"], 2, "cannot be used with --markdown"),
        (["--around", "3"], 2, "--around needs --at"),
        (["--at", "0", "--branch", "1"], 1, "that place is on branch 0"),
    ],
)
def test_places_that_make_no_sense(run: Run, places: list[int], args: list[str], code: int, message: str) -> None:
    result = run("show", SESSION, *args, code=code)
    assert places
    assert result.stdout == ""
    assert message in result.stderr


def test_a_place_on_another_branch(run: Run, root: Path) -> None:
    replaced = [said(number, f"word {number}") for number in range(1, 4)]
    again = [said(number + 10, f"again {number}") for number in range(3)]
    again[0]["parentUuid"] = replaced[0]["uuid"]
    where = offsets(write_log(root, SESSION, [*replaced, *again]))
    output = run("show", SESSION, "--at", str(where[2])).stdout
    assert "word 2" in output
    assert "word 3" in output.partition("▶ here")[2]
    assert "again" not in output.replace("again)", "")
    assert "word 2" not in run("show", SESSION, "--at", str(where[4])).stdout.partition("▶")[2]


def test_every_line_of_the_hard_session_is_somewhere(
    run_hard: Run, hard: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_hard("sync")
    # Every call reads the whole thread again, which is the same each time.
    monkeypatch.setattr(Thread, "conversation", cache(Thread.conversation))
    with hansard.open(hard[0] / "store") as h:
        threads = [h.read(hard[1])]
        threads += [h.read(hard[1], agent.agent_id) for agent in threads[0].agents]
        for thread in threads:
            entries = thread.conversation().entries
            if not entries:
                continue
            data = b"".join(thread.raw())
            (hard[0] / "copy").write_bytes(data)
            places = {offset: thread.locate(offset) for offset in offsets(hard[0] / "copy")}
            for offset, place in places.items():
                found = [place.conversation.entries[number] for number in place.here]
                assert len({entry.offset for entry in found}) == 1
                assert place.exact or found[0].offset <= offset or found[0] == entries[0]
            for entry in entries:
                place = places[entry.offset]
                assert place.exact
                assert entry in [place.conversation.entries[number] for number in place.here]


def test_a_sidechain_in_the_session_s_own_file_has_its_own_thread(run: Run, root: Path) -> None:
    task = called(2, "toolu_t")
    task["message"]["content"] = [
        {
            "type": "tool_use",
            "id": "toolu_t",
            "name": "Task",
            "input": {"description": "look", "prompt": "Look for gulls"},
        }
    ]
    aside = [said(3, "Look for gulls"), said(4, "Seven gulls.", role="assistant")]
    for record in aside:
        record["isSidechain"] = True
    aside[0]["parentUuid"] = None
    where = offsets(
        write_log(root, SESSION, [said(1, "Count the gulls"), task, *aside, answered(5, "toolu_t", "seven")])
    )
    output = run("show", SESSION, "--at", str(where[3])).stdout
    assert "Seven gulls." in output.partition("▶ here")[2]
    assert "Count the gulls" not in "\n".join(body(output))


def test_the_thread_of_a_subagent(run_hard: Run, hard: tuple[Path, str]) -> None:
    run_hard("sync")
    with hansard.open(hard[0] / "store") as h:
        agent = next(agent for agent in h.agents(hard[1]) if agent.messages > 1)
        entry = h.conversation(hard[1], agent=agent.agent_id).entries[-1]
    output = run_hard("show", hard[1], "--agent", agent.agent_id, "--at", str(entry.offset), "--around", "0").stdout
    assert "▶ here" in output
