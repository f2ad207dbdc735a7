"""`hansard completion`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, common


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
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
    # Not `source()`: for bash it starts a shell to look at its version.
    complete = kind(ctx.find_root().command, {}, "hansard", VARIABLE)
    script = complete.source_template % complete.source_vars()
    cli = ctx.ensure_object(Context)
    if cli.as_json:
        cli.emit({"shell": shell, "script": script})
    else:
        click.echo(script)
