"""The line in words: what the client said, what is known, and a format with places for both."""

from __future__ import annotations

import os

from hansard.cli.statusline.json_text import decode
from hansard.cli.statusline.known import Known

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any

PLACES = {
    "model": "the model, as the client names it",
    "project": "the folder of the project",
    "branch": "the git branch of the folder",
    "session": "what the session has cost, with its subagents",
    "today": "what everything has cost today",
    "block": "what everything has cost in the present five-hour block",
    "left": "how long the block still lasts",
    "burn": "dollars per hour in the block",
    "tokens": "tokens of the session, of every class",
    "context": "how full the context window is, as the client says",
    "plan": "how much of the plan's limits is used, as the client says",
    "budget": "the budgets that are near or over",
}
"""What a format may have in braces."""

SEPARATOR = " · "
DEFAULT = "{model} · {session} session · {today} today · {block} block ({left} left) · {burn}/h · {budget}"
_LONGEST = 40  # characters of a name
_MOST = 400  # of what may become one
_SGR = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_LENGTH = 5 * 3_600_000
_BUDGETS = 3  # at most, the exceeded ones first


class ClientInput:
    """What the client says of its session. All of it is hostile, and all of it may be missing."""

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
        """Whether it was a JSON object."""
        return isinstance(self._said, dict)

    def at(self, *path: str) -> Any:
        """The value at a place, None where there is none."""
        value = self._said
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str | None:
        """A text at a place, fit for a terminal."""
        value = self.at(*path)
        return shown(value) if isinstance(value, str) else None

    def number(self, *path: str) -> float | None:
        """A number at a place that can be shown."""
        value = self.at(*path)
        return value if type(value) in (int, float) and 0 <= value < 1e9 else None

    def folder(self) -> str | None:
        """The folder the session works in."""
        for path in (("workspace", "project_dir"), ("workspace", "current_dir"), ("cwd",)):
            if isinstance(folder := self.at(*path), str) and folder:
                return folder
        return None


