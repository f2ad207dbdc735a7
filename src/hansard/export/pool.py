"""Drawing many sessions with helper processes; without them where there is little to draw, or none can be had."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError
from hansard.export.drawing import RenderedSession, reason
from hansard.export.files import NotWritten
from hansard.workers import Worker

if TYPE_CHECKING:
    from hansard.export.drawing import Drawer
    from hansard.model.sessions import Session

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
    """What a helper has done, or else one session drawn here."""
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
    except Exception as error:  # noqa: BLE001 - whatever one session does to the drawing, the others go on
        return error


def _helpers(drawer: Drawer, waiting: deque[Task], answers: SimpleQueue[Any]) -> list[_Helper]:
    zone = "UTC" if drawer.zone is UTC else getattr(drawer.zone, "key", None)
    worth = sum(session.bytes for session, _ in waiting) // LEAST
    count = min(worth, len(waiting) - 1, _MOST, (os.cpu_count() or 1) - 1)
    helpers: list[_Helper] = []
    if zone is None:
        return helpers
    job = (drawer.store.home, drawer.form, zone, drawer.home, drawer.store.redact is not None)
    with contextlib.suppress(OSError):
        for _ in range(count):
            helpers.append(_Helper(job, waiting, answers))  # noqa: PERF401 - those that could be started stay
    return helpers


class _Helper:
    """A process that draws, and the thread that listens to it."""

    def __init__(self, job: tuple[str | bool, ...], waiting: deque[Task], answers: SimpleQueue[Any]) -> None:
        self._worker = Worker("hansard.export.drawing:draw_sessions", *job)
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
                case (file, assets):
                    return RenderedSession(file, assets)
                case (why,):
                    return HansardError(why)
        except HansardError as error:  # the worker ended with it
            return error if isinstance(error, NotWritten) else None
        return None

    def close(self) -> None:
        """Stop it; what it was drawing leaves nothing but a temporary file."""
        self._worker.kill()  # if it still draws, nobody wants that any more
        self._thread.join()
        self._worker.close()
