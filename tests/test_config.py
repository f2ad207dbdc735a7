"""Settings: options before the environment before the file before the usual places."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from hansard import config
from hansard.errors import UsageError


def write(text: str) -> Path:
    path = Path(config.config_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_data_directory(home: Path, tmp_path: Path) -> None:
    assert config.load({}, home=str(tmp_path)).home == str(tmp_path)
    assert config.load({"HANSARD_HOME": str(tmp_path)}).home == str(tmp_path)
    assert config.load({"HANSARD_HOME": str(tmp_path)}, home="~/x").home == str(home / "x")
    assert "hansard" in config.load({}).home
    assert config.load({}).home.startswith(str(home))


def test_the_usual_roots(home: Path) -> None:
    assert config.load({}).roots == ()
    (home / ".claude").mkdir()
    (home / ".config" / "claude").mkdir(parents=True)
    assert config.load({}).roots == (str(home / ".claude"), str(home / ".config" / "claude"))
    assert config.usual_places({}) == [str(home / ".claude"), str(home / ".config" / "claude")]


def test_who_names_the_roots(home: Path, tmp_path: Path) -> None:
    for name in ("option", "variable", "file"):
        (tmp_path / name).mkdir()
    (home / ".claude").mkdir()
    write(f"roots = [{str(tmp_path / 'file')!r}]")
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "variable")}
    assert config.load(environ, roots=[str(tmp_path / "option")]).roots == (str(tmp_path / "option"),)
    assert config.load(environ).roots == (str(tmp_path / "variable"),)
    assert config.load({}).roots == (str(tmp_path / "file"),)


def test_named_roots_that_are_not_there_are_told_and_left_out(tmp_path: Path) -> None:
    settings = config.load({"CLAUDE_CONFIG_DIR": f"{tmp_path},{tmp_path / 'no'}"})
    assert settings.roots == (str(tmp_path),)
    assert settings.warnings == (f"CLAUDE_CONFIG_DIR names {tmp_path / 'no'}, which does not exist",)


def test_paths_in_the_file_are_relative_to_it(home: Path) -> None:
    path = write('roots = "here"\nmax_file_mb = 0.5\n')
    (path.parent / "here").mkdir()
    settings = config.load({})
    assert settings.roots == (os.path.join(path.parent, "here"),)
    assert settings.max_file == 1 << 19
    write('roots = ["~/mine"]')
    (home / "mine").mkdir()
    assert config.load({}).roots == (str(home / "mine"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("roots = ", "not valid TOML"),
        ("root = 'x'", "no such setting: root"),
        ("roots = [1]", "roots is a list of paths"),
        ("roots = ['']", "roots is a list of paths"),
        ("max_file_mb = 'big'", "max_file_mb is a number"),
        ("max_file_mb = 0", "max_file_mb is a number"),
        ("max_file_mb = true", "max_file_mb is a number"),
        ("max_file_mb = nan", "max_file_mb is a number"),
    ],
)
def test_a_mistake_in_the_file_is_told(text: str, told: str) -> None:
    path = write(text)
    with pytest.raises(UsageError, match=told) as caught:
        config.load({})
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_text(home: Path) -> None:
    Path(config.config_path()).parent.mkdir(parents=True)
    Path(config.config_path()).write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not valid TOML"):
        config.load({})


@pytest.mark.parametrize("named", [None, "", "  ", "/somewhere/else"])
def test_the_directories_are_those_of_the_platform(monkeypatch: pytest.MonkeyPatch, named: str | None) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, named) if named is not None else monkeypatch.delenv(name)
    assert config.config_path() == os.path.join(platformdirs.user_config_dir("hansard", appauthor=False), "config.toml")
    assert config.load({}).home == platformdirs.user_data_dir("hansard", appauthor=False)
