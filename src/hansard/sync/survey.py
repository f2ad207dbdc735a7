"""What differs between the source roots and the record, by names and status alone."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from hansard.record.store import GONE, Known, Record
from hansard.sources.discover import Found, LeftOut, discover
from hansard.sources.layout import kind_of
from hansard.sources.roots import Root


@dataclass(slots=True)
class RootSurvey:
    """One root's differences."""

    root: Root
    root_id: int | None
    changed: list[tuple[Found, Known | None]] = field(default_factory=list)
    gone: list[Known] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    logs: int = 0
    complete: bool = True  # every file of the root was looked at

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to do."""
        return not self.changed and not self.gone and self.root_id is not None


def survey(record: Record | None, roots: Sequence[Root]) -> list[RootSurvey]:
    """Walk the roots and compare with what is known; a record that does not exist yet knows nothing."""
    ids = {row.path: row.id for row in record.roots()} if record is not None else {}
    return [_survey_root(record, root, ids.get(root.path)) for root in roots]


def _survey_root(record: Record | None, root: Root, root_id: int | None) -> RootSurvey:
    result = RootSurvey(root, root_id)
    known = record.known(root_id) if record is not None and root_id is not None else {}
    found, unreadable, result.left_out = discover(root)
    changed = result.changed
    for file in found:
        before = known.pop(file.path, None)
        if file.kind.is_log:
            result.logs += 1
        if before is None or before.state == GONE or not before.settled(file.size, file.mtime_ns, file.inode):
            changed.append((file, before))
    result.unreadable = [f"{item.path}: {item.reason}" for item in unreadable]
    hidden = [item.relative for item in unreadable]
    for path, before in known.items():
        if before.state != GONE and not any(_under(path, folder) for folder in hidden):
            result.gone.append(before)
    return result


def _under(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


def survey_paths(record: Record, roots: Sequence[Root], paths: Collection[str]) -> list[RootSurvey] | None:
    """Compare only some files, named by their absolute paths; None when a whole walk is needed to say what happened."""
    ids = {row.path: row.id for row in record.roots()}
    results = []
    for root in roots:
        root_id = ids.get(root.path)
        if root_id is None:
            return None
        wanted = [relative for relative in (root.relative(path) for path in paths) if relative is not None]
        if not wanted:
            continue
        result = RootSurvey(root, root_id, complete=False)
        for relative in wanted:
            try:
                status = os.stat(root.locate(relative))
            except OSError:
                return None
            kind = kind_of(relative)
            if kind is None:
                continue
            if not os.path.isfile(root.locate(relative)):
                return None
            before = record.known_file(root_id, relative)
            file = Found(relative, kind, status.st_size, status.st_mtime_ns, status.st_ino, status.st_mode & 0o7777)
            result.changed.append((file, before))
        results.append(result)
    return results
