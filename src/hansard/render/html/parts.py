"""Each part of an item as HTML; the style sheet for them is assets/parts.css, and no script is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hansard.model.display import Checklist, Code, Console, Diff, Facts, Part, Picture, Plain, Prose
from hansard.render.html.ansi import shown
from hansard.render.html.colours import Run, coloured
from hansard.render.html.escaping import escaped, linked, marked_up, one_line, visible, with_links
from hansard.render.html.pictures import picture
from hansard.render.html.prose import prose

LONG = 40  # lines; beyond them only the first are shown at once
FIRST = 30
LONG_TEXT = 8_000  # characters, the same
FIRST_TEXT = 5_000
_WIDE = 200  # a line of so many characters is broken
_SIGNS = {"+": "add", "-": "cut", "@": "hunk"}
_STATES = frozenset({"pending", "in_progress", "completed", "deleted", "chosen", "open"})
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
            return _box("console", list(shown(part.text)), 0)
        case Diff():
            return _box("diff", _changes(visible(part.text)), 0)
        case Facts():
            return _facts(part)
        case Checklist():
            return _checklist(part)
        case Picture():
            return picture(part)


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


def _changes(text: str) -> list[Run]:
    """A diff as runs of lines of one sign."""
    runs: list[Run] = []
    lines: list[str] = []
    current = ""
    for line in text.split("\n"):
        sign = _SIGNS.get(line[:1], "same")
        if sign != current and lines:
            runs.append((current, "\n".join(lines) + "\n"))
            lines = []
        current = sign
        lines.append(line)
    runs.append((current, "\n".join(lines)))
    return runs


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
