"""`hansard hook`."""

from __future__ import annotations

import sys

import click

from hansard.cli.context import Command, Context, common
from hansard.cli.hook.run import SECRETS, TIMEOUT, Options, run


@click.command(cls=Command)
@click.argument("event", required=False, default="")
@click.option(
    "--timeout",
    type=click.FloatRange(0, 600),
    default=TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="SessionEnd and PreCompact: how long to wait until the transcript is stored.",
)
@click.option("--briefing", is_flag=True, help="SessionStart: print what the last sessions of this project were about.")
@click.option(
    "--budgets",
    is_flag=True,
    help="UserPromptSubmit and PreToolUse: warn or stop as [budgets] in the configuration says.",
)
@click.option(
    "--secrets",
    type=click.Choice(SECRETS),
    help="UserPromptSubmit and PreToolUse: warn before a secret goes into a prompt, a command or a file, or refuse it.",
)
@click.option("--work", is_flag=True, hidden=True, help="Process queued requests; hooks start this themselves.")
@common
def hook(
    cli: Context, event: str, timeout: float, briefing: bool, budgets: bool, secrets: str | None, work: bool
) -> None:
    """Handle a client hook: store what is new without delaying the client.

    Reads the JSON that Claude Code writes to a hook's stdin. SessionEnd and PreCompact store the transcript at once; Stop,
    PostToolUse and similar events update the index in the background; other events do nothing. Never fails, and prints
    only the briefing and instructions about budgets and secrets; errors go to hooks.log in the data directory.

    `hansard plugin install` sets the hooks up.

    Examples:
      hansard hook SessionEnd --timeout 8
      hansard hook Stop
      hansard hook SessionStart --briefing
      hansard hook UserPromptSubmit --budgets --secrets=warn
    """
    options = Options()
    options.event, options.timeout, options.briefing, options.work = event, timeout, briefing, work
    options.budgets, options.secrets = budgets, secrets or ""
    options.home, options.roots, options.follow_links = cli.home, cli.roots, cli.follow_links
    run(options, sys.stdin)
