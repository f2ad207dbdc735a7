"""Text for HTML: markup escaped, control characters made visible or removed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

# C0 except tab and newline, DEL, C1, bidirectional controls, lone surrogates, tags: invisible letters that models read.
# After a black flag a few tags are a flag: those of Scotland, England, ...
_FLAG = "\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f"
_ODD = re.compile(
    f"{_FLAG}|"
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
_CONTROLS = bytes([*range(9), *range(11, 32), 127])
_LINE_ENDS = re.compile("\r\n?|\x85")
_MARKS = frozenset("\u061c\u200e\u200f")  # direction marks, which do not reorder text
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]*")
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]")
_URL = re.compile(r"https?://[^\s<>\"'`\\^{|}\x00-\x1f]+")
_TRAILING = ".,;:!?)]*_"


def visible(text: str) -> str:
    """Replace control characters with visible symbols, and bidirectional controls with their code points."""
    if text.isascii():
        data = text.encode()
        if len(data.translate(None, _CONTROLS)) == len(data):
            return text
    elif not _ODD.search(text):
        return text
    return _ODD.sub(_picture, _LINE_ENDS.sub("\n", text))


def _picture(match: re.Match[str]) -> str:
    character = match[0]
    if len(character) > 1:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if character in _MARKS:
        return ""
    return "\ufffd" if code < 0x2000 or 0xD800 <= code < 0xE000 else f"\u27e8U+{code:04X}\u27e9"


def escaped(text: str) -> str:
    """Any text, for an element or for an attribute in double quotes."""
    return quoted(visible(text))


def marked_up(text: str) -> str:
    """Visible text for an element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quoted(text: str) -> str:
    """Visible text for an element or for an attribute in double quotes."""
    return marked_up(text).replace('"', "&quot;")


# Visible text has no control characters, so two of them can represent the brackets of tags until all of it is escaped at once.


def spans(runs: Sequence[tuple[str, str]]) -> str:
    """Runs of visible text, each with a CSS class or none, for an element."""
    return marked_up(runs[0][1]) if len(runs) == 1 and not runs[0][0] else with_tags(unescaped_spans(runs))


def unescaped_spans(runs: Sequence[tuple[str, str]]) -> str:
    """The same, not escaped yet: see `with_tags`."""
    return "".join([f'\x04span class="{kind}"\x05{text}\x04/span\x05' if kind else text for kind, text in runs])


def with_tags(text: str) -> str:
    """Escape visible text in which control characters represent the brackets of tags."""
    return marked_up(text).replace("\x04", "<").replace("\x05", ">")


def cut_line(text: str | None, limit: int = 300) -> str:
    """Text on one line, cut if it is too long."""
    given = text or ""
    line = " ".join(given[: limit * 4].split())
    return line[:limit].rstrip() + "…" if len(line) > limit or len(given) > limit * 4 else line


def one_line(text: str, limit: int = 300) -> str:
    """Escaped text on one line, cut if it is too long."""
    return escaped(cut_line(text, limit))


def linked(text: str) -> str:
    """Any text, for an element; its web addresses are links."""
    return with_links(visible(text))


def with_links(text: str) -> str:
    """Visible text for an element; its web addresses are links."""
    if "://" not in text:
        return marked_up(text)
    pieces: list[str] = []
    last = 0
    for match in _URL.finditer(text):
        address = match[0].rstrip(_TRAILING)
        if len(address) > 2000 or len(address) < 10:
            continue
        end = match.start() + len(address)
        shown = quoted(address)
        pieces += (
            marked_up(text[last : match.start()]),
            f'<a href="{shown}" rel="noopener noreferrer nofollow">{shown}</a>',
        )
        last = end
    pieces.append(marked_up(text[last:]))
    return "".join(pieces)


def element_id(prefix: str, name: str) -> str:
    """An HTML id; names that are not valid in one are replaced, with a digest to keep them distinct."""
    if _PLAIN_ID.fullmatch(name) and len(name) < 100:
        return prefix + name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{prefix}{_UNFIT.sub('-', name[:60])}-{digest}"
