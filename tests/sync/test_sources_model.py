"""Every content that a file had at a sync can be given back, and every proven content is one that a file had."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hansard.clients.roots import open_roots
from hansard.record.store import Record
from hansard.record.verify import verify
from hansard.sources import tail
from hansard.sync import record_writer
from hansard.sync.report import SyncRequest
from hansard.sync.run import sync
from tests.sync.making import FOLDER, memory_folder, session

NAMES = [f"{FOLDER}/{session(number)}.jsonl" for number in (1, 2)] + ["history.jsonl"]
LINES = st.integers(0, 5).map(lambda number: b'{"type":"progress","n":%d,"text":"%s"}\n' % (number, b"x" * 700) * 150)
LARGE = 200_000  # bytes: logs on both sides of it come up


class Sources(RuleBasedStateMachine):
    """Files that clients, people and other programs do anything to, while syncs happen at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=memory_folder()))
        self.config = self.place / "claude"
        (self.config / FOLDER).mkdir(parents=True)
        self.home = self.place / "store"
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(tail, "LARGE", LARGE)
        self.patch.setattr(record_writer, "COMPARED_AT_ONCE", 1)  # one chunk
        self.ahead_ns = 0
        self.patch.setattr(
            record_writer, "open_tail", partial(tail.open_tail, clock=lambda: time.time_ns() + self.ahead_ns)
        )
        self.states: dict[str, set[bytes]] = {name: set() for name in NAMES}
        self.seen: dict[str, set[bytes]] = {name: set() for name in NAMES}

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.place)

    def note(self) -> None:
        """Note what is in the files now."""
        for name in self._existing():
            self.states[name].add(self.path(name).read_bytes())

    def path(self, name: str) -> Path:
        return self.config / name

    @initialize(data=LINES)
    def begin(self, data: bytes) -> None:
        self.path(NAMES[0]).write_bytes(data)

    def _existing(self) -> list[str]:
        return [name for name in NAMES if self.path(name).exists()]

    @precondition(lambda self: self._existing())
    @rule(pick=st.integers(0, 2), data=LINES)
    def append(self, pick: int, data: bytes) -> None:
        names = self._existing()
        with self.path(names[pick % len(names)]).open("ab") as file:
            file.write(data)

    @precondition(lambda self: self._existing())
    @rule(pick=st.integers(0, 2), at=st.integers(0, 400_000), put_back=st.booleans(), more=LINES)
    def edit_in_the_middle(self, pick: int, at: int, put_back: bool, more: bytes) -> None:
        """A same-length edit, with the date put back or with an append behind it."""
        names = self._existing()
        path = self.path(names[pick % len(names)])
        status = path.stat()
        data = bytearray(path.read_bytes())
        if not data:
            return
        data[at % len(data)] ^= 1
        with path.open("r+b") as file:
            file.write(data)
        self.note()
        if put_back:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        else:
            with path.open("ab") as file:
                file.write(more)

    @precondition(lambda self: self._existing())
    @rule(pick=st.integers(0, 2), size=st.integers(0, 400_000), more=LINES)
    def truncate_and_grow(self, pick: int, size: int, more: bytes) -> None:
        names = self._existing()
        path = self.path(names[pick % len(names)])
        os.truncate(path, min(size, path.stat().st_size))
        self.note()
        with path.open("ab") as file:
            file.write(more)

    @rule(name=st.sampled_from(NAMES), data=LINES)
    def rewrite(self, name: str, data: bytes) -> None:
        self.path(name).write_bytes(data)

    @precondition(lambda self: self._existing())
    @rule(pick=st.integers(0, 2), data=LINES)
    def recreate(self, pick: int, data: bytes) -> None:
        """Deleted and made again: the inode is often the same."""
        names = self._existing()
        path = self.path(names[pick % len(names)])
        path.unlink()
        path.write_bytes(data)

    @precondition(lambda self: self._existing())
    @rule(pick=st.integers(0, 2), onto=st.sampled_from(NAMES))
    def rename(self, pick: int, onto: str) -> None:
        names = self._existing()
        os.replace(self.path(names[pick % len(names)]), self.path(onto))

    @precondition(lambda self: len(self._existing()) > 1)
    @rule()
    def swap(self) -> None:
        one, other, *_ = map(self.path, self._existing())
        aside = self.place / "aside"
        os.replace(one, aside)
        os.replace(other, one)
        os.replace(aside, other)

    @precondition(lambda self: self._existing())
    @rule(pick=st.integers(0, 2), moment=st.sampled_from([0, 10**18, 2**62]))
    def touch(self, pick: int, moment: int) -> None:
        names = self._existing()
        os.utime(self.path(names[pick % len(names)]), ns=(moment, moment))

    @precondition(lambda self: self._existing())
    @rule(pick=st.integers(0, 2))
    def delete(self, pick: int) -> None:
        names = self._existing()
        self.path(names[pick % len(names)]).unlink()

    @rule()
    def rest(self) -> None:
        """From here on every look comes long after the last write."""
        self.ahead_ns = 10 * tail.RACY_NS

    @rule(only=st.booleans())
    def sync(self, only: bool) -> None:
        self.note()
        named: dict[str, Any] = {"only": [str(self.path(name)) for name in NAMES]} if only else {}
        sync(str(self.home), open_roots([str(self.config)]), SyncRequest(workers=False, **named))
        self.ahead_ns = 0
        with Record.open(str(self.home / "record.db"), readonly=True) as record:
            kept: dict[str, list[bytes]] = {name: [] for name in NAMES}
            current = {}
            for generation in record.generations():
                content = b"".join(record.read(generation.id))
                kept[generation.path].append(content)
                unproven_from = record.unproven_from("log", generation.id)
                assert any(state.startswith(content[:unproven_from]) for state in self.states[generation.path]), (
                    "what is proven was in the file"
                )
                if generation.current and unproven_from is None:
                    current[generation.path] = content
            for name in current.keys() & set(self._existing()):
                content = self.path(name).read_bytes()
                assert current[name] == content, "the last generation, once proven, is what is in the file"
                self.seen[name].add(content)
            for name, states in self.seen.items():
                for state in states:
                    assert any(content.startswith(state) for content in kept[name]), (
                        "kept as a generation, or as its beginning"
                    )

    @invariant()
    def sound(self) -> None:
        if (self.home / "record.db").exists():
            with Record.open(str(self.home / "record.db"), readonly=True) as record:
                assert not verify(record, [], deep=False).mismatches


Sources.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestSources = Sources.TestCase
