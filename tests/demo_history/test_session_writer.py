import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.demo_history.client import ERAS, era_of
from tests.demo_history.files import encode_cwd
from tests.demo_history.session_writer import SessionWriter
from tests.demo_history.subagents import SubagentTask
from tests.demo_history.tools import bash, edit, grep, patch, png, read

VERSIONS = [era.version for era in ERAS]
LONG = "\n".join(str(number) for number in range(9000))
posix = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def spoken(writer: SessionWriter, kind: str) -> list[dict[str, Any]]:
    return [record for record in writer.page.records if record["type"] == kind]


def answered(writer: SessionWriter) -> Iterator[tuple[str, str]]:
    """Give each tool result with the parent it hangs on."""
    for record in spoken(writer, "user"):
        content = record["message"]["content"]
        if isinstance(content, list) and content[0]["type"] == "tool_result":
            yield content[0]["tool_use_id"], record["parentUuid"]


@pytest.mark.parametrize(
    ("version", "era"),
    [("1.0.24", "1.0.128"), ("2.0.5", "1.0.128"), ("2.0.28", "2.0.76"), ("2.1.39", "2.1.20"), ("2.1.400", "2.1.325")],
)
def test_any_version_has_an_era(version: str, era: str) -> None:
    assert era_of(version).version == era


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/mira/src/a.b_c d", "-home-mira-src-a-b-c-d"),
        ("/x/😀é", "-x----"),
        ("C:\\Users\\mira", "C--Users-mira"),
    ],
)
def test_project_folder_names(cwd: str, name: str) -> None:
    assert encode_cwd(cwd) == name


def test_long_folder_names_are_cut_and_hashed() -> None:
    name = encode_cwd("/" + "a" * 300)
    assert name.startswith("-" + "a" * 199 + "-")
    assert len(name) < 210


@pytest.mark.parametrize("version", VERSIONS)
def test_save_puts_the_transcript_where_the_client_would(version: str, tmp_path: Path) -> None:
    writer = SessionWriter(version, cwd="/home/mira/src/x")
    writer.prompt("Hello?")
    writer.reply("Hello.")
    path = writer.save(tmp_path)
    assert path == tmp_path / "projects" / "-home-mira-src-x" / f"{writer.session_id}.jsonl"
    assert [record["type"] for record in lines(path) if record["type"] in {"user", "assistant"}] == [
        "user",
        "assistant",
    ]
    assert path.stat().st_mtime_ns // 1_000_000 == int(writer.page.last.timestamp() * 1000)
    history = lines(tmp_path / "history.jsonl")
    assert [line["display"] for line in history] == ["Hello?"]
    assert ("sessionId" in history[0]) == (version != "1.0.128")


@posix
@pytest.mark.parametrize(("version", "mode"), [("1.0.128", 0o644), ("2.0.76", 0o600), ("2.1.325", 0o600)])
def test_modes(version: str, mode: int, tmp_path: Path) -> None:
    writer = SessionWriter(version)
    writer.prompt("Hello?")
    assert stat.S_IMODE(writer.save(tmp_path).stat().st_mode) == mode


@pytest.mark.parametrize("version", VERSIONS)
def test_one_answer_is_one_line_per_block(version: str) -> None:
    writer = SessionWriter(version)
    writer.prompt("Look.")
    writer.tools(bash("ls", "a"), read("/a", "x"), text="Looking.", thinking="Hm.")
    answer = spoken(writer, "assistant")
    assert [line["message"]["content"][0]["type"] for line in answer] == ["thinking", "text", "tool_use", "tool_use"]
    assert len({line["message"]["id"] for line in answer}) == 1
    assert len({line["uuid"] for line in answer}) == 4
    assert all(len(line["message"]["content"]) == 1 for line in answer)


@pytest.mark.parametrize("version", VERSIONS)
def test_stop_reason_and_usage_follow_the_regime(version: str) -> None:
    writer = SessionWriter(version)
    for number in range(20):
        writer.prompt(f"Question {number}")
        writer.reply("A word.", thinking="A thought.")
    stops = {line["message"]["stop_reason"] for line in spoken(writer, "assistant")}
    outputs = [line["message"]["usage"]["output_tokens"] for line in spoken(writer, "assistant")]
    if version == "2.1.20":
        assert stops == {None}
        assert max(outputs) < 9
    elif version in {"2.1.112", "2.1.325"}:
        assert stops == {"end_turn"}
        assert min(outputs) > 9
    else:
        assert stops == {None, "end_turn"}


