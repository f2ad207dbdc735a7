"""What is known of the money: read from the store when that has changed, else from the last reading of it.

The last reading is a small file in the data directory, replaced as a whole. It holds what every session of the last day
needs, so whoever reads the store reads it for all, and it is what the line falls back on when the store cannot be read.
"""

from __future__ import annotations

import os
import sys
import time

from hansard.cli.statusline.json_text import decode, encode

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any, Self

FILE = "statusline.json"
_SHAPE = 1  # another number: the file was written by other rules
_MOST = 1 << 24
_OLD = 60_000  # a reading is not trusted for longer, should a change of the store have escaped notice
_USUAL = {
    "linux": {"data": "~/.local/share", "config": "~/.config"},
    "darwin": {"data": "~/Library/Application Support", "config": "~/Library/Application Support"},
}


class Known:
    """The settings that matter here, and the figures; `is_current` tells whether the store says so now."""

    def __init__(self, settings: dict[str, Any], figures: dict[str, Any] | None, *, is_current: bool) -> None:
        self.settings = settings
        self.figures = figures
        self.is_current = is_current

    @property
    def form(self) -> str | None:
        """The line as the configuration file wants it."""
        form = self.settings.get("form")
        return form if isinstance(form, str) else None

    @classmethod
    def find(cls, home: str, session_id: str | None, now: int, seconds: float, *, anew: bool = False) -> Self:
        """What is known now; `anew` reads the store even if it seems unchanged."""
        try:
            return cls._find(home, session_id, now, seconds, {} if anew else _load(home))
        except (KeyError, TypeError, AttributeError):  # the last reading is JSON, but not ours
            return cls._find(home, session_id, now, seconds, {})

    @classmethod
    def _find(cls, home: str, session_id: str | None, now: int, seconds: float, last: dict[str, Any]) -> Self:
        settings = _settings(home, last.get("settings"))
        figures = last.get("figures")
        state = _stamp(os.path.join(home, "index.db")) + _stamp(os.path.join(home, "index.db-wal"))
        zone = settings["timezone"] or f"{os.environ.get('TZ', '')} {time.timezone}"
        asked = f"{zone} {settings['stamp']}"
        if figures is not None and not (figures["asked"] == asked and figures["day"] <= now < figures["next"]):
            figures = {**figures, "state": "", "today": None, "budgets": []}  # of another day, or by other settings
        if (
            figures is not None
            and figures["state"] == state
            and 0 <= now - figures["at"] < _OLD
            and (session_id is None or session_id in figures["sessions"])
        ):
            return cls(settings, figures, is_current=True)
        try:
            fresh = _read(home, session_id, settings, now, seconds)
        except Exception:  # noqa: BLE001 - missing, locked, damaged, of another version, too slow: the last figures do
            return cls(settings, figures, is_current=False)
        figures = {"state": state, "asked": asked, **fresh}
        write_file(os.path.join(home, FILE), encode({"shape": _SHAPE, "settings": settings, "figures": figures}))
        return cls(settings, figures, is_current=True)


def _read(home: str, session_id: str | None, settings: dict[str, Any], now: int, seconds: float) -> dict[str, Any]:
    from hansard.index.schema import QUARTER
    from hansard.ledger.current import find_periods, here, read_store

    shift = here
    if settings["timezone"] is not None:
        from hansard.ledger.calendar import find_zone

        shift = find_zone(settings["timezone"]).shift
    periods = find_periods(now, shift)
    figures = read_store(os.path.join(home, "index.db"), session_id, settings["limits"], periods, now, seconds)
    if session_id is not None:
        figures["sessions"].setdefault(session_id, None)
    return {"day": periods["day"] * QUARTER, "next": periods["next"] * QUARTER, **figures}


def _stamp(path: str) -> str:
    """What changes when a file does; an empty one, such as the log that a reader of the store makes, is as good as none."""
    try:
        found = os.stat(path)
    except OSError:
        return "- "
    if not found.st_size:
        return "- "
    return f"{found.st_ino}.{found.st_mtime_ns}.{found.st_size} "


def _load(home: str) -> dict[str, Any]:
    try:
        with open(os.path.join(home, FILE), "rb") as file:
            found = decode(file.read(_MOST))
        if found["shape"] == _SHAPE:
            return dict(found)
    except Exception:  # noqa: BLE001, S110 - absent, or not ours: as if there were none
        pass
    return {}


def write_file(path: str, text: str) -> None:
    """Replace a small file as a whole, for its owner only; where that cannot be done, nothing happens."""
    fresh = f"{path}.{os.getpid()}.new"
    try:
        place = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(place, text.encode("utf-8", "replace"))
        finally:
            os.close(place)
        os.replace(fresh, path)
    except OSError:
        if os.path.exists(fresh):
            os.unlink(fresh)


# -- settings


def find_home(given: str | None) -> str:
    """The data directory, as `hansard.config` finds it."""
    named = given or os.environ.get("HANSARD_HOME") or _user_directory("data")
    if named is None:
        from hansard import config

        return config.load(os.environ).home
    return os.path.abspath(os.path.expanduser(named))


def _config_path() -> str:
    folder = _user_directory("config")
    if folder is None:
        from hansard import config

        return config.config_path()
    return os.path.join(folder, "config.toml")


def _user_directory(purpose: str) -> str | None:
    """Where the system keeps our files; None where only platformdirs knows."""
    system: str = sys.platform
    named = os.environ.get(f"XDG_{purpose.upper()}_HOME", "")
    if named.strip():
        return os.path.join(named, "hansard") if system == "linux" else None
    return os.path.join(os.path.expanduser(_USUAL[system][purpose]), "hansard") if system in _USUAL else None


def _settings(home: str, last: dict[str, Any] | None) -> dict[str, Any]:
    """What the configuration file says of the line; read again only when it changed."""
    path = _config_path()
    stamp = _stamp(path)
    if stamp == "- ":
        return {"stamp": "", "form": None, "timezone": None, "limits": [], "trouble": None}
    stamp += path
    if last is not None and last["stamp"] == stamp:
        return last
    from hansard import config
    from hansard.errors import UsageError
    from hansard.ledger.calendar import find_zone

    try:
        found = config.load(os.environ, home=home)
        find_zone(found.timezone)
    except UsageError:
        trouble = "config.toml cannot be used: try `hansard status`"
        return {"stamp": stamp, "form": None, "timezone": None, "limits": [], "trouble": trouble}
    limits = [
        [item.period, format(item.limit_usd, "f"), format(item.warn_at, "f"), item.project] for item in found.limits
    ]
    return {
        "stamp": stamp,
        "form": found.statusline,
        "timezone": found.timezone,
        "limits": limits,
        "trouble": None,
    }
