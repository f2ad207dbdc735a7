"""JSON Schema of the model's values as `serialize.plain` writes them, generated from the classes by msgspec."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hansard.model.audit import AuditReport
from hansard.model.display import Display
from hansard.model.search import UNWRITTEN

Schema = dict[str, Any]


def schema_components(
    types: Iterable[Any], place: str = "#/$defs/", *, strict: bool = False
) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    """The schema of each type, and the definitions they refer to, located at `place` in the document.

    `strict` forbids additional fields.
    """
    schemas, definitions = msgspec.json.schema_components(types, ref_template=f"{place}{{name}}")
    for schema in definitions.values():
        # Every field is written, with or without a default. Optional ones default to UNSET, which msgspec omits.
        fields = schema["properties"]
        needed = set(schema["required"])
        schema["required"] = [name for name, field in fields.items() if name in needed or "default" in field]
        for field in fields.values():
            field.pop("default", None)
        if strict:
            schema["additionalProperties"] = False
    _follow_as_plain(definitions)
    return schemas, dict(sorted(definitions.items()))


def _follow_as_plain(definitions: dict[str, Schema]) -> None:
    """Adjust the schemas of classes that define their JSON form in `as_plain`."""
    if facts := definitions.get("CallFacts"):
        definitions["CallFacts"] = {"description": facts["description"], "type": "array", "items": {"type": "string"}}
    if pricing := definitions.get("Pricing"):
        fields = definitions["PriceData"]["properties"] | pricing["properties"]
        del fields["data"]
        pricing |= {"properties": fields, "required": list(fields)}
    if hit := definitions.get("Hit"):
        for name in UNWRITTEN:
            del hit["properties"][name]
            hit["required"].remove(name)
    if row := definitions.get("UsageRow"):
        for name in ("key", "about"):
            del row["properties"][name]
        row["required"] = [name for name in row["properties"] if name not in ("work", "breakdown")]
        row["additionalProperties"] = {"type": ["string", "null"]}  # the key, and what is known about it


def display_schema(*, strict: bool = False) -> Schema:
    """The schema of `Display`; `strict` forbids additional fields, which later versions may add."""
    (top,), definitions = schema_components([Display], strict=strict)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A session as Hansard shows it",
        "description": "What `hansard export --format json` writes. Fields may be added; none is removed or changes its meaning.",
        **top,
        "$defs": definitions,
    }


def audit_schema() -> Schema:
    """The schema of an audit report."""
    (top,), definitions = schema_components([AuditReport])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": definitions}
