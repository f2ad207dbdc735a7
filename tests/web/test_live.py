"""Staying current, and the stream that tells open pages so."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import hansard
from hansard import background_sync
from hansard.engine import Hansard
from hansard.errors import StoreBusy, StoreUnusable
from hansard.model.health import SyncProgress
from hansard.storage.heartbeat import clear_progress, note_progress
from hansard.sync.data_files import sync_lock
from hansard.web import engine_pool
from hansard.web.auth import LoginFile
from tests.web.serving import Site, site

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser

    from hansard.sync.report import SyncReport

News = dict[str, Any]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for another attempt."""
    monkeypatch.setattr(background_sync, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(background_sync, "_FIRST_PAUSE", 0.02)
    monkeypatch.setattr(background_sync, "_LOCK_SECONDS", 0.02)


@pytest.fixture
def root(demo_store: tuple[Path, Path], tmp_path: Path) -> Path:
    """A small part of the demo's history, to be added to."""
    source, copy = demo_store[0], tmp_path / "claude"
    logs = [path for path in sorted(source.glob("projects/*/*.jsonl")) if 10_000 < path.stat().st_size < 200_000][:3]
    for log in logs:
        target = copy / log.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, target)
    return copy


@contextmanager
def listening(given: Site) -> Iterator[Iterator[News]]:
    """The news of a server, as an open page hears them."""
    with given.client() as client, client.stream("GET", "/api/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        yield _news(answer)


def _news(answer: httpx.Response) -> Iterator[News]:
    kind = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            assert kind == "revision"
            yield json.loads(line.removeprefix("data: "))


def until(news: Iterator[News], fits: Callable[[News], bool]) -> News:
    """The first of the news that fits."""
    return next(item for item in news if fits(item))


def wait_for(condition: Callable[[], bool]) -> None:
    """Look until it holds; a test that waits in vain ends by the runner's limit."""
    while not condition():
        time.sleep(0.005)


def is_done(item: News) -> bool:
    return not item["syncing"]


def add(root: Path) -> None:
    """Say one more thing in a session."""
    log = min(root.glob("projects/*/*.jsonl"))
    last = next(line for line in reversed(log.read_text(encoding="utf-8").splitlines()) if '"uuid"' in line)
    record = json.loads(last) | {"uuid": f"more-{log.stat().st_size}", "type": "user"}
    record["message"] = {"role": "user", "content": "And one more thing."}
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def test_the_end_of_the_first_sync_is_told(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    given = Hansard.sync

    def sync(self: Hansard, **wishes: Any) -> SyncReport:
        gate.wait()
        return given(self, **wishes)

    monkeypatch.setattr(Hansard, "sync", sync)
    with site(tmp_path / "home", root, syncing=True) as running, listening(running) as news:
        assert next(news) == {"revision": 0, "syncing": True, "progress": None, "trouble": None}
        gate.set()
        done = until(news, is_done)
        assert done["revision"] > 0
        assert done["trouble"] is None
        with running.client() as client:
            assert client.get("/api/revision").json() == done
            assert client.get("/api/sessions").json()["total"] == 3


def test_what_is_added_is_told_and_there(root: Path, tmp_path: Path) -> None:
    with site(tmp_path / "home", root, syncing=True) as running, listening(running) as news, running.client() as client:
        before = until(news, is_done)
        add(root)
        after = until(news, lambda item: item["revision"] != before["revision"])
        assert after["revision"] > before["revision"]
        assert client.get("/api/prompts?limit=500&q=%22one+more+thing%22").json()["total"] >= 1


def test_a_sync_by_another_process_is_told(root: Path, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        with site(tmp_path / "home", root) as running, listening(running) as news:
            before = next(news)
            assert before["syncing"] is False
            add(root)
            h.sync()
            assert until(news, lambda item: item["revision"] > before["revision"])


def test_how_far_a_sync_is_is_told(root: Path, tmp_path: Path) -> None:
    """Of whatever process: it stands in a file."""
    home = tmp_path / "home"
    home.mkdir()
    with site(home, root) as running, listening(running) as news, running.client() as client:
        assert next(news)["progress"] is None
        note_progress(str(home), SyncProgress("reading", 12, 367))
        told = until(news, lambda item: item["progress"] is not None)
        assert (told["progress"], told["syncing"]) == ("12 of 367 files read", True)
        for path in ("/", "/sessions"):
            page = client.get(path).text
            assert "12 of 367 files read" in page
            assert "No sessions yet" not in page
        clear_progress(str(home))
        assert until(news, is_done)["progress"] is None
        assert "No sessions yet" in client.get("/sessions").text


def test_a_page_whose_server_went_away_says_so_and_goes_on(chromium: Browser, root: Path, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", str(tmp_path / "login.json")
    with hansard.open(home, [root]) as h:
        h.sync()
    with ExitStack() as first:
        running = first.enter_context(site(home, root, kept=LoginFile(folder, keep_logins=True)))
        with running.opened(chromium, "/usage") as watched:
            wait_for(lambda: running.app.state.live.listeners == 1)
            first.close()
            watched.page.locator("#standing", has_text="not responding").wait_for()
            again = LoginFile(folder, keep_logins=True)
            with site(home, root, kept=again, port=running.auth.port) as other:
                assert other.address == running.address
                watched.page.locator("#standing").wait_for(state="hidden")
                watched.page.goto(running.address + "/sessions")  # as a bookmark
                expect(watched.page.locator("h1").first).to_have_text("Sessions")


def test_whoever_reads_far_down_sees_that_the_server_went_away(chromium: Browser, root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with hansard.open(home, [root]) as h:
        h.sync()
        session = h.sessions(sort="size", limit=1).sessions[0]
    with ExitStack() as first:
        running = first.enter_context(site(home, root))
        with running.opened(chromium, f"/sessions/{session.session_id}") as watched:
            page = watched.page
            wait_for(lambda: running.app.state.live.listeners == 1)
            follow = page.locator("[data-action=follow]")
            follow.click()
            expect(follow).to_contain_text("Following")
            colour = follow.locator(".dot").evaluate("dot => getComputedStyle(dot).backgroundColor")
            first.close()
            expect(page.locator("#standing", has_text="not responding")).to_be_in_viewport()
            expect(follow).to_contain_text("Disconnected")
            assert follow.locator(".dot").evaluate("dot => getComputedStyle(dot).backgroundColor") != colour


def test_all_windows_of_a_browser_listen_to_one_stream(chromium: Browser, root: Path, tmp_path: Path) -> None:
    """Browsers open six connections to a server; a stream for each window would leave none for the seventh."""
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
    with (
        site(tmp_path / "home", root, syncing=True) as running,
        running.opened(chromium, "/sessions") as watched,
        ExitStack() as others,
    ):
        pages = [watched.page]
        for _ in range(8):
            pages.append(watched.page.context.new_page())
            others.callback(pages[-1].close)
            pages[-1].goto(running.address + "/sessions")
        wait_for(lambda: running.app.state.live.listeners == 1)
        log = min(root.glob("projects/*/*.jsonl"))
        for page in pages:
            expect(page.locator(f'a[href*="{log.stem}"]').first).to_be_visible()
            page.evaluate(
                "import(document.querySelector('script[src*=app]').src.replace('app.js', 'live.js')).then((live) => live.onNews(() => (document.body.dataset.heard = '')))"
            )
        add(root)
        for page in pages:
            expect(page.locator("body[data-heard]")).to_be_visible()
        assert running.app.state.live.listeners == 1


def test_a_remark_is_told_at_once(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_sync, "_LOOK_SECONDS", 3600.0)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
    with site(tmp_path / "home", root) as running, listening(running) as news, running.client() as client:
        before = next(news)
        client.put("/api/sessions/@last/pin", headers={"origin": running.address})
        assert next(news)["revision"] > before["revision"]


@pytest.mark.parametrize("error", [StoreBusy("somebody writes"), StoreUnusable("no space"), OSError("no such device")])
def test_a_trouble_passes(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    given, heard = Hansard.sync, threading.Event()
    troubles: list[Exception] = [error, error]

    def sync(self: Hansard, **wishes: Any) -> SyncReport:
        if troubles:
            if len(troubles) == 1:
                heard.wait()
            raise troubles.pop()
        return given(self, **wishes)

    monkeypatch.setattr(Hansard, "sync", sync)
    with site(tmp_path / "home", root, syncing=True) as running, listening(running) as news:
        assert until(news, lambda item: item["trouble"] is not None)["trouble"] == str(error)
        with running.client() as client:
            assert str(error) in client.get("/health").text
        heard.set()
        better = until(news, lambda item: item["trouble"] is None)
        assert not better["syncing"]
        add(root)
        assert until(news, lambda item: item["revision"] > better["revision"])["trouble"] is None


def test_a_mistake_in_the_watch_is_told_without_details(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given, heard = Hansard.sync, threading.Event()
    calls = 0

    def sync(self: Hansard, **wishes: Any) -> SyncReport:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError("the secret is 42")
        heard.wait()
        return given(self, **wishes)

    monkeypatch.setattr(Hansard, "sync", sync)
    with site(tmp_path / "home", root, syncing=True) as running, listening(running) as news:
        told = until(news, lambda item: item["trouble"] is not None)
        heard.set()
        assert "42" not in told["trouble"]
        assert until(news, lambda item: item["trouble"] is None)["revision"] > 0
    assert "42" in caplog.text


def test_another_process_that_syncs_is_waited_for(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with sync_lock(str(home), 0) as held:
        assert held
        with site(home, root, syncing=True) as running, listening(running) as news:
            assert next(news) == {"revision": 0, "syncing": True, "progress": None, "trouble": None}
            thread = next(one for one in threading.enumerate() if one.name == "watch")
            assert thread.is_alive()
            with running.client() as client:
                assert client.get("/api/sessions").json()["total"] == 0
                busy = client.put("/api/sessions/x/pin", headers={"origin": running.address})
                assert busy.status_code == 404
    with site(home, root, syncing=True) as running, listening(running) as news:
        with sync_lock(str(home), 60) as held:
            assert held
            add(root)
        add(root)
        assert until(news, lambda item: is_done(item) and item["revision"] > 0)
        with running.client() as client:
            assert client.get("/api/sessions").json()["total"] == 3


def test_a_change_during_another_sync_is_not_lost(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync that another process does not let in tells of no paths again: all is looked at."""
    given = Hansard.sync
    with site(tmp_path / "home", root, syncing=True) as running, listening(running) as news:
        before = until(news, is_done)
        refused = threading.Event()

        def busy(self: Hansard, **wishes: Any) -> SyncReport:
            if not refused.is_set():
                refused.set()
                from hansard.sync.report import SyncReport

                return SyncReport(busy=True)
            return given(self, **wishes)

        monkeypatch.setattr(Hansard, "sync", busy)
        add(root)
        assert until(news, lambda item: item["revision"] > before["revision"])
        assert refused.is_set()


def test_a_store_that_is_made_again_is_opened_again(root: Path, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        with site(tmp_path / "home", root) as running, running.client() as client:
            before = client.get("/api/sessions").json()
            found = client.get("/api/search?q=a").json()["total"]
            h.rebuild()
            for _ in range(8):  # whichever thread answers
                assert client.get("/api/sessions").json() == before
                assert client.get("/api/search?q=a").json()["total"] == found
            add(root)
            h.sync()
            assert client.get("/api/sessions?sort=size&limit=1").json() != before


def test_a_store_that_comes_later_is_seen(root: Path, tmp_path: Path) -> None:
    with site(tmp_path / "home", root) as running, running.client() as client, listening(running) as news:
        assert next(news)["revision"] == 0
        assert client.get("/api/search?q=a").json()["total"] == 0
        with hansard.open(tmp_path / "home", [root]) as h:
            h.sync()
        assert until(news, lambda item: item["revision"] > 0)
        for _ in range(8):
            assert client.get("/api/sessions").json()["total"] == 3
            assert client.get("/api/search?q=a").json()["total"] > 0


# -- who listens


def test_who_goes_away_leaves_nothing_behind(demo: Site) -> None:
    told: engine_pool.Live = demo.app.state.live
    wait_for(lambda: told.listeners == 0)
    for _ in range(3):
        with listening(demo) as first, listening(demo) as second:
            assert next(first) == next(second)
            assert told.listeners == 2
        wait_for(lambda: told.listeners == 0)


def test_who_goes_away_in_the_middle_of_a_transcript_leaves_nothing_behind(demo: Site) -> None:
    with demo.client() as client:
        biggest = client.get("/api/sessions?sort=size&limit=1").json()["sessions"][0]["session_id"]
        for _ in range(3):
            with client.stream("GET", f"/api/sessions/{biggest}/raw") as answer:
                assert next(answer.iter_raw(10))
        engines = demo.app.state.engines
        wait_for(lambda: engines.waiting == 0)
        assert client.get("/api/revision").status_code == 200


def test_there_are_not_too_many_streams(demo: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(demo) as news, demo.client() as client:
        assert next(news)
        monkeypatch.setattr(engine_pool, "_MOST_STREAMS", 1)
        refused = client.get("/api/events")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")


def test_a_quiet_stream_shows_that_it_lives(demo: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_pool, "_HEARTBEAT_SECONDS", 0.01)
    with demo.client() as client, client.stream("GET", "/api/events") as answer:
        assert next(line for line in answer.iter_lines() if line.startswith(":")) == ": nothing new"


def test_a_sync_ends_when_the_server_does(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def sync(_: Hansard, *, listener: Callable[[Any], None], **__: Any) -> None:
        begun.set()
        try:
            while True:
                listener(None)
        finally:
            ended.set()

    monkeypatch.setattr(Hansard, "sync", sync)
    with site(tmp_path / "home", root, syncing=True):
        begun.wait()
    assert ended.is_set()
    assert not any(thread.name == "watch" for thread in threading.enumerate())


def test_streams_end_with_the_server(demo_store: tuple[Path, Path]) -> None:
    root, home = demo_store
    with site(home, root) as running:
        client = running.client()
        stream = client.stream("GET", "/api/events")
        answer = stream.__enter__()
        news = _news(answer)
        assert next(news)
    assert list(news) == []
    client.close()


def test_an_open_page_shows_how_the_server_stands(
    root: Path, tmp_path: Path, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, given = threading.Event(), Hansard.sync
    troubles = [StoreUnusable("<b>no space</b>")]

    def sync(self: Hansard, **wishes: Any) -> SyncReport:
        gate.wait()
        gate.clear()
        if troubles:
            raise troubles.pop()
        return given(self, **wishes)

    monkeypatch.setattr(Hansard, "sync", sync)
    with site(tmp_path / "home", root, syncing=True) as running, running.opened(chromium, "/sessions") as watched:
        standing = watched.page.locator("#standing")
        standing.get_by_text("Reading the history").wait_for()
        gate.set()
        standing.get_by_text("Not up to date: <b>no space</b>").wait_for()
        gate.set()
        standing.wait_for(state="hidden")
        gate.set()
        running.check(watched)
