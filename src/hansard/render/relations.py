"""How a session is linked with others, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.thread.structure import Neighbour

_RELATIONS = {
    "fork": ("Forked{} into", "Forked{} from"),
    "branch": ("Forked{} into", "Forked{} from"),
    "continued_in": ("Continued in", "Continued from"),
    "resumed": ("Resumed in", "Resumed from"),
    "clear": ("Cleared, continued in", "Started by /clear in"),
    "context": ("Context passed to", "Context taken from"),
    "summary": ("Stores the title of", "Title stored in"),
}


def relation(neighbour: Neighbour) -> str:
    """How a session is linked with another, in words."""
    leading, led = _RELATIONS.get(neighbour.relation, (neighbour.relation, neighbour.relation))
    place = f" at turn {neighbour.turn}" if neighbour.turn else ""
    return (leading if neighbour.leads else led).format(place)
