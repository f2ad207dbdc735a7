"""Each part of an item as HTML; the style sheet for them is assets/parts.css, and no script is needed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from hansard.model.display import Checklist, Code, Console, Diff, Facts, Part, Picture, Plain, Prose
from hansard.render.format import size
from hansard.render.highlighting import Run, coloured, console_runs
from hansard.render.html.escaping import (
    escaped,
    linked,
    one_line,
    spans,
    unescaped_spans,
    visible,
    with_tags,
)
from hansard.render.html.prose import first_cut, more_words, plain_html, prose
from hansard.thread.tool_views import language_of

_WIDE = 200  # longer lines are wrapped
_STATES = frozenset({"pending", "in_progress", "completed", "deleted", "chosen", "open"})
_STATE_LABELS = {"in_progress": "in progress", "open": "not chosen"}


def parts_html(parts: Iterable[Part]) -> str:
    """Several parts."""
    return "".join(map(part_html, parts))


def part_html(part: Part) -> str:
    match part:
        case Prose():
            return f'<div class="prose" dir="auto">{prose(part.text)}</div>'
        case Plain():
            return plain_html(visible(part.text))
        case Code():
            return code_html(part)
        case Console():
            return _console([(kind, visible(run)) for kind, run in console_runs(part.text)])
        case Diff():
            return _diff(part)
        case Facts():
            return _facts(part)
        case Checklist():
            return _checklist(part)
        case Picture():
            return picture(part)


def code_html(part: Code, *, is_open: bool = False) -> str:
    """Code; the rest of a long piece is folded, or open."""
    text = visible(part.text)
    kind = "code wrap" if part.language == "bash" and not part.first_line else "code"
    return _box(kind, text, coloured(text, part.language), part.first_line, is_open=is_open)


def _console(runs: list[Run]) -> str:
    return _box("console", runs[0][1] if len(runs) == 1 else "".join([run for _, run in runs]), runs, 0)


def _facts(part: Facts) -> str:
    pairs = "".join(f"<div><dt>{one_line(name, 100)}</dt><dd>{linked(value)}</dd></div>" for name, value in part.pairs)
    return f'<dl class="facts">{pairs}</dl>'


def _checklist(part: Checklist) -> str:
    rows = []
    for state, text in part.items:
        known = state in _STATES
        label = _STATE_LABELS.get(state, state) if known else one_line(state, 40)
        rows.append(
            f'<li class="{state if known else "pending"}"><span class="unseen">{label}: </span>{escaped(text)}</li>'
        )
    return f'<ul class="checklist">{"".join(rows)}</ul>'


def _diff(part: Diff) -> str:
    """A diff, with line numbers if it has them."""
    text = visible(part.text)
    place = first_cut(text)
    if not text.strip() or (place and text[place - 1] != "\n"):
        return _box("diff", text, [("same", text)], 0)
    lines = text.split("\n")
    signs, drawn = diff_lines(lines, part.path)
    numbers = line_numbers(lines)

    def draw(low: int, high: int) -> str:
        wraps = max(map(len, lines[low:high])) > _WIDE
        changes = blocks(signs[low:high], drawn[low:high])
        if wraps or not numbers:
            return f'<pre class="diff code{" wrap" if wraps else ""}">\n{changes}</pre>'
        gutter = "\n".join(numbers[low:high])
        return f'<div class="numbered"><pre class="lines" aria-hidden="true">\n{gutter}</pre><pre class="diff code">\n{changes}</pre></div>'

    if not place:
        return draw(0, len(lines))
    first = text.count("\n", 0, place)
    return (
        f'<div class="long">{draw(0, first)}<details class="more"><summary>{more_words(text, place)}</summary>'
        f"{draw(first, len(lines))}</details></div>"
    )


def _box(kind: str, text: str, runs: list[Run], first_line: int, *, is_open: bool = False) -> str:
    """Preformatted text, plain and as runs; the rest of a long one is folded, or open."""
    if not text or text.isspace():
        return ""
    place = first_cut(text)
    if not place:
        return _pre(kind, spans(runs), text, first_line)
    end = place - 1 if text[place - 1] == "\n" else place
    head = text[:end]
    rest = text[place:]
    shown, hidden = _cut_runs(runs, end, place)
    after = first_line + head.count("\n") + 1 if first_line else 0
    return (
        f'<div class="long">{_pre(kind, spans(shown), head, first_line)}'
        f'<details class="more"{" open" if is_open else ""}><summary>{more_words(text, place)}</summary>'
        f"{_pre(kind, spans(hidden), rest, after)}</details></div>"
    )


def _cut_runs(runs: list[Run], end: int, start: int) -> tuple[list[Run], list[Run]]:
    """Split runs at a position of their text; the newline between `end` and `start` is dropped."""
    shown: list[Run] = []
    place = number = 0
    while number < len(runs) and place + len(runs[number][1]) <= start:
        place += len(runs[number][1])
        number += 1
    shown = runs[:number]
    hidden = runs[number:]
    if place < start:
        kind, run = hidden[0]
        shown.append((kind, run[: start - place]))
        hidden[0] = (kind, run[start - place :])
    if end < start:
        kind, run = shown.pop()
        if len(run) > 1:
            shown.append((kind, run[:-1]))
    return shown, hidden


def _pre(kind: str, drawn: str, text: str, first_line: int) -> str:
    if not first_line:
        wraps = kind == "console" or (
            kind != "code wrap" and len(text) > _WIDE and max(map(len, text.split("\n"))) > _WIDE
        )
        return f'<pre class="{kind}{" wrap" if wraps else ""}">\n{drawn}</pre>'
    numbers = "\n".join(map(str, range(first_line, first_line + text.count("\n") + 1)))
    return f'<div class="numbered"><pre class="lines" aria-hidden="true">{numbers}</pre><pre class="{kind}">\n{drawn}</pre></div>'


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
    """An image as a data URL, or a placeholder."""
    kind = part.media_type.strip().lower().replace("image/jpg", "image/jpeg")
    is_base64 = _BASE64.fullmatch(part.data) is not None
    data = part.data if is_base64 else "".join(part.data.split())
    fits = len(data) % 4 == 0 and (is_base64 or _BASE64.fullmatch(data) is not None)
    length = len(data) * 3 // 4 - data.count("=")
    if fits and kind in _BEGINNINGS:
        head = _decoded(data[:_HEAD])
        if head.startswith(_BEGINNINGS[kind]) and (kind != "image/webp" or head[8:12] == b"WEBP"):
            wide, high = dimensions(kind, head)
            sides = f' width="{wide}" height="{high}"' if wide and high else ""
            name = f"{kind.partition('/')[2].upper()} image, {size(length)}"
            return f'<img class="picture" src="data:{kind};base64,{data}" alt="{name}"{sides} loading="lazy" decoding="async">'
    what = one_line(part.media_type, 80) or "a file"
    words = f"{what}, {size(length)}" if fits else f"{what}, not readable"
    return f'<p class="placeholder">Not shown: {words}</p>'


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def dimensions(kind: str, head: bytes) -> tuple[int, int]:
    """Width and height from the image's header, or zeros: the page reserves that space."""
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


