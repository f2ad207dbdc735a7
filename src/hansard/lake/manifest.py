"""A machine's manifest: which files are its current rows, and which states of which sessions are in them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hansard.errors import StoreNewer
from hansard.lake.storage import LakeUnusable
from hansard.model.fields import Timestamp

if TYPE_CHECKING:
    from hansard.lake.storage import Storage

VERSION = 1
"""Of the layout and of the columns' meaning; a machine that finds an older one writes everything again."""
FOLDER = "manifests"
_AT_ONCE = 16


class File(Struct, frozen=True):
    """A Parquet file with rows of one view."""

    view: str
    path: str
    rows: int
    bytes: int


class Part(Struct, frozen=True):
    """Sessions whose rows are written together, one file for each view that has any."""

    month: str  # in which the first of them began; empty: rows of the machine
    number: int
    sessions: dict[str, str]  # each with its state
    files: tuple[File, ...]

    @property
    def name(self) -> str:
        return f"{self.month}-{self.number}"


class Origin(Struct, frozen=True):
    """The raw transcripts that rows were built from, by `hansard lake build`."""

    source: str
    state: str  # changes with their files, and with the version of Hansard; empty while they are being built


class Manifest(Struct, frozen=True):
    """What a machine has in the lake."""

    version: int
    machine: str
    person: str
    table: str  # parquet, delta
    settings: str  # digest of what decides about the content of rows; other settings: everything is written again
    hansard: str
    pushed_at: Timestamp | None  # None: the first push is not complete
    parts: tuple[Part, ...] = ()
    replaced: dict[str, Timestamp] = {}  # files that readers of a former manifest may still need, and since when
    origin: Origin | None = None  # None: the machine pushed itself

    def files(self) -> Iterator[File]:
        for part in self.parts:
            yield from part.files


class _Version(Struct):
    version: int


def read_manifest(storage: Storage, name: str) -> Manifest | None:
    """A machine's manifest; None if it has none, or one of an older layout."""
    content = storage.read(f"{FOLDER}/{name}.json")
    return None if content is None else _decoded(storage, name, content)


def _decoded(storage: Storage, name: str, content: bytes) -> Manifest | None:
    try:
        version = msgspec.json.decode(content, type=_Version).version
        if version > VERSION:
            raise StoreNewer(
                f"{storage.shown}: {name} was pushed by a newer Hansard (layout {version}, this one knows {VERSION}):"
                " update Hansard (pip install -U hansard)"
            )
        return msgspec.json.decode(content, type=Manifest) if version == VERSION else None
    except msgspec.DecodeError as error:
        raise LakeUnusable(
            f"{storage.shown}/{FOLDER}/{name}.json is damaged: {error}; remove it and push again"
        ) from error


def read_manifests(storage: Storage) -> list[Manifest]:
    """Those of all machines, in order of their names."""
    paths = sorted(listed.path for listed in storage.files(FOLDER) if listed.path.endswith(".json"))
    names = [path.removeprefix(f"{FOLDER}/").removesuffix(".json") for path in paths]
    with ThreadPoolExecutor(_AT_ONCE) as readers:  # an object store answers after milliseconds
        return [one for one in readers.map(partial(read_manifest, storage), names) if one is not None]


def write_manifest(storage: Storage, name: str, manifest: Manifest) -> None:
    storage.write(f"{FOLDER}/{name}.json", msgspec.json.encode(manifest))
