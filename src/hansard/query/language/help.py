"""The help page of the query language, generated from its classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import NamedTuple

from hansard.query.language.dates import EXAMPLES
from hansard.query.language.fields import FIELDS, Field, help_of
from hansard.query.language.nodes import OPERATORS

_WIDTH = 79
_INDENT = 18
_ALL = "Words side by side must all match. Case and accents are ignored."
_TEXT = ("vis-timeline", "foo.bar()", "C++", "path/to/file.py:42", "--flag", "std::vector", "AND", "NOT")
_DATES = f"Dates: {EXAMPLES}. Days are in your time zone."


class HelpEntry(NamedTuple):
    """An element of the language, what it finds, and how it is written."""

    name: str
    help: str
    examples: tuple[str, ...]
    values: tuple[tuple[str, str], ...] = ()  # a field's allowed values, if they are a short list


class Syntax(NamedTuple):
    """The whole page, for callers to render."""

    about: str
    operators: tuple[HelpEntry, ...]
    fields: tuple[HelpEntry, ...]
    dates: str
    text: str


def syntax() -> Syntax:
    operators = tuple(HelpEntry(operator.name, help_of(operator), operator.examples) for operator in OPERATORS)
    fields = tuple(
        HelpEntry(f"{name}:", help_of(field), field.examples, tuple(getattr(field, "values", {}).items()))
        for name, field in FIELDS.items()
    )
    return Syntax(_ALL, operators, fields, _DATES, _text(_TEXT))


def syntax_help() -> str:
    """The page for the terminal, 80 columns wide."""
    return "\n".join(_terminal()) + "\n"


def syntax_markdown() -> str:
    """The page for the documentation."""
    return "\n".join(_markdown()) + "\n"


def _terminal() -> Iterator[str]:
    yield fill(_ALL, _WIDTH)
    yield "\nWords and operators"
    for operator in OPERATORS:
        yield from _entry(operator.name, help_of(operator))
        yield from _listed(operator.examples)
    yield "\nFields"
    for name, field in FIELDS.items():
        yield from _entry(f"{name}:", help_of(field))
        yield from (_line(f"{value}  {meaning}") for value, meaning in _values(field))
        yield from _listed(field.examples)
    yield ""
    yield fill(_DATES, _WIDTH)
    yield fill(_text(_TEXT), _WIDTH, break_on_hyphens=False)


def _entry(name: str, help_: str) -> Iterator[str]:
    wrapped = fill(help_, _WIDTH, initial_indent=" " * _INDENT, subsequent_indent=" " * _INDENT)
    yield f"  {name}".ljust(_INDENT) + wrapped.lstrip()


def _listed(examples: tuple[str, ...]) -> Iterator[str]:
    line = ""
    for example in examples:
        if line and len(line) + len(example) + 3 > _WIDTH:
            yield line
            line = ""
        line = f"{line}   {example}" if line else _line(example)
    yield line


def _line(text: str) -> str:
    return " " * _INDENT + text


def _values(field: type[Field]) -> list[tuple[str, str]]:
    known: dict[str, str] = getattr(field, "values", {})
    width = max(map(len, known), default=0)
    return [(value.ljust(width), meaning) for value, meaning in known.items()]


def _markdown() -> Iterator[str]:
    yield f"{_ALL}\n"
    yield "## Words and operators\n"
    yield "| write | finds | for example |\n|---|---|---|"
    for operator in OPERATORS:
        yield f"| {_code(operator.name)} | {help_of(operator)} | {_codes(operator.examples)} |"
    yield "\n## Fields\n"
    yield "| field | finds | for example |\n|---|---|---|"
    for name, field in FIELDS.items():
        yield f"| `{name}:` | {help_of(field)} | {_codes(field.examples)} |"
    for name, field in FIELDS.items():
        if values := _values(field):
            yield f"\n| `{name}:` | means |\n|---|---|"
            yield from (f"| `{value.strip()}` | {meaning} |" for value, meaning in values)
    yield f"\n{_DATES}\n"
    yield _text(map(_code, _TEXT))


def _text(examples: Iterable[str]) -> str:
    return f"Everything else is text: {', '.join(examples)}. Quote a value that contains spaces."


def _codes(texts: tuple[str, ...]) -> str:
    return " ".join(map(_code, texts))


def _code(text: str) -> str:
    return f"`{text}`"
