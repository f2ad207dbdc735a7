"""Rendering sessions to files, with worker processes if there are many."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError, UsageError
from hansard.export import formats
from hansard.export.files import NotWritten, digest_of, make_folder, write_file
from hansard.model.gate import count_anew, replaced
from hansard.sources.names import printable
from hansard.workers import Worker

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
    redacted: frozenset[str] = frozenset()  # fingerprints of the secrets that were replaced


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

        count_anew(self.store.redact)
        file = write_file(path, self.pieces(session, keep))
        return RenderedSession(file, assets, replaced(self.store.redact))

    def pieces(self, session: Session, keep: Callable[[str, bytes], str]) -> Iterator[bytes]:
        if self.store.redact is not None:  # a title that was redacted before would not be counted
            session = self.store.find(session.session_id)
        yield from formats.draw(self.form, self.store.read(session), keep, zone=self.zone, home=self.home)


def assets_of(path: str) -> str:
    """The folder of what belongs to a file."""
    return os.path.splitext(path)[0] + ".assets"


def reason(error: Exception) -> str:
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


def draw_sessions(channel: Channel, home: str, form: str, zone: str, list_address: str, mode: str) -> None:
    """A worker: draw each session that comes in, by its id and the path of its file; the answer is what was written, or why not."""
    from zoneinfo import ZoneInfo

    from hansard.secrets.redactor import store_redactor
    from hansard.thread.store import ThreadStore

    gc.freeze()  # what is imported stays
    with closing(ThreadStore.open(home, store_redactor(home, mode))) as store:
        drawer = Drawer(store, form, zone=ZoneInfo(zone), home=list_address)
        while (task := channel.receive()) is not None:
            session_id, path = task
            try:
                drawn = drawer.draw(store.find(session_id), path)
                channel.send(drawn.file, drawn.assets, list(drawn.redacted))
            except NotWritten:
                raise
            except Exception as error:  # noqa: BLE001 - one session that cannot be drawn must not stop the others
                channel.send(reason(error))


LEAST = 16 << 20
"""Bytes of transcripts that a helper is worth starting for."""
_MOST = 3  # helpers

Task = tuple["Session", str]
"""A session, and the file to draw it to."""


def draw_all(drawer: Drawer, tasks: Sequence[Task]) -> Iterator[tuple[Task, RenderedSession | str]]:
    """Draw sessions, the large ones first; for each what was written, or why nothing was."""
    waiting = deque(sorted(tasks, key=lambda task: -task[0].bytes))
    answers: SimpleQueue[tuple[Task, RenderedSession | Exception | None]] = SimpleQueue()
    helpers = _helpers(drawer, waiting, answers)
    left = len(tasks)
    try:
        while left:
            done = _next(drawer, waiting, answers)
            if done is None:
                continue
            task, drawn = done
            if drawn is None:  # its helper has gone
                drawn = _drawn(drawer, *task)
            if isinstance(drawn, NotWritten):
                raise drawn
            left -= 1
            yield task, reason(drawn) if isinstance(drawn, Exception) else drawn
    finally:
        waiting.clear()
        for helper in helpers:
            helper.close()


def _next(
    drawer: Drawer, waiting: deque[Task], answers: SimpleQueue[tuple[Task, RenderedSession | Exception | None]]
) -> tuple[Task, RenderedSession | Exception | None] | None:
    """A session rendered by a worker, or else one rendered here."""
    with contextlib.suppress(Empty):
        return answers.get_nowait()
    try:
        task = waiting.popleft()
    except IndexError:
        with contextlib.suppress(Empty):
            return answers.get(timeout=0.1)  # not for ever: on Windows an endless wait does not notice ctrl-c
        return None
    return task, _drawn(drawer, *task)


def _drawn(drawer: Drawer, session: Session, path: str) -> RenderedSession | Exception:
    try:
        return drawer.draw(session, path)
    except Exception as error:  # noqa: BLE001 - one session that cannot be drawn must not stop the others
        return error


def _helpers(drawer: Drawer, waiting: deque[Task], answers: SimpleQueue[Any]) -> list[_Helper]:
    zone = "UTC" if drawer.zone is UTC else getattr(drawer.zone, "key", None)
    worth = sum(session.bytes for session, _ in waiting) // LEAST
    count = min(worth, len(waiting) - 1, _MOST, (os.cpu_count() or 1) - 1)
    helpers: list[_Helper] = []
    if zone is None:
        return helpers
    job = (drawer.store.home, drawer.form, zone, drawer.home, getattr(drawer.store.redact, "mode", "off"))
    with contextlib.suppress(OSError):
        for _ in range(count):
            helpers.append(_Helper(job, waiting, answers))  # noqa: PERF401 - those that could be started stay
    return helpers


class _Helper:
    """A process that draws, and the thread that listens to it."""

    def __init__(self, job: tuple[str, ...], waiting: deque[Task], answers: SimpleQueue[Any]) -> None:
        self._worker = Worker("hansard.export.pool:draw_sessions", *job)
        self._thread = threading.Thread(target=self._listen, args=(waiting, answers), daemon=True)
        self._thread.start()

    def _listen(self, waiting: deque[Task], answers: SimpleQueue[Any]) -> None:
        answer: RenderedSession | Exception | None = HansardError()
        while answer is not None and not isinstance(answer, NotWritten):
            try:
                task = waiting.popleft()
            except IndexError:
                return
            answer = self._ask(*task)
            answers.put((task, answer))

    def _ask(self, session: Session, path: str) -> RenderedSession | Exception | None:
        self._worker.send(session.session_id, path)
        try:
            match self._worker.receive():
                case (file, assets, redacted):
                    return RenderedSession(file, assets, frozenset(redacted))
                case (why,):
                    return HansardError(why)
        except HansardError as error:  # the worker ended with it
            return error if isinstance(error, NotWritten) else None
        return None

    def close(self) -> None:
        """Kill the process; it leaves at most a temporary file."""
        self._worker.kill()  # what it still draws is not needed
        self._thread.join()
        self._worker.close()
