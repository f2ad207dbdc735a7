"""Doing what was planned, step by step with a journal, and going back: after a kill half-way, or because the user says so."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct, field

from hansard.changes.json_text import dump_like, load_object, take_out
from hansard.changes.plan import ChangeSet, Mode, Rename, Write, check_place, file_pieces
from hansard.errors import HansardError, StoreBusy, StoreUnusable, UsageError
from hansard.files import DIRECTORY_MODE, FILE_MODE, FileLock

FOLDER = "changes"
_JOURNAL = "journal.json"
_LARGE = 64 << 20  # bytes of a file that is put together line by line in memory
APPLYING, APPLIED, UNDOING = "applying", "applied", "undoing"


class Done(Struct):
    """A step as the journal has it, written down before it is done."""

    kind: str  # write, rename, mode
    path: str
    target: str = ""  # rename: the new place; write: the file that becomes the new content
    merge: str = ""
    before: str | None = None  # hash of the content; None: there was no file
    after: str = ""  # likewise; mode: the new mode
    size: int = 0  # of the new content
    mode: int = FILE_MODE  # that it had
    mtime_ns: int = 0
    made: list[str] = field(default_factory=list)  # folders that had to be made, the outermost first
    entries: list[str] = field(default_factory=list)  # rename of a folder: what was in it
    undone: bool = False  # by an undo that could not undo all steps


class Journal(Struct):
    """What was done under one purpose."""

    id: str
    purpose: str
    title: str
    at: str
    state: str
    bases: list[str]
    steps: list[Done] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)


class Undone(Struct, frozen=True):
    """The result of an undo."""

    title: str
    restored: tuple[str, ...]  # byte for byte as they were
    merged: tuple[str, ...]  # changed since: only our part was taken out
    left: tuple[str, ...]  # changed since in a way that nothing could be taken out
    failed: tuple[str, ...] = ()  # path and reason; the journal is kept, and the next change tries these again

    def notes(self, ours: str) -> list[str]:
        """What to tell the user; `ours` is the part of an edited file that was taken out."""
        return [
            *(f"{path} was edited since: only {ours} was removed" for path in self.merged),
            *(
                f"{path} was edited since: left as it is" if os.path.lexists(path) else f"{path} is gone: not restored"
                for path in self.left
            ),
            *(f"{problem}: not restored; the next change tries again" for problem in self.failed),
        ]


@contextlib.contextmanager
def journals(home: str) -> Iterator[Journals]:
    """The journals of a data directory, for one process at a time; what was left half-done before is undone first."""
    folder = os.path.join(home, FOLDER)
    try:
        os.makedirs(home, mode=DIRECTORY_MODE, exist_ok=True)
        os.makedirs(folder, mode=DIRECTORY_MODE, exist_ok=True)
    except OSError as error:
        raise StoreUnusable(f"{folder}: cannot be created ({error.strerror or error})") from error
    with FileLock(os.path.join(folder, "lock"), 5.0) as held:
        if not held:
            raise StoreBusy(f"another process is changing files with {folder}. Wait for it to end, then run this again")
        found = Journals(folder)
        found.recover()
        yield found


def list_journals(home: str, purpose: str) -> list[Journal]:
    """What was done under a purpose and not undone, the oldest first; nothing is changed."""
    return [item for item in _read_all(os.path.join(home, FOLDER)) if item.purpose == purpose]


def undo(home: str, journal: Journal) -> Undone:
    """Undo what a journal describes, except for what others have changed since."""
    with journals(home) as opened:
        found = [item for item in opened.find(journal.purpose) if item.id == journal.id]
        # Opening the journals finishes an undo that was interrupted; then there is nothing left to undo.
        return opened.undo(found[0]) if found else Undone(journal.title, (), (), ())


def _read_all(folder: str) -> list[Journal]:
    found = []
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        path = os.path.join(folder, name, _JOURNAL)
        if os.path.exists(path):
            try:
                with open(path, "rb") as file:
                    found.append(msgspec.json.decode(file.read(), type=Journal))
            except msgspec.DecodeError as error:
                raise HansardError(f"{path}: cannot be read ({error})") from None
    return found


class Journals:
    """The journals of a data directory, while their lock is held."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.recovered: list[Undone] = []

    def recover(self) -> None:
        """Go back where a process was killed half-way, or go on where it was going back; what fails does not stop others."""
        for journal in _read_all(self.folder):
            if journal.state != APPLIED:
                self.recovered.append(self._go_back(journal))
        for name in os.listdir(self.folder):
            place = os.path.join(self.folder, name)
            if os.path.isdir(place) and not os.path.exists(os.path.join(place, _JOURNAL)):
                shutil.rmtree(place)  # of a process that was killed before it began, or after its end

    def find(self, purpose: str) -> list[Journal]:
        """What was done under a purpose, the oldest first."""
        return [item for item in _read_all(self.folder) if item.purpose == purpose]

    # -- doing

    def apply(self, changes: ChangeSet) -> Journal:
        """Do all steps; where one fails, the others are undone and the error goes on."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        name = f"{time.time_ns():020}-{os.getpid()}"
        journal = Journal(
            name, changes.purpose, changes.title, moment, APPLYING, list(changes.bases), facts=changes.facts
        )
        os.mkdir(self._place(journal), DIRECTORY_MODE)
        self._note(journal)
        try:
            for step in changes.steps:
                check_place(step.path, changes.bases)
                if isinstance(step, Rename):
                    check_place(step.target, changes.bases)
                    self._rename(journal, step)
                elif isinstance(step, Mode):
                    self._chmod(journal, step)
                else:
                    self._write(journal, step)
            journal.state = APPLIED
            self._note(journal)
        except BaseException:
            self._go_back(journal)
            raise
        return journal

    def _write(self, journal: Journal, step: Write) -> None:
        number = len(journal.steps)
        before, found = _fingerprint(step.path), _status(step.path)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{step.path}: not a regular file, so it is not changed")
        folder, name = os.path.split(step.path)
        done = Done(
            "write",
            step.path,
            os.path.join(folder, f".{name[:100]}.hansard-{journal.id}"),
            step.merge,
            before,
            mode=stat.S_IMODE(found.st_mode) if found else step.mode,
            mtime_ns=found.st_mtime_ns if found else 0,
            made=_missing(folder),
        )
        if before is not None:
            _copy(file_pieces(step.path), self._before(journal, number), FILE_MODE)
        journal.steps.append(done)
        self._note(journal)
        _make_folders(done.made)
        done.after, done.size = _copy(step.pieces(), done.target, done.mode)
        if done.merge and done.size <= _LARGE:
            _copy(file_pieces(done.target), self._after(journal, number), FILE_MODE)
        if step.keep_date and done.mtime_ns:
            os.utime(done.target, ns=(done.mtime_ns, done.mtime_ns))
        self._note(journal)
        if _fingerprint(step.path) != before:
            raise UsageError(f"{step.path}: changed meanwhile; nothing was done. Run this again")
        os.replace(done.target, step.path)
        _sync_folder(folder)

    def _rename(self, journal: Journal, step: Rename) -> None:
        if os.path.lexists(step.target):
            raise UsageError(f"{step.target}: exists already")
        folder = os.path.dirname(step.target)
        is_folder = os.path.isdir(step.path)
        entries = sorted(os.listdir(step.path)) if is_folder else []
        journal.steps.append(Done("rename", step.path, step.target, made=_missing(folder), entries=entries))
        self._note(journal)
        _make_folders(journal.steps[-1].made)
        os.rename(step.path, step.target)
        _sync_folder(folder)

    def _chmod(self, journal: Journal, step: Mode) -> None:
        found = os.lstat(step.path)
        journal.steps.append(Done("mode", step.path, after=f"{step.mode:o}", mode=stat.S_IMODE(found.st_mode)))
        self._note(journal)
        os.chmod(step.path, step.mode)

    # -- going back

    def undo(self, journal: Journal) -> Undone:
        """Go back to what was before; of what others changed since only our part is taken out.

        Raises before the first step where a place must not be touched, such as a file that is a link now.
        """
        for done in journal.steps:
            if not done.undone:
                _check_places(done, journal.bases)
        return self._go_back(journal)

    def _go_back(self, journal: Journal) -> Undone:
        """Undo every step that can be undone; the journal is kept for those that cannot."""
        journal.state = UNDOING
        self._note(journal)
        restored: list[str] = []
        merged: list[str] = []
        left: list[str] = []
        failed: list[str] = []
        for number, done in reversed(list(enumerate(journal.steps))):
            if done.undone:
                continue
            try:
                _check_places(done, journal.bases)
                if done.kind == "rename":
                    self._rename_back(done, restored, merged, left)
                elif done.kind == "mode":
                    _chmod_back(done, restored, left)
                else:
                    self._write_back(journal, number, done, restored, merged, left)
            except UsageError as error:
                failed.append(str(error))
                continue
            except OSError as error:
                failed.append(f"{done.path}: {error.strerror or error}")
                continue
            done.undone = True
            for folder in reversed(done.made):
                with contextlib.suppress(OSError):  # something else is in it
                    os.rmdir(folder)
        if failed:
            self._note(journal)
        else:
            os.unlink(os.path.join(self._place(journal), _JOURNAL))
            shutil.rmtree(self._place(journal))
        return Undone(journal.title, tuple(restored), tuple(merged), tuple(left), tuple(failed))

    def _write_back(
        self, journal: Journal, number: int, done: Done, restored: list[str], merged: list[str], left: list[str]
    ) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(done.target)
        now = _fingerprint(done.path)
        if now == done.before:
            return
        before = self._before(journal, number)
        if now is not None and now == done.after:
            self._put(done, None if done.before is None else file_pieces(before), date=True)
            restored.append(done.path)
            return
        pieces = self._without_ours(journal, number, done) if now is not None else None
        if pieces is None:
            left.append(done.path)
            return
        self._put(done, pieces or None, date=False)
        (merged if pieces else restored).append(done.path)

    def _without_ours(self, journal: Journal, number: int, done: Done) -> Iterable[bytes] | None:
        """The content of a file changed since, without Hansard's part: empty if all of it is Hansard's, None if unknown."""
        if done.merge == "lines" and done.before is not None and _begins_with(done.path, done.after, done.size):
            former = self._before(journal, number)
            if _last_byte(former) in (b"\n", _last_byte(done.path, done.size)):
                return _grown(former, done.path, done.size)
        after = self._after(journal, number)
        if not done.merge or not os.path.exists(after) or os.path.getsize(done.path) > _LARGE:
            return None
        old = _read(self._before(journal, number)) if done.before is not None else None
        new, now = _read(after), _read(done.path)
        if done.merge == "json":
            try:
                rest = take_out(load_object(now, done.path), load_object(old, done.path), load_object(new, done.path))
            except UsageError:
                return None
            return (dump_like(rest, now),) if rest or old is not None else ()
        return (_other_lines(old or b"", new, now),)

    def _put(self, done: Done, pieces: Iterable[bytes] | None, *, date: bool) -> None:
        if pieces is None:
            os.unlink(done.path)
            return
        now = os.lstat(done.path)
        _copy(pieces, done.target, done.mode if date else stat.S_IMODE(now.st_mode))
        if date:
            os.utime(done.target, ns=(done.mtime_ns, done.mtime_ns))
        os.replace(done.target, done.path)
        _sync_folder(os.path.dirname(done.path))

    @staticmethod
    def _rename_back(done: Done, restored: list[str], merged: list[str], left: list[str]) -> None:
        if not os.path.lexists(done.target):
            if not os.path.lexists(done.path):
                left.append(done.path)
            return
        if not os.path.lexists(done.path):
            os.rename(done.target, done.path)
            _sync_folder(os.path.dirname(done.path))
            restored.append(done.path)
            return
        # Somebody made the folder again: what was in it goes back, each entry that has not come back otherwise.
        if not done.entries:
            left.append(done.target)
            return
        for name in done.entries:
            here, there = os.path.join(done.target, name), os.path.join(done.path, name)
            if os.path.lexists(here):
                if os.path.lexists(there):
                    left.append(here)
                else:
                    os.rename(here, there)
        merged.append(done.path)
        with contextlib.suppress(OSError):
            os.rmdir(done.target)

    # -- the journal's own files

    def _place(self, journal: Journal) -> str:
        return os.path.join(self.folder, journal.id)

    def _before(self, journal: Journal, number: int) -> str:
        return os.path.join(self._place(journal), f"{number}.before")

    def _after(self, journal: Journal, number: int) -> str:
        return os.path.join(self._place(journal), f"{number}.after")

    def _note(self, journal: Journal) -> None:
        path = os.path.join(self._place(journal), _JOURNAL)
        _copy((msgspec.json.encode(journal),), f"{path}.new", FILE_MODE)
        os.replace(f"{path}.new", path)
        _sync_folder(self._place(journal))


def _chmod_back(done: Done, restored: list[str], left: list[str]) -> None:
    found = _status(done.path)
    now = f"{stat.S_IMODE(found.st_mode):o}" if found is not None else ""
    if now == done.after:
        os.chmod(done.path, done.mode)
        restored.append(done.path)
    elif now != f"{done.mode:o}":  # unless it was killed before the change
        left.append(done.path)


def _check_places(done: Done, bases: list[str]) -> None:
    check_place(done.path, bases)
    if done.kind == "rename":
        check_place(done.target, bases)


def _copy(pieces: Iterable[bytes], path: str, mode: int) -> tuple[str, int]:
    """Write a new file to the disk; gives the hash and the size of what is in it."""
    digest, size = hashlib.sha256(), 0
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as file:
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(path, mode)
    return digest.hexdigest(), size


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _fingerprint(path: str) -> str | None:
    """The hash of a file's content, or None if there is no file."""
    if _status(path) is None:
        return None
    digest = hashlib.sha256()
    for piece in file_pieces(path):
        digest.update(piece)
    return digest.hexdigest()


