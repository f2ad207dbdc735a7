"""Fill in the format of the line from the client's input and the snapshot."""

from __future__ import annotations

import os

from hansard.cli.fast_start import decode
from hansard.cli.statusline.snapshot import HighWaterMark, system_zone

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any

    from hansard.cli.statusline.snapshot import Snapshot

PLACES = {
    "model": "the model, as the client names it",
    "project": "the folder of the project, with its parents if several projects have that name",
    "branch": "the git branch of the folder",
    "session": "what the session has cost, with its subagents",
    "today": "what everything has cost today",
    "block": "what everything has cost in the current five-hour block",
    "left": "time left in the block",
    "burn": "dollars per hour in the block",
    "tokens": "tokens of the session, of every class",
    "context": "how full the context window is, as the client says",
    "plan": "how much of the plan's limits is used, as the client says",
    "budget": "the budgets that are near or over",
    "unkept": "transcripts that the client deletes within seven days and that are not stored",
    "forecast": "what the month or week with a budget will have cost at its end, at this rate",
}
"""The fields of a format."""

SEPARATOR = " · "
DEFAULT = "{model} · {session} session · {today} today · {block} block ({left} left) · {burn}/h · {budget}"
_LONGEST = 40  # characters of a name
_MOST = 400  # characters of an input that may become one
_SGR = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_STYLES = {"near": "yellow", "over": "red"}  # of budgets


class ClientInput:
    """The client's JSON about its session: untrusted, and any of it may be missing."""

    def __init__(self, text: bytes) -> None:
        try:
            self._said = decode(text)
        except (ValueError, TypeError, MemoryError):
            self._said = None
        name = self.at("session_id")
        is_name = isinstance(name, str) and 0 < len(name) <= 200 and name.isascii()
        self.session_id: str | None = name if is_name else None

    @property
    def is_understood(self) -> bool:
        return isinstance(self._said, dict)

    def at(self, *path: str) -> Any:
        value = self._said
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str | None:
        """The text at a path, safe for a terminal."""
        value = self.at(*path)
        return shown(value) if isinstance(value, str) else None

    def number(self, *path: str) -> float | None:
        """The number at a path, if it can be shown."""
        value = self.at(*path)
        return value if type(value) in (int, float) and 0 <= value < 1e9 else None

    def folder(self) -> str | None:
        for path in (("workspace", "project_dir"), ("workspace", "current_dir"), ("cwd",)):
            if isinstance(folder := self.at(*path), str) and folder:
                return folder
        return None