@pytest.mark.parametrize("version", VERSIONS)
def test_cache_is_read_after_it_was_written(version: str) -> None:
    writer = SessionWriter(version)
    writer.prompt("Look.")
    writer.tool(bash("ls", "a"))
    writer.tool(bash("ls", "b"))
    first, second = (line["message"]["usage"] for line in spoken(writer, "assistant"))
    held = first["cache_read_input_tokens"] + first["cache_creation_input_tokens"]
    assert second["cache_read_input_tokens"] == held
    for usage in (first, second):
        assert sum(usage["cache_creation"].values()) == usage["cache_creation_input_tokens"]


@pytest.mark.parametrize("version", VERSIONS)
def test_parents_of_parallel_results(version: str) -> None:
    writer = SessionWriter(version)
    writer.prompt("Look.")
    writer.tools(bash("a", "1"), bash("b", "2"), order=[1, 0])
    calls = {line["message"]["content"][0]["id"]: line["uuid"] for line in spoken(writer, "assistant")}
    parents = list(answered(writer))
    assert [tool for tool, _ in parents] == list(reversed(calls))
    own = [parent == calls[tool] for tool, parent in parents]
    assert own == ([True, True] if era_of(version).own_parents else [True, False])


def test_results_between_the_calls_of_one_answer() -> None:
    writer = SessionWriter("2.1.325")
    writer.prompt("Look.")
    writer.tools(bash("a", "1"), bash("b", "2"), interleave=True)
    kinds = [record["type"] for record in writer.page.records if record["type"] in {"user", "assistant"}]
    assert kinds == ["user", "assistant", "user", "assistant", "user"]
    first, second = spoken(writer, "assistant")
    assert first["message"]["id"] == second["message"]["id"]
    assert second["parentUuid"] == spoken(writer, "user")[1]["uuid"]


@pytest.mark.parametrize("version", VERSIONS)
def test_agents_lie_where_their_era_puts_them(version: str, tmp_path: Path) -> None:
    writer = SessionWriter(version, cwd="/x")
    writer.prompt("Find it.")
    with writer.agents(SubagentTask("Find", "Find it for me.", kind="Explore")) as (helper,):
        helper.tool(grep("it", [("a.py", 1, "it")]))
        helper.reply("Found.")
    writer.reply("There.")
    main = writer.save(tmp_path)
    project = main.parent
    inline = [record for record in lines(main) if record.get("isSidechain")]
    beside = sorted(project.glob("agent-*.jsonl"))
    inside = sorted(project.glob("*/subagents/agent-*.jsonl"))
    metas = sorted(project.glob("*/subagents/*.meta.json"))
    found = (bool(inline), len(beside), len(inside), len(metas))
    expected = {
        "1.0.128": (True, 0, 0, 0),
        "2.0.76": (False, 1, 0, 0),
        "2.1.20": (False, 0, 1, 0),
        "2.1.112": (False, 0, 1, 1),
        "2.1.325": (False, 0, 1, 1),
    }
    assert found == expected[version]
    for path in beside + inside:
        assert all(record["sessionId"] == writer.session_id for record in lines(path))
        assert all(record["isSidechain"] for record in lines(path) if "isSidechain" in record)
    copies = [record for record in lines(main) if record["type"] == "progress"]
    assert bool(copies) == (version == "2.1.20")


def test_nested_agents_name_their_parent() -> None:
    writer = SessionWriter("2.1.325")
    writer.prompt("Go.")
    with writer.agent("Outer", "Outer work.") as outer:
        with outer.agent("Inner", "Inner work.") as inner:
            inner.reply("In.")
        outer.reply("Out.")
    metas = [json.loads(file.data) for path, file in writer.session_files.files.items() if path.endswith(".meta.json")]
    by_name = {meta["description"]: meta for meta in metas}
    assert by_name["Outer"]["spawnDepth"] == 1
    assert "parentAgentId" not in by_name["Outer"]
    assert by_name["Inner"]["spawnDepth"] == 2
    assert by_name["Inner"]["parentAgentId"] == outer.page.agent_id


