"""`hansard help`, `completion` and `schema`: about this program."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, common
from hansard.errors import UsageError


@click.command(cls=Command)
@click.argument("command", nargs=-1)
@common
@click.pass_context
def help(ctx: click.Context, cli: Context, command: tuple[str, ...]) -> None:  # noqa: A001 - a command's function has its name
    """Show help for a command, or list all commands.

    Examples:
      hansard help
      hansard help search
      hansard help secrets scan
    """
    asked = ctx.find_root()
    for name in command:
        if not isinstance(asked.command, click.Group):
            raise UsageError(f"`{asked.command_path}` has no commands of its own")
        _, found, _ = asked.command.resolve_command(asked, [name])
        if found is not None:
            asked = click.Context(found, info_name=name, parent=asked)
    text = asked.get_help()
    cli.emit({"command": " ".join(command) or None, "help": text}) if cli.as_json else click.echo(text)


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common
@click.pass_context
def completion(ctx: click.Context, cli: Context, shell: str) -> None:
    """Print a shell completion script.

    Examples:
      hansard completion bash >> ~/.bashrc
      hansard completion zsh > ~/.zfunc/_hansard
      hansard completion fish > ~/.config/fish/completions/hansard.fish
    """
    from click.shell_completion import get_completion_class

    from hansard.cli.completion import VARIABLE, register

    register()
    kind = get_completion_class(shell)
    if kind is None:
        ctx.fail(f"click does not know {shell}")
    # Not `source()`: for bash it runs a shell to find its version.
    complete = kind(ctx.find_root().command, {}, "hansard", VARIABLE)
    script = complete.source_template % complete.source_vars()
    cli.emit({"shell": shell, "script": script}) if cli.as_json else click.echo(script)


@click.command(cls=Command)
@click.argument("database", type=click.Choice(["record", "index", "text", "all"]), default="all")
@common
def schema(cli: Context, database: str) -> None:
    """Print the schema of the databases: record.db, index.db and text.db.

    Examples:
      hansard schema index
      hansard schema --json
    """
    from hansard.engine import schemas

    wanted = {name: sql for name, sql in schemas().items() if database in ("all", name.removesuffix(".db"))}
    cli.answer({"databases": wanted}, lambda: (f"-- {name}\n\n{sql}\n" for name, sql in wanted.items()))
