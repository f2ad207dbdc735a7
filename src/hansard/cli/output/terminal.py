"""What `shutil` knows of the terminal and of programs: it imports three compressors, which takes as long as drawing a table."""

import os
import sys


def terminal_size() -> os.terminal_size:
    """Columns and lines: what COLUMNS and LINES say, else the terminal's, else 80 by 24."""
    columns, lines = _stated("COLUMNS"), _stated("LINES")
    if columns and lines:
        return os.terminal_size((columns, lines))
    try:
        size = os.get_terminal_size(sys.__stdout__.fileno())  # type: ignore[union-attr]  # None is caught below
    except (AttributeError, ValueError, OSError):
        size = os.terminal_size((80, 24))
    return os.terminal_size((columns or size.columns or 80, lines or size.lines or 24))


def _stated(name: str) -> int:
    try:
        return max(0, int(os.environ[name]))
    except (KeyError, ValueError):
        return 0


def is_on_path(program: str) -> bool:
    """Whether a shell would find a program by its name."""
    path = os.environ.get("PATH")
    if os.name == "nt" or path is None:
        import shutil

        return shutil.which(program) is not None
    places = (os.path.join(folder, program) for folder in path.split(os.pathsep)) if path else ()
    return any(os.access(place, os.F_OK | os.X_OK) and not os.path.isdir(place) for place in places)
