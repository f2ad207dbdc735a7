"""Whatever bytes stood in a file at a sync can be given back for ever after, as some generation."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hansard.record.store import Record
from hansard.record.verify import verify
from hansard.sources.claude_code import open_roots
from hansard.sync.run import sync
from tests.sync.making import FOLDER, memory_folder, session

NAMES = [f"{FOLDER}/{session(number)}.jsonl" for number in (1, 2)] + ["history.jsonl"]
LINES = st.integers(0, 5).map(lambda number: b'{"type":"user","n":%d}\n' % number * 300)


class Sources(RuleBasedStateMachine):
    """Files that clients, people and other programs do anything to, while syncs happen at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=memory_folder()))
        self.config = self.place / "claude"
        (self.config / FOLDER).mkdir(parents=True)
        self.home = self.place / "store"
        self.seen: dict[str, set[bytes]] = {name: set() for name in NAMES}

    def teardown(self) -> None:
        shutil.rmtree(self.place)

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
    @rule(pick=st.integers(0, 2), at=st.integers(0, 20_000), put_back=st.booleans(), more=LINES)
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
        if put_back:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        else:
            with path.open("ab") as file:
                file.write(more)

    @precondition(lambda self: self._existing())
    @rule(pick=st.integers(0, 2), size=st.integers(0, 20_000), more=LINES)
    def truncate_and_grow(self, pick: int, size: int, more: bytes) -> None:
        names = self._existing()
        path = self.path(names[pick % len(names)])
        os.truncate(path, min(size, path.stat().st_size))
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

    @rule(only=st.booleans())
    def sync(self, only: bool) -> None:
        named: dict[str, Any] = {"only": [str(self.path(name)) for name in NAMES]} if only else {}
        sync(str(self.home), open_roots([str(self.config)]), workers=False, **named)
        for name in self._existing():
            self.seen[name].add(self.path(name).read_bytes())
        with Record.open(str(self.home / "record.db"), readonly=True) as record:
            kept: dict[str, list[bytes]] = {name: [] for name in NAMES}
            current = {}
            for generation in record.generations():
                content = b"".join(record.read(generation.id))
                kept[generation.path].append(content)
                if generation.current:
                    current[generation.path] = content
            for name in self._existing():
                assert current[name] == self.path(name).read_bytes(), "the last generation is what stands there"
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
