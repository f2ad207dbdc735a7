"""Which directories are roots, and what they are called."""

import json
import os
from pathlib import Path

import pytest

from hansard.clients.claude_code.layout import LAYOUT
from hansard.clients.claude_code.roots import cleanup_period_days, default_root_paths, open_root, running_sessions
from hansard.clients.roots import open_roots
from hansard.errors import SourceUnreadable, UsageError
from hansard.sources.roots import Root, split_paths


def config_dir(path: Path) -> Path:
    (path / "projects" / "-a").mkdir(parents=True)
    return path


def test_a_directory_with_projects_is_a_config_directory(tmp_path: Path) -> None:
    config = config_dir(tmp_path / ".claude")
    root = open_root(str(config))
    real = os.path.realpath(config)
    assert root == Root(real, ".claude", "claude-code", LAYOUT, os.path.join(real, "projects"), real)
    assert root.locate("projects/-a/x.jsonl") == os.path.join(real, "projects", "-a", "x.jsonl")
    assert root.locate("history.jsonl") == os.path.join(real, "history.jsonl")
    assert root.locate("projects") == root.transcripts


@pytest.mark.parametrize("name", ["projects", "copy"])
def test_a_directory_of_projects_is_a_bare_root(tmp_path: Path, name: str) -> None:
    project = tmp_path / "laptop" / name / "-a"
    project.mkdir(parents=True)
    (project / "s.jsonl").touch()
    root = open_root(str(project.parent))
    assert root.config is None
    assert root.path == root.transcripts == os.path.realpath(project.parent)
    assert root.name == {"projects": "laptop", "copy": "copy"}[name]
    assert root.locate("projects/-a/s.jsonl") == os.path.join(root.path, "-a", "s.jsonl")


