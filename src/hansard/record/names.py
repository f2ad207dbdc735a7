"""Paths as SQLite can hold them."""

from __future__ import annotations


def bind_name(name: str) -> str | bytes:
    """A path as SQLite can hold it without loss: TEXT, or a BLOB when it has surrogates, which UTF-8 text has not."""
    if name.isascii():
        return name
    try:
        name.encode()
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")
    return name


def read_name(value: str | bytes) -> str:
    """The path that `bind_name` was given."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")
