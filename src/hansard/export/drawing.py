"""Drawing one session to its file, with what belongs to it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING

from hansard.errors import HansardError, UsageError
from hansard.export import formats
from hansard.export.files import NotWritten, digest_of, make_folder, write_file
from hansard.sources.names import printable

if TYPE_CHECKING:
    from hansard.model.sessions import Session
    from hansard.thread.store import ThreadStore
    from hansard.workers import Channel

Stamp = tuple[int, int, str]
"""A file's size, its time and its SHA-256."""


@dataclass(frozen=True, slots=True)
class RenderedSession:
    """The files of a session as they were written."""

    file: Stamp
    assets: dict[str, Stamp] = field(default_factory=dict)  # by their names in the folder of assets


class Drawer:
    """Draws sessions in one format; `home` is the address of the page that lists them."""

    def __init__(self, store: ThreadStore, form: str, *, zone: tzinfo, home: str) -> None:
        self.store = store
        self.form = form
        self.zone = zone
        self.home = home

    def draw(self, session: Session, path: str) -> RenderedSession:
        """Write a session's file, and its pictures beside it where the format wants them so."""
        assets: dict[str, Stamp] = {}
        folder = assets_of(path)

        def keep(name: str, content: bytes) -> str:
            assets[name] = _keep(folder, name, content)
            return f"{os.path.basename(folder)}/{name}"

        return RenderedSession(write_file(path, self.pieces(session, keep)), assets)

    def pieces(self, session: Session, keep: Callable[[str, bytes], str]) -> Iterator[bytes]:
        """A session's drawing."""
        return formats.draw(self.form, self.store.read(session), keep, zone=self.zone, home=self.home)


def assets_of(path: str) -> str:
    """The folder of what belongs to a file."""
    return os.path.splitext(path)[0] + ".assets"


def reason(error: Exception) -> str:
    """Why a session could not be drawn."""
    return str(error) if isinstance(error, HansardError) else f"{type(error).__name__}: {error}"


def _keep(folder: str, name: str, content: bytes) -> Stamp:
    """Write a picture, if it is not there already: its name is made from its content."""
    if os.path.islink(folder):
        raise UsageError(f"{printable(folder)} is a link; move it away")
    make_folder(folder)
    place = os.path.join(folder, name)
    if os.path.isfile(place) and not os.path.islink(place) and os.path.getsize(place) == len(content):
        status = os.stat(place)
        digest = digest_of(place)
        if digest.startswith(name.partition(".")[0]):
            return status.st_size, status.st_mtime_ns, digest
    return write_file(place, [content])


def draw_sessions(channel: Channel, home: str, form: str, zone: str, list_address: str, redacts: bool) -> None:
    """A worker: draw each session that comes in, by its id and the path of its file; the answer is what was written, or why not."""
    from zoneinfo import ZoneInfo

    from hansard.guard.redaction import redact
    from hansard.thread.store import ThreadStore

    gc.freeze()  # what is imported stays
    with closing(ThreadStore.open(home, redact if redacts else None)) as store:
        drawer = Drawer(store, form, zone=ZoneInfo(zone), home=list_address)
        while (task := channel.receive()) is not None:
            session_id, path = task
            try:
                drawn = drawer.draw(store.find(session_id), path)
                channel.send(drawn.file, drawn.assets)
            except NotWritten:
                raise
            except Exception as error:  # noqa: BLE001 - whatever one session does to the drawing, the others go on
                channel.send(reason(error))
