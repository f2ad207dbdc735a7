"""Options and parameters as the same nodes that a query's text is parsed into, so that they mean the same."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing import Unpack

    from hansard.query.language.nodes import Node


class Conditions(TypedDict, total=False):
    """What must hold beside the text of a query; each means what the field of that name means."""

    project: str | None
    folder: str | None
    since: datetime | None  # at or after
    until: datetime | None  # before: the field `before:`
    branch: str | None
    model: str | None
    tool: str | None
    version: str | None
    client: str | None
    file: str | None
    tag: str | None
    has_errors: bool  # is:error
    pinned: bool  # is:pinned
    source_state: str | None  # is:live, is:gone
    filter: str | None  # a second query, read apart from the first: quotes and OR in one do not reach the other


def make_query(
    text: str | None, *, now: datetime, zone: tzinfo | None = None, **conditions: Unpack[Conditions]
) -> Node | None:
    """A query's text and the conditions beside it as one node; None where nothing is asked.

    Without conditions nothing of the language is imported.
    """
    for name in conditions:
        if name not in Conditions.__annotations__:
            raise TypeError(f"unknown condition {name!r}")
    given = {name: value for name, value in conditions.items() if value is not None and value is not False}
    if not given and not (text or "").strip():
        return None
    from hansard.model.time import to_milliseconds
    from hansard.query.language.fields import FIELDS, Before, FieldValue, Is, Since
    from hansard.query.language.nodes import And, Everything, Or, several

    nodes: list[Node] = []
    for query in (text, given.pop("filter", None)):
        if isinstance(query, str) and query.strip():
            from hansard.query.language.parser import parse

            parsed = parse(query, now=now, zone=zone)
            nodes += [] if isinstance(parsed, Everything) else [parsed]
    for name, value in given.items():
        if isinstance(value, datetime):
            nodes.append((Since if name == "since" else Before)(to_milliseconds(value)))
        elif name in ("has_errors", "pinned"):
            nodes.append(Is("error" if name == "has_errors" else "pinned"))
        else:
            field, typed = ("is", str(value)) if name == "source_state" else (name, str(value))
            query = f"{field}:{typed}"
            read = FIELDS[field].read(FieldValue(typed, False, query, 0, len(query), len(field) + 1, now, zone))  # noqa: FBT003 - as the parser makes it
            nodes.append(several(Or, tuple(read)))
    return several(And, nodes)
