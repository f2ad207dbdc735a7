"""Numbers, sizes, times and names as people read them, as the drawings below this room write them."""

from hansard.render.words import (
    ago,
    ahead,
    clock,
    duration,
    full,
    incomplete,
    local,
    many,
    model_name,
    odd_lines,
    project_name,
    short,
    size,
    span,
    when,
)

__all__ = [
    "ago",
    "ahead",
    "clock",
    "duration",
    "full",
    "incomplete",
    "local",
    "many",
    "model_name",
    "odd_lines",
    "project_name",
    "short",
    "size",
    "span",
    "when",
]
