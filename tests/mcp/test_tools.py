"""Each tool on a small history: what it finds, where from, and what it keeps back."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from hansard.guard.passages import estimate_tokens
from hansard.mcp.server import Server
from hansard.mcp.tools import find_tool
from hansard.model.requests import DIMENSIONS
from tests.mcp.conftest import Call, caller, server_on
from tests.mcp.writing import APP, COMMIT, ELSEWHERE, FIRST, LONG_REPLY, OTHER, PULL_REQUEST, SECOND, Log


def test_search_stays_in_the_repository(call: Call) -> None:
    assert {one["session"] for one in call("search", query="msgspec")["passages"]} == {FIRST}
    assert call("search", query="narwhal")["more"].startswith("Nothing found")
    found = call("search", query="narwhal", scope="all")
    assert {one["session"] for one in found["passages"]} == {ELSEWHERE}
    assert {one["project"] for one in found["passages"]} == {OTHER}


def test_search_and_sessions_show_the_notes_of_the_user(tmp_path: Path) -> None:
    log = Log(FIRST)
    log.prompt("Look at the otter")
    log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "home", [tmp_path / "claude"]) as h:
        h.sync()
        h.note(FIRST, "narwhal key " + "sk-ant-" + "api03-Qzx7Wvk2Jhq9Ypl4Bnm8Tgc3")
    call = caller(server_on(tmp_path / "home", tmp_path / "claude"))
    (one,) = call("search", query="narwhal")["notes"]
    assert (one["session"], one["origin"], one["kind"]) == (FIRST, "person", "user's note")
    assert "narwhal key [anthropic-key:" in one["text"]
    assert "notes" not in call("search", query="Qzx7Wvk2*")
    assert [row["notes"] for row in call("sessions")["sessions"]] == [1]


def test_search_gives_tool_output_only_on_request(call: Call) -> None:
    assert "passages" not in call("search", query="quokka")
    (one,) = call("search", query="quokka", include_tool_output=True)["passages"]
    assert (one["origin"], one["tool"], one["kind"]) == ("tool output", "Bash", "result")
    (one,) = call("search", query="wombat", include_tool_output=True)["passages"]
    assert (one["origin"], one["tool"]) == ("web page", "WebFetch")
    assert "passages" not in call("search", query="nothing) OR (quokka")


def test_an_unclosed_quote_is_closed_at_the_end(call: Call) -> None:
    assert {one["session"] for one in call("search", query='"parser slow')["passages"]} == {FIRST}
    assert "passages" not in call("search", query='"quokka in the')


PRINTED = (
    "<bash-stdout>platypus from the shell</bash-stdout><bash-stderr></bash-stderr>",
    "<local-command-stdout>platypus from a command</local-command-stdout>",
    [{"type": "text", "text": "<bash-stderr>platypus in a block</bash-stderr>"}],
)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Call:
    """A server on a session in which a person ran commands."""
    place = tmp_path_factory.mktemp("commands")
    log = Log(FIRST)
    log.prompt("Look at the otter")
    log.prompt("<bash-input>cat otter.txt</bash-input>")
    for text in PRINTED:
        log.prompt(text)
    for text in ("<command-name>/otter</command-name>", "<local-command-stdout>platypus told</local-command-stdout>"):
        log.add("system", subtype="local_command", content=text, level="info")
    log.reply("The otter is fine.")
    log.write(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as h:
        h.sync()
    return caller(server_on(place / "home", place / "claude"))


def test_what_commands_printed_is_tool_output(commands: Call) -> None:
    assert "passages" not in commands("search", query="platypus")
    assert "passages" not in commands("search", query="platypus", sort="newest")
    found = commands("search", query="platypus", include_tool_output=True)["passages"]
    assert [(one["origin"], one["kind"]) for one in found] == [("tool output", "output")] * 4
    for given in ({}, {"include_tool_output": True}):
        typed = commands("search", query="otter kind:command", **given)["passages"]
        assert {(one["origin"], one["kind"]) for one in typed} == {("person", "command")}
        assert len(typed) == 2
    assert "sessions" not in commands("recall", question="platypus")
    assert "platypus" not in str(commands("recall", question="otter platypus")["passages"])


def test_read_leaves_out_what_commands_printed(commands: Call) -> None:
    outline = commands("read", target=FIRST)
    assert "platypus" not in str(outline)
    whole = [commands("read", target=FIRST, turn=one["turn"]) for one in outline["turns"]]
    assert "platypus" not in str(whole)
    assert "otter.txt" in str(whole)
    shown = [
        passage
        for one in outline["turns"]
        for passage in commands("read", target=FIRST, turn=one["turn"], include_tool_output=True)["passages"]
        if "platypus" in passage["text"]
    ]
    assert [(one["origin"], one["kind"]) for one in shown] == [("tool output", "output")] * 4
    message = commands("read", target=shown[0]["message"])
    assert "platypus" not in str(message)
    assert "include_tool_output" in message["more"]
    assert "platypus" in str(commands("read", target=shown[0]["message"], include_tool_output=True))


def test_search_pages_are_stable(call: Call) -> None:
    whole = call("search", query="msgspec", limit=50)["passages"]
    seen, cursor = [], ""
    while True:
        page = call("search", query="msgspec", limit=1, cursor=cursor)
        seen += page.get("passages", [])
        cursor = page.get("next_cursor", "")
        if not cursor:
            break
    assert [one["message"] for one in seen] == [one["message"] for one in whole]


def test_read_begins_with_an_outline(call: Call) -> None:
    answer = call("read", target=FIRST[:8])
    assert answer["session"]["session"] == FIRST
    assert [turn["turn"] for turn in answer["turns"]] == [1, 2]
    assert "Why is the parser slow?" in answer["turns"][0]["text"]
    assert answer["files"] == [f"{APP}/src/parser.py"]
    assert "msgspec stays" in answer["passages"][0]["text"]


def test_read_a_turn_then_a_message(call: Call) -> None:
    turn = call("read", target=FIRST, turn=1, max_tokens=12_000)
    kinds = [(one["kind"], one.get("tool", "")) for one in turn["passages"]]
    assert kinds == [("prompt", ""), ("reply", ""), ("call", "Bash"), ("call", "Edit"), ("reply", "")]
    assert "quokka" not in str(turn)
    whole = call("read", target=FIRST, turn=1, include_tool_output=True, max_tokens=12_000)
    assert "quokka" in str(whole)
    message = whole["passages"][3]["message"]
    assert "quokka" not in str(call("read", target=message))
    assert "quokka" in str(call("read", target=message, include_tool_output=True))


def test_a_long_message_is_read_in_pieces(call: Call) -> None:
    message = call("read", target=FIRST, turn=1, max_tokens=12_000)["passages"][-1]["message"]
    text, cursor, pieces = "", "", 0
    while True:
        answer = call("read", target=message, max_tokens=1_000, cursor=cursor)
        mark = answer["notice"].split("between ")[1].split(" and ")[0]
        text += answer["passages"][0]["text"].removeprefix(mark).removesuffix(mark.replace("⟦", "⟦/"))
        pieces += 1
        cursor = answer.get("next_cursor", "")
        if not cursor:
            break
    assert text.strip() == LONG_REPLY.strip()
    assert pieces > 5


def test_a_turn_is_read_in_pieces(call: Call) -> None:
    kinds, cursor = [], ""
    while True:
        answer = call("read", target=FIRST, turn=1, max_tokens=900, cursor=cursor)
        kinds += [one["kind"] for one in answer["passages"]]
        cursor = answer.get("next_cursor", "")
        if not cursor:
            break
    assert list(dict.fromkeys(kinds)) == ["prompt", "reply", "call"]


def test_the_session_that_asks_is_not_the_last_one(app_store: tuple[Path, Path], server: Server) -> None:
    assert caller(server)("read", target="@last")["session"]["session"] == SECOND
    server._session_id = SECOND
    assert caller(server)("read", target="@last")["session"]["session"] == FIRST


def test_read_reaches_another_project_on_request(call: Call) -> None:
    assert "scope: all" in call("read", target=ELSEWHERE)["error"]
    assert call("read", target=ELSEWHERE, scope="all")["session"]["project"] == OTHER


def test_recall_gives_passages_and_the_outcome(call: Call) -> None:
    answer = call("recall", question="what did we decide about the msgspec parser?")
    assert answer["sessions"][0]["session"] == FIRST
    assert "msgspec stays" in answer["sessions"][0]["text"]
    assert {one["session"] for one in answer["passages"]} == {FIRST}
    assert "passages" not in call("recall", question="wombat")


def test_recall_follows_up(call: Call) -> None:
    answer = call("recall", question="flaky parser")
    assert {one["session"] for one in answer["sessions"]} == {FIRST, SECOND}
    assert {one["session"] for one in call("recall", question="flaky parser", session=FIRST)["passages"]} == {FIRST}
    found = call("recall", question="flaky parser", limit=1)
    assert len(found["sessions"]) == 1
    assert [one["session"] for one in found["left_out"]] == [
        FIRST if found["sessions"][0]["session"] == SECOND else SECOND
    ]
    message = next(one["message"] for one in answer["passages"] if one["session"] == FIRST)
    assert {one["session"] for one in call("recall", question="wombat", like=message)["sessions"]} == {FIRST}
    assert "no message" in call("recall", question="flaky", like="0" * 36)["error"]


def test_recall_finds_some_of_the_words(call: Call) -> None:
    answer = call("recall", question="was the flaky login ever rewritten in zig?")
    assert answer["sessions"][0]["session"] == SECOND
    assert answer["searched"] == "flaky login rewritten zig"
    assert answer["missing"] == ["rewritten", "zig"]
    assert 0 < answer["confidence"] < call("recall", question="flaky login")["confidence"] == 1
    assert "no word" in call("recall", question="what did we do")["error"]


def test_recall_takes_other_words_for_the_same_thing(call: Call) -> None:
    assert "passages" not in call("recall", question="unreliable wombat")
    answer = call("recall", question="unreliable wombat", also="flaky unstable")
    assert answer["sessions"][0]["session"] == SECOND
    assert answer["searched"] == "unreliable wombat"
    assert answer["missing"] == ["unreliable", "wombat"]
    assert 0 < answer["confidence"] < call("recall", question="flaky wombat")["confidence"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"file": "parser.py"}, [FIRST]),
        ({"branch": "feature/login"}, [SECOND]),
        ({"commit": COMMIT}, [FIRST]),
        ({"commit": COMMIT[:8]}, [FIRST]),
        ({"pull_request": PULL_REQUEST}, [FIRST]),
        ({"pull_request": "app/pull/42"}, [FIRST]),
        ({"query": "flaky"}, [SECOND]),
        ({}, [SECOND, FIRST]),
        ({"scope": "all"}, [ELSEWHERE, SECOND, FIRST]),
        ({"pull_request": "app/pull/4"}, []),
        ({"pull_request": PULL_REQUEST, "query": "flaky OR msgspec"}, [FIRST]),
        ({"commit": COMMIT, "query": "flaky OR msgspec"}, [FIRST]),
        ({"commit": COMMIT, "query": '"flaky'}, []),
    ],
)
def test_sessions_are_found_by_what_they_touched(call: Call, given: dict[str, str], found: list[str]) -> None:
    assert [one["session"] for one in call("sessions", **given).get("sessions", [])] == found


def test_files_and_the_history_of_one(call: Call) -> None:
    assert {one["path"] for one in call("files")["files"]} == {f"{APP}/src/parser.py", f"{APP}/tests/test_login.py"}
    (change,) = call("files", path="src/parser.py")["changes"]
    assert (change["session"], change["lines_added"], change["lines_removed"]) == (FIRST, 1, 1)
    assert "text" not in change
    (change,) = call("files", path=f"{APP}/src/parser.py", include_changes=True)["changes"]
    assert "+import msgspec" in change["text"]
    assert call("files", path="nowhere.py")["more"].startswith("No session")


def test_usage_adds_up(call: Call) -> None:
    here, everywhere = call("usage", by="session"), call("usage", by="session", scope="all")
    assert {row["key"] for row in here["rows"]} == {FIRST, SECOND}
    assert {row["key"] for row in everywhere["rows"]} == {FIRST, SECOND, ELSEWHERE}
    assert here["total"]["output_tokens"] == sum(row["output_tokens"] for row in here["rows"])


@pytest.mark.parametrize("by", ["hour", "client", "agent", "tool"])
def test_usage_by_more_adds_up(call: Call, by: str) -> None:
    answer = call("usage", by=by, scope="all", limit=200)
    assert sum(row["api_messages"] for row in answer["rows"]) == answer["total"]["api_messages"]


def test_usage_has_the_groupings_of_the_command() -> None:
    """But not those whose keys mean nothing here."""
    listed = find_tool("usage").listed()["inputSchema"]["properties"]["by"]["enum"]
    assert set(DIMENSIONS) - set(listed) == {"block", "subagent"}
    assert set(listed) <= set(DIMENSIONS)


def test_usage_by_pull_request_and_by_group(call: Call, app_store: tuple[Path, Path]) -> None:
    rows = call("usage", by="pr", scope="all")["rows"]
    assert {row["key"] for row in rows} == {PULL_REQUEST, "no pull request"}
    assert "no group is set" in call("usage", by="group")["error"]
    root, home = app_store
    grouped = caller(server_on(home, root, groups={"product": (APP, OTHER)}))
    (row,) = grouped("usage", by="group", scope="all")["rows"]
    assert row["api_messages"] == sum(one["api_messages"] for one in rows)


@pytest.mark.parametrize(
    ("name", "given", "word"),
    [
        ("search", {}, "query"),
        ("search", {"query": "x", "limit": 0}, "limit"),
        ("search", {"query": "x", "limt": 3}, "limt"),
        ("search", {"query": "x", "scope": "world"}, "scope"),
        ("search", {"query": "kind:nonsense"}, "nonsense"),
        ("search", {"query": "x", "cursor": "zzz"}, "cursor"),
        ("read", {"target": "0000-no-such-id"}, "no-such-id"),
        ("read", {"target": FIRST, "turn": 99}, "turn 99"),
        ("read", {"target": FIRST, "cursor": "x.y"}, "cursor"),
        ("sessions", {"commit": "zz"}, "commit"),
        ("usage", {"by": "moon"}, "by"),
        ("usage", {"query": "opus"}, "model:opus"),
        ("files", {"path": 7}, "path"),
        ("recall", {"question": "parser", "max_tokens": 10}, "max_tokens"),
    ],
)
def test_bad_input_is_an_error_that_says_what_is_wrong(
    call: Call, name: str, given: dict[str, object], word: str
) -> None:
    assert word in call(name, **given)["error"]


@pytest.mark.parametrize("tokens", [800, 1_500])
def test_every_answer_obeys_its_budget(server: Server, tokens: int) -> None:
    for name, given in (
        ("search", {"query": "msgspec"}),
        ("recall", {"question": "msgspec"}),
        ("read", {"target": FIRST}),
        ("read", {"target": FIRST, "turn": 1, "include_tool_output": True}),
        ("sessions", {}),
        ("files", {"path": "parser.py", "include_changes": True}),
        ("usage", {"by": "session"}),
    ):
        message = {"name": name, "arguments": {**given, "max_tokens": tokens, "scope": "all"}}
        response = server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message})
        assert response is not None
        assert estimate_tokens(response["result"]["content"][0]["text"]) <= tokens, name


def test_a_store_that_is_not_there_or_broken_is_told(tmp_path: Path) -> None:
    assert "No Claude Code history" in caller(server_on(tmp_path / "none"))("search", query="x")["error"]
    for name in ("record.db", "index.db", "text.db"):
        (tmp_path / name).write_bytes(b"this is no database" * 100)
    for tool, given in (("search", {"query": "x"}), ("sessions", {}), ("usage", {})):
        assert caller(server_on(tmp_path))(tool, **given)["error"]
