"""`hansard plugin`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.context import Command, Context, common, note, warn
from hansard.cli.hook.run import SECRETS
from hansard.cli.request_options import YES
from hansard.errors import HansardError, NotFound

if TYPE_CHECKING:
    from hansard.changes.journal import Journal, Journals, Undone
    from hansard.changes.plan import ChangeSet
    from hansard.cli.plugin import PluginStatus


@click.command(cls=Command)
@click.argument("action", type=click.Choice(["install", "remove", "status"]), default="status")
@YES
@click.option(
    "--config-dir", metavar="DIR", help="The client's config directory; by default CLAUDE_CONFIG_DIR or ~/.claude."
)
@click.option(
    "--briefing/--no-briefing",
    default=None,
    help="Begin each new session with a summary of the last ones in its project; unchanged by default.",
)
@click.option(
    "--budgets/--no-budgets",
    default=None,
    help="Warn or stop sessions when a budget of the configuration is passed; unchanged by default.",
)
@click.option(
    "--secrets",
    is_flag=False,
    flag_value="warn",
    type=click.Choice(SECRETS),
    help="Warn before a secret goes into a prompt, a command or a file, or refuse it with --secrets=block; unchanged by default.",
)
@click.option("--no-secrets", is_flag=True, help="Without that.")
@click.option(
    "--mcp-json", metavar="DIR", help="Only add the MCP server to DIR/.mcp.json, which other agents read too."
)
@common
def plugin(
    cli: Context,
    action: str,
    yes: bool,
    config_dir: str | None,
    briefing: bool | None,
    budgets: bool | None,
    secrets: str | None,
    no_secrets: bool,
    mcp_json: str | None,
) -> None:
    """Install or remove the Claude Code plugin: hooks, an MCP server, a skill and slash commands.

    The plugin is written to the data directory, for this installation, and enabled in the client's settings.json.
    Without --yes the changes are shown and nothing is done. `remove` restores every file as it was; if a file
    was edited since, only the plugin's own part is removed.

    Examples:
      hansard plugin install           show what would change
      hansard plugin install --yes
      hansard plugin install --briefing --budgets --yes
      hansard plugin install --secrets=block --yes
      hansard plugin install --mcp-json ~/src/project --yes
      hansard plugin status
      hansard plugin remove --yes
    """
    from hansard.cli import plugin as installing

    home = os.path.realpath(cli.settings().home)
    parts: dict[str, Any] = {"briefing": briefing, "budgets": budgets, "secrets": "" if no_secrets else secrets}
    if action == "status":
        status = installing.plugin_status(home, config_dir, os.environ)
        cli.answer(status, lambda: _status_lines(status))
        return
    from hansard.changes.journal import journals, list_journals

    purpose = installing.MCP_JSON if mcp_json else installing.PLUGIN

    def mine(found: list[Journal]) -> list[Journal]:
        if mcp_json:
            real = os.path.realpath(os.path.expanduser(mcp_json))
            return [journal for journal in found if journal.facts["dir"] == real]
        if action == "remove":
            return installing.choose_installed(found, config_dir, os.environ)
        config = installing.config_directory(config_dir, os.environ)
        return [journal for journal in found if journal.facts["config_dir"] == config]

    known = list_journals(home, purpose)
    if action == "remove" and not mine(known):
        raise NotFound(_not_installed(known, mcp_json))
    if not yes:
        changes = _plan(home, config_dir, parts, mcp_json) if action == "install" else None
        _preview(cli, changes, mine(known))
        return
    with journals(home) as open_journals:
        _tell_recovered(open_journals)
        if action == "install":
            changes = _plan(home, config_dir, parts, mcp_json)  # raises before anything is undone
            parts = installing.chosen_parts(changes.facts)
        undone = [open_journals.undo(journal) for journal in reversed(mine(open_journals.find(purpose)))]
        if action == "install":
            if failed := [problem for item in undone for problem in item.failed]:
                raise HansardError(f"the installed plugin cannot be replaced: {'; '.join(failed)}")
            open_journals.apply(_plan(home, config_dir, parts, mcp_json))
    _tell_done(cli, action, undone)


def _not_installed(known: list[Journal], mcp_json: str | None) -> str:
    if mcp_json:
        return f"{mcp_json}: no server was added there"
    if known:
        places = ", ".join(sorted({journal.facts["config_dir"] for journal in known}))
        return f"the plugin is not installed there; it is installed for {places}: name that with --config-dir"
    return "the plugin is not installed"


def _plan(home: str, config_dir: str | None, parts: dict[str, Any], mcp_json: str | None) -> ChangeSet:
    from hansard.cli import plugin as installing

    if mcp_json:
        return installing.plan_mcp_json(home, mcp_json)
    config = installing.config_directory(config_dir, os.environ)
    return installing.plan_plugin(home, config, **parts)


def _preview(cli: Context, changes: ChangeSet | None, installed: list[Journal]) -> None:
    from hansard.changes.plan import preview

    written = {step.path for step in changes.steps} if changes is not None else set()
    lines = [f"restore {step.path}" for journal in installed for step in journal.steps if step.path not in written]
    cli.preview(lines + (preview(changes) if changes is not None else []))


def _tell_recovered(open_journals: Journals) -> None:
    for item in open_journals.recovered:
        what = "not all of its changes could be undone" if item.failed else "its changes were undone"
        warn(f"{item.title}: an earlier run was interrupted; {what}")
        for problem in item.failed:
            warn(problem)


def _tell_done(cli: Context, action: str, undone: list[Undone]) -> None:
    kept = {name: [one for item in undone for one in getattr(item, name)] for name in ("merged", "left", "failed")}
    if cli.as_json:
        cli.emit({"applied": True, "action": action, **kept})
        return
    for item in undone:
        for line in item.notes("the plugin's own part"):
            note(line)
    if action == "install":
        cli.say(["Installed. Restart Claude Code to use it; `hansard plugin remove --yes` undoes it."])
    else:
        cli.say(["Removed." if any(kept.values()) else "Removed; every file is as it was before."])


def _status_lines(found: PluginStatus) -> list[str]:
    lines = []
    if not found.installed:
        lines.append("The plugin is not installed. `hansard plugin install` shows what it would change.")
    else:
        lines.append(f"The plugin is installed for {found.config_dir}, in {found.plugin_dir}.")
        if not found.enabled:
            lines.append("It is inactive: the client's settings disable the plugin or all hooks.")
        if found.changed_files:
            lines.append(
                "These files differ from what this version writes; `hansard plugin install --yes` replaces them:"
            )
            lines += [f"  {path}" for path in found.changed_files]
    lines += [f"The MCP server is configured in {folder}/.mcp.json." for folder in found.mcp_json]
    if found.log:
        lines += ["Latest hook errors:", *(f"  {line}" for line in found.log)]
    return lines
