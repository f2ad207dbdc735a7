"""`hansard schema`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, common, pass_context


@click.command(cls=Command)
@click.argument("database", type=click.Choice(["record", "index", "text", "all"]), default="all")
@common
@pass_context
def schema(cli: Context, database: str) -> None:
    """Print the schema of the databases: record.db, index.db and text.db.

    Examples:
      hansard schema index
      hansard schema --json
    """
    from hansard.engine import schemas

    wanted = {name: sql for name, sql in schemas().items() if database in ("all", name.removesuffix(".db"))}
    if cli.as_json:
        cli.emit({"databases": wanted})
    else:
        cli.say(f"-- {name}\n\n{sql}\n" for name, sql in wanted.items())
