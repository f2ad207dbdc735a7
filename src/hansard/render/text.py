"""Text for a terminal and its shell: transcripts are hostile, so everything from them passes through `clean` or `quote` before it is shown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hansard.guard.sanitize import BREAKS, ESCAPES
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from hansard.model.sessions import Session

# What may not reach a terminal: C0 but tab and newline, DEL, C1, bidirectional controls, halves of characters.
FORBIDDEN = lazy_compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SUSPECT = lazy_compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SPACES = lazy_compile(r"\s+")
# One column each in any context: Latin, Greek, Cyrillic, punctuation, arrows, lines, bars and marks.
_NARROW = lazy_compile(
    "[ -~\xa0-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2190-\u21ff\u2500-\u25fc\u2713-\u2718]*"
)
_WORDS = lazy_compile(r" +|[^ ]+")
_UUID = lazy_compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-")
_RANDOM_UUID, _DATED_UUID, _OTHER_ID = 8, 13, 16  # characters
_TAB = 4
PIPED = 1_000_000  # columns of output to a pipe, which is not cut
_SELECTOR = "\ufe0f"  # makes the character before it an emoji, which may be wider

_SGR = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "you": "1;36",
    "model": "1;35",
    "heading": "1",
    "match": "1;33",
}


def clean(text: str) -> str:
    """Remove escape sequences, control characters and bidirectional overrides."""
    if not _SUSPECT.search(text):
        return text
    text = BREAKS.sub("\n", ESCAPES.sub("", text))
    return FORBIDDEN.sub(lambda match: "\ufffd" if "\ud800" <= match[0] <= "\udfff" else "", text)


def one_line(text: str) -> str:
    """Clean text on one line, with single spaces."""
    return _SPACES.sub(" ", clean(text)).strip()


def short_id(session_id: str) -> str:
    """A distinctive prefix of a session's id: short for random ids, longer for those that begin with a time."""
    name = one_line(session_id)
    if _UUID.match(name):
        return name[: _DATED_UUID if name[14] == "7" else _RANDOM_UUID]
    return name[:_OTHER_ID]


def width(text: str) -> int:
    """The columns that text takes: wide characters count two, combining ones none."""
    if text.isascii() or _NARROW.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, columns: int) -> str:
    """Text cut to a width, with an ellipsis if something is missing."""
    if width(text) <= columns:
        return text
    if columns < 1:
        return ""
    kept, taken = [], 0
    for character in text[: columns * 8]:
        size = width(character)
        if taken + size > columns - 1:
            break
        kept.append(character)
        taken += size
    while kept and width("".join(kept)) > columns - 1:  # a selector may make the character before it wider
        kept.pop()
    return "".join(kept).rstrip() + "…"


def fit_path(path: str, columns: int) -> str:
    """Cut a path at its beginning."""
    if width(path) <= columns:
        return path
    tail = path
    while tail and width(tail) > columns - 1:
        tail = tail[1:]
    return "…" + tail


def pad(text: str, columns: int, *, right: bool = False) -> str:
    space = " " * max(0, columns - width(text))
    return space + text if right else text + space


def share(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths of columns that fit a room together: the widest are cut first, none below its least."""
    widths = list(natural)
    excess = sum(widths) - room
    while excess > 0:
        longer = [place for place, wide in enumerate(widths) if wide > least[place]]
        if not longer:
            break
        widest = max(longer, key=lambda place: widths[place])
        others = [widths[place] for place in longer if place != widest]
        bound = max(least[widest], min(widths[widest] - 1, max(others, default=0)))
        cut = min(excess, widths[widest] - bound)
        widths[widest] -= cut
        excess -= cut
    return widths


def wrap(text: str, columns: int) -> list[str]:
    """Wrap text between words if possible; keeps indentation and empty lines."""
    lines: list[str] = []
    for line in text.expandtabs(_TAB).split("\n"):
        if width(line) <= columns:
            lines.append(line.rstrip())
        else:
            lines += _wrap_line(line, max(columns, 2))
    return lines


def _wrap_line(line: str, columns: int) -> list[str]:
    lines: list[str] = []
    indent = line[: len(line) - len(line.lstrip(" "))]
    indent = indent if len(indent) <= columns // 2 else ""
    current, taken = indent, len(indent)
    for word in _WORDS.findall(line[len(indent) :]):
        size = width(word)
        if taken + size <= columns:
            current += word
            taken += size
            continue
        if current.strip():
            lines.append(current.rstrip())
        current, taken = indent, len(indent)
        if word.isspace():
            continue
        *full, last = _chop(word, columns - taken) if taken + size > columns else [word]
        lines += [indent + piece for piece in full]
        current += last
        taken += width(last)
    if current.strip() or not lines:
        lines.append(current.rstrip())
    return lines


def _chop(word: str, columns: int) -> list[str]:
    """Pieces of a word that is wider than a line."""
    if word.isascii():
        return [word[start : start + columns] for start in range(0, len(word), columns)]
    pieces, piece, taken = [], "", 0
    for character in word:
        size = 1 if character == _SELECTOR else width(character)
        if piece and taken + size > columns:
            pieces.append(piece)
            piece, taken = "", 0
        piece += character
        taken += size
    return [*pieces, piece]


class Paint:
    """Paints text if colours are enabled."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __call__(self, text: str, style: str) -> str:
        """Text in a style of the palette; already clean, since colours are escape sequences."""
        return f"\x1b[{_SGR[style]}m{text}\x1b[0m" if self.enabled and text else text


CLIENT = "claude"
RESUME_OPTION = "--resume"


def quote(word: str) -> str:
    """Quote a word for a POSIX shell; control characters are written as escapes (`$'...'`)."""
    if word.isprintable():
        import shlex

        return shlex.quote(word)
    plain = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(c if c.isprintable() else _escaped(c) for c in plain) + "'"


def _escaped(character: str) -> str:
    try:
        encoded = character.encode("utf-8", "surrogateescape")  # a name that is not UTF-8
    except UnicodeEncodeError:
        encoded = character.encode("utf-8", "replace")
    return "".join(f"\\x{byte:02x}" for byte in encoded)


def command_line(words: Sequence[str], *, directory: str = "", environment: Mapping[str, str] | None = None) -> str:
    """A command to paste into the system's shell, run in a directory."""
    if os.name == "nt":
        settings = [f"set {_cmd_quote(f'{name}={value}')}" for name, value in (environment or {}).items()]
        steps = [
            *([f"cd /d {_cmd_quote(directory)}"] if directory else []),
            *settings,
            " ".join(map(_cmd_quote, words)),
        ]
        return " && ".join(steps)
    settings = [f"{name}={quote(value)}" for name, value in (environment or {}).items()]
    command = " ".join([*settings, *map(quote, words)])
    return f"cd {quote(directory)} && {command}" if directory else command


def _cmd_quote(word: str) -> str:
    """Quote a word for cmd.exe, which expands %names% even in quotes and cannot escape quotes: such characters are dropped."""
    return '"' + "".join(char for char in word if char >= " " and char not in '"%!') + '"'


def resume_command(session: Session) -> str:
    """The command that continues a session in its directory; empty for other clients than Claude Code."""
    if session.other_client:
        return ""
    return command_line([CLIENT, RESUME_OPTION, session.session_id], directory=session.cwd)
