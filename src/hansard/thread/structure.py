"""The structure of a thread, told by the index without decoding its lines: turns, outline, branches, and what surrounds it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from hansard.errors import NotFound
from hansard.model.threads import Fork
from hansard.model.time import from_milliseconds as moment
from hansard.query.transcripts import FORK_TURN
from hansard.storage import OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.thread.reader import ThreadReader


_WORDS = 400  # characters of a prompt, of which a line shows some
_KINDS = {"queued": "prompt"}
# What a reader is shown of a turn; its other records say nothing about how long it took.
_SHOWN = (
    "r.kind = 'assistant' OR r.role IN ('prompt', 'instruction', 'command', 'bash', 'command_output', 'bash_output',"
    " 'compact_summary', 'notification', 'teammate', 'interruption')"
    " OR r.sub IN ('compact_boundary', 'api_error', 'local_command', 'informational', 'away_summary')"
)
# A turn ends with its last answer or result; what the client adds later, and notes that come for the next one, do not prolong it.
_ENDS = (
    "r.message_id IS NOT NULL OR r.role IN ('result', 'error', 'prompt', 'instruction', 'command', 'bash', 'command_output',"
    " 'bash_output', 'interruption') OR r.sub IN ('compact_boundary', 'local_command')"
)


class Start(NamedTuple):
    """Where a turn begins."""

    offset: int
    branch: int


class Typed(NamedTuple):
    """A line that somebody typed, or that tells a subagent what to do."""

    id: int
    uuid: str | None
    parent_uuid: str | None
    kind: str
    role: str
    sidechain: int

    @property
    def is_prompt(self) -> bool:
        """Whether it is a line of its own, which may replace another."""
        return self.kind == "user" and self.role == "prompt"


def typed_lines(reader: Reader, low: int) -> list[Typed]:
    """Those of a transcript, whose ids begin at `low`."""
    rows = reader.rows(
        "SELECT id, uuid, parent_uuid, kind, role, sidechain FROM records WHERE id BETWEEN ? AND ?"
        " AND role IN ('prompt', 'instruction', 'command', 'bash') ORDER BY id",
        (low, low + OFFSET_MASK),
    )
    return list(map(Typed._make, rows))


def find_starts(thread: ThreadReader) -> list[Start]:
    """Where each turn of a thread begins; only its first entry is read."""
    found: dict[int, str | None] = {}
    for line in thread.typed:
        if thread.only is not None:
            if line.uuid not in thread.only:
                continue
        elif line.sidechain and not thread.is_agent_file:
            continue
        if (line.kind, line.role) == ("attachment", "prompt") and not thread.queued.get(line.id - thread.low):
            continue  # there is nothing in it
        found[line.id - thread.low] = line.uuid
    # Commands and queued prompts whose own lines do not say what they are.
    for record_id, kind, uuid, role, sidechain in thread.reader.rows(
        "SELECT p.id, r.kind, r.uuid, r.role, coalesce(r.sidechain, 0) FROM prompts p LEFT JOIN records r ON r.id = p.id"
        " WHERE p.id BETWEEN ? AND ?",
        thread.all_ids,
    ):
        is_inside = uuid in thread.only if thread.only is not None else thread.is_agent_file or not sidechain
        if role is None and is_inside and (kind is not None or record_id - thread.low in thread.queued):
            found[record_id - thread.low] = uuid
    starts = [Start(offset, thread.branches.of(found[offset])) for offset in sorted(found)]
    first = thread.first(starts[0].offset if starts else None)
    if first is not None:
        starts.insert(0, Start(first.offset, first.branch))
    return starts


class OutlineTurn(NamedTuple):
    """A turn as an outline names it."""

    number: int
    offset: int
    branch: int
    kind: str  # prompt, command, bash; empty where nobody asked
    text: str
    failed: bool
    started_at: datetime | None
    ended_at: datetime | None


class Compaction(NamedTuple):
    """Where a conversation was replaced by its summary."""

    offset: int
    at: datetime | None
    trigger: str
    tokens_before: int | None


def read_outline(thread: ThreadReader, starts: Sequence[Start], first: int, last: int) -> list[OutlineTurn]:
    """The turns from one number to another; `starts` are where all of the thread's begin."""
    chosen = list(starts[first - 1 : last])
    if not chosen:
        return []
    reader, low = thread.reader, thread.low
    ends = [start.offset for start in starts[first : last + 1]]
    bounds = low + chosen[0].offset, low + (ends[-1] - 1 if len(ends) == len(chosen) else OFFSET_MASK)
    said = {
        row[0] - low: row[1:]
        for row in reader.rows(
            f"SELECT id, source, substr(text, 1, {_WORDS}), ts FROM prompts WHERE id BETWEEN ? AND ?", bounds
        )
    }
    offsets = [start.offset for start in chosen]
    failed = {bisect_right(offsets, place) - 1 for place in _failures(thread, bounds)}
    spans = [(low + start, low + end - 1) for start, end in zip(offsets, [*ends, OFFSET_MASK + 1], strict=False)]
    times = _times(thread, spans)
    told_to = {line.id for line in thread.typed if line.role == "instruction"}  # whoever told a subagent is no person
    told = []
    for place, start in enumerate(chosen):
        source, text, asked = said.get(start.offset, ("", "", None))
        number = first + place
        if not source and low + start.offset in told_to:
            source = "prompt"
        first_ts, last_ts, lasted = times.get(place, (None, None, None))
        stamps = [stamp for stamp in (asked, first_ts) if stamp is not None]
        started, ended = moment(min(stamps, default=None)), find_end(min(stamps, default=None), last_ts, lasted)
        kind = _KINDS.get(source, source)
        told.append(OutlineTurn(number, start.offset, start.branch, kind, text, place in failed, started, ended))
    return told


