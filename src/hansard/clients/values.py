"""Values of decoded JSON by name and type: a value of another type counts as missing, so that no shape breaks a decoder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.entries import Hunk

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from hansard.clients.entries import Change

decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST = 253_402_300_800_000  # the year 10000
_IN_SECONDS = 100_000_000_000  # a smaller time is in seconds: as milliseconds it would be before 1973-03-03


def string(of: Any, *names: str) -> str:
    """The first text that is not empty under one of the names."""
    if isinstance(of, dict):
        for name in names:
            value = of.get(name)
            if isinstance(value, str) and value:
                return value
    return ""


def table(of: Any, name: str) -> dict[str, Any]:
    """An object."""
    value = of.get(name) if isinstance(of, dict) else None
    return value if isinstance(value, dict) else {}


def tables(of: Any, name: str) -> list[dict[str, Any]]:
    """The objects of a list."""
    value = of.get(name) if isinstance(of, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def whole(of: Any, name: str) -> int:
    """A whole number, 0 if there is none."""
    value = of.get(name) if isinstance(of, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def unknown_kinds(parts: Iterable[Any], known: Container[str], name: str = "type") -> list[tuple[str, str]]:
    """The kinds of parts that are not known, each once, for `Record.unknown`."""
    kinds = dict.fromkeys(string(part, name) for part in parts)
    return [(f"part/{kind}", "") for kind in kinds if kind and kind not in known]


def milliseconds(value: Any) -> int | None:
    """Parse an ISO 8601 text, or a number of seconds or milliseconds, into epoch milliseconds."""
    try:
        if isinstance(value, str) and value:
            moment = datetime.fromisoformat(value)
            return ((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < abs(value) < _LAST:
            return round(value * 1000) if abs(value) < _IN_SECONDS else round(value)
    except (ValueError, OverflowError):
        pass
    return None


def path_of_uri(address: str) -> str:
    """The path of a `file:` address, of another machine too (`vscode-remote:`); empty for any other."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(address)
    if parts.scheme not in ("file", "vscode-remote"):
        return ""
    path = unquote(parts.path)
    return path[1:] if path[2:3] == ":" else path


def as_object(value: Any) -> Any:
    """The arguments of a call that may be JSON in a text."""
    if isinstance(value, str):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return value
    return value


def bare_diff(diff: str) -> str:
    """A unified diff of one file without what comes before its first hunk."""
    return diff[start:] if (start := diff.find("@@ -")) > 0 and diff[start - 1] == "\n" else diff


def hunks(diff: str) -> list[Change]:
    """The hunks of a unified diff."""
    found: list[Change] = []
    lines: list[str] | None = None
    for line in diff.split("\n"):
        if line.startswith("@@"):
            lines = []
            found.append(Hunk(lines))
        elif lines is not None:
            if line[:1] in ("+", "-", " "):
                lines.append(line)
            elif not line.startswith("\\"):
                lines = None
    return found
