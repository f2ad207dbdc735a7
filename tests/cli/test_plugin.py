"""The plugin: what it consists of, and that installing and removing it leaves no trace."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hansard.changes.journal import journals, list_journals
from hansard.cli import plugin as made_plugin
from hansard.cli.app import hansard
from hansard.cli.background import START
from hansard.cli.hook import run as hook
from tests.changes.trees import is_killed, tree


@pytest.fixture
def config(tmp_path: Path) -> Path:
    place = tmp_path / "claude"
    place.mkdir()
    (place / "settings.json").write_text('{\n  "model": "opus",\n  "enabledPlugins": {\n    "a@b": true\n  }\n}')
    return place


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: Path) -> Path:
    place = tmp_path / "store"
    monkeypatch.setenv("HANSARD_HOME", str(place))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    return place


def plugin(*arguments: str) -> Result:
    done = CliRunner().invoke(hansard, ["plugin", *arguments])
    assert done.exit_code == 0, done.output
    return done


def status() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plugin("status", "--json").stdout)
    return found


def test_without_yes_nothing_is_done(config: Path, store: Path) -> None:
    before = tree(config)
    shown = plugin("install").output
    assert '+    "hansard@hansard-local": true' in shown
    assert "hooks/hooks.json" in shown
    assert tree(config) == before
    assert not (store / "plugin").exists()
    assert not status()["installed"]


def test_it_is_installed_and_removed_without_a_trace(config: Path, store: Path) -> None:
    before = tree(config)
    plugin("install", "--yes")
    settings = json.loads((config / "settings.json").read_text())
    assert settings["enabledPlugins"] == {"a@b": True, made_plugin.ENABLED: True}
    market = settings["extraKnownMarketplaces"][made_plugin.MARKETPLACE]["source"]
    assert market == {"source": "directory", "path": str(store / "plugin")}
    found = status()
    assert (found["installed"], found["enabled"], found["changed_files"]) == (True, True, [])
    plugin("remove", "--yes")
    assert tree(config) == before
    assert not (store / "plugin").exists()
    assert CliRunner().invoke(hansard, ["plugin", "remove", "--yes"]).exit_code == 1


def test_settings_that_were_not_there_are_gone_again(config: Path, store: Path) -> None:
    (config / "settings.json").unlink()
    plugin("install", "--yes")
    assert (config / "settings.json").exists()
    plugin("remove", "--yes")
    assert tree(config) == {}


def test_installing_again_writes_it_anew(config: Path, store: Path) -> None:
    before = tree(config)
    plugin("install", "--yes")
    (store / "plugin/hansard/README.md").unlink()
    assert status()["changed_files"] == [str(store / "plugin/hansard/README.md")]
    plugin("install", "--briefing", "--yes")
    hooks = json.loads((store / "plugin/hansard/hooks/hooks.json").read_text())["hooks"]
    assert "SessionStart" in hooks
    assert status()["changed_files"] == []
    plugin("remove", "--yes")
    assert tree(config) == before


@pytest.mark.parametrize("is_new", [True, False])
def test_a_plugin_that_the_client_disabled_is_removed_without_a_trace(
    config: Path, store: Path, *, is_new: bool
) -> None:
    """`claude plugin disable` sets the switch to false, and each session dates the marketplace."""
    if is_new:
        (config / "settings.json").unlink()
    before = tree(config)
    former = None if is_new else json.loads((config / "settings.json").read_text())
    plugin("install", "--yes")
    for name, keys in (
        ("settings.json", ("enabledPlugins", made_plugin.ENABLED)),
        ("plugins/known_marketplaces.json", (made_plugin.MARKETPLACE, "lastUpdated")),
    ):
        path = config / name
        value = json.loads(path.read_text())
        value[keys[0]][keys[1]] = False if name == "settings.json" else "2026-11-18T05:55:24.670Z"
        path.write_text(json.dumps(value, indent=4))
    plugin("remove", "--yes")
    assert sorted(tree(config)) == sorted(before)
    if former is not None:
        assert json.loads((config / "settings.json").read_text()) == former
    assert not (store / "plugin").exists()


def test_later_edits_of_the_user_stay(config: Path, store: Path) -> None:
    plugin("install", "--yes")
    settings = json.loads((config / "settings.json").read_text())
    settings["model"] = "sonnet"
    settings["enabledPlugins"]["c@d"] = True
    (config / "settings.json").write_text(json.dumps(settings, indent=2))
    told = plugin("remove", "--yes").output
    assert "edited since: only the plugin's own part was removed" in told
    expected = {"model": "sonnet", "enabledPlugins": {"a@b": True, "c@d": True}}
    assert json.loads((config / "settings.json").read_text()) == expected


def test_a_kill_half_way_is_put_right(config: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    before = tree(config)

    def run() -> None:
        with journals(str(store)) as opened:
            opened.apply(made_plugin.plan_plugin(str(store), str(config), briefing=True))

    kills = 0
    while is_killed(kills, run):
        kills += 3
        with journals(str(store)) as opened:
            for found in opened.find(made_plugin.PLUGIN):  # killed when all was done
                opened.undo(found)
        assert tree(config) == before
        assert not (store / "plugin").exists()
    assert kills > 60
    assert list_journals(str(store), made_plugin.PLUGIN)


def test_the_commands_in_it_run_here(store: Path) -> None:
    made = made_plugin.plugin_files(str(store), briefing=True)
    hooks = json.loads(made["hansard/hooks/hooks.json"])["hooks"]
    (briefing,) = hooks.pop("SessionStart")[0]["hooks"]
    assert briefing["command"] == sys.executable
    assert briefing["args"][:4] == ["-P", "-c", START, "hook"]
    options = hook.Options()
    options.parse(briefing["args"][4:])
    assert (options.event, options.home, options.mistakes) == ("SessionStart", str(store), [])
    for event, groups in hooks.items():
        (entry,) = (entry for group in groups for entry in group["hooks"])
        assert entry == {"type": "command", "command": f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/hand-over.sh" {event}'}
    server = json.loads(made["hansard/.mcp.json"])["mcpServers"]["history"]
    assert server["args"][:4] == ["-P", "-c", START, "mcp"]
    for name, text in made.items():
        if name.endswith(".md") and "/commands/" in name:
            assert text.startswith(b"---\ndescription: ")


def test_a_plain_mcp_json(config: Path, store: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}}\n')
    before = tree(project, config)
    plugin("install", "--mcp-json", str(project), "--yes")
    servers = json.loads((project / ".mcp.json").read_text())["mcpServers"]
    assert set(servers) == {"other", "hansard"}
    assert status()["mcp_json"] == [str(project)]
    plugin("remove", "--mcp-json", str(project), "--yes")
    assert tree(project, config) == before


def test_a_link_is_not_followed(config: Path, store: Path, tmp_path: Path) -> None:
    (config / "settings.json").rename(tmp_path / "dotfiles.json")
    (config / "settings.json").symlink_to(tmp_path / "dotfiles.json")
    before = tree(tmp_path)
    done = CliRunner().invoke(hansard, ["plugin", "install", "--yes"])
    assert done.exit_code == 2
    assert "not a regular file" in done.output
    shutil.rmtree(store, ignore_errors=True)
    assert tree(tmp_path) == before


def test_a_removal_that_is_refused_blocks_nothing_else(config: Path, store: Path, tmp_path: Path) -> None:
    plugin("install", "--yes")
    (config / "settings.json").rename(tmp_path / "dotfiles.json")
    (config / "settings.json").symlink_to(tmp_path / "dotfiles.json")
    assert CliRunner().invoke(hansard, ["plugin", "remove", "--yes"]).exit_code == 2
    assert status()["changed_files"] == []
    plugin("install", "--mcp-json", str(tmp_path), "--yes")
    plugin("remove", "--mcp-json", str(tmp_path), "--yes")
    (config / "settings.json").unlink()
    (tmp_path / "dotfiles.json").rename(config / "settings.json")
    plugin("remove", "--yes")


def test_two_config_directories_are_independent(config: Path, store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    before = tree(config), tree(other)
    plugin("install", "--yes")
    installed = tree(config)
    plugin("install", "--config-dir", str(other), "--yes")
    assert tree(config) == installed
    for named in (config, other):
        found = json.loads(plugin("status", "--config-dir", str(named), "--json").stdout)
        assert (found["installed"], found["config_dir"], found["changed_files"]) == (True, str(named), [])
    plugin("remove", "--yes")
    assert tree(config) == before[0]
    found = json.loads(plugin("status", "--config-dir", str(other), "--json").stdout)
    assert (found["installed"], found["enabled"], found["changed_files"]) == (True, True, [])
    plugin("remove", "--yes")  # the only one that is left
    assert tree(other) == before[1]
    assert os.listdir(store) == ["changes"]


def test_installing_again_keeps_the_briefing(config: Path, store: Path) -> None:
    def has_briefing() -> bool:
        return "SessionStart" in json.loads((store / "plugin/hansard/hooks/hooks.json").read_text())["hooks"]

    plugin("install", "--briefing", "--yes")
    plugin("install", "--yes")
    assert has_briefing()
    plugin("install", "--no-briefing", "--yes")
    assert not has_briefing()
    plugin("install", "--yes")
    assert not has_briefing()


def test_hooks_for_budgets_are_installed_on_request_and_kept(config: Path, store: Path) -> None:
    def hooks() -> dict[str, Any]:
        found: dict[str, Any] = json.loads((store / "plugin/hansard/hooks/hooks.json").read_text())["hooks"]
        return found

    plugin("install", "--yes")
    assert not {"UserPromptSubmit", "PreToolUse"} & hooks().keys()
    plugin("install", "--budgets", "--yes")
    plugin("install", "--briefing", "--yes")
    for event in ("UserPromptSubmit", "PreToolUse"):
        (made,) = hooks()[event][0]["hooks"]
        options = hook.Options()
        options.parse(made["args"][4:])
        assert (options.event, options.budgets, options.mistakes) == (event, True, [])
    assert status()["changed_files"] == []
    plugin("install", "--no-budgets", "--yes")
    assert hooks().keys() >= {"SessionStart"}
    assert not {"UserPromptSubmit", "PreToolUse"} & hooks().keys()


def test_hooks_for_secrets_are_installed_on_request_and_kept(config: Path, store: Path) -> None:
    def hooks(event: str) -> list[tuple[str, hook.Options]]:
        made: dict[str, Any] = json.loads((store / "plugin/hansard/hooks/hooks.json").read_text())["hooks"]
        found = []
        for one in made.get(event, ()):
            options = hook.Options()
            options.parse(one["hooks"][0]["args"][4:])
            assert options.mistakes == []
            found.append((one.get("matcher", ""), options))
        return found

    plugin("install", "--secrets", "--yes")
    ((_, prompt),) = hooks("UserPromptSubmit")
    ((tools, call),) = hooks("PreToolUse")
    assert (prompt.secrets, call.secrets, prompt.budgets) == ("warn", "warn", False)
    assert "Write" in tools.split("|")
    plugin("install", "--secrets=block", "--budgets", "--yes")
    plugin("install", "--yes")
    ((_, prompt),) = hooks("UserPromptSubmit")
    assert (prompt.secrets, prompt.budgets) == ("block", True)
    assert [(tools == "", one.budgets, one.secrets) for tools, one in hooks("PreToolUse")] == [
        (True, True, ""),
        (False, False, "block"),
    ]
    assert status()["changed_files"] == []
    plugin("install", "--no-secrets", "--yes")
    assert [one.secrets for _, one in hooks("UserPromptSubmit")] == [""]
    plugin("install", "--no-budgets", "--yes")
    assert hooks("UserPromptSubmit") == hooks("PreToolUse") == []
    told = CliRunner().invoke(hansard, ["plugin", "install", "--secrets=maybe"])
    assert told.exit_code == 2


def test_a_failing_install_leaves_the_installed_one(config: Path, store: Path) -> None:
    plugin("install", "--yes")
    (config / "settings.json").write_text("{ broken")
    before = tree(store / "plugin", config)
    assert CliRunner().invoke(hansard, ["plugin", "install", "--yes"]).exit_code == 2
    assert tree(store / "plugin", config) == before
    assert status()["installed"]


def test_the_preview_shows_what_is_undone(config: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_plugin.plugin_files

    def older(home: str, **chosen: Any) -> dict[str, bytes]:
        return {**made(home, **chosen), "hansard/former.md": b"x"}

    with monkeypatch.context() as patch:
        patch.setattr(made_plugin, "plugin_files", older)
        plugin("install", "--yes")
    assert f"restore {store}/plugin/hansard/former.md" in plugin("install").output


def test_real_config_directories_are_byte_identical_afterwards(
    corpus: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = sorted((corpus / "real-client-2").glob("*/*/dot-claude")) + sorted(
        (corpus / "real-client").glob("*/*/dot-claude")
    )
    assert places
    seen = set()
    for number, place in enumerate(places):
        settings = place / "settings.json"
        content = settings.read_bytes() if settings.exists() else None
        if content in seen:
            continue
        seen.add(content)
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(place, copy, symlinks=True)
        before = tree(copy)
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(copy))
        plugin("install", "--yes")
        assert tree(copy) != before
        plugin("remove", "--yes")
        assert tree(copy) == before
    assert len(seen) > 2
    assert os.listdir(store) == ["changes"]


def test_the_skill_names_every_tool() -> None:
    from hansard.mcp.tools import NAMES

    skill = made_plugin.plugin_files("/home")["hansard/skills/past-sessions/SKILL.md"].decode()
    assert all(f"`{name}`" in skill for name in NAMES)
