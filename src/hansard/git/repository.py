"""Query a repository: always through the git program, as data, without its hooks, filters or helpers. Only `add_note` writes."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, BinaryIO, NamedTuple, cast

from hansard.errors import HansardError, NotFound, UsageError

NOT_COMMITTED = "0" * 40
_HASH = 40
_MOST_RENAMES = 8  # of one file
_MOST_ANCESTORS = 200_000
_LONGEST_BLOB = 32 << 20  # bytes of a file that are examined
_TIMEOUT = 600  # seconds for one git command
_LONG_TIMEOUT = 3600  # seconds for the patches of many commits
_FILTER = re.compile(rb"filter\.(.+)\.(?:clean|process)", re.DOTALL)
# A repository's own configuration may name programs to run; none of them may run for reading.
_SAFE = (
    "-c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.attributesFile=/dev/null -c core.pager=cat"
    " -c core.untrackedCache=false -c log.showSignature=false -c gpg.program=false -c protocol.allow=never"
    " -c core.quotePath=false -c diff.noprefix=false -c diff.mnemonicPrefix=false -c blame.ignoreRevsFile= -c blame.markUnblamableLines=false"
    " -c diff.renameLimit=400 -c i18n.logOutputEncoding=UTF-8"
).split()
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "LC_ALL": "C",
}
_KEPT = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "XDG_CONFIG_HOME")


class GitFailed(HansardError):
    """Git is not installed, or did not answer."""


class Blamed(NamedTuple):
    """A line of `git blame` output."""

    commit: str
    original: int  # its line number in that commit
    path: str  # of the file in that commit
    text: str


class CommitInfo(NamedTuple):
    """A commit's metadata and message."""

    commit: str
    parents: tuple[str, ...]
    author: str
    authored: int  # seconds
    committed: int
    subject: str
    body: str  # including trailers


class FilePatch(NamedTuple):
    """What a commit changed in one file: hunks of lines that begin with a space, + or -."""

    path: str
    old_path: str
    is_binary: bool
    hunks: tuple[tuple[int, tuple[str, ...]], ...]  # the line number of the first line afterwards, and the lines

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for _, lines in self.hunks for line in lines)

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for _, lines in self.hunks for line in lines)


