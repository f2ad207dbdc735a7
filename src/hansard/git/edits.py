"""Recorded edits: the lines that each tool call added to a file, with the surrounding lines, according to the record.

Reading one from the record takes a millisecond, so results are cached in `edits.db`, which may be deleted at any time:
each row depends on one call alone, and calls do not change.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients import client_of
from hansard.clients.entries import Answered, Called, Change, Hunk, Readable, Replacement, lines_of
from hansard.git.matching import Block, key_of, line_hash
from hansard.git.shell import Substitution, made_commits, read_command
from hansard.query.duplicates import find_copies
from hansard.query.reader import Reader, like
from hansard.query.transcripts import AGENT_OF_CALL
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.clients.protocol import EntryReader
    from hansard.git.cache import EditCache
    from hansard.git.repository import CommitInfo, Repository
    from hansard.record.store import Record

_LONGEST = 16 << 20  # bytes of a transcript line that is read for this
_SPAN = 1 << 20  # bytes of a transcript read at once
_MOST_LINES = 20_000  # of a file whose two versions are compared here
SLACK = 2_000
"""Milliseconds: git has second precision."""
_LONGEST_REPLACED = 1_000  # characters of a line in which text is replaced
_CHANGED = "c.change IS NOT NULL"


class Write(Struct, frozen=True, array_like=True):
    """What a call wrote to one file."""

    path: str  # as named in the call; for a shell command, the path it wrote to
    blocks: tuple[Block, ...]

    @property
    def added(self) -> int:
        return sum(sum(block.added) for block in self.blocks)


class CallEffects(Struct, frozen=True, array_like=True):
    """Everything that one tool call reveals about files and commits."""

    writes: tuple[Write, ...] = ()
    outputs: tuple[str, ...] = ()  # files that got the output of a shell command
    edited: tuple[str, ...] = ()  # files that a script in a shell command may have edited
    script: str = ""  # that script
    made: tuple[tuple[str, str], ...] = ()  # hash and subject of commits
    commits: bool = False  # a shell command that ran `git commit` or the like
    cwd: str = ""
    substitutions: tuple[Substitution, ...] = ()  # what `sed` or `perl` replaced in files
    worktrees: tuple[str, ...] = ()  # folders of `git worktree add`

    @property
    def is_empty(self) -> bool:
        """Whether it reveals nothing."""
        return not (self.writes or self.outputs or self.edited or self.commits or self.worktrees)


class RecordedCall(Struct, frozen=True):
    """A call that wrote, or may have written, and where it is recorded."""

    id: int
    tool: str
    ts: int  # ms; 0: unknown
    ended: int  # when its result came, ms
    session_id: str
    agent_id: str
    path: str | None
    effects: CallEffects
    is_shell: bool


_COLUMNS = (
    "SELECT c.id, c.tool, coalesce(c.ts, c.result_ts, 0), coalesce(c.result_ts, c.ts, 0), t.session_id,"
    f" {AGENT_OF_CALL}, c.path, c.tool_use_id, c.result_id, c.is_error"
)
_SELECT = f"{_COLUMNS} FROM tool_calls c CROSS JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS}"


class Edits:
    """The recorded edits of one store."""

    def __init__(self, reader: Reader, record: Record, cache: EditCache) -> None:
        self._reader = reader
        self._record = record
        self._cache = cache
        self._copies = frozenset(find_copies(reader))

    def of_files(self, paths: Sequence[str]) -> list[RecordedCall]:
        """The calls that changed files with these paths, oldest first."""
        rows = self._reader.rows(
            f"{_SELECT} WHERE {_CHANGED} AND c.is_error = 0 AND c.path IN (SELECT value FROM json_each(?))",
            (json.dumps(list(paths)),),
        )
        return self._load(list(rows))

    def under(self, folders: Sequence[str], sessions: Sequence[str]) -> list[Any]:
        """Rows for `load`: calls that changed files under these folders, and shell commands of these sessions."""
        found: dict[int, Any] = {}
        for folder in folders:
            low = folder.rstrip("/\\")
            for slash in ("/", "\\"):
                rows = self._reader.rows(
                    f"{_SELECT} WHERE c.path >= ? AND c.path < ? AND {_CHANGED} AND c.is_error = 0",
                    (low + slash, low + chr(ord(slash) + 1)),
                )
                found.update((row[0], row) for row in rows)
        shells = self._reader.rows(
            f"{_COLUMNS} FROM json_each(?) s CROSS JOIN transcripts t ON t.session_id = s.value CROSS JOIN tool_calls c"
            f" ON c.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
            " WHERE c.tool IN (SELECT value FROM json_each(?))",
            (json.dumps(list(sessions)), json.dumps([*self._shells])),
        )
        found.update((row[0], row) for row in shells)
        return [row for id_, row in sorted(found.items()) if id_ not in self._copies]

    def load(self, rows: Iterable[Any]) -> list[RecordedCall]:
        """The calls of these rows with what they wrote, oldest first."""
        return self._load([row for row in rows if row[0] not in self._copies])

    def remember(self, rows: Iterable[Any]) -> None:
        """Read and cache the calls of these rows that are not cached yet."""
        rows = list(rows)
        known = self._cache.known({row[0]: row[7] for row in rows})
        self._load([row for row in rows if row[0] not in known])

    def _load(self, rows: list[Any]) -> list[RecordedCall]:
        rows = [row for row in rows if row[0] not in self._copies]
        known = self._cache.get({row[0]: row[7] for row in rows})
        missing = [row for row in rows if row[0] not in known]
        if missing:
            fresh = dict(self._read(missing))
            self._cache.put({row[0]: (row[7], fresh.get(row[0], CallEffects())) for row in missing}, _hashes)
            known.update(fresh)
        found = [
            RecordedCall(row[0], row[1], row[2], row[3], row[4], row[5], row[6], effects, row[1] in self._shells)
            for row in rows
            if (effects := known.get(row[0])) is not None and not effects.is_empty
        ]
        return sorted(found, key=lambda call: (call.ts, call.id))

    @cached_property
    def _shells(self) -> frozenset[str]:
        """The tools that run commands, for all clients of the store."""
        clients = self._reader.rows("SELECT DISTINCT client FROM transcripts")
        return frozenset(name for (client,) in clients for name in client_of(client).tool_names("shell"))

    # -- reading the record

    def _read(self, rows: list[Any]) -> Iterator[tuple[int, CallEffects]]:
        places: dict[int, tuple[int, int]] = {}  # block -> its index in its line, the line's length
        ids = [row[0] for row in rows] + [row[8] for row in rows if row[8] is not None]
        for id_, number, length in self._reader.rows(
            "SELECT b.id, b.n, r.length FROM json_each(?) w CROSS JOIN blocks b ON b.id = w.value CROSS JOIN records r ON r.id = b.id - b.n",
            (json.dumps(ids),),
        ):
            places[id_] = (number, length)
        lines = _Lines(self._reader, self._record)
        for row in sorted(rows):
            yield row[0], self._effects(row, places, lines)

    def _effects(self, row: Any, places: dict[int, tuple[int, int]], lines: _Lines) -> CallEffects:
        id_, tool, _, _, _, _, path, _, result_id, is_error = row
        if tool in self._shells:
            return _shell(lines.call(id_, places), lines.answer(result_id, places))
        if is_error:
            return CallEffects()
        answered = lines.answer(result_id, places)
        changes = answered[1].written() if answered is not None else None
        if changes is None:
            asked = lines.call(id_, places)
            changes = asked[1].planned() if asked is not None else ()
        blocks = tuple(_blocks(changes))
        return CallEffects((Write(path or "", blocks),)) if blocks else CallEffects()


class _Lines:
    """Lines of the record by the ids of their blocks; adjacent lines are read together."""

    def __init__(self, index: Reader, record: Record) -> None:
        self._index = index
        self._record = record
        self._readers: dict[int, EntryReader] = {}
        self._transcript, self._start, self._data = -1, 0, b""

    def call(self, id_: int | None, places: dict[int, tuple[int, int]]) -> tuple[Readable, Called] | None:
        record, part = self._block(id_, places)
        return (record, part) if record is not None and isinstance(part, Called) else None

    def answer(self, id_: int | None, places: dict[int, tuple[int, int]]) -> tuple[Readable, Answered] | None:
        record, part = self._block(id_, places)
        return (record, part) if record is not None and isinstance(part, Answered) else None

    def _block(
        self, id_: int | None, places: dict[int, tuple[int, int]]
    ) -> tuple[Readable, Called | Answered] | tuple[None, None]:
        if id_ is None or id_ not in places:
            return None, None
        number, length = places[id_]
        if length > _LONGEST:
            return None, None
        transcript, offset = id_ >> OFFSET_BITS, (id_ & OFFSET_MASK) - number
        if transcript != self._transcript or not self._start <= offset <= self._start + len(self._data) - length:
            self._transcript, self._start = transcript, offset
            self._data = self._record.glimpse(transcript, offset, offset + max(length, _SPAN))
            if len(self._data) < length:
                # Without this line another edit would be blamed for what it wrote.
                self._data = self._record.glimpse_line(transcript, offset, length)
        first = offset - self._start
        for item in self._reader_of(transcript).line(self._data[first : first + length], offset):
            if isinstance(item, Readable) and item.offset == offset:
                for part in item.parts():
                    if isinstance(part, Called | Answered) and part.number == number:
                        return item, part
        return None, None

    def _reader_of(self, transcript: int) -> EntryReader:
        found = self._readers.get(transcript)
        if found is None:
            (client,) = self._index.one("SELECT client FROM transcripts WHERE id = ?", (transcript,))
            found = self._readers[transcript] = client_of(client).entry_reader(is_agent=False)
        return found


def _blocks(changes: Iterable[Change]) -> Iterator[Block]:
    for change in changes:
        if isinstance(change, Hunk):
            block = _of_hunk(change.lines)
            if block is not None:
                yield block
        elif isinstance(change, Replacement):
            yield from _difference(change.old, change.new)
        elif change.lines:
            yield Block(tuple(change.lines), (True,) * len(change.lines))


def _of_hunk(lines: Iterable[str]) -> Block | None:
    kept = [line for line in lines if line[:1] in ("+", " ")]
    added = tuple(line[0] == "+" for line in kept)
    return Block(tuple(line[1:].removesuffix("\r") for line in kept), added) if any(added) else None


def _difference(old: str, new: str) -> Iterator[Block]:
    """The new text as one block; lines missing from the old text are added lines."""
    before, after = lines_of(old), lines_of(new)
    if not after or len(before) + len(after) > _MOST_LINES:
        return
    added = [True] * len(after)
    for _, start, size in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        added[start : start + size] = [False] * size
    if any(added):
        yield Block(tuple(after), tuple(added))


def _shell(asked: tuple[Readable, Called] | None, answered: tuple[Readable, Answered] | None) -> CallEffects:
    command = asked[1].command() if asked is not None else None
    if asked is None or command is None:
        return CallEffects()
    cwd = asked[0].cwd
    read = read_command(command, cwd)
    output = answered[1].text() if answered is not None and read.commits else ""
    writes = tuple(Write(item.path, (Block(tuple(item.lines), (True,) * len(item.lines)),)) for item in read.writes)
    made = tuple(made_commits(output))
    return CallEffects(
        writes,
        tuple(read.outputs),
        tuple(read.edited),
        read.script,
        made,
        read.commits,
        cwd,
        tuple(read.substitutions),
        tuple(read.worktrees),
    )


def made(call: RecordedCall, commit: str, info: CommitInfo) -> bool:
    """Whether a shell command made a commit: it printed the hash, or (before a rebase) the same subject at the same time."""
    if not call.effects.commits:
        return False
    for name, subject in call.effects.made:
        if commit.startswith(name) or (subject == info.subject and abs(call.ended - info.authored * 1000) < 5_000):
            return True
    return not call.effects.made and call.ts - SLACK <= info.authored * 1000 <= call.ended + SLACK


def replaced(block: Block, substitutions: Sequence[Substitution]) -> Block | None:
    """A block after substitutions, with the lines that they changed as the added ones; None if there are none."""
    lines = list(block.lines)
    for item in substitutions:
        pattern = re.compile(item.pattern)
        for number, line in enumerate(lines):
            if block.added[number] and len(line) <= _LONGEST_REPLACED:
                with contextlib.suppress(re.error, IndexError):  # a reference to a group that the pattern does not have
                    lines[number] = pattern.sub(item.replacement, line)
    changed = tuple(line != before for line, before in zip(lines, block.lines, strict=True))
    return Block(tuple(lines), changed) if any(changed) else None


def _hashes(effects: CallEffects) -> set[int]:
    """Hashes of the lines by which a block is recognised in another file."""
    return {
        line_hash(key)
        for write in effects.writes
        for block in write.blocks
        for line, is_added in zip(block.lines, block.added, strict=True)
        if is_added and len(key := key_of(line)) >= 12
    }


def _folder_of(path: str, files: Container[str], cwd: str) -> str:
    """The longest part of a path whose rest is one of these files; empty without one. A bare name counts only in `cwd`."""
    place = path.find("/", 1)
    while place > 0:
        folder, name = path[:place], path[place + 1 :]
        if name in files and ("/" in name or folder == cwd):
            return folder
        place = path.find("/", place + 1)
    return ""


class Places:
    """The folders of one repository."""

    def __init__(self, reader: Reader, repository: Repository) -> None:
        self._reader = reader
        self._repository = repository
        self._sessions: list[str] | None = None
        roots = [root.rstrip("/\\") for root in repository.worktrees()]
        # Removed worktrees that the record still knows.
        known = reader.rows(
            "SELECT path FROM worktrees WHERE repository IN (SELECT value FROM json_each(?1)) OR path IN (SELECT value FROM json_each(?1))",
            (json.dumps(roots),),
        )
        self._name = os.path.basename(os.path.realpath(repository.root))
        self.roots: list[str] = []
        self.add_roots([*roots, *(row[0].rstrip("/\\") for row in known), *self._namesakes()])

    def _namesakes(self) -> Iterator[str]:
        """Folders of the same name in which sessions worked: on another machine, or before the repository was moved or cloned."""
        for row in self._reader.rows("SELECT DISTINCT project, cwd FROM sessions"):
            for folder in dict.fromkeys(row):
                before, found, _ = (folder.replace("\\", "/") + "/").partition(f"/{self._name}/")
                if found:
                    yield folder[: len(before) + 1 + len(self._name)]

    def add_roots(self, roots: Iterable[str]) -> None:
        """Add folders that were working trees of the repository."""
        self.roots = list(dict.fromkeys([*self.roots, *roots]))
        self._prefixes = tuple(sorted((f"{root.replace(os.sep, '/')}/" for root in self.roots), key=len, reverse=True))
        self._sessions = None

    def possible_roots(self) -> dict[str, set[str]]:
        """Folders elsewhere in which most files that a session changed are ones that the repository tracks, each with these sessions."""
        files = set(self._repository.files())
        changed: dict[str, list[str]] = {}
        tracked: Counter[tuple[str, str]] = Counter()
        for session_id, cwd, path in self._reader.rows(
            "SELECT s.session_id, s.cwd, f.path FROM session_files f JOIN sessions s ON s.session_id = f.session_id"
            " WHERE f.changes > 0 AND s.cwd <> ''"
        ):
            slashed = path.replace("\\", "/")
            if self._holds(cwd) or slashed.startswith(self._prefixes):
                continue
            changed.setdefault(session_id, []).append(slashed)
            folder = _folder_of(slashed, files, cwd.replace("\\", "/").rstrip("/"))
            if folder:
                tracked[folder, session_id] += 1
        found: dict[str, set[str]] = {}
        for (folder, session_id), count in tracked.items():
            if count * 2 > sum(path.startswith(f"{folder}/") for path in changed[session_id]):
                found.setdefault(folder, set()).add(session_id)
        return found

    def is_lost_sibling(self, folder: str) -> bool:
        """Whether a folder was beside a working tree and is not there any more."""
        beside = {os.path.dirname(root) for root in self.roots}
        return os.path.dirname(folder) in beside and not os.path.lexists(folder)

    def relative(self, path: str) -> str | None:
        """A path from a transcript relative to the repository; None if it is elsewhere."""
        slashed = path.replace("\\", "/")
        for prefix in self._prefixes:
            if slashed.startswith(prefix):
                return slashed[len(prefix) :]
        # Another machine, or a folder that was moved: recognised by the folder's name.
        _, found, rest = slashed.partition(f"/{self._name}/")
        return rest if found and rest else None

    def spellings(self, names: Iterable[str]) -> list[str]:
        """Paths in transcripts that refer to these files of the repository."""
        names = set(names)
        found = {f"{root}/{name}" for root in self.roots for name in names}
        for name in names:
            rows = self._reader.rows(
                "SELECT DISTINCT path FROM session_files WHERE path LIKE ? ESCAPE '\\'", (like(name)[:-1],)
            )
            found.update(row[0] for row in rows if self.relative(row[0]) in names)
        return sorted(found)

    def sessions(self) -> list[str]:
        if self._sessions is None:
            self._sessions = [
                session_id
                for session_id, project, cwd in self._reader.rows("SELECT session_id, project, cwd FROM sessions")
                if self._holds(project) or self._holds(cwd)
            ]
        return self._sessions

    def _holds(self, folder: str) -> bool:
        slashed = folder.replace("\\", "/").rstrip("/") + "/"
        return slashed.startswith(self._prefixes) or slashed.endswith(f"/{self._name}/")
