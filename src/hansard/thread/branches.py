"""The branches of a session: a fork is where a prompt was replaced or an answer was made again.

A parent with several children usually has parallel tool calls or side records, so walking back from the last leaf would
lose most of a session. Instead everything is on the main line, except the subtrees that begin with a prompt (or an answer)
that another one replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from hansard.errors import NotFound
from hansard.model.threads import Fork
from hansard.model.time import from_milliseconds as moment
from hansard.storage import OFFSET_MASK
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.thread.reader import ThreadReader

ASIDE = frozenset({"attachment", "system", "progress"})
_STEPS = 20  # from a prompt to what it answers; with more, all side records are read at once

Parents = dict[str, str | None]


class Group(NamedTuple):
    """Prompts that answer the same message, or answers to the same line."""

    anchor: str
    uuids: tuple[str, ...]  # the first records, in the order of the file


class Branches:
    """The branches of a transcript, made of its tree and its forks."""

    def __init__(self, parents: Parents, groups: Iterable[Group], leaf: str | None) -> None:
        """Of each group the session continued with the member above the last record of the file, the `leaf`."""
        self._parents = parents
        self._line: set[str] = set()
        self._heads: dict[str, int] = {}
        self._known: dict[str, int] = {}
        self.forks: list[Fork] = []
        step = leaf
        while step is not None and step not in self._line:
            self._line.add(step)
            step = self._parents[step]
        forks = []
        for anchor, uuids in groups:
            # If none is above the last record, the session continued with the last one written.
            current = next((uuid for uuid in uuids if uuid in self._line), uuids[-1])
            others = [uuid for uuid in uuids if uuid != current]
            numbers = range(len(self._heads) + 1, len(self._heads) + len(others) + 1)
            self._heads.update(zip(others, numbers, strict=True))
            forks.append((anchor, current, others, numbers))
        for anchor, current, others, numbers in forks:
            self.forks.append(Fork(anchor, (self.of(current), *numbers), (current, *others)))

    def of(self, uuid: str | None) -> int:
        """The branch that a record is on; 0 is the line that the session continued on."""
        if not self._heads:
            return 0
        trail: list[str] = []
        branch = 0
        while uuid is not None and uuid not in self._line:
            trail.append(uuid)
            known = self._known.get(uuid) or self._heads.get(uuid)
            if known is not None or uuid in self._known:
                branch = known or 0
                break
            uuid = self._parents.get(uuid)
        self._known.update(dict.fromkeys(trail, branch))
        return branch


def unbroken(stated: Mapping[str, str | None]) -> Parents:
    """Parents without orphans (they become roots) and cycles: the first record of each cycle loses its parent.

    Every record is visited once, even if its parent comes later in the file.
    """
    parents: Parents = {}
    rank: dict[str, int] = {}
    for uuid, above in stated.items():
        if uuid in parents:
            continue
        if above is None or above in parents:  # as nearly everywhere
            parents[uuid] = above
            continue
        trail: dict[str, int] = {}
        step: str | None = uuid
        while step is not None and step not in parents and step not in trail:
            trail[step] = len(trail)
            higher = stated[step]
            step = higher if higher in stated else None
        for passed in trail:
            higher = stated[passed]
            parents[passed] = higher if higher in stated else None
        if step in trail:
            rank = rank or {name: place for place, name in enumerate(stated)}
            circle = list(trail)[trail[step] :]
            parents[min(circle, key=rank.__getitem__)] = None
    return parents


def open_branches(reader: Reader, low: int, prompts: Sequence[tuple[str, str | None]]) -> Branches:
    """The branches of a transcript whose ids start at `low`; `prompts` are its typed lines with their parents.

    Few transcripts have any, so records are read only if there may be a fork.
    """
    own = low, low + OFFSET_MASK
    prompts, is_emptied = _with_rewind(reader, own, prompts)
    typed = {uuid: parent for uuid, parent in reversed(prompts) if parent is not None}
    answered = [
        row[0]
        for row in reader.rows(
            "SELECT parent_uuid FROM records WHERE id BETWEEN ? AND ? AND kind = 'assistant' AND parent_uuid IS NOT NULL"
            " AND (message_id IS id OR message_id IS NULL) GROUP BY parent_uuid HAVING count(*) > 1",
            own,
        )
    ]
    if not answered and not is_emptied and not _meet(reader, own, list(typed.values())):
        return Branches({}, (), None)
    rows = list(
        reader.rows(
            "SELECT uuid, parent_uuid FROM records WHERE id BETWEEN ? AND ? AND uuid IS NOT NULL ORDER BY id", own
        )
    )
    stated: Parents = dict(rows)
    if len(stated) < len(rows):  # the first of records with the same id counts
        stated = {}
        for uuid, parent in rows:
            stated.setdefault(uuid, parent)
    asides = dict.fromkeys(
        row[0]
        for row in reader.rows(
            f"SELECT uuid FROM records WHERE id BETWEEN ? AND ? AND kind IN ({', '.join(map(repr, sorted(ASIDE)))})",
            own,
        )
    )
    answers = reader.rows(
        "SELECT a.uuid, a.parent_uuid, a.message_id FROM records a WHERE a.id BETWEEN ? AND ? AND a.kind = 'assistant'"
        " AND (a.message_id IS a.id OR a.message_id IS NULL) AND a.uuid IS NOT NULL"
        " AND a.parent_uuid IN (SELECT value FROM json_each(?))"
        " AND EXISTS (SELECT 1 FROM records u WHERE u.uuid = a.parent_uuid AND u.kind = 'user' AND u.id BETWEEN ? AND ?)"
        " ORDER BY a.id",
        (*own, to_json(answered), *own),
    )
    parents = unbroken(stated)
    groups = find_groups(parents, [uuid for uuid, _ in prompts], asides, answers, has_root=is_emptied)
    place = {uuid: number for number, uuid in enumerate(stated)} if groups else {}
    groups.sort(key=lambda group: place[group.uuids[0]])
    return Branches(parents, groups, rows[-1][0] if rows else None)


def _with_rewind(
    reader: Reader, own: tuple[int, int], prompts: Sequence[tuple[str, str | None]]
) -> tuple[Sequence[tuple[str, str | None]], bool]:
    """The prompts with the note on a rewind that nothing follows, and whether a rewind took back all turns.

    Such a note stands for the prompt that did not come: the turns after its parent were taken back all the same.
    """
    if not prompts:
        return prompts, False
    found = list(
        reader.rows(
            "SELECT uuid, parent_uuid, id FROM records WHERE id BETWEEN ? AND ? AND kind = 'system' AND role = 'rewind'"
            " AND uuid IS NOT NULL ORDER BY id",
            own,
        )
    )
    if not found:
        return prompts, False
    is_last = not reader.one(
        "SELECT 1 FROM records WHERE id BETWEEN ? AND ? AND uuid IS NOT NULL", (found[-1][2] + 1, own[1])
    )
    return [*prompts, found[-1][:2]] if is_last else prompts, any(parent is None for _, parent, _ in found)


def _meet(reader: Reader, own: tuple[int, int], steps: list[str]) -> bool:
    """Whether the ancestors of these records may meet before anything that a prompt can answer."""
    passed: set[str] = set()
    for _ in range(_STEPS):
        if not passed.isdisjoint(steps) or len(set(steps)) < len(steps):
            return True
        if not steps:
            return False
        passed.update(steps)
        above = reader.rows(
            "SELECT kind, parent_uuid, min(id) FROM records WHERE uuid IN (SELECT value FROM json_each(?))"
            " AND id BETWEEN ? AND ? GROUP BY uuid",
            (to_json(steps), *own),
        )
        steps = [parent for kind, parent, _ in above if kind in ASIDE and parent]
    return True


def find_groups(
    parents: Parents,
    prompts: Iterable[str],
    asides: Mapping[str, object],
    answers: Iterable[tuple[str, str, int | None]],
    *,
    has_root: bool = False,
) -> list[Group]:
    """Groups of prompts that answer one message, and of answers to one user line; with `has_root` also of first prompts.

    The anchor of a prompt is the message it answers, regardless of side records between them; that of an answer is that of
    its first line.
    """
    anchors: dict[str, str | None] = {}  # of side records that were passed
    found: dict[tuple[str, str], dict[str | int | None, str]] = {}
    for uuid in prompts:
        trail: list[str] = []
        step = parents.get(uuid)
        while step is not None and step in asides:
            if step in anchors:
                step = anchors[step]
                break
            trail.append(step)
            step = parents[step]
        anchors.update(dict.fromkeys(trail, step))
        if step is not None or has_root:
            found.setdefault((step or "", "prompt"), {})[uuid] = uuid
    for uuid, parent, message in answers:
        if parents.get(uuid) == parent:
            found.setdefault((parent, "answer"), {}).setdefault(message, uuid)
    return [Group(anchor, tuple(group.values())) for (anchor, _), group in found.items() if len(group) > 1]


# -- the line of a branch: the session as if it had continued with a prompt that was replaced


class BranchChoice(Struct, frozen=True):
    """A branch to choose, and its beginning."""

    branch: int
    offset: int  # of its start; of branch 0: of the first fork
    text: str  # its first prompt; empty if only the answer differs
    at: datetime | None = None


class BranchLine(Struct, frozen=True):
    """A branch and its ancestors: for each branch of the line the place where it was left, None for the chosen one."""

    branch: int = 0
    left: dict[int, int | None] = field(default_factory=lambda: {0: None})

    def holds(self, branch: int, offset: int) -> bool:
        """Whether the entry at this offset is on the selected branch."""
        if branch not in self.left:
            return False
        end = self.left[branch]
        return end is None or offset < end


def find_line(thread: ThreadReader, branch: int) -> BranchLine:
    """The line of a branch; each fork above it is left where the session continued otherwise."""
    if not branch:
        return BranchLine()
    left: dict[int, int | None] = {branch: None}
    step = branch
    while step:
        fork = next((fork for fork in thread.branches.forks if step in fork.branches[1:]), None)
        if fork is None:
            raise NotFound(f"there is no branch {branch} here; this thread has {_count(thread)}")
        step = fork.branches[0]
        if step in left:
            break
        left[step] = _place(thread, fork.uuids[0])
    return BranchLine(branch, left)


def fork_places(thread: ThreadReader) -> dict[str, int]:
    """Where the branches of a thread begin, by the ids of their first records."""
    return {uuid: _place(thread, uuid) for fork in thread.branches.forks for uuid in fork.uuids}


def list_choices(thread: ThreadReader) -> list[BranchChoice]:
    """All branches of a thread with their first words, the one that the session continued on first."""
    forks = thread.branches.forks
    others = [pair for fork in forks for pair in zip(fork.branches[1:], fork.uuids[1:], strict=True)]
    return [_choice(thread, branch, uuid) for branch, uuid in ((0, forks[0].uuids[0]), *others)] if others else []


def _choice(thread: ThreadReader, branch: int, uuid: str) -> BranchChoice:
    offset = _place(thread, uuid)
    row = thread.reader.one(
        "SELECT r.ts, substr(p.text, 1, 200) FROM records r LEFT JOIN prompts p ON p.id = r.id WHERE r.id = ?",
        (thread.low + offset,),
    )
    ts, text = row if row is not None else (None, None)
    return BranchChoice(branch, offset, text or "", moment(ts))


def _place(thread: ThreadReader, uuid: str) -> int:
    row = thread.reader.one(
        "SELECT min(id) FROM records WHERE uuid = ? AND id BETWEEN ? AND ?", (uuid, *thread.all_ids)
    )
    return int(row[0]) - thread.low if row is not None and row[0] is not None else 0


def _count(thread: ThreadReader) -> str:
    numbers = sorted(branch for fork in thread.branches.forks for branch in fork.branches[1:])
    return f"branches 0 to {numbers[-1]}" if numbers else "only the main line"
