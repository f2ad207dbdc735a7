"""The JSON Schema of a session's document, made from the values that it is made of."""

from __future__ import annotations

from typing import Any

from hansard.model.display import Display
from hansard.model.schema import Schemas


def display_schema(*, strict: bool = False) -> dict[str, Any]:
    """The schema of `Display`; `strict` allows no field that is not in it, where others may come with later versions."""
    schemas = Schemas(strict=strict)
    top = schemas.of(Display)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A session as Hansard shows it",
        "description": "What `hansard export --format json` writes. Fields may be added; none is removed or changes its meaning.",
        **top,
        "$defs": dict(sorted(schemas.definitions.items())),
    }
