"""The terminal app in a pseudo-terminal: its first rows, from a key to what it does, its memory, and what it costs at rest."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import data
from benchmarks.measure import Failed, cli, cpu_seconds, environment, idle_share, peak_of, run
from benchmarks.search_cases import beside_max, percentile
from benchmarks.table import Figure

MB = 1e6
TITLE = "terminal app"
_COLUMNS, _ROWS = 120, 40
_RECORDS = 50_000
_TIMES = 7
_KEYS = 30  # of a kind
_QUIET_SECONDS = 0.25
_WAIT_SECONDS = 60
_DOWN, _PAGE_DOWN, _PAGE_UP, _ENTER, _ESCAPE = b"\x1b[B", b"\x1b[6~", b"\x1b[5~", b"\r", b"\x1b"
_LISTED = re.compile(rb"\d sessions? |no session matches")
_READ = re.compile(rb"turn [\d,]+/[\d,]+")
_ANYTHING = re.compile(rb"[^\x00-\x20]")

Tell = Callable[[str], None]


class Terminal:
    """A program in a pseudo-terminal, and all that it has drawn so far."""

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._drawn = bytearray()
        self._parts: list[tuple[int, float]] = []  # how much was drawn by when
        self._last = time.perf_counter()
        self._changed = threading.Condition()
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command, env=env, stdin=other, stdout=other, stderr=other, cwd=env["HOME"], start_new_session=True
        )
        os.close(other)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # it has ended
            while part := os.read(self._main, 1 << 16):
                with self._changed:
                    self._drawn += part
                    self._last = time.perf_counter()
                    self._parts.append((len(self._drawn), self._last))
                    self._changed.notify_all()

    def until(self, wanted: re.Pattern[bytes], since: int = 0) -> float:
        """The moment at which something has been drawn."""
        with self._changed:
            found = self._changed.wait_for(lambda: wanted.search(self._drawn, since), _WAIT_SECONDS)
            if not found:
                raise Failed(f"the app did not draw {wanted.pattern!r}: {bytes(self._drawn[-300:])!r}")
            return self._parts[bisect_left(self._parts, (found.end(), 0.0))][1]

    def press(self, key: bytes, effect: re.Pattern[bytes] = _ANYTHING) -> float:
        """Milliseconds from a key until its effect is drawn; the app is at rest before and afterwards."""
        since, pressed = len(self._drawn), time.perf_counter()
        os.write(self._main, key)
        took = (self.until(effect, since) - pressed) * 1000
        self.rest()
        return took

    def rest(self) -> None:
        """Wait until nothing more is drawn."""
        while (gone := time.perf_counter() - self._last) < _QUIET_SECONDS:
            time.sleep(_QUIET_SECONDS - gone)

    def close(self) -> None:
        """End the program."""
        self._process.terminate()
        self._process.wait(30)
        self._reader.join(5)
        os.close(self._main)


class App:
    """The generated history with a session of 50,000 records beside it."""

    def __init__(self, scratch: Path, size: int, tell: Tell) -> None:
        if os.name != "posix":
            raise Failed("the terminal app is measured in a pseudo-terminal, which this system does not have")
        self.tell = tell
        tell("preparing")
        self.dataset = data.in_place(TITLE, data.bulk(scratch, size))
        long = data.long_session(scratch, _RECORDS)
        self.long = data.biggest_of(long).stem
        self.store = scratch / "tui-store"
        roots = f"{self.dataset.root}{os.pathsep}{long}"
        self.env = environment(
            scratch / "home",
            HANSARD_HOME=str(self.store),
            CLAUDE_CONFIG_DIR=roots,
            TERM="xterm-256color",
            COLORTERM="truecolor",
        )
        tell("cold sync")
        shutil.rmtree(self.store, ignore_errors=True)
        run(cli("sync"), self.env)

    def parts(self) -> list[Iterator[Figure]]:
        """All figures, in the order of the table; one part can fail without the others."""
        return [self.first_rows(), self.keys(), self.memory_and_rest()]

    @contextlib.contextmanager
    def _terminal(self) -> Iterator[Terminal]:
        (self.store / "tui.json").unlink(missing_ok=True)  # the last screen, query and order
        terminal = Terminal(cli("tui"), self.env)
        try:
            yield terminal
        finally:
            terminal.close()

    def first_rows(self) -> Iterator[Figure]:
        """From the start of the process until the sessions are listed, without what a Python that does nothing takes."""
        self.tell("first rows")
        nothing, imports, took, used = [], [], [], []
        for number in range(_TIMES + 1):
            bare = run([sys.executable, "-c", "pass"], self.env)
            textual = run([sys.executable, "-c", "import textual.app, textual.widgets"], self.env)
            with self._terminal() as terminal:
                seconds = terminal.until(_LISTED) - terminal.started
                cpu = cpu_seconds(terminal.pid)
                terminal.rest()
            if number:  # the first one compiles what is imported
                nothing.append(bare.seconds)
                imports.append((textual.seconds - bare.seconds) * 1000)
                took.append((seconds - bare.seconds) * 1000)
                used.append((cpu - bare.cpu_seconds) * 1000)
        yield beside_max(Figure("first rows after Python's own start", tuple(took), "ms", 200))
        yield Figure("  CPU time until then, watching included", tuple(used), "ms")
        yield Figure("  importing Textual alone", tuple(imports), "ms")
        yield Figure("Python that does nothing", tuple(one * 1000 for one in nothing), "ms")

    def keys(self) -> Iterator[Figure]:
        """Move, page, open, come back and filter, at rest before each key."""
        self.tell("keys")
        with self._terminal() as terminal:
            terminal.until(_LISTED)
            terminal.rest()
            yield _at_95("move in the list", [terminal.press(_DOWN) for _ in range(_KEYS)])
            yield _at_95("page in the list", [terminal.press(_PAGE_DOWN) for _ in range(_KEYS)])
            opened = []
            for _ in range(_KEYS // 2):
                opened.append(terminal.press(_ENTER, _READ))
                terminal.press(b"1", _LISTED)
                terminal.press(_DOWN)
            yield _at_95("open a session", opened)
            terminal.press(b"/")
            typed = [terminal.press(letter.encode(), _LISTED) for letter in "the test that failed in the index"]
            yield _at_95("type a filter, letter by letter", typed)
            terminal.press(_ESCAPE)
            yield Figure(f"open the session of {_RECORDS:,} records", (self._open_long(terminal),), "ms")
            yield _at_95("page in it", [terminal.press(_PAGE_UP) for _ in range(_KEYS)])

    def memory_and_rest(self) -> Iterator[Figure]:
        """Walk through all screens and the long session, then leave it alone."""
        self.tell("memory")
        with self._terminal() as terminal, peak_of(terminal.pid) as peak:
            terminal.until(_LISTED)
            terminal.rest()
            for key in (b"3", b"c", b"a", b"c", b"h", b"e", _ESCAPE, b"4", b"5", _ENTER, b"6", _DOWN, b"7", b"1"):
                terminal.press(key)
            self._open_long(terminal)
            for key in (b"g", *[_PAGE_DOWN] * 20, b"G", *[_PAGE_UP] * 20):
                terminal.press(key)
            yield Figure("peak RSS after all screens and that session", (peak[0] / MB,), "MB", 150)
            self.tell("at rest")
            yield Figure("nobody types, nothing changes", (idle_share(terminal.pid, 10),), "% of a core", 0.1)

    def _open_long(self, terminal: Terminal) -> float:
        terminal.press(_ESCAPE)
        terminal.press(b"/")
        terminal.press(f"session:{self.long}".encode(), _LISTED)
        terminal.press(_ENTER)
        return terminal.press(_ENTER, _READ)


def _at_95(what: str, took: Sequence[float]) -> Figure:
    beside = (("median", percentile(took, 0.5)), ("max", max(took)))
    return Figure(f"key to effect, p95: {what}", (percentile(took, 0.95),), "ms", 50, beside=beside)
