"""Claude Code as a client: the functions of this folder behind one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.clients import CLAUDE_CODE
from hansard.clients.claude_code.layout import LAYOUT
from hansard.clients.protocol import PathInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hansard.sources.roots import Root


class ClaudeCode:
    """Claude Code; modules are imported when they are needed, since every command begins here."""

    name = CLAUDE_CODE
    layout = LAYOUT

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """CLAUDE_CONFIG_DIR, else the usual places that exist."""
        from hansard.clients.claude_code.roots import default_root_paths

        return default_root_paths(environ, home)

    def open_root(self, path: str) -> Root:
        """A config directory or a projects directory as a root, or a UsageError that says why it is neither."""
        from hansard.clients.claude_code.roots import open_root

        return open_root(path)

    def path_info(self, path: str) -> PathInfo:
        """What a path relative to the config directory says."""
        from hansard.clients.claude_code.names import path_info

        return path_info(path)

    def mentioned_results(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The files in tool-results/ that a part of a transcript points to."""
        from hansard.clients.claude_code.names import TOOL_RESULT

        return TOOL_RESULT.findall(data)
