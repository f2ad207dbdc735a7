"""Kill syncs at random moments, many times, while the sources change in every way there is; count what survived.

    python tools/soak.py [--kills 1000] [--seed 1] [--keep]

Each round changes some files (append, edit in the middle, truncate, rewrite, recreate, rename, delete, put the date back), starts
`hansard sync` as a process of its own and kills it after a random time. Every few rounds a sync runs to its end, and then it must hold
that every state that a file had at such a moment can be given back, that the record verifies, and that the indexes are what a rebuild
from the record makes. Exits with 1 when anything did not.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hansard.clients.roots import open_roots
from hansard.model.store_requests import VerifyRequest
from hansard.record.store import Record
from hansard.record.verify import verify
from hansard.sync.verify import verify as verify_store

ROUNDS_PER_CHECK = 10
FULL_CHECK_EVERY = 10  # of these checks
SESSIONS = 12


def _line(chance: random.Random, session: str) -> bytes:
    words = " ".join(
        chance.choice(("lamp", "chair", "table", "window", "door")) for _ in range(chance.randrange(1, 400))
    )
    number = chance.randrange(1 << 32)
    return (
        f'{{"type":"user","sessionId":"{session}","uuid":"u-{number}","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/work",'
        f'"message":{{"role":"user","content":"{words}"}}}}\n'
    ).encode()


def _prefixes(content: bytes, sizes: list[int]) -> Iterator[tuple[int, bytes]]:
    """The hashes of the first so many bytes, in one pass."""
    digest = hashlib.sha256()
    at = 0
    for size in sizes:
        if size > len(content):
            return
        digest.update(content[at:size])
        at = size
        yield size, digest.digest()


class Soak:
    """A history under attack, and what must be given back of it."""

    def __init__(self, place: Path, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - repeatable, no secret
        self.config = place / "claude"
        self.home = place / "store"
        self.folder = self.config / "projects" / "-work"
        self.folder.mkdir(parents=True)
        self.names = [f"00000000-0000-4000-8000-{number:012x}" for number in range(SESSIONS)]
        self.seen: dict[str, set[tuple[int, bytes]]] = {name: set() for name in self.names}
        self.done: Counter[str] = Counter()

    def change(self) -> None:
        """Do something to some files."""
        for name in self.chance.sample(self.names, self.chance.randrange(1, 5)):
            path = self.folder / f"{name}.jsonl"
            ways = [self._append] * 4 + [self._rewrite]
            if path.exists():
                ways += [self._edit, self._truncate, self._recreate, self._delete, self._rename]
            way = self.chance.choice(ways)
            way(path, name)
            self.done[way.__name__.removeprefix("_")] += 1

    def _lines(self, name: str) -> bytes:
        return b"".join(_line(self.chance, name) for _ in range(self.chance.randrange(1, 60)))

    def _append(self, path: Path, name: str) -> None:
        with path.open("ab") as file:
            file.write(self._lines(name))

    def _rewrite(self, path: Path, name: str) -> None:
        path.write_bytes(self._lines(name))

    def _edit(self, path: Path, name: str) -> None:
        status = path.stat()
        data = bytearray(path.read_bytes())
        if data:
            data[self.chance.randrange(len(data))] = ord("#")
            with path.open("r+b") as file:
                file.write(data)
            if self.chance.random() < 0.5:
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            else:
                self._append(path, name)

    def _truncate(self, path: Path, name: str) -> None:
        os.truncate(path, self.chance.randrange(path.stat().st_size + 1))
        if self.chance.random() < 0.5:
            self._append(path, name)

    def _recreate(self, path: Path, name: str) -> None:
        path.unlink()
        path.write_bytes(self._lines(name))

    def _delete(self, path: Path, name: str) -> None:  # noqa: ARG002 - as the others
        path.unlink()

    def _rename(self, path: Path, name: str) -> None:  # noqa: ARG002 - as the others
        path.replace(self.folder / f"{self.chance.choice(self.names)}.jsonl")

    def sync(self, *, kill_after: float | None) -> bool:
        """Run a sync; True when it was killed."""
        command = [sys.executable, "-m", "hansard", "sync", "--home", str(self.home), "--root", str(self.config)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, errors = process.communicate(timeout=kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return True
        if process.returncode:
            raise SystemExit(f"a sync ended with {process.returncode}: {errors.decode()}")
        return False

    def check(self, *, full: bool) -> None:
        """What stood in the files at this moment, and ever before at such a moment, can be given back."""
        for name in self.names:
            path = self.folder / f"{name}.jsonl"
            if path.exists():
                data = path.read_bytes()
                self.seen[name].add((len(data), hashlib.sha256(data).digest()))
        with Record.open(str(self.home / "record.db"), readonly=True) as record:
            if found := verify(record, [], deep=True).mismatches:
                raise SystemExit(f"the record does not verify: {found[0]}")
            kept: dict[str, list[bytes]] = {name: [] for name in self.names}
            for generation in record.generations():
                kept[Path(generation.path).stem].append(b"".join(record.read(generation.id)))
        for name, states in self.seen.items():
            sizes = sorted({size for size, _ in states})
            lost = states - {state for content in kept[name] for state in _prefixes(content, sizes)}
            if lost:
                raise SystemExit(f"{name}: {min(lost)[0]} bytes that stood there at a sync are lost")
        report = verify_store(str(self.home), open_roots([str(self.config)]), VerifyRequest(full=full))
        if report.mismatches:
            raise SystemExit(f"the indexes are not what the record gives: {report.mismatches[0]}")


def main() -> None:
    """Run it, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the store behind for a look")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="soak-"))
    soak = Soak(place, options.seed)
    kills = checks = rounds = 0
    started = time.monotonic()
    soak.change()
    soak.sync(kill_after=None)
    before = time.monotonic()
    soak.change()
    soak.sync(kill_after=None)
    usual = time.monotonic() - before
    try:
        while kills < options.kills:
            rounds += 1
            soak.change()
            kills += soak.sync(kill_after=soak.chance.uniform(0.02, usual * 1.2))
            if rounds % ROUNDS_PER_CHECK == 0:
                soak.sync(kill_after=None)
                checks += 1
                soak.check(full=checks % FULL_CHECK_EVERY == 0)
            if sys.stderr.isatty():
                print(f"\r{kills} kills, {checks} checks", end="", file=sys.stderr)
    finally:
        if not options.keep:
            shutil.rmtree(place, ignore_errors=True)
    states = sum(map(len, soak.seen.values()))
    changes = ", ".join(f"{count} {name}" for name, count in sorted(soak.done.items()))
    print(f"\n{kills} kills in {rounds} syncs, {checks} checks, {states} states of files given back, nothing lost")
    print(f"changes: {changes}")
    print(f"{time.monotonic() - started:.0f} s, seed {options.seed}")


if __name__ == "__main__":
    main()
