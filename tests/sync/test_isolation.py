"""One bad file never stops the others: it is quarantined, named with the reason, and tried again when it changes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.clients.claude_code import side_files
from hansard.errors import StoreUnusable
from hansard.index import derive, rows, text
from hansard.pricing import rates
from hansard.record.store import Record
from hansard.sources.tail import open_tail
from hansard.storage.heartbeat import heartbeat
from hansard.sync import indexing, record_writer, survey
from tests.sync.making import FOLDER, Tree, assistant, main_path, raw, session, user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hansard.engine import Hansard
    from hansard.sources.tail import Tail

SESSIONS = [session(number) for number in range(1, 6)]
BAD = SESSIONS[2]
NESTED = b'{"display":"deep","x":' + b"[" * 1000 + b"]" * 1000 + b"}\n"


def lines(session_id: str) -> bytes:
    return raw(
        [
            user(session_id, f"u-{session_id}", "What is it?", 0),
            assistant(session_id, f"a-{session_id}", f"msg_01{session_id}", "A lamp.", 1, f"u-{session_id}"),
        ]
    )


@pytest.fixture
def many(tree: Tree) -> Tree:
    for number, session_id in enumerate(SESSIONS):
        tree.write(main_path(session_id), lines(session_id))
        os.utime(tree.place(main_path(session_id)), ns=(10**18 + number * 10**9,) * 2)
    return tree


@pytest.fixture
def h(many: Tree) -> Iterator[Hansard]:
    with hansard.open(str(many.home), roots=[str(many.config)]) as opened:
        yield opened


def kept(tree: Tree) -> dict[str, bytes]:
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        return {
            item.path: b"".join(record.read(item.id)) for item in record.generations() if item.current and item.size
        }


def listed(tree: Tree) -> set[str]:
    return {row[0] for row in tree.rows("SELECT session_id FROM sessions")}


def test_a_history_line_of_a_thousand_nested_lists(many: Tree) -> None:
    many.write("history.jsonl", NESTED + b'{"display":"fine","timestamp":1}\n')
    many.sync()
    assert len(kept(many)) == 6
    assert listed(many) == set(SESSIONS)
    assert many.rows("SELECT text FROM prompts WHERE source = 'history' AND text = 'fine'") == [("fine",)]


def test_a_date_in_the_year_2400(many: Tree) -> None:
    seconds = 13_569_465_600
    for path in (main_path(BAD), f"{FOLDER}/{BAD}/tool-results/far.txt"):
        many.write(path, lines(BAD))
        try:
            os.utime(many.place(path), (seconds, seconds))
        except (OSError, OverflowError):
            pytest.skip("this file system has no such dates")
    report = many.sync()
    assert report.problems == 0
    assert listed(many) == set(SESSIONS)
    assert len(kept(many)) == 5
    assert many.sync().changed == 0


STAGES: dict[str, tuple[Any, str]] = {
    "opening": (record_writer, "open_tail"),
    "keeping": (Record, "append"),
    "settling": (Record, "settle"),
    "rows": (rows.RowIndex, "_write"),
    "saving": (rows.RowIndex, "_save"),
    "text": (text.TextIndex, "_feed_lines"),
}


@pytest.mark.parametrize("error", [ValueError, RecursionError, MemoryError, OverflowError, KeyError])
@pytest.mark.parametrize("stage", STAGES)
def test_any_exception_stays_with_its_file(
    many: Tree, h: Hansard, monkeypatch: pytest.MonkeyPatch, stage: str, error: type[Exception]
) -> None:
    """Whatever is raised for one transcript, at any stage, all the others are kept, indexed and found."""
    owner, name = STAGES[stage]
    _fail(monkeypatch, owner, name, error, _concerns(many, stage))
    report = h.sync()
    assert report.problems == 1
    (problem,) = h.problems()
    assert error.__name__ in problem.reason
    assert main_path(BAD) in problem.subject
    others = set(SESSIONS) - {BAD}
    assert {main_path(other) for other in others} <= kept(many).keys()
    assert (main_path(BAD) in kept(many)) is problem.is_kept
    assert others <= listed(many)
    assert {hit.session_id for hit in h.search("lamp").hits} >= others
    assert h.status().problems == (problem,)
    assert any(BAD in finding.text for finding in h.doctor().findings if finding.level != "ok")
    # Nothing changed: it is not tried again, and still named.
    assert h.sync().problems == 1
    # Put right and changed, it is as if nothing had been.
    monkeypatch.undo()
    many.append(main_path(BAD), [user(BAD, "u5", "And that?", 4)])
    assert h.sync().problems == 0
    assert listed(many) == set(SESSIONS)
    assert {hit.session_id for hit in h.search("lamp").hits} == set(SESSIONS)


def test_a_session_that_cannot_be_derived(many: Tree, h: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail(monkeypatch, derive, "_derive_session", RecursionError, lambda _db, session_id, *_: session_id == BAD)
    assert h.sync().problems == 1
    (problem,) = h.problems()
    assert (problem.stage, problem.subject, problem.is_kept) == ("session", BAD, True)
    assert listed(many) == set(SESSIONS) - {BAD}
    assert h.sync().problems == 1
    monkeypatch.undo()
    many.append(main_path(BAD), [user(BAD, "u5", "And that?", 4)])
    assert h.sync().problems == 0
    assert listed(many) == set(SESSIONS)


def test_a_model_whose_price_cannot_be_looked_up(many: Tree, h: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = assistant(BAD, "a9", "msg_09", "One more.", 5)
    odd["message"]["model"] = "odd-model"
    many.append(main_path(BAD), [odd])
    _fail(monkeypatch, rates, "find", RecursionError, lambda _book, name: name == "odd-model")
    assert h.sync().problems == 1
    (problem,) = h.problems()
    assert (problem.stage, problem.subject, problem.is_kept) == ("price", "odd-model", True)
    assert listed(many) == set(SESSIONS)
    report = h.usage(by=("model",))
    assert report.totals.api_messages == len(SESSIONS) + 1
    assert report.totals.unpriced_models == ("odd-model",)


def _concerns(tree: Tree, stage: str) -> Callable[..., bool]:
    """Whether a call is about the bad transcript."""
    number = 1 + SESSIONS.index(BAD)
    if stage == "opening":
        return lambda path, *_, **__: BAD in path
    if stage in ("keeping", "settling"):
        return lambda _self, generation, *_: generation == number
    if stage in ("rows", "saving"):
        return lambda _self, transcript, *_, **__: transcript.id == number
    return lambda _self, base, *_: base >> 40 == number


def _fail(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: type[Exception], concerns: Callable[..., bool]
) -> None:
    real = getattr(owner, name)

    def fail(*given: Any, **named: Any) -> Any:
        if concerns(*given, **named):
            raise error("on purpose")
        return real(*given, **named)

    monkeypatch.setattr(owner, name, fail)


def test_a_small_file_that_cannot_be_indexed(many: Tree, h: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    many.write(f"todos/{BAD}-agent-{BAD}.json", b"[]")

    def fail(*_: object) -> None:
        raise RecursionError("on purpose")

    monkeypatch.setattr(side_files, "_todos", fail)
    assert h.sync().problems == 1
    (problem,) = h.problems()
    assert problem.stage == "side_file"
    assert listed(many) == set(SESSIONS)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_transcript_that_may_not_be_read(many: Tree, h: Hansard) -> None:
    many.place(main_path(BAD)).chmod(0)
    assert h.sync().problems == 1
    (problem,) = h.problems()
    assert (problem.stage, problem.reason) == ("read", "Permission denied")
    many.place(main_path(BAD)).chmod(0o600)  # which changes its status, so it is tried again
    assert h.sync().problems == 0
    assert listed(many) == set(SESSIONS)


def test_an_unreadable_file_costs_nothing_while_it_stays_so(
    many: Tree, h: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0
    real = open_tail

    def refuse(path: str, *more: Any, **named: Any) -> Tail:
        nonlocal tried
        if BAD in path:
            tried += 1
            raise PermissionError(13, "Permission denied", path)
        return real(path, *more, **named)

    monkeypatch.setattr(record_writer, "open_tail", refuse)
    for _ in range(3):
        assert h.sync().problems == 1
        assert [line for line in h.sync().unreadable if BAD in line]
    assert tried == 1
    monkeypatch.setattr(survey, "RETRY_NS", 0)
    h.sync()
    assert tried == 2
    many.place(main_path(BAD)).unlink()
    assert h.sync().problems == 0


def test_the_newest_are_read_first_and_have_the_highest_ids(many: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    real = open_tail

    def note(path: str, *more: Any, **named: Any) -> Tail:
        read.append(path)
        return real(path, *more, **named)

    monkeypatch.setattr(record_writer, "open_tail", note)
    many.sync()
    assert [path.rsplit("/", 1)[-1].removesuffix(".jsonl") for path in read] == SESSIONS[::-1]
    assert [row[0] for row in many.rows("SELECT session_id FROM transcripts ORDER BY id")] == SESSIONS


def test_all_bytes_are_committed_before_anything_reads_them(many: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The indexer dies in the hardest way there is, and every byte is in the record all the same."""

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(indexing, "catch_up", die)
    monkeypatch.setattr("hansard.sync.run.catch_up", die, raising=False)
    monkeypatch.setattr(rows.RowIndex, "feed", die)
    with pytest.raises(Killed):
        many.sync()
    assert kept(many) == {main_path(item): lines(item) for item in SESSIONS}


def test_the_heartbeat(many: Tree, h: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    assert heartbeat(str(many.home)).last_sync is None
    h.sync()
    first = heartbeat(str(many.home))
    assert first.last_sync is not None
    assert (first.error, first.problems) == (None, 0)
    os.utime(many.home / "last-sync.json", (1e9, 1e9))
    h.sync()  # finds nothing new, and that is news
    assert (heartbeat(str(many.home)).last_sync or 0) > 1e9
    with monkeypatch.context() as broken:
        broken.setattr("hansard.sync.run._look", lambda *_: None)
        broken.setattr(Record, "head", lambda _: (_ for _ in ()).throw(StoreUnusable("no space left")))
        many.append(main_path(BAD), [user(BAD, "u5", "More.", 4)])
        with pytest.raises(StoreUnusable):
            h.sync()
    assert heartbeat(str(many.home)).error == "no space left"
    assert h.status().sync_error == "no space left"
    h.sync()
    assert heartbeat(str(many.home)).error is None


def test_recursion_has_a_limit() -> None:
    assert sys.getrecursionlimit() < 10_000  # else the nested lists above prove nothing
