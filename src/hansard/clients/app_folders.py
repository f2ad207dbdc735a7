"""Where editors that are built from VS Code keep what their extensions and windows store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_APPS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Positron", "Trae")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".cursor-server", ".windsurf-server")


def user_folders(environ: Mapping[str, str], home: str) -> Iterator[str]:
    """The `User` folders of all editors on Linux, macOS and Windows, and of their servers, as far as they exist."""
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    places = [config, os.path.join(home, "Library", "Application Support"), environ.get("APPDATA", "")]
    candidates = [os.path.join(place, app, "User") for place in places if place for app in _APPS]
    candidates += [os.path.join(home, server, "data", "User") for server in _SERVERS]
    candidates.append(os.path.join(home, ".local", "share", "code-server", "User"))
    yield from (path for path in candidates if os.path.isdir(path))