def test_a_single_project_is_a_bare_root(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    assert open_root(str(tmp_path)).config is None


@pytest.mark.parametrize("content", [(), ("settings.json",), ("todos",)])
def test_a_config_directory_may_have_no_projects_yet(tmp_path: Path, content: tuple[str, ...]) -> None:
    for name in content:
        (tmp_path / name).touch()
    root = open_root(str(tmp_path))
    assert root.config == os.path.realpath(tmp_path)
    assert root.transcripts == os.path.join(root.config, "projects")


def test_what_is_no_root_is_refused_with_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    for name, word in {
        "missing": "no such",
        "file": "not a directory",
        "file/x": "no such",
        "other": "not a history",
    }.items():
        with pytest.raises(UsageError, match=word):
            open_root(str(tmp_path / name))


def test_a_root_that_cannot_be_read_is_told_from_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        with pytest.raises(SourceUnreadable, match="Permission denied"):
            open_root(str(tmp_path))
    with pytest.raises(SourceUnreadable):
        open_root("a\0b")


def test_relative_undoes_locate(tmp_path: Path) -> None:
    config = open_root(str(config_dir(tmp_path / "c")))
    bare = open_root(config.transcripts)
    odd = "projects/-a/back\\\\slash \\udcff é.jsonl"
    for root in (config, bare):
        assert root.relative(root.locate(odd)) == odd
        assert root.relative(root.transcripts) == "projects"
        assert root.relative(str(tmp_path)) is None
        assert root.relative(root.transcripts + "-2") == (None if root is bare else "projects-2")
    assert config.relative(config.locate("history.jsonl")) == "history.jsonl"
    assert os.fsencode(config.locate(odd)).endswith(b"back\\slash \xff \xc3\xa9.jsonl")


def test_roots_are_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = config_dir(tmp_path / "one")
    two = config_dir(tmp_path / "two")
    (tmp_path / "link").symlink_to(one)
    (one / "projects" / "-a" / "s.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    named = [str(one / "projects"), str(one / "projects" / "-a"), "one", str(tmp_path / "link"), "./two/", str(two)]
    assert [root.path for root in open_roots(named)] == [os.path.realpath(one), os.path.realpath(two)]


def test_home_is_expanded(home: Path) -> None:
    config_dir(home / ".claude")
    assert open_roots(["~/.claude"])[0].path == os.path.realpath(home / ".claude")


def test_roots_have_names_of_their_own(tmp_path: Path) -> None:
    paths = [
        str(config_dir(tmp_path / user / name)) for user, name in [("a", ".claude"), ("b", ".claude"), ("c", ".Claude")]
    ]
    paths.append(str(config_dir(tmp_path / ".claude-2")))
    assert [root.name for root in open_roots(paths)] == [".claude", ".claude-2", ".Claude-3", ".claude-2-2"]


def test_the_environment_names_roots_before_the_usual_places(tmp_path: Path) -> None:
    home = str(tmp_path)
    config_dir(tmp_path / ".claude")
    assert default_root_paths({"CLAUDE_CONFIG_DIR": f"~/x,{home}/y{os.pathsep} /z "}, home) == [
        f"{home}/x",
        f"{home}/y",
        "/z",
    ]


def test_the_usual_places_count_where_they_exist(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert default_root_paths({}, home) == []
    config_dir(tmp_path / ".claude")
    config_dir(tmp_path / ".config" / "claude")
    config_dir(tmp_path / "xdg" / "claude")
    usual = os.path.join(home, ".claude")
    assert default_root_paths({"CLAUDE_CONFIG_DIR": " "}, home) == [usual, os.path.join(home, ".config", "claude")]
    assert default_root_paths({"XDG_CONFIG_HOME": "not/absolute"}, home)[1] == os.path.join(home, ".config", "claude")
    xdg = str(tmp_path / "xdg")
    assert default_root_paths({"XDG_CONFIG_HOME": xdg}, home) == [usual, os.path.join(xdg, "claude")]


@pytest.mark.parametrize(
    ("value", "separator", "paths"),
    [
        ("/a:/b,/c", ":", ["/a", "/b", "/c"]),
        ("/a:bb:/c", ":", ["/a", "bb", "/c"]),
        (r"C:\a:D:/b, E:\c", ":", [r"C:\a", "D:/b", r"E:\c"]),
        (r"C:\a;D:\b,E:\c", ";", [r"C:\a", r"D:\b", r"E:\c"]),
        (",:,", ":", []),
    ],
)
def test_lists_of_paths(value: str, separator: str, paths: list[str]) -> None:
    assert split_paths(value, separator) == paths


def test_a_directory_with_a_separator_in_its_name_is_one_path(tmp_path: Path) -> None:
    odd = tmp_path / "a:b"
    comma = tmp_path / "a,b"
    comma.mkdir()
    assert split_paths(str(comma), ":") == [str(comma)]
    odd.mkdir()
    assert split_paths(f"{odd},/c:/d", ":") == [str(odd), "/c", "/d"]


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        (b'{"cleanupPeriodDays": 90}', 90),
        (b'\xef\xbb\xbf{"cleanupPeriodDays": 0}', 0),
        (b'{"cleanupPeriodDays": true}', 30),
        (b'{"cleanupPeriodDays": "7"}', 30),
        (b'{"cleanupPeriodDays": -1}', 30),
        (b"[1]", 30),
        (b"{", 30),
        (b"[" * 100_000, 30),
        (b"\xff", 30),
        (None, 30),
    ],
)
def test_the_clean_up_period_is_read_from_any_settings(tmp_path: Path, settings: bytes | None, days: int) -> None:
    config_dir(tmp_path)
    if settings is not None:
        (tmp_path / "settings.json").write_bytes(settings)
    assert cleanup_period_days(open_root(str(tmp_path))) == days


def test_running_sessions_are_read_from_their_notes(tmp_path: Path) -> None:
    config_dir(tmp_path)
    root = open_root(str(tmp_path))
    assert running_sessions(root) == []
    notes = tmp_path / "sessions"
    notes.mkdir()
    for pid in (505, 12):
        (notes / f"{pid}.json").write_text(json.dumps({"pid": pid}))
    (notes / "7.json").write_text("{half")
    (notes / "8.json").write_text("3")
    (notes / "9.key").write_text("{}")
    assert running_sessions(root) == [{"pid": 12}, {"pid": 505}]
    assert running_sessions(open_root(root.transcripts)) == []
    assert cleanup_period_days(open_root(root.transcripts)) == 30
