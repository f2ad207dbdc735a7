"""Shell syntax as values: words, redirections, commands, pipelines."""

from __future__ import annotations

from msgspec import Struct


class Word(Struct, frozen=True):
    """A word without its quotes; expansions are as they were written."""

    text: str
    is_quoted: bool = False
    inner: tuple[Pipeline, ...] = ()  # what its substitutions run


class Redirect(Struct, frozen=True):
    """A redirection of input or output; `text` is the body of a here-document."""

    sign: str
    target: str
    text: str = ""
    inner: tuple[Pipeline, ...] = ()


class Simple(Struct, frozen=True):
    """A command with its words."""

    words: tuple[Word, ...]
    env: tuple[tuple[str, Word], ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Group(Struct, frozen=True):
    """A compound command: a loop, a condition, a subshell."""

    pipelines: tuple[Pipeline, ...]
    redirects: tuple[Redirect, ...]
    is_subshell: bool = False


class Pipeline(Struct, frozen=True):
    """Commands whose output goes into the next one's input."""

    stages: tuple[Simple | Group, ...]


class Script(Struct, frozen=True):
    """The pipelines of a text in their order."""

    pipelines: tuple[Pipeline, ...]
    is_complete: bool
