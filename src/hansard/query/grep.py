r"""A regular expression over the verbatim record: every byte of every log and of every small file that is kept.

    for line in grep(reader, record, r"def \w+_handler"):
        print(line.file.path, line.line, line.text)

Files come newest first, and their lines in order. Threads read, check and decompress ahead, and drop the blocks in which RE2,
which lets go of the interpreter's lock, finds nothing; the caller's thread does the rest, since threads that take the lock
for every line only wait for each other. They are at most a megabyte per file ahead, so memory depends neither on the size of
the history nor on the number of matches. Only a single line is always whole: while one is put together and searched, up to
three times its size is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from hansard.errors import UsageError
from hansard.model import GrepCount, GrepFile, GrepLine
from hansard.query.grep_lines import Block, Wanted, count_lines, find_lines, sifted, unsifted, whole_lines
from hansard.query.grep_pattern import Pattern, compile_pattern
from hansard.query.grep_threads import Place, Pool, Tally
from hansard.query.sessions import SessionFilter
from hansard.record.store import Generation, Record, Snapshot
from hansard.sources.claude_code import agent_of, project_dir_of, session_of

if TYPE_CHECKING:
    from hansard.query.reader import Reader

Progress = Callable[[int, int], None]
T = TypeVar("T")

_SMALL = 8 << 20  # a search through less is done before threads have started
_MOST_THREADS = 8


def grep(
    reader: Reader,
    record: Record,
    pattern: str | bytes,
    *,
    fixed: bool = False,
    ignore_case: bool = False,
    word: bool = False,
    sessions: Collection[str] | None = None,
    project: str | None = None,
    kinds: Collection[str] | None = None,
    all_generations: bool = False,
    before: int = 0,
    after: int = 0,
    max_count: int | None = None,
    limit: int | None = None,
    only_matching: bool = False,
    around: int | None = 200,
    threads: int | None = None,
    re2: bool = True,
    progress: Progress | None = None,
) -> Grep:
    """Search the record; `sessions` are ids, `kinds` are those of files, `around` None gives whole lines."""
    if min(before, after, 0 if limit is None else limit, 0 if max_count is None else max_count) < 0:
        raise UsageError("a number of lines cannot be below 0")
    compiled = compile_pattern(pattern, fixed=fixed, ignore_case=ignore_case, word=word, re2=re2)
    places = list(_places(reader, record, sessions, project, kinds, all_generations=all_generations))
    wanted = Wanted(before, after, max_count, only_matching, around)
    return Grep(record, compiled, places, wanted, limit, threads or _usual_threads(), progress)


def _places(
    reader: Reader,
    record: Record,
    sessions: Collection[str] | None,
    project: str | None,
    kinds: Collection[str] | None,
    *,
    all_generations: bool,
) -> list[Place]:
    """The files to search, newest first; the record says which there are, the index whose they are."""
    folders: set[str] = set()  # whose files belong to the project without belonging to a session
    if project is not None:
        where, values = SessionFilter(project=project, debris=True).where()
        rows = list(reader.rows(f"SELECT session_id, project_dir FROM sessions WHERE {where}", tuple(values)))
        of_project = {row[0] for row in rows}
        folders = {row[1] for row in rows} if sessions is None else folders
        sessions = of_project if sessions is None else of_project & set(sessions)
    roots = {root.id: root.path for root in record.roots()}
    result: list[Place] = []

    def add(version: Generation | Snapshot, generation: int, known: tuple[str, str, int | None] | None) -> None:
        path = version.path
        session_id, agent_id, last = known or (session_of(path) or "", agent_of(path) or "", None)
        if not (version.current or all_generations) or (kinds is not None and version.kind not in kinds):
            return
        if sessions is None or session_id in sessions or (not session_id and project_dir_of(path) in folders):
            root, current = roots[version.root_id], version.current
            file = GrepFile(root, path, version.kind, generation, current, version.size, session_id, agent_id)
            at = version.mtime_ns // 1_000_000 if last is None else last
            result.append(Place(file, version.id, at, is_log=isinstance(version, Generation)))

    logs = {row[0]: row[1:] for row in reader.rows("SELECT id, session_id, agent_id, last_ts FROM transcripts")}
    for log in record.generations():
        add(log, log.seq, logs.get(log.id))
    small = {row[0]: row[1:] for row in reader.rows("SELECT id, session_id, agent_id, NULL FROM side_files")}
    seen: dict[int, int] = {}
    for whole in record.snapshots():
        number = seen[whole.file_id] = seen.get(whole.file_id, 0) + 1
        add(whole, number, small.get(whole.id))
    result.sort(key=lambda place: (-place.at, place.file.path, place.file.root, -place.file.generation))
    return result


class Grep:
    """A search: iterate over it once, or ask for `counts`; its totals are true of what has been given so far."""

    def __init__(
        self,
        record: Record,
        pattern: Pattern,
        places: list[Place],
        wanted: Wanted,
        limit: int | None,
        threads: int,
        progress: Progress | None,
    ) -> None:
        self.files = 0  # with matches
        self.matched_lines = 0
        self.truncated = False  # the limit left something out
        self.linear = pattern.linear
        self.slow_because = pattern.slow_because  # why Python's `re` does it, which may take long; None: it does not
        self.total_bytes = sum(place.file.size for place in places)
        self._record = record
        self._pattern = pattern
        self._places = places
        self._wanted = wanted
        self._limit = limit
        self._threads = threads
        self._progress = progress
        self._tallies: list[Tally] = []

    @property
    def bytes_searched(self) -> int:
        """Raw bytes that were read."""
        return sum(tally.searched for tally in self._tallies)

    @property
    def damaged(self) -> int:
        """Chunks and small files that could not be read."""
        return sum(tally.damaged for tally in self._tallies)

    def __iter__(self) -> Generator[GrepLine]:
        given, number = 0, 0
        file: GrepFile | None = None

        def find(place: Place, blocks: Iterable[Block]) -> Iterator[GrepLine]:
            def lines_before(offset: int) -> int:
                return sum(piece.count(b"\n") for piece in Tally().read(self._record, place, offset))

            return find_lines(place.file, blocks, self._pattern, self._wanted, lines_before)

        for line in self._search(find):
            if line.start is not None:
                if given == self._limit:
                    self.truncated = True
                    return
                given += 1
                if line.file is not file or line.line != number:
                    self.files += line.file is not file
                    self.matched_lines += 1
                    file, number = line.file, line.line
            yield line

    def counts(self, *, any_line: bool = False) -> Generator[GrepCount]:
        """The files with matches and how many lines match; with `any_line` each is left at its first match."""

        def count(place: Place, blocks: Iterable[Block]) -> Iterator[GrepCount]:
            found = count_lines(blocks, self._pattern, 1 if any_line else self._wanted.max_count)
            if found:
                yield GrepCount(place.file, found)

        for item in self._search(count, once=any_line):
            if self.files == self._limit:
                self.truncated = True
                return
            self.files += 1
            self.matched_lines += item.matched_lines
            yield item

    def _search(self, work: Callable[[Place, Iterable[Block]], Iterator[T]], *, once: bool = False) -> Generator[T]:
        def sift(blocks: Iterator[bytes]) -> Iterator[Block]:
            return sifted(blocks, self._pattern, once=once)

        if self._wanted.max_count == 0 or self._limit == 0:
            return
        if self._threads == 1 or self.total_bytes < _SMALL:
            tally = Tally()
            self._tallies = [tally]
            for place in self._places:
                yield from work(place, unsifted(whole_lines(tally.read(self._record, place))))
                self._tell()
            return
        # `re` keeps the interpreter's lock while it searches: done in a thread, ctrl-c would wait for it.
        everything = not self._pattern.sifts or self._wanted.before or self._wanted.after
        pool = Pool(self._record.path, self._places, self._threads)
        self._tallies = pool.tallies
        with closing(pool.run(unsifted if everything else sift, self._tell)) as found:
            for place, pairs in groupby(found, key=itemgetter(0)):
                yield from work(place, map(itemgetter(1), pairs))

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.bytes_searched, self.total_bytes)


def _usual_threads() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return min(count, _MOST_THREADS)
