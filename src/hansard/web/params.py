"""What a request asks for, checked: a wrong value is refused with its name, never guessed."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, overload

from hansard.errors import UsageError

if TYPE_CHECKING:
    from starlette.requests import Request

LONGEST = 2_000  # characters of a value
LAST_OFFSET = 1 << 40  # in a transcript
_MOST = 200  # values in one request
_DIGITS = 18


class Params:
    """The parameters of a request; each is asked for once, and what nobody asked for is refused by `done`."""

    def __init__(self, request: Request) -> None:
        self._values: dict[str, list[str]] = {}
        pairs = request.query_params.multi_items()
        if len(pairs) > _MOST:
            raise UsageError(f"too many parameters: {len(pairs):,} (the limit is {_MOST})")
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)
        self._known: set[str] = set()

    def text(self, name: str, longest: int = LONGEST) -> str | None:
        """A text; None where it is not given or empty."""
        found = self.all(name, longest)
        if len(found) > 1:
            raise UsageError(f"parameter {_quoted(name)} is given more than once")
        return found[0] if found else None

    def needed(self, name: str, longest: int = LONGEST) -> str:
        """A text that must be given."""
        value = self.text(name, longest)
        if value is None:
            raise UsageError(f"missing parameter {_quoted(name)}")
        return value

    def all(self, name: str, longest: int = LONGEST) -> list[str]:
        """Every value of a name, without empty ones."""
        return [value for value in map(str.strip, self.each(name, longest=longest)) if value]

    def each(self, name: str, most: int = _MOST, longest: int = LONGEST) -> list[str]:
        """Every value of a name as it was written, also empty ones."""
        self._known.add(name)
        found = self._values.get(name, [])
        if len(found) > most:
            raise UsageError(f"parameter {_quoted(name)} is given {len(found)} times (the limit is {most})")
        return [checked(name, value, longest) for value in found]

    def words(self, name: str, choices: Collection[str] = ()) -> tuple[str, ...]:
        """Words with commas between them."""
        found = tuple(word for value in self.all(name) for word in map(str.strip, value.split(",")) if word)
        if choices:
            for word in found:
                _among(name, word, choices)
        return found

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """One of several words."""
        value = self.text(name)
        if value is not None:
            _among(name, value, choices)
        return value or default

    @overload
    def number(self, name: str, default: int, low: int, high: int) -> int: ...
    @overload
    def number(self, name: str, default: None, low: int, high: int) -> int | None: ...
    def number(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """A whole number between two others."""
        value = self.text(name)
        return default if value is None else whole(name, value, low, high)

    def flag(self, name: str) -> bool:
        """Yes where it is 1 or true, no where it is 0, false or not there."""
        return self.choice(name, ("0", "1", "false", "true"), "0") in ("1", "true")

    def moment(self, name: str, zone: tzinfo | None = None, *, end: bool = False) -> datetime | None:
        """A time as people and programs write it: 2026-01-31, 2026-01-31T12:00Z, 7d, today; `end`: a day's end."""
        value = self.text(name)
        if value is None:
            return None
        from hansard.query.language.dates import parse_span

        span = parse_span(value, datetime.now(UTC), zone)
        return span.end if end else span.start

    def done(self) -> None:
        """Refuse what no one asked for: a misspelt name must not give another answer."""
        for name in self._values:
            if name not in self._known:
                raise UsageError(
                    f"unknown parameter {_quoted(name)}; valid parameters: {', '.join(sorted(self._known)) or 'none'}"
                )


def checked(name: str, value: str, longest: int = LONGEST) -> str:
    """A text that is not too long and has no NUL."""
    if "\x00" in value or len(value) > longest:
        raise UsageError(f"invalid {_quoted(name)}: at most {longest:,} characters, without NUL")
    return value


def whole(name: str, value: str, low: int, high: int) -> int:
    """A whole number in plain digits."""
    sign, digits = (-1, value[1:]) if value.startswith("-") else (1, value)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS and low <= sign * int(digits) <= high):
        raise UsageError(f"invalid {_quoted(name)}: expected a number from {low} to {high}, not {_quoted(value)}")
    return sign * int(digits)


def _among(name: str, value: str, choices: Collection[str]) -> None:
    if value not in choices:
        raise UsageError(f"invalid {_quoted(name)}: choose one of {', '.join(choices)}, not {_quoted(value)}")


def _quoted(text: str) -> str:
    return repr(text[:60])
