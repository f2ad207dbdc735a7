"""The roots that transcripts are read from: a client's config directory, or the bare folder of its transcripts."""

import os
import re

from msgspec import Struct

from hansard.sources.layout import Layout
from hansard.sources.names import escape, unescape


class Root(Struct, frozen=True):
    """A directory tree to read from."""

    path: str
    name: str
    client: str
    layout: Layout
    transcripts: str  # the directory that `layout.main` stands for
    config: str | None  # the directory around it; None where only the transcripts are read
    follow_links: tuple[str, ...] = ()  # real paths of folders outside that links in it may lead to
    data_directory: str = ""  # Hansard's own, by its real path: never read

    def locate(self, relative: str) -> str:
        """Give the absolute path of a relative one ("projects/...", "history.jsonl")."""
        top, slash, inside = relative.partition("/")
        if top == self.layout.main:
            base = self.transcripts
            rest = inside
        else:
            base = self.config or os.path.dirname(self.transcripts)
            rest = top + slash + inside
        rest = unescape(rest).replace("/", os.sep)
        return os.path.join(base, rest) if rest else base

    def relative(self, absolute: str) -> str | None:
        """Give the relative path of an absolute one, None when it is not in this root."""
        inside = path_inside(self.transcripts, absolute)
        if inside is not None:
            return f"{self.layout.main}/{inside}" if inside else self.layout.main
        return path_inside(self.config, absolute) if self.config else None

    def is_own_data(self, real: str) -> bool:
        """Tell whether a real path is in Hansard's data directory; a root that lies in there itself is none of it."""
        own = self.data_directory
        if not own or path_inside(own, real) is None:
            return False
        return path_inside(own, self.path) is None or path_inside(self.path, real) is None

    def admits(self, real: str) -> bool:
        """Tell whether a link may lead to a real path: into the root, or to where the user allowed it."""
        if self.is_own_data(real):
            return False
        if path_inside(self.path, real) or path_inside(os.path.realpath(self.transcripts), real):
            return True
        return any(path_inside(folder, real) is not None for folder in self.follow_links)

    def reaches(self, relative: str) -> bool:
        """Tell whether a relative path leads to what may be read: the entry of the layout that it begins with may be a link."""
        place = self.locate(relative)
        real = os.path.realpath(place)
        top = self.locate(relative.partition("/")[0])
        plain = os.path.realpath(top) + place[len(top) :]
        return not self.is_own_data(real) and (real == plain or self.admits(real))


def path_inside(base: str, absolute: str) -> str | None:
    """Give the path of something in a directory, "" for the directory itself, None for what lies elsewhere."""
    if os.path.normcase(absolute) == os.path.normcase(base):
        return ""
    base = base if base.endswith(os.sep) else base + os.sep
    if not os.path.normcase(absolute).startswith(os.path.normcase(base)):
        return None
    return "/".join(map(escape, absolute[len(base) :].split(os.sep)))


def split_paths(value: str, separator: str = os.pathsep) -> list[str]:
    """Split a list of paths at commas and path separators, leaving alone what exists as it stands."""
    if os.path.isdir(value):
        return [value]
    paths = []
    for part in value.split(","):
        if os.path.isdir(part.strip()):
            paths.append(part.strip())
            continue
        # With ":" between paths, the colon of "C:\..." or "C:/..." is no separator.
        pattern = r"(?<!:[A-Za-z])(?<!^[A-Za-z]):|:(?![\\/])" if separator == ":" else re.escape(separator)
        paths += [piece.strip() for piece in re.split(pattern, part.strip())]
    return [path for path in paths if path]
