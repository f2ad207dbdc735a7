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
from hansard.clients.protocol import PathInfo
from hansard.clients.state import digest
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
    """Whether another content under the same id is a newer state of the conversation; else it is another one."""

    def __init__(self) -> None:
        folder = LayoutFolder(
            log=FileKind.MAIN, suffixes={".json": FileKind.MAIN, ".md": FileKind.MAIN}, deeper=NOT_KEPT
        )
        self.layout = Layout(main=self.folder, folders={self.folder: folder})

    @property
    def folder(self) -> str:
        """The folder of the conversations."""
        return f"{self.name}-conversations"

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

    def path_info(self, path: str) -> PathInfo:
        """The file is named after its conversation."""
        return PathInfo(path.rpartition("/")[2].rpartition(".")[0])

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """The messages of the document."""
        return DocumentLines(pieces, start, lambda data: list_start(data, self.list_name, 1))


def file_name(conversation: str) -> str:
    """An id as the name of a file on any system."""
    name = _UNSAFE.sub("_", conversation).strip(".")
    return name if name and len(name) <= _LONGEST_NAME else f"{name[:60]}-{digest(conversation)}".lstrip("-")


def json_objects(data: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The objects of a list, of a document with a list of `conversations`, or of JSON lines; else the document itself."""
    begin = list_start(data[:4096], b"conversations", 1)
    for start, stop in Objects(data[begin:], max_steps=sys.maxsize):
        piece = data[begin + start : begin + stop]
        try:
            yield piece, _decode(piece)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
