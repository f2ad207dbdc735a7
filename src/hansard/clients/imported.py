"""Clients whose conversations are brought in by `hansard import`: each is kept as a file of its own, byte for byte."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.documents import DocumentLines, list_start
from hansard.clients.generic import GenericClient
from hansard.clients.objects import Objects
from hansard.clients.protocol import SideContent
from hansard.clients.state import digest
from hansard.clients.values import milliseconds
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.lines import Lines

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 100


class ImportedClient(GenericClient):
    """A client that is given files; a root of it is a folder that an import made."""

    list_name = b""
    """The list of messages in a conversation, if it is one JSON document."""
    suffix = ".json"
    replaces = True
    """Whether another content under the same id is another state of the conversation; else it is another one."""
    update_field = ""
    """The field of a conversation with the time of its last change, if it has one."""

    def __init__(self) -> None:
        folder = LayoutFolder(
            log=FileKind.MAIN, suffixes={".json": FileKind.MAIN, ".md": FileKind.MAIN}, deeper=NOT_KEPT
        )
        earlier = LayoutFolder(rest=FileKind.OTHER, deeper=NOT_KEPT)
        places = LayoutFolder(suffixes={".txt": FileKind.PROJECT}, deeper=NOT_KEPT)
        folders = {self.folder: folder, self.earlier: earlier, self.places: places}
        self.layout = Layout(main=self.folder, folders=folders)

    @property
    def folder(self) -> str:
        """The folder of the conversations."""
        return f"{self.name}-conversations"

    @property
    def earlier(self) -> str:
        """The folder of earlier states of the conversations."""
        return f"{self.name}-earlier"

    @property
    def places(self) -> str:
        """The folder with the working directories of conversations that do not name theirs."""
        return f"{self.name}-folders"

    def folder_of(self, name: str) -> str:  # noqa: ARG002
        """The working directory of the conversations in a file, where its place says it."""
        return ""

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:
        """The working directory of a conversation."""
        if kind != FileKind.PROJECT:
            return SideContent()
        return SideContent(folders={path.rpartition("/")[2].removesuffix(".txt"): data.decode("utf-8", "replace")})

    def is_newer(self, content: bytes, known: bytes) -> bool:
        """Whether of two states of a conversation the first is the newer one: by its time, else because it is not shorter."""
        if self.update_field:
            time, known_time = self._update_time(content), self._update_time(known)
            if time is not None and known_time is not None and time != known_time:
                return time > known_time
        return len(content) >= len(known)

    def _update_time(self, content: bytes) -> int | None:
        try:
            return milliseconds(_decode(content).get(self.update_field))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
        """The conversations of a file, each with an id; none if it is of another client."""
        raise NotImplementedError

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:  # noqa: ARG002
        """None: they are read on request."""
        return []

    def open_root(self, path: str) -> Root | None:
        """A folder that an import made."""
        real = os.path.realpath(os.path.expanduser(path))
        conversations = os.path.join(real, self.folder)
        if not os.path.isdir(conversations):
            return None
        return Root(real, os.path.basename(real), self.name, self.layout, conversations, real)

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """The messages of the document."""
        return DocumentLines(pieces, start, lambda data: list_start(data, self.list_name, 1))


def file_name(conversation: str) -> str:
    """An id as the name of a file on any system; of another id it is another name, except for upper and lower case."""
    name = _UNSAFE.sub("_", conversation).strip(".")
    return name if name and name == conversation and len(name) <= _LONGEST_NAME else with_digest(name, conversation)


def with_digest(name: str, conversation: str) -> str:
    """A name that no other id has."""
    return f"{name[:60]}-{digest(ascii(conversation))}".lstrip("-")


def json_objects(data: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The objects of a list, of a document with a list of `conversations`, or of JSON lines; else the document itself."""
    begin = list_start(data[:4096], b"conversations", 1)
    for start, stop in Objects(data[begin:], max_steps=sys.maxsize):
        piece = data[begin + start : begin + stop]
        try:
            yield piece, _decode(piece)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
