"""What Hansard asks a client: where its histories are, and what their files and records mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hansard.sources.layout import Layout
    from hansard.sources.roots import Root


class PathInfo(NamedTuple):
    """What the path of a file says; empty where it says nothing."""

    session_id: str = ""
    agent_id: str = ""
    project_dir: str = ""
    stem: str = ""  # the name of a transcript whose lines name its session; it names the session where they do not


class Client(Protocol):
    """One client."""

    name: str
    """What the client is called in tables, queries and settings: lower case, words joined by hyphens."""
    layout: Layout
    """Which files of a root are kept."""

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """The directories of a user who named none, as far as they exist."""

    def open_root(self, path: str) -> Root | None:
        """A directory as a root, None where another client may have written it."""

    def path_info(self, path: str) -> PathInfo:
        """What a path relative to the root says about the file."""

    def mentioned_results(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The files with tool results that a part of a transcript points to: the session's folder, and the file's name."""
