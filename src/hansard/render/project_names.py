"""What projects are called, the same on every face. A front end shows one store, and says here how that tells projects apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_names: Mapping[str, str] = {}


def use_project_names(names: Mapping[str, str]) -> None:
    """Call projects so from now on; one that is not among them is called by the last part of its path."""
    global _names  # noqa: PLW0603 - a front end has one store
    _names = names


def project_name(path: str) -> str:
    """What a project is called: its shortest unique suffix among the projects of the store."""
    from hansard.render.text import one_line

    name = _names.get(path) or path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return one_line(name) or one_line(path) or "-"
