"""The figures that the line shows: a small file that a refresh replaces as a whole, and whether it is still right.

Nothing here adds up or formats money: `refresh` asks the engine, and writes amounts as they are to be read. Beside it, the
high-water mark of each session: the greatest figures that its line has shown.
"""

from __future__ import annotations

import os
import time

from hansard.cli.fast_start import decode, is_name
from hansard.directories import config_path

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any

FILE = "statusline.json"
SPOOL = "statusline"  # a folder: high-water marks, and what the shell script reads
BUSY = "busy"  # in that folder: the process that writes the lines
SHAPE = 5  # the version of the file's format
_MOST = 1 << 24
_OLD = 60_000  # milliseconds; refresh after this time even if no change was noticed


class Snapshot:
    """What a refresh wrote; all times are in milliseconds."""

    def __init__(self, values: dict[str, Any]) -> None:
        if values["shape"] != SHAPE:
            raise ValueError("written by other rules")
        self.state: str = values["state"]  # of the store it was made from
        self.checked: int = int(values["checked"])  # when the store was last checked
        self.next_sync: int = int(values["next_sync"])
        self.form: str | None = values["form"]  # the format in the configuration file
        self.trouble: str | None = values["trouble"]  # an error in that file
        self.is_failed: bool = values["is_failed"]  # the store could not be read: the figures are the last known
        self.unkept: int | None = values["unkept"]  # transcripts that the client deletes soon, and that are not stored
        self.unkept_at: int = int(values["unkept_at"])  # when that was looked up
        self.figures: dict[str, Any] | None = values["figures"]
        self.values = values

    def is_stale(self, state: str, now: int) -> bool:
        """Whether the store has changed since, or the last check is too long ago."""
        return self.state != state or abs(now - self.checked) >= _OLD

    def age(self, state: str, now: int) -> int | None:
        """The age of figures that may be outdated, or None; negative if the clock was set back."""
        if self.figures is None:
            return None
        age = now - int(self.figures["at"])
        return age if self.is_failed or age <= -_OLD or (self.state != state and age >= _OLD) else None


def load(home: str) -> Snapshot | None:
    """Load the snapshot, or None if it is missing or unusable."""
    try:
        with open(os.path.join(home, FILE), "rb") as file:
            return Snapshot(decode(file.read(_MOST)))
    except Exception:  # noqa: BLE001 - absent, damaged, not ours: the next refresh writes another
        return None


def find_state(home: str) -> str:
    """A fingerprint of the store, the configuration file and the time zone."""
    config = config_path()
    index = os.path.join(home, "index.db")
    return f"{_stamp(index)} {_stamp(f'{index}-wal')} {_stamp(config)} {config} {system_zone()}"


def system_zone() -> str:
    return f"{os.environ.get('TZ', '')} {time.timezone}"


def _stamp(path: str) -> str:
    """A fingerprint of a file; an empty one, such as the WAL that a reader creates, counts as missing."""
    try:
        found = os.stat(path)
    except OSError:
        return "-"
    return f"{found.st_ino}.{found.st_mtime_ns}.{found.st_size}" if found.st_size else "-"


# -- what a session's line has shown


class HighWaterMark:
    """The highest cost and token count that a session's line has shown, as (number, text); a line never shows less.

    The store is behind the client, and what it knows may shrink: a message turns out to be another session's.
    """

    def __init__(self, home: str, session_id: str | None) -> None:
        self._home = home
        self._path = session_id and is_name(session_id) and os.path.join(home, SPOOL, f"{session_id}.shown")
        self._shown: dict[str, tuple[float, str]] | None = None
        self._is_raised = False

    def raise_to(self, figure: str, number: float | None, text: str | None) -> str | None:
        """The text to show for a figure: the one given, unless more was shown before."""
        if self._shown is None:
            self._shown = self._load()
        number = -1 if number is None else number  # no price: any amount says more
        former = self._shown.get(figure)
        if former is not None and (text is None or number < former[0]):
            return former[1]
        if text is not None and former != (number, text):
            self._shown[figure] = (number, text)
            self._is_raised = True
        return text

    def _load(self) -> dict[str, tuple[float, str]]:
        if not self._path:
            return {}
        try:
            with open(self._path, "rb") as file:
                return {name: (float(number), str(text)) for name, number, text in decode(file.read(1000))}
        except (OSError, ValueError, TypeError):
            return {}

    def save(self, *, create_home: bool) -> None:
        if not (self._is_raised and self._path and self._shown):
            return
        from hansard.files import write_private

        try:
            if create_home:
                os.makedirs(self._home, mode=0o700, exist_ok=True)
            folder = os.path.dirname(self._path)
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
            # A text is one of ours or what the client said, made a number: nothing in it needs escaping.
            items = (f'["{name}", {number!r}, "{text}"]' for name, (number, text) in self._shown.items())
            write_private(self._path, f"[{', '.join(items)}]".encode("utf-8", "replace"))
        except OSError:
            return
