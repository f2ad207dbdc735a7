"""`hansard web`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hansard.cli.front import Command, Front, has_store, no_roots, note, pass_front, reads, warn
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.config import Settings


@click.command(cls=Command)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; what is not loopback can be reached by others.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="0: any free one. [default: the first free one from 4567 on]"
)
@click.option("--read-only", is_flag=True, help="No pins, tags, titles or notes from the browser.")
@click.option("--no-open", is_flag=True, help="Print the link, open no browser.")
@click.option("--demo", is_flag=True, help="On the invented demo history.")
@reads
@pass_front
def web(front: Front, host: str, port: int | None, read_only: bool, no_open: bool, demo: bool) -> None:
    """Show the whole history in the browser, live, until Ctrl-C.

    The link works once: it gives the browser a cookie. Each time one is used the next one is printed.

    Examples:
      hansard web
      hansard web --demo
      hansard web --no-open --port 8080
      hansard web --read-only --no-sync
    """
    from hansard.web.server import is_loopback, serve

    host = host.strip().strip("[]")
    if not host:
        raise UsageError("--host is empty: name an address, 127.0.0.1 for example")
    settings, demo = _settings(front, demo=demo)
    if not is_loopback(host):
        warn(f"{host} is not loopback: whoever reaches it and has a link can read every session; nothing is encrypted")

    def opened(link: str, number: int) -> None:
        if front.as_json:
            front.emit({"link": link, "host": host, "port": number, "home": settings.home, "demo": demo})
        else:
            front.say([f"Hansard is at {link}"])
            note("Ctrl-C ends it.")
        sys.stdout.flush()
        if not no_open and not front.as_json:
            _open(link)

    def again(link: str) -> None:
        note(f"Let in. For another browser: {link}")

    serve(
        settings,
        host=host,
        port=port,
        read_only=read_only,
        syncing=demo or not front.no_sync,
        demo=demo,
        opened=opened,
        again=again,
    )


def _settings(front: Front, *, demo: bool) -> tuple[Settings, bool]:
    """The user's settings, or those of the demo where that is wanted or there is nothing else."""
    from hansard.cli.trial import scratch_demo

    if demo and (front.roots or front.no_sync):
        raise UsageError("--demo makes its own history: leave --root and --no-sync out")
    settings = front.settings()
    if demo:
        return scratch_demo(settings), True
    with front.engine(settings) as h:
        empty = not h.roots and not has_store(h)
    if empty:
        warn(str(no_roots()).partition(" Name one")[0])
        note("This is an invented demo history. Name your own with --root DIR or CLAUDE_CONFIG_DIR.\n")
        return scratch_demo(settings), True
    return settings, False


def _open(link: str) -> None:
    """In the user's browser, from a thread: some wait until they are closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
