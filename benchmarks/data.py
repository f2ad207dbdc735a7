"""The histories to measure on, each kept in the scratch folder between runs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import PROJECT, Failed, child, environment, run

GIB = 1 << 30
SEED = 7
LONG_LINE = 100_000_000
_BIGGEST = 80_000_000
_FILES = 3000
_GENERATOR = PROJECT / "benchmarks" / "load"


@dataclass(frozen=True, slots=True)
class DataSet:
    """A history in a config dir of its own; `biggest` is its largest transcript."""

    name: str
    root: Path
    files: int
    size: int
    biggest: Path

    @property
    def title(self) -> str:
        biggest = self.biggest.stat().st_size / 1e6
        return f"{self.name}: {self.files:,} files, {self.size / 1e6:,.0f} MB, the largest {biggest:,.1f} MB"


def public(scratch: Path) -> Path:
    """The public transcripts."""
    return unpack_corpus(scratch, "public")


def unpack_corpus(scratch: Path, name: str) -> Path:
    """Unpack real histories, once, from beside the project or $HANSARD_CORPUS."""
    given = os.environ.get("HANSARD_CORPUS")
    packed = (Path(given) if given else PROJECT.parent / "shared" / "corpus") / f"{name}.tar.zst"
    if not packed.exists():
        raise Failed(f"skipped: {packed.name} not found (HANSARD_CORPUS names its folder)")
    target = scratch / name
    if not target.exists():
        fresh = scratch / f"{name}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        run(child("unpack", packed, fresh), environment(scratch / "home"))
        fresh.rename(target)
    return target


def bulk(scratch: Path, size: int) -> Path:
    """Generate a history of that size, once: one in thirteen bytes in one file, one in ten in one line."""
    share = min(1.0, size / GIB)
    files = max(3, round(_FILES * size / GIB))
    return _generated(
        scratch, f"bulk-{size}", "bulk", size, files, SEED, round(_BIGGEST * share), round(LONG_LINE * share)
    )


def long_line(scratch: Path) -> Path:
    """Generate a history that is hardly more than one very long line."""
    return _generated(scratch, "line", "bulk", LONG_LINE + 100_000, 2, SEED, 0, LONG_LINE)


def dense(scratch: Path, blocks: int) -> Path:
    """Generate a history of so many blocks that is hardly more than their text, once."""
    return _generated(scratch, f"dense-{blocks}", "dense", blocks, SEED)


def metered(scratch: Path, messages: int) -> Path:
    """Generate a history of so many API messages that is hardly more than what they used, once."""
    return _generated(scratch, f"metered-{messages}", "metered", messages, SEED)


def long_session(scratch: Path, records: int) -> Path:
    """Generate a session of so many records, once."""
    made_by = hashlib.sha256((PROJECT / "benchmarks" / "long_session.py").read_bytes()).hexdigest()[:8]
    return _generated(scratch, f"long-{records}-{made_by}", "long-session", records, SEED)


def _generated(scratch: Path, name: str, case: str, *given: int) -> Path:
    target = scratch / f"{name}-{SEED}"
    made_by = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_GENERATOR.glob("*.py")))).hexdigest()
    stamp = target / "made-by"
    if not stamp.exists() or stamp.read_text() != made_by:
        shutil.rmtree(target, ignore_errors=True)
        run(child(case, target, *given), environment(scratch / "home"))
        stamp.write_text(made_by)
    return target


def working_copy(name: str, source: Path, target: Path) -> DataSet:
    """Link a history into another folder; its biggest transcript is copied, as lines will be appended to it."""
    shutil.rmtree(target, ignore_errors=True)
    biggest = biggest_of(source)
    files = size = 0
    for path in (source / "projects").rglob("*"):
        copy = target / path.relative_to(source)
        if not path.is_file():
            continue
        files += 1
        size += path.stat().st_size
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path != biggest:
            with contextlib.suppress(OSError):
                copy.hardlink_to(path)
                continue
        shutil.copy2(path, copy)
    return DataSet(name, target, files, size, target / biggest.relative_to(source))


def in_place(name: str, source: Path) -> DataSet:
    """A history that nothing is appended to, so that it needs no copy."""
    sizes = [path.stat().st_size for path in (source / "projects").rglob("*") if path.is_file()]
    return DataSet(name, source, len(sizes), sum(sizes), biggest_of(source))


def biggest_of(source: Path) -> Path:
    """The largest transcript of a history."""
    logs = sorted((source / "projects").rglob("*.jsonl"), key=lambda path: (path.stat().st_size, path))
    if not logs:
        raise Failed(f"{source} holds no transcripts")
    return logs[-1]
