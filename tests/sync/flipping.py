"""Flip single bits in every kind of page of a store, and see what its readers and a repair make of it.

    python -m tests.sync.flipping [CASES] [SEED]

Each case damages a copy of one store. Every command must then give the same output as before, mark the gap, or fail with an error of
ours. `verify --repair` must bring back the same output, since every source file is there; bytes of a log that was rewritten since are
in no source any more, and must be named as lost.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
from click.testing import CliRunner

from hansard.cli.app import hansard
from hansard.record.database import DAMAGED_TEXT
from hansard.record.store import Record
from hansard.storage.sqlite import PAGE_SIZE, connect
from tests.demo_history.history import write_history
from tests.record.making import flip_bit
from tests.sync.making import entry, main_path, memory_folder, raw, session, user

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("record.db", "index.db", "text.db")
LONG = session(7)
FAILED = (1, 4, 5)  # exit codes that report damage
_WAL_HEADER, _FRAME_HEADER = 32, 24


class Page(NamedTuple):
    """A page of one of the files, and the kind of its content."""

    name: str
    kind: str
    start: int
    size: int


class Store(NamedTuple):
    """A synced history, and what commands print about it."""

    config: Path
    home: Path
    outputs: dict[tuple[str, ...], str]
    pages: dict[str, list[Page]]
    """By file and kind."""


def make_store(place: Path, files: Mapping[str, bytes] | None = None) -> Store:
    """Sync some files, or a demo history, with a rewritten long log and remarks; the last writes are left in the write-ahead logs."""
    config, home = place / "claude", place / "store"
    if files is None:
        write_history(config, now=datetime(2026, 5, 1, 12, tzinfo=UTC), days=12)
    for path, content in (files or {}).items():
        (config / path).parent.mkdir(parents=True, exist_ok=True)
        (config / path).write_bytes(content)
    log = config / main_path(LONG)
    log.parent.mkdir(parents=True, exist_ok=True)
    dice = random.Random(3)
    # Many lines for deep indexes, few of them prompts: printing a turn takes more time than anything else here.
    story = [
        entry("system", LONG, f"u{n}", n)
        if n % 10
        else user(LONG, f"u{n}", f"Prompt {n} {dice.randbytes(6000).hex()}", n)
        for n in range(900)
    ]
    log.write_bytes(raw(story[:600]))
    _call(config, home, "sync")
    log.write_bytes(raw(story[:400] + story[500:600]))
    _call(config, home, "sync")
    _call(config, home, "rename", LONG, "A long story")
    _call(config, home, "tag", LONG, "sea")
    for name in NAMES:  # leaves free pages
        with closing(connect(str(home / name))) as db:
            db.execute("CREATE TABLE spare (data); INSERT INTO spare VALUES (randomblob(100000)); DROP TABLE spare")
    held = [connect(str(home / name), readonly=True) for name in NAMES]
    for db in held:
        db.execute("SELECT 1 FROM sqlite_schema").fetchall()
    log.write_bytes(log.read_bytes() + raw(story[600:]))
    _call(config, home, "sync")
    final = shutil.copytree(home, place / "template", ignore=shutil.ignore_patterns("*-shm"))
    for db in held:
        db.close()
    outputs = read_all(config, shutil.copytree(final, place / "read"))
    return Store(config, final, outputs, _pages(final))


def _pages(home: Path) -> dict[str, list[Page]]:
    found: dict[str, list[Page]] = {}
    for name in NAMES:
        path = home / name
        copy = home.parent / f"pages-{name}"
        shutil.copy(path, copy)  # without its log: pages as they are in the file itself
        with closing(apsw.Connection(str(copy))) as db:
            rows: list[Any] = db.execute(
                "SELECT d.pageno, d.pagetype, d.name, coalesce(s.type, 'table') FROM dbstat d"
                " LEFT JOIN sqlite_schema s ON s.name = d.name"
            ).fetchall()
        kinds = {row[0]: "schema" if row[2] == "sqlite_schema" else f"{row[3]} {row[1]}" for row in rows}
        for number in range(1, path.stat().st_size // PAGE_SIZE + 1):
            kind = kinds.get(number, "free")
            found.setdefault(f"{name} {kind}", []).append(Page(name, kind, (number - 1) * PAGE_SIZE, PAGE_SIZE))
        log = home / f"{name}-wal"
        for start in range(_WAL_HEADER, log.stat().st_size if log.exists() else 0, PAGE_SIZE + _FRAME_HEADER):
            found.setdefault(f"{name} wal", []).append(Page(log.name, "wal", start, PAGE_SIZE + _FRAME_HEADER))
    return found


def _call(config: Path, home: Path, *args: str) -> Any:
    return CliRunner().invoke(hansard, [*args, "--home", str(home), "--root", str(config)], prog_name="hansard")


READS: tuple[tuple[str, ...], ...] = (
    ("sessions", "--json", "-n", "0"),
    ("search", "the", "--json", "-n", "100"),
    ("search", "Prompt", "--json", "-n", "100"),
    ("tools", "--json", "-n", "0"),
    ("usage", "--json"),
    ("show", LONG),
    ("show", "@last"),
    ("cat", LONG),
    ("grep", "uuid", "--count", "--json"),
    ("prompts", "--json", "-n", "50"),
)


def read_all(config: Path, home: Path, *, syncing: bool = False) -> dict[tuple[str, ...], str]:
    """What each command prints; an error is its exit code and its message."""
    outputs = {}
    for command in READS:
        result = _call(config, home, *command, *(() if syncing else ("--no-sync",)))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            outputs[command] = f"TRACEBACK {result.exception!r}"
        elif result.exit_code:
            outputs[command] = f"EXIT {result.exit_code} {result.output[:300]}"
        else:
            outputs[command] = _without_times(result.stdout)
    return outputs


def _without_times(output: str) -> str:
    """The same output without how long it took, and without scores, which depend on the age of a session."""
    try:
        value = json.loads(output)
    except ValueError:
        return output
    return json.dumps(_stable(value), sort_keys=True)


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stable(part) for name, part in value.items() if name not in ("took_ms", "score", "next_cursor")}
    return [_stable(part) for part in value] if isinstance(value, list) else value


def verdict(store: Store, outputs: dict[tuple[str, ...], str]) -> tuple[str, str]:
    """`same`, `detected` or what is wrong, with the first detail."""
    found = "same", ""
    for command, output in outputs.items():
        if output == store.outputs[command]:
            continue
        is_error = output.startswith(tuple(f"EXIT {code}" for code in FAILED))
        if not (is_error or DAMAGED_TEXT in output or re.search(r'"damaged": [1-9]', output)):
            return "WRONG", f"{' '.join(command)}: {output[:300]}"
        found = "detected", output[:200]
    return found


class Outcome(NamedTuple):
    """What came of one flipped bit."""

    where: str
    read: str
    repaired: str
    detail: str


def run_case(store: Store, where: str, seed: int, place: Path) -> Outcome:
    """Damage a copy of the store, read it, repair it and read it again."""
    dice = random.Random(f"{where} {seed}")
    home = place / "case"
    shutil.copytree(store.home, home)
    page = dice.choice(store.pages[where])
    bit = dice.randrange(page.size * 8)
    flip_bit(home / page.name, page.start * 8 + bit)
    named = f"{where} page {page.start // PAGE_SIZE + 1} byte {bit // 8} bit {bit % 8}"
    # A log that is cut off at the damage leaves the state of an earlier commit: the sync before each command goes on from there.
    read, detail = verdict(store, read_all(store.config, home, syncing=page.kind == "wal"))
    result = _call(store.config, home, "verify", "--repair", "--json")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        repaired = f"TRACEBACK {result.exception!r}"
    elif result.exit_code:
        is_lost = _are_of_former_generations(home, result)
        repaired = "lost" if is_lost else f"EXIT {result.exit_code} {' '.join(result.output.split())[:400]}"
    else:
        after, what = verdict(store, read_all(store.config, home))
        repaired = "same" if after == "same" else f"{after} {what}"
    shutil.rmtree(home)
    return Outcome(named, read, repaired, detail)


def _are_of_former_generations(home: Path, result: Any) -> bool:
    """Whether all that could not be repaired is of logs that were rewritten since."""
    if result.exit_code != 1:
        return False
    with Record.open(str(home / "record.db"), readonly=True) as record:
        former = {item.id for item in record.generations() if not item.current}
    return all(item["generation"] in former for item in json.loads(result.stdout)["mismatches"])


def cases(store: Store, count: int) -> list[tuple[str, int]]:
    """So many cases, each kind of page in turn."""
    kinds = sorted(store.pages)
    return [(kinds[number % len(kinds)], number) for number in range(count)]


def main() -> None:
    """Run cases and print what came of them."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        store = make_store(Path(folder))
        print({kind: len(pages) for kind, pages in store.pages.items()}, flush=True)  # noqa: T201 - the report
        assert not any(output.startswith(("EXIT", "TRACEBACK")) for output in store.outputs.values()), store.outputs
        tally: Counter[tuple[str, str]] = Counter()
        for kind, number in cases(store, count):
            outcome = run_case(store, kind, number + seed, Path(folder))
            tally[outcome.read, outcome.repaired[:8]] += 1
            if outcome.read == "WRONG" or outcome.repaired not in ("same", "lost"):
                print(*outcome, sep="\n   ", flush=True)  # noqa: T201 - the report
        for (read, repaired), number in sorted(tally.items()):
            print(f"{number:4} read: {read}; after repair: {repaired}")  # noqa: T201 - the report


if __name__ == "__main__":
    main()
