"""Blame: for each line of a file, the commit and the session whose recorded edit wrote it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from hansard.clients.entries import lines_of
from hansard.errors import NotFound, UsageError
from hansard.git.attribution import Marks
from hansard.git.blame_report import Explained, Source, contributions, counted, make_report, total
from hansard.git.describe import Describer
from hansard.git.edits import SLACK, Edits, Places, RecordedCall, Write, made, replaced
from hansard.git.matching import (
    Block,
    Candidate,
    Claim,
    FileLine,
    Matcher,
    key_of,
    letters_in,
    line_hash,
    lines_still_in,
)
from hansard.git.repository import NOT_COMMITTED, Blamed, CommitInfo, FilePatch, Repository, read_blame, read_regular
from hansard.model.blame import BlameReport, CommitReport

if TYPE_CHECKING:
    from hansard.git.cache import EditCache
    from hansard.model.store_requests import BlameRequest
    from hansard.thread.store import ThreadStore

_ALWAYS = 1 << 62
_LARGEST = 64 << 20  # bytes of a file
_FEW_LETTERS = 4  # of a line that any file may have
_MOST_SUBSTITUTED = 2_000  # writes that are looked at again after a substitution
_SAME_COMMIT = 15 * 60_000  # ms between a commit and the output of the command that made it
_WINDOW = 6 * 3_600_000  # ms between a shell command and the commit that contains its lines


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
        self._make_report = partial(make_report, threads, repository, self.places)
        self._find_worktrees()

    def _find_worktrees(self) -> None:
        """Find working trees that were removed.

        A command added the folder, a session committed there what is here now, or it was beside one that is known.
        """
        possible = self.places.possible_roots()
        if not possible:
            return
        added = {folder for call in self.shells() for folder in call.effects.worktrees}
        added |= {folder for folder in possible if self.places.is_lost_sibling(folder)}
        sessions = sorted({session_id for folder in possible.keys() - added for session_id in possible[folder]})
        makers = [call for call in self.edits.load(self.edits.under((), sessions)) if call.effects.made]
        hashes = self.repository.resolve_all([name for call in makers for name, _ in call.effects.made])
        known = {call.session_id for call in makers if any(name in hashes for name, _ in call.effects.made)}
        if len(known) < len(
            {call.session_id for call in makers}
        ):  # a rebase gives commits other hashes, and keeps the rest
            began = min(call.ts for call in makers) // 1000
            authored: dict[str, list[int]] = {}
            for info in self.repository.log(since=began):
                authored.setdefault(info.subject, []).append(info.authored * 1000)
            known |= {
                call.session_id
                for call in makers
                for _, subject in call.effects.made
                if any(abs(call.ended - moment) < _SAME_COMMIT for moment in authored.get(subject, ()))
            }
        self.places.add_roots(folder for folder in possible if folder in added or possible[folder] & known)
        self._shells = None

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
                raise UsageError(f"{path} has only {len(whole):,} line{'s' * (len(whole) != 1)}")
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
        explained = self._with_windows(path, blamed, Explained(claims, explained.sources), infos)
        return self._make_report(path, commit, blamed, first, explained, infos)

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
            sessions=tuple(contributions(reports, self._makers(commit, info))),
            counts=counted(counts),
            cost_usd=total(report.cost_usd for report in reports),
            skipped=tuple(skipped),
            is_lower_bound=any(report.is_lower_bound for report in reports),
        )

    def _patch(self, commit: str, patch: FilePatch, infos: dict[str, CommitInfo]) -> BlameReport:
        """Explain what a commit added to a file, each hunk with its context."""
        until = infos[commit].committed * 1000 + SLACK
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
        explained = self._with_windows(patch.path, blamed, Explained(claims, explained.sources), infos)
        return self._make_report(patch.path, commit, blamed, None, explained, infos)

    # -- matching recorded writes

    def explain(
        self, path: str, names: Iterable[str], lines: Sequence[FileLine], rev: str, *, at_most: int = _ALWAYS
    ) -> Explained:
        """Recorded writes that explain lines of a file with these current and former `names`."""
        names = {path, *names} - {""}
        sources = [
            Source(call, write, is_same_file=True)
            for call in self.edits.of_files(self.places.spellings(names))
            for write in call.effects.writes
            if call.ts <= at_most
        ]
        sources += [
            Source(call, write, is_same_file=True)
            for call in self.shells()
            for write in call.effects.writes
            if call.ts <= at_most and self.places.relative(write.path) in names
        ]
        sources += self._substituted(sources, names, at_most)
        matcher = Matcher(lines)
        claims = matcher.claims(_candidates(sources))
        if any(
            claim is None and line.is_open and letters_in(key) >= 8
            for claim, line, key in zip(claims, lines, matcher.keys, strict=True)
        ):
            elsewhere = self._elsewhere(names, lines, claims, rev, at_most)
            elsewhere += self._substituted(elsewhere, names, at_most)
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
            for write in call.effects.writes:
                relative = self.places.relative(write.path)
                if relative is not None and relative not in names and call.ts <= at_most:
                    found.append(Source(call, write, is_same_file=False))
        paths = {self.places.relative(item.write.path) or "" for item in found}
        blobs = self.repository.blobs([(rev, name) for name in paths])
        current = {name: self.repository.current_name(name, rev) for name in paths if (rev, name) not in blobs}
        blobs |= self.repository.blobs([(rev, name) for name in current.values()])
        kept: list[Source] = []
        for item in found:
            name = self.places.relative(item.write.path) or ""
            blob = blobs.get((rev, current.get(name, name)), b"")
            there = lines_of(blob.decode("utf-8", "replace"))
            still = tuple(lines_still_in(there, [block.lines for block in item.write.blocks]))
            if any(
                added and number not in found
                for block, found in zip(item.write.blocks, still, strict=True)
                for number, added in enumerate(block.added)
            ):
                kept.append(item._replace(still=still))
        return kept

    def _substituted(self, sources: Sequence[Source], names: set[str], at_most: int) -> list[Source]:
        """The lines of earlier writes as `sed` and its like left them, as writes of those commands."""
        found: list[Source] = []
        for call in self.shells():
            if not call.effects.substitutions or call.ts > at_most:
                continue
            named = [
                (self.places.relative(item.path) if item.path else "", item) for item in call.effects.substitutions
            ]
            for source in [item for item in (*sources, *found) if item.call.ts < call.ts]:
                path = self.places.relative(source.write.path)
                same = names if path in names else {path}
                wanted = [item for name, item in named if name == "" or name in same]
                blocks = [replaced(block, wanted) for block in source.write.blocks] if wanted else []
                if any(block is not None for block in blocks):
                    still = source.still or (frozenset(),) * len(blocks)
                    kept = [(block, lines) for block, lines in zip(blocks, still, strict=True) if block is not None]
                    write = Write(source.write.path, tuple(block for block, _ in kept))
                    found.append(Source(call, write, source.is_same_file, tuple(lines for _, lines in kept)))
            if len(found) > _MOST_SUBSTITUTED:
                break
        return found

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

    # -- windows of time

    def _with_windows(
        self, path: str, blamed: Sequence[Blamed], explained: Explained, infos: dict[str, CommitInfo]
    ) -> Explained:
        """Add claims for lines that only the time of a shell command explains."""
        claims = list(explained.claims)
        unexplained: dict[tuple[str, str], list[int]] = {}
        for place, (item, claim) in enumerate(zip(blamed, claims, strict=True)):
            if claim is None and item.commit != NOT_COMMITTED and letters_in(key_of(item.text)) >= _FEW_LETTERS:
                unexplained.setdefault((item.commit, item.path or path), []).append(place)
        for (commit, name), places in unexplained.items():
            for call, may_contain in self._window(name, infos[commit]):
                found = [place for place in places if claims[place] is None and may_contain(key_of(blamed[place].text))]
                write = Write(os.path.join(self.repository.root, name), ())
                explained.sources.append(Source(call, write, is_same_file=True))
                for place in found:
                    claims[place] = Claim(len(explained.sources) - 1, "window")
        return explained._replace(claims=claims)

    def _window(self, path: str, info: CommitInfo) -> list[tuple[RecordedCall, Callable[[str], bool]]]:
        """The shell commands that changed a file before their session committed it, the last first.

        Each comes with a test for the lines, as keys, that it can have left there. A substitution is applied to the file as
        it was before; a script contains what it puts into a file.
        """
        makers = self._makers(info.commit, info)
        found: list[tuple[RecordedCall, Callable[[str], bool]]] = []
        before: Block | None = None
        for call in self.shells() if makers else ():
            maker = makers.get(call.session_id)
            if maker is None or not 0 <= maker.ts - call.ts <= _WINDOW:
                continue
            replacing = [
                item for item in call.effects.substitutions if not item.path or self.places.relative(item.path) == path
            ]
            if replacing:
                if before is None:
                    blob = self.repository.blob(info.parents[0], path) if info.parents else None
                    lines = lines_of((blob or b"").decode("utf-8", "replace"))
                    before = Block(tuple(lines), (True,) * len(lines))
                after = replaced(before, replacing)
                if after is not None:
                    changed = {key_of(line) for line, is_new in zip(after.lines, after.added, strict=True) if is_new}
                    found.append((call, changed.__contains__))
                    before = Block(after.lines, before.added)
            elif any(self.places.relative(name) == path for name in call.effects.outputs):
                found.append((call, lambda _: True))
            elif any(self.places.relative(name) == path for name in call.effects.edited):
                found.append((call, key_of(call.effects.script.replace("\\", "")).__contains__))
        return found[::-1]


def _candidates(sources: Sequence[Source], first: int = 0) -> list[Candidate]:
    return [
        Candidate(number, source.call.ts, source.is_same_file, block, source.still[at] if source.still else frozenset())
        for number, source in enumerate(sources, first)
        for at, block in enumerate(source.write.blocks)
    ]


def _line(item: Blamed, infos: dict[str, CommitInfo]) -> FileLine:
    info = infos.get(item.commit)
    until = _ALWAYS if info is None else info.committed * 1000 + SLACK
    return FileLine(item.text, until, commit=item.commit)


def _latest(infos: dict[str, CommitInfo], blamed: Sequence[Blamed]) -> int:
    if any(item.commit not in infos for item in blamed):
        return _ALWAYS
    return max(info.committed for info in infos.values()) * 1000 + SLACK