def find_end(started: int | None, last: int | None, lasted: int | None) -> datetime | None:
    """When a turn ended: what the client says that it took goes before what its lines tell."""
    if started is None:
        return moment(last)
    return moment(started + lasted if lasted is not None else max(started, last or started))


Times = tuple[int | None, int | None, int | None]  # the first line, the last answer or result, and what the client says


def _times(thread: ThreadReader, spans: list[tuple[int, int]]) -> dict[int, Times]:
    """When turns between ids began and ended, by the place of the pair."""
    if thread.inside is None:
        sides = "" if thread.is_agent_file else " AND r.sidechain = 0"
        rows = thread.reader.rows(
            f"SELECT s.key, min(CASE WHEN {_SHOWN} THEN r.ts END), max(CASE WHEN {_ENDS} THEN r.ts END),"
            " (SELECT sum(d.ms) FROM turn_durations d WHERE d.id BETWEEN s.value ->> 0 AND s.value ->> 1)"
            " FROM json_each(?) s CROSS JOIN records r ON r.id BETWEEN s.value ->> 0 AND s.value ->> 1"
            f" WHERE ({_SHOWN} OR {_ENDS}){sides} GROUP BY s.key",
            (json.dumps(spans),),
        )
        return {row[0]: row[1:] for row in rows}
    found: dict[int, Times] = {}
    for place, span in enumerate(spans):
        rows = thread.reader.rows(
            f"SELECT r.id, CASE WHEN {_SHOWN} THEN r.ts END, CASE WHEN {_ENDS} THEN r.ts END FROM records r"
            f" WHERE r.id BETWEEN ? AND ? AND ({_SHOWN} OR {_ENDS})",
            span,
        )
        stamps = [row[1:] for row in rows if row[0] - thread.low in thread.inside]
        first, last = (
            ([ts for ts in column if ts is not None] for column in zip(*stamps, strict=True)) if stamps else ([], [])
        )
        found[place] = min(first, default=None), max(last, default=None), None
    return found


def end_of_turn(thread: ThreadReader, started: datetime | None, low: int, high: int | None) -> datetime | None:
    """When the turn between two offsets ended."""
    span = (thread.low + low, thread.low + (OFFSET_MASK if high is None else high - 1))
    _, last, lasted = _times(thread, [span]).get(0, (None, None, None))
    return find_end(None if started is None else round(started.timestamp() * 1000), last, lasted)


def _failures(thread: ThreadReader, bounds: tuple[int, int]) -> list[int]:
    """Where something failed: calls of tools, and requests."""
    rows = thread.reader.rows(
        "SELECT r.id, r.sidechain FROM tool_calls c JOIN blocks b ON b.id = c.id JOIN records r ON r.id = b.id - b.n"
        " WHERE c.id BETWEEN ?1 AND ?2 AND c.is_error = 1 UNION ALL"
        " SELECT id, sidechain FROM records WHERE id BETWEEN ?1 AND ?2 AND (role = 'error' OR sub = 'api_error')",
        bounds,
    )
    return list(_own(thread, rows))


