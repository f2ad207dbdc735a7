"""Each part of an item as HTML; the style sheet for them is assets/parts.css, and no script is needed.

Of what programs wrote to a terminal the colours stay, as runs of text with classes, and everything else they tried is left out.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from hansard.model.display import Checklist, Code, Console, Diff, Facts, Part, Picture, Plain, Prose
from hansard.render.highlighting import Run, coloured
from hansard.render.html.diffs import blocks, diff_lines, line_numbers
from hansard.render.html.escaping import escaped, linked, marked_up, one_line, visible, with_links
from hansard.render.html.prose import prose
from hansard.render.words import size

LONG = 40  # lines; beyond them only the first are shown at once
FIRST = 30
LONG_TEXT = 8_000  # characters, the same
FIRST_TEXT = 5_000
_WIDE = 200  # a line of so many characters is broken
_MARKDOWN = re.compile(
    r"^ {0,3}(?:```|~~~|#{1,6} |[-*+] |\d{1,9}[.)] |> |\|.*\|)|(?<!`)`[^`\n]+`|\*\*[^\s*]|\[[^\[\]\n]+\]\(",
    re.MULTILINE,
)
_INLINE_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
# What Markdown takes for its own in names and paths: underscores, backslashes, entities.
_EATEN = re.compile(r"(?<!\w)_{1,3}\w|\\[!-/:-@\[-`{-~]|&#?\w+;|^ {4}|^\t", re.MULTILINE)
_STATES = frozenset({"pending", "in_progress", "completed", "deleted", "chosen", "open"})
_SEQUENCE = re.compile(
    "\x1b\\[([0-?]*)[ -/]*([@-~])"  # CSI; m is a colour
    "|\x9b([0-?]*)[ -/]*([@-~])"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c|(?=[\x1b\n])|$)"  # titles, links
    "|\x1b[ -/]*[0-~]?"
)
_NUMBERS = re.compile(r"[0-9;:]*")
_LINE_ENDS = re.compile("\r++\n?")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# Where the sixteen colours lie, to find the nearest of them to any other.
_PALETTE = (
    (0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188), (17, 168, 205), (204, 204, 204),
    (102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67), (59, 142, 234), (214, 112, 214), (41, 184, 219), (255, 255, 255),
)  # fmt: skip
_CUBE = (0, 95, 135, 175, 215, 255)
_ON = {1: "bold", 2: "dim", 3: "ital", 4: "ul", 7: "inv", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("ital",), 24: ("ul",), 27: ("inv",), 29: ("strike",)}
CONSOLE_CLASSES = frozenset(
    [*(name for name in _ON.values() if name != "inv"), *(f"{ground}{colour}" for ground in "fg" for colour in range(16)), "fi", "gi"]
)  # fmt: skip
_SAID = {"in_progress": "in progress", "open": "not chosen"}


def parts_html(parts: Iterable[Part]) -> str:
    """Parts one below the other."""
    return "".join(map(part_html, parts))


def part_html(part: Part) -> str:
    """One part."""
    match part:
        case Prose():
            return f'<div class="prose" dir="auto">{prose(part.text)}</div>'
        case Plain():
            return _plain(visible(part.text))
        case Code():
            return code_html(part)
        case Console():
            return _box("console", list(console_runs(part.text)), 0)
        case Diff():
            return _diff(part)
        case Facts():
            return _facts(part)
        case Checklist():
            return _checklist(part)
        case Picture():
            return picture(part)


def prompt_html(text: str) -> str:
    """A prompt: Markdown where it is written so and nothing of it would be lost, else as it was typed."""
    if _MARKDOWN.search(text) and not _EATEN.search(_INLINE_CODE.sub("", text)) and not _cut(text):
        return f'<div class="prose" dir="auto">{prose(text)}</div>'
    return _plain(visible(text))


def _plain(text: str) -> str:
    place = _cut(text)
    if not place:
        return f'<div class="plain" dir="auto">{with_links(text)}</div>' if text else ""
    end = place - 1 if text[place - 1] == "\n" else place
    return (
        f'<div class="plain" dir="auto">{with_links(text[:end])}</div><details class="more"><summary>{_more(text, place)}</summary>'
        f'<div class="plain" dir="auto">{with_links(text[place:])}</div></details>'
    )


def code_html(part: Code, *, is_open: bool = False) -> str:
    """Code; the rest of a long piece is folded, or open."""
    text = visible(part.text)
    kind = "code wrap" if part.language == "bash" and not part.first_line else "code"
    return _box(kind, coloured(text, part.language), part.first_line, is_open=is_open)


def _facts(part: Facts) -> str:
    pairs = "".join(f"<div><dt>{one_line(name, 100)}</dt><dd>{linked(value)}</dd></div>" for name, value in part.pairs)
    return f'<dl class="facts">{pairs}</dl>'


def _checklist(part: Checklist) -> str:
    rows = []
    for state, text in part.items:
        known = state in _STATES
        said = _SAID.get(state, state) if known else one_line(state, 40)
        rows.append(
            f'<li class="{state if known else "pending"}"><span class="unseen">{said}: </span>{escaped(text)}</li>'
        )
    return f'<ul class="checklist">{"".join(rows)}</ul>'


def _diff(part: Diff) -> str:
    """A diff, with the numbers of its lines where it says them."""
    text = visible(part.text)
    place = _cut(text)
    if not text.strip() or (place and text[place - 1] != "\n"):
        return _box("diff", [("same", text)], 0)
    lines, drawn = text.split("\n"), diff_lines(text, part.path)
    numbers = line_numbers(lines)

    def stretch(low: int, high: int) -> str:
        wraps = max(map(len, lines[low:high])) > _WIDE
        changes = blocks(lines[low:high], drawn[low:high])
        if wraps or not numbers:
            return f'<pre class="diff code{" wrap" if wraps else ""}">\n{changes}</pre>'
        told = "\n".join(numbers[low:high])
        return f'<div class="numbered"><pre class="lines" aria-hidden="true">\n{told}</pre><pre class="diff code">\n{changes}</pre></div>'

    if not place:
        return stretch(0, len(lines))
    first = text.count("\n", 0, place)
    return (
        f'<div class="long">{stretch(0, first)}<details class="more"><summary>{_more(text, place)}</summary>'
        f"{stretch(first, len(lines))}</details></div>"
    )


def _box(kind: str, runs: list[Run], first_line: int, *, is_open: bool = False) -> str:
    """Preformatted text; a long one shows its beginning, and the rest when it is opened, or below it."""
    text = runs[0][1] if len(runs) == 1 else "".join(run for _, run in runs)
    if not text.strip():
        return ""
    place = _cut(text)
    if not place:
        return _pre(kind, _spans(runs, 0, len(text)), text, first_line)
    end = place - 1 if text[place - 1] == "\n" else place
    head = text[:end]
    rest = text[place:]
    after = first_line + head.count("\n") + 1 if first_line else 0
    return (
        f'<div class="long">{_pre(kind, _spans(runs, 0, end), head, first_line)}'
        f'<details class="more"{" open" if is_open else ""}><summary>{_more(text, place)}</summary>'
        f"{_pre(kind, _spans(runs, place, len(text)), rest, after)}</details></div>"
    )


def _cut(text: str) -> int:
    """Where a text is cut: behind a line's end, in a line that is too long, or nowhere: 0."""
    place = 0
    if text.count("\n") >= LONG:
        for _ in range(FIRST):
            place = text.index("\n", place) + 1
    if (place or len(text)) > LONG_TEXT:
        place = text.rfind("\n", FIRST_TEXT // 5, FIRST_TEXT) + 1 or FIRST_TEXT
    return place


def _more(text: str, place: int) -> str:
    """What is not shown at once."""
    if text[place - 1] == "\n":
        return f"{text.count(chr(10), place) + 1:,} more lines"
    return f"{len(text) - place:,} more characters"


def _spans(runs: Sequence[Run], start: int, end: int) -> str:
    """The runs between two places of their text."""
    out: list[str] = []
    place = 0
    for kind, run in runs:
        after = place + len(run)
        if after > start and place < end:
            piece = marked_up(run[max(0, start - place) : end - place])
            out.append(f'<span class="{kind}">{piece}</span>' if kind else piece)
        place = after
    return "".join(out)


def _pre(kind: str, drawn: str, text: str, first_line: int) -> str:
    if not first_line:
        wraps = kind == "console" or (
            kind != "code wrap" and len(text) > _WIDE and max(map(len, text.split("\n"))) > _WIDE
        )
        return f'<pre class="{kind}{" wrap" if wraps else ""}">\n{drawn}</pre>'
    numbers = "\n".join(map(str, range(first_line, first_line + text.count("\n") + 1)))
    return f'<div class="numbered"><pre class="lines" aria-hidden="true">{numbers}</pre><pre class="{kind}">\n{drawn}</pre></div>'


# -- what programs wrote to a terminal


def console_runs(text: str) -> Iterable[Run]:
    """A program's output as runs, each with the classes of its colours."""
    if "\r" in text:
        text = _LINE_ENDS.sub(lambda found: "\n" * max(1, found[0].count("\r") * (found[0][-1] == "\r")), text)
    if "\x1b" not in text and not _UNSEEN.search(text):
        return (("", text),) if text else ()
    return _runs(text)


def _runs(text: str) -> Iterator[Run]:
    state: dict[str, str] = {}
    classes = ""
    last = 0
    for match in _SEQUENCE.finditer(text):
        if piece := _UNSEEN.sub("", text[last : match.start()]):
            yield classes, piece
        last = match.end()
        if "m" in (match[2], match[4]):
            parameters = match[1] if match[2] else match[3]
            if _NUMBERS.fullmatch(parameters):
                _set(state, parameters)
                classes = _classes(state)
    if piece := _UNSEEN.sub("", text[last:]):
        yield classes, piece


def _set(state: dict[str, str], parameters: str) -> None:
    numbers = [int(number[:4] or 0) for number in parameters[:500].replace(":", ";").split(";")]
    place = 0
    while place < len(numbers):
        number = numbers[place]
        place += 1
        if number == 0:
            state.clear()
        elif number in _ON:
            state[_ON[number]] = _ON[number]
        elif number in _OFF:
            for name in _OFF[number]:
                state.pop(name, None)
        elif number in (38, 48):
            colour, place = _extended(numbers, place)
            if colour is not None:
                state["f" if number == 38 else "g"] = str(colour)
        elif number in (39, 49):
            state.pop("f" if number == 39 else "g", None)
        elif 30 <= number < 38 or 90 <= number < 98:
            state["f"] = str(number - 30 if number < 90 else number - 82)
        elif 40 <= number < 48 or 100 <= number < 108:
            state["g"] = str(number - 40 if number < 100 else number - 92)


def _extended(numbers: list[int], place: int) -> tuple[int | None, int]:
    """The nearest of the sixteen to a colour of 256 or of any, and the place behind its numbers."""
    kind = numbers[place] if place < len(numbers) else None
    if kind == 5 and place + 1 < len(numbers):
        return _of_256(numbers[place + 1]), place + 2
    if kind == 2 and place + 3 < len(numbers):
        return _nearest(numbers[place + 1], numbers[place + 2], numbers[place + 3]), place + 4
    return None, len(numbers)


def _of_256(number: int) -> int | None:
    if number < 16:
        return number
    if number < 232:
        red, rest = divmod(number - 16, 36)
        green, blue = divmod(rest, 6)
        return _nearest(_CUBE[red], _CUBE[green], _CUBE[blue])
    return _nearest(*(8 + 10 * (number - 232),) * 3) if number < 256 else None


@lru_cache(maxsize=4096)
def _nearest(red: int, green: int, blue: int) -> int:
    wanted = (red, green, blue)
    if max(wanted) - min(wanted) < 20:  # a grey stays a grey
        level = sum(wanted) // 3
        return 0 if level < 50 else 8 if level < 150 else 7 if level < 230 else 15
    return min(
        (place for place in range(16) if place not in (0, 7, 8, 15)),
        key=lambda place: sum((a - b) ** 2 for a, b in zip(_PALETTE[place], wanted, strict=True)),
    )


def _classes(state: dict[str, str]) -> str:
    """The classes of a state: f and a number for the text, g for the ground, turned round where it says so."""
    text, ground = state.get("f"), state.get("g")
    if "inv" in state:
        names = [f"f{ground}" if ground else "fi", f"g{text}" if text else "gi"]
    else:
        names = [*((f"f{text}",) if text else ()), *((f"g{ground}",) if ground else ())]
    names += [name for name in ("bold", "dim", "ital", "ul", "strike") if name in state]
    return " ".join(names)


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