def _begins_with(path: str, fingerprint: str, size: int) -> bool:
    digest, rest = hashlib.sha256(), size
    for piece in file_pieces(path):
        digest.update(piece[:rest])
        rest -= len(piece[:rest])
        if not rest:
            break
    return not rest and digest.hexdigest() == fingerprint


def _last_byte(path: str, size: int | None = None) -> bytes:
    """The last byte of a file, or of its first `size` bytes."""
    end = os.path.getsize(path) if size is None else size
    with open(path, "rb") as file:
        file.seek(max(0, end - 1))
        return file.read(1) if end else b""


def _grown(before: str, path: str, size: int) -> Iterator[bytes]:
    """The former content, and what was appended to the new one since."""
    yield from file_pieces(before)
    with open(path, "rb") as file:
        file.seek(size)
        while piece := file.read(1 << 20):
            yield piece


def _other_lines(before: bytes, after: bytes, now: bytes) -> bytes:
    """Lines as they are now, but ours as they were before, or gone where they were not there."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) == len(new):
        ours = {line: former for line, former in zip(new, old, strict=True) if line != former}
        return b"".join(ours.get(line, line) for line in now.splitlines(keepends=True))
    added = {line.rstrip(b"\r\n") for line in new} - {line.rstrip(b"\r\n") for line in old}
    return b"".join(line for line in now.splitlines(keepends=True) if line.rstrip(b"\r\n") not in added)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _missing(folder: str) -> list[str]:
    """The folders that would have to be made for this one, the outermost first."""
    missing: list[str] = []
    while not os.path.isdir(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def _make_folders(folders: Iterable[str]) -> None:
    for folder in folders:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, DIRECTORY_MODE)


def _sync_folder(folder: str) -> None:
    """Have a new name on the disk, where the system knows how."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