def test_background_agents_report_later() -> None:
    writer = SessionWriter("2.1.325")
    writer.prompt("Go.")
    with writer.agent("Slow", "Slow work.", background=True) as helper:
        helper.reply("Done at last.")
    writer.reply("Started.")
    writer.notify(helper)
    launched = spoken(writer, "user")[1]["toolUseResult"]
    assert launched["status"] == "async_launched"
    notice = spoken(writer, "user")[-1]
    assert notice["origin"] == {"kind": "task-notification"}
    assert "<result>Done at last.</result>" in notice["message"]["content"]


@pytest.mark.parametrize("version", VERSIONS)
def test_long_output_goes_where_its_era_puts_it(version: str) -> None:
    writer = SessionWriter(version)
    writer.prompt("All of it.")
    writer.tool(bash("seq 9000", LONG))
    kept = [path for path in writer.session_files.files if "/tool-results/" in path]
    result = spoken(writer, "user")[-1]
    content = result["message"]["content"][0]["content"]
    if version in {"1.0.128", "2.0.76"}:
        assert not kept
        assert "characters truncated" in content
        return
    assert content.startswith("<persisted-output>")
    assert writer.session_files.files[kept[0]].data.decode() == LONG
    assert kept[0].rsplit("/", 1)[-1].startswith("toolu_") == (version == "2.1.20")
    assert ("persistedOutputPath" in result["toolUseResult"]) == (version != "2.1.20")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_prompt_typed_meanwhile_is_no_user_line(version: str) -> None:
    writer = SessionWriter(version)
    writer.prompt("Work.")
    writer.tool(bash("make", "ok"), queued="Hurry!")
    users = [record["message"]["content"] for record in spoken(writer, "user")]
    assert "Hurry!" not in users
    queued = [record for record in spoken(writer, "attachment") if record["attachment"]["type"] == "queued_command"]
    assert [one["attachment"]["prompt"] for one in queued] == (["Hurry!"] if era_of(version).attachments else [])
    operations = [record["operation"] for record in spoken(writer, "queue-operation")]
    assert operations == ([] if version == "1.0.128" else ["enqueue", "remove"])


@pytest.mark.parametrize("version", VERSIONS)
def test_fork_keeps_uuids_and_message_ids(version: str) -> None:
    writer = SessionWriter(version)
    writer.prompt("One.")
    writer.reply("Two.")
    fork = writer.fork()
    assert fork.session_id != writer.session_id
    before = [record for record in writer.page.records if "parentUuid" in record]
    assert [record["uuid"] for record in fork.page.records] == [record["uuid"] for record in before]
    assert {record["sessionId"] for record in fork.page.records} == {fork.session_id}
    old, new = spoken(writer, "assistant")[0], spoken(fork, "assistant")[0]
    assert old["message"]["id"] == new["message"]["id"]
    assert ("requestId" in new) == (version != "1.0.128")
    assert not any("forkedFrom" in record for record in fork.page.records)
    fork.prompt("Three.")
    fork.prompt("Four.")
    ids = [record.get("promptId") for record in spoken(fork, "user")]
    assert len(ids) == 3
    if era_of(version).attachments:
        assert ids[0] == ids[1] != ids[2]
        assert ids[0] not in {record.get("promptId") for record in spoken(writer, "user")}


def test_branch_says_where_its_lines_come_from() -> None:
    writer = SessionWriter("2.1.325")
    asked = writer.prompt("One.")
    writer.reply("Two.")
    branch = writer.branch("idea")
    copied = next(record for record in branch.page.records if record.get("uuid") == asked)
    assert copied["forkedFrom"] == {"sessionId": writer.session_id, "messageUuid": asked}


