"""What a client's files state about usage, whether or not it counts: the optional part of the protocol that `reconcile` compares by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from msgspec import Struct

from hansard.clients.generic import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hansard.clients.lines import Lines


class Statement(Struct, frozen=True, gc=False):
    """One place where a file states the tokens of an answer."""

    offset: int
    ts: int | None
    usage: Usage  # `message_id` as in the record's usage where it counts
    repeats: str = ""  # which of the reader's `repetitions` it is; empty where it counts
    reasoning: int = 0  # tokens of `usage.output` that the client states beside those of the output
    message: str = ""  # the model's message that it follows, if it follows one: for tools that attach usage to messages
    origin: str = ""  # the session or subagent from which it was copied, if it was
    is_gone: bool = False  # the client deleted it since


class PeerRule(Struct, frozen=True):
    """How another tool counts the usage of a client, as differences from what Hansard counts."""

    tool: str  # lines, ccusage, agentsview, tokscale
    title: str
    rule: str  # in a sentence
    adds: tuple[str, ...] = ()  # the repetitions that it counts too
    orphans: tuple[str, ...] = ()  # those that it counts where the session they are from is missing
    per_file: bool = False  # the same answer counts in every file that has it
    per_message: bool = False  # the first statement after each message of the model counts, and no other
    reasoning: Literal["output", "charged", "dropped"] = "output"  # what becomes of `Statement.reasoning`
    writes_are_input: bool = False  # tokens of cache writes count as input
    is_recorded: bool = True  # a cost recorded by the client takes precedence over the price
    is_dated: bool = True  # at the price at its time, not the newest
    is_rounded: bool = False  # each answer to a millionth of a dollar
    notes: tuple[str, ...] = ()


class StatementReader(Protocol):
    """Reads everything that a client's files state about usage."""

    repetitions: Mapping[str, str]
    """The kinds of statements that do not count, and why, each in the words of a report."""
    copied: str
    """Which of them a shared answer is in every transcript but the first that has it."""
    peers: Sequence[PeerRule]
    """How other tools count this client."""

    def read(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[Statement]:
        """The statements of one file, in order; what cannot be read is passed over."""


@runtime_checkable
class StatingClient(Protocol):
    """A client whose usage can be compared with the counts of other tools."""

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """As in `Client`."""

    def statement_reader(self) -> StatementReader:
        """What reads its statements."""
