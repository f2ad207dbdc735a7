"""Reports of blame: lines with their commits, sessions, prompts and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from hansard.git.attribution import Marks
from hansard.git.describe import Describer
from hansard.git.edits import Places, RecordedCall, Write
from hansard.git.matching import Claim
from hansard.git.repository import NOT_COMMITTED, Blamed, CommitInfo, Repository
from hansard.model.blame import CERTAINTIES, BlamedCommit, BlamedLine, BlameReport, Contribution

if TYPE_CHECKING:
    from hansard.thread.store import ThreadStore


class Source(NamedTuple):
    """One write of a call."""

    call: RecordedCall
    write: Write
    is_same_file: bool
    still: tuple[frozenset[int], ...] = ()  # of each block, the lines that are still in the file that it wrote


class Explained(NamedTuple):
    """Who wrote some lines: a claim for each, and the writes that claims refer to by index."""

    claims: list[Claim | None]
    sources: list[Source]


def make_report(
    threads: ThreadStore,
    repository: Repository,
    places: Places,
    path: str,
    rev: str | None,
    blamed: Sequence[Blamed],
    first: int | None,
    explained: Explained,
    infos: dict[str, CommitInfo],
) -> BlameReport:
    """The report on some lines, which begin at the line `first` or are those of a commit."""
    claims, sources = explained
    used = Counter(claim.edit for claim in claims if claim is not None)
    describer = Describer(threads, places)
    edits, numbers = describer.edits([(number, sources[number], count) for number, count in sorted(used.items())])
    marks = Marks(repository)
    lines: list[BlamedLine] = []
    counts: Counter[str] = Counter()
    by_number = {edit.number: edit for edit in edits}
    for place, (item, claim) in enumerate(zip(blamed, claims, strict=True)):
        edit = by_number[numbers[claim.edit]] if claim is not None else None
        mark = marks.of_line(item) if edit is None else None
        certainty = claim.certainty if claim is not None else "marked" if mark is not None else "unknown"
        counts[certainty] += 1
        lines.append(
            BlamedLine(
                number=first + place if first is not None else item.original,
                text=item.text,
                commit=item.commit,
                path=item.path or path,
                certainty=certainty,
                edit=edit.number if edit is not None else None,
                cost_usd=describer.share(edit, certainty),
                mark=mark,
            )
        )
    commits = [
        describer.commit(infos[name], marks.of_commit(infos[name]))
        for name in dict.fromkeys(item.commit for item in blamed)
        if name in infos
    ]
    if any(item.commit == NOT_COMMITTED for item in blamed):
        commits.append(BlamedCommit(NOT_COMMITTED, "", None, None, "not committed yet"))
    return BlameReport(
        repository=repository.root,
        path=path,
        rev=rev,
        lines=tuple(lines),
        commits=tuple(commits),
        edits=tuple(edits),
        counts=counted(counts),
        cost_usd=total(line.cost_usd for line in lines),
        is_lower_bound=any(edit.is_lower_bound for edit in edits),
    )


def counted(counts: Counter[str]) -> dict[str, int]:
    """Lines by certainty, most certain first."""
    return {name: counts[name] for name in CERTAINTIES}


def total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """The sum of what is known; None if nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if known else None


def contributions(reports: Sequence[BlameReport], makers: dict[str, RecordedCall]) -> list[Contribution]:
    """What each session contributed to a commit, most lines first; `makers` are those that ran `git commit`."""
    lines: Counter[str] = Counter()
    costs: dict[str, list[Decimal | None]] = {}
    first: dict[str, tuple[str, int, str]] = {}
    bounds = {edit.session_id for report in reports for edit in report.edits if edit.is_lower_bound}
    added = sum(len(report.lines) for report in reports)
    for report in reports:
        edits = {edit.number: edit for edit in report.edits}
        for line in report.lines:
            if line.edit is not None:
                edit = edits[line.edit]
                lines[edit.session_id] += 1
                costs.setdefault(edit.session_id, []).append(line.cost_usd)
                first.setdefault(edit.session_id, (edit.transcript, edit.offset, edit.title))
    found = []
    for session_id in sorted({*lines, *makers}, key=lambda name: (-lines[name], name)):
        transcript, offset, title = first.get(session_id, ("", 0, ""))
        found.append(
            Contribution(
                session_id,
                title,
                session_id in makers,
                lines[session_id],
                added,
                total(costs.get(session_id, ())),
                transcript or None,
                offset or None,
                session_id in bounds,
            )
        )
    return found
