"""A record with a damaged chunk, or without its file: what is intact stays in reach, and nothing begins anew in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from hansard.errors import StoreCorrupt
from hansard.record.store import Record
from hansard.storage.sqlite import connect
from hansard.sync.rebuild import rebuild
from tests.sync.making import Tree, main_path, raw, session, user

CHUNK = 256 * 1024
LONG, OTHER = session(1), session(2)


def damage(home: Path, start: int) -> None:
    """Flip a byte of the chunk that begins at `start`."""
    db = connect(str(home / "record.db"))
    for row_id, data in db.execute("SELECT id, data FROM chunk WHERE start = ?", (start,)).fetchall():
        assert isinstance(data, bytes)
        spoilt = bytearray(data)
        spoilt[len(spoilt) // 2] ^= 0xFF
        db.execute("UPDATE chunk SET data = ? WHERE id = ?", (bytes(spoilt), row_id))
    db.close()


def story(session_id: str, count: int) -> bytes:
    return raw([user(session_id, f"{session_id[-4:]}-{n}", f"Prompt {n} " + "words " * 300, n) for n in range(count)])


@pytest.fixture
def damaged(tree: Tree) -> Tree:
    tree.write(main_path(LONG), story(LONG, 500))
    tree.write(main_path(OTHER), story(OTHER, 3))
    tree.sync()
    damage(tree.home, CHUNK)
    return tree


def test_a_rebuild_reads_around_a_damaged_chunk(damaged: Tree) -> None:
    before = damaged.rows("SELECT session_id, prompts FROM sessions ORDER BY 1")
    rebuild(str(damaged.home), workers=False)
    after = dict(damaged.rows("SELECT session_id, prompts FROM sessions ORDER BY 1"))
    assert after[OTHER] == 3
    lost = dict(before)[LONG] - after[LONG]
    in_chunk = CHUNK // (len(story(LONG, 500)) // 500)
    assert in_chunk - 1 <= lost <= in_chunk + 2
    issues = damaged.rows("SELECT id & 1099511627775, length FROM issues")
    assert issues
    assert min(offset for offset, _ in issues) <= CHUNK <= max(offset + length for offset, length in issues)


def test_a_log_whose_last_chunk_is_damaged_goes_on_in_a_new_generation(damaged: Tree) -> None:
    damage(damaged.home, len(story(LONG, 500)) // CHUNK * CHUNK)
    content = damaged.append(main_path(LONG), [user(LONG, "last", "One more.", 600)]).read_bytes()
    report = damaged.sync()
    assert report.changed == 1
    with Record.open(str(damaged.home / "record.db"), readonly=True) as record:
        former, current = (item for item in record.generations() if item.path == main_path(LONG))
        assert (former.ended_reason, current.current) == ("damaged", True)
        assert b"".join(record.read(current.id)) == content
    assert damaged.rows("SELECT prompts FROM sessions WHERE session_id = ?", LONG) == [(501,)]


@pytest.mark.parametrize("empty", [True, False])
def test_a_lost_record_is_not_begun_anew_in_silence(damaged: Tree, empty: bool) -> None:
    record = damaged.home / "record.db"
    record.unlink()
    if empty:
        record.touch()
    with pytest.raises(StoreCorrupt, match="missing or empty"):
        damaged.sync()
    for name in ("index.db", "text.db"):
        (damaged.home / name).unlink()
    assert damaged.sync().changed == 2
