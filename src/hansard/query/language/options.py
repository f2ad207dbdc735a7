"""Options and parameters as the same nodes that query text is parsed into, so that both mean the same."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from hansard.model.requests import Conditions, Dated, ExplainRequest, ReportQuery
    from hansard.query.language.nodes import Node


_FIELD = lazy_compile(r'(?<!\S)-?([A-Za-z]+):(?:"[^"]*"|\S)++')


def query_of(request: Dated, text: str | None = None) -> Node | None:
    """A request's conditions and query text as one node; None if there are none."""
    return make_query(text, request, now=request.now or datetime.now(UTC), zone=request.zone)


def split_fields(text: str | None) -> tuple[str, str]:
    """The fields in a text as a query, and its words, for lists whose words have a meaning of their own."""
    if not text or ":" not in text:
        return "", text or ""
    from hansard.query.language.fields import FIELDS

    fields = [found for found in _FIELD.finditer(text) if found[1].lower() in FIELDS]
    words = text
    for found in reversed(fields):
        words = words[: found.start()] + words[found.end() :]
    return " ".join(found[0] for found in fields), " ".join(words.split())


def report_query(request: ReportQuery | ExplainRequest) -> Node | None:
    """A report's conditions, query and `match` as one node; None if there are none."""
    now, zone = request.now or datetime.now(UTC), request.zone
    others = make_query(request.match, request, now=now, zone=zone)
    if not (request.query or "").strip():
        return others
    from hansard.query.language.nodes import And, Everything, several
    from hansard.query.language.periods import parse_report_query

    nodes = (parse_report_query(request.query or "", now=now, zone=zone), others)
    return several(And, [node for node in nodes if node is not None and not isinstance(node, Everything)])


def make_query(
    text: str | None, conditions: Conditions | None = None, *, now: datetime, zone: tzinfo | None = None
) -> Node | None:
    """Query text and additional conditions as one node; None if there are none.

    Without conditions, nothing of the language is imported.
    """
    given = {} if conditions is None else conditions.given()
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
