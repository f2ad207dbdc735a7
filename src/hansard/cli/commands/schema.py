"""`hansard schema`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, common, pass_context


@click.command(cls=Command)
@click.argument("database", type=click.Choice(["record", "index", "text", "all"]), default="all")
@common
@pass_context
def schema(cli: Context, database: str) -> None:
    """Print the documented schema of the databases: record.db, index.db and text.db.

    Examples:
      hansard schema index
      hansard schema --json
    """
    wanted = {name: sql for name, sql in schemas().items() if database in ("all", name.removesuffix(".db"))}
    if cli.as_json:
        cli.emit({"databases": wanted})
    else:
        cli.say(f"-- {name}\n\n{sql}\n" for name, sql in wanted.items())


def schemas() -> dict[str, str]:
    """Each database's schema, comments and all."""
    from hansard.index import schema as index
    from hansard.record import schema as record

    return {
        "record.db": record.SCHEMA.strip(),
        "index.db": f"{index.TABLES.strip()}\n\n{index.INDEXES.strip()}",
        "text.db": index.TEXT_TABLES.strip(),
    }
