"""Commits and the sessions that contributed to them: by the hashes that `git commit` printed, and by the lines that edits wrote.

How many lines of a commit each call wrote is computed once and cached in `edits.db` until an edit from before the commit turns up.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec import Struct

from hansard.git.attribution import Marks
from hansard.git.blame import Blamer
from hansard.git.costs import AllocatedCosts, Spent, WorkTimeline
from hansard.git.edits import SLACK, RecordedCall, made
from hansard.git.matching import Candidate, FileLine, Matcher
from hansard.git.matching import count as count_claims
from hansard.git.repository import CommitInfo, FilePatch, Repository
from hansard.model.blame import Commit, CommitPage, Contribution
from hansard.model.time import from_milliseconds
from hansard.pricing.cost import total
from hansard.query.sessions import edited_projects
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.git.cache import EditCache
    from hansard.model.sessions import Session
    from hansard.model.store_requests import CommitsRequest
    from hansard.thread.store import ThreadStore

Listener = Callable[[int, int], None]  # commits read, commits to read
_LARGEST = 20_000  # added lines of a file that are examined: larger files were not written by hand


class CommitWork(Struct, frozen=True, array_like=True):
    """The computed contributions to one commit."""

    files: int
    added: int  # lines
    removed: int
    calls: tuple[tuple[int, int], ...]  # ids of calls, and how many of the added lines each wrote


class RepositoryCommits:
    """The commits of one repository that contain recorded work."""

    def __init__(self, blamer: Blamer, cache: EditCache, progress: Listener | None = None) -> None:
        self.blamer = blamer
        self.repository = blamer.repository
        self._cache = cache
        self.calls = {call.id: call for call in blamer.calls()}
        self.infos: dict[str, CommitInfo] = {}
        self.work: dict[str, CommitWork] = {}
        self.makers: dict[str, list[RecordedCall]] = {}
        times = [call.ts for call in self.calls.values() if call.ts]
        if times:
            self.infos = {info.commit: info for info in self.repository.log(since=min(times) // 1000 - 1)}
            self._find_makers()
            self._find_work(progress)

    def _find_makers(self) -> None:
        """Find which shell commands made which commits."""
        shells = [call for call in self.calls.values() if call.effects.commits]
        hashes = self.repository.resolve_all([name for call in shells for name, _ in call.effects.made])
        by_subject: dict[str, list[CommitInfo]] = {}
        for info in self.infos.values():
            by_subject.setdefault(info.subject, []).append(info)
        authored = sorted((info.authored * 1000, info.commit) for info in self.infos.values())
        for call in shells:
            found = {hashes[name] for name, _ in call.effects.made if name in hashes}
            near: Iterable[CommitInfo] = [
                info for _, subject in call.effects.made for info in by_subject.get(subject, ())
            ]
            if not call.effects.made:
                low = bisect_left(authored, (call.ts - SLACK, ""))
                high = bisect_right(authored, (call.ended + SLACK, "~"))
                near = [self.infos[name] for _, name in authored[low:high]]
            found.update(info.commit for info in near if made(call, info.commit, info))
            for name in found & self.infos.keys():
                self.makers.setdefault(name, []).append(call)

    def _find_work(self, progress: Listener | None) -> None:
        """Count how many lines of each commit each call wrote."""
        calls = sorted((call.ts, call.id) for call in self.calls.values() if call.effects.writes)
        times = [ts for ts, _ in calls]
        states = [0]
        for _, id_ in calls:
            states.append(crc32(id_.to_bytes(8, "big"), states[-1]))
        wanted = {name: states[bisect_right(times, info.committed * 1000 + SLACK)] for name, info in self.infos.items()}
        self.work = self._cache.commits(wanted)
        missing = [name for name in wanted if name not in self.work]
        if not missing:
            return
        by_path: dict[str, list[Candidate]] = {}
        for _, id_ in calls:
            for write in self.calls[id_].effects.writes:
                relative = self.blamer.places.relative(write.path)
                if relative is not None:
                    found = [
                        Candidate(id_, self.calls[id_].ts, is_same_file=True, block=block) for block in write.blocks
                    ]
                    by_path.setdefault(relative, []).extend(found)
        fresh: dict[str, CommitWork] = {}
        for name, patches in self.repository.patches(missing):
            fresh[name] = self._worked(self.infos[name], patches, by_path)
            if progress is not None:
                progress(len(fresh), len(missing))
        self._cache.put_commits({name: (wanted[name], work) for name, work in fresh.items()})
        self.work.update(fresh)

    def _worked(
        self, info: CommitInfo, patches: Sequence[FilePatch], by_path: dict[str, list[Candidate]]
    ) -> CommitWork:
        until = info.committed * 1000 + SLACK
        calls: Counter[int] = Counter()
        added = removed = 0
        for patch in patches:
            count = patch.added
            added, removed = added + count, removed + patch.removed
            names = dict.fromkeys((patch.path, patch.old_path))
            known = [item for name in names for item in by_path.get(name, ()) if item.ts <= until]
            if known and 0 < count <= _LARGEST:
                calls.update(count_claims(Matcher(lines_of_patch(patch, until)).claims(known)))
        return CommitWork(len(patches), added, removed, tuple(sorted(calls.items())))

    # -- attribution

    def commit_of_calls(self) -> dict[int, str]:
        """The commit with most of each call's lines; on a tie one of this branch, then the earliest."""
        here = self.repository.ancestors()
        best: dict[int, tuple[int, bool, int, str]] = {}
        for name, work in self.work.items():
            for id_, lines in work.calls:
                rank = (-lines, name not in here, self.infos[name].committed, name)
                if id_ not in best or rank < best[id_]:
                    best[id_] = rank
        found = {id_: rank[3] for id_, rank in best.items()}
        for name, calls in self.makers.items():
            for call in calls:
                found.setdefault(call.id, name)
        return found


