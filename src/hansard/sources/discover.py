"""One walk over a root that finds every file worth keeping."""

import os
import stat
import sys
from collections.abc import Collection

from msgspec import Struct

from hansard.sources.databases import database_status
from hansard.sources.names import escape, printable
from hansard.sources.roots import NOT_KEPT, FileKind, LayoutFolder, Root, path_inside
from hansard.sources.tail import PACKED, FileStatus, status_numbers


class Found(Struct):
    """A file worth keeping, as the walk saw it; inode 0 is an unknown one (Windows)."""

    path: str
    kind: FileKind
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int
    is_packed: bool = False  # compressed by the client, with an ending added to its name

    @property
    def status(self) -> FileStatus:
        """The status of the file."""
        return FileStatus(self.size, self.mtime_ns, self.ctime_ns, self.inode, self.mode)


class LeftOut(Struct, frozen=True):
    """A file in the folder of transcripts that is not kept, or a link or folder anywhere that is not entered."""

    path: str
    size: int
    reason: str
    target: str = ""  # of a link that is not followed: nothing is known about what is below `path`


class Unreadable(Struct, frozen=True):
    """A file or folder that could not be read: nothing is known about what is below `relative`."""

    path: str  # absolute, for people
    reason: str
    relative: str = ""  # as Found.path; "" is the whole root


Walk = tuple[list[Found], list[Unreadable], list[LeftOut]]
"""The result of a walk over a root: files to store, what could not be read, what is left out."""

_NOT_OURS = "not a kind of file that Hansard keeps"
_NOT_A_FILE = "not a regular file"
_HIDDEN = "a hidden folder"
_OWN_DATA = "Hansard's own data directory"
_DANGLING = "broken link"
_WINDOWS = sys.platform == "win32"
_MOUNT_POINT = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT: a junction, which DirEntry takes for a plain folder


def discover(root: Root) -> Walk:
    walk = _Walk(root)
    if not os.path.isdir(root.path):
        walk.unreadable.append(Unreadable(printable(root.path), "the root does not exist"))
        return walk.found, walk.unreadable, walk.left_out
    if root.only is not None:
        walk.named(root.only)
        return walk.found, walk.unreadable, walk.left_out
    for top in walk.tops:
        walk.top(top)
    if root.config is not None:
        for name, kind in root.layout.files.items():
            walk.loose(os.path.join(root.config, name), name, kind)
    walk.follow_links()
    if walk.packed:  # a plain one is newer: the client unpacked it to continue it
        plain = {file.path for file in walk.found}
        walk.found += [file for file in walk.packed if file.path not in plain]
    walk.add_journals()
    return walk.found, walk.unreadable, walk.left_out


