"""Keys that scroll, the same in every list and text."""

from __future__ import annotations

from textual.binding import Binding, BindingType

PAGE_KEYS: list[BindingType] = [
    Binding("pagedown,ctrl+f,space", "page(1)", "Page down", show=False),
    Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False),
    Binding("ctrl+d", "page(0.5)", "Half a page down", show=False),
    Binding("ctrl+u", "page(-0.5)", "Half a page up", show=False),
]
