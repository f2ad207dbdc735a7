"""Copies of transcripts for the client to resume: every chain ends at a beginning, and nothing else is lost."""

from __future__ import annotations

import base64
import json
import re
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.clients.claude_code import copies
from hansard.clients.claude_code.copies import CONTEXT, NEWEST, copy_session
from hansard.model.sessions import SessionCopy
from tests.clients.claude_code.making import SESSION, assistant, line, text, tool_result, tool_use, user

NEW = "99999999-9999-4999-8999-999999999999"
CHAINED = ("user", "assistant", "system", "attachment", "progress")


def copied(data: bytes, *, slim: bool = False, join: bool = False) -> tuple[SessionCopy, list[dict[str, Any]]]:
    facts, write = copy_session(lambda: iter([data]), SESSION, NEW, slim=slim, join=join)
    lines = list(write())
    assert lines == list(write())  # planned and written alike
    assert facts.bytes == sum(map(len, lines))
    assert facts.records == len(lines)
    assert all(one.endswith(b"\n") and one.count(b"\n") == 1 for one in lines)
    return facts, [json.loads(one) for one in lines]


def parents(records: list[dict[str, Any]]) -> dict[str, str | None]:
    return {record["uuid"]: record["parentUuid"] for record in records if record.get("type") in CHAINED}


def assert_chains(records: list[dict[str, Any]]) -> None:
    links = parents(records)
    for name in links:
        path: set[str] = set()
        place: str | None = name
        while place is not None:
            assert place not in path, "a circle"
            path.add(place)
            place = links[place]


def talk(*, count: int = 4) -> list[dict[str, Any]]:
    """Prompts and answers in turn."""
    return [
        user(f"prompt {number}", uuid=f"u{number}", parentUuid=f"u{number - 1}" if number else None)
        if number % 2 == 0
        else assistant(text(f"answer {number}"), uuid=f"u{number}", parentUuid=f"u{number - 1}", id=f"msg_{number}")
        for number in range(count)
    ]


def encoded(records: list[dict[str, Any]]) -> bytes:
    return b"".join(line(record) + b"\n" for record in records)


def test_a_sound_session_only_changes_its_id() -> None:
    before = talk()
    facts, after = copied(encoded(before), join=True)
    assert not facts.is_mended
    assert not facts.is_slimmer
    for old, new in zip(before, after, strict=True):
        expected = {**old, "sessionId": NEW}
        if old["type"] == "assistant":
            expected["requestSessionId"] = SESSION  # who paid
        assert new == expected


def test_a_torn_tail_is_left_out() -> None:
    data = encoded(talk())
    facts, after = copied(data + line(user("lost", uuid="u9"))[:60])
    assert facts.unreadable == 1
    assert list(parents(after)) == ["u0", "u1", "u2", "u3"]


def test_records_on_one_line_are_separated() -> None:
    lines = [line(record) for record in talk()]
    facts, after = copied(lines[0] + lines[1] + b"\n" + lines[2] + b"\n" + lines[3])
    assert (facts.split, facts.unreadable) == (1, 0)
    assert list(parents(after)) == ["u0", "u1", "u2", "u3"]


def test_a_missing_parent_becomes_the_record_before() -> None:
    records = talk(count=6)
    facts, after = copied(encoded(records[:2] + records[3:]))
    assert facts.relinked == 1
    assert parents(after)["u3"] == "u1"


@pytest.mark.parametrize("join", [False, True])
def test_a_second_beginning_is_joined_on_request(join: bool) -> None:
    records = talk()
    records[2]["parentUuid"] = None
    facts, after = copied(encoded(records), join=join)
    assert facts.joined == join
    assert parents(after)["u2"] == ("u1" if join else None)


def test_a_compaction_stays_a_beginning() -> None:
    records = talk()
    boundary = {**user("", uuid="b"), "type": "system", "subtype": "compact_boundary", "logicalParentUuid": "u3"}
    facts, after = copied(encoded([*records, {**boundary, "parentUuid": None}]), join=True)
    assert facts.joined == 0
    assert parents(after)["b"] is None


def test_circles_are_opened() -> None:
    records = talk(count=6)
    records[2]["parentUuid"] = "u5"
    facts, after = copied(encoded(records))
    assert facts.relinked == 1
    assert parents(after)["u2"] == "u1"
    assert_chains(after)


