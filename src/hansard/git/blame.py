"""Blame: for each line of a file, the commit and the session whose recorded edit wrote it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.clients.entries import lines_of
from hansard.errors import NotFound, UsageError
from hansard.git.attribution import Marks
from hansard.git.describe import Describer
from hansard.git.edits import Edits, Places, RecordedCall, Write
from hansard.git.matching import Block, Candidate, Claim, FileLine, Matcher, key_of, letters_in, line_hash
from hansard.git.repository import NOT_COMMITTED, Blamed, CommitInfo, FilePatch, Repository, read_blame, read_regular
from hansard.model.blame import CERTAINTIES, BlamedCommit, BlamedLine, BlameReport, CommitReport, Contribution

if TYPE_CHECKING:
    from hansard.git.cache import EditCache
    from hansard.model.requests import BlameRequest
    from hansard.thread.store import ThreadStore

_SLACK = 2_000  # ms: git has second precision
_ALWAYS = 1 << 62
_LARGEST = 64 << 20  # bytes of a file
_WINDOW = 6 * 3_600_000  # ms between a shell command and the commit that contains its lines


class Source(NamedTuple):
    """One write of a call."""

    call: RecordedCall
    write: Write
    is_same_file: bool


class Explained(NamedTuple):
    """Who wrote some lines: a claim for each, and the writes that claims refer to by index."""

    claims: list[Claim | None]
    sources: list[Source]


def blame_file(threads: ThreadStore, cache: EditCache, request: BlameRequest) -> BlameReport:
    """Who wrote the lines of a file."""
    repository = Repository.find(os.path.dirname(os.path.abspath(request.path)))
    return Blamer(threads, cache, repository).file(repository.relative(request.path), request.lines, request.rev)


def blame_commit(threads: ThreadStore, cache: EditCache, commit: str, folder: str) -> CommitReport:
    """Who wrote the lines added by a commit in the folder's repository."""
    return Blamer(threads, cache, Repository.find(folder)).commit(commit)


