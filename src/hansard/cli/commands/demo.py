"""`hansard demo`: an invented history, so that there is something to look at."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context, common
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.config import Settings

_MARK = "hansard-demo"  # marks a history that may be deleted
_FRESH_SECONDS = 12 * 3600


@click.command(cls=Command)
@click.argument("directory", metavar="[DIR]", required=False)
@common
def demo(cli: Context, directory: str | None) -> None:
    """Try Hansard on an invented history: two months of six projects, in every layout that clients have written.

    The history goes to DIR/.claude and its store to DIR/hansard; without DIR to a fresh temporary directory.

    Examples:
      hansard demo
      hansard demo /tmp/tour
    """
    from hansard.cli.commands.overview import show_overview

    if cli.home or cli.roots:
        raise UsageError("--home and --root cannot be used with demo: give it a directory instead")
    if directory is None:
        import tempfile

        base = tempfile.mkdtemp(prefix="hansard-demo-")
    else:
        base = os.path.abspath(os.path.expanduser(directory))
    settings = write_demo(base)
    show_overview(cli, settings, demo=True)


def write_demo(base: str) -> Settings:
    """Write the invented history under a directory that has none yet, and give the settings to read it with."""
    from hansard.config import DEFAULT_MAX_FILE_MB, Settings
    from hansard.demo import write_history

    root = os.path.join(base, ".claude")
    if os.path.lexists(root):
        raise UsageError(f"{root} already exists; nothing was written. Choose another directory")
    os.makedirs(base, mode=0o700, exist_ok=True)
    write_history(root)
    return Settings(os.path.join(base, "hansard"), (root,), DEFAULT_MAX_FILE_MB << 20)


def scratch_demo(settings: Settings) -> Settings:
    """The demo for a user without a history: kept in the data directory, and made again when it is out of date."""
    from hansard.config import Settings as Values
    from hansard.files import write_private

    base = os.path.join(settings.home, "demo")
    mark = os.path.join(base, _MARK)
    if os.path.isfile(mark):
        age = time.time() - os.path.getmtime(mark)
        if 0 <= age < _FRESH_SECONDS:
            return Values(os.path.join(base, "hansard"), (os.path.join(base, ".claude"),), settings.max_file)
        shutil.rmtree(base)
    os.makedirs(settings.home, mode=0o700, exist_ok=True)
    written = write_demo(base)
    write_private(mark, b"An invented history. Hansard deletes this directory and makes it anew.\n")
    return written
