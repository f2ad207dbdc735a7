"""The keys of a screen, by what they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hansard.render.terminal.spans import BOLD, painted
from hansard.render.text import fit, pad
from hansard.tui.frame import key_name

if TYPE_CHECKING:
    from textual.binding import ActiveBinding, Binding


def key_lines(bindings: Mapping[str, ActiveBinding], columns: int) -> list[str]:
    """Every key that does something now, with what it does."""
    found: dict[tuple[str, str], list[str]] = {}
    for active in bindings.values():
        binding = active.binding
        if binding.description and not binding.system and _is_ours(active):
            keys = found.setdefault((binding.description, binding.action), [])
            if (name := key_name(binding)) not in keys:
                keys.append(name)
    return [_line(keys, words, columns) for (words, _), keys in found.items()]


def _is_ours(active: ActiveBinding) -> bool:
    """Whether a binding is one of ours, and not one that every widget of Textual has."""
    kinds = [kind for kind in type(active.node).__mro__ if kind.__module__.startswith("hansard.")]
    named = (active.binding.action, active.binding.description)
    return any((one.action, one.description) == named for kind in kinds for one in bindings_of(kind))


def _line(keys: list[str], words: str, columns: int) -> str:
    return painted([("", " "), (BOLD, pad(fit("  ".join(keys), 24), 24)), ("", "  "), ("", fit(words, columns - 28))])


def bindings_of(kind: type[Any]) -> Iterable[Binding]:
    """The bindings that a screen or a widget declares itself."""
    from textual.binding import Binding

    return [one for one in kind.__dict__.get("BINDINGS", ()) if isinstance(one, Binding)]
