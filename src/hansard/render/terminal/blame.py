"""Blame and commits in the terminal: a gutter beside the code says who wrote it, with details of each session below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hansard.model.table import Column, Kind, Table
from hansard.render.format import attributed_cost, full, many, model_name, titled
from hansard.render.terminal.parts import Board
from hansard.render.terminal.spans import code_lines
from hansard.render.terminal.tables import draw_table
from hansard.render.text import PIPED, Paint, clean, fit, one_line, pad, short_id
from hansard.thread.tool_views import language_of

if TYPE_CHECKING:
    from hansard.model.blame import BlamedLine, BlameReport, Commit, CommitReport, Contribution, RecordedEdit

SIGNS = {"exact": "●", "moved": "◆", "partial": "◐", "window": "○", "marked": "◌", "unknown": " "}
_WORDS = {
    "exact": "exact",
    "moved": "moved or reformatted",
    "partial": "partly rewritten",
    "window": "time window only",
    "marked": "marked by another tool",
}
_STYLES = ("cyan", "magenta", "yellow", "green", "blue")
_COMMIT = 8  # characters of a hash


_NARROW = 100  # columns: below, the author and the date are left out
_COMMITS = (
    Column("WHEN", Kind.TIME),
    Column("COMMIT", style="yellow"),
    Column("LINES", right=True),
    Column("COST", right=True),
    Column("SUBJECT", least=24),
    Column("SESSIONS", least=20, style="cyan"),
)


def draw_blame(report: BlameReport, columns: int, paint: Paint) -> Iterator[str]:
    """A file, or what a commit added to it, with who wrote each line."""
    drawing = _BlameDrawing(report, columns, paint)
    yield from drawing.code()
    yield ""
    yield from drawing.sessions()


def draw_commit(report: CommitReport, columns: int, paint: Paint) -> Iterator[str]:
    commit = report.commit
    yield f"{paint('commit ' + commit.commit, 'yellow')}  {one_line(commit.author)}  {paint(full(commit.committed_at), 'dim')}"
    yield f"    {one_line(commit.subject)}"
    for mark in commit.marks:
        yield paint(f"    {mark.source}: {one_line(mark.value)}", "dim")
    for file in report.files:
        yield ""
        yield paint(one_line(file.path), "bold") + "  " + paint(summary(file), "dim")
        yield from _BlameDrawing(file, columns, paint, with_commit=False).code()
    yield ""
    for part in report.sessions:
        yield _contribution(part, paint)
    if not report.sessions:
        yield paint("no recorded session contributed to it", "dim")
    for path in report.skipped:
        yield paint(f"{one_line(path)}: binary, skipped", "dim")
    drawn = {(edit.session_id, edit.turn): edit for file in report.files for edit in file.edits}
    for edit in drawn.values():
        yield from _edit(edit, paint, columns, "cyan")


def summary(report: BlameReport) -> str:
    """How many lines are whose, in a few words."""
    known = sum(count for name, count in report.counts.items() if name not in ("unknown", "marked"))
    sessions = len({edit.session_id for edit in report.edits})
    words = [many(len(report.lines), "line")]
    if known:
        words.append(f"{known:,} by {many(sessions, 'session')}")
    if report.counts.get("marked"):
        words.append(f"{report.counts['marked']:,} marked by another tool")
    if report.counts.get("unknown"):
        words.append(f"{report.counts['unknown']:,} not recorded")
    if report.cost_usd is not None:
        words.append(attributed_cost(report))
    return " · ".join(words)


class _BlameDrawing:
    def __init__(self, report: BlameReport, columns: int, paint: Paint, *, with_commit: bool = True) -> None:
        self._report = report
        self._columns = columns
        self._paint = paint
        self._with_commit = with_commit
        self._commits = {commit.commit: commit for commit in report.commits}
        self._edits = {edit.number: edit for edit in report.edits}
        names = list(dict.fromkeys(edit.session_id for edit in report.edits))
        self._colours = {name: _STYLES[place % len(_STYLES)] for place, name in enumerate(names)}

    def code(self) -> Iterator[str]:
        lines = self._report.lines
        digits = len(str(max((line.number for line in lines), default=0)))
        text = "\n".join(clean(line.text).expandtabs(4).replace("\n", " ") for line in lines)
        rows = (
            code_lines(text, language_of(self._report.path))
            if self._paint.enabled
            else [[("", line)] for line in text.split("\n")]
        )
        before: tuple[object, ...] | None = None
        number = 0
        for line, row in zip(lines, rows, strict=False):
            key = (line.commit, line.edit, line.mark)
            is_next = line.number == number + 1
            gutter = self._gutter(line, is_first=key != before or not is_next)
            if before is not None and not is_next:
                yield self._paint("⋯", "dim")
            before, number = key, line.number
            rule = self._paint(f"{str(line.number).rjust(digits)} │ ", "dim")
            board = Board(max(20, self._columns - self._width() - digits - 3), self._paint.enabled)
            cut = row if self._columns >= PIPED else board._cut(row)  # noqa: SLF001 - the same drawing
            drawn = board.lay(cut)
            yield f"{gutter}{rule}{drawn[0] if drawn else ''}".rstrip()

    def _width(self) -> int:
        return (_COMMIT + 1) * self._with_commit + 2 + 9 + 6 + (0 if self._columns < _NARROW else 10)

    def _gutter(self, line: BlamedLine, *, is_first: bool) -> str:
        paint = self._paint
        edit = self._edits.get(line.edit or 0)
        style = self._colours[edit.session_id] if edit is not None else "dim"
        sign = paint(SIGNS[line.certainty], style)
        date_columns = 0 if self._columns < _NARROW else 11
        if not is_first:
            blank = " " * ((_COMMIT + 1) * self._with_commit)
            return f"{blank}{sign} {' ' * (9 + 6 + date_columns)}"
        commit = self._commits.get(line.commit)
        found = paint(line.commit[:_COMMIT], "dim") + " " if self._with_commit else ""
        if edit is not None:
            turn = f"#{edit.turn}" if edit.turn is not None else ""
            origin = paint(pad(one_line(edit.session_id)[:8], 9), style) + paint(pad(turn, 6), "dim")
        else:
            name = line.mark.source if line.mark is not None else commit.author if commit is not None else ""
            origin = paint(pad(fit(one_line(name), 14), 15), "dim")
        date = ""
        if date_columns:
            at = edit.at if edit is not None else commit.authored_at if commit is not None else None
            date = paint(pad(full(at)[:10], 11), "dim")
        return f"{found}{sign} {origin}{date}"

    def sessions(self) -> Iterator[str]:
        paint = self._paint
        used = [name for name in _WORDS if self._report.counts.get(name)]
        yield paint(summary(self._report), "bold")
        if used:
            yield paint("  ".join(f"{SIGNS[name]} {_WORDS[name]}" for name in used), "dim")
        for edit in self._turns():
            yield from _edit(edit, paint, self._columns, self._colours[edit.session_id])

    def _turns(self) -> list[RecordedEdit]:
        """The first edit of every turn, the one with the most lines on top."""
        lines: dict[tuple[str, int | None], int] = {}
        first: dict[tuple[str, int | None], RecordedEdit] = {}
        for edit in self._report.edits:
            key = (edit.session_id, edit.turn)
            lines[key] = lines.get(key, 0) + edit.lines
            first.setdefault(key, edit)
        return [first[key] for key in sorted(first, key=lambda key: -lines[key])]


def _edit(edit: RecordedEdit, paint: Paint, columns: int, style: str) -> Iterator[str]:
    """A turn that wrote lines: how to show it, its prompt, its location."""
    turn = f"#{edit.turn}" if edit.turn is not None else ""
    facts = [model_name(edit.model) if edit.model else "", full(edit.at), one_line(edit.tool)]
    facts.append(attributed_cost(edit) if edit.cost_usd is not None else "")
    facts.append("subagent" if edit.agent_id else "")
    head = f"{short_id(edit.session_id)} {turn}".rstrip()
    about = " · ".join(fact for fact in facts if fact)
    yield f"{paint(head, style)}  {fit(titled(edit.title), max(20, columns - len(head) - len(about) - 6))}  {paint(about, 'dim')}"
    if edit.prompt and one_line(edit.prompt) != one_line(edit.title):
        yield "    " + fit(f"“{one_line(edit.prompt)}”", max(20, columns - 4))
    yield paint(f"    {one_line(edit.transcript)}:{edit.offset}", "dim")


def _contribution(part: Contribution, paint: Paint) -> str:
    made = " · made the commit" if part.made else ""
    cost = f" · {attributed_cost(part)}" if part.cost_usd is not None else ""
    about = f"{part.lines:,} of {many(part.added, 'line')}{cost}{made}"
    return f"{paint(short_id(part.session_id), 'cyan')}  {one_line(part.title[:200]) or '(untitled)'}  {paint(about, 'dim')}"


def commit_table(commits: Sequence[Commit], columns: int, paint: Paint) -> list[str]:
    """Commits with the sessions behind them."""
    rows = [
        (
            commit.committed_at,
            commit.commit[:_COMMIT],
            f"{sum(part.lines for part in commit.sessions):,}/{commit.added:,}",
            attributed_cost(commit) if commit.cost_usd is not None else "-",
            one_line(commit.subject[:400]) or "(no subject)",
            ", ".join(f"{one_line(part.session_id[:8])}{'*' if part.made else ''}" for part in commit.sessions),
        )
        for commit in commits
    ]
    return draw_table(Table(_COMMITS, rows), columns, paint)