def shown(text: str) -> str | None:
    """Text on one line of bounded length, with nothing in it that a terminal obeys."""
    text = text[:_MOST]
    if not text.isprintable():
        from hansard.render.text import one_line

        text = one_line(text)
        text = "".join(sign for sign in text if sign.isprintable())
    text = text.strip()
    return (text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…") or None


def dollars(amount: str | None) -> str:
    """As `hansard.render.money.dollars`, of a decimal number as text."""
    if amount is None:
        return "?"
    whole, _, fraction = amount.partition(".")
    cents = int(whole + fraction[:2].ljust(2, "0"))
    if not cents and fraction.strip("0"):
        return "<$0.01"
    cents += fraction[2:3] >= "5"
    return f"${cents // 100:,}.{cents % 100:02}"


def cost(found: dict[str, Any]) -> str:
    """An amount with its mark, as `hansard.render.money.cost`."""
    if found["cost"] is None:
        return "?"
    is_partly_unpriced = found["models"] not in ([], "[]")
    return dollars(found["cost"]) + ("+?" if is_partly_unpriced else "+" if found["lower_bounds"] else "")


def duration(milliseconds: int) -> str:
    """How long, to the minute."""
    minutes = milliseconds // 60_000
    if minutes < 1:
        return "under a minute"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def short(count: float) -> str:
    """As `hansard.render.words.short`."""
    value = float(count)
    unit = ""
    for larger in "kMGT":
        if value >= 999.5:
            value, unit = value / 1000, larger
    return f"{value:.0f}{unit}" if not unit or value >= 99.95 else f"{value:.1f}{unit}"


# -- filling in


class _Filler:
    """Looks values up for `str.format_map`, and remembers whether any was known."""

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
    """One value for each place of a format."""

    def __init__(self, given: ClientInput, known: Known, now: int, *, colored: bool) -> None:
        self.given, self.known, self.now, self.colored = given, known, now, colored
        self.figures: dict[str, Any] = known.figures or {}
        self.unknown: list[str] = []
        block = self.figures.get("block")
        is_on = block and block["start"] <= now < block["end"] and now - block["last"] <= _LENGTH
        self.present: dict[str, Any] | None = block if is_on else None

    def paint(self, text: str | None, style: str | None) -> str | None:
        return f"\x1b[{_SGR[style]}m{text}\x1b[0m" if self.colored and style and text else text

    def model(self) -> str | None:
        return self.paint(self.given.text("model", "display_name") or self.given.text("model", "id"), "cyan")

    def project(self) -> str | None:
        folder = self.given.folder()
        name = folder and shown(folder.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
        return self.paint(name, "green") if name else None

    def branch(self) -> str | None:
        return self.paint(self.given.text("worktree", "branch") or _branch(self.given.at("cwd")), "magenta")

    def session(self) -> str | None:
        found = self.figures.get("sessions", {}).get(self.given.session_id)
        if found:
            return cost(found)
        said = self.given.number("cost", "total_cost_usd")
        return None if said is None else f"~{dollars(f'{said:.6f}')}"

    def tokens(self) -> str | None:
        found = self.figures.get("sessions", {}).get(self.given.session_id)
        return short(found["tokens"]) if found else None

    def today(self) -> str | None:
        found = self.figures.get("today")
        states = [item["state"] for item in self.budgets() if item["period"] == "day" and item["project"] is None]
        return self.paint(cost(found), _STATES.get(states[0]) if states else None) if found else None

    def block(self) -> str | None:
        return cost(self.present) if self.present else None

    def left(self) -> str | None:
        return duration(self.present["end"] - self.now) if self.present else None

    def burn(self) -> str | None:
        passed = self.now - self.present["first"] if self.present else 0
        if self.present is None or self.present["cost"] is None or passed < 60_000:
            return None
        return cost({**self.present, "cost": f"{float(self.present['cost']) * 3_600_000 / passed:.6f}"})

    def context(self) -> str | None:
        return self._share("context_window", "used_percentage")

    def plan(self) -> str | None:
        shares = [
            (name, self._share("rate_limits", key, "used_percentage"))
            for name, key in (("5 h", "five_hour"), ("7 d", "seven_day"))
        ]
        return ", ".join(f"{name} {share}" for name, share in shares if share) or None

    def budget(self) -> str | None:
        told: list[str | None] = []
        for item in sorted(self.budgets(), key=lambda item: str(item["state"]), reverse=True):
            if item["state"] != "ok" and len(told) < _BUDGETS:
                share = float(item["cost"] or 0) / float(item["limit"])
                name = f"{shown(item['project']) or '?'} {item['period']}" if item["project"] else item["period"]
                words = f"{name} budget {share:.0%}" if item["state"] == "near" else f"OVER {name} budget {share:.0%}"
                told.append(self.paint(words, _STATES[item["state"]]))
        return ", ".join(filter(None, told)) or None

    def budgets(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.figures.get("budgets") or []
        return found

    def _share(self, *path: str) -> str | None:
        used = self.given.number(*path)
        if used is None:
            return None
        return self.paint(f"{used:.0f}%", "red" if used >= 90 else "yellow" if used >= 75 else None)


_STATES = {"near": "yellow", "over": "red"}


def is_sound(form: str) -> bool:
    """Whether a format can be filled in."""
    unknown = misspelled(form)
    return unknown is not None and not unknown


def misspelled(form: str) -> list[str] | None:
    """The names in braces that stand for nothing; None where the braces themselves make no sense."""
    line = _Line(ClientInput(b""), Known({}, None, is_current=True), 0, colored=False)
    try:
        form.format_map(_Filler(line))
    except (ValueError, AttributeError, KeyError, IndexError, TypeError):
        return None
    return line.unknown


def compose(form: str, given: ClientInput, known: Known, now: int, *, colored: bool) -> str:
    """The line. Parts between separators vanish when nothing in them is known; what is not quite right is said at the end."""
    line = _Line(given, known, now, colored=colored)
    said = [known.settings.get("trouble")]
    if misspelled(form) is None:
        said.append("the format cannot be used: see config.toml")
        form = DEFAULT
    parts = []
    for part in form.split(SEPARATOR):
        filler = _Filler(line)
        text = part.format_map(filler)
        if filler.has_known or not filler.has_any:
            parts.append(text)
    if line.unknown:
        said.append(f"no {{{shown(line.unknown[0])}}} to show: see config.toml")
    if not known.is_current and known.figures is not None:
        said.append(f"last known, {duration(now - known.figures['at'])} old")
    parts += [line.paint(word, "dim") or "" for word in said if word]
    separator = line.paint(SEPARATOR, "dim") or SEPARATOR
    return separator.join(parts).replace("\n", " ").replace("\r", " ")


def _branch(folder: object) -> str | None:
    """The branch that a folder's repository is on, from its own files."""
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
        if os.path.isfile(place):  # of a worktree: it names the real one
            with open(place, encoding="utf-8", errors="replace") as file:
                place = os.path.join(folder, file.read(4096).strip().removeprefix("gitdir: "))
        place = os.path.join(place, "HEAD")
        if not os.path.isfile(place):  # a pipe would never answer
            return None
        with open(place, encoding="utf-8", errors="replace") as file:
            head = file.read(4096).strip()
    except (OSError, ValueError):
        return None
    name = head.removeprefix("ref: refs/heads/")
    return shown(name if name != head else head[:8])
