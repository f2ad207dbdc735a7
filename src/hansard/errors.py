"""Every error Hansard raises on purpose, each with the exit code that the command line gives for it.

HansardError (3)
├── UsageError (2)        the call itself makes no sense: an unknown root, a malformed date, two options at odds
│   └── QueryError (2)    a query makes no sense; in `query.language`, with the column
├── NotFound (1)          nothing answers to that session, transcript or project
├── Ambiguous (2)         more than one does
├── StoreUnusable (4)     the data directory cannot be opened or written: permissions, a full disk, no directory
├── StoreCorrupt (5)      a database or a chunk in it is damaged
├── StoreNewer (6)        the store was written by a newer Hansard
├── StoreBusy (7)         another process is writing and did not finish in time
├── WouldOverwrite (8)    a restore would replace a file that differs
├── SourceUnreadable (9)  a source root cannot be read
└── Incomplete (10)       a sync did all but what is in quarantine

Bad data in a transcript is never an error: it is an `Issue`, kept and counted.
"""


class HansardError(Exception):
    """The root of the tree: something the user can understand and act on."""

    exit_code = 3
    advice = ""

    def __init__(self, message: str = "", advice: str = "") -> None:
        """`advice` at the end of the text names options and commands, which the web app leaves out."""
        super().__init__(message + advice)
        self.advice = advice

    @property
    def message(self) -> str:
        """The text without the advice."""
        return str(self).removesuffix(self.advice)


class UsageError(HansardError):
    """The call itself makes no sense."""

    exit_code = 2


class NotFound(HansardError):
    """Nothing answers to that name."""

    exit_code = 1


class Ambiguous(HansardError):
    """More than one thing answers to that name."""

    exit_code = 2


class StoreUnusable(HansardError):
    """The data directory cannot be opened or written."""

    exit_code = 4


class StoreCorrupt(HansardError):
    """A database, or a chunk in it, is damaged."""

    exit_code = 5


class StoreNewer(HansardError):
    """The store was written by a newer Hansard."""

    exit_code = 6


class StoreBusy(HansardError):
    """Another process is writing and did not finish in time."""

    exit_code = 7


class WouldOverwrite(HansardError):
    """A restore would replace a file that differs."""

    exit_code = 8


class SourceUnreadable(HansardError):
    """A source root cannot be read."""

    exit_code = 9


class Incomplete(HansardError):
    """Something could not be kept or indexed; everything else was."""

    exit_code = 10