# -- diffs: code in colour, and the words that differ between a line and the one that replaced it

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_SIGNS = {"+": "add", "-": "cut", "@": "hunk"}  # any other line is the same in both
_SPAN_END = "\x04/span\x05"
_WORDS = re.compile(r"\w+|\s+|.")
_MOST_WORDS = 100  # between what both lines begin and end with; more are one difference
_MOST_COLOURED = 20_000  # characters


def diff_lines(lines: Sequence[str], path: str) -> tuple[list[str], list[str]]:
    """The kind of each line of a diff, and its HTML, sign included."""
    signs = [_SIGNS.get(line[:1], "same") for line in lines]
    drawn = list(lines)
    marks = {place: ranges for place, ranges in _changed_words(lines, signs) if ranges}
    runs: dict[int, list[Run]] = {place: [("", lines[place])] for place in marks}
    size = sum(map(len, lines)) + len(lines) - 1
    language = language_of(path) if size <= _MOST_COLOURED else ""
    if language:
        _colour(lines, signs, drawn, runs, language)
    for place, ranges in marks.items():
        drawn[place] = _marked(runs[place], "ins" if signs[place] == "add" else "del", ranges)
    return signs, with_tags("\n".join(drawn)).split("\n")


def blocks(signs: Sequence[str], drawn: Sequence[str]) -> str:
    """Drawn lines, each stretch of one sign in an element."""
    out: list[str] = []
    begun = 0
    for place in range(1, len(signs) + 1):
        if place == len(signs) or signs[place] != signs[begun]:
            run = "\n".join(drawn[begun:place])
            out.append(f'<span class="{signs[begun]}">{run}')
            begun = place
    return "\n</span>".join(out) + "</span>"


def line_numbers(lines: Sequence[str]) -> list[str]:
    """Line numbers in the old and the new file; empty if the diff has none."""
    old = new = 0
    before: list[str] = []
    after: list[str] = []
    for line in lines:
        first = line[:1]
        if first == "@":
            found = _HUNK.match(line)
            if found is None:
                return []
            old, new = int(found[1]), int(found[2])
        elif not (old or new):
            return []
        is_old, is_new = first not in ("@", "+", "\\"), first not in ("@", "-", "\\")
        before.append(str(old) if is_old else "")
        after.append(str(new) if is_new else "")
        old += is_old
        new += is_new
    wide = max(map(len, before + after), default=0)
    return [f"{one.rjust(wide)} {other.rjust(wide)}" for one, other in zip(before, after, strict=True)]