@pytest.mark.parametrize("version", VERSIONS)
def test_compaction(version: str) -> None:
    writer = SessionWriter(version)
    writer.prompt("One.")
    writer.reply("Two.")
    last = writer.page.tip
    writer.compact("Short.", auto=True)
    boundary = next(record for record in writer.page.records if record.get("subtype") == "compact_boundary")
    assert boundary["parentUuid"] is None
    assert boundary["logicalParentUuid"] == last
    summary = next(record for record in writer.page.records if record.get("isCompactSummary"))
    assert summary["parentUuid"] == boundary["uuid"]


def test_rewind_hangs_the_next_prompt_on_an_earlier_line() -> None:
    writer = SessionWriter("2.1.325")
    writer.prompt("One.")
    writer.reply("Two.")
    kept = writer.page.tip
    asked = writer.prompt("Wrong.")
    writer.reply("Indeed.")
    writer.rewind(asked)
    right = writer.prompt("Right.")
    assert next(record for record in writer.page.records if record.get("uuid") == right)["parentUuid"] == kept


@pytest.mark.parametrize(
    ("version", "kept"), [("2.1.20", ""), ("2.1.112", "<synthetic>"), ("2.1.325", "claude-opus-5-5")]
)
def test_what_is_left_of_an_interrupted_answer(version: str, kept: str) -> None:
    writer = SessionWriter(version)
    writer.prompt("Go on.")
    writer.interrupted("Once upon a")
    assert [line["message"]["model"] for line in spoken(writer, "assistant")] == ([kept] if kept else [])
    assert spoken(writer, "user")[-1]["message"]["content"][0]["text"] == "[Request interrupted by user]"


def test_resume_after_a_kill() -> None:
    old, new = SessionWriter("2.1.20"), SessionWriter("2.1.325")
    for writer in (old, new):
        asked = writer.prompt("Run.")
        writer.killed(bash("sleep 1000"))
        writer.resume(clean=False)
        again = writer.prompt("Back.")
        parent = next(record for record in writer.page.records if record.get("uuid") == again)["parentUuid"]
        if writer is old:
            assert parent == asked
        else:
            assert list(answered(writer))


def test_bill_is_the_sum_over_messages() -> None:
    writer = SessionWriter("2.1.325")
    writer.prompt("Go.")
    writer.tools(bash("a", "1"), bash("b", "2"), text="Both.", thinking="")
    with writer.agent("Help", "Help me.", kind="Explore") as helper:
        helper.tool(bash("c", "3"))
        helper.reply("Helped.")
    writer.reply("Done.")
    writer.close()
    bill = next(record for record in reversed(writer.page.records) if record["type"] == "cost-state")["modelUsage"]
    seen: dict[str, tuple[str, dict[str, int]]] = {}
    for page in (writer.page, helper.page):
        for record in page.records:
            if record["type"] == "assistant":
                seen[record["message"]["id"]] = (record["message"]["model"], record["message"]["usage"])
    for model, row in bill.items():
        used = [usage for name, usage in seen.values() if name == model]
        assert row["outputTokens"] == sum(usage["output_tokens"] for usage in used)
        assert row["cacheReadInputTokens"] == sum(usage["cache_read_input_tokens"] for usage in used)
        assert row["cacheCreationInputTokens"] == sum(usage["cache_creation_input_tokens"] for usage in used)
    assert set(bill) == {model for model, _ in seen.values()}


def test_patch_tells_the_change() -> None:
    before = "".join(f"line {number}\n" for number in range(30))
    (hunk,) = patch(before, before.replace("line 12\n", "line twelve\nand a half\n"))
    assert hunk["oldStart"] == 10
    assert (hunk["oldLines"], hunk["newLines"]) == (7, 8)
    assert [line for line in hunk["lines"] if line[0] != " "] == ["-line 12", "+line twelve", "+and a half"]


def test_edits_are_backed_up() -> None:
    writer = SessionWriter("2.1.112", cwd="/x")
    writer.prompt("Change it.")
    writer.tool(edit("/x/a.py", "a = 1\n", "1", "2"))
    (kept,) = [file.data for path, file in writer.session_files.files.items() if path.startswith("file-history/")]
    assert kept == b"a = 1\n"


def test_picture_is_a_png() -> None:
    assert png().startswith("iVBORw0KGgo")