class _Walk:
    """The walk's findings, and the links it has still to follow.

    Plain folders are walked first. Links wait until then, because a link into a tree that was walked needs no
    second visit: this ends every loop without a stat per folder. A link is followed inside the root and to folders
    that the user allowed; such trees are walked knowing their real paths, so that they are entered once, whichever link or
    parent leads there. The root itself and the entries of its layout may be links: that is what the user named.
    """

    def __init__(self, root: Root) -> None:
        self.root = root
        self.tops = tuple(root.layout.folders) if root.config is not None else (root.layout.main,)
        self.noted = root.layout.main + "/"
        self.found: list[Found] = []
        self.unreadable: list[Unreadable] = []
        self.left_out: list[LeftOut] = []
        self.links: list[
            tuple[str, str, str, LayoutFolder]
        ] = []  # relative path, absolute path, real name, place it lies in
        self.packed: list[Found] = []
        self.walked: set[str] = set()  # real paths of the trees that were walked

    def top(self, name: str) -> None:
        """Walk an entry of the layout."""
        folder = self.root.locate(name)
        real = os.path.realpath(folder) if os.path.islink(folder) or _WINDOWS else folder
        if self.root.is_own_data(real):
            self._leave_link(name, real, _OWN_DATA)
        elif real != folder and path_inside(real, self.root.path) is not None:
            self._leave_link(name, real, "a folder around the root")
        else:
            self.tree(folder, name, self.root.layout.folders[name], self._own_data_in(folder, real))

    def tree(self, folder: str, relative: str, place: LayoutFolder, own_data: str, real: str = "") -> None:
        """Walk a folder and the plain folders in it but `own_data`; `real` is its real path where that must be watched."""
        add = self.found.append
        scandir = os.scandir
        new, numbers = Found, status_numbers
        packed = self.root.layout.has_packed
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
                                if kind is None and packed and name.endswith(PACKED):
                                    kind = kind_of(name[: -len(PACKED)])
                                    if kind is not None and kind.is_log:
                                        plain = path[: -len(PACKED)]
                                        self.packed.append(new(plain, kind, *numbers(entry.stat()), is_packed=True))
                                        continue
                                    kind = None
                                if kind is None:
                                    self._leave_out(path, entry, _NOT_OURS)
                                    continue
                                # On Windows this comes from the directory entry, with st_ino 0.
                                add(new(path, kind, *numbers(entry.stat())))
                            elif entry.is_symlink() or (_WINDOWS and _is_junction(entry)):
                                self.links.append((path, entry.path, name, place))
                            elif entry.is_dir(follow_symlinks=False):
                                if name[0] == "." and name not in place.folders:
                                    self._note(path, 0, _HIDDEN)
                                    continue
                                if entry.path == own_data:
                                    self.left_out.append(LeftOut(path, 0, _OWN_DATA, printable(own_data)))
                                    continue
                                inner = place.inside(name)
                                if inner is NOT_KEPT:
                                    self._note(path, 0, _NOT_OURS)
                                    continue
                                within = os.path.join(real, name) if real else ""
                                if not within or within not in self.walked:
                                    stack.append((entry.path, path, inner, within))
                            else:
                                self._leave_out(path, entry, _NOT_A_FILE)
                        except FileNotFoundError:
                            continue  # removed meanwhile
                        except OSError as error:
                            self._cannot_read(entry.path, path, error)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._cannot_read(folder, relative, error)

    def loose(self, path: str, name: str, kind: FileKind) -> None:
        """Check a file of the config directory itself."""
        try:
            st = os.lstat(path)
            if stat.S_ISLNK(st.st_mode):
                st = os.stat(path)
                real = os.path.realpath(path)
                if self.root.is_own_data(real):
                    self._leave_link(name, real, _OWN_DATA)
                    return
        except FileNotFoundError:
            return
        except OSError as error:
            self._cannot_read(path, name, error)
            return
        if stat.S_ISREG(st.st_mode) or (kind is FileKind.DATABASE and stat.S_ISDIR(st.st_mode)):
            self._add(name, kind, st)

    def named(self, paths: Collection[str]) -> None:
        """Check files of which an earlier walk gave the paths."""
        for path in sorted(paths):
            kind = self.root.layout.kind_of(path)
            if kind is not None:
                self.loose(self.root.locate(path), path, kind)
        self.add_journals()

    def add_journals(self) -> None:
        """Combine the status of databases with that of their journals, or of the files in them."""
        for file in self.found:
            if file.kind is FileKind.DATABASE:
                place = self.root.locate(file.path)
                try:
                    status = database_status(place)
                except OSError as error:
                    self._cannot_read(place, file.path, error)
                    continue
                file.size, file.mtime_ns, file.ctime_ns, file.inode, file.mode = status

    def follow_links(self) -> None:
        """Visit the targets of links, unless they were walked already."""
        if not self.links:
            return
        self.walked.update(os.path.realpath(self.root.locate(top)) for top in self.tops)
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

    def _follow(self, path: str, absolute: str, name: str, place: LayoutFolder) -> None:
        if name[0] == "." and place.kind(name) is None:
            self._note(path, 0, _NOT_OURS)  # an editor's lock: a dangling link
            return
        st = os.stat(absolute)
        target = os.path.realpath(absolute)
        is_dir = stat.S_ISDIR(st.st_mode)
        if is_dir and name[0] == ".":
            self._note(path, 0, _HIDDEN)
            return
        if self.root.is_own_data(target):
            self._leave_link(path, target, _OWN_DATA)
            return
        # A file in a walked tree was kept under its own name if that ends as the link does.
        if self._is_walked(target) and (is_dir or os.path.splitext(target)[1] == os.path.splitext(name)[1]):
            return
        if not self.root.admits(target):
            self._leave_link(path, target, "the root itself" if target == self.root.path else "outside the root")
            return
        if is_dir:
            self.walked.add(target)
            self.tree(absolute, path, place.inside(name), self._own_data_in(absolute, target), target)
            return
        kind = place.kind(name)
        if kind is None or not stat.S_ISREG(st.st_mode):
            self._note(path, st.st_size, _NOT_OURS if kind is None else _NOT_A_FILE)
            return
        self.walked.add(target)
        self._add(path, kind, st)

    def _is_walked(self, target: str) -> bool:
        while target not in self.walked:
            target, name = os.path.split(target)
            if not name or name[0] == ".":  # hidden folders are not entered
                return False
        return True

    def _own_data_in(self, folder: str, real: str) -> str:
        """Where a walk of a folder with that real path would meet our own data; "" if it would not."""
        own = self.root.data_directory
        if not own or path_inside(real, own) is None:
            return ""
        return folder + own[len(real.rstrip(os.sep)) :]

    def _leave_link(self, path: str, target: str, where: str) -> None:
        shown = printable(target)
        self.left_out.append(LeftOut(path, 0, f"a link to {shown}, {where}", shown))

    def _add(self, path: str, kind: FileKind, st: os.stat_result) -> None:
        self.found.append(Found(path, kind, *status_numbers(st)))

    def _leave_out(self, path: str, entry: "os.DirEntry[str]", reason: str) -> None:
        if path.startswith(self.noted):
            self._note(path, entry.stat(follow_symlinks=False).st_size, reason)

    def _note(self, path: str, size: int, reason: str) -> None:
        if path.startswith(self.noted):
            self.left_out.append(LeftOut(path, size, reason))

    def _cannot_read(self, absolute: str, relative: str, error: OSError) -> None:
        self.unreadable.append(Unreadable(printable(absolute), error.strerror or str(error), relative))


def _is_junction(entry: "os.DirEntry[str]") -> bool:
    return getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) == _MOUNT_POINT
