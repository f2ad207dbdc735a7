r"""A regular expression over the verbatim record: every byte of every log and of every small file that is kept.

    for line in grep(reader, record, r"def \w+_handler"):
        print(line.file.path, line.line, line.text)

Files come newest first, and their lines in order. A large record is searched by helper processes, one per processor, which are
a few megabytes ahead of the reader of the results, so memory depends neither on the size of the history nor on
the number of matches. Only a single line is always whole: while one is put together and searched, up to three times its size
is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.clients import client_of
from hansard.errors import UsageError
from hansard.grep.file_search import FileLocation, SearchJob, Tally, search
from hansard.grep.pool import Pool, start_helpers
from hansard.model.gate import Redact, cut, put_behind_gate
from hansard.model.search import GrepCount, GrepFile, GrepLine
from hansard.model.store_requests import GrepRequest
from hansard.query.compile import in_project
from hansard.record.store import Generation, Record, Snapshot
from hansard.workers import processors

if TYPE_CHECKING:
    from hansard.query.reader import Reader

Progress = Callable[[int, int], None]

_SMALL = 64 << 20  # bytes; a search through less is done before helpers have started
_MOST_HELPERS = 8
_BESIDE = 16 << 10  # bytes on each side of a text in which a secret may begin or end


def grep(reader: Reader, record: Record, request: GrepRequest, redact: Redact | None = None) -> Grep:
    """Search the record; the request's sessions are ids."""
    numbers = (request.before, request.after, request.limit or 0, request.max_count or 0)
    if min(numbers) < 0:
        raise UsageError("a number of lines cannot be negative")
    job = SearchJob(
        record.path,
        request.pattern,
        request.fixed,
        request.ignore_case,
        request.word,
        request.re2,
        request.before,
        request.after,
        request.max_count,
        request.only_matching,
        request.around,
    )
    helpers = _usual_helpers() if request.helpers is None else request.helpers
    return Grep(record, job, _places(reader, record, request), request.limit, helpers, request.progress, redact)


def _places(reader: Reader, record: Record, request: GrepRequest) -> list[tuple[GrepFile, FileLocation]]:
    """The files to search, newest first; the record says which there are, the index whose they are."""
    sessions, project, kinds = request.sessions, request.project, request.kinds
    folders: set[str] = set()  # whose files belong to the project without belonging to a session
    if project is not None:
        where, values = in_project(reader, project)
        rows = list(reader.rows(f"SELECT session_id, project_dir FROM sessions WHERE {where}", values))
        of_project = {row[0] for row in rows}
        folders = {row[1] for row in rows} if sessions is None else folders
        sessions = of_project if sessions is None else of_project & set(sessions)
    roots = {root.id: root for root in record.roots()}
    result: list[tuple[int, GrepFile, FileLocation]] = []

    def add(version: Generation | Snapshot, generation: int, known: tuple[str, str, int | None, int] | None) -> None:
        path, root = version.path, roots[version.root_id]
        info = client_of(root.client).path_info(path)
        unknown = (info.session_id or info.stem, info.agent_id, None, version.current)
        session_id, agent_id, last, current = known or unknown
        if not (current or request.all_generations) or (kinds is not None and version.kind not in kinds):
            return
        if sessions is None or session_id in sessions or (not session_id and info.project_dir in folders):
            file = GrepFile(
                root.path, path, version.kind, generation, bool(current), version.size, session_id, agent_id
            )
            at = version.mtime_ns // 1_000_000 if last is None else last
            result.append((at, file, FileLocation(version.id, isinstance(version, Generation), version.size)))

    logs = {
        row[0]: row[1:] for row in reader.rows("SELECT id, session_id, agent_id, last_ts, current FROM transcripts")
    }
    for log in record.generations():
        add(log, log.seq, logs.get(log.id))
    small = {row[0]: row[1:] for row in reader.rows("SELECT id, session_id, agent_id, NULL, current FROM side_files")}
    seen: dict[int, int] = {}
    for whole in record.snapshots():
        number = seen[whole.file_id] = seen.get(whole.file_id, 0) + 1
        add(whole, number, small.get(whole.id))
    result.sort(key=lambda item: (-item[0], item[1].path, item[1].root, -item[1].generation))
    return [item[1:] for item in result]


