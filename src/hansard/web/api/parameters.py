"""The parameters of endpoints: each declares its type once, for the check and for the OpenAPI description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, ClassVar

from hansard.web.params import LONGEST, Params

Schema = dict[str, Any]
_NO_NUL = r"^[^\u0000]*$"


@dataclass(frozen=True, slots=True)
class Parameter(ABC):
    """A named value behind the question mark."""

    name: str
    help: str
    required: ClassVar[bool] = False

    @abstractmethod
    def read(self, asked: Params, zone: tzinfo | None) -> Any:
        """The value that a request gives it, checked; days are those of the zone."""

    @abstractmethod
    def schema(self) -> Schema:
        """What may be given, as JSON Schema says it."""


@dataclass(frozen=True, slots=True)
class Text(Parameter):
    """Any text."""

    longest: int = LONGEST

    def read(self, asked: Params, zone: tzinfo | None) -> str | None:  # noqa: ARG002 - the same for all
        """The text, None where it is not given."""
        return asked.text(self.name, self.longest)

    def schema(self) -> Schema:
        """Text without NUL."""
        return {"type": "string", "maxLength": self.longest, "pattern": _NO_NUL}


@dataclass(frozen=True, slots=True)
class RequiredText(Text):
    """A text without which there is no answer."""

    required: ClassVar[bool] = True

    def read(self, asked: Params, zone: tzinfo | None) -> str:  # noqa: ARG002 - the same for all
        """The text."""
        return asked.needed(self.name, self.longest)

    def schema(self) -> Schema:
        """Text that says something."""
        return {"type": "string", "minLength": 1, "maxLength": self.longest, "pattern": r"^[^\u0000]*\S[^\u0000]*$"}


@dataclass(frozen=True, slots=True)
class ChoiceList(Parameter):
    """Several words with commas between them."""

    choices: Collection[str]
    default: tuple[str, ...] = ()

    def read(self, asked: Params, zone: tzinfo | None) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        """The words, or those that are meant where none is given."""
        return asked.words(self.name, self.choices) or self.default

    def schema(self) -> Schema:
        """A list, written with commas."""
        told: Schema = {"type": "array", "items": {"type": "string", "enum": list(self.choices)}, "uniqueItems": True}
        return told | {"default": list(self.default)} if self.default else told


@dataclass(frozen=True, slots=True)
class RepeatedText(Parameter):
    """A text that can be given several times."""

    most: int = 20

    def read(self, asked: Params, zone: tzinfo | None) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        """All of them, in order, also empty ones."""
        return tuple(asked.each(self.name, self.most))

    def schema(self) -> Schema:
        """A list, written as several parameters of the same name."""
        item = {"type": "string", "maxLength": LONGEST, "pattern": _NO_NUL}
        return {"type": "array", "items": item, "maxItems": self.most}


@dataclass(frozen=True, slots=True)
class Choice(Parameter):
    """One of several words."""

    choices: Collection[str]
    default: str | None = None

    def read(self, asked: Params, zone: tzinfo | None) -> str | None:  # noqa: ARG002 - the same for all
        """The word."""
        return asked.choice(self.name, self.choices, "") or self.default

    def schema(self) -> Schema:
        """The words."""
        told: Schema = {"type": "string", "enum": list(self.choices)}
        return told | {"default": self.default} if self.default is not None else told


@dataclass(frozen=True, slots=True)
class Number(Parameter):
    """A whole number between two others."""

    low: int
    high: int
    default: int | None = None

    def read(self, asked: Params, zone: tzinfo | None) -> int | None:  # noqa: ARG002 - the same for all
        """The number."""
        if self.default is None:
            return asked.number(self.name, None, self.low, self.high)
        return asked.number(self.name, self.default, self.low, self.high)

    def schema(self) -> Schema:
        """Its limits."""
        told: Schema = {"type": "integer", "minimum": self.low, "maximum": self.high}
        return told | {"default": self.default} if self.default is not None else told


@dataclass(frozen=True, slots=True)
class Flag(Parameter):
    """Yes or no."""

    def read(self, asked: Params, zone: tzinfo | None) -> bool:  # noqa: ARG002 - the same for all
        """No where it is not given."""
        return asked.flag(self.name)

    def schema(self) -> Schema:
        """Written true or false; 1 and 0 are understood too."""
        return {"type": "boolean", "default": False}


@dataclass(frozen=True, slots=True)
class Moment(Parameter):
    """A time as people and programs write it."""

    is_end: bool = False

    def read(self, asked: Params, zone: tzinfo | None) -> Any:
        """The moment; of a day its beginning or its end."""
        return asked.moment(self.name, zone, end=self.is_end)

    def schema(self) -> Schema:
        """ChoiceList that no pattern tells all of."""
        return {"type": "string", "maxLength": LONGEST, "examples": ["2026-01-31", "2026-01-31T12:00:00Z", "7d"]}


@dataclass(frozen=True, slots=True)
class Timezone(Parameter):
    """The zone whose days are meant; the times that are given beside it are read in it too."""

    def read(self, asked: Params, zone: tzinfo | None) -> str | None:  # noqa: ARG002 - the same for all
        """Its name, None for the one of the settings."""
        from hansard.ledger.calendar import find_zone

        name = asked.text(self.name)
        if name is not None:
            find_zone(name)
        return name

    def schema(self) -> Schema:
        """An IANA name."""
        return {"type": "string", "maxLength": LONGEST, "examples": ["Europe/Berlin", "UTC"]}


SESSION = Text("session", "The beginning of an id, words of a title, @last, or @2 for the one before it.")
QUERY = Text("q", "Words and fields in the query language of `hansard search`.")
PROJECT = Text("project", "Only this project: a path or part of one.")
MODEL = Text("model", "Only models whose name contains this.")
SINCE = Moment("since", "At or after: a date, a time, 7d, 24h, monday, last month, 3 days ago.")
UNTIL = Moment("until", "Before the end of that day, or before that time.", is_end=True)
TIMEZONE = Timezone("timezone", "Time zone of days, e.g. Europe/Berlin; default: the configured one.")
CURSOR = Text("cursor", "Where the last page ended: `next_cursor` of that answer.")


def sort_order(sorts: tuple[str, ...], default: str | None) -> tuple[Choice, Choice]:
    """What a list is ordered by, and which way round."""
    return (
        Choice(
            "sort",
            "What to sort by." if default else "What to sort by; default: times in order, everything else by cost.",
            sorts,
            default,
        ),
        Choice("order", "Ascending or descending; the default depends on `sort`.", ("asc", "desc")),
    )
