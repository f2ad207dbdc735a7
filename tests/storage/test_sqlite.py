"""The files that SQLite keeps beside a database: made writable again, or named in the error."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hansard.errors import StoreUnusable
from hansard.record.store import Record
from hansard.storage.sqlite import connect, unwritable_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
@pytest.mark.parametrize("suffix", ["-shm", "-wal"])
@pytest.mark.parametrize("mode", [0o400, 0o200, 0o440, 0])
def test_a_writer_may_write_to_the_journals(tmp_path: Path, suffix: str, mode: int) -> None:
    path = tmp_path / "record.db"
    journal = tmp_path / f"record.db{suffix}"
    with Record.open(str(path)), Record.open(str(path), readonly=True):
        journal.chmod(mode)
        with Record.open(str(path)) as record, record.writing():
            record.root_id("/r", "r")
        assert stat.S_IMODE(journal.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_reader_changes_no_modes(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    with Record.open(str(path)):
        journal = tmp_path / "record.db-shm"
        journal.chmod(0o400)
        with closing(connect(str(path), readonly=True)):
            assert stat.S_IMODE(journal.stat().st_mode) == 0o400


@pytest.mark.parametrize("suffix", ["-shm", "-wal"])
def test_the_error_names_the_file_that_cannot_be_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "record.db"
    Record.open(str(path)).close()
    assert unwritable_file(str(path)) == str(path)
    journal = tmp_path / f"record.db{suffix}"
    journal.mkdir()
    with pytest.raises(StoreUnusable) as caught, Record.open(str(path)) as record, record.writing():
        record.root_id("/r", "r")
    assert str(caught.value).startswith(f"{journal}: ")