def test_results_before_their_calls_keep_their_parents() -> None:
    records = talk()
    records[1], records[2] = {**records[2], "parentUuid": "u1"}, {**records[1], "parentUuid": "u0"}
    facts, after = copied(encoded(records))
    assert facts.relinked == 0
    assert parents(after) == {"u0": None, "u2": "u1", "u1": "u0", "u3": "u2"}


def test_records_without_a_valid_time_or_uuid_get_one() -> None:
    records = talk()
    records[3]["timestamp"] = "soon"
    del records[1]["uuid"]
    facts, after = copied(encoded(records))
    assert facts.dated == 1
    assert after[3]["timestamp"] == after[2]["timestamp"]
    assert after[2]["parentUuid"] == after[1]["uuid"]
    assert_chains(after)


def test_a_leaf_that_does_not_exist_is_forgotten() -> None:
    leaf = {"type": "last-prompt", "lastPrompt": "x", "leafUuid": "gone", "sessionId": SESSION}
    facts, after = copied(encoded([*talk(), leaf, {**leaf, "leafUuid": "u3"}]))
    assert facts.leaves == 1
    assert [record["leafUuid"] for record in after if record["type"] == "last-prompt"] == ["u3"]


def bulky(results: int, size: int = 20_000) -> list[dict[str, Any]]:
    """A prompt, calls with large results, and an answer."""
    records = [user("start", uuid="p0")]
    last = "p0"
    for number in range(results):
        call = assistant(
            tool_use("Bash", {"command": "x"}, f"toolu_{number}"), uuid=f"c{number}", parentUuid=last, id=f"m{number}"
        )
        answer = user(
            [tool_result(f"{number:06} " * (size // 7), f"toolu_{number}")], uuid=f"r{number}", parentUuid=f"c{number}"
        )
        answer["toolUseResult"] = {"stdout": "x" * size}
        records += [call, answer]
        last = f"r{number}"
    return [*records, assistant(text("done"), uuid="end", parentUuid=last, id="m_end")]


def test_old_results_become_notes_and_new_ones_stay() -> None:
    before = bulky(40)
    data = encoded(before)
    facts, after = copied(data, slim=True)
    assert parents(after) == parents(before)
    assert 0 < facts.results < 40
    assert facts.bytes < facts.bytes_before // 2
    for old, new in zip(before, after, strict=True):
        if old["type"] != "user" or old["uuid"] == "p0":
            continue
        (was,), (block,) = old["message"]["content"], new["message"]["content"]
        assert block["tool_use_id"] == was["tool_use_id"]
        if block == was:
            assert new["toolUseResult"] == old["toolUseResult"]
            continue
        assert "toolUseResult" not in new
        assert block["content"].startswith(was["content"][:50])
        offset = int(block["content"].rpartition("--at ")[2].rstrip("]"))
        assert json.loads(data[offset : data.index(b"\n", offset)])["uuid"] == old["uuid"]
    kept = [new for new in after if new.get("toolUseResult")]
    assert kept == after[-1 - 2 * len(kept) : -1][1::2]  # the newest
    assert sum(len(json.dumps(record["message"])) for record in kept) <= NEWEST


def test_what_is_too_much_for_the_model_goes_behind_a_compaction() -> None:
    before = [user("the task", uuid="first"), *bulky(600, size=2_000), user("go on", uuid="last", parentUuid="end")]
    before[1]["parentUuid"] = "first"
    data = encoded(before)
    facts, after = copied(data, slim=True)
    assert_chains(after)
    assert facts.compacted > 0
    assert 0 < facts.context_bytes <= CONTEXT + 20_000
    (at,) = (at for at, record in enumerate(after) if record.get("subtype") == "compact_boundary")
    boundary, summary, begin = after[at : at + 3]
    assert (boundary["parentUuid"], summary["parentUuid"]) == (None, boundary["uuid"])
    assert begin["parentUuid"] == summary["uuid"]
    assert begin["type"] == "assistant"
    assert boundary["logicalParentUuid"] == after[at - 1]["uuid"]
    assert summary["isCompactSummary"] is True
    told = summary["message"]["content"]
    offset = int(re.findall(r"- the task \[@(\d+)\]", told)[0])
    assert json.loads(data[offset : data.index(b"\n", offset)])["uuid"] == "first"
    assert "- start [@" in told
    calls = {block["id"] for record in after[at:] for block in content(record) if block.get("type") == "tool_use"}
    results = {
        block["tool_use_id"] for record in after[at:] for block in content(record) if block["type"] == "tool_result"
    }
    assert calls == results  # no pair is torn apart
    rest = [record for record in after if record is not boundary and record is not summary]
    assert [record["uuid"] for record in rest] == [record["uuid"] for record in before]


def test_a_compaction_tears_no_parallel_calls_apart() -> None:
    before = [user("start", uuid="p0")]
    last = "p0"
    for number in range(300):
        names = [f"c{number}a", f"c{number}b"]
        for name in names:  # one answer, a line for each call
            call = tool_use("Bash", {"command": "x" * 300}, f"toolu_{name}")
            before.append(assistant(call, uuid=name, parentUuid=last, id=f"m{number}"))
            last = name
        before += [  # each result hangs on its call, and the next answer on one of them
            user([tool_result("y" * 500, f"toolu_{name}")], uuid=f"r{name}", parentUuid=name)
            for name in reversed(names)
        ]
        last = f"r{names[1]}"
    facts, after = copied(encoded(before), slim=True)
    assert facts.compacted
    at = next(at for at, record in enumerate(after) if record.get("subtype") == "compact_boundary")
    for part in (after[:at], after[at:]):
        calls = {block["id"] for record in part for block in content(record) if block["type"] == "tool_use"}
        results = {
            block["tool_use_id"] for record in part for block in content(record) if block["type"] == "tool_result"
        }
        assert calls == results


def content(record: dict[str, Any]) -> list[dict[str, Any]]:
    found = record["message"]["content"] if "message" in record else []
    return found if isinstance(found, list) else []


def test_pictures_become_notes() -> None:
    data = base64.b64encode(b"x" * 200_000).decode()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    records = [
        user([picture, text("look")], uuid="a"),
        user([tool_result([picture], "t")], uuid="b", parentUuid="a"),
        *bulky(20),
    ]
    facts, after = copied(encoded(records), slim=True)
    assert facts.pictures == 2
    assert [block["type"] for block in after[0]["message"]["content"]] == ["text", "text"]
    assert after[0]["message"]["content"][1] == text("look")
    assert len(json.dumps(after[1])) < 1_000


def test_snapshots_and_progress_are_left_out_and_bypassed() -> None:
    def attachment(name: str, parent: str | None, kind: str, size: int) -> dict[str, Any]:
        body = {"type": kind, "content": "x" * size}
        return {**user("", uuid=name, parentUuid=parent), "type": "attachment", "attachment": body}

    records = [
        attachment("first", None, "skill_listing", 5_000),  # the beginning of the chain stays
        attachment("a", "first", "prompt_snapshot", 5_000),
        attachment("b", "a", "skill_listing", 5_000),
        user("hello", uuid="p", parentUuid="b"),
        attachment("q", "p", "queued_command", 5_000),  # words of a person
        {**user("", uuid="g", parentUuid="q"), "type": "progress", "data": {"type": "bash_progress"}},
        {"type": "file-history-snapshot", "messageId": "p", "snapshot": {"trackedFileBackups": {}}},
        {"type": "last-prompt", "leafUuid": "g", "sessionId": SESSION},
        {**bulky(20)[0], "parentUuid": "g"},
        *bulky(20)[1:],
    ]
    facts, after = copied(encoded(records), slim=True)
    assert facts.left_out == 4
    assert list(parents(after).items())[:4] == [("first", None), ("p", "first"), ("q", "p"), ("p0", "q")]
    assert next(record for record in after if record["type"] == "last-prompt")["leafUuid"] == "q"


def test_lines_of_any_encoding_become_strict_json() -> None:
    odd = b'{"type":"user","uuid":"o","parentUuid":"u3","message":{"role":"user","content":"\\ud800 \xff"},"sessionId":"s"}\n'
    facts, after = copied(encoded(talk()) + odd + b"\x00" * 50 + b"\n[1, 2]\nnull\n")
    assert list(parents(after)) == ["u0", "u1", "u2", "u3", "o"]
    assert facts.unreadable == 3


# -- anything

names = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"])
entries = st.fixed_dictionaries(
    {
        "type": st.sampled_from([*CHAINED, "summary", "last-prompt", "file-history-snapshot", "odd"]),
        "parentUuid": st.none() | names | st.integers(),
        "isSidechain": st.booleans() | st.none(),
        "sessionId": st.just(SESSION),
        "timestamp": st.sampled_from(["2026-05-01T10:00:00.000Z", "20260501", "", 3, None]),
    },
    optional={
        "uuid": names | st.integers(),
        "subtype": st.sampled_from(["compact_boundary", "informational", 4]),
        "leafUuid": names,
        "agentId": names,
        "attachment": st.sampled_from([{"type": "file", "content": "x" * 2_000}, 3, []]),
        "message": st.sampled_from(
            [
                {"role": "user", "content": [tool_result("x" * 3_000, "t")]},
                {"role": "user", "content": "words"},
                {"content": [3, None, {"type": "image"}]},
                {},
                [],
                "no message",
            ]
        ),
        "compactMetadata": st.just({"preservedSegment": {"headUuid": "a"}}),
    },
)
lines_of_anything = st.lists(entries.map(line) | st.binary(max_size=40) | st.just(b"\x00\x00{"), max_size=25)


@given(
    lines_of_anything, st.lists(st.sampled_from([b"\n", b"\n", b"\n", b""]), max_size=25), st.booleans(), st.booleans()
)
def test_every_chain_of_any_copy_resolves(lines: list[bytes], ends: list[bytes], slim: bool, join: bool) -> None:
    data = b"".join(one + end for one, end in zip(lines, [*ends, *[b"\n"] * 25], strict=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies, "NEWEST", 4_000)
        patch.setattr(copies, "CONTEXT", 50)
        facts, after = copied(data, slim=slim, join=join)
        _, sound = copied(data)
    assert_chains(after)
    assert all(record["sessionId"] == NEW for record in after if "sessionId" in record)
    order = [json.dumps([record.get("type"), record.get("uuid")]) for record in sound]
    rest = iter(order)
    own = [record for record in after if not (facts.compacted and "compactMetadata" in record and "level" in record)]
    own = [record for record in own if not record.get("isCompactSummary")]
    assert all(json.dumps([record.get("type"), record.get("uuid")]) in rest for record in own)  # the same order
    if not slim:
        assert len(after) == len(sound)
    if join:
        starts = [
            name
            for name, record in {r["uuid"]: r for r in reversed(after) if r["type"] in CHAINED}.items()
            if record["parentUuid"] is None
            and record.get("isSidechain") is not True
            and (record["type"], record.get("subtype")) != ("system", "compact_boundary")
        ]
        assert len(starts) <= 1
    again, _ = copied(b"".join(line(record) + b"\n" for record in after), join=join)
    assert not again.is_mended


def test_memory_does_not_grow_with_the_file() -> None:
    answer = bulky(1, size=200_000)

    def pieces() -> Iterator[bytes]:
        last: str | None = None
        for number in range(300):
            for record in (answer[1], answer[2]):
                name = f"{record['uuid']}-{number}"
                yield line({**record, "uuid": name, "parentUuid": last}) + b"\n"
                last = name

    tracemalloc.start()
    facts, write = copy_session(pieces, SESSION, NEW, slim=True, join=False)
    written = sum(map(len, write()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert facts.bytes_before > 110 << 20
    assert written == facts.bytes < 3 << 20
    assert peak < 16 << 20


def test_circles_take_time_in_proportion_to_the_file() -> None:
    count = 20_000
    records = [user("x", uuid=f"n{number}", parentUuid=f"n{number + 1}") for number in range(count)]
    records.append(user("x", uuid=f"n{count}", parentUuid="n0"))
    facts, after = copied(encoded(records), join=True)
    assert facts.relinked
    assert len(after) == count + 1
    assert_some_chains(after)


def assert_some_chains(records: list[dict[str, Any]]) -> None:
    links = parents(records)
    done: set[str] = set()
    for name in links:
        path: set[str] = set()
        place: str | None = name
        while place is not None and place not in done:
            assert place not in path
            path.add(place)
            place = links[place]
        done |= path
