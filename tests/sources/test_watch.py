"""Changes are told, by events and by polling."""

import builtins
import contextlib
import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hansard.clients.claude_code.roots import open_root
from hansard.clients.roots import open_roots
from hansard.sources import watch as watching
from hansard.sources.roots import Root
from hansard.sources.watch import watch

ENOUGH = 2000  # looks at the stop event before a test gives up: over a minute of waking


class Scripted(threading.Event):
    """A stop event that acts each time it is looked at, so that changes happen while the watch stands."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        super().__init__()
        self.acts = list(acts)
        self.looks = 0

    def _act(self) -> None:
        self.looks += 1
        if self.looks > ENOUGH:
            self.set()
        if self.acts:
            act = self.acts[0] if len(self.acts) == 1 else self.acts.pop(0)
            act()

    def is_set(self) -> bool:
        self._act()
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        self._act()
        return super().wait(0)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / ".claude" / "projects" / "-a").mkdir(parents=True)
    (tmp_path / ".claude" / "projects" / "-a" / "old.jsonl").write_text("{}\n")
    return open_root(str(tmp_path / ".claude"))


def append(path: str) -> Callable[[], None]:
    def act() -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a") as file:
            file.write("{}\n")

    return act


def nothing() -> None:
    pass


BOTH = pytest.mark.parametrize("poll", [True, False], ids=["poll", "events"])


@BOTH
def test_an_append_is_told(root: Root, poll: bool) -> None:
    path = root.locate("projects/-a/old.jsonl")
    assert next(watch([root], Scripted(append(path)), poll=poll, settle_ms=5)) == {path}


@BOTH
def test_a_change_before_the_first_look_is_told(root: Root, poll: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_WAKE_MS", 20)
    changes = watch([root], Scripted(), poll=poll, settle_ms=5)
    new = root.locate("projects/-a/new.jsonl")
    append(new)()
    assert next(changes) == {new}


@BOTH
def test_a_folder_that_is_moved_in_is_told_by_its_files(
    root: Root, poll: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_RESCAN_WAKES", 10**9)
    append(str(tmp_path / "-b" / "s.jsonl"))()
    target = Path(root.locate("projects/-b"))
    acts = [nothing] * 20 + [lambda: (tmp_path / "-b").rename(target), nothing]
    assert next(watch([root], Scripted(*acts), poll=poll, settle_ms=5)) == {str(target / "s.jsonl")}


@BOTH
def test_a_file_that_goes_is_told(root: Root, poll: bool) -> None:
    path = root.locate("projects/-a/old.jsonl")
    acts = [nothing] * 20 + [lambda: Path(path).unlink(), nothing]
    assert next(watch([root], Scripted(*acts), poll=poll, settle_ms=5)) == {path}


@BOTH
def test_projects_that_come_later_are_told(tmp_path: Path, poll: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_WAKE_MS", 20)
    monkeypatch.setattr(watching, "_RESCAN_WAKES", 10**9)
    (tmp_path / "plans").mkdir()  # something to watch before
    root = open_root(str(tmp_path))
    new = root.locate("projects/-a/new.jsonl")
    acts = [*[nothing] * 20, lambda: Path(root.transcripts).mkdir(), nothing]
    stop = Scripted(*acts)
    changes = watch([root], stop, poll=poll, settle_ms=5)
    assert next(changes) == {root.transcripts}
    stop.acts = [append(new)]
    assert next(changes) == {new}


@BOTH
def test_what_is_not_kept_is_not_told(root: Root, poll: bool) -> None:
    kept = root.locate("history.jsonl")
    append(kept)()
    quiet = [append(root.locate(f"projects/-a/{name}")) for name in ("x.html", ".x.jsonl", "y.tmp")]
    acts = [act for _ in range(10) for act in quiet] + [append(kept)]
    assert next(watch([root], Scripted(*acts), poll=poll, settle_ms=5)) == {kept}


@BOTH
def test_stopping_ends_it(root: Root, poll: bool) -> None:
    stop = Scripted(nothing, nothing, nothing)
    stop.acts.append(stop.set)
    assert list(watch([root], stop, poll=poll, settle_ms=5)) == []


@BOTH
def test_a_root_that_went_does_not_end_it(root: Root, poll: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_WAKE_MS", 20)
    base, away = Path(root.path), Path(root.path + ".away")
    acts = [*[nothing] * 20, lambda: base.rename(away), nothing]
    stop = Scripted(*acts)
    changes = watch([root], stop, poll=poll, settle_ms=5)
    assert root.transcripts in next(changes)
    stop.acts = [*[nothing] * 20, lambda: away.rename(base), nothing]
    path = root.locate("projects/-a/old.jsonl")
    assert any(path in told for told in itertools.islice(changes, 3))


def test_without_events_it_polls(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles

    def refuse(*_: object, **__: object) -> Any:
        raise OSError(28, "no more watches")

    path = root.locate("projects/-a/old.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(watchfiles, "watch", refuse)
        assert next(watch([root], Scripted(append(path)))) == {path}


def test_without_the_library_it_polls(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "watchfiles":
            raise ImportError(name)
        return real(name, *rest)

    path = root.locate("projects/-a/old.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", missing)
        assert next(watch([root], Scripted(append(path)))) == {path}


def test_events_under_another_name_lead_to_a_full_look(root: Root) -> None:
    known = root.locate("projects/-a/old.jsonl")
    assert watching._touched([root], [known]) == frozenset({known})
    assert watching._touched([root], [known, "/elsewhere/old.jsonl"]) is None
    assert watching._touched([root], [root.locate("projects/-a/\ufffd.jsonl")]) is None
    assert watching._touched([root], [root.locate("projects/-gone")]) is None


def inotify_watches() -> int:
    """How many folders this process listens to."""
    count = 0
    for path in Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(OSError):  # another thread has closed it since
            count += path.read_text().count("inotify wd:")
    return count


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    for number in range(50):
        (tmp_path / "outside" / f"{number}").mkdir(parents=True)
    return tmp_path / "outside"


linux_only = pytest.mark.skipif(
    not Path("/proc/self/fdinfo").is_dir(), reason="watches are counted as Linux shows them"
)


@linux_only
def test_a_link_out_is_not_listened_to(root: Root, outside: Path) -> None:
    Path(root.locate("projects/-linked")).symlink_to(outside)
    kept = root.locate("projects/-a/old.jsonl")
    counts: list[int] = []
    acts = [append(str(outside / "new.jsonl")), lambda: counts.append(inotify_watches()), append(kept)]
    assert next(watch([root], Scripted(*acts), settle_ms=5)) == {kept}
    assert counts == [0]


@linux_only
def test_a_link_out_that_comes_later_is_not_listened_to(
    root: Root, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_WAKE_MS", 20)
    linked = Path(root.locate("projects/-linked"))
    kept = root.locate("projects/-a/old.jsonl")

    def append_when_deaf() -> None:
        if not inotify_watches():
            append(kept)()

    stop = Scripted(*[nothing] * 20, lambda: linked.symlink_to(outside), append_when_deaf)
    assert next(watch([root], stop, settle_ms=5)) == {kept}


@BOTH
def test_a_link_that_is_allowed_is_watched(tmp_path: Path, root: Root, outside: Path, poll: bool) -> None:
    Path(root.locate("projects/-linked")).symlink_to(outside)
    (allowed,) = open_roots([root.path], follow_links=[str(outside)])
    new = allowed.locate("projects/-linked/7/new.jsonl")
    assert next(watch([allowed], Scripted(append(new)), poll=poll, settle_ms=5)) == {new}


@BOTH
def test_our_own_data_in_a_root_is_not_told(root: Root, poll: bool) -> None:
    data = root.locate("projects/-data")
    append(f"{data}/statusline.json")()
    (around,) = open_roots([root.path], data_directory=data)
    kept = root.locate("projects/-a/.session-aliases")
    acts = [*[append(f"{data}/statusline.json")] * 20, append(kept)]
    assert next(watch([around], Scripted(*acts), poll=poll, settle_ms=5)) == {kept}


@pytest.mark.parametrize("poll", [True, False])
def test_a_write_to_the_journal_of_a_database_is_one_to_the_database(tmp_path: Path, poll: bool) -> None:
    (tmp_path / "opencode.db").write_bytes(b"")
    (tmp_path / "opencode.db-wal").write_bytes(b"")
    roots = open_roots([str(tmp_path)])
    stop = Scripted(append(str(tmp_path / "opencode.db-wal")))
    found = next(watch(roots, stop, poll=poll, settle_ms=10))
    assert found == {str(tmp_path / "opencode.db")}
