"""`hansard help`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, common, pass_context


@click.command(cls=Command)
@click.argument("command", required=False)
@common
@click.pass_context
@pass_context
def help(cli: Context, ctx: click.Context, command: str | None) -> None:  # noqa: A001 - a command's function has its name
    """Show help for a command, or list all commands.

    Examples:
      hansard help
      hansard help search
    """
    root = ctx.find_root()
    text = root.get_help()
    if command is not None and isinstance(root.command, click.Group):
        _, found, _ = root.command.resolve_command(root, [command])
        if found is not None:
            text = found.get_help(click.Context(found, info_name=command, parent=root))
    if cli.as_json:
        cli.emit({"command": command, "help": text})
    else:
        click.echo(text)
