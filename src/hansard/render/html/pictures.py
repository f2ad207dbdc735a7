"""Images inside a page, where they are what they say they are; anything else by its name and size."""

from __future__ import annotations

import base64
import binascii
import re

from hansard.model.display import Picture
from hansard.render.html.escaping import one_line
from hansard.render.words import size

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HEAD = 64 * 1024  # of the base64 text: enough to find the size of a JPEG behind its metadata
_BEGINNINGS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
_JPEG_SIZES = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})


def picture(part: Picture) -> str:
    """An image as an element that holds it, or a line that says what is not shown."""
    kind = part.media_type.strip().lower().replace("image/jpg", "image/jpeg")
    data = part.data if _BASE64.fullmatch(part.data) else "".join(part.data.split())
    fits = len(data) % 4 == 0 and _BASE64.fullmatch(data) is not None
    length = len(data) * 3 // 4 - data.count("=")
    if fits and kind in _BEGINNINGS:
        head = _decoded(data[:_HEAD])
        if head.startswith(_BEGINNINGS[kind]) and (kind != "image/webp" or head[8:12] == b"WEBP"):
            wide, high = dimensions(kind, head)
            sides = f' width="{wide}" height="{high}"' if wide and high else ""
            name = f"{kind.partition('/')[2].upper()} image, {size(length)}"
            return f'<img class="picture" src="data:{kind};base64,{data}" alt="{name}"{sides} loading="lazy" decoding="async">'
    what = one_line(part.media_type, 80) or "a file"
    told = f"{what}, {size(length)}" if fits else f"{what}, not readable"
    return f'<p class="placeholder">Not shown: {told}</p>'


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def dimensions(kind: str, head: bytes) -> tuple[int, int]:
    """Width and height by what the image's own head says, zeros where it does not: the page keeps their room free."""
    wide = high = 0
    if kind == "image/png" and head[12:16] == b"IHDR":
        wide, high = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    elif kind == "image/gif":
        wide, high = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    elif kind == "image/webp":
        wide, high = _webp(head)
    elif kind == "image/jpeg":
        wide, high = _jpeg(head)
    return (wide, high) if 0 < wide < 1 << 16 and 0 < high < 1 << 16 else (0, 0)


def _webp(head: bytes) -> tuple[int, int]:
    kind = head[12:16]
    if kind == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if kind == b"VP8 ":
        return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return 0, 0


def _jpeg(head: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 < len(head) and head[place] == 0xFF:
        marker = head[place + 1]
        if marker in _JPEG_SIZES:
            return int.from_bytes(head[place + 7 : place + 9]), int.from_bytes(head[place + 5 : place + 7])
        place += 2 + max(2, int.from_bytes(head[place + 2 : place + 4]))
    return 0, 0
