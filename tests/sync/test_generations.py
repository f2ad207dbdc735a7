"""Files that vanish, come back, are cut or rewritten: everything that was seen stays, and nothing counts twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hansard.engine import Hansard
from hansard.record.store import Record
from hansard.sources import tail
from hansard.sync import record_writer
from hansard.sync.run import sync
from tests.sync.making import FOLDER, Tree, ask, assistant, main_path, raw, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

S = session(1)
PATH = main_path(S)
LINES = [
    user(S, "u1", "What is it?", 0),
    assistant(S, "u2", "msg_01a", "A lamp.", 1, "u1", tokens=(5, 7)),
    user(S, "u3", "And that?", 2, "u2"),
    assistant(S, "u4", "msg_01b", "A chair.", 3, "u3", tokens=(11, 13)),
]


def _kept(tree: Tree) -> list[bytes]:
    """Every generation of the transcript, oldest first."""
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        return [b"".join(record.read(item.id)) for item in record.generations() if item.path == PATH]


def _session(tree: Tree, columns: str = "source_state, prompts, output_tokens, api_messages") -> tuple[object, ...]:
    ((*row,),) = tree.rows(f"SELECT {columns} FROM sessions WHERE session_id = ?", S)
    return tuple(row)


@pytest.fixture
def synced(tree: Tree) -> Tree:
    tree.write(PATH, LINES)
    tree.sync()
    return tree


def test_gone_and_back(synced: Tree) -> None:
    place = synced.place(PATH)
    content, status = place.read_bytes(), place.stat()
    place.unlink()
    assert synced.sync().gone == 1
    assert _session(synced) == ("gone", 2, 20, 2)
    assert synced.rows("SELECT state, current FROM transcripts") == [("gone", 1)]
    assert synced.sync().gone == 0

    place.write_bytes(content)
    os.utime(place, ns=(status.st_mtime_ns, status.st_mtime_ns))
    report = synced.sync()
    assert (report.gone, report.changed, report.bytes_read) == (0, 0, 0)
    assert _session(synced) == ("live", 2, 20, 2)
    assert _kept(synced) == [content]


def test_gone_and_back_with_more(synced: Tree) -> None:
    content = synced.place(PATH).read_bytes()
    synced.place(PATH).unlink()
    synced.sync()
    synced.write(PATH, content + raw([user(S, "u5", "Back.", 4, "u4")]))
    synced.sync()
    assert _session(synced) == ("live", 3, 20, 2)
    assert len(_kept(synced)) == 1


def test_cut_off(synced: Tree) -> None:
    content = synced.place(PATH).read_bytes()
    synced.write(PATH, raw(LINES[:2]))
    synced.sync()
    assert _kept(synced) == [content, raw(LINES[:2])]
    assert synced.rows("SELECT generation, current, state FROM transcripts ORDER BY generation") == [
        (1, 1, "rewritten"),
        (2, 0, "live"),
    ]
    # The session is what most of the conversation is in; what was spent is counted once.
    assert _session(synced) == ("rewritten", 2, 20, 2)
    assert synced.rows("SELECT key, output FROM usage ORDER BY key") == [("msg_01a", 7), ("msg_01b", 13)]
    assert synced.rows("SELECT count(*) FROM messages") == [(3,)]


def test_emptied(synced: Tree) -> None:
    content = synced.place(PATH).read_bytes()
    synced.write(PATH, b"")
    synced.sync()
    assert _kept(synced) == [content, b""]
    assert _session(synced) == ("rewritten", 2, 20, 2)
    synced.place(PATH).unlink()
    synced.sync()
    assert _session(synced) == ("gone", 2, 20, 2)


@pytest.mark.parametrize("only", [False, True])
def test_rewritten_with_the_same_size(synced: Tree, only: bool) -> None:
    content = synced.place(PATH).read_bytes()
    other = content.replace(b"lamp", b"vase")
    synced.write(PATH, other)
    report = synced.sync(only=[str(synced.place(PATH))] if only else None)
    assert (report.changed, report.transcripts) == (1, 1)
    assert _kept(synced) == [content, other]
    assert _session(synced) == ("live", 2, 20, 2)
    assert synced.rows("SELECT record_id >> 40 FROM usage") == [(1,), (1,)]  # the earlier generation owns them


def test_replaced_by_another_file(synced: Tree) -> None:
    content = synced.place(PATH).read_bytes()
    beside = synced.write(f"{FOLDER}/beside.tmp", raw([user(S, "n1", "All new.", 9)]))
    beside.replace(synced.place(PATH))
    synced.sync()
    assert _kept(synced) == [content, raw([user(S, "n1", "All new.", 9)])]
    assert _session(synced) == ("rewritten", 2, 20, 2)


def test_the_generation_with_most_of_the_conversation_is_read(synced: Tree) -> None:
    """A stump that is gone on with is read as soon as it has as much as the other, and not before."""
    stump = [*LINES[:2], user(S, "n3", "Something else?", 9, "u2")]
    synced.write(PATH, raw(stump))
    synced.sync()
    assert _session(synced, "prompts, source_state") == (2, "rewritten")
    synced.append(PATH, [user(S, "n4", "And more?", 10, "n3")])
    synced.sync()
    assert _session(synced, "prompts, source_state") == (3, "live")
    assert synced.rows("SELECT current, unique_records FROM transcripts ORDER BY generation") == [(0, 4), (1, 4)]


def test_lines_that_stand_twice_count_once(synced: Tree) -> None:
    synced.write(PATH, raw([*LINES[:2], *LINES[:2], *LINES[:2]]))
    synced.sync()
    assert synced.rows("SELECT current FROM transcripts ORDER BY generation") == [(1,), (0,)]


def test_generations_of_different_sessions_are_all_read(tree: Tree) -> None:
    """A saved stream that is written over by that of another session."""
    other = session(2)
    path = f"{FOLDER}/stream.jsonl"
    tree.write(path, LINES)
    tree.sync()
    tree.write(path, [user(other, "o1", "Another run.", 20)])
    tree.sync()
    assert tree.rows("SELECT session_id, prompts, source_state FROM sessions ORDER BY session_id") == [
        (S, 2, "gone"),
        (other, 1, "live"),
    ]


def test_a_cut_history_is_read_and_restored_as_it_was(synced: Tree, tmp_path: Path) -> None:
    content = synced.place(PATH).read_bytes()
    typed = b"".join(
        b'{"display":"Typed %d","pastedContents":{},"timestamp":%d,"project":"/src"}\n'
        % (number, 1_700_000_000_000 + number)
        for number in range(3)
    )
    synced.write("history.jsonl", typed)
    synced.sync()
    synced.write("history.jsonl", typed[: typed.index(b"\n") + 1])
    synced.write(PATH, raw(LINES[:1]))
    synced.sync()
    with Hansard(str(synced.home), synced.roots) as h:
        assert [item.text for item in h.prompts(source="history").prompts] == ["Typed 2", "Typed 1", "Typed 0"]
        assert [entry.text for entry in h.conversation(S).entries if entry.kind == "prompt"] == [
            "What is it?",
            "And that?",
        ]
        assert b"".join(h.cat(S)) == content
        assert b"".join(h.cat(S, generation=2)) == raw(LINES[:1])
        assert [line.file.generation for line in h.grep("And that")] == [1]
        items = h.plan_restore(None, str(tmp_path / "out"), all_generations=True)
        h.restore(items)
    out = tmp_path / "out"
    assert (out / PATH).read_bytes() == content
    assert (out / f"{PATH}.generation-2").read_bytes() == raw(LINES[:1])
    assert (out / "history.jsonl").read_bytes() == typed


def test_replaced_by_a_copy_of_itself(synced: Tree) -> None:
    content = synced.place(PATH).read_bytes()
    beside = synced.write(f"{FOLDER}/beside.tmp", content)
    beside.replace(synced.place(PATH))
    assert synced.sync().changed == 0
    assert _kept(synced) == [content]


def test_both_texts_can_be_found(synced: Tree) -> None:
    synced.write(PATH, synced.place(PATH).read_bytes().replace(b"lamp", b"vase"))
    synced.sync()
    for word in ("lamp", "vase"):
        assert len(ask(synced.home, "SELECT rowid FROM talk WHERE talk MATCH ?", word, name="text.db")) == 1


def test_a_root_that_is_not_there_loses_nothing(synced: Tree) -> None:
    roots = synced.roots
    away = synced.config.with_name("unplugged")
    synced.config.rename(away)

    report = sync(str(synced.home), roots)
    assert report.gone == 0
    assert "the root does not exist" in report.unreadable[0]
    assert _session(synced) == ("live", 2, 20, 2)

    away.rename(synced.config)
    assert synced.sync().changed == 0
    assert _session(synced) == ("live", 2, 20, 2)


def test_a_projects_link_that_leads_nowhere_loses_nothing(synced: Tree) -> None:
    disk = synced.config.with_name("disk")
    (synced.config / "projects").rename(disk)
    try:
        (synced.config / "projects").symlink_to(disk)
    except OSError:
        pytest.skip("no links on this system")
    (synced.config / "history.jsonl").touch()
    synced.sync()
    disk.rename(disk.with_name("unplugged"))
    report = synced.sync()
    assert report.gone == 0
    assert "broken link" in report.unreadable[0]
    assert _session(synced)[0] == "live"


def test_a_removed_projects_folder_is_gone(synced: Tree) -> None:
    shutil.rmtree(synced.config / "projects")
    (synced.config / "projects").mkdir()
    assert synced.sync().gone == 1
    assert _session(synced)[0] == "gone"


def test_side_files_may_go_too(synced: Tree) -> None:
    """Their ids are no generations'."""
    for number in range(5):
        synced.write(f"{FOLDER}/{S}/tool-results/{number}.txt", f"output {number}".encode())
    synced.sync()
    shutil.rmtree(synced.config / FOLDER / S)
    assert synced.sync().gone == 5
    assert len(synced.rows("SELECT * FROM side_files WHERE current = 1")) == 5
    assert _session(synced)[0] == "live"


