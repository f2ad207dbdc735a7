"""Importing exported conversations: each becomes a file in a folder of Hansard's own, which is a root from then on."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.clients import IMPORTED, client_of
from hansard.clients.imported import ImportedClient, file_name, with_digest
from hansard.errors import SourceUnreadable, UsageError
from hansard.files import make_private_folder, write_private
from hansard.sources.names import printable

try:
    from lzma import LZMAError
except ImportError:  # Python can be built without it
    LZMAError = EOFError  # type: ignore[misc, assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_FILE = 512 << 20  # bytes: a file is read as a whole
_MAX_FILES = 10_000
_SUFFIXES = (".json", ".jsonl", ".md")
_DAMAGE = (OSError, EOFError, RuntimeError, ValueError, LZMAError, zipfile.BadZipFile, zlib.error)


class ImportReport(Struct, frozen=True):
    """The result of an import."""

    client: str
    conversations: int
    written: int
    """Conversations that were new or different."""
    folder: str
    skipped: int = 0
    """Files of the whole import that were not read: too large, too many, not regular, or unreadable."""


def import_folders(home: str) -> list[str]:
    """The folders of imports, which are roots."""
    folder = os.path.join(home, "imports")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name in IMPORTED]


def import_file(home: str, path: str, client: str = "") -> list[ImportReport]:
    """Store the conversations of a file, a zip archive or a folder; only those of `client`, if it is given."""
    if client and client not in IMPORTED:
        raise UsageError(f"nothing is imported of {client}: {', '.join(IMPORTED)} can be")
    path = os.path.abspath(os.path.expanduser(path))
    folders: dict[str, _Folder] = {}
    files = _Files(path)
    for name, data in files:
        for chosen in [client] if client else IMPORTED:
            known = client_of(chosen)
            if not isinstance(known, ImportedClient):
                continue
            is_found = False
            for conversation, content in known.parts(name, data):
                if chosen not in folders:
                    folders[chosen] = _Folder(home, known)
                folders[chosen].keep(conversation, content, known.folder_of(name))
                is_found = True
            if is_found:
                break
    if not folders:
        skipped = f" ({files.skipped:,} of its files could not be read)" if files.skipped else ""
        raise UsageError(
            f"{printable(path)}: no conversations of {client or 'any client that can be imported'} in it{skipped}"
        )
    return [
        ImportReport(name, found.conversations, found.written, os.path.join(home, "imports", name), files.skipped)
        for name, found in sorted(folders.items())
    ]


class _Folder:
    """The imported conversations of a client."""

    def __init__(self, home: str, client: ImportedClient) -> None:
        self._client = client
        self._folder = os.path.join(home, "imports", client.name, client.folder)
        self._earlier = os.path.join(home, "imports", client.name, client.earlier)
        self._places = os.path.join(home, "imports", client.name, client.places)
        make_private_folder(self._folder)
        # A file system may not tell upper from lower case.
        self._names = {name.lower(): name for name in os.listdir(self._folder)}
        self.conversations = self.written = 0

    def keep(self, conversation: str, content: bytes, folder: str = "") -> None:
        """Write a conversation and its working directory, unless it exists; of two states of one, the other is stored beside it."""
        self.conversations += 1
        self.written += self._keep(conversation, content)
        if folder:
            make_private_folder(self._places)
            write_private(os.path.join(self._places, f"{file_name(conversation)}.txt"), os.fsencode(folder))

    def _keep(self, conversation: str, content: bytes) -> bool:
        stem = file_name(conversation)
        if not self._is_free(stem):
            stem = with_digest(stem, conversation)
        number = 1
        while True:
            name = stem + (f"-{number}" if number > 1 else "")
            target = os.path.join(self._folder, name + self._client.suffix)
            known = _content(target)
            if known == content:
                return False
            if known is None:
                self._names[(name + self._client.suffix).lower()] = name + self._client.suffix
                write_private(target, content)
                return True
            if self._client.replaces:
                return self._update(name, target, known, content)
            number += 1

    def _is_free(self, stem: str) -> bool:
        name = stem + self._client.suffix
        return self._names.get(name.lower(), name) == name

    def _update(self, name: str, target: str, known: bytes, content: bytes) -> bool:
        """Store the newer state in the conversation's place, and the older one too unless the newer begins with it."""
        if _content(self._earlier_place(name, content)) == content:
            return False
        is_newer = self._client.is_newer(content, known)
        newer, older = (content, known) if is_newer else (known, content)
        is_lost = not newer.startswith(older)
        if is_lost:
            make_private_folder(self._earlier)
            write_private(self._earlier_place(name, older), older)
        if is_newer:
            write_private(target, content)
        return is_newer or is_lost

    def _earlier_place(self, name: str, content: bytes) -> str:
        from hashlib import blake2b

        digest = blake2b(content, digest_size=16).hexdigest()
        return os.path.join(self._earlier, f"{name}-{digest}{self._client.suffix}")


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


class _Files:
    """The files that may hold conversations, with their content: a file, or those of an archive or a folder."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._count = 0
        self.skipped = 0

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        path = self._path
        try:
            if os.path.isdir(path):
                yield from self._folder()
                return
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                raise SourceUnreadable(f"{printable(path)}: not a regular file")
            if zipfile.is_zipfile(path):
                yield from self._archive()
                return
            if status.st_size > _MAX_FILE:
                raise UsageError(f"{printable(path)}: larger than {_MAX_FILE >> 20} MB, which are read at most")
            with open(path, "rb") as file:
                yield path, file.read()
        except _DAMAGE as error:
            raise SourceUnreadable(f"{printable(path)}: {str(error) or 'it is damaged'}") from error

    def _folder(self) -> Iterator[tuple[str, bytes]]:
        for folder, folders, names in os.walk(self._path):
            folders.sort()
            for name in sorted(names):
                if name.endswith(_SUFFIXES):
                    data = self._read(os.path.join(folder, name))
                    if data is not None:
                        yield os.path.join(folder, name), data

    def _read(self, path: str) -> bytes | None:
        try:
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and self._is_within(status.st_size):
                with open(path, "rb") as file:
                    return file.read()
        except OSError:
            pass
        self.skipped += 1
        return None

    def _archive(self) -> Iterator[tuple[str, bytes]]:
        with zipfile.ZipFile(self._path) as archive:
            for member in archive.infolist():
                if not member.filename.endswith(_SUFFIXES):
                    continue
                if self._is_within(member.file_size):
                    with archive.open(member) as file:  # its stated size may be wrong
                        data = file.read(_MAX_FILE + 1)
                    if len(data) <= _MAX_FILE:
                        yield member.filename, data
                        continue
                self.skipped += 1

    def _is_within(self, size: int) -> bool:
        """Whether another file of this size is read."""
        if size > _MAX_FILE or self._count >= _MAX_FILES:
            return False
        self._count += 1
        return True