def _own(thread: ThreadReader, rows: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The offsets of those records that are the thread's own; each with whether it is a sidechain's."""
    for record_id, sidechain in rows:
        place = record_id - thread.low
        if thread.is_agent_file or (not sidechain if thread.inside is None else place in thread.inside):
            yield place


def find_places(thread: ThreadReader, kind: str) -> list[int]:
    """Where the `errors` or the `edits` of a thread stand, in order."""
    bounds = thread.low, thread.low + OFFSET_MASK
    if kind == "errors":
        return sorted(set(_failures(thread, bounds)))
    rows = thread.reader.rows(
        "SELECT r.id, r.sidechain FROM tool_calls c JOIN blocks b ON b.id = c.id JOIN records r ON r.id = b.id - b.n"
        " WHERE c.id BETWEEN ? AND ? AND c.change IS NOT NULL",
        bounds,
    )
    return sorted(set(_own(thread, rows)))


def read_compactions(thread: ThreadReader) -> list[Compaction]:
    """Where a thread was compacted."""
    return [
        Compaction(record_id - thread.low, moment(ts), trigger or "", before)
        for record_id, ts, trigger, before in thread.reader.rows(
            "SELECT id, ts, trigger, pre_tokens FROM compactions WHERE id BETWEEN ? AND ? ORDER BY id", thread.all_ids
        )
        if thread.inside is None or record_id - thread.low in thread.inside
    ]


# -- around it


class Neighbour(NamedTuple):
    """Another session that is kept, and how this one is linked with it."""

    relation: str
    leads: bool  # the link goes from this session to the other
    session_id: str
    title: str
    turn: int | None  # of a fork or branch: the last turn that it copied


class ChangedFile(NamedTuple):
    """A file that a session changed."""

    path: str
    changes: int
    added: int  # lines
    removed: int


def list_neighbours(reader: Reader, session_id: str) -> list[Neighbour]:
    """The sessions that one is linked with."""
    rows = reader.rows(
        f"SELECT l.relation, l.source = ?1, s.session_id, s.title, {FORK_TURN} FROM links l JOIN sessions s"
        " ON s.session_id = iif(l.source = ?1, l.target, l.source)"
        " WHERE (l.source = ?1 OR l.target = ?1) AND s.session_id <> ?1 ORDER BY l.relation, s.started_at, s.session_id",
        (session_id,),
    )
    return [Neighbour(relation, bool(leads), other, title, turn) for relation, leads, other, title, turn in rows]


def list_changed_files(reader: Reader, session_id: str, limit: int) -> list[ChangedFile]:
    """The files that a session changed, the most changed first."""
    rows = reader.rows(
        "SELECT path, changes, added, removed FROM session_files WHERE session_id = ? AND changes > 0"
        " ORDER BY added + removed DESC, path LIMIT ?",
        (session_id, limit),
    )
    return [ChangedFile(*row) for row in rows]


# -- branches: a fork only where a prompt was replaced or an answer made again
#
# A parent with several children is nearly always parallel tool calls or side records, so walking back from the last leaf would
# lose most of a session. Instead everything stays on the line, except the subtrees that begin with a prompt (or an answer)
# which another one replaced.

ASIDE = frozenset({"attachment", "system", "progress"})
_STEPS = 20  # from a prompt to what it answers; where there are more, all side records are read at once

Parents = dict[str, str | None]


class Group(NamedTuple):
    """Prompts that answer the same, or answers to the same line."""

    anchor: str
    uuids: tuple[str, ...]  # the first records, in the order of the file


class Branches:
    """The branches of a transcript, made of its tree and its forks."""

    def __init__(self, parents: Parents, groups: Iterable[Group], leaf: str | None) -> None:
        """The session went on with the one of a group that holds the last record of the file, the `leaf`."""
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
            # Without one of them on the way to the last record, the last one written is what the session went on with.
            current = next((uuid for uuid in uuids if uuid in self._line), uuids[-1])
            others = [uuid for uuid in uuids if uuid != current]
            numbers = range(len(self._heads) + 1, len(self._heads) + len(others) + 1)
            self._heads.update(zip(others, numbers, strict=True))
            forks.append((anchor, current, others, numbers))
        for anchor, current, others, numbers in forks:
            self.forks.append(Fork(anchor, (self.of(current), *numbers), (current, *others)))

    def of(self, uuid: str | None) -> int:
        """The branch that a record is on; 0 is the line that the session went on with."""
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
    """Parents without orphans, which are roots, and without circles: the first record of the file in each loses its parent.

    Every record is looked at once, also where parents stand further down the file.
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
    """The branches of a transcript whose ids begin at `low`; `prompts` are its typed lines with their parents.

    Few transcripts have any, so first it is looked whether there can be a fork: the records are read only where there can.
    """
    own = low, low + OFFSET_MASK
    typed = {uuid: parent for uuid, parent in reversed(prompts) if parent is not None}
    answered = [
        row[0]
        for row in reader.rows(
            "SELECT parent_uuid FROM records WHERE id BETWEEN ? AND ? AND kind = 'assistant' AND parent_uuid IS NOT NULL"
            " AND (message_id IS id OR message_id IS NULL) GROUP BY parent_uuid HAVING count(*) > 1",
            own,
        )
    ]
    if not answered and not _meet(reader, own, list(typed.values())):
        return Branches({}, (), None)
    rows = list(
        reader.rows(
            "SELECT uuid, parent_uuid FROM records WHERE id BETWEEN ? AND ? AND uuid IS NOT NULL ORDER BY id", own
        )
    )
    stated: Parents = dict(rows)
    if len(stated) < len(rows):  # of records with the same id the first counts
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
        (*own, json.dumps(answered), *own),
    )
    parents = unbroken(stated)
    groups = find_groups(parents, [uuid for uuid, _ in prompts], asides, answers)
    place = {uuid: number for number, uuid in enumerate(stated)} if groups else {}
    groups.sort(key=lambda group: place[group.uuids[0]])
    return Branches(parents, groups, rows[-1][0] if rows else None)


