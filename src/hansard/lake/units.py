"""What `hansard lake build` builds at a time: a machine, or parts of one that is too large.

What depends on each other stays in one part: the files of a session, and sessions with a common line (forks, resumed sessions). Of everything
else a report needs nothing but the rules by which readers merge machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hansard.clients import client_of
from hansard.lake.histories import stamp
from hansard.sources.roots import FileKind

if TYPE_CHECKING:
    from hansard.lake.histories import History
    from hansard.sources.discover import Found
    from hansard.sources.roots import Root

LARGEST_BATCH = 100
"""How many small machines a task builds."""


class Unit(Struct, frozen=True):
    """A machine, or a part of one."""

    machine: str
    number: int | None  # of the part; None: the whole machine
    files: int
    bytes: int
    state: str  # changes with its files
    only: dict[str, tuple[str, ...]] | None = None  # relative paths of a part's files, by the names of their roots


class _File(NamedTuple):
    root: str
    found: Found
    session: str  # empty: of none
    folder: str  # of the project
    is_shared: bool  # its lines are of many sessions
    group: str  # files of one group belong together; empty: by session and lines


def batches(units: Iterable[Unit], most_bytes: int) -> list[list[Unit]]:
    """Units by tasks, the largest first: a large one is alone, small ones share a task."""
    made: list[list[Unit]] = []
    size = 0
    for unit in sorted(units, key=lambda unit: (-unit.bytes, unit.machine, unit.number or 0)):
        if not made or size + unit.bytes > most_bytes or len(made[-1]) >= LARGEST_BATCH:
            made.append([])
            size = 0
        made[-1].append(unit)
        size += unit.bytes
    return made


class Division:
    """Divides a machine: `files` to look for common lines in, then `units` of what was found."""

    def __init__(self, history: History) -> None:
        self._machine = history.machine
        self._files = [_described(history.named(root), root, found) for root, found in history.walk()[0]]
        self.roots = {history.named(root): root for root in history.roots}

    def logs(self) -> list[tuple[int, str, str, int]]:
        """Transcripts that can have lines of others: number, client, absolute path and size."""
        return [
            (number, root.client, root.locate(file.found.path), file.found.size)
            for number, file in enumerate(self._files)
            if not file.group and file.found.kind.is_log and not file.is_shared
            for root in (self.roots[file.root],)
        ]

    def units(self, common: Iterable[Sequence[int]], former: Mapping[str, int], most_bytes: int) -> list[Unit]:
        """The parts; `common` are files with a common line, `former` the parts of sessions that were built before."""
        leader = list(range(len(self._files)))

        def find(number: int) -> int:
            while leader[number] != number:
                leader[number] = leader[leader[number]]
                number = leader[number]
            return number

        def join(numbers: Iterable[int]) -> None:
            first = None
            for number in map(find, numbers):
                first = number if first is None else first
                leader[max(first, number)] = first = min(first, number)

        alike: dict[tuple[str, str], list[int]] = {}
        for number, file in enumerate(self._files):
            if file.group or file.session:
                alike.setdefault((file.group, file.session), []).append(number)
        for numbers in (*alike.values(), *common):
            join(numbers)
        groups: dict[int, list[int]] = {}
        loose = []
        for number, file in enumerate(self._files):
            if file.is_shared or not (file.group or file.session or file.found.kind.is_log):
                loose.append(file)
            else:
                groups.setdefault(find(number), []).append(number)
        members = [[self._files[number] for number in numbers] for numbers in groups.values()]
        return [
            self._unit(number, files, loose) for number, files in sorted(_packed(members, former, most_bytes).items())
        ]

    def _unit(self, number: int, files: list[_File], loose: list[_File]) -> Unit:
        """A part, with what the sessions in it share with others: the prompt history, and files about their project."""
        folders = {(file.root, file.folder) for file in files if file.folder}
        files = files + [file for file in loose if file.is_shared or (file.root, file.folder) in folders]
        only: dict[str, list[str]] = {}
        for file in files:
            only.setdefault(file.root, []).append(file.found.path)
        # A prompt that is new in the history is new in a transcript too; otherwise each would change every part.
        own = [file.found for file in files if not file.is_shared]
        listed = [
            (file.root, file.found.path, file.found.size, file.found.mtime_ns) for file in files if not file.is_shared
        ]
        return Unit(
            self._machine,
            number,
            len(own),
            sum(found.size for found in own),
            stamp(listed),
            {root: tuple(sorted(paths)) for root, paths in only.items()},
        )


def _described(name: str, root: Root, found: Found) -> _File:
    client = client_of(root.client)
    if not client.sessions_own_files:
        return _File(name, found, "", "", is_shared=False, group=f"root {name}")
    info = client.path_info(found.path)
    is_shared = found.kind is FileKind.HISTORY
    return _File(name, found, info.session_id or info.stem, info.project_dir, is_shared=is_shared, group="")


def _packed(groups: list[list[_File]], former: Mapping[str, int], most_bytes: int) -> dict[int, list[_File]]:
    """Groups by number of part: where they were, otherwise in new parts, a large group in one of its own."""
    made: dict[int, list[_File]] = {}
    sizes: dict[int, int] = {}

    def put(number: int, group: list[_File]) -> None:
        made.setdefault(number, []).extend(group)
        sizes[number] = sizes.get(number, 0) + sum(file.found.size for file in group)

    new = []
    for group in sorted(groups, key=lambda group: min((file.root, file.found.path) for file in group)):
        known = [former[file.session] for file in group if file.session in former]
        if known and sizes.get(min(known), 0) < 2 * most_bytes:
            put(min(known), group)
        else:
            new.append(group)
    number = max((*former.values(), *made), default=-1) + 1
    for group in new:
        size = sum(file.found.size for file in group)
        if number in made and sizes[number] + size > most_bytes:
            number += 1
        put(number, group)
    return made
