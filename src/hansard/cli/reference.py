"""`hansard schema` and `hansard completion`."""

from __future__ import annotations

import click

from hansard.cli.front import Command, Front, common, pass_front


@click.command(cls=Command)
@click.argument("database", type=click.Choice(["record", "index", "text", "all"]), default="all")
@common
@pass_front
def schema(front: Front, database: str) -> None:
    """Print the documented schema of the databases: record.db, index.db and text.db.

    Examples:
      hansard schema index
      hansard schema --json
    """
    wanted = {name: sql for name, sql in schemas().items() if database in ("all", name.removesuffix(".db"))}
    if front.as_json:
        front.emit({"databases": wanted})
    else:
        front.say(f"-- {name}\n\n{sql}\n" for name, sql in wanted.items())


def schemas() -> dict[str, str]:
    """Each database's schema, comments and all."""
    from hansard.index import schema as index
    from hansard.record import schema as record

    return {
        "record.db": record.SCHEMA.strip(),
        "index.db": f"{index.TABLES.strip()}\n\n{index.INDEXES.strip()}",
        "text.db": index.TEXT_TABLES.strip(),
    }


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    Examples:
      hansard completion bash >> ~/.bashrc
      hansard completion zsh > ~/.zfunc/_hansard
      hansard completion fish > ~/.config/fish/completions/hansard.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        ctx.fail(f"click does not know {shell}")
    # Not `source()`: for bash it starts a shell to look at its version.
    complete = kind(ctx.find_root().command, {}, "hansard", "_HANSARD_COMPLETE")
    script = complete.source_template % complete.source_vars()
    front = ctx.ensure_object(Front)
    if front.as_json:
        front.emit({"shell": shell, "script": script})
    else:
        click.echo(script)
