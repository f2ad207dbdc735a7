"""Watching the roots for changes."""

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from hansard.sources.databases import JOURNALS, journal_owner
from hansard.sources.discover import discover
from hansard.sources.roots import FileKind, Root

POLL_SECONDS = 1.0
_POLL_SHARE = 100  # pause this many times as long as a poll took: at most one per cent of a core
_WAKE_MS = 3000  # between checks that the watched places are still the same
_RESCAN_WAKES = 10  # idle wakes between full scans, which find what events miss: overflows, network file systems
_RESCAN_SHARE = 5000  # but pause this many times as long as a scan took: 0.02 per cent of a core
_MOST_WAKES = 300
_GROUP_STEPS = 4  # quiet periods after which steady writing is reported anyway

_State = dict[str, tuple[int, ...]]


def watch(
    roots: Sequence[Root], stop: threading.Event, *, poll: bool = False, settle_ms: int = 100
) -> Iterator[frozenset[str]]:
    """Yield sets of absolute paths that changed, appeared or disappeared, until `stop` is set.

    The initial state is taken in this call, not at the first `next`: call it, then sync, then iterate, and no
    change is missed. A path may be reported again without a further change.
    """
    roots = list(roots)
    seen, has_unfollowed = _look(roots)
    return _poll(roots, stop, seen) if poll or has_unfollowed else _listen(roots, stop, seen, settle_ms)


def _look(roots: Iterable[Root]) -> tuple[_State, bool]:
    """The state of all files, and whether links are among them that are not followed.

    The library that listens follows every link: one to `/` would take all watches of the system. So if there is
    a link that must not be followed, poll instead.
    """
    state: _State = {}
    has_unfollowed = False
    for root in roots:
        if os.path.isdir(root.transcripts):
            state[root.transcripts] = ()  # an empty projects directory that appears is news too
        found, _, left_out = discover(root)
        has_unfollowed = has_unfollowed or any(item.target for item in left_out)
        for file in found:
            state[root.locate(file.path)] = (file.size, file.mtime_ns, file.inode)
    return state, has_unfollowed


def _changed(before: _State, now: _State) -> frozenset[str]:
    return frozenset(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


def _poll(roots: Sequence[Root], stop: threading.Event, seen: _State) -> Iterator[frozenset[str]]:
    rest = 0.0
    while not stop.wait(rest):
        started = time.monotonic()
        now, _ = _look(roots)
        rest = max(POLL_SECONDS, _POLL_SHARE * (time.monotonic() - started))
        changed = _changed(seen, now)
        seen = now
        if changed:
            yield changed


def _listen(roots: Sequence[Root], stop: threading.Event, seen: _State, settle_ms: int) -> Iterator[frozenset[str]]:
    """Wait for the system's events; if there are none, poll."""
    try:
        import watchfiles
    except ImportError:
        yield from _poll(roots, stop, seen)
        return
    has_unfollowed = False
    while not stop.is_set():
        if has_unfollowed:
            yield from _poll(roots, stop, seen)
            return
        watched = _watchable(roots)
        if not watched:
            stop.wait(POLL_SECONDS)
            continue
        wakes = rest = _RESCAN_WAKES  # scan once as soon as the watch is set: something may have changed before
        try:
            events = watchfiles.watch(
                *watched,
                watch_filter=None,
                debounce=settle_ms * _GROUP_STEPS,
                step=settle_ms,
                stop_event=stop,
                rust_timeout=_WAKE_MS,
                yield_on_timeout=True,
                ignore_permission_denied=True,
            )
            with closing(events):
                for batch in events:
                    touched = _touched(roots, [path for _, path in batch])
                    wakes += not batch
                    moved = not batch and _watchable(roots) != watched
                    if touched is None or moved or wakes > rest:
                        started = time.thread_time()
                        now, has_unfollowed = _look(roots)
                        took = (time.thread_time() - started) * 1000 / _WAKE_MS
                        rest = max(_RESCAN_WAKES, min(_MOST_WAKES, int(_RESCAN_SHARE * took)))
                        touched = _changed(seen, now)
                        seen, wakes = now, 0
                    if touched:
                        yield touched
                    if moved or has_unfollowed:
                        break
        except FileNotFoundError:
            stop.wait(POLL_SECONDS)  # removed before the watch was set
        except (OSError, RuntimeError):  # no more watches, or no events on this file system
            yield from _poll(roots, stop, seen)
            return


def _watchable(roots: Iterable[Root]) -> dict[str, tuple[int, int]]:
    """The existing places to watch, each with an identity that differs from a successor of the same name."""
    places: dict[str, tuple[int, int]] = {}
    for root in roots:
        names = [root.transcripts]
        if root.config is not None:
            names += [
                os.path.join(root.config, name)
                for name in (*root.layout.folders, *root.layout.files, *_journals(root))
                if name != root.layout.main
            ]
        for name in names:
            try:
                status = os.stat(name)
            except OSError:
                continue
            places[name] = (status.st_dev, status.st_ino)
    return places


def _journals(root: Root) -> Iterator[str]:
    """The journals of databases in the config directory itself, which are watched as files."""
    for name, kind in root.layout.files.items():
        if kind is FileKind.DATABASE:
            yield from (name + ending for ending in JOURNALS)


def _touched(roots: Sequence[Root], paths: Iterable[str]) -> frozenset[str] | None:
    """The files among them that are stored; None if only a full scan can tell, as after changes of folders."""
    touched = set()
    for path in paths:
        found = next(((root, inside) for root in roots if (inside := root.relative(path)) is not None), None)
        if found is None or "\ufffd" in path:  # reported under another name: through a link, or not valid Unicode
            return None
        kind = found[0].layout.kind_of(found[1])
        database = journal_owner(path) if kind is None else ""
        if database and found[0].layout.kind_of(journal_owner(found[1])) is FileKind.DATABASE:
            touched.add(database)
            continue
        if kind is None and os.path.basename(path).startswith("."):
            continue
        if kind is not None and not os.path.isdir(path):
            touched.add(path)
        elif not os.path.isfile(path):
            return None
    return frozenset(touched)
