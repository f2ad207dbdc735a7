"""Where a lake is: a directory, or an object store by its URL."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from hansard.errors import StoreUnusable, UsageError

_PARTIAL = ".part"


class LakeUnusable(StoreUnusable):
    """A lake cannot be read or written."""


class Listed(NamedTuple):
    """A file of a lake."""

    path: str
    modified: datetime
    size: int


class Storage(Protocol):
    """Files by their path, with `/`; a write is all of it or nothing."""

    shown: str

    def read(self, path: str) -> bytes | None:
        """A small file; None if there is none."""

    def write(self, path: str, content: bytes) -> None:
        """Replace a small file."""

    def upload(self, path: str, local: str) -> None:
        """Replace a file with one of this machine."""

    def files(self, folder: str) -> Iterator[Listed]:
        """All files below a folder."""

    def remove(self, path: str) -> None:
        """Remove a file if it is there."""

    def fetch(self, path: str, scratch: str) -> str:
        """The path of the file on this machine; a remote one is copied to `scratch`."""

    def location(self, path: str) -> str:
        """The file's path or URL, for programs that read it themselves."""


def open_storage(target: str) -> Storage:
    """A directory, or an object store such as s3://bucket/folder."""
    if not target.strip():
        raise UsageError("a lake needs a place: a directory, or the URL of an object store")
    if "://" in target and not target.startswith("file://"):
        return Bucket(target)
    return Directory(os.path.abspath(os.path.expanduser(target.removeprefix("file://"))))


class Directory:
    """A lake in a directory. Its files get the permissions that the umask gives: it is there to be shared."""

    def __init__(self, path: str) -> None:
        self.shown = path

    def read(self, path: str) -> bytes | None:
        try:
            with open(self._of(path), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._told(path, error) from error

    def write(self, path: str, content: bytes) -> None:
        def fill(made: str) -> None:
            with open(made, "wb") as file:
                file.write(content)

        self._replace(path, fill)

    def upload(self, path: str, local: str) -> None:
        self._replace(path, lambda made: shutil.copyfile(local, made))

    def _replace(self, path: str, fill: Any) -> None:
        place = self._of(path)
        made = f"{place}.{os.getpid()}{_PARTIAL}"
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            fill(made)
            with open(made, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(made, place)
        except OSError as error:
            with suppress(OSError):
                os.unlink(made)
            raise self._told(path, error) from error

    def files(self, folder: str) -> Iterator[Listed]:
        top = self._of(folder)
        for where, _, names in os.walk(top):
            for name in names:
                place = os.path.join(where, name)
                with suppress(FileNotFoundError):
                    status = os.stat(place)
                    modified = datetime.fromtimestamp(status.st_mtime, UTC)
                    yield Listed(os.path.relpath(place, self.shown).replace(os.sep, "/"), modified, status.st_size)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._of(path))

    def fetch(self, path: str, scratch: str) -> str:
        del scratch
        return self._of(path)

    def location(self, path: str) -> str:
        return self._of(path)

    def _of(self, path: str) -> str:
        return os.path.join(self.shown, *path.split("/"))

    def _told(self, path: str, error: OSError) -> LakeUnusable:
        return LakeUnusable(f"{self._of(path)}: {error.strerror or error}")


class Bucket:
    """A lake in an object store; credentials come from the environment, as its own tools read them."""

    def __init__(self, url: str, store: Any = None) -> None:
        self.shown = url.rstrip("/")
        try:
            import obstore
        except ImportError as error:
            raise UsageError(
                "an object store needs obstore, which is not installed; add it with: pip install 'hansard[lake]'"
            ) from error
        self._obstore = obstore
        try:
            self._store = obstore.store.from_url(url) if store is None else store
        except Exception as error:
            raise UsageError(f"{url} is not the URL of an object store: {_first_line(error)}") from error

    def read(self, path: str) -> bytes | None:
        try:
            return bytes(self._obstore.get(self._store, path).bytes())
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._told(error) from error

    def write(self, path: str, content: bytes) -> None:
        try:
            self._obstore.put(self._store, path, content)
        except Exception as error:
            raise self._told(error) from error

    def upload(self, path: str, local: str) -> None:
        try:
            with open(local, "rb") as file:
                self._obstore.put(self._store, path, file)
        except Exception as error:
            raise self._told(error) from error

    def files(self, folder: str) -> Iterator[Listed]:
        try:
            for page in self._obstore.list(self._store, prefix=folder):
                for item in page:
                    yield Listed(item["path"], item["last_modified"], item["size"])
        except Exception as error:
            raise self._told(error) from error

    def folders(self) -> list[str]:
        """The first parts of all paths."""
        try:
            found = self._obstore.list_with_delimiter(self._store)
        except Exception as error:
            raise self._told(error) from error
        return [str(prefix).strip("/") for prefix in found["common_prefixes"]]

    def remove(self, path: str) -> None:
        try:
            self._obstore.delete(self._store, path)
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._told(error) from error

    def fetch(self, path: str, scratch: str) -> str:
        place = os.path.join(scratch, *path.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            with open(place, "wb") as file:
                file.writelines(self._obstore.get(self._store, path).stream(min_chunk_size=1 << 20))
        except Exception as error:
            raise self._told(error) from error
        return place

    def location(self, path: str) -> str:
        return f"{self.shown}/{path}"

    def _told(self, error: Exception) -> LakeUnusable:
        return LakeUnusable(f"{self.shown}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
