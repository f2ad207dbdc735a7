"""Where questions are answered: one state of the store, whatever happens to it."""

from __future__ import annotations

import asyncio
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.config import Settings
from hansard.engine import Hansard
from hansard.errors import NotFound, StoreUnusable
from hansard.index.schema import VERSION
from hansard.storage.sqlite import connect
from hansard.web.engine_pool import EnginePool
from tests.sync.making import Tree, main_path, user
from tests.web.serving import elsewhere, site


@pytest.fixture
def home(demo_store: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of the demo's store, to be damaged."""
    copy = tmp_path / "store"
    shutil.copytree(demo_store[1], copy)
    return copy


@pytest.fixture
def engines(home: Path) -> Iterator[EnginePool]:
    made = EnginePool(Settings(str(home), (), 0))
    yield made
    made.close()


def stamp(home: Path, version: int) -> None:
    db = connect(str(home / "text.db"))
    db.pragma("user_version", version)
    db.close()


def test_without_a_usable_full_text_all_but_search_goes_on(home: Path) -> None:
    stamp(home, VERSION + 1)
    with site(home) as running, running.client() as client:
        for _ in range(6):  # whichever thread answers
            assert client.get("/api/sessions").json()["total"] > 0
            refused = client.get("/api/search?q=list")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unusable")
        stamp(home, VERSION)
        for _ in range(6):
            assert client.get("/api/search?q=list").json()["total"] > 0


def test_a_question_sees_one_state(engines: EnginePool, home: Path) -> None:
    asked, changed = threading.Event(), threading.Event()

    def twice(h: Hansard) -> tuple[int, int]:
        first = h.revision()
        asked.set()
        changed.wait()
        return first, h.revision()

    def change() -> None:
        asked.wait()
        with hansard.open(home) as h:
            h.pin("@last")
        changed.set()

    other = threading.Thread(target=change)
    other.start()
    first, second = elsewhere(lambda: asyncio.run(engines.read(twice)))
    other.join()
    assert first == second
    assert elsewhere(lambda: asyncio.run(engines.read(lambda h: h.revision()))) > first


def test_the_fingerprint_tells_every_change(engines: EnginePool, home: Path) -> None:
    seen = [engines.fingerprint()]
    with hansard.open(home) as h:
        for title in ("one", "two", None):
            h.rename("@last", title)
            seen.append(engines.fingerprint())
        assert elsewhere(lambda: asyncio.run(engines.read(lambda other: other.session("@last")))) == h.session("@last")
    assert len(set(seen)) == len(seen)
    nowhere = EnginePool(Settings(str(home / "nowhere"), (), 0))
    assert nowhere.fingerprint() == "none-none"
    nowhere.close()


def test_what_fails_is_told_and_the_next_is_answered(engines: EnginePool) -> None:
    def fails(h: Hansard) -> None:
        h.session("no such session")

    for _ in range(5):
        with pytest.raises(NotFound):
            elsewhere(lambda: asyncio.run(engines.read(fails)))
    assert elsewhere(lambda: asyncio.run(engines.read(lambda h: h.sessions().total))) > 0
    assert engines.waiting == 0


@pytest.mark.skipif(sys.platform == "win32", reason="limits are those of POSIX")
def test_after_a_full_disk_the_same_process_can_write_again(tree: Tree, tmp_path: Path) -> None:
    from tests.full_disk import SESSION, crashed_store, small_disk

    with small_disk("limit", tmp_path) as (place, full):
        store = crashed_store(tree, place)
        pool = EnginePool(Settings(str(store), (str(tree.config),), 1 << 20))
        try:
            with full:
                assert elsewhere(lambda: asyncio.run(pool.read(lambda h: h.count("narwhal")))) == 1
                with pytest.raises(StoreUnusable):
                    elsewhere(lambda: asyncio.run(pool.write(lambda h: h.pin(SESSION))))
                assert elsewhere(lambda: asyncio.run(pool.read(lambda h: h.count("narwhal")))) == 1
            elsewhere(lambda: asyncio.run(pool.write(lambda h: h.pin(SESSION))))
            tree.append(main_path(SESSION), [user(SESSION, "u3", "another narwhal", 3, "u2")])
            elsewhere(lambda: asyncio.run(pool.write(lambda h: h.sync())))
            assert elsewhere(lambda: asyncio.run(pool.read(lambda h: h.count("narwhal")))) == 2
        finally:
            pool.close()


def test_actions_that_wait_for_a_sync_keep_no_question_waiting(engines: EnginePool) -> None:
    answered = threading.Event()

    async def ask() -> int:
        writes = [asyncio.create_task(engines.write(lambda _: answered.wait(60))) for _ in range(8)]
        await asyncio.sleep(0)  # the writes are queued
        revision = await engines.read(lambda h: h.revision())
        answered.set()
        assert all(await asyncio.gather(*writes))
        return revision

    assert elsewhere(lambda: asyncio.run(ask())) > 0
