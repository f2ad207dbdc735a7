"""Commands as a shell reads them; names from transcripts can neither end a word nor reach the terminal."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.model.sessions import Session

CLIENT = "claude"
RESUME_OPTION = "--resume"


def quote(word: str) -> str:
    """A word for a POSIX shell; what a terminal would obey is written as an escape (`$'...'`)."""
    if word.isprintable():
        return shlex.quote(word)
    plain = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(c if c.isprintable() else _escaped(c) for c in plain) + "'"


def _escaped(character: str) -> str:
    try:
        encoded = character.encode("utf-8", "surrogateescape")  # a name that is not UTF-8
    except UnicodeEncodeError:
        encoded = character.encode("utf-8", "replace")
    return "".join(f"\\x{byte:02x}" for byte in encoded)


def command_line(words: Sequence[str], *, directory: str = "", environment: Mapping[str, str] | None = None) -> str:
    """A command to paste into the system's shell, run in a directory."""
    if os.name == "nt":
        from subprocess import list2cmdline

        settings = [f'set "{name}={value}"' for name, value in (environment or {}).items()]
        steps = [*([f"cd /d {list2cmdline([directory])}"] if directory else []), *settings, list2cmdline(words)]
        return " && ".join(steps)
    settings = [f"{name}={quote(value)}" for name, value in (environment or {}).items()]
    command = " ".join([*settings, *map(quote, words)])
    return f"cd {quote(directory)} && {command}" if directory else command


def resume_command(session: Session) -> str:
    """What goes on with a session in its directory."""
    return command_line([CLIENT, RESUME_OPTION, session.session_id], directory=session.cwd)