class Blamer:
    """Explains the lines of one repository."""

    def __init__(self, threads: ThreadStore, cache: EditCache, repository: Repository) -> None:
        self.repository = repository
        self.reader = threads.reader
        self.places = Places(threads.reader, repository)
        self.edits = Edits(threads.reader, threads.record, cache)
        self._cache = cache
        self._threads = threads
        self._shells: list[RecordedCall] | None = None

    # -- a file

    def file(self, path: str, lines: tuple[int, int] | None = None, rev: str | None = None) -> BlameReport:
        """Who wrote the lines of a file; `path` is relative to the repository."""
        commit = None
        if rev is not None:
            commit = self.repository.resolve(rev)
            if commit is None:
                raise NotFound(f"no commit {rev!r} in {self.repository.root}")
        whole = self._text(path, commit)
        first = lines[0] if lines is not None else 1
        if lines is not None:
            if first > len(whole):
                raise UsageError(f"{path} has only {len(whole):,} lines")
            lines = (first, min(lines[1], len(whole)))
        blamed = self._blame(path, commit, lines)
        if not blamed:
            raise NotFound(f"{path} is empty")
        infos = self.repository.commits([item.commit for item in blamed])
        open_lines = [
            FileLine(text, _ALWAYS, is_open=False)
            if not first <= number < first + len(blamed)
            else _line(blamed[number - first], infos)
            for number, text in enumerate(whole, 1)
        ]
        explained = self.explain(
            path, {item.path for item in blamed}, open_lines, commit or "HEAD", at_most=_latest(infos, blamed)
        )
        claims = explained.claims[first - 1 : first - 1 + len(blamed)]
        return self.report(path, commit, blamed, first, Explained(claims, explained.sources), infos)

    def _blame(self, path: str, commit: str | None, lines: tuple[int, int] | None) -> list[Blamed]:
        """The output of git blame, cached if it cannot have changed."""
        at = commit
        if at is None:
            at = self.repository.resolve("HEAD")
            committed = None if at is None else self.repository.blob(at, path)
            if committed is None or committed != self._bytes(path, None):
                return list(read_blame(self.repository.blame(path, None, lines)))
        if lines is not None and not self._cache.has_blame(at or "", path):
            return list(read_blame(self.repository.blame(path, at, lines)))
        answer = self._cache.blame(at or "", path, lambda: self.repository.blame(path, at))
        found = list(read_blame(answer))
        return found if lines is None else found[lines[0] - 1 : lines[1]]

    def _text(self, path: str, commit: str | None) -> list[str]:
        return lines_of(self._bytes(path, commit).decode("utf-8", "replace"))

    def _bytes(self, path: str, commit: str | None) -> bytes:
        if commit is not None:
            found = self.repository.blob(commit, path)
            if found is None:
                raise NotFound(f"no file {path} in commit {commit[:12]}")
            return found
        try:
            return read_regular(os.path.join(self.repository.root, path), _LARGEST)
        except OSError as error:
            raise NotFound(f"{path}: {error.strerror or error}") from error

    # -- a commit

    def commit(self, name: str) -> CommitReport:
        """Who wrote the lines that a commit added."""
        commit = self.repository.resolve(name)
        if commit is None:
            raise NotFound(f"no commit {name!r} in {self.repository.root}")
        infos = self.repository.commits([commit])
        info = infos[commit]
        reports, skipped = [], []
        for _, patches in self.repository.patches([commit]):
            for patch in patches:
                if patch.is_binary:
                    skipped.append(patch.path)
                elif patch.added:
                    reports.append(self._patch(commit, patch, infos))
        counts: Counter[str] = Counter()
        for report in reports:
            counts.update(report.counts)
        describer = Describer(self._threads, self.places)
        return CommitReport(
            repository=self.repository.root,
            commit=describer.commit(info, Marks(self.repository).of_commit(info)),
            files=tuple(reports),
            sessions=tuple(_contributions(reports, self._makers(commit, info))),
            counts=_counted(counts),
            cost_usd=_total(report.cost_usd for report in reports),
            skipped=tuple(skipped),
        )

    def _patch(self, commit: str, patch: FilePatch, infos: dict[str, CommitInfo]) -> BlameReport:
        """Explain what a commit added to a file, each hunk with its context."""
        until = infos[commit].committed * 1000 + _SLACK
        lines: list[FileLine] = []
        numbers: list[int] = []
        for start, hunk in patch.hunks:
            number = start
            for line in hunk:
                if line.startswith("-"):
                    continue
                lines.append(FileLine(line[1:], until, is_open=line.startswith("+")))
                numbers.append(number)
                number += 1
            lines.append(FileLine("\0", 0, is_open=False))  # nothing continues from one hunk into the next
            numbers.append(0)
        explained = self.explain(patch.path, {patch.path, patch.old_path}, lines, commit, at_most=until)
        wanted = [place for place, line in enumerate(lines) if line.is_open]
        blamed = [Blamed(commit, numbers[place], patch.path, lines[place].text) for place in wanted]
        claims = [explained.claims[place] for place in wanted]
        return self.report(patch.path, commit, blamed, None, Explained(claims, explained.sources), infos)

    # -- matching recorded writes

    def explain(
        self, path: str, names: Iterable[str], lines: Sequence[FileLine], rev: str, *, at_most: int = _ALWAYS
    ) -> Explained:
        """Recorded writes that explain lines of a file with these current and former `names`."""
        names = {path, *names} - {""}
        sources = [
            Source(call, write, is_same_file=True)
            for call in self.edits.of_files(self.places.spellings(names))
            for write in call.told.writes
            if call.ts <= at_most
        ]
        sources += [
            Source(call, write, is_same_file=True)
            for call in self.shells()
            for write in call.told.writes
            if call.ts <= at_most and self.places.relative(write.path) in names
        ]
        matcher = Matcher(lines)
        claims = matcher.claims(_candidates(sources))
        if any(
            claim is None and line.is_open and letters_in(key) >= 8
            for claim, line, key in zip(claims, lines, matcher.keys, strict=True)
        ):
            elsewhere = self._elsewhere(names, lines, claims, rev, at_most)
            if elsewhere:
                more = Matcher(
                    [
                        line._replace(is_open=line.is_open and claim is None)
                        for line, claim in zip(lines, claims, strict=True)
                    ]
                )
                found = more.claims(_candidates(elsewhere, len(sources)))
                claims = [claim or other for claim, other in zip(claims, found, strict=True)]
                sources += elsewhere
        return Explained(claims, sources)

    def _elsewhere(
        self, names: set[str], lines: Sequence[FileLine], claims: Sequence[Claim | None], rev: str, at_most: int
    ) -> list[Source]:
        """Writes to other files whose lines may have been moved here; lines that are still there are excluded."""
        hashes = {
            line_hash(key)
            for line, claim in zip(lines, claims, strict=True)
            if claim is None and line.is_open and len(key := key_of(line.text)) >= 12
        }
        known = {call.id: call for call in self.all_calls(hashes)}
        found: list[Source] = []
        for call in known.values():
            for write in call.told.writes:
                relative = self.places.relative(write.path)
                if relative is not None and relative not in names and call.ts <= at_most:
                    found.append(Source(call, write, is_same_file=False))
        still = self.repository.blobs([(rev, self.places.relative(item.write.path) or "") for item in found])
        kept: list[Source] = []
        for item in found:
            blob = still.get((rev, self.places.relative(item.write.path) or ""))
            there = {key_of(line) for line in lines_of(blob.decode("utf-8", "replace"))} if blob else set()
            blocks = tuple(
                Block(
                    block.lines,
                    tuple(
                        added and key_of(line) not in there
                        for line, added in zip(block.lines, block.added, strict=True)
                    ),
                )
                for block in item.write.blocks
            )
            if any(any(block.added) for block in blocks):
                kept.append(Source(item.call, Write(item.write.path, blocks), is_same_file=False))
        return kept

    def all_calls(self, hashes: Iterable[int]) -> list[RecordedCall]:
        """Calls in the repository that added one of these lines."""
        rows = {row[0]: row for row in self._rows()}
        self.edits.remember(rows.values())
        ids = {id_ for found in self._cache.find(hashes).values() for id_ in found}
        return self.edits.load(rows[id_] for id_ in sorted(ids) if id_ in rows)

    def _rows(self) -> list[Any]:
        return self.edits.under(self.places.roots, self.places.sessions())

    def calls(self) -> list[RecordedCall]:
        """All recorded calls that wrote to the repository, and the shell commands of its sessions."""
        return self.edits.load(self._rows())

    def shells(self) -> list[RecordedCall]:
        """Shell commands of the repository's sessions that wrote, named or committed something."""
        if self._shells is None:
            self._shells = self.edits.load(self.edits.under((), self.places.sessions()))
        return self._shells

    def _makers(self, commit: str, info: CommitInfo) -> dict[str, RecordedCall]:
        """The sessions that report making a commit, with the call."""
        return {call.session_id: call for call in self.shells() if made(call, commit, info)}

    # -- the report

    def report(
        self,
        path: str,
        rev: str | None,
        blamed: Sequence[Blamed],
        first: int | None,
        explained: Explained,
        infos: dict[str, CommitInfo],
    ) -> BlameReport:
        """The report, with the sessions, prompts and costs of the lines."""
        claims = self._with_windows(path, blamed, explained, infos)
        sources = explained.sources
        used = Counter(claim.edit for claim in claims if claim is not None)
        describer = Describer(self._threads, self.places)
        edits, numbers = describer.edits([(number, sources[number], count) for number, count in sorted(used.items())])
        marks = Marks(self.repository)
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
            repository=self.repository.root,
            path=path,
            rev=rev,
            lines=tuple(lines),
            commits=tuple(commits),
            edits=tuple(edits),
            counts=_counted(counts),
            cost_usd=_total(line.cost_usd for line in lines),
        )

    def _with_windows(
        self, path: str, blamed: Sequence[Blamed], explained: Explained, infos: dict[str, CommitInfo]
    ) -> list[Claim | None]:
        """Add claims for lines that only the time of a shell command explains."""
        claims = list(explained.claims)
        open_commits = {item.commit for item, claim in zip(blamed, claims, strict=True) if claim is None} - {
            NOT_COMMITTED
        }
        if not open_commits:
            return claims
        windows: dict[str, int] = {}
        for name in open_commits:
            call = self._window(path, name, infos[name])
            if call is not None:
                explained.sources.append(
                    Source(call, Write(os.path.join(self.repository.root, path), ()), is_same_file=True)
                )
                windows[name] = len(explained.sources) - 1
        return [
            claim
            if claim is not None or item.commit not in windows or not letters_in(key_of(item.text))
            else Claim(windows[item.commit], "window")
            for item, claim in zip(blamed, claims, strict=True)
        ]

    def _window(self, path: str, commit: str, info: CommitInfo) -> RecordedCall | None:
        """The last shell command that named a file before its session committed it."""
        base = os.path.basename(path)
        makers = {call.session_id: call for call in self.shells() if made(call, commit, info)}
        found = None
        for call in self.shells():
            maker = makers.get(call.session_id)
            if maker is None or not 0 <= maker.ts - call.ts <= _WINDOW:
                continue
            if any(name == path or os.path.basename(name) == base for name in call.told.names):
                found = call
        return found


