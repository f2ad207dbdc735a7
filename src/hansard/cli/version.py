"""What `hansard --version` says: version, revision of the source, and whether the native module is used."""

from __future__ import annotations

import os

from hansard import __version__

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REVISION = os.path.join(_PACKAGE, "revision.txt")
"""Written when a wheel or sdist is built; a checkout is asked itself."""


def version_line() -> str:
    """The version, for people and bug reports."""
    from hansard.index.tokens import is_native

    module = "native module" if is_native() else "no native module"
    return f"hansard {__version__} ({find_revision() or 'unknown revision'}, {module})"


def find_revision() -> str:
    """The abbreviated commit that this was built from or is checked out at; empty if unknown."""
    try:
        with open(REVISION, encoding="ascii") as file:
            return file.read(100).strip()
    except OSError:
        pass
    checkout = os.path.dirname(os.path.dirname(_PACKAGE))
    if not os.path.exists(os.path.join(checkout, ".git")):
        return ""
    import subprocess

    command = ["git", "-C", checkout, "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603 - fixed words
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
