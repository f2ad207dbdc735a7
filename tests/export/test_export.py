"""An export writes what changed and nothing else, whole files only, and never where it must not."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import NotFound, UsageError, WouldOverwrite
from hansard.export import Exported, formats, pool
from hansard.export import run as running
from hansard.export.files import NotWritten
from hansard.export.known import FOLDERS as LIST
from hansard.export.manifest import LOCK, NAME
from tests.cli.conftest import OTHER, SESSION, said, write_log
from tests.export.conftest import tree_of

FOLDERS = ("html", "markdown", "json", "jsonl", "csv", "parquet", "atif", "traces", "otlp", "bulk")


@pytest.mark.parametrize("form", FOLDERS)
def test_a_second_export_writes_nothing_at_all(demo: Hansard, exported: Callable[[str], Exported], form: str) -> None:
    first = exported(form)
    assert first.written == len(first.files) > 0
    assert not first.failed
    before = tree_of(Path(first.to))
    again = demo.export(None, first.to, format=form)
    assert (again.written, again.unchanged, again.bytes) == (0, first.written, 0)
    assert tree_of(Path(first.to)) == before


@pytest.mark.parametrize("form", ["html", "markdown", "json", "jsonl", "atif", "traces", "otlp"])
def test_every_session_has_its_own_file(demo: Hansard, exported: Callable[[str], Exported], form: str) -> None:
    sessions = demo.sessions(limit=None).sessions
    done = exported(form)
    assert not done.failed
    files = {file.session_id: file.path for file in done.files if file.session_id}
    assert set(files) == {session.session_id for session in sessions}
    assert len({path.casefold() for path in files.values()}) == len(sessions)
    assert all(os.path.getsize(path) > 0 for path in files.values() if form in ("html", "markdown", "json", "atif"))
    index = {"html": "index.html", "markdown": "index.md"}.get(form)
    if index is not None:
        text = Path(done.to, index).read_text(encoding="utf-8")
        assert all(os.path.basename(path) in text for path in files.values())


def test_only_the_session_that_changed_is_written(small: Hansard, root: Path, tmp_path: Path) -> None:
    small.export(None, tmp_path / "out", format="json")
    before = tree_of(tmp_path / "out")
    write_log(
        root,
        SESSION,
        [
            said(1, "When is high tide?"),
            said(2, "At noon.", role="assistant"),
            said(3, "And low tide?"),
        ],
    )
    small.sync()
    done = small.export(None, tmp_path / "out", format="json")
    assert [file.session_id for file in done.files if file.action == "written"] == [SESSION]
    after = tree_of(tmp_path / "out")
    assert {name for name in after if after[name] != before[name]} == {NAME, _name_of(tmp_path / "out", SESSION)}


def test_a_session_keeps_its_file_when_its_title_changes(small: Hansard, root: Path, tmp_path: Path) -> None:
    small.export(None, tmp_path / "out", format="json")
    name = _name_of(tmp_path / "out", SESSION)
    records = [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")]
    write_log(root, SESSION, [*records, {"type": "custom-title", "customTitle": "Moon", "sessionId": SESSION}])
    small.sync()
    assert small.session(SESSION).title == "Moon"
    small.export(None, tmp_path / "out", format="json")
    assert _name_of(tmp_path / "out", SESSION) == name
    assert len(list((tmp_path / "out").glob("*.json"))) == 2 + 1  # the manifest ends so, too
    assert b'"Moon"' in (tmp_path / "out" / name).read_bytes()


def test_a_file_that_was_removed_comes_back(small: Hansard, tmp_path: Path) -> None:
    small.export(None, tmp_path / "out", format="json")
    (tmp_path / "out" / _name_of(tmp_path / "out", OTHER)).unlink()
    done = small.export(None, tmp_path / "out", format="json")
    assert [file.session_id for file in done.files if file.action == "written"] == [OTHER]


def test_other_prices_mean_other_pages(small: Hansard, tmp_path: Path, root: Path) -> None:
    from decimal import Decimal

    from hansard.model.ledger import PriceOverride

    small.export(None, tmp_path / "out", format="json")
    with hansard.open(
        tmp_path / "store", [root], prices=[PriceOverride("claude-opus-5-5", Decimal(7), Decimal(9))]
    ) as h:
        h.sync()
        assert h.export(None, tmp_path / "out", format="json").written == 2


def test_another_way_of_drawing_means_other_pages(
    small: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.export(None, tmp_path / "out", format="json")
    monkeypatch.setattr("hansard.export.run._code", lambda: "newer")
    assert small.export(None, tmp_path / "out", format="json").written == 2


def test_a_copied_folder_is_still_known(small: Hansard, tmp_path: Path) -> None:
    small.export(None, tmp_path / "out", format="json")
    shutil.copytree(tmp_path / "out", tmp_path / "copy", copy_function=shutil.copy)  # with new times
    assert small.export(None, tmp_path / "copy", format="json").written == 0
    assert small.export(None, tmp_path / "copy", format="json", force=True).written == 2


def test_what_is_not_selected_stays_and_is_pruned_on_request(small: Hansard, tmp_path: Path) -> None:
    out = tmp_path / "out"
    small.export(None, out, format="html")
    one = [small.session(SESSION)]
    assert small.export(one, out, format="html").removed == 0
    other = _name_of(out, OTHER)
    assert (out / other).is_file()
    assert other in (out / "index.html").read_text(encoding="utf-8")
    (out / "mine.html").write_text("mine")
    done = small.export(one, out, format="html", prune=True)
    assert done.removed == 1
    assert sorted(path.name for path in out.glob("*.html")) == sorted(
        [_name_of(out, SESSION), "index.html", "mine.html"]
    )
    assert other not in (out / "index.html").read_text(encoding="utf-8")


def test_files_and_folders_are_private(small: Hansard, tmp_path: Path) -> None:
    small.export(None, tmp_path / "a" / "b", format="parquet")
    if os.name == "posix":
        assert {path.stat().st_mode & 0o777 for path in (tmp_path / "a" / "b").iterdir()} == {0o600}
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700


# -- what must not be


@pytest.mark.parametrize("place", ["", "projects", "projects/-src-tide", "exports/new", "../link/x"])
def test_nothing_is_written_into_a_source_root(small: Hansard, root: Path, tmp_path: Path, place: str) -> None:
    if place.startswith("../link"):
        os.symlink(root, tmp_path / "link")
    before = tree_of(root)
    with pytest.raises(UsageError, match="source root"):
        small.export(None, root / place, format="json")
    with pytest.raises(UsageError, match="source root"):
        small.export([SESSION], os.path.join(root, place, "x.json"))
    assert tree_of(root) == before


def test_a_root_that_is_not_named_now_is_remembered(small: Hansard, root: Path, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "store") as h, pytest.raises(UsageError, match="source root"):
        h.export(None, root / "out", format="json")


def test_a_file_that_no_export_wrote_is_not_replaced(small: Hansard, tmp_path: Path) -> None:
    out = tmp_path / "out"
    small.export(None, out, format="json")
    name = _name_of(out, OTHER)
    (out / NAME).unlink()
    (out / LOCK).unlink()
    (out / name).write_text("mine")
    first = tree_of(out)
    with pytest.raises(WouldOverwrite, match="not from an earlier export"):
        small.export(None, out, format="json")
    assert tree_of(out) == first
    assert small.export(None, out, format="json", force=True).written == 2
    assert (out / name).read_text() != "mine"


def test_a_file_that_was_edited_is_left_alone_and_told(small: Hansard, root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    small.export(None, out, format="json")
    name = _name_of(out, SESSION)
    (out / name).write_text("with my remarks")
    assert small.export(None, out, format="json").unchanged == 2
    write_log(root, SESSION, [said(1, "When is high tide?"), said(2, "Later.", role="assistant")])
    small.sync()
    done = small.export(None, out, format="json")
    assert [failure.session_id for failure in done.failed] == [SESSION]
    assert "--force" in done.failed[0].reason
    assert (out / name).read_text() == "with my remarks"


def test_a_link_is_never_written_through(small: Hansard, tmp_path: Path) -> None:
    out = tmp_path / "out"
    small.export(None, out, format="json")
    name = _name_of(out, SESSION)
    (tmp_path / "precious").write_text("precious")
    (out / name).unlink()
    os.symlink(tmp_path / "precious", out / name)
    small.export(None, out, format="json", force=True)
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (out / name).is_symlink()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "[" * 100_000,
        '{"version": 1, "names": 3, "files": {"x": 1}}',
        json.dumps({"version": 1, "names": {SESSION: "../../x", OTHER: 7}, "files": {}}),
        json.dumps({"version": 1, "names": {SESSION: "same", OTHER: "same"}, "files": {}}),
    ],
)
def test_a_manifest_that_somebody_wrote_leads_nowhere(small: Hansard, tmp_path: Path, text: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / NAME).write_text(text)
    done = small.export(None, out, format="json")
    assert done.written == 2
    assert len({file.path for file in done.files}) == 2
    assert all(Path(file.path).parent == out for file in done.files)


@pytest.mark.parametrize("path", ["../precious", "/etc/passwd", "a.assets/../../precious", ".assets/x", "a\\b"])
def test_pruning_does_not_leave_the_folder(small: Hansard, tmp_path: Path, path: str) -> None:
    out = tmp_path / "out"
    small.export(None, out, format="json")
    (tmp_path / "precious").write_text("precious")
    value = json.loads((out / NAME).read_text())
    value["files"][path] = {
        "session_id": "x", "format": "json", "fingerprint": "", "size": 0, "mtime_ns": 0, "sha256": ""
    }  # fmt: skip
    (out / NAME).write_text(json.dumps(value))
    assert small.export([SESSION], out, format="json", prune=True).removed == 1
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_manifest_of_a_newer_version_is_respected(small: Hansard, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).write_text('{"version": 2}')
    with pytest.raises(UsageError, match="newer"):
        small.export(None, tmp_path / "out", format="json")


# -- crashes


class Crash(BaseException):
    """The process dies."""


@pytest.mark.parametrize("after", range(8))
def test_a_crash_between_any_two_steps_leaves_whole_files(
    small: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    out, wanted = tmp_path / "out", tmp_path / "wanted"
    small.export(None, wanted, format="json")
    real, left = os.replace, [after]

    def replace(source: str, target: str) -> None:
        if left[0] == 0:
            raise Crash
        left[0] -= 1
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    crashed = True
    try:
        small.export(None, out, format="json")
        crashed = False
    except Crash:
        pass
    monkeypatch.setattr(os, "replace", real)
    assert crashed == (after < 5)  # the list of folders, the manifest, two files, the manifest
    for path in out.glob("2*.json"):
        assert path.read_bytes() == (wanted / path.name).read_bytes()
    small.export(None, out, format="json")
    assert {name: file[2] for name, file in tree_of(out).items() if name != NAME} == {
        name: file[2] for name, file in tree_of(wanted).items() if name != NAME
    }
    assert small.export(None, out, format="json").written == 0


def test_one_session_that_cannot_be_drawn_does_not_stop_the_others(
    small: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = formats.draw

    def draw(form: str, tree: Any, keep: Any, **more: Any) -> Iterator[bytes]:
        yield b"half"
        if tree.session.session_id == SESSION:
            raise ValueError("odd")
        yield from real(form, tree, keep, **more)

    monkeypatch.setattr(formats, "draw", draw)
    done = small.export(None, tmp_path / "out", format="json")
    assert [(failure.session_id, failure.reason) for failure in done.failed] == [(SESSION, "ValueError: odd")]
    assert (done.written, done.skipped) == (1, 1)
    assert len(list((tmp_path / "out").glob("2*.json"))) == 1
    monkeypatch.setattr(formats, "draw", real)
    assert small.export(None, tmp_path / "out", format="json").written == 1


def test_a_full_disk_ends_the_export(small: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        if not target.endswith((NAME, LIST)):
            raise OSError(28, "No space left on device")
        real(source, target)

    real = os.replace
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(NotWritten, match="No space left"):
        small.export(None, tmp_path / "out", format="json")
    monkeypatch.setattr(os, "replace", real)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {NAME, LOCK}
    assert small.export(None, tmp_path / "out", format="json").written == 2


def test_the_manifest_is_kept_while_files_are_written(
    small: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SAVE_SECONDS", -1.0)
    seen = []

    def look(done: int, total: int) -> None:
        files = json.loads((tmp_path / "out" / NAME).read_text())["files"]
        seen.append(sum(bool(file["fingerprint"]) for file in files.values()))

    small.export(None, tmp_path / "out", format="json", progress=look)
    assert seen == [1, 2]


# -- pictures and remarks

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _with_picture(data: str, media_type: str = "image/png") -> list[dict[str, Any]]:
    first = said(1, "")
    source = {"type": "base64", "media_type": media_type, "data": data}
    first["message"]["content"] = [{"type": "text", "text": "Look at this"}, {"type": "image", "source": source}]
    return [first, said(2, "A pixel.", role="assistant")]


def test_charts_stand_beside_markdown(small: Hansard, root: Path, tmp_path: Path) -> None:
    write_log(root, SESSION, _with_picture(PIXEL))
    small.sync()
    out = tmp_path / "out"
    small.export([SESSION], out, format="markdown")
    name = _name_of(out, SESSION)
    (picture,) = (out / name.replace(".md", ".assets")).iterdir()
    assert picture.read_bytes() == base64.b64decode(PIXEL)
    assert picture.suffix == ".png"
    assert f"({picture.parent.name}/{picture.name})" in (out / name).read_text(encoding="utf-8")
    assert small.export([SESSION], out, format="markdown").written == 0
    picture.unlink()
    assert small.export([SESSION], out, format="markdown").written == 1
    assert picture.is_file()
    single = tmp_path / "look.md"
    small.export([SESSION], single)
    assert (tmp_path / "look.assets" / picture.name).is_file()
    assert f"(look.assets/{picture.name})" in single.read_text(encoding="utf-8")


def test_charts_that_are_not_shown_any_more_are_pruned(small: Hansard, root: Path, tmp_path: Path) -> None:
    write_log(root, SESSION, _with_picture(PIXEL))
    small.sync()
    out = tmp_path / "out"
    small.export([SESSION], out, format="markdown")
    write_log(root, SESSION, [said(1, "Look away"), said(2, "Yes.", role="assistant")])
    small.sync()
    assert small.export([SESSION], out, format="markdown").removed == 0
    assert len(list(out.glob("*.assets/*"))) == 1
    assert small.export([SESSION], out, format="markdown", force=True, prune=True).removed == 1
    assert not list(out.glob("*.assets"))


@pytest.mark.parametrize(
    ("data", "media_type"),
    [("!!!", "image/png"), ("", "image/png"), (PIXEL, "image/svg+xml"), (PIXEL, "../../x"), (PIXEL, "text/html")],
)
def test_odd_pictures_do_no_harm(small: Hansard, root: Path, tmp_path: Path, data: str, media_type: str) -> None:
    write_log(root, SESSION, _with_picture(data, media_type))
    small.sync()
    out = tmp_path / "out"
    for form in ("markdown", "html", "json", "jsonl"):
        assert not small.export([SESSION], out, format=form).failed
    assert {path.suffix for path in out.glob("*.assets/*")} <= {".bin"}


def test_a_link_instead_of_the_folder_of_pictures_is_not_followed(small: Hansard, root: Path, tmp_path: Path) -> None:
    write_log(root, SESSION, _with_picture(PIXEL))
    small.sync()
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "look.assets")
    done = small.export([SESSION], tmp_path / "look.md")
    assert len(done.failed) == 1
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("form", ["html", "markdown", "json", "jsonl"])
def test_what_the_user_says_is_in_the_files(small: Hansard, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    small.export(None, out, format=form)
    name = _name_of(out, SESSION)
    small.tag(SESSION, "harbour")
    small.note(SESSION, "Ask the pilot")
    small.rename(SESSION, "The springtide")
    done = small.export(None, out, format=form)
    assert SESSION in {file.session_id for file in done.files if file.action == "written"}
    assert OTHER not in {file.session_id for file in done.files if file.action == "written"}
    assert _name_of(out, SESSION) == name
    text = (out / name).read_text(encoding="utf-8")
    assert all(words in text for words in ("harbour", "Ask the pilot", "The springtide"))
    index = {"html": "index.html", "markdown": "index.md"}.get(form)
    if index is not None:
        assert "harbour" in (out / index).read_text(encoding="utf-8")


# -- helper processes


@pytest.mark.parametrize("form", ["html", "markdown", "atif"])  # with an index, with pictures in folders
def test_helpers_draw_the_same(
    demo: Hansard,
    exported: Callable[[str], Exported],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    alone = tree_of(Path(exported(form).to))
    started = _with_helpers(monkeypatch)
    done = demo.export(None, tmp_path / "helped", format=form)
    assert started
    assert not done.failed
    helped = tree_of(tmp_path / "helped")
    assert {name: file[2] for name, file in helped.items() if name != NAME} == {
        name: file[2] for name, file in alone.items() if name != NAME
    }
    assert demo.export(None, tmp_path / "helped", format=form).written == 0


@pytest.mark.parametrize(
    "code",
    [
        "pass",
        "print('{}')",
        "import sys; sys.stdin.buffer.read(20); sys.stdout.buffer.write((5).to_bytes(8, 'big') + b'abc')",
    ],
)
def test_a_helper_that_dies_is_done_without(
    small: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    started = _with_helpers(monkeypatch, ["-c", code])
    done = small.export(None, tmp_path / "out", format="json")
    assert started
    assert (done.written, done.failed) == (2, ())


def _with_helpers(monkeypatch: pytest.MonkeyPatch, command: list[str] | None = None) -> list[Any]:
    started: list[Any] = []
    real = subprocess.Popen

    def popen(line: list[str], **more: Any) -> Any:
        started.append(real([line[0], *command] if command else line, **more))
        return started[-1]

    monkeypatch.setattr(pool, "LEAST", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", popen)
    return started


# -- single files


def test_one_session_goes_to_the_file_that_is_named(small: Hansard, tmp_path: Path) -> None:
    target = tmp_path / "new" / "tide.json"
    done = small.export([SESSION], target)
    assert (done.format, done.written) == ("json", 1)
    assert json.loads(target.read_bytes())["session"]["session_id"] == SESSION
    assert sorted(path.name for path in target.parent.iterdir()) == ["tide.json"]
    before = target.stat()
    assert small.export([SESSION], target).unchanged == 1
    assert target.stat().st_mtime_ns == before.st_mtime_ns


def test_a_single_file_follows_its_session_but_replaces_nothing_else(
    small: Hansard, root: Path, tmp_path: Path
) -> None:
    target = tmp_path / "tide.json"
    small.export([SESSION], target)
    write_log(root, SESSION, [said(1, "When is high tide?"), said(2, "Later.", role="assistant")])
    small.sync()
    assert small.export([SESSION], target).written == 1
    foreign = tmp_path / "foreign.json"
    foreign.write_text("{}")
    with pytest.raises(WouldOverwrite):
        small.export([SESSION], foreign)
    assert foreign.read_text() == "{}"


def test_several_sessions_fit_in_one_file_of_lines_only(small: Hansard, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="need a directory"):
        small.export(None, tmp_path / "all.json")
    assert small.export(None, tmp_path / "all.jsonl").written == 1
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_bytes().splitlines()]
    assert {line["session_id"] for line in lines} == {SESSION, OTHER}
    assert small.export(None, tmp_path / "all.jsonl").unchanged == 1


def test_a_session_that_is_named_twice_is_exported_once(small: Hansard, tmp_path: Path) -> None:
    assert small.export([SESSION, SESSION[:8]], tmp_path / "x.json").written == 1
    with pytest.raises(NotFound):
        small.export([], tmp_path / "out", format="json", prune=True)


@pytest.mark.parametrize(("to", "form"), [("x.html", "json"), ("x", None), ("x.txt", None), ("x.json", "xml")])
def test_a_place_and_a_format_must_fit(small: Hansard, tmp_path: Path, to: str, form: str | None) -> None:
    with pytest.raises(UsageError):
        small.export([SESSION], tmp_path / to, format=form)
    assert not (tmp_path / to).exists()


@pytest.mark.parametrize("form", ["html", "markdown", "json", "jsonl", "atif", "traces"])
def test_a_session_of_which_only_subagents_are_left_is_exported(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "claude" / "projects" / "-src-tide" / SESSION / "subagents"
    folder.mkdir(parents=True)
    records = [said(1, "Look for the moon"), said(2, "It is behind a cloud.", role="assistant")]
    lines = [json.dumps({**record, "isSidechain": True, "agentId": "abc123"}) for record in records]
    (folder / "agent-abc123.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        done = h.export([SESSION], tmp_path / "out", format=form)
    assert not done.failed
    assert "behind a cloud" in Path(done.files[0].path).read_text(encoding="utf-8")


def test_what_a_killed_export_left_is_removed_later(small: Hansard, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, age in {
        ".hansard-0123456789abcdef.tmp": 7200,
        ".hansard-fedcba9876543210.tmp": 5,
        ".other.tmp": 7200,
    }.items():
        (out / name).write_text("half")
        os.utime(out / name, (time.time() - age, time.time() - age))
    small.export(None, out, format="json")
    assert {path.name for path in out.glob("*.tmp")} == {".hansard-fedcba9876543210.tmp", ".other.tmp"}


def _name_of(folder: Path, session_id: str) -> str:
    files: dict[str, dict[str, str]] = json.loads((folder / NAME).read_text())["files"]
    return next(path for path, file in files.items() if file["session_id"] == session_id and "/" not in path)
