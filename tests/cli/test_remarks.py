"""`hansard tag`, `pin`, `rename` and `note`: for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard

from .conftest import OTHER, SESSION, Run

if TYPE_CHECKING:
    from pathlib import Path


def test_tags(run: Run) -> None:
    assert run("tag", SESSION[:4], "Tides", "client/acme").stdout == "11111111  When is high tide?  Tides client/acme\n"
    assert run("tag", OTHER, "tides").exit_code == 0
    assert run("tag", SESSION).stdout == "Tides\nclient/acme\n"
    assert run("tag").stdout == "2  tides\n1  client/acme\n"
    assert json.loads(run("tag", "--json").stdout) == {
        "tags": [{"tag": "tides", "sessions": 2}, {"tag": "client/acme", "sessions": 1}]
    }
    assert json.loads(run("tag", SESSION, "TIDES", "--remove", "--json").stdout) == {
        "session_id": SESSION,
        "title": "When is high tide?",
        "renamed": False,
        "pinned": False,
        "tags": ["client/acme"],
        "notes": [],
        "pinned_messages": [],
    }
    assert [item["session_id"] for item in json.loads(run("sessions", "tag:tides", "--json").stdout)["sessions"]] == [
        OTHER
    ]


def test_pins(run: Run) -> None:
    run("pin", SESSION, OTHER)
    run("pin", OTHER, "--remove")
    found = json.loads(run("sessions", "is:pinned", "--json").stdout)["sessions"]
    assert [(item["session_id"], item["pinned"]) for item in found] == [(SESSION, True)]
    assert "◆ When is high tide?" in run("sessions").output
    assert json.loads(run("pin", SESSION, "--json").stdout)["sessions"][0]["pinned"] is True
    assert run("search", "is:pinned", "--count").stdout == "2\n"


def test_pinned_messages(run: Run) -> None:
    (uuid,) = {hit["uuid"] for hit in json.loads(run("search", "tide", "--json").stdout)["hits"]}
    assert run("pin", SESSION, "--message", uuid).exit_code == 0
    for query, found in (("has:pin", [SESSION]), ("is:pinned", [])):
        sessions = json.loads(run("sessions", query, "--json", code=0 if found else 1).stdout)["sessions"]
        assert [one["session_id"] for one in sessions] == found
    (session,) = json.loads(run("sessions", "has:pin", "--json").stdout)["sessions"]
    assert (session["pinned"], session["pinned_messages"]) == (False, [uuid])
    assert f"Pinned messages: {uuid[:8]}" in run("show", SESSION).output
    run("rebuild")
    assert f"Pinned messages: {uuid[:8]}" in run("show", SESSION).output
    assert "no message of the session matches" in run("pin", OTHER, "--message", uuid, code=1).stderr
    assert "one session" in run("pin", SESSION, OTHER, "--message", uuid, code=2).stderr
    gone = json.loads(run("pin", SESSION, "--message", uuid, "--remove", "--json").stdout)["sessions"]
    assert gone[0]["pinned_messages"] == []


def test_titles(run: Run) -> None:
    assert run("rename", OTHER, "Sails", "and", "ropes").stdout == "22222222  Sails and ropes\n"
    assert "Sails and ropes" in run("sessions").output
    assert run("rename", "sails and ropes", "--remove").stdout.startswith("22222222  Wrap the sail")


def test_notes(run: Run, root: Path, tmp_path: Path) -> None:
    assert run("note", SESSION, "Ask", "the harbour.").stdout == "1  Ask the harbour.\n"
    options = ["--home", str(tmp_path / "store"), "--root", str(root)]
    piped = CliRunner().invoke(hansard, ["note", SESSION, "-", *options], input="two\nlines\n")
    assert piped.stdout == "1  Ask the harbour.\n2  two\n   lines\n"
    assert run("note", SESSION).stdout == piped.stdout
    assert run("sessions", "note:harbour", "--json").exit_code == 0
    assert run("note", SESSION, "--remove", "1").stdout == "1  two\n   lines\n"
    assert run("note", SESSION, "--remove", "1").stdout == ""
    assert json.loads(run("note", SESSION, "--json", code=1).stdout)["notes"] == []


def test_plain_words_find_notes_and_lists_mark_them(run: Run) -> None:
    run("note", OTHER, "Ask about the zzyzx gauge before the tide")
    header, label, *text = run("search", "zzyzx", "gauge").stdout.splitlines()
    assert header.startswith("22222222")
    assert label.startswith("  your note  ")
    assert text == ["    Ask about the zzyzx gauge before the tide"]
    found = json.loads(run("search", "zzyzx", "--json").stdout)
    assert [one["session_id"] for one in found["found_notes"]] == [OTHER]
    assert found["hits"] == []
    both = run("search", "tide").stdout
    assert both.index("your note") < both.index("\n\n") < both.index("11111111")
    assert "✎ Wrap the sail" in run("sessions").output
    assert run("search", "zzyzx", "other", code=1).stdout == ""


def test_tags_in_the_list_where_there_is_room(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "TAGS" not in run("sessions").output
    run("tag", SESSION, "tides", "acme")
    monkeypatch.setenv("COLUMNS", "140")
    head, *rows = run("sessions").stdout.splitlines()
    assert head.split()[-1] == "TAGS"
    assert [row for row in rows if row.endswith("tides acme")] == [row for row in rows if SESSION[:8] in row]
    monkeypatch.setenv("COLUMNS", "60")
    assert all(len(line) <= 60 for line in run("sessions").stdout.splitlines())


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_no_control_sequence_comes_back(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    evil = "a\x1b[2J\x1b]0;owned\x07b \x9b31m \u202egnp.exe\rX\x08"
    outputs = [
        run("rename", SESSION, evil).output,
        run("note", SESSION, evil).output,
        run("note", SESSION).output,
        run("tag", SESSION, "fine").output,
        run("pin", SESSION).output,
        run("sessions").output,
        run("tag", SESSION, f"x{evil[:3]}", code=2).output,
    ]
    for output in outputs:
        assert not set(output) & set("\x1b\x07\x08\r\x9b\u202e")
    assert "owned" not in outputs[0]


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (("tag",), 1, "no tags yet"),
        (("tag", "nobody", "x"), 1, "no session matches 'nobody'"),
        (("tag", SESSION), 1, "the session has no tags"),
        (("tag", SESSION, "two words"), 2, "a tag is one word: write 'two-words'"),
        (("tag", SESSION, "a,b"), 2, "a tag cannot contain ',':"),
        (("tag", SESSION, "x" * 65), 2, "64 characters at most"),
        (("tag", SESSION, "--remove"), 2, "no tags to remove"),
        (("pin",), 2, "SESSION"),
        (("pin", SESSION, "nobody"), 1, "no session matches 'nobody'"),
        (("pin", ""), 1, "no session matches ''"),
        (("rename", SESSION), 2, "no title given"),
        (("rename", SESSION, "x", "--remove"), 2, "no title given"),
        (("rename", SESSION, "x" * 201), 2, "200 characters at most"),
        (("note", SESSION), 1, "the session has no notes"),
        (("note", SESSION, "--remove", "1"), 1, "no note number 1"),
        (("note", SESSION, "x", "--remove", "1"), 2, "cannot be used together"),
        (("note", SESSION, "x" * 10_001), 2, "10,000 characters at most"),
    ],
)
def test_what_cannot_be_done_is_told(run: Run, given: tuple[str, ...], code: int, message: str) -> None:
    assert message in run(*given, code=code).stderr
    assert json.loads(run("sessions", "is:pinned", "--json", code=1).stdout)["total"] == 0
