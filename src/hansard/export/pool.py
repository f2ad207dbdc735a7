"""Drawing many sessions with helper processes; without them where there is little to draw, or none can be had."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError
from hansard.export.drawing import RenderedSession, reason
from hansard.export.files import NotWritten

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
    if zone is None or not sys.executable:
        return helpers
    job = {
        "store": drawer.store.home,
        "form": drawer.form,
        "zone": zone,
        "home": drawer.home,
    }
    with contextlib.suppress(OSError):
        for _ in range(count):
            helpers.append(_Helper(job, waiting, answers))  # noqa: PERF401 - those that could be started stay
    return helpers


def _read(answer: dict[str, Any]) -> RenderedSession | Exception:
    if "not_written" in answer:
        return NotWritten(answer["not_written"])
    if "failed" in answer:
        return HansardError(answer["failed"])
    return RenderedSession(tuple(answer["file"]), {name: tuple(stamp) for name, stamp in answer["assets"].items()})


class _Helper:
    """A process that draws, and the thread that listens to it."""

    def __init__(self, job: dict[str, str], waiting: deque[Task], answers: SimpleQueue[Any]) -> None:
        # -P keeps what lies in the working directory from being imported.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hansard.export.helper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self._thread = threading.Thread(target=self._listen, args=(job, waiting, answers), daemon=True)
        self._thread.start()

    def _listen(self, job: dict[str, str], waiting: deque[Task], answers: SimpleQueue[Any]) -> None:
        alive = self._send(job)
        while alive:
            try:
                task = waiting.popleft()
            except IndexError:
                return
            answer = self._ask(task)
            answers.put((task, answer))
            alive = answer is not None

    def _ask(self, task: Task) -> RenderedSession | Exception | None:
        session, path = task
        stdout = self._process.stdout
        if not self._send([session.session_id, path]) or stdout is None:
            return None
        try:
            return _read(json.loads(stdout.readline()))
        except (ValueError, OSError, LookupError, TypeError, AttributeError):  # it ended in the middle of an answer
            return None

    def _send(self, message: Any) -> bool:
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(json.dumps(message) + "\n")
                stdin.flush()
        except (OSError, ValueError):
            return False
        return stdin is not None

    def close(self) -> None:
        """Stop it; what it was drawing leaves nothing but a temporary file."""
        self._process.kill()  # if it still draws, nobody wants that any more
        self._process.wait()
        self._thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
