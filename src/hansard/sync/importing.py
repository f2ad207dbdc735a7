"""Bringing exported conversations into the store: each becomes a file in a folder of Hansard's own, which is a root from then on."""

from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.clients import IMPORTED, client_of
from hansard.clients.imported import ImportedClient, file_name
from hansard.errors import SourceUnreadable, UsageError
from hansard.files import make_private_folder, write_private
from hansard.sources.names import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_FILE = 512 << 20  # bytes: a file is read as a whole
_MAX_FILES = 10_000
_SUFFIXES = (".json", ".jsonl", ".md")


class ImportReport(Struct, frozen=True):
    """What an import found."""

    client: str
    conversations: int
    written: int
    """Those that were new or different."""
    folder: str


def import_folders(home: str) -> list[str]:
    """The folders that imports made, which are roots."""
    folder = os.path.join(home, "imports")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name in IMPORTED]


def import_file(home: str, path: str, client: str = "") -> list[ImportReport]:
    """Keep the conversations of a file, of a zip archive or of a folder; of one client only, if it is named."""
    if client and client not in IMPORTED:
        raise UsageError(f"nothing is imported of {client}: {', '.join(IMPORTED)} can be")
    path = os.path.abspath(os.path.expanduser(path))
    found: dict[str, tuple[int, int]] = {}
    for name, data in _files(path):
        for chosen in [client] if client else IMPORTED:
            known = client_of(chosen)
            if not isinstance(known, ImportedClient):
                continue
            count = written = 0
            for conversation, content in known.parts(name, data):
                count += 1
                written += _keep(home, known, conversation, content)
            if count:
                before = found.get(chosen, (0, 0))
                found[chosen] = before[0] + count, before[1] + written
                break
    if not found:
        raise UsageError(f"{printable(path)}: no conversations of {client or 'any client that can be imported'} in it")
    return [ImportReport(name, *counts, os.path.join(home, "imports", name)) for name, counts in sorted(found.items())]


def _keep(home: str, client: ImportedClient, conversation: str, content: bytes) -> bool:
    folder = os.path.join(home, "imports", client.name, client.folder)
    make_private_folder(folder)
    name = file_name(conversation)
    number = 1
    while True:
        target = os.path.join(folder, name + (f"-{number}" if number > 1 else "") + client.suffix)
        known = _content(target)
        if known == content:
            return False
        if known is None or client.replaces:
            write_private(target, content)
            return True
        number += 1


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _files(path: str) -> Iterator[tuple[str, bytes]]:
    """The files that may hold conversations: the file itself, or those of an archive or a folder."""
    try:
        if os.path.isdir(path):
            yield from _folder(path)
        elif zipfile.is_zipfile(path):
            yield from _archive(path)
        else:
            if os.path.getsize(path) > _MAX_FILE:
                raise UsageError(f"{printable(path)}: larger than {_MAX_FILE >> 20} MB, which are read at most")
            with open(path, "rb") as file:
                yield path, file.read()
    except (OSError, zipfile.BadZipFile, RuntimeError) as error:
        raise SourceUnreadable(f"{printable(path)}: {error}") from error


def _folder(path: str) -> Iterator[tuple[str, bytes]]:
    count = 0
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            place = os.path.join(folder, name)
            if name.endswith(_SUFFIXES) and os.path.getsize(place) <= _MAX_FILE and count < _MAX_FILES:
                count += 1
                with open(place, "rb") as file:
                    yield place, file.read()


def _archive(path: str) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist()[:_MAX_FILES]:
            if member.filename.endswith(_SUFFIXES):
                with archive.open(member) as file:  # what it says of its size may be wrong
                    data = file.read(_MAX_FILE + 1)
                if len(data) <= _MAX_FILE:
                    yield member.filename, data
