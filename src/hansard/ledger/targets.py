"""What a person wants explained: a message, a line, a time, a session, or a row of a report."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.ledger.dimensions import TIMES

if TYPE_CHECKING:
    from hansard.ledger.dimensions import Dimension
    from hansard.ledger.report import Ledger, RowKey
    from hansard.pricing.cost import Sums

_PATTERNS = {
    "hour": r"\d{4}-\d\d-\d\dT\d\d:\d\d(Z|[+-]\d\d:\d\d)",
    "day": r"\d{4}-\d\d-\d\d",
    "week": r"\d{4}-W\d\d",
    "month": r"\d{4}-\d\d",
    "block": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
}
_FORMS = "2026-11-01, 2026-11, 2026-W45, 2026-11-01T14:00Z"
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Target:
    """A row of a report by dimensions, or one message; `reported` is what the report adds up for the row."""

    dimensions: tuple[Dimension, ...] = ()
    key: RowKey = ()
    message: str | None = None
    reported: Sums | None = None

    @property
    def named(self) -> dict[str, str | None]:
        """The key with the names of its parts."""
        if self.message is not None:
            return {"message": self.message}
        return {item.name: value for item, value in zip(self.dimensions, self.key, strict=True)}


def find_target(
    ledger: Ledger, target: str | None, by: tuple[str, ...] | None, key: Sequence[str | None] = ()
) -> Target:
    """What is meant; with `by` the values of a row's key, in order, else whatever the text names."""
    values = tuple(key) if target is None else (target, *key)
    if by is not None:
        return _row(ledger, by, values)
    if not values:
        return _row(ledger, ("total",), ())
    if len(values) > 1 or values[0] is None:
        raise UsageError("explain takes one target; use --by to say what several values are, e.g. --by day,model")
    name = values[0]
    message = _message(ledger, name)
    if message is not None:
        return Target(message=message)
    when = _time(ledger, name)
    if when is not None:
        return _row(ledger, when[:1], when[1:])
    return _row(ledger, ("session",), (_session(ledger, name),))


def _message(ledger: Ledger, name: str) -> str | None:
    """The key of the message that has this key, or a line with this uuid."""
    ask = ledger.reader.one
    if ask("SELECT 1 FROM usage WHERE key = ?", (name,)) is not None:
        return name
    key = name
    if ask("SELECT 1 FROM messages WHERE key = ?", (name,)) is None:
        lines = list(ledger.reader.rows("SELECT kind, message_id FROM records WHERE uuid = ? ORDER BY id", (name,)))
        if not lines:
            return None
        found = next((line[1] for line in lines if line[1] is not None), None)
        row = None if found is None else ask("SELECT key FROM messages WHERE id = ?", (found,))
        if row is None:
            raise NotFound(f"the line {name} is of kind {lines[0][0]!r}: only a model's answers use tokens")
        key = row[0]
    if ask("SELECT 1 FROM usage WHERE key = ?", (key,)) is None:
        raise NotFound(f"no line of the message {key} states what it used")
    return str(key)


def _time(ledger: Ledger, name: str) -> tuple[str, str] | None:
    """The dimension and the key of a time, as the rows of reports show it."""
    if name in ("today", "yesterday"):
        today = ledger.zone.local(ledger.now).date()
        return "day", (today - timedelta(days=name == "yesterday")).isoformat()
    for dimension, pattern in _PATTERNS.items():
        if re.fullmatch(pattern, name, re.ASCII):
            return dimension, name
    return None


def _session(ledger: Ledger, name: str) -> str:
    from hansard.query.sessions import find_session

    try:
        return find_session(ledger.reader, name).session_id
    except NotFound as error:
        if name.startswith("@"):
            raise
        raise NotFound(
            f"nothing matches {name!r}: give a session (the beginning of its id, words of its title, @last), a time as"
            f" reports show it ({_FORMS}), a message's id or a line's uuid; or say with --by which row is meant"
        ) from error


def _row(ledger: Ledger, by: tuple[str, ...], values: RowKey) -> Target:
    dimensions = ledger.dimensions(by)
    names = [item.name for item in dimensions]
    if len(values) != len(names):
        takes = f"{len(names)} values ({', '.join(names)})" if names else "no value"
        raise UsageError(
            f"a row by {','.join(names) or 'total'} takes {takes}, not {len(values)}; - is the one that is not known"
        )
    found = ledger.sums(dimensions)
    key = _match(names, values, found)
    return Target(dimensions, key, None, found[key])


def _match(names: Sequence[str], values: RowKey, found: Collection[RowKey]) -> RowKey:
    """The key of the row that is meant: with these values, or the only one whose values contain them."""
    if values in found:
        return values
    if not names:
        raise NotFound("nothing in the selection has used any tokens")
    near = [key for key in found if all(map(_fits, names, values, key))]
    if len(near) == 1:
        return near[0]
    if near:
        shown = "\n".join("  " + _said(key) for key in sorted(near, key=_said)[:_SHOWN])
        more = f"\n  and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
        raise Ambiguous(f"{len(near)} rows match {_said(values)}:\n{shown}{more}")
    raise NotFound(
        f"no row by {','.join(names)} is called {_said(values)} among what is selected:"
        f" `hansard usage --by {','.join(names)}` lists them"
    )


def _fits(name: str, wanted: str | None, value: str | None) -> bool:
    if wanted is None or value is None:
        return wanted == value
    return wanted == value or (name not in TIMES and bool(wanted) and wanted.casefold() in value.casefold())


def _said(key: RowKey) -> str:
    return " ".join("-" if value is None else value for value in key)
