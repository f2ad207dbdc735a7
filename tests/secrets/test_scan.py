"""A scan finds every planted secret, whatever the order and the pieces in which the record grew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest

import hansard
from hansard.clients import client_of
from hansard.engine import Hansard
from hansard.files import FileLock
from hansard.guard.detection import Detector, detector
from hansard.guard.kept_rules import kept_version
from hansard.guard.redaction import fingerprint
from hansard.secrets import scan as scanning
from hansard.secrets import search as searching
from hansard.secrets.chains import Chain, Chains
from hansard.secrets.masking import Masker
from hansard.secrets.search import Search
from tests.mcp.writing import Log
from tests.secrets.planting import PLANTED, SPLIT

TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"
OTHER = "glpat" + "-" + "aB3dE5gH7jK9mN1pQ2rS"
SESSION = "aaaa0001-0000-4000-8000-000000000001"
needs_kept_rules = pytest.mark.skipif(kept_version() is None, reason="the extra `secrets` is not installed")


def rows(home: Path) -> list[Any]:
    """Everything that a scan found, without the ids of rows."""
    db = apsw.Connection(str(home / "secrets.db"), flags=apsw.SQLITE_OPEN_READONLY)
    columns = "fingerprint, rule, confidence, source, ref, offset, start, length, is_encoded, is_bare, times"
    found = sorted(db.execute(f"SELECT {columns} FROM findings").fetchall())
    db.close()
    return found


def ids(h: Hansard, *values: str) -> set[str]:
    key = h.record.secret_key()
    return {fingerprint(key, value) for value in values}


def found(h: Hansard) -> set[str]:
    return {one.secret_id for one in h.secrets(state="all", limit=None).secrets}


@needs_kept_rules
def test_every_planted_secret_is_found_and_nothing_else(h: Hansard) -> None:
    assert found(h) == ids(h, *(planted.value for planted in PLANTED))


def test_the_secrets_are_not_in_the_findings(h: Hansard) -> None:
    content = (Path(h.home) / "secrets.db").read_bytes()
    assert [planted.kind for planted in PLANTED if planted.value[:24].encode() in content] == []


def test_a_second_scan_reads_nothing(h: Hansard) -> None:
    report = h.scan_secrets()
    assert (report.bytes_read, report.new, report.unscanned_bytes, report.busy) == (0, 0, 0, False)


def write(root: Path, lines: list[dict[str, Any]], whole: int, part: int = 0) -> None:
    """Write a transcript that has the first lines, and a part of the next one."""
    folder = root / "projects" / "-src-tide"
    folder.mkdir(parents=True, exist_ok=True)
    text = [json.dumps(line) + "\n" for line in lines]
    (folder / f"{SESSION}.jsonl").write_text("".join(text[:whole]) + "".join(text[whole : whole + 1])[:part])


def conversation() -> list[dict[str, Any]]:
    log = Log(SESSION, cwd="/src/tide")
    log.prompt(f"use {TOKEN} please")
    log.reply(f"It begins with {OTHER[:9]}")
    log.reply(f"{OTHER[9:]} and ends there.")
    log.call("Bash", {"command": f"curl -H 'Authorization: Bearer {TOKEN}'"}, f"ok {TOKEN} {TOKEN}")
    log.prompt("thanks")
    for part in (f"so {TOKEN[:12]}", TOKEN[12:24], f"{TOKEN[24:]} it is"):
        log.reply(part)
    return log.lines


def test_any_split_into_scans_finds_the_same(tmp_path: Path) -> None:
    lines = conversation()
    write(tmp_path / "whole", lines, len(lines))
    with hansard.open(tmp_path / "one", [tmp_path / "whole"]) as h:
        h.sync()
        h.scan_secrets()
        assert found(h) == ids(h, TOKEN, OTHER)
        key = h.record.secret_key()
    (tmp_path / "parts" / "projects").mkdir(parents=True)
    with hansard.open(tmp_path / "many", [tmp_path / "parts"]) as h:
        for whole, part in (
            (0, 300),
            (1, 0),
            (1, 40),
            (2, 0),
            (2, 500),
            (3, 0),
            (4, 100),
            (5, 0),
            (8, 0),
            (8, 200),
            (9, 0),
            (len(lines), 0),
        ):
            write(tmp_path / "parts", lines, whole, part)
            h.sync(reread=True)
            if h._record_or_none() is not None:
                with apsw.Connection(str(tmp_path / "many" / "record.db")) as db:
                    db.execute("UPDATE secret_key SET key = ?", (key,))
                h.scan_secrets()
    assert [row[:3] + row[5:] for row in rows(tmp_path / "many")] == [
        row[:3] + row[5:] for row in rows(tmp_path / "one")
    ]


def test_a_scan_goes_on_after_any_commit(tmp_path: Path, planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "store"
    shutil.copytree(planted.home, home)
    expected = rows(home)
    (home / "secrets.db").unlink()
    monkeypatch.setattr(scanning, "_COMMIT_BYTES", 40_000)
    with hansard.open(home, [planted.root]) as h:
        for _ in range(200):
            report = h.scan_secrets(is_stopped=stops_after(60))
            if not report.unscanned_bytes:
                break
    assert rows(home) == expected


def stops_after(times: int) -> Callable[[], bool]:
    asked = iter([False] * times)
    return lambda: next(asked, True)


def test_secrets_that_are_split_over_texts_are_found(h: Hansard) -> None:
    places = [
        place
        for one in h.secrets(session=SPLIT, limit=None).secrets
        for place in h.secret(one.secret_id).places
        if place.session_id == SPLIT
    ]
    assert len(places) == 4
    assert all(place.is_encoded for place in places)


def test_a_line_of_any_length_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_WINDOW", 2_000)
    monkeypatch.setattr(searching, "_OVERLAP", 400)
    search = Search(Detector(None).find, b"key")
    for place in (0, 1_500, 1_599, 1_601, 1_790, 1_810, 2_000, 3_300, 6_960):
        data = bytearray(b"lorem ipsum " * 600)
        data[place : place + len(TOKEN) + 2] = f" {TOKEN} ".encode()
        (one,) = search.data(bytes(data))
        assert (one.start, one.length, one.times) == (place + 1, len(TOKEN), 1)
        pieces = (bytes(data[at : at + 700]) for at in range(0, len(data), 700))
        assert search.pieces(pieces) == [one]


def test_offsets_are_those_of_bytes() -> None:
    data = f"ключ 雨 \udcff: {TOKEN} да".encode("utf-8", "surrogateescape")
    (one,) = Search(Detector(None).find, b"key").data(data)
    assert data[one.start : one.start + one.length] == TOKEN.encode()
    (encoded,) = Search(Detector(None).find, b"key").data(json.dumps({"a": TOKEN.replace("_", "\\u005f")}).encode())
    assert encoded.is_encoded
    assert encoded.fingerprint == one.fingerprint


def test_a_secret_with_many_places_has_a_limited_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hansard.secrets.store.MOST_PER_LOG", 20)
    log = Log(SESSION, cwd="/src/tide", branch=f"fix/{TOKEN}")
    for number in range(50):
        log.prompt(f"Number {number}")
    log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.scan_secrets()
        (one,) = h.secrets().secrets
    assert one.places == 20
    assert sum(row[-1] for row in rows(tmp_path / "store")) == 50


def test_names_and_remarks_are_searched_and_forgotten(tmp_path: Path) -> None:
    log = Log(SESSION, cwd="/src/tide")
    log.prompt("Hello")
    log.write(tmp_path / "claude")
    memory = tmp_path / "claude" / "projects" / "-src-tide" / "memory"
    memory.mkdir()
    (memory / f"{OTHER}.md").write_text("nothing")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.note(SESSION, f"token {TOKEN}")
        h.scan_secrets()
        assert found(h) == ids(h, TOKEN, OTHER)
        kinds = {place.kind for one in h.secrets().secrets for place in h.secret(one.secret_id).places}
        assert kinds == {"note", "name"}
        assert all(OTHER not in str(one) for one in h.secrets().secrets)
        h.unnote(SESSION, 1)
        h.scan_secrets()
        assert found(h) == ids(h, OTHER)


def test_other_rules_search_everything_again(tmp_path: Path, planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "store"
    shutil.copytree(planted.home, home)
    expected = rows(home)
    monkeypatch.setattr(scanning, "rules_version", lambda: "other")
    with hansard.open(home, [planted.root]) as h:
        assert h.scan_secrets().bytes_read > 100_000
        assert rows(home) == expected
        assert h.scan_secrets(full=True).bytes_read > 100_000
    assert rows(home) == expected


def test_another_scan_is_not_disturbed(tmp_path: Path) -> None:
    write(tmp_path / "claude", conversation(), 3)
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        with FileLock(str(tmp_path / "store" / "secrets.lock"), 0) as held:
            assert held
            assert h.scan_secrets().busy
        assert not h.scan_secrets().busy


def test_a_log_that_cannot_be_searched_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "claude", conversation(), 6)
    log = Log(SESSION.replace("1", "2"), cwd="/src/tide")
    log.prompt(f"the other {OTHER}")
    log.write(tmp_path / "claude")
    find = detector().find

    def fail(text: str, **more: Any) -> Any:
        if "use ghp" in text:
            raise ValueError("broken")
        return find(text, **more)

    monkeypatch.setattr(detector(), "find", fail)
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        assert h.scan_secrets().new == 1
        monkeypatch.undo()
        assert h.scan_secrets().bytes_read == 0  # it is tried again when there is more of it
        assert h.scan_secrets(full=True).secrets == 2


def chains_of(lines: list[dict[str, Any]]) -> list[Chain]:
    chains = Chains(client_of("claude-code"), is_aside=False)
    found = [chain for number, line in enumerate(lines) for chain in chains.add(json.dumps(line).encode(), number)]
    return found + chains.rest()


def test_texts_are_joined_only_within_a_token() -> None:
    chains = chains_of(conversation())
    assert f"begins with {OTHER} and ends there.curl -H" in chains[0].text + chains[1].text
    (secret, parts), (last, more) = (split for chain in chains for split in chain.split(Detector(None).find))
    assert (secret.value, last.value, len(more)) == (OTHER, TOKEN, 3)
    assert [(part.offset, part.text[part.start : part.end]) for part in parts] == [(1, OTHER[:9]), (2, OTHER[9:])]


def blocks(kind: str, *parts: str) -> list[dict[str, Any]]:
    """A secret that is split over texts of some kind, as clients write them."""
    log = Log(SESSION, cwd="/src/tide")
    log.prompt("Which key is it?")
    texts = [{"type": "text", "text": part} for part in parts]
    match kind:
        case "blocks":
            log.answer(*texts)
        case "messages":
            for part in parts:
                log.reply(part)
        case "blocks of a result":
            log.add(
                "user",
                message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": texts}]},
            )
        case "thought and replies":
            log.answer({"type": "thinking", "thinking": parts[0], "signature": "x"}, *texts[1:])
        case "replies and input":
            log.answer(*texts[:-1], {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": parts[-1]}})
        case _:
            log.answer(*texts[:-1])
            log.prompt(parts[-1])
    log.reply("As ever.")
    return log.lines


SPLITS = ("blocks", "messages", "blocks of a result", "thought and replies", "replies and input", "reply and prompt")


@pytest.mark.parametrize("kind", SPLITS)
@pytest.mark.parametrize("places", [(12,), (3, 20), (4, 12, 30)])
@pytest.mark.parametrize("between", ["", "\n", " \n\n  "])
def test_a_secret_is_found_and_masked_however_it_is_split(
    tmp_path: Path, kind: str, places: tuple[int, ...], between: str
) -> None:
    parts = [TOKEN[start:end] for start, end in pairwise((0, *places, len(TOKEN)))]
    lines = blocks(
        kind, f"It is {parts[0]}{between}", *(f"{part}{between}" for part in parts[1:-1]), f"{parts[-1]} as ever."
    )
    write(tmp_path / "claude", lines, len(lines))
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.scan_secrets()
        assert found(h) == ids(h, TOKEN)
        (one,) = h.secrets().secrets
        assert h.reveal_secret(one.secret_id) == TOKEN
        assert not h.secret(one.secret_id).places[0].is_former
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    masked = bytearray(data)
    for line in Masker(Detector(None).find, b"key").log(client_of("claude-code"), [data], is_aside=False):
        masked[line.offset : line.offset + len(line.data)] = line.data
    assert [part for part in parts if len(part) > 3 and part in masked.decode()] == []
    assert json.loads(masked.splitlines()[0]) == lines[0]
    assert b"as ever." in masked


def test_a_word_after_a_token_is_no_part_of_it() -> None:
    for words in ("Now it works", "OTHER=1", "and so on"):
        for kind in SPLITS:
            lines = blocks(kind, f"It is {TOKEN}", f"{words} as ever.")
            assert [secret for chain in chains_of(lines) for secret in chain.split(Detector(None).find)] == []