def lines_of_patch(patch: FilePatch, until: int) -> list[FileLine]:
    """The lines of a file after a commit, as far as its hunks contain them; nothing continues from one hunk into the next."""
    lines: list[FileLine] = []
    for _, hunk in patch.hunks:
        lines += [FileLine(line[1:], until, line.startswith("+")) for line in hunk if not line.startswith("-")]
        lines.append(FileLine("\0", 0, is_open=False))
    return lines


class CommitMap:
    """The commit that each message of some sessions counts for, across all repositories on this machine."""

    def __init__(self, repositories: Iterable[RepositoryCommits], threads: ThreadStore) -> None:
        self.repositories = list(repositories)
        self._threads = threads
        self._of_call: dict[int, str] = {}
        for item in self.repositories:
            for id_, name in item.commit_of_calls().items():
                self._of_call.setdefault(id_, name)
        self._timelines: dict[str, WorkTimeline | None] = {}
        self._worked = self._sessions()

    def _sessions(self) -> dict[str, list[tuple[int, int]]]:
        """The sessions with calls that went into commits, with all of their calls that did work."""
        found: dict[str, list[tuple[int, int]]] = {}
        known = {id_: call for item in self.repositories for id_, call in item.calls.items()}
        sessions = {known[id_].session_id for id_ in self._of_call}
        for id_, call in known.items():
            if call.session_id in sessions and call.ts and (call.effects.writes or id_ in self._of_call):
                found.setdefault(call.session_id, []).append((call.ts, id_))
        return found

    def commit_at(self, session_id: str, moment: int) -> str | None:
        """The commit that a message counts for."""
        if session_id not in self._worked:
            return None
        timeline = self._timelines.get(session_id)
        if timeline is None:
            timeline = WorkTimeline.of(self._threads.reader, session_id, self._worked[session_id])
            self._timelines[session_id] = timeline
        call = timeline.call_at(moment)
        return None if call is None else self._of_call.get(call)

    def about(self, commit: str | None) -> dict[str, str]:
        for item in self.repositories:
            if commit is not None and (info := item.infos.get(commit)) is not None:
                return {"subject": info.subject, "repository": item.repository.root}
        return {}


def open_repositories(
    threads: ThreadStore, cache: EditCache, folders: Iterable[str], progress: Listener | None = None
) -> tuple[list[RepositoryCommits], list[str]]:
    """The repositories of these folders, each once, and the folders that are not in one."""
    found: dict[str, RepositoryCommits] = {}
    missing: list[str] = []
    for folder in folders:
        # `//host/share` would make Windows log in to any host that a transcript names.
        is_here = folder[:2] not in ("//", "\\\\") and os.path.isdir(folder)
        repository = Repository.around(folder) if is_here else None
        if repository is None:
            missing.append(folder)
        elif (common := repository.common_folder()) not in found:
            found[common] = RepositoryCommits(Blamer(threads, cache, repository), cache, progress)
    return list(found.values()), missing


def map_all(threads: ThreadStore, cache: EditCache, repository: str | None = None) -> CommitMap:
    """The commits of every repository in which sessions changed files, and of the one that a folder is in."""
    folders = [*([repository] if repository is not None else []), *edited_projects(threads.reader)]
    return CommitMap(open_repositories(threads, cache, folders)[0], threads)


