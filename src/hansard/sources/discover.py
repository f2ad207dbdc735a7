"""One walk over a root that finds every file worth keeping."""

import os
import stat
import sys
from dataclasses import dataclass

from hansard.sources.layout import LOOSE, TOPS, FileKind, Place
from hansard.sources.names import escape, printable
from hansard.sources.roots import Root
from hansard.sources.tail import FileStatus, file_status


@dataclass(slots=True)
class Found:
    """A file worth keeping, as the walk saw it; inode 0 is an unknown one (Windows)."""

    path: str
    kind: FileKind
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int

    @property
    def status(self) -> FileStatus:
        """The same as a status."""
        return FileStatus(self.size, self.mtime_ns, self.ctime_ns, self.inode, self.mode)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file under projects/ that is not kept."""

    path: str
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file or folder that could not be looked at: nothing can be said of what lies under `relative`."""

    path: str  # absolute, for people
    reason: str
    relative: str = ""  # as Found.path; "" is the whole root


_NOT_OURS = "not a kind of file that is kept"
_NOT_A_FILE = "not a regular file"
_HIDDEN = "a hidden folder"
_DANGLING = "the link leads nowhere"
_WINDOWS = sys.platform == "win32"
_MOUNT_POINT = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT: a junction, which DirEntry takes for a plain folder


def discover(root: Root) -> tuple[list[Found], list[Unreadable], list[LeftOut]]:
    """Find what a root holds, in no particular order."""
    walk = _Walk(root)
    if not os.path.isdir(root.path):
        walk.unreadable.append(Unreadable(printable(root.path), "the root is not there"))
        return walk.found, walk.unreadable, walk.left_out
    walk.tree(root.projects, "projects", TOPS["projects"])
    if root.config is not None:
        for top, place in TOPS.items():
            if top != "projects":
                walk.tree(os.path.join(root.config, top), top, place)
        for name, kind in LOOSE.items():
            walk.loose(os.path.join(root.config, name), name, kind)
    walk.follow_links()
    return walk.found, walk.unreadable, walk.left_out


class _Walk:
    """The walk's findings, and the links it has still to follow.

    Folders that are plain folders are walked first. Links wait until then, because a link into what was walked needs no
    second visit: that alone ends every loop, without a stat per folder. Trees outside that a link leads to are walked
    knowing their real paths, so that they are entered once, whichever link or parent leads there.
    """

    def __init__(self, root: Root) -> None:
        self.root = root
        self.found: list[Found] = []
        self.unreadable: list[Unreadable] = []
        self.left_out: list[LeftOut] = []
        self.links: list[tuple[str, str, str, Place]] = []  # relative path, absolute path, real name, place it lies in
        self.walked: set[str] = set()  # real paths of the trees that were walked

    def tree(self, folder: str, relative: str, place: Place, real: str = "") -> None:
        """Walk a folder and the plain folders in it; `real` is its real path where that must be watched."""
        add = self.found.append
        scandir = os.scandir
        new = Found
        stack = [(folder, relative, place, real)]
        while stack:
            folder, relative, place, real = stack.pop()
            kind_of = place.kind
            start = relative + "/"
            try:
                with scandir(folder) as entries:
                    for entry in entries:
                        name = entry.name
                        kept = name if name.isascii() and "\\" not in name else escape(name)
                        path = start + kept
                        try:
                            if entry.is_file(follow_symlinks=False):
                                kind = kind_of(name)
                                if kind is None:
                                    self._leave_out(path, entry, _NOT_OURS)
                                    continue
                                # On Windows this is the directory's own note of the file, st_ino 0.
                                add(new(path, kind, *file_status(entry.stat())))
                            elif entry.is_symlink() or (_WINDOWS and _is_junction(entry)):
                                self.links.append((path, entry.path, name, place))
                            elif entry.is_dir(follow_symlinks=False):
                                if name[0] == ".":
                                    self._note(path, 0, _HIDDEN)
                                    continue
                                within = os.path.join(real, name) if real else ""
                                if not within or within not in self.walked:
                                    stack.append((entry.path, path, place.inside(name), within))
                            else:
                                self._leave_out(path, entry, _NOT_A_FILE)
                        except FileNotFoundError:
                            continue  # it went while we were looking
                        except OSError as error:
                            self._cannot_read(entry.path, path, error)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._cannot_read(folder, relative, error)

    def loose(self, path: str, name: str, kind: FileKind) -> None:
        """Look at a file of the config directory itself."""
        try:
            st = os.stat(path)
        except FileNotFoundError:
            return
        except OSError as error:
            self._cannot_read(path, name, error)
            return
        if stat.S_ISREG(st.st_mode):
            self._add(name, kind, st)

    def follow_links(self) -> None:
        """Visit what links lead to, unless it was walked already."""
        if not self.links:
            return
        config = self.root.config
        tops = [self.root.projects] + (
            [os.path.join(config, top) for top in TOPS if top != "projects"] if config else []
        )
        self.walked.update(map(os.path.realpath, tops))
        while self.links:
            waiting = sorted(self.links, key=lambda link: link[0])  # the same link wins each time
            self.links = []
            for path, absolute, name, place in waiting:
                try:
                    self._follow(path, absolute, name, place)
                except FileNotFoundError:
                    self.unreadable.append(Unreadable(printable(absolute), _DANGLING, path))
                except OSError as error:
                    self._cannot_read(absolute, path, error)

    def _follow(self, path: str, absolute: str, name: str, place: Place) -> None:
        if name[0] == "." and place.kind(name) is None:
            self._note(path, 0, _NOT_OURS)  # an editor's lock, which leads nowhere
            return
        st = os.stat(absolute)
        target = os.path.realpath(absolute)
        is_dir = stat.S_ISDIR(st.st_mode)
        if is_dir and name[0] == ".":
            self._note(path, 0, _HIDDEN)
            return
        # A file in a walked tree was kept under its own name if that ends as the link does.
        if self._is_walked(target) and (is_dir or os.path.splitext(target)[1] == os.path.splitext(name)[1]):
            return
        if is_dir:
            self.walked.add(target)
            self.tree(absolute, path, place.inside(name), target)
            return
        kind = place.kind(name)
        if kind is None or not stat.S_ISREG(st.st_mode):
            self._note(path, st.st_size, _NOT_OURS if kind is None else _NOT_A_FILE)
            return
        self.walked.add(target)
        self._add(path, kind, st)

    def _is_walked(self, target: str) -> bool:
        if target in self.walked:
            return True
        for base in self.walked:
            start = base if base.endswith(os.sep) else base + os.sep
            if target.startswith(start):
                hidden = any(part.startswith(".") for part in target[len(start) :].split(os.sep))
                if not hidden:
                    return True
        return False

    def _add(self, path: str, kind: FileKind, st: os.stat_result) -> None:
        self.found.append(Found(path, kind, *file_status(st)))

    def _leave_out(self, path: str, entry: "os.DirEntry[str]", reason: str) -> None:
        if path.startswith("projects/"):
            self._note(path, entry.stat(follow_symlinks=False).st_size, reason)

    def _note(self, path: str, size: int, reason: str) -> None:
        if path.startswith("projects/"):
            self.left_out.append(LeftOut(path, size, reason))

    def _cannot_read(self, absolute: str, relative: str, error: OSError) -> None:
        self.unreadable.append(Unreadable(printable(absolute), error.strerror or str(error), relative))


def _is_junction(entry: "os.DirEntry[str]") -> bool:
    return getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) == _MOUNT_POINT
