"""Where Hansard's own files are; imports next to nothing, since the status line starts many times a minute."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from collections.abc import Mapping

HOME_VARIABLE = "HANSARD_HOME"
CONFIG_FILE = "config.toml"
_USUAL = {
    "linux": {"data": "~/.local/share", "config": "~/.config"},
    "darwin": {"data": "~/Library/Application Support", "config": "~/Library/Application Support"},
}


def data_directory(named: str | None, environ: Mapping[str, str]) -> str:
    """The data directory: the one that is named, else that of the environment, else the usual one."""
    return os.path.abspath(os.path.expanduser(named or environ.get(HOME_VARIABLE) or user_directory("data")))


def config_path() -> str:
    """Where the configuration file is looked for on this system."""
    return os.path.join(user_directory("config"), CONFIG_FILE)


def user_directory(purpose: str) -> str:
    """Hansard's `data` or `config` directory, as platformdirs defines it."""
    system: str = sys.platform  # a plain str, or the type checker sees only the branch of its own system
    named = os.environ.get(f"XDG_{purpose.upper()}_HOME", "")
    # By hand where that is easy: importing platformdirs would take a tenth of every command's time.
    if named.strip() and system == "linux":
        return os.path.join(named, "hansard")
    if not named.strip() and system in _USUAL:
        return os.path.join(os.path.expanduser(_USUAL[system][purpose]), "hansard")
    import platformdirs

    find = platformdirs.user_config_dir if purpose == "config" else platformdirs.user_data_dir
    return find("hansard", appauthor=False)
