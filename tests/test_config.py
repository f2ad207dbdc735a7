"""Settings: options before the environment before the file before the usual places."""

from __future__ import annotations

import os
from datetime import date
from decimal import Decimal
from pathlib import Path

import platformdirs
import pytest

from hansard import config
from hansard.directories import config_path
from hansard.errors import UsageError
from hansard.model.ledger import Limit, PriceOverride


def write(text: str) -> Path:
    path = Path(config_path())
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


def test_where_links_may_lead(home: Path, tmp_path: Path) -> None:
    assert config.load({}).follow_links == ()
    path = write("follow_links = ['/big', '~/mine', 'here']")
    assert config.load({}).follow_links == ("/big", str(home / "mine"), os.path.join(path.parent, "here"))
    assert config.load({}, follow_links=[str(tmp_path)]).follow_links == (str(tmp_path),)
    write("follow_links = '/big'")
    assert config.load({}).follow_links == ("/big",)


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
        ("root = 'x'", "unknown setting: root"),
        ("roots = [1]", "roots must be a list of paths"),
        ("roots = ['']", "roots must be a list of paths"),
        ("follow_links = 7", "follow_links must be a list of paths"),
        ("follow_links = ['']", "follow_links must be a list of paths"),
        ("not_stored = 'shell'", "not_stored must be a list of these: tool_result, "),
        ("not_stored = ['transcript']", "not_stored must be a list of these: tool_result, "),
        ("max_file_mb = 'big'", "max_file_mb must be a number"),
        ("max_file_mb = 0", "max_file_mb must be a number"),
        ("max_file_mb = true", "max_file_mb must be a number"),
        ("max_file_mb = nan", "max_file_mb must be a number"),
        ("timezone = 1", "timezone must be a string"),
        ("statusline = ['x']", "statusline must be a string"),
        ("prices = 1", "prices are tables"),
        ("[prices]\nmodel = 'x'", "prices are tables"),
        ("[[prices]]\ninput = 1\noutput = 2", "a price needs a model"),
        ("[[prices]]\nmodel = ' '\ninput = 1\noutput = 2", "a price needs a model"),
        ("[[prices]]\nmodel = 'm'\ninput = 1", "the price of m needs input and output"),
        ("[[prices]]\nmodel = 'm'\ninput = '1'\noutput = 2", "the price of m: input must be a number of dollars"),
        ("[[prices]]\nmodel = 'm'\ninput = -1\noutput = 2", "the price of m: input must be a number of dollars"),
        ("[[prices]]\nmodel = 'm'\ninput = nan\noutput = 2", "the price of m: input must be a number of dollars"),
        ("[[prices]]\nmodel = 'm'\ninput = inf\noutput = 2", "the price of m: input must be a number of dollars"),
        ("[[prices]]\nmodel = 'm'\ninput = 1\noutput = true", "the price of m: output must be a number of dollars"),
        ("[[prices]]\nmodel = 'm'\ninput = 1\noutput = 2\nprice = 3", "prices: unknown key price; the keys are above"),
        ("[[prices]]\nmodel = 'm'\ninput = 1\noutput = 2\nsince = '2026-01-01'", "since must be a date without quotes"),
        (
            "[[prices]]\nmodel = 'm'\ninput = 1\noutput = 2\nuntil = 2026-01-01T10:00:00Z",
            "until must be a date without",
        ),
        (
            "[[prices]]\nmodel = 'm'\ninput = 1\noutput = 2\nsince = 2026-02-01\nuntil = 2026-02-01",
            "ends .* before it starts",
        ),
        ("[[prices]]\nmodel = 'm'\ninput = 1\noutput = 2\nabove = -1", "above must be a number of tokens"),
        ("[[prices]]\nmodel = 'm'\ninput = 1\noutput = 2\nabove = 1.5", "above must be a number of tokens"),
        ("[[prices]]\nmodel = 'm'\ninput = 1\noutput = 2\nspeed = 2", "speed must be a string"),
        ("budgets = 20", "budgets is a table"),
        ("[budgets]\nyear = 20", "budgets: unknown key year; the keys are action, day, month"),
        ("[budgets]\nday = 20\naction = 'stop'", "action must be"),
        ("[budgets.projects.tide]\nsession = 5", "budgets of tide: unknown key session"),
        ("[budgets]\nday = 0", "budgets: day must be a number of dollars, at least 0.01"),
        ("[budgets]\nday = '20'", "budgets: day must be a number of dollars"),
        ("[budgets]\nday = 20\nwarn_at = 0", "warn_at must be a fraction between 0 and 1"),
        ("[budgets]\nday = 20\nwarn_at = 80", "warn_at must be a fraction between 0 and 1"),
        ("[budgets]\nprojects = 20", "budgets of projects are tables"),
        ("[budgets.projects]\ntide = 20", "budgets of projects are tables"),
        ("[budgets.projects.tide]\nwarn_at = 0.5", "budgets of tide: unknown key warn_at"),
    ],
)
def test_a_mistake_in_the_file_is_told(text: str, told: str) -> None:
    path = write(text)
    with pytest.raises(UsageError, match=told) as caught:
        config.load({})
    assert str(path) in str(caught.value)


