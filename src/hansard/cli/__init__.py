"""The command line: each command parses its arguments, makes one call to the engine and formats the answer once.

Nothing is imported here that `hansard --version` does not need; click, the engine and rich come when a command asks for them.
"""

import sys


def main() -> None:
    """Run the command line and exit."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from hansard import __version__

        print(f"hansard {__version__}")  # noqa: T201 - click costs more than the answer
        return
    from hansard.cli.app import hansard

    hansard(prog_name="hansard")
