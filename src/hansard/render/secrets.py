"""Secrets as tables: the list, and the places of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from hansard.model.secrets import OPEN
from hansard.model.table import Column, Kind, Link, Table
from hansard.render.format import many, size
from hansard.render.terminal.tables import draw_table

if TYPE_CHECKING:
    from hansard.model.secrets import OtherPlace, Secret, SecretPage, SecretPlace
    from hansard.render.format import ProjectNames
    from hansard.render.text import Paint

_T = TypeVar("_T")
ID_LENGTH = 8
"""Digits of an id that are shown."""
_KINDS = 6  # that a summary names
SECRETS = (
    Column("LAST", Kind.TIME),
    Column("SECRET"),
    Column("KIND", Kind.TEXT, least=16),
    Column("SURE", rank=4),
    Column("STATE", rank=1),
    Column("PLACES", Kind.ROUNDED),
    Column("SESSIONS", Kind.ROUNDED, rank=3),
    Column("SESSION", Kind.ID, rank=2),
    Column("FIRST SEEN IN", least=14, rank=5),
)
_PLACES = (
    Column("WHEN", Kind.TIME),
    Column("SESSION", Kind.ID),
    Column("IN", least=8),
    Column("TOOL", Kind.TOOL, rank=2),
    Column("FILE", Kind.PATH, least=16, rank=1),
    Column("TIMES", Kind.COUNT, rank=3),
    Column("TRANSCRIPT", Kind.PATH, least=20, rank=4),
    Column("OFFSET", Kind.COUNT, rank=5),
)


def secret_table(secrets: Iterable[Secret], href: Callable[[Secret], str | None] | None = None) -> Table:
    """Secrets, each with the page that `href` gives it."""
    return Table(
        SECRETS,
        [
            (
                one.last_at,
                _linked(one.secret_id[:ID_LENGTH], one, href),
                one.title,
                one.confidence,
                one.state,
                one.places,
                one.sessions,
                one.example.session_id if one.example else "",
                where(one.example) if one.example else "",
            )
            for one in secrets
        ],
        styles={number: "dim" for number, one in enumerate(secrets) if one.state != OPEN},
    )


def _linked(text: str, one: _T, href: Callable[[_T], str | None] | None) -> Any:
    return text if href is None else Link(text, href(one))


def place_table(places: Iterable[SecretPlace], href: Callable[[SecretPlace], str | None] | None = None) -> Table:
    """The places of a secret, each with the page that `href` gives it."""
    return Table(
        _PLACES,
        [
            (
                one.at,
                one.session_id,
                _linked(kind_words(one), one, href),
                one.tool,
                one.file,
                one.times,
                one.transcript,
                one.offset,
            )
            for one in places
        ],
    )


def elsewhere_words(place: OtherPlace) -> str:
    """A place outside of the record, in a few words."""
    if place.kind != "commit":
        return f"{place.path} ({'export' if place.kind == 'export' else 'working tree'})"
    if not place.commit:
        return f"{place.path}: unreachable object {place.file[:12]}"
    return f"{place.path}: commit {place.commit[:12]}, {place.file or 'its message'}"


def where(place: SecretPlace) -> str:
    """What holds a secret, in a few words: result of Bash, .env read by Read."""
    kind = kind_words(place)
    if place.file:
        return f"{place.file} ({kind} of {place.tool})"
    return f"{kind} of {place.tool}" if place.tool else kind


def kind_words(place: SecretPlace) -> str:
    """What holds a secret: result, prompt in a subagent, paste, encoded."""
    words = place.kind.replace("_", " ")
    if place.agent_id:
        words = f"{words}, subagent"
    if place.is_encoded:
        words = f"{words}, encoded"
    return f"{words}, rewritten" if place.is_former else words


def unsearched_words(count: int) -> str:
    """Warn that redaction may miss secrets in a store with this many unscanned bytes."""
    return (
        f"{size(count)} of the history were never searched for secrets: parts of one that is split over texts, and passwords"
        " without the words that name them, may be shown although redaction is on. Run `hansard secrets scan`"
    )


def summary_lines(page: SecretPage, columns: int, paint: Paint, names: ProjectNames) -> Iterator[str]:
    """The open secrets of a store at a glance."""
    if not page.total:
        yield "No open secret was found."
    else:
        kinds = ", ".join(f"{title} {count:,}" for title, count in page.by_kind[:_KINDS])
        yield f"{many(page.total, 'open secret')}: {kinds}{', ...' if len(page.by_kind) > _KINDS else ''}"
        yield from draw_table(secret_table(page.secrets), columns, paint, names)
        yield "`hansard secrets show SECRET` lists the places of one, and how to replace it."
    if page.unscanned_bytes:
        yield f"{size(page.unscanned_bytes)} were not searched yet: run `hansard secrets scan`."