def test_a_file_that_goes_between_the_look_and_the_reading(synced: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tail.open_tail

    def vanish(path: str, *more: Any, **options: Any) -> tail.Tail:
        Path(path).unlink()
        return real(path, *more, **options)

    synced.append(PATH, [user(S, "u5", "Too late.", 4)])
    monkeypatch.setattr(record_writer, "open_tail", vanish)
    assert synced.sync().gone == 1
    monkeypatch.undo()
    assert _session(synced) == ("gone", 2, 20, 2)
    assert synced.sync().gone == 0


def test_a_file_that_can_be_read_only_in_part(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad sector: what was read is kept, and the next sync goes on from there without a new generation."""
    real = tail.Tail.pieces

    def broken(self: tail.Tail, size: int = 1) -> Iterator[bytes]:
        yield next(iter(real(self, 200)))
        raise OSError(5, "Input/output error")

    tree.write(PATH, LINES)
    monkeypatch.setattr(tail.Tail, "pieces", broken)
    for expected in (200, 400, 600):
        report = tree.sync()
        assert "Input/output error" in report.unreadable[0]
        assert [len(content) for content in _kept(tree)] == [expected]
    monkeypatch.undo()
    assert not tree.sync().unreadable
    assert _kept(tree) == [raw(LINES)]
    assert _session(tree) == ("live", 2, 20, 2)


def test_a_folder_that_cannot_be_read_is_reported(synced: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("-home-mira-src-app"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = synced.sync()
    assert report.gone == 0
    assert "Permission denied" in report.unreadable[0]
    assert _session(synced)[0] == "live"
