"""A single flipped bit in any kind of page is detected or harmless, and `verify --repair` undoes it.

`python -m tests.sync.flipping 200` runs more of the same cases.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hansard.storage.sqlite import checksum_vfs
from tests.sync.flipping import NAMES, Store, make_store, run_case
from tests.sync.hard import files
from tests.sync.making import memory_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        yield make_store(Path(folder), files())


@pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")
@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_never_changes_an_answer_and_is_repaired(store: Store, name: str, tmp_path: Path) -> None:
    kinds = [kind for kind in sorted(store.pages) if kind.startswith(name)]
    assert len(kinds) >= 4
    for kind in kinds:
        outcome = run_case(store, kind, 0, tmp_path)
        assert outcome.read in ("same", "detected"), outcome
        assert outcome.repaired in ("same", "lost"), outcome
