"""What every test shares: a home of its own, and real transcripts and a real browser where they are at hand."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sqlite3
import sys
import tarfile
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import zstandard

import hansard
from hansard.clients.roots import open_roots
from hansard.sync.report import SyncRequest
from hansard.sync.run import sync
from tests.clients.histories import HISTORIES
from tests.hard_session import write_hard_session
from tests.recordings import History, Recording, find_recordings
from tests.sync.making import Tree, memory_folder

# A shell in the background ignores ctrl-c, and so would every program that a test starts and stops with it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A loaded machine is no mistake in the code: no test is timed.
hypothesis.settings.register_profile("hansard", deadline=None)
hypothesis.settings.load_profile("hansard")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from playwright.sync_api import Browser

    from hansard.engine import Hansard

# The shell without windows comes first: a page takes a quarter of the time there.
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
PROJECT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(trylast=True)  # after pytest-randomly
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a package together, and give a test that drives a browser a second attempt.

    Packages come in random order, and so do the tests inside each; one worker then makes most of the stores that a package shares.
    The summary tells of the tests that needed a second attempt.
    """
    order: dict[tuple[str, ...], int] = {}
    for item in items:
        order.setdefault(item.path.relative_to(PROJECT).parts[:2], len(order))
    items.sort(key=lambda item: order[item.path.relative_to(PROJECT).parts[:2]])
    if not config.pluginmanager.hasplugin("rerunfailures"):  # -p no:rerunfailures
        return
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: half a million objects of tests and modules."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the interpreter free everything when it ends: native libraries report what is left."""
    gc.unfreeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", type=int, default=1, help="how many times as many random cases to run as usual")


@pytest.fixture(scope="session")
def soak(pytestconfig: pytest.Config) -> int:
    """How many times as many random cases to run as usual."""
    return int(pytestconfig.getoption("--soak"))


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of every test's home: pytest lists its own folder for each new one, which thousands of homes would make slow."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def without_redactor() -> Iterator[None]:
    """No test redacts with the store of another one."""
    yield
    if (redaction := sys.modules.get("hansard.guard.redaction")) is not None:
        redaction.use(None)


