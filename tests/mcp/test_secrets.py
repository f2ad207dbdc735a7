"""Searches tell nothing about secrets: neither by hits and totals, nor by order, exclusions, hints or what `recall` asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import hansard
from hansard.guard.redaction import redact
from hansard.model.placeholders import PLACEHOLDER
from tests.mcp.conftest import Call, caller, server_on
from tests.mcp.writing import Log

KEY = "sk-ant-" + "api03-Qzx7Wvk2Jhq9Ypl4Bnm8Tgc3"
# With the same digits: a placeholder may have one of them, and is found by it.
ABSENT = "sk-ant-" + "api03-Xwq7Rtz2Kpv9Lmd4Hgs8Fjc3"


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Call:
    """A server on sessions with a key in a prompt, a reply, a call and a result, and some without it."""
    place = tmp_path_factory.mktemp("secrets")
    for number in range(4):
        log = Log(str(UUID(int=(0xCCCC0001 + number) << 96)), day=number + 1)
        secret = KEY if number < 2 else "no key"
        log.prompt(f"Deploy the harbour service with {secret}")
        log.reply(f"The harbour service uses {secret} now, as asked.")
        log.call("Bash", {"command": f"deploy --key {secret}"}, f"harbour deployed with {secret}")
        log.write(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as h:
        h.sync()
    return caller(server_on(place / "home", place / "claude"))


def shape(answer: dict[str, Any]) -> Any:
    """All of an answer that does not change from one call to the next, without the words that were asked for."""
    return {
        "total": answer.get("total"),
        "passages": [(one["session"], one.get("message")) for one in answer.get("passages", ())],
        "sessions": [(one["session"], one.get("matches")) for one in answer.get("sessions", ())],
        "more": answer.get("more"),
        "next": bool(answer.get("next_cursor")),
    }


LENGTHS = (14, 15, 17, 21, len(KEY))  # one letter of the random part, some, a whole word of it, all
QUERIES = [
    "{}*", '"{}"*', '"{}"', "harbour {}*", "harbour -{}*", 'harbour -"{}"*', "harbour OR {}*", "near(harbour {})", "kind:title OR {}*",
]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("sort", ["best", "newest"])
def test_every_prefix_of_a_secret_is_answered_as_one_that_does_not_occur(ask: Call, query: str, sort: str) -> None:
    for length in LENGTHS:
        for start in (0, len("sk-ant-api03-")):
            asked, absent = (
                ask("search", query=query.format(text[start:length]), sort=sort, include_tool_output=True, limit=3)
                for text in (KEY, ABSENT)
            )
            assert shape(asked) == shape(absent), KEY[start:length]


@pytest.mark.parametrize("query", QUERIES)
def test_sessions_are_not_listed_by_their_secrets(ask: Call, query: str) -> None:
    for length in LENGTHS[1::2]:
        asked, absent = (ask("sessions", query=query.format(text[13:length])) for text in (KEY, ABSENT))
        assert shape(asked) == shape(absent), KEY[13:length]


def test_recall_finds_nothing_by_parts_of_a_secret(ask: Call) -> None:
    pairs = (("Qzx7", "Xwq7"), ("Qzx7Wvk2", "Xwq7Rtz2"), ("Jhq9 harbour service", "Kpv9 harbour service"))
    for part, other in (*pairs, ("harbour Qzx7", "harbour Xwq7"), (KEY[13:], ABSENT[13:])):
        asked, absent = (ask("recall", question=words) for words in (part, other))
        assert shape(asked) == shape(absent), (part, shape(asked), shape(absent))
    for part, other in pairs[:2]:
        asked, absent = (ask("recall", question=f"harbour {word}") for word in (part, other))
        assert asked["confidence"] == absent["confidence"]
        assert (asked["missing"], absent["missing"]) == ([part], [other])


def test_words_beside_a_secret_are_found(ask: Call) -> None:
    answer = ask("search", query="harbour service", limit=20)

    assert answer["total"] == len(answer["passages"]) == 8
    assert sum(PLACEHOLDER.search(one["text"]) is not None for one in answer["passages"]) == 4
    assert {one["session"] for one in ask("sessions", query="harbour")["sessions"]} == {
        one["session"] for one in answer["passages"]
    }
    assert len(ask("search", query="harbour -asked", limit=20)["passages"]) < 12


def test_pages_of_a_search_with_secrets_are_complete(ask: Call) -> None:
    for sort in ("best", "newest"):
        whole = ask("search", query="harbour", sort=sort, limit=20)["passages"]
        found: list[str] = []
        cursor = ""
        while True:
            page = ask("search", query="harbour", sort=sort, limit=3, cursor=cursor)
            found += [one["message"] for one in page["passages"]]
            cursor = page.get("next_cursor", "")
            if not cursor:
                break
        assert found == [one["message"] for one in whole]


def test_a_secret_that_is_split_over_blocks_is_redacted_in_both_when_read(tmp_path: Path) -> None:
    log = Log(str(UUID(int=0xDDDD0001 << 96)))
    log.prompt("Which key?")
    log.answer({"type": "text", "text": f"Split: {KEY[:16]}"}, {"type": "text", "text": f"{KEY[16:]} is it."})
    log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "home", [tmp_path / "claude"]) as h:
        h.sync()

    answer = caller(server_on(tmp_path / "home", tmp_path / "claude"))("read", target=log.session, turn=1)

    texts = [one["text"].split("⟧", 1)[1].rsplit("⟦", 1)[0] for one in answer["passages"]]
    placeholder = texts[1].removeprefix("Split: ")
    assert PLACEHOLDER.fullmatch(placeholder)
    assert texts[2] == f"{placeholder} is it."


def test_the_placeholder_is_the_one_that_searches_know() -> None:
    assert PLACEHOLDER.fullmatch(redact(KEY))


def test_sql_finds_nothing_by_parts_of_a_secret(ask: Call) -> None:
    found = ask(
        "sql",
        query=" UNION ALL ".join(
            "SELECT session_id FROM prompts WHERE " + condition.format(KEY[start:end])
            for start, end in ((13, 20), (16, 24), (20, len(KEY)), (0, len(KEY)))
            for condition in (
                "text LIKE '%{}%'",
                "instr(hex(text), hex('{}')) > 0",
                "session_id IN (SELECT session_id FROM messages WHERE instr(record(transcript, byte_offset), '{}') > 0)",
            )
        ),
    )
    assert "error" not in found
    assert "rows" not in found
    said = str(
        ask(
            "sql",
            query="SELECT record(transcript, byte_offset), replace(message_text(transcript, byte_offset), '-', '+') FROM messages",
            max_tokens=12_000,
        )
    )
    assert KEY not in said
    assert KEY.replace("-", "+") not in said
    assert "harbour" in said


def test_sql_is_bounded(ask: Call) -> None:
    many = "SELECT a.uuid, b.uuid FROM messages a, messages b"
    few = ask("sql", query=many, limit=500, max_tokens=800)
    assert "did not fit" in few["more"]
    assert len(few["rows"]) < len(ask("sql", query=many, limit=500, max_tokens=12_000)["rows"])
    assert "raise limit" in ask("sql", query=many, limit=2)["more"]
    assert len(ask("sql", query=many, limit=2)["rows"]) == 2
    wide = ask("sql", query="SELECT printf('%.*c', 100000, 'x') AS wide", max_tokens=800)
    assert len(wide["rows"]) == 1
    assert "too big" in ask("sql", query="SELECT zeroblob(20000000)")["error"]
    assert "larger than 16 MiB" in ask("sql", query="SELECT printf('%.*c', 10000000, 'x') FROM messages")["error"]
    assert "not authorized" in ask("sql", query="ATTACH 'x' AS y")["error"]


def test_the_first_answer_says_that_the_history_was_never_searched(
    app_store: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hansard.secrets.counts.NEWEST", 100)
    root, home = app_store
    asked = caller(server_on(home, root))
    assert ["never searched for secrets" in str(asked("search", query="the")) for _ in range(2)] == [True, False]
    unredacted = caller(server_on(home, root, redact_outgoing="off"))
    assert "never searched" not in str(unredacted("search", query="the"))