def _colour(
    lines: Sequence[str], signs: Sequence[str], drawn: list[str], runs: dict[int, list[Run]], language: str
) -> None:
    """Highlight the new text, and separately the removed lines: in `drawn`, and in `runs` for the lines that are in it."""
    for own in (("same", "add"), ("cut",)):
        places = [place for place, sign in enumerate(signs) if sign in own]
        if not places:
            continue
        whole = coloured("\n".join([lines[place][1:] for place in places]), language)
        for place, line in zip(places, _spans_by_line(whole), strict=False):
            drawn[place] = lines[place][:1] + line
        if not runs.keys().isdisjoint(places):
            for place, inner in zip(places, _by_line(whole), strict=False):
                if place in runs:
                    runs[place] = [("", lines[place][:1]), *inner]


def _spans_by_line(runs: Sequence[Run]) -> list[str]:
    """The lines of runs, each with spans of its own, before `with_tags`."""
    out: list[str] = []
    for kind, text in runs:
        if not kind:
            out.append(text)
            continue
        span = f'\x04span class="{kind}"\x05'
        if "\n" in text:
            whole = text.replace("\n", f"{_SPAN_END}\n{span}")
            out.append(f"{span}{whole}{_SPAN_END}".replace(span + _SPAN_END, ""))
        else:
            out.append(f"{span}{text}{_SPAN_END}")
    return "".join(out).split("\n")


def _by_line(runs: Sequence[Run]) -> Iterator[list[Run]]:
    line: list[Run] = []
    for kind, text in runs:
        if "\n" not in text:
            line.append((kind, text))
            continue
        first, *others = text.split("\n")
        if first:
            line.append((kind, first))
        for other in others:
            yield line
            line = [(kind, other)] if other else []
    yield line


def _changed_words(lines: Sequence[str], signs: Sequence[str]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Where removed lines differ from those that replaced them, by line."""
    place = 0
    while place < len(lines):
        if signs[place] != "cut":
            place += 1
            continue
        added = place
        while added < len(lines) and signs[added] == "cut":
            added += 1
        end = added
        while end < len(lines) and signs[end] == "add":
            end += 1
        if end - added == added - place:  # as many as were cut: each was replaced by its counterpart
            for old, new in zip(range(place, added), range(added, end), strict=True):
                before, after = _differing(lines[old], lines[new])
                if before or after:
                    yield old, before
                    yield new, after
        place = end


def _differing(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The differing ranges of two lines, after their signs; none if they have little in common."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    short = min(len(before), len(after))
    low = 1
    while low < short and before[low] == after[low]:
        low += 1
    tail = 0
    while tail < short - low and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    inner, other = before[low : len(before) - tail], after[low : len(after) - tail]
    pairs = [(0, len(inner), 0, len(other))]
    if min(len(inner), len(other)) > 1 and max(len(inner), len(other)) <= _MOST_WORDS:
        matches = SequenceMatcher(None, inner, other, autojunk=False).get_opcodes()
        pairs = [(a, b, c, d) for tag, a, b, c, d in matches if tag != "equal"]
    start = sum(map(len, before[:low]))
    gaps = [
        [(start + sum(map(len, inner[:a])), start + sum(map(len, inner[:b]))) for a, b, _, _ in pairs if a < b],
        [(start + sum(map(len, other[:a])), start + sum(map(len, other[:b]))) for _, _, a, b in pairs if a < b],
    ]
    for line, found in zip((old, new), gaps, strict=True):
        if 2 * sum(high - first for first, high in found) > len(line.strip()):
            return [], []
    return gaps[0], gaps[1]


def _marked(runs: Sequence[Run], tag: str, marks: Sequence[tuple[int, int]]) -> str:
    """A line whose changed words are in elements, before `with_tags`."""
    out: list[str] = []
    place = 0
    for kind, text in runs:
        for start, end, is_marked in _cut_at(place, place + len(text), marks):
            piece = unescaped_spans([(kind, text[start - place : end - place])])
            out.append(f"\x04{tag}\x05{piece}\x04/{tag}\x05" if is_marked else piece)
        place += len(text)
    return "".join(out)


def _cut_at(low: int, high: int, marks: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    for start, end in marks:
        begin, stop = max(low, start), min(high, end)
        if begin >= stop:
            continue
        if low < begin:
            yield low, begin, False
        yield begin, stop, True
        low = stop
    if low < high:
        yield low, high, False
