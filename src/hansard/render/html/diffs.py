"""Diffs as HTML: lines with their numbers in both files, code in colour, and the words that differ between a line and the one that replaced it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from hansard.render.highlighting import Run, coloured
from hansard.render.html.escaping import marked_up
from hansard.thread.views import language_of

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_SIGNS = {"+": "add", "-": "cut", "@": "hunk"}
_WORDS = re.compile(r"\w+|\s+|.")
_MOST_WORDS = 100  # between what both lines begin and end with; more are one difference
_MOST_COLOURED = 20_000  # characters


def sign_of(line: str) -> str:
    """What a line of a diff is: add, cut, hunk or same."""
    return _SIGNS.get(line[:1], "same")


def diff_lines(text: str, path: str) -> list[str]:
    """Each line of a diff as HTML, its sign included."""
    lines = text.split("\n")
    signs = list(map(sign_of, lines))
    runs: list[list[Run]] = [[("", line)] for line in lines]
    language = language_of(path) if len(text) <= _MOST_COLOURED else ""
    if language:
        _colour(lines, signs, runs, language)
    marks = dict(_changed_words(lines, signs))
    return [_line(one, sign, marks.get(place)) for place, (sign, one) in enumerate(zip(signs, runs, strict=True))]


def blocks(lines: Sequence[str], drawn: Sequence[str]) -> str:
    """Drawn lines, each stretch of one sign in an element."""
    out: list[str] = []
    before = ""
    for line, one in zip(lines, drawn, strict=True):
        sign = sign_of(line)
        if sign == before:
            out.append(f"\n{one}")
        else:
            out.append(f'{chr(10) if before else ""}{"</span>" if before else ""}<span class="{sign}">{one}')
            before = sign
    return "".join(out) + "</span>"


def line_numbers(lines: Sequence[str]) -> list[str]:
    """The numbers of each line in the old file and in the new one; nothing where the diff does not say them."""
    old = new = 0
    pairs: list[tuple[str, str]] = []
    for line in lines:
        sign = sign_of(line)
        if sign == "hunk":
            found = _HUNK.match(line)
            if found is None:
                return []
            old, new = int(found[1]), int(found[2])
            pairs.append(("", ""))
            continue
        if not (old or new):
            return []
        if line.startswith("\\"):
            pairs.append(("", ""))
            continue
        pairs.append((str(old) if sign != "add" else "", str(new) if sign != "cut" else ""))
        old += sign != "add"
        new += sign != "cut"
    wide = max((len(number) for pair in pairs for number in pair), default=0)
    return [f"{before:>{wide}} {after:>{wide}}" for before, after in pairs]


def _colour(lines: Sequence[str], signs: Sequence[str], runs: list[list[Run]], language: str) -> None:
    """Colour the new text, and by itself what was cut from the old one."""
    for own in (("same", "add"), ("cut",)):
        places = [place for place, sign in enumerate(signs) if sign in own]
        if not places:
            continue
        whole = coloured("\n".join([lines[place][1:] for place in places]), language)
        for place, inner in zip(places, _by_line(whole), strict=False):
            if lines[place]:
                runs[place] = [("", lines[place][0]), *inner]


def _by_line(runs: Sequence[Run]) -> Iterator[list[Run]]:
    line: list[Run] = []
    for kind, text in runs:
        first, *others = text.split("\n")
        if first:
            line.append((kind, first))
        for other in others:
            yield line
            line = [(kind, other)] if other else []
    yield line


def _changed_words(lines: Sequence[str], signs: Sequence[str]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Where lines that were cut and those that replaced them differ, by the numbers of the lines."""
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
    """The ranges of two lines that differ, behind their signs; none where they have little in common."""
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


def _line(runs: Sequence[Run], sign: str, marks: Sequence[tuple[int, int]] | None) -> str:
    if marks:
        tag = "ins" if sign == "add" else "del"
        out: list[str] = []
        place = 0
        for kind, text in runs:
            for start, end, is_marked in _cut_at(place, place + len(text), marks):
                piece = marked_up(text[start - place : end - place])
                piece = f'<span class="{kind}">{piece}</span>' if kind else piece
                out.append(f"<{tag}>{piece}</{tag}>" if is_marked else piece)
            place += len(text)
        return "".join(out)
    return "".join(f'<span class="{kind}">{marked_up(text)}</span>' if kind else marked_up(text) for kind, text in runs)


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