class Grep:
    """A search: iterate over it once, or ask for `counts`; its totals are true of what has been given so far."""

    def __init__(
        self,
        record: Record,
        job: SearchJob,
        places: list[tuple[GrepFile, FileLocation]],
        limit: int | None,
        helpers: int,
        progress: Progress | None,
        redact: Redact | None = None,
    ) -> None:
        self.redact = redact
        if self.redact is not None:
            put_behind_gate(self)
        self.files = 0  # with matches
        self.matched_lines = 0
        self.truncated = False  # the limit left something out
        self.total_bytes = sum(place.size for _, place in places)
        self._record = record
        self._job = job
        self._pattern = job.compile()
        self._places = places
        self._limit = limit
        self._helpers = helpers
        self._progress = progress
        self._tallies: list[Tally] = []
        self._last_file = (-1, b"")  # for redaction

    @property
    def linear(self) -> bool:
        return self._pattern.linear

    @property
    def slow_because(self) -> str | None:
        """Why Python's `re` has to run it, which may take long; None if RE2 does."""
        return self._pattern.slow_because

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
        last: GrepFile | None = None
        for (file, place), row in self._search(self._job):
            line = GrepLine(file, *row)
            if self.redact is not None:
                line = self._redacted(line, place, self.redact)
            if line.start is not None:
                if given == self._limit:
                    self.truncated = True
                    return
                given += 1
                if file is not last or line.line != number:
                    self.files += file is not last
                    self.matched_lines += 1
                    last, number = file, line.line
            yield line

    def counts(self, *, any_line: bool = False) -> Generator[GrepCount]:
        """The files with matches and how many lines match; with `any_line` each is left at its first match."""
        most = 1 if any_line and self._job.max_count != 0 else self._job.max_count
        for (file, _), (count,) in self._search(self._job._replace(counting=True, max_count=most)):
            if self.files == self._limit:
                self.truncated = True
                return
            self.files += 1
            self.matched_lines += count
            yield GrepCount(file, count)

    def _search(self, job: SearchJob) -> Generator[tuple[tuple[GrepFile, FileLocation], Any]]:
        if job.max_count == 0 or self._limit == 0:
            return
        wanted = self._helpers if self.total_bytes >= _SMALL else 1
        helpers = start_helpers(job, wanted) if wanted > 1 else []
        if helpers:
            self._tallies = [helper.tally for helper in helpers]
            with closing(Pool(helpers, [place for _, place in self._places]).run(self._tell)) as answers:
                for number, row in answers:
                    yield self._places[number], row
            return
        tally = Tally()
        self._tallies = [tally]
        for file, place in self._places:
            for row in search(self._record, place, job, self._pattern, tally):
                yield (file, place), row
            self._tell()

    def _redacted(self, line: GrepLine, place: FileLocation, redact: Redact) -> GrepLine:
        """A line without secrets, also those of which only a part is in it; its match is where the text has it now."""
        begin, end = line.offset + line.text_at, line.offset + line.text_at + len(line.text)
        if place.is_log:
            low, high = max(line.offset, begin - _BESIDE), min(line.offset + line.length, end + _BESIDE)
            data = self._record.glimpse(place.number, low, high)
        else:  # a key is in several lines
            low, high = max(0, begin - _BESIDE), end + _BESIDE
            data = self._small_file(place.number)[low:high]
        match = [] if line.start is None or line.end is None else [line.offset + line.start, line.offset + line.end]
        text, places = "", []
        last = low
        for at in (begin, *match, end, high):
            text += data[last - low : at - low].decode("utf-8", "surrogateescape")
            places.append(len(text))
            last = at
        parts = [part.encode("utf-8", "surrogateescape") for part in cut(text, places[:-1], redact)]
        shown = b"".join(parts)
        if shown == line.text or len(data) < end - low:  # what is damaged is left to the gate
            return line
        if not match:
            return replace(line, text=shown)
        start = line.text_at + len(parts[0])
        return replace(line, text=shown, start=start, end=start + len(parts[1]))

    def _small_file(self, number: int) -> bytes:
        if self._last_file[0] != number:
            self._last_file = number, self._record.read_snapshot(number)
        return self._last_file[1]

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.bytes_searched, self.total_bytes)


def _usual_helpers() -> int:
    return min(processors(), _MOST_HELPERS)
