"""Which colour is what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hansard.render.html.escaping import escaped


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A series: its name, what it comes to, and where it leads."""

    name: str
    amount: str = ""
    href: str | None = None
    title: str = ""
    series: int | None = None  # which colour; None: by its place


def legend(entries: Sequence[LegendEntry]) -> Markup:
    """The series in the order of their colours; nothing where there is only one."""
    if len(entries) < 2:
        return Markup()
    items = "".join(_item(number, entry) for number, entry in enumerate(entries))
    return Markup(f'<ul class="legend">{items}</ul>')  # noqa: S704 - every text in it went through escaped()


def _item(number: int, entry: LegendEntry) -> str:
    name = escaped(entry.name)
    told = f' title="{escaped(entry.title)}"' if entry.title else ""
    shown = f'<a href="{escaped(entry.href)}"{told}>{name}</a>' if entry.href else f"<span{told}>{name}</span>"
    amount = f" <b>{escaped(entry.amount)}</b>" if entry.amount else ""
    return f'<li class="s{(number if entry.series is None else entry.series) % 8 + 1}"><i></i>{shown}{amount}</li>'