def shown(text: str) -> str | None:
    """Shorten a text to one line without control characters."""
    text = text[:_MOST]
    if not text.isprintable():
        from hansard.render.text import one_line

        text = one_line(text)
        text = "".join(sign for sign in text if sign.isprintable())
    text = text.strip()
    return (text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…") or None


def unkept_words(snapshot: Snapshot | None) -> str | None:
    """What the client deletes soon without being stored, if anything."""
    count = snapshot.unkept if snapshot is not None else None
    return f"{count} transcript{'s' if count > 1 else ''} not stored, deleted soon" if count else None


def duration(milliseconds: int) -> str:
    """A duration in whole minutes; importing `render.format` would double the time of a line."""
    minutes = milliseconds // 60_000
    if minutes < 1:
        return "under a minute"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


# -- filling in


class _Filler:
    """Looks up fields for `str.format_map`, and remembers whether any had a value."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self.has_any = self.has_known = False

    def __getitem__(self, name: str) -> str:
        self.has_any = True
        if name not in PLACES:
            self._line.unknown.append(name)
            return "?"
        value: str | None = getattr(self._line, name)()
        self.has_known |= value is not None
        return value if value is not None else "-"


class _Line:
    """One method for each field of a format."""

    def __init__(
        self, given: ClientInput, snapshot: Snapshot | None, now: int, mark: HighWaterMark, *, colored: bool
    ) -> None:
        self.given, self.now, self.mark, self.colored = given, now, mark, colored
        self.snapshot = snapshot
        self.figures: dict[str, Any] = (snapshot and snapshot.figures) or {}
        self.unknown: list[str] = []
        self.has_day = bool(self.figures) and self._is_of_today(*self.figures["day"])
        block = self.figures.get("block")
        self.present: dict[str, Any] | None = block if block and block["start"] <= now < block["end"] else None

    def _is_of_today(self, midnight: int, next_midnight: int) -> bool:
        return midnight <= self.now < next_midnight and self.figures["zone"] in (None, system_zone())

    def paint(self, text: str | None, style: str | None) -> str | None:
        return f"\x1b[{_SGR[style]}m{text}\x1b[0m" if self.colored and style and text else text

    def model(self) -> str | None:
        return self.paint(self.given.text("model", "display_name") or self.given.text("model", "id"), "cyan")

    def project(self) -> str | None:
        folder = self.given.folder()
        known = self.figures.get("projects", {}).get(folder)  # if the last part of the path is ambiguous
        name = folder and shown(known or folder.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
        return self.paint(name, "green") if name else None

    def branch(self) -> str | None:
        return self.paint(self.given.text("worktree", "branch") or _branch(self.given.at("cwd")), "magenta")

    def session(self) -> str | None:
        text, _, amount, _ = self._session()
        said = self.given.number("cost", "total_cost_usd")
        if text is None and said is not None:
            from decimal import Decimal  # only until a refresh knows the session

            from hansard.render.format import dollars

            text, amount = f"~{dollars(Decimal(f'{said:.6f}'))}", said
        return self.mark.raise_to("cost", amount, text)

    def tokens(self) -> str | None:
        _, text, _, count = self._session()
        return self.mark.raise_to("tokens", count, text)

    def today(self) -> str | None:
        if not self.has_day:
            return None
        return self.paint(self.figures["today"], _STYLES.get(self.figures["today_state"]))

    def block(self) -> str | None:
        return self.present["cost"] if self.present else None

    def left(self) -> str | None:
        return duration(self.present["end"] - self.now) if self.present else None

    def burn(self) -> str | None:
        return self.present["burn"] if self.present else None

    def context(self) -> str | None:
        return self._share("context_window", "used_percentage")

    def plan(self) -> str | None:
        shares = [
            (name, self._share("rate_limits", key, "used_percentage"))
            for name, key in (("5 h", "five_hour"), ("7 d", "seven_day"))
        ]
        return ", ".join(f"{name} {share}" for name, share in shares if share) or None

    def budget(self) -> str | None:
        told = [self.paint(text, _STYLES[state]) for text, state in self.figures["budgets"]] if self.has_day else []
        return ", ".join(filter(None, told)) or None

    def forecast(self) -> str | None:
        if not self.has_day or not self.figures.get("forecast"):
            return None
        text, state = self.figures["forecast"]
        return self.paint(text, _STYLES.get(state))

    def unkept(self) -> str | None:
        return self.paint(unkept_words(self.snapshot), "red")

    def _session(self) -> list[Any]:
        found: list[Any] = self.figures.get("sessions", {}).get(self.given.session_id) or [None] * 4
        return found

    def _share(self, *path: str) -> str | None:
        used = self.given.number(*path)
        if used is None:
            return None
        return self.paint(f"{used:.0f}%", "red" if used >= 90 else "yellow" if used >= 75 else None)


def is_sound(form: str) -> bool:
    unknown = misspelled(form)
    return unknown is not None and not unknown


def misspelled(form: str) -> list[str] | None:
    """The unknown fields of a format; None if the format itself is invalid."""
    line = _Line(ClientInput(b""), None, 0, HighWaterMark("", None), colored=False)
    try:
        form.format_map(_Filler(line))
    except (ValueError, AttributeError, KeyError, IndexError, TypeError):
        return None
    return line.unknown


def compose(
    form: str | None,
    given: ClientInput,
    snapshot: Snapshot | None,
    state: str,
    now: int,
    mark: HighWaterMark,
    *,
    colored: bool,
) -> str:
    """Compose the line: drop parts whose fields have no value, and append warnings."""
    form = form or (snapshot and snapshot.form) or DEFAULT
    line = _Line(given, snapshot, now, mark, colored=colored)
    said = [snapshot and snapshot.trouble]
    if misspelled(form) is None:
        said.append("invalid format: see config.toml")
        form = DEFAULT
    parts = []
    for part in form.split(SEPARATOR):
        filler = _Filler(line)
        text = part.format_map(filler)
        if filler.has_known or not filler.has_any:
            parts.append(text)
    if line.unknown:
        said.append(f"no {{{shown(line.unknown[0])}}} to show: see config.toml")
    age = snapshot.age(state, now) if snapshot else None
    if age is not None:
        said.append(f"last known, {duration(age)} old" if age >= 0 else "last known")
    parts += [line.paint(word, "dim") or "" for word in said if word]
    separator = line.paint(SEPARATOR, "dim") or SEPARATOR
    return separator.join(parts).replace("\n", " ").replace("\r", " ")


def _branch(folder: object) -> str | None:
    """The current branch of a folder's repository, read from .git without running git."""
    if not isinstance(folder, str) or not os.path.isabs(folder):
        return None
    for _ in range(40):
        place = os.path.join(folder, ".git")
        if os.path.exists(place):
            return _head(folder, place)
        folder, former = os.path.dirname(folder), folder
        if folder == former:
            break
    return None


def _head(folder: str, place: str) -> str | None:
    try:
        if os.path.isfile(place):  # a worktree: it contains the path of the real one
            with open(place, encoding="utf-8", errors="replace") as file:
                place = os.path.join(folder, file.read(4096).strip().removeprefix("gitdir: "))
        place = os.path.join(place, "HEAD")
        if not os.path.isfile(place):  # reading a pipe would block
            return None
        with open(place, encoding="utf-8", errors="replace") as file:
            head = file.read(4096).strip()
    except (OSError, ValueError):
        return None
    name = head.removeprefix("ref: refs/heads/")
    return shown(name if name != head else head[:8])
