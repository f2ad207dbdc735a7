"""The command line: each command parses its arguments, makes one call to the engine and formats the answer once.

Nothing is imported here that `hansard --version` does not need; click, the engine and rich come when a command asks for them.
"""

import atexit
import gc
import os
import sys
import time

_DAY = 86_400  # seconds


def main() -> None:
    # Modules are never garbage: collecting every 700 objects and again at exit took 9 of 70 ms.
    gc.set_threshold(50_000)
    atexit.register(_freeze)
    _open_closed_streams()
    refused = _leave_impossible_time_zone()
    if sys.argv[1:] in (["--version"], ["-V"]):
        from hansard.cli.version import version_line

        print(version_line())  # noqa: T201 - click costs more than the answer
        return
    if sys.argv[1:2] == ["statusline"]:
        from hansard.cli.statusline.run import run_fast

        run_fast(sys.argv[2:])
    if "hook" in sys.argv[1:]:
        from hansard.cli.hook import run as hook

        # click would exit with 2 on a mistake, which blocks what the client is doing.
        arguments = hook.hook_arguments(sys.argv[1:])
        if arguments is not None:
            hook.run_fast(arguments)
    if sys.argv[1:2] == ["mcp"]:
        from hansard.cli.mcp_start import answer_handshake, is_fast

        if is_fast(sys.argv[1:]) and not answer_handshake():
            return
    from hansard.quick_imports import import_quickly

    import_quickly("click", "msgspec")
    from hansard.cli.app import hansard

    if refused is not None:
        from hansard.cli.context import warn

        warn(f"TZ={refused!r} is 24 hours or more away from UTC; times are in UTC")
    if "_HANSARD_COMPLETE" in os.environ:
        from hansard.cli.completion import register

        register()
    hansard(prog_name="hansard")


def _freeze() -> None:
    """Skip the collection at exit, unless DuckDB is loaded: its binding reports everything that is not freed as a leak."""
    if "duckdb" not in sys.modules:
        gc.freeze()


def _leave_impossible_time_zone() -> str | None:
    """Switch to UTC if TZ names an offset that `datetime` cannot represent; the refused value, or None.

    POSIX allows any offset up to 24 hours and glibc accepts larger ones, but `datetime` requires less than a day.
    """
    if max(abs(time.timezone), abs(time.altzone)) < _DAY:
        return None
    refused = os.environ.get("TZ", "")
    os.environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):
        time.tzset()
    return refused


def _open_closed_streams() -> None:
    """Replace closed standard streams by the null device, or the next opened file would get their descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open as long as the process
