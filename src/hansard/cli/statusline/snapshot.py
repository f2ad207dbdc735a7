"""The figures that the line shows: a small file that a refresh replaces as a whole, and whether it is still right.

Nothing here adds up or formats money: `refresh` asks the engine, and writes amounts as they are to be read.
"""

from __future__ import annotations

import os
import time

from hansard.directories import config_path

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any

FILE = "statusline.json"
SHAPE = 2  # another number: the file was written by other rules
_MOST = 1 << 24
_OLD = 60_000  # milliseconds; a snapshot is not trusted for longer, should a change have escaped notice


class Snapshot:
    """What a refresh wrote; all times are in milliseconds."""

    def __init__(self, values: dict[str, Any]) -> None:
        if values["shape"] != SHAPE:
            raise ValueError("written by other rules")
        self.state: str = values["state"]  # of what it was made from
        self.checked: int = int(values["checked"])  # when that was last compared
        self.next_sync: int = int(values["next_sync"])
        self.form: str | None = values["form"]  # the line as the configuration file wants it
        self.trouble: str | None = values["trouble"]  # with that file
        self.is_failed: bool = values["is_failed"]  # the store could not be read: the figures are the last known
        self.figures: dict[str, Any] | None = values["figures"]
        self.values = values

    def is_stale(self, state: str, now: int) -> bool:
        """Whether something has changed since, or enough time has passed to look again."""
        return self.state != state or abs(now - self.checked) >= _OLD

    def age(self, state: str, now: int) -> int | None:
        """How old the figures are where they may no longer be what the store says; negative: by a clock that was ahead."""
        if self.figures is None:
            return None
        age = now - int(self.figures["at"])
        return age if self.is_failed or age <= -_OLD or (self.state != state and age >= _OLD) else None


def load(home: str) -> Snapshot | None:
    """The snapshot in a data directory; None where there is none that can be used."""
    try:
        with open(os.path.join(home, FILE), "rb") as file:
            return Snapshot(decode(file.read(_MOST)))
    except Exception:  # noqa: BLE001 - absent, damaged, not ours: the next refresh writes another
        return None


def find_state(home: str) -> str:
    """What changes when the store, the configuration file or the time zone do."""
    config = config_path()
    index = os.path.join(home, "index.db")
    return f"{_stamp(index)} {_stamp(f'{index}-wal')} {_stamp(config)} {config} {system_zone()}"


def system_zone() -> str:
    """What changes with the system's own time zone."""
    return f"{os.environ.get('TZ', '')} {time.timezone}"


def _stamp(path: str) -> str:
    """What changes when a file does; an empty one, such as the log that a reader of the store makes, is as good as none."""
    try:
        found = os.stat(path)
    except OSError:
        return "-"
    return f"{found.st_ino}.{found.st_mtime_ns}.{found.st_size}" if found.st_size else "-"


# -- JSON without `json`, which takes 8 ms to import where the whole line takes 13


class _ScannerOptions:
    """How the scanner is to read things."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def decode(text: bytes) -> Any:
    """The value of a JSON text, by the C code that `json` uses itself; ValueError where it is none."""
    try:
        from _json import make_scanner
    except ImportError:  # another Python than CPython
        from json import loads

        return loads(text)
    plain = text.decode("utf-8", "replace").lstrip("\ufeff").strip()
    try:
        value, end = make_scanner(_ScannerOptions())(plain, 0)  # type: ignore[arg-type]
    except (
        Exception
    ) as error:  # a SystemError too: the scanner wants to raise what `json` defines, and that is not loaded
        raise ValueError("no JSON") from error
    if end < len(plain):
        raise ValueError("more than one JSON value")
    return value