def test_prices_of_ones_own() -> None:
    write(
        """
        [[prices]]
        model = "claude-opus-5-5"
        input = 4.10
        output = 20
        cache_read = 0.123456789012345678901
        since = 2026-03-13
        until = 2026-10-01
        above = 200000
        speed = "fast"

        [[prices]]
        model = "free"
        input = 0
        output = 0
        """
    )
    first, second = config.load({}).prices
    assert first == PriceOverride(
        "claude-opus-5-5",
        Decimal("4.10"),
        Decimal(20),
        cache_read=Decimal("0.123456789012345678901"),  # every digit of it
        since=date(2026, 3, 13),
        until=date(2026, 10, 1),
        above=200_000,
        speed="fast",
    )
    assert second == PriceOverride("free", Decimal(0), Decimal(0))


def test_budgets() -> None:
    write(
        """
        timezone = "Europe/Berlin"
        [budgets]
        month = 300
        day = 19.99
        [budgets.projects."/src/tide"]
        week = 50
        """
    )
    settings = config.load({})
    assert settings.timezone == "Europe/Berlin"
    assert settings.limits == (
        Limit("day", Decimal("19.99"), Decimal("0.8")),
        Limit("month", Decimal(300), Decimal("0.8")),
        Limit("week", Decimal(50), Decimal("0.8"), "/src/tide"),
    )
    write("[budgets]\nwarn_at = 0.5\nweek = 1\n[budgets.projects.tide]\nday = 2")
    assert [limit.warn_at for limit in config.load({}).limits] == [Decimal("0.5")] * 2


def test_without_a_file_nothing_is_set() -> None:
    settings = config.load({})
    assert (settings.timezone, settings.prices, settings.limits, settings.statusline) == (None, (), (), None)


def test_a_file_that_is_not_text(home: Path) -> None:
    Path(config_path()).parent.mkdir(parents=True)
    Path(config_path()).write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not valid TOML"):
        config.load({})


@pytest.mark.parametrize("named", [None, "", "  ", "/somewhere/else"])
def test_the_directories_are_those_of_the_platform(monkeypatch: pytest.MonkeyPatch, named: str | None) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, named) if named is not None else monkeypatch.delenv(name)
    assert config_path() == os.path.join(platformdirs.user_config_dir("hansard", appauthor=False), "config.toml")
    assert config.load({}).home == platformdirs.user_data_dir("hansard", appauthor=False)


def test_clients_can_be_left_out_or_read_elsewhere(home: Path) -> None:
    for name in (".claude/projects", ".codex/sessions/2026", "old/sessions/2025"):
        (home / name).mkdir(parents=True)
    assert config.load({}).roots == (str(home / ".codex"), str(home / ".claude"))
    write("[clients]\ncodex = false")
    settings = config.load({})
    assert settings.roots == (str(home / ".claude"),)
    assert [(item.client, item.path, item.reason) for item in settings.unread()] == [
        ("codex", str(home / ".codex"), "switched off")
    ]
    write("[clients]\ncodex = '~/old'\nclaude-code = false")
    assert config.load({}).roots == (str(home / "old"),)


@pytest.mark.parametrize(
    "text", ["clients = 1", "[clients]\ncodex = true", "[clients]\ncodex = []", "[clients]\ncodex = [1]"]
)
def test_a_mistake_about_clients_is_told(text: str) -> None:
    write(text)
    with pytest.raises(UsageError, match=r"below \[clients\] write"):
        config.load({})