@pytest.fixture(autouse=True)
def home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point everything that names a user's place to an empty scratch home."""
    home = Path(tempfile.mkdtemp(dir=homes))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name, place in {
        "HANSARD_HOME": "hansard",
        "CLAUDE_CONFIG_DIR": "claude",
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data",
        "XDG_CACHE_HOME": "cache",
        "XDG_STATE_HOME": "state",
        "XDG_RUNTIME_DIR": "run",
        "APPDATA": "appdata",
        "LOCALAPPDATA": "localappdata",
    }.items():
        monkeypatch.setenv(name, str(home / place))
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(scope="session", autouse=True)
def _compile_rules_for_secrets_once(pytestconfig: pytest.Config) -> None:
    """Kingfisher takes three seconds to compile its rules, and each test has a cache directory of its own."""
    folder = Path(pytestconfig.rootpath) / ".pytest_cache" / "kingfisher"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["KF_RULE_CACHE_DIR"] = str(folder)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the real transcripts, each archive to a folder of its name; tests read them and write elsewhere."""
    given = os.environ.get("HANSARD_CORPUS")
    packed = Path(given) if given else PROJECT.parent / "shared" / "corpus"
    archives = sorted(packed.glob("*.tar.zst"))
    if not archives:
        pytest.skip(f"no real transcripts: {packed} holds no *.tar.zst (HANSARD_CORPUS names another folder)")

    def unpack(fresh: Path) -> None:
        for archive in archives:
            _unpack(archive, fresh / archive.name.removesuffix(".tar.zst"))

    return _made_once(tmp_path_factory, "corpus", unpack)


@pytest.fixture(scope="session")
def recordings(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Recording]:
    """Every scenario that a real client was recorded in, each with a store of its own, which tests only read."""
    found = list(find_recordings(corpus))

    stores = _synced_once(
        tmp_path_factory, "recordings", {recording.id: [recording.root] for recording in found}, workers=False
    )
    return [recording._replace(store=stores / recording.id) for recording in found]


@pytest.fixture(scope="session")
def histories(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, History]:
    """What real clients wrote, what people published, and invented histories of all other clients.

    Each is one store, made when it is asked for, which tests only read.
    """
    roots = {
        "real clients": [recording.root for recording in find_recordings(corpus)],
        "public": [corpus / "public"],
    }

    class Histories(dict[str, History]):
        def __missing__(self, name: str) -> History:
            if name == "all clients":
                made = _made_once(tmp_path_factory, "all clients", _write_clients)
                roots[name] = sorted((made / "roots").glob("*/*"))
            made = _synced_once(tmp_path_factory, f"history {name}", {"store": roots[name]}, workers=True)
            self[name] = History(made / "store", roots[name])
            return self[name]

    return Histories()


def _write_clients(folder: Path) -> None:
    for name, history in HISTORIES.items():
        root = folder / "roots" / name / history.folder
        root.mkdir(parents=True)
        history.write(root)


def _synced_once(
    tmp_path_factory: pytest.TempPathFactory, name: str, stores: Mapping[str, Sequence[Path]], *, workers: bool
) -> Path:
    """A folder with a store for each of these lists of roots."""

    def fill(fresh: Path) -> None:
        # Where waiting for the disk costs nothing, as far as there is such a place.
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            for store, roots in stores.items():
                sync(
                    os.path.join(folder, store), open_roots([str(root) for root in roots]), SyncRequest(workers=workers)
                )
            shutil.copytree(folder, fresh)

    return _made_once(tmp_path_factory, name, fill)


def _made_once(tmp_path_factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """A folder that the first process to ask for it fills, and all others share."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    made = shared / name
    with _one_worker(shared / f"{name}.lock"):
        if not made.exists():
            fresh = shared / f"{name}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            fill(fresh)
            fresh.rename(made)
    return made


def _unpack(archive: Path, target: Path) -> None:
    # By hand: tarfile's filters came with Python 3.11.4. Links are left out: a client's debug/latest names an absolute path,
    # which would lead into somebody's real home.
    with (
        archive.open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as plain,
        tarfile.open(fileobj=plain, mode="r|") as tar,
    ):
        for member in tar:
            path = target / member.name
            if ".." in path.parts or not path.is_relative_to(target):
                raise ValueError(f"{archive}: {member.name} leads out of the archive")
            if member.isdir():
                path.mkdir(parents=True, exist_ok=True)
            elif member.isreg() and (content := tar.extractfile(member)) is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                with content, path.open("wb") as out:
                    shutil.copyfileobj(content, out)
                os.utime(path, (member.mtime, member.mtime))


@contextmanager
def _one_worker(lock: Path) -> Iterator[None]:
    """Let one process in at a time: SQLite's lock works on every system and dies with its holder."""
    with closing(sqlite3.connect(lock, timeout=600, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's own Chromium, driven by Playwright; nothing is downloaded."""
    from playwright import sync_api as playwright

    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if as_root else [])
        except playwright.Error as error:  # a stub that wants a snap, or libraries that are missing
            pytest.skip(f"{path} does not start: {error}")
        playwright.expect.set_options(timeout=20_000)  # generous, for loaded machines
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to write pages into."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as at rest as soon as they are written, so that the sync after the first one has nothing to compare."""
    monkeypatch.setattr("hansard.sources.tail.RACY_NS", 0)


@pytest.fixture
def tree() -> Iterator[Tree]:
    """An empty config directory and a store for it, in memory where that can be."""
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        yield Tree(Path(folder) / "claude", Path(folder) / "store")


@pytest.fixture(scope="session")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hansard, str]]:
    """A store with the session that has everything in it, to be read only, and the id of that session."""
    place = tmp_path_factory.mktemp("hard")
    name = write_hard_session(place / "claude")
    with hansard.open(place / "store", roots=[place / "claude"]) as h:
        h.sync()
        yield h, name