def made(call: RecordedCall, commit: str, info: CommitInfo) -> bool:
    """Whether a shell command made a commit: it printed the hash, or (before a rebase) the same subject at the same time."""
    if not call.told.commits:
        return False
    for name, subject in call.told.made:
        if commit.startswith(name) or (subject == info.subject and abs(call.ended - info.authored * 1000) < 5_000):
            return True
    return not call.told.made and call.ts - _SLACK <= info.authored * 1000 <= call.ended + _SLACK


def _candidates(sources: Sequence[Source], first: int = 0) -> list[Candidate]:
    return [
        Candidate(number, source.call.ts, source.is_same_file, block)
        for number, source in enumerate(sources, first)
        for block in source.write.blocks
    ]


def _line(item: Blamed, infos: dict[str, CommitInfo]) -> FileLine:
    info = infos.get(item.commit)
    until = _ALWAYS if info is None else info.committed * 1000 + _SLACK
    return FileLine(item.text, until, commit=item.commit)


def _latest(infos: dict[str, CommitInfo], blamed: Sequence[Blamed]) -> int:
    if any(item.commit not in infos for item in blamed):
        return _ALWAYS
    return max(info.committed for info in infos.values()) * 1000 + _SLACK


def _counted(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in CERTAINTIES}


def _total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if known else None


def _contributions(reports: Sequence[BlameReport], makers: dict[str, RecordedCall]) -> list[Contribution]:
    lines: Counter[str] = Counter()
    costs: dict[str, list[Decimal | None]] = {}
    first: dict[str, tuple[str, int, str]] = {}
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
                _total(costs.get(session_id, ())),
                transcript or None,
                offset or None,
            )
        )
    return found
