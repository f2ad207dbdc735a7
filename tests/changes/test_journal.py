"""Changes of files: done as planned, undone exactly, whatever happens in between."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.changes.journal import journals, list_journals
from hansard.changes.json_text import dump_like, load_object, take_out
from hansard.changes.plan import ChangeSet, Rename, Step, Write, check_place, content, preview
from hansard.errors import StoreBusy, UsageError
from hansard.files import FileLock
from tests.changes.trees import is_killed, tree


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test cuts the power, and a disk takes its time."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    place = tmp_path / "base"
    (place / "folder").mkdir(parents=True)
    (place / "settings.json").write_bytes(b'{\n  "a": 1\n}')
    (place / "settings.json").chmod(0o640)
    os.utime(place / "settings.json", ns=(10**18, 10**18 + 7))
    (place / "lines").write_bytes(b"one\ntwo\r\nthree")
    (place / "folder" / "inside").write_bytes(b"x")
    return place


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def planned(base: Path, *steps: Step) -> ChangeSet:
    return ChangeSet("test", "a test", (str(base),), steps, {"fact": "kept"})


def usual(base: Path) -> ChangeSet:
    return planned(
        base,
        Write(str(base / "settings.json"), content(b'{\n  "a": 1,\n  "ours": {"x": true}\n}'), merge="json"),
        Write(str(base / "new" / "deep" / "file"), content(b"new\n"), merge="lines"),
        Write(str(base / "lines"), content(b"one\nTWO\r\nthree"), merge="lines", keep_date=True),
        Rename(str(base / "folder"), str(base / "renamed")),
        Write(str(base / "renamed" / "inside"), content(b"y")),
    )


def test_it_is_done_and_undone_exactly(base: Path, store: Path) -> None:
    before = tree(base)
    with journals(str(store)) as opened:
        made = opened.apply(usual(base))
    assert json.loads((base / "settings.json").read_bytes()) == {"a": 1, "ours": {"x": True}}
    assert (base / "settings.json").stat().st_mode & 0o777 == 0o640
    assert (base / "lines").stat().st_mtime_ns == before[str(base / "lines")][2]
    assert (base / "renamed" / "inside").read_bytes() == b"y"
    assert (base / "new/deep/file").stat().st_mode & 0o777 == 0o600
    (found,) = list_journals(str(store), "test")
    assert (found.id, found.facts) == (made.id, {"fact": "kept"})
    with journals(str(store)) as opened:
        done = opened.undo(found)
    assert tree(base) == before
    assert (done.merged, done.left) == ((), ())
    assert list_journals(str(store), "test") == []
    assert [path.name for path in (store / "changes").iterdir()] == ["lock"]


def test_a_kill_at_any_step_leaves_the_way_back(base: Path, store: Path) -> None:
    before = tree(base)

    def apply() -> None:
        with journals(str(store)) as opened:
            opened.apply(usual(base))

    kills = 0
    while is_killed(kills, apply):
        kills += 1
        with journals(str(store)) as opened:
            for found in opened.find("test"):  # killed when all was done
                opened.undo(found)
        assert tree(base) == before
    assert kills > 40
    with journals(str(store)) as opened:
        opened.undo(*opened.find("test"))
    assert tree(base) == before


def test_a_kill_in_the_middle_of_an_undo_leaves_the_way_back(base: Path, store: Path) -> None:
    before = tree(base)

    def undo() -> None:
        with journals(str(store)) as opened:
            opened.undo(*opened.find("test"))

    kills, killed = 0, True
    while killed:
        with journals(str(store)) as opened:
            opened.apply(usual(base))
        killed = is_killed(kills, undo)
        kills += 1
        with journals(str(store)) as opened:
            for found in opened.find("test"):  # killed before it had begun
                opened.undo(found)
        assert tree(base) == before
        assert [path.name for path in (store / "changes").iterdir()] == ["lock"]
    assert kills > 20


def test_a_step_that_fails_undoes_the_others(base: Path, store: Path) -> None:
    before = tree(base)
    changes = usual(base)
    bad = Rename(str(base / "lines"), str(base / "settings.json"))
    with journals(str(store)) as opened, pytest.raises(UsageError, match="exists already"):
        opened.apply(planned(base, *changes.steps, bad))
    assert tree(base) == before
    assert list_journals(str(store), "test") == []


def test_of_a_file_that_was_edited_since_only_our_part_goes(base: Path, store: Path) -> None:
    with journals(str(store)) as opened:
        made = opened.apply(usual(base))
        (base / "settings.json").write_bytes(b'{\n  "a": 2,\n  "theirs": [1],\n  "ours": {"x": true, "y": 1}\n}')
        (base / "new/deep/file").write_bytes(b"theirs\nnew\n")
        with (base / "lines").open("ab") as file:
            file.write(b"\nfour\n")
        (base / "renamed" / "inside").write_bytes(b"z")
        done = opened.undo(made)
    assert (
        base / "settings.json"
    ).read_bytes() == b'{\n  "a": 2,\n  "theirs": [\n    1\n  ],\n  "ours": {\n    "y": 1\n  }\n}'
    assert (base / "new/deep/file").read_bytes() == b"theirs\n"
    assert (base / "lines").read_bytes() == b"one\ntwo\r\nthree\nfour\n"
    assert (base / "folder" / "inside").read_bytes() == b"z"
    assert {Path(path).name for path in done.merged} == {"settings.json", "file", "lines"}
    assert done.left == (str(base / "renamed" / "inside"),)


def test_lines_in_the_middle_of_others(base: Path, store: Path) -> None:
    with journals(str(store)) as opened:
        made = opened.apply(planned(base, Write(str(base / "lines"), content(b"one\nTWO\r\nthree"), merge="lines")))
        (base / "lines").write_bytes(b"zero\none\nTWO\r\nthree")
        opened.undo(made)
    assert (base / "lines").read_bytes() == b"zero\none\ntwo\r\nthree"


def test_a_folder_that_was_made_again_gets_its_entries_back(base: Path, store: Path) -> None:
    with journals(str(store)) as opened:
        made = opened.apply(planned(base, Rename(str(base / "folder"), str(base / "renamed"))))
        (base / "folder").mkdir()
        (base / "folder" / "other").write_bytes(b"")
        done = opened.undo(made)
    assert sorted(path.name for path in (base / "folder").iterdir()) == ["inside", "other"]
    assert not (base / "renamed").exists()
    assert done.merged == (str(base / "folder"),)


def test_links_and_places_outside_are_refused(base: Path, store: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_bytes(b"safe")
    (base / "link").symlink_to(outside)
    (base / "file").symlink_to(outside / "victim")
    before = tree(base, outside)
    for path in (base / "link" / "victim", base / "file", outside / "victim", base / ".." / "outside" / "victim"):
        with journals(str(store)) as opened, pytest.raises(UsageError):
            opened.apply(planned(base, Write(str(path), content(b"changed"))))
        with pytest.raises(UsageError):
            check_place(str(path), (str(base),))
    with journals(str(store)) as opened, pytest.raises(UsageError):
        opened.apply(planned(base, Rename(str(base / "lines"), str(base / "link" / "lines"))))
    assert tree(base, outside) == before


def test_an_undo_that_must_not_touch_a_place_changes_nothing(base: Path, store: Path, tmp_path: Path) -> None:
    with journals(str(store)) as opened:
        made = opened.apply(usual(base))
    (base / "settings.json").rename(tmp_path / "elsewhere.json")
    (base / "settings.json").symlink_to(tmp_path / "elsewhere.json")
    before = tree(base)
    with journals(str(store)) as opened, pytest.raises(UsageError, match="a link"):
        opened.undo(made)
    assert tree(base) == before
    with journals(str(store)) as opened:  # other changes are not blocked
        opened.apply(planned(base, Write(str(base / "other"), content(b"x"))))
        assert opened.recovered == []


def test_a_step_that_cannot_be_undone_does_not_block_others(base: Path, store: Path) -> None:
    before = tree(base)
    with journals(str(store)) as opened:
        made = opened.apply(usual(base))
        (base / "lines").rename(base / "away")
        (base / "lines").mkdir()
        done = opened.undo(made)
    assert [problem.split(": ")[0] for problem in done.failed] == [str(base / "lines")]
    assert (base / "folder" / "inside").read_bytes() == b"x"
    (base / "settings.json").write_bytes(b"{}")
    with journals(str(store)) as opened:
        assert len(opened.recovered[0].failed) == 1
        assert (base / "settings.json").read_bytes() == b"{}"
        (base / "settings.json").write_bytes(before[str(base / "settings.json")][0])
    (base / "lines").rmdir()
    (base / "away").rename(base / "lines")
    with journals(str(store)) as opened:
        assert opened.recovered[0].failed == ()
    assert (base / "lines").read_bytes() == before[str(base / "lines")][0]
    assert list_journals(str(store), "test") == []


def test_a_deleted_file_is_not_called_edited(base: Path, store: Path) -> None:
    with journals(str(store)) as opened:
        made = opened.apply(usual(base))
        (base / "lines").unlink()
        done = opened.undo(made)
    assert done.notes("our part") == [f"{base / 'lines'} is gone: not restored"]


def test_one_process_at_a_time(store: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with journals(str(store)):
        monkeypatch.setattr("hansard.changes.journal.FileLock", lambda path, _wait: FileLock(path, 0.0))
        with pytest.raises(StoreBusy), journals(str(store)):
            pass


def test_a_preview_is_a_diff(base: Path) -> None:
    shown = preview(usual(base))
    assert '+  "ours": {"x": true}' in shown
    assert "--- /dev/null" in shown
    assert f"    to {base / 'renamed'}" in shown


# -- JSON


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": 1e-7, "b": 1e400, "c": -0, "d": 1.50, "e": 12345678901234567890123, "f": -1}',
        b'{"a": "\\ud83d", "\\udc00": "\xc3\xa9"}',
        b'\xef\xbb\xbf{\r\n  "a": 1,\r\n  "b": "x\\r\\n"\r\n}\r\n',
        b'{\n  "a": 1\n}\n',
        b'{"a":1}',
        b'{"a": 1, "\xc3\xa9": [1, 2]}',
        b'{\n\t"a": {}\n}',
        b'{\n    "u": "\\u00e9"\n}',
    ],
)
def test_json_is_written_as_it_was(text: bytes) -> None:
    assert dump_like(load_object(text, "x"), text) == text


@pytest.mark.parametrize(
    "text",
    [b"{", b"[1]", b'{"a": 1, "a": 2}', b"\xff", b'{"a": NaN}', b'{"a": -Infinity}'],
)
def test_json_that_cannot_be_written_again_is_refused(text: bytes) -> None:
    with pytest.raises(UsageError):
        load_object(text, "x")


def test_an_added_key_keeps_what_is_beside_it() -> None:
    text = b'\xef\xbb\xbf{\r\n  "a": 1e400,\r\n  "b": "\\ud83d"\r\n}'
    value = load_object(text, "x")
    value["c"] = True
    assert dump_like(value, text) == text[:-3] + b',\r\n  "c": true\r\n}'


values = st.recursive(
    st.integers(0, 2), lambda inside: st.dictionaries(st.sampled_from("abc"), inside, max_size=3), max_leaves=6
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(objects, objects)
def test_what_nobody_else_touched_is_as_before(before: dict[str, object], after: dict[str, object]) -> None:
    assert take_out(after, before, after) == before


@given(objects, objects)
def test_other_keys_stay(before: dict[str, object], after: dict[str, object]) -> None:
    assert take_out({**after, "theirs": 1}, before, after)["theirs"] == 1
