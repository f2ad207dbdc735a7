"""A PostgreSQL server for tests, which forgets everything if it is killed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.postgres import Server

LOGINS = ("keeper", "ann", "bob", "cia", "dan", 'o"neil; DROP TABLE x --')
"""Logins of the server; the first owns the tables."""


@contextmanager
def started(programs: Path) -> Iterator[Server]:
    """Run a server, which ends with the block."""
    parent = next(place for place in ("/dev/shm", "/tmp") if os.path.isdir(place))
    running = Server(tempfile.mkdtemp(prefix="hansard-pg-", dir=parent), programs)
    try:
        running.create("fsync = off\nfull_page_writes = off\nshared_buffers = 64MB\nautovacuum = off\n", LOGINS)
        yield running
    finally:
        running.remove()