def _meet(reader: Reader, own: tuple[int, int], steps: list[str]) -> bool:
    """Whether the ways up from these records may meet before they come to what a prompt can answer."""
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
            (json.dumps(steps), *own),
        )
        steps = [parent for kind, parent, _ in above if kind in ASIDE and parent]
    return True


def find_groups(
    parents: Parents,
    prompts: Iterable[str],
    asides: Mapping[str, object],
    answers: Iterable[tuple[str, str, int | None]],
) -> list[Group]:
    """Several prompts on one message, and several answers to one user line.

    Each prompt hangs on the message it answers, whatever side records are between them; an answer hangs where the first of
    its lines does.
    """
    anchors: dict[str, str | None] = {}  # of side records, as far as they were passed
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
        if step is not None:
            found.setdefault((step, "prompt"), {})[uuid] = uuid
    for uuid, parent, message in answers:
        if parents.get(uuid) == parent:
            found.setdefault((parent, "answer"), {}).setdefault(message, uuid)
    return [Group(anchor, tuple(group.values())) for (anchor, _), group in found.items() if len(group) > 1]


# -- the line of a branch: what a session would have been, had it gone on with a prompt that was replaced


class BranchChoice(NamedTuple):
    """A branch that can be chosen, and how it begins."""

    branch: int
    offset: int  # where it begins; of branch 0: where the first fork is
    text: str


class BranchLine(Struct, frozen=True):
    """A branch with all that it hangs on: for each branch of the line where it was left, None for the chosen one."""

    branch: int = 0
    left: dict[int, int | None] = field(default_factory=lambda: {0: None})

    def holds(self, branch: int, offset: int) -> bool:
        """Whether what stands at a place is on the line."""
        if branch not in self.left:
            return False
        end = self.left[branch]
        return end is None or offset < end


def find_line(thread: ThreadReader, branch: int) -> BranchLine:
    """The line of a branch; each fork on the way up is left where the session went on otherwise."""
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
    """All branches of a thread with their first words, the one that the session went on with first."""
    choices: list[BranchChoice] = []
    for fork in thread.branches.forks:
        for branch, uuid in zip(fork.branches[1:], fork.uuids[1:], strict=True):
            offset = _place(thread, uuid)
            row = thread.reader.one("SELECT substr(text, 1, 200) FROM prompts WHERE id = ?", (thread.low + offset,))
            choices.append(BranchChoice(branch, offset, row[0] if row is not None else ""))
    return [BranchChoice(0, _place(thread, thread.branches.forks[0].uuids[0]), ""), *choices] if choices else []


def _place(thread: ThreadReader, uuid: str) -> int:
    row = thread.reader.one(
        "SELECT min(id) FROM records WHERE uuid = ? AND id BETWEEN ? AND ?", (uuid, *thread.all_ids)
    )
    return int(row[0]) - thread.low if row is not None and row[0] is not None else 0


def _count(thread: ThreadReader) -> str:
    numbers = sorted(branch for fork in thread.branches.forks for branch in fork.branches[1:])
    return f"branches 0 to {numbers[-1]}" if numbers else "only the main line"
