"""What `hansard doctor` checks: the databases, the last sync, permissions, issues, and what newer clients write."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.errors import StoreCorrupt
from hansard.model.health import Diagnosis, Finding
from hansard.query.health import list_drift, list_issues, read_health
from hansard.query.reader import Reader
from hansard.record.database import AFTER_DAMAGE
from hansard.sources.databases import IN_DATABASE
from hansard.sources.roots import Root
from hansard.storage.heartbeat import checked_up_to, last_verify, note_checked
from hansard.storage.sqlite import PAGE_SIZE, pages_match

if TYPE_CHECKING:
    from hansard.record.store import Record
    from hansard.sources.discover import Found

_SAMPLE = 256  # chunks of 256 KiB; takes a fraction of a second


def diagnose(
    reader: Reader, record: Record | None, home: str, roots: Sequence[Root], *, secrets_damaged: bool
) -> Diagnosis:
    """Check the store's health, the permissions of store and sources, the issues, and what newer clients write."""
    findings: list[Finding] = []
    if record is None:
        findings.append(Finding("note", "record", "not created yet: run `hansard sync`"))
    else:
        findings += _record_findings(record, home)
    behind = reader.one("SELECT count(*) FROM transcripts WHERE indexed + (tail * (size - indexed)) < size")[0]
    dirty = reader.one("SELECT count(*) FROM dirty")[0]
    checked = {name: check_pages(home, name) for name in ("index.db", "text.db")}
    damaged = [name for name, pages in checked.items() if is_damaged(home, name, words_only=pages is not None)]
    findings += [Finding("error", "index", f"{name} is damaged: run `hansard rebuild`") for name in damaged]
    if secrets_damaged:
        findings.append(Finding("error", "secrets", "secrets.db is damaged: run `hansard secrets scan`"))
    if behind or dirty:
        findings.append(Finding("note", "index", "a sync did not finish: the next one continues it"))
    elif not damaged:
        findings.append(Finding("ok", "index", "everything stored is indexed"))
    findings += [
        Finding("ok", "index", f"{name}: {_part(pages)} (`hansard verify` checks all of it)")
        for name, pages in checked.items()
        if pages is not None and name not in damaged
    ]
    findings.append(_text_finding())
    health = read_health(reader, record, home, roots)
    findings += _permissions(home, [(root, looked.found) for root, looked in zip(roots, health.roots, strict=True)])
    findings += health.findings()
    findings += [
        Finding("warning", "database", f"{row.path}: {row.reason}; a newer version may write there")
        for row in (record.left_out() if record is not None else ())
        if IN_DATABASE in row.path and not row.size
    ]
    return Diagnosis(tuple(findings), list_issues(reader), list_drift(reader))


def _text_finding() -> Finding:
    """Which of the two implementations prepares texts for the full-text index."""
    from hansard.index.tokens import is_native

    if is_native():
        return Finding("ok", "text", "the native module prepares text for the index")
    return Finding(
        "note",
        "text",
        "pure Python prepares text for the index: same result, but slower. The native module was not built, or HANSARD_PURE_PYTHON is set",
    )


def _record_findings(record: Record, home: str) -> Iterator[Finding]:
    """Results of SQLite's own check or of a check of some pages, of a sample of chunks, and of the last `verify`."""
    pages = check_pages(home, "record.db")
    if pages is None:
        read_ahead(os.path.join(home, "record.db"))
    damage = record.database_damage() if pages is None else []
    chunks, checked, total = record.sample(_SAMPLE) if not damage else ([], 0, 0)
    yield from (Finding("error", "record", line) for line in damage)
    yield from (Finding("error", "record", f"damaged chunk: {line}. {AFTER_DAMAGE}") for line in chunks)
    verified = last_verify(home)
    if verified is not None and verified.mismatches:
        places = "1 place" if verified.mismatches == 1 else f"{verified.mismatches:,} places"
        moment = datetime.fromtimestamp(verified.at, UTC)
        text = f"`hansard verify` found {places} damaged on {moment:%Y-%m-%d}, first {verified.first}; `hansard verify --repair` repairs what the sources still have"
        yield Finding("error", "record", text)
    elif not damage and not chunks:
        some = "all" if checked == total else f"{checked:,} of"
        intact, everything = "the database is intact", "hansard verify"
        if pages is not None:
            intact, everything = _part(pages), "hansard verify --deep"
        text = f"{intact}, and {some} {total:,} chunks match their hashes (`{everything}` checks everything)"
        yield Finding("ok", "record", text)


def _part(pages: CheckedPages) -> str:
    """How much of a large database was checked, and what comes next."""
    return f"{pages.words} match their checksums; the next run continues from there"