def _late(command: str, minutes: int = _TIMEOUT // 60) -> GitFailed:
    return GitFailed(f"git {command}: stopped, because it did not finish within {minutes} minutes")


def read_regular(path: str, most: int, *, follow: bool = True) -> bytes:
    """Read a regular file up to a size limit; anything else, such as a pipe that would block forever, is an OSError."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0))), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return file.read(most)


@cache
def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise GitFailed("git is not installed or not on your PATH: blame and commits need it")
    return found


def _environment() -> dict[str, str]:
    # Drop the caller's GIT_DIR, GIT_EXTERNAL_DIFF and the like: inside a hook they name another repository.
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | _ENVIRONMENT


class Repository:
    """A repository on this machine, found from a file or folder in it."""

    def __init__(self, folder: str) -> None:
        self.root = folder
        self._known: dict[str, CommitInfo] = {}

    @classmethod
    def find(cls, place: str) -> Repository:
        found = cls.around(place)
        if found is None:
            raise NotFound(f"{place} is not in a git repository")
        return found

    @classmethod
    def around(cls, place: str) -> Repository | None:
        folder = os.path.abspath(place)
        while not os.path.isdir(folder):
            folder, former = os.path.dirname(folder), folder
            if folder == former:
                break
        here = cls(folder)
        # A bare repository has no working tree.
        found = here._try("rev-parse", "--show-toplevel") or here._try("rev-parse", "--absolute-git-dir")
        return cls(found.decode("utf-8", "surrogateescape").rstrip("\n")) if found else None

    def _command(self, words: Iterable[str]) -> list[str]:
        return [_program(), "--no-pager", *_SAFE, "-C", self.root, *words]

    def _run(
        self, *words: str, given: bytes | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(  # noqa: S603 - no shell, and options are ours
                self._command(words),
                input=given,
                stdin=subprocess.DEVNULL if given is None else None,
                capture_output=True,
                check=False,
                env=_environment() | dict(environment or {}),
                timeout=_TIMEOUT,
            )
        except OSError as error:
            raise GitFailed(f"git could not be run: {error.strerror or error}") from error
        except subprocess.TimeoutExpired as error:
            raise _late(words[0]) from error

    def ask(self, *words: str, given: bytes | None = None, environment: Mapping[str, str] | None = None) -> bytes:
        done = self._run(*words, given=given, environment=environment)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
            raise GitFailed(f"git {words[0]}: {said or 'failed'}")
        return done.stdout

    def _try(self, *words: str) -> bytes | None:
        done = self._run(*words)
        return None if done.returncode else done.stdout

    # -- paths

    def relative(self, path: str) -> str:
        """A path relative to the repository, with slashes; symlinks on the way to the repository are followed."""
        for root in (self.root, os.path.realpath(self.root)):
            for whole in (
                os.path.abspath(path),
                os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)),
            ):
                near = os.path.relpath(whole, root).replace(os.sep, "/")
                if not near.startswith("../") and near != "..":
                    return near
        raise NotFound(f"{path} is not in the repository {self.root}")

    def worktrees(self) -> list[str]:
        """The folders of its working trees, this one first."""
        listed = self._try("worktree", "list", "--porcelain", "-z") or b""
        found = [
            item[9:].decode("utf-8", "surrogateescape") for item in listed.split(b"\0") if item.startswith(b"worktree ")
        ]
        return list(dict.fromkeys([self.root, os.path.realpath(self.root), *found]))

    def common_folder(self) -> str:
        folder = self.ask("rev-parse", "--git-common-dir").decode("utf-8", "surrogateescape").rstrip("\n")
        return os.path.realpath(os.path.join(self.root, folder))

    def resolve(self, name: str) -> str | None:
        """The full hash of a commit, or None if there is no such commit."""
        if not name or name.startswith("-"):
            return None
        found = self._try("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return found.decode().strip() if found else None

    def resolve_all(self, names: Sequence[str]) -> dict[str, str]:
        """The full hashes of commits, by the given names; missing commits are omitted."""
        wanted = [name for name in dict.fromkeys(names) if name.isalnum()]
        if not wanted:
            return {}
        asked = "".join(f"{name}^{{commit}}\n" for name in wanted).encode()
        lines = self.ask("cat-file", "--batch-check=%(objectname) %(objecttype)", given=asked).decode().splitlines()
        return {name: line.split()[0] for name, line in zip(wanted, lines, strict=False) if line.endswith(" commit")}

    # -- files

    def files(self) -> list[str]:
        listed = self._try("ls-files", "-z", "--full-name", ":/") or b""
        return [name.decode("utf-8", "surrogateescape") for name in listed.split(b"\0") if name]

    def blob(self, rev: str, path: str) -> bytes | None:
        """A file's content in a commit; None if it is missing or too large."""
        return self.blobs([(rev, path)]).get((rev, path))

    def blobs(self, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], bytes]:
        """The contents of files in commits; missing ones are omitted."""
        wanted = [item for item in dict.fromkeys(wanted) if "\n" not in item[1] and item[0] != NOT_COMMITTED]
        if not wanted:
            return {}
        asked = "".join(f"{rev}:{path}\n" for rev, path in wanted).encode("utf-8", "surrogateescape")
        answer = self.ask("cat-file", "--batch", given=asked)
        found: dict[tuple[str, str], bytes] = {}
        place = 0
        for item in wanted:
            end = answer.index(b"\n", place)
            head, place = answer[place:end].split(b" "), end + 1
            if len(head) != 3 or not head[-1].isdigit():
                continue
            size = int(head[-1])
            if head[1] == b"blob" and size <= _LONGEST_BLOB:
                found[item] = answer[place : place + size]
            place += size + 1
        return found

    def current_name(self, path: str, rev: str) -> str:
        """The name that a file has in a commit after renames; the same name if it was not renamed."""
        name = path
        for _ in range(_MOST_RENAMES):
            commit = self._try(
                "log", "-1", "--no-renames", "--diff-filter=D", "--format=%H", rev, "--", f":(literal){name}"
            )
            if not commit:
                break
            words = ("diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", "--no-commit-id")
            listed = (self._try(*words, commit.decode().strip()) or b"").decode("utf-8", "surrogateescape").split("\0")
            renamed = dict(zip(listed[1::3], listed[2::3], strict=False))
            if name not in renamed:
                break
            name = renamed[name]
        return name

    def blame(self, path: str, rev: str | None = None, lines: tuple[int, int] | None = None) -> bytes:
        """Raw `git blame --porcelain` output for `read_blame`; `rev` is a full hash, without it the working tree is used."""
        words = ["blame", "--porcelain", "--no-textconv", "--encoding=UTF-8"]
        if lines is not None:
            words.append(f"-L{lines[0]},{lines[1]}")
        if rev is not None:
            words.append(rev)
        environment = self._without_filters() if rev is None else None
        return self.ask(*words, "--", path, environment=environment)

    def _without_filters(self) -> dict[str, str]:
        """Settings that stop git from running the filters that the repository configures for files of the working tree.

        They are passed in the environment: `-c` cannot name a filter whose name contains an equals sign.
        """
        names = {found[1] for key in self._settings() if (found := _FILTER.fullmatch(key))}
        values = {"clean": "", "smudge": "", "process": "", "required": "false"}
        settings = [(f"filter.{os.fsdecode(name)}.{key}", values[key]) for name in sorted(names) for key in values]
        environment = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings):
            environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        if any(value for key, value in self._settings(environment).items() if _FILTER.fullmatch(key)):
            raise GitFailed("switching off this repository's filters needs git 2.31 or later")
        return environment

    def _settings(self, environment: Mapping[str, str] | None = None) -> dict[bytes, bytes]:
        listed = self.ask("config", "--list", "-z", environment=environment)
        return {key: value for key, _, value in (item.partition(b"\n") for item in listed.split(b"\0"))}

    # -- commits

    def commits(self, hashes: Sequence[str]) -> dict[str, CommitInfo]:
        missing = [name for name in dict.fromkeys(hashes) if name not in self._known and name != NOT_COMMITTED]
        if missing:
            answer = self.ask("log", "--no-walk=unsorted", "--stdin", _FORMAT, given="\n".join(missing).encode())
            for info in _infos(answer):
                self._known[info.commit] = info
        return {name: self._known[name] for name in hashes if name in self._known}

    def log(self, *, since: int | None = None, until: int | None = None, limit: int = 20_000) -> list[CommitInfo]:
        """The commits of all branches, newest first, without merges; times are in seconds."""
        words = ["log", "--branches", "--tags", "--remotes", "HEAD", "--no-merges", f"--max-count={limit}", _FORMAT]
        if since is not None:
            words.append(f"--since={since}")
        if until is not None:
            words.append(f"--until={until}")
        if self._try("rev-parse", "--verify", "--quiet", "HEAD") is None:
            words.remove("HEAD")
        return list(_infos(self.ask(*words)))

    def ancestors(self) -> set[str]:
        return set((self._try("rev-list", f"--max-count={_MOST_ANCESTORS}", "HEAD") or b"").decode().split())

    def patches(self, commits: Sequence[str], context: int = 3) -> Iterator[tuple[str, list[FilePatch]]]:
        """What commits changed, each relative to its first parent, with renames."""
        if not commits:
            return
        words = [
            *"diff-tree --stdin --root -r -p -M --no-ext-diff --no-textconv --no-color --full-index --src-prefix=a/".split(),
            *"--dst-prefix=b/ --no-relative --ignore-submodules -m --first-parent".split(),
            f"-U{context}",
        ]
        with self.streaming(words, commits) as stream:
            yield from _patches(stream)

    @contextmanager
    def streaming(self, words: Sequence[str], given: Sequence[str] = ()) -> Iterator[BinaryIO]:
        """What a git command prints, as it comes; `given` are lines for its stdin. Raises if it does not end in time."""
        with subprocess.Popen(  # noqa: S603 - no shell, and options are ours
            self._command(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        ) as process:
            from threading import Thread, Timer

            feeder = Thread(target=_feed, args=(process.stdin, given), daemon=True)
            feeder.start()
            stopped: list[bool] = []

            def stop() -> None:
                stopped.append(True)
                process.kill()

            watchdog = Timer(_LONG_TIMEOUT, stop)
            watchdog.daemon = True
            watchdog.start()
            try:
                yield cast("BinaryIO", process.stdout)
                feeder.join()
                if stopped:
                    raise _late(words[0], _LONG_TIMEOUT // 60)
            finally:
                watchdog.cancel()
                process.kill()  # when its answer was not read to the end; otherwise it has ended

    def has_ref(self, name: str) -> bool:
        return self._try("rev-parse", "--verify", "--quiet", name) is not None

    def note(self, ref: str, commit: str) -> bytes | None:
        return self._try("notes", f"--ref={ref}", "show", commit)

    def add_note(self, ref: str, commit: str, text: str) -> None:
        """Add a note to a commit; raises if it already has one."""
        if self.note(ref, commit) is not None:
            raise UsageError(f"{commit[:12]} already has a note in {ref}, which is not replaced")
        self.ask("notes", f"--ref={ref}", "add", "-F", "-", commit, given=text.encode())

    def hooks_folder(self) -> str:
        """Where git looks for hooks, respecting core.hooksPath."""
        found = subprocess.run(  # noqa: S603 - no shell; respects the repository's own setting, but runs nothing from there
            [_program(), "-C", self.root, "rev-parse", "--git-path", "hooks"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=_environment(),
            timeout=_TIMEOUT,
        )
        if found.returncode:
            raise GitFailed(f"{self.root}: git does not say where its hooks are")
        folder = found.stdout.decode("utf-8", "surrogateescape")
        return os.path.normpath(os.path.join(self.root, os.path.expanduser(folder.rstrip("\n"))))


_FORMAT = "--format=format:%H%x00%P%x00%an%x00%at%x00%ct%x00%s%x00%b%x00%x01"


def _feed(stream: object, commits: Sequence[str]) -> None:

    pipe = cast("IO[bytes]", stream)
    with suppress(BrokenPipeError):
        pipe.write("".join(f"{name}\n" for name in commits).encode())
    with suppress(BrokenPipeError):
        pipe.close()


def _infos(answer: bytes) -> Iterator[CommitInfo]:
    for item in answer.decode("utf-8", "replace").split("\0\x01"):
        parts = item.lstrip("\n").split("\0")
        if len(parts) >= 7:
            name, parents, author, authored, committed, subject, body = parts[:7]
            yield CommitInfo(
                name, tuple(parents.split()), author, int(authored or 0), int(committed or 0), subject, body
            )


def read_blame(answer: bytes) -> Iterator[Blamed]:
    """Parse `git blame --porcelain`, which gives a commit's details only once."""
    paths: dict[str, str] = {}
    current, original = "", 0
    for raw in answer.split(b"\n"):
        if raw.startswith(b"\t"):
            text = raw[1:].decode("utf-8", "replace").removesuffix("\r")
            yield Blamed(current, original, paths.get(current, ""), text)
        elif raw.startswith(b"filename "):
            paths[current] = unquoted(raw[9:])
        elif raw[_HASH : _HASH + 1] == b" " and raw[:1] in b"0123456789abcdef" and len(raw.split(b" ")) in (3, 4):
            words = raw.split(b" ")
            current, original = words[0].decode(), int(words[1])


def unquoted(name: bytes) -> str:
    """Unquote a path: git quotes and escapes unusual characters."""
    if not (name.startswith(b'"') and name.endswith(b'"')):
        return name.decode("utf-8", "surrogateescape")
    plain = name[1:-1].decode("latin-1").encode("latin-1").decode("unicode_escape")
    return plain.encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def _patches(stream: Iterable[bytes]) -> Iterator[tuple[str, list[FilePatch]]]:
    commit, files = "", list[FilePatch]()
    path, old_path, binary = "", "", False
    hunks: list[tuple[int, tuple[str, ...]]] = []
    lines: list[str] = []
    start = left_old = left_new = 0
    in_file = False

    def end_hunk() -> None:
        if lines:
            hunks.append((start, tuple(lines)))
            lines.clear()

    def end_file() -> None:
        end_hunk()
        if in_file:
            files.append(FilePatch(path, old_path or path, binary, tuple(hunks)))
        hunks.clear()

    for raw in stream:
        if left_old > 0 or left_new > 0:
            mark = raw[:1]
            if mark in b" +-" and mark:
                lines.append(raw.rstrip(b"\n").decode("utf-8", "replace").removesuffix("\r"))
                left_old -= mark != b"+"
                left_new -= mark != b"-"
                continue
            if mark == b"\\":
                continue
        if raw.startswith(b"@@ "):
            end_hunk()
            old, new = raw.split(b" ")[1:3]
            first, _, count = new[1:].partition(b",")
            _, _, old_count = old[1:].partition(b",")
            start, left_new, left_old = int(first), int(count or 1), int(old_count or 1)
        elif raw.startswith(b"diff --git "):
            end_file()
            in_file, binary, old_path = True, False, ""
            half = raw[11:].rstrip(b"\n")
            path = _side(half[len(half) // 2 + 1 :])
        elif raw.startswith((b"rename to ", b"copy to ")):
            path = unquoted(raw.split(b" ", 2)[2].rstrip(b"\n"))
        elif raw.startswith((b"rename from ", b"copy from ")):
            old_path = unquoted(raw.split(b" ", 2)[2].rstrip(b"\n"))
        elif raw.startswith(b"+++ ") and not raw.startswith(b"+++ /dev/null"):
            path = _side(raw[4:].rstrip(b"\n").rstrip(b"\t"))
        elif raw.startswith((b"Binary files ", b"GIT binary patch")):
            binary = True
        elif len(raw) in (_HASH + 1, 65) and raw[:_HASH].isalnum():
            end_file()
            if commit:
                yield commit, files
            commit, files, in_file = raw.strip().decode(), [], False
    end_file()
    if commit:
        yield commit, files


def _side(name: bytes) -> str:
    """A path from a diff without its prefix."""
    return unquoted(name).removeprefix("a/").removeprefix("b/") if name.startswith(b'"') else unquoted(name[2:])