def list_commits(
    threads: ThreadStore, cache: EditCache, session: Session | None, request: CommitsRequest
) -> CommitPage:
    """The commits that sessions, or one of them, contributed to, newest first."""
    session_id = None if session is None else session.session_id
    folders = [] if request.repository is None else [request.repository]
    if session is not None and not folders:
        folders = list(dict.fromkeys((session.project, session.cwd)))
    repositories, missing = open_repositories(threads, cache, folders, request.progress)
    known = CommitMap(repositories, threads)
    parts: list[tuple[RepositoryCommits, CommitInfo, Counter[str], set[str]]] = []
    for item in repositories:
        for name, info in item.infos.items():
            lines: Counter[str] = Counter()
            for id_, count in item.work[name].calls if name in item.work else ():
                lines[item.calls[id_].session_id] += count
            makers = {call.session_id for call in item.makers.get(name, ())}
            if (lines or makers) and (session_id is None or session_id in lines or session_id in makers):
                parts.append((item, info, lines, makers))
    parts.sort(key=lambda part: (-part[1].committed, part[1].commit))
    shown = parts[: request.limit]
    describe = _Describe(threads, known, {name for _, _, lines, makers in parts for name in (*lines, *makers)})
    commits = tuple(describe.commit(*part) for part in shown)
    amounts = [describe.spent(name, info.commit) for _, info, lines, makers in parts for name in {*lines, *makers}]
    if session_id is not None:
        amounts = [describe.spent(session_id, info.commit) for _, info, _, _ in parts]
    return CommitPage(
        repositories=tuple(item.repository.root for item in repositories),
        missing=tuple(missing),
        commits=commits,
        pull_requests=() if session is None else session.pull_requests,
        total=len(parts),
        cost_usd=_sum(amount.cost_usd for amount in amounts),
        is_lower_bound=any(amount.is_lower_bound for amount in amounts),
    )


class _Describe:
    """Titles, locations and costs of the sessions' contributions to commits."""

    def __init__(self, threads: ThreadStore, known: CommitMap, session_ids: set[str]) -> None:
        self._threads = threads
        self._money = AllocatedCosts(threads.reader)
        self._costs = {name: self._money.allocate(name, partial(known.commit_at, name)) for name in session_ids}
        self._titles: dict[str, str] = dict(threads.reader.rows("SELECT session_id, title FROM sessions"))

    def spent(self, session_id: str, commit: str) -> Spent:
        return self._money.spent(self._costs[session_id].get(commit))

    def commit(self, item: RepositoryCommits, info: CommitInfo, lines: Counter[str], makers: set[str]) -> Commit:
        work = item.work.get(info.commit, CommitWork(0, 0, 0, ()))
        sessions = []
        for session_id in sorted({*lines, *makers}, key=lambda name: (-lines[name], name)):
            calls = [call for call in item.makers.get(info.commit, ()) if call.session_id == session_id]
            calls += [item.calls[id_] for id_, _ in work.calls if item.calls[id_].session_id == session_id]
            transcript, offset = self._place(calls[0].id)
            spent = self.spent(session_id, info.commit)
            sessions.append(
                Contribution(
                    session_id=session_id,
                    title=self._titles.get(session_id, ""),
                    made=session_id in makers,
                    lines=lines[session_id],
                    added=work.added,
                    cost_usd=spent.cost_usd,
                    transcript=transcript,
                    offset=offset,
                    is_lower_bound=spent.is_lower_bound,
                )
            )
        return Commit(
            repository=item.repository.root,
            commit=info.commit,
            author=info.author,
            authored_at=from_milliseconds(info.authored * 1000),
            committed_at=from_milliseconds(info.committed * 1000),
            subject=info.subject,
            files=work.files,
            added=work.added,
            removed=work.removed,
            sessions=tuple(sessions),
            cost_usd=_sum(part.cost_usd for part in sessions),
            is_lower_bound=any(part.is_lower_bound for part in sessions),
            marks=Marks(item.repository).of_commit(info),
        )

    def _place(self, call: int) -> tuple[str, int]:
        row = self._threads.reader.one(
            "SELECT t.path, coalesce(b.n, 0) FROM transcripts t LEFT JOIN blocks b ON b.id = ?2 WHERE t.id = ?1",
            (call >> OFFSET_BITS, call),
        )
        return row[0], (call & OFFSET_MASK) - row[1]


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    known = [amount for amount in amounts if amount is not None]
    return total(known) if known else None