def _permissions(home: str, roots: Sequence[tuple[Root, list[Found]]]) -> list[Finding]:
    findings: list[Finding] = []
    if os.name == "nt":
        return findings
    loose = []
    for name in ("", "record.db", "index.db", "text.db"):
        path = os.path.join(home, name)
        try:
            mode = stat.S_IMODE(os.stat(path).st_mode)
        except OSError:
            continue
        if mode & 0o077:
            loose.append(path)
    if loose:
        findings.append(
            Finding(
                "warning",
                "permissions",
                f"others can read {', '.join(loose)}: `hansard doctor --fix` closes {'it' if len(loose) == 1 else 'them'}",
            )
        )
    else:
        findings.append(Finding("ok", "permissions", "only you can read the store"))
    for root, files in roots:
        readable = [file.path for file in files if file.kind.value in ("main", "agent") and file.mode & 0o044]
        if readable and _passable(root.transcripts):
            findings.append(
                Finding(
                    "warning",
                    "permissions",
                    f"other users of this machine can read {len(readable)} transcript{'s' * (len(readable) > 1)} under {root.transcripts}"
                    f" (e.g. {readable[0]}):"
                    f" `hansard doctor --fix --sources`, or chmod 700 {root.path}",
                )
            )
    return findings


def _passable(path: str) -> bool:
    """Whether other users can reach a directory: every folder above it lets them through."""
    while True:
        try:
            if not stat.S_IMODE(os.stat(path).st_mode) & 0o011:
                return False
        except OSError:
            return False
        above = os.path.dirname(path)
        if above == path:
            return True
        path = above


# Small databases are checked in full, of large ones the next batch of pages and some words of the full text. A batch passes on the
# checksums of its pages alone; if one does not match, SQLite's own check of everything decides.
#
# FTS5's own check reads every word of every text, ten seconds per gigabyte: `verify` does that. `doctor` does so up to
# this many leaves that a word begins in, half a second's work.
_ALL_WORDS = 4000
_PROBES = 250
_WORDS = 4  # at each place
_AHEAD = 2 << 20
_ALL_PAGES = 16_384  # 128 MiB, a tenth of a second from memory; larger databases are checked this many pages at a time


class CheckedPages(Struct, frozen=True):
    """Which pages of a large database match their checksums."""

    first: int  # counted from 1
    last: int
    total: int

    @property
    def words(self) -> str:
        """Human-readable: pages 1 to 16,384 of 89,975."""
        return f"pages {self.first:,} to {self.last:,} of {self.total:,}"


def check_pages(home: str, name: str) -> CheckedPages | None:
    """Check the next pages of a large database; None if it is small or a page does not match: then check all of it."""
    path = os.path.join(home, name)
    try:
        total = os.path.getsize(path) // PAGE_SIZE
    except OSError:
        return None
    if total <= _ALL_PAGES:
        return None
    first = checked_up_to(home, name)
    first = first if first < total else 0
    last = min(first + _ALL_PAGES, total)
    if not pages_match(path, first, last - first):
        return None
    note_checked(home, name, last)
    return CheckedPages(first + 1, last, total)


def read_ahead(path: str) -> None:
    """Prefetch a file that will be read in random order: many times faster when it is not cached."""
    if not hasattr(os, "posix_fadvise"):
        return
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        for start in range(0, os.fstat(file).st_size, _AHEAD):
            os.posix_fadvise(file, start, _AHEAD, os.POSIX_FADV_WILLNEED)
    except OSError:
        pass  # it is then loaded as it is read
    finally:
        os.close(file)


def is_damaged(home: str, name: str, *, words_only: bool = False) -> bool:
    """Whether a rebuildable database is damaged; `words_only`: check only its full text, because its pages were checked."""
    path = os.path.join(home, name)
    if not os.path.exists(path) or not os.path.getsize(path):
        return False
    if not words_only:
        read_ahead(path)
    reader = Reader(home)
    reader.path = path
    try:
        return any(found != "ok" for found in _check(reader, words_only=words_only))
    except StoreCorrupt:
        return True
    finally:
        reader.close()


def _check(reader: Reader, *, words_only: bool) -> Iterator[str]:
    """SQLite's complaints, at most one per table."""
    tables = list(reader.rows("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'"))
    full_text = [name for name, root in tables if not root]
    if not full_text and not words_only:
        yield from (str(row[0]) for row in reader.rows("PRAGMA quick_check(1)"))
        return
    for name in () if words_only else ["sqlite_schema", *(name for name, root in tables if root)]:
        yield from (str(row[0]) for row in reader.rows(f"PRAGMA quick_check({_quoted(name)})"))
    for name in full_text:
        leaves = reader.one(f"SELECT count(*) FROM {_quoted(name + '_idx')}")[0]
        if leaves <= _ALL_WORDS:
            yield from (str(row[0]) for row in reader.rows(f"PRAGMA quick_check({_quoted(name)})"))
        else:
            _probe(reader, name, leaves)


def _probe(reader: Reader, name: str, leaves: int) -> None:
    """Read some words and their positions at points all over an FTS5 table; a corrupt leaf raises."""
    words = _quoted(f"{name}_words")
    reader.one(f"CREATE VIRTUAL TABLE temp.{words} USING fts5vocab('main', {_quoted(name)}, 'row')")
    firsts = reader.rows(
        f"SELECT coalesce(CAST(substr(term, 2) AS BLOB), x'') FROM (SELECT term, row_number() OVER () AS n FROM {_quoted(name + '_idx')}) WHERE n % ? = 0",
        (max(1, leaves // _PROBES),),
    )
    for (first,) in list(firsts):
        word = first.decode("utf-8", "ignore")
        list(reader.rows(f"SELECT cnt FROM temp.{words} WHERE term >= ? LIMIT ?", (word, _WORDS)))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
