"""Find everything that holds a session, a project, a message or a text, and plan its erasure."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hansard.clients import client_of
from hansard.clients.blanking import NOTHING, ONLY_KEYS, blank
from hansard.errors import UsageError
from hansard.grep.search import grep
from hansard.model.erasing import ERASE, LEAVE, OVERWRITE, REMOVE, ForgetItem, ForgetPlan, ForgottenSession
from hansard.model.requests import SearchRequest
from hansard.model.store_requests import GrepRequest
from hansard.query import forgetting
from hansard.query.forgetting import Line, Sweep
from hansard.query.sessions import find_session
from hansard.query.transcripts import find_message
from hansard.record.erase import Patch
from hansard.record.store import LIVE, Record
from hansard.retention.copies import Wanted, find_copies
from hansard.retention.files import HELD, StoredFile, StoreFiles, kind_of
from hansard.retention.lines import apart, named_lines, read_line, text_of
from hansard.secrets.values import plain_forms
from hansard.sources.roots import FileKind, path_inside
from hansard.sync.erasing import FILE_STEP, Order, source_step, vacant_step

if TYPE_CHECKING:
    from hansard.model.store_requests import ForgetRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Generation, Snapshot
    from hansard.retention.files import StoreLocation

_MOST_LINES = 100_000
"""The most lines that get tombstones of their own, of 16 bytes each; copies of the rest, in forks that are made later, would be kept."""
_NAMED = 5  # sessions in an error
NAMED_KINDS = frozenset({"subagent", "tool_result"})
Place = tuple[int, str]  # a file's root and path


class Planner(StoreFiles):
    """Collects what holds something, and the order to erase it."""

    def __init__(
        self,
        reader: Reader,
        record: Record,
        request: ForgetRequest,
        location: StoreLocation,
        reason: str = "",
    ) -> None:
        super().__init__(reader, record, location.roots, location.rules)
        self.request = request
        self.home = location.home
        self._items: dict[tuple[str, str, str], ForgetItem] = {}  # by kind, action and place
        self.warnings: list[str] = []
        self.texts: list[str] = []
        """Secrets of which no copy may be left."""
        self.sessions: list[ForgottenSession] = []
        self.order = Order(reason or _reason(request))
        self._patched: defaultdict[int, list[Patch]] = defaultdict(list)  # by generation
        self._marked: defaultdict[int, list[Patch]] = defaultdict(list)  # by snapshot
        self._lines: set[tuple[int, int]] = set()  # generation and offset of lines that are overwritten as a whole
        self._left: Counter[str] = Counter()

    @property
    def found(self) -> bool:
        """Whether anything has it."""
        return bool(self._items)

    @property
    def takes_something(self) -> bool:
        """Whether anything of that may go."""
        return any(item.action != LEAVE for item in self._items.values())

    # -- whole sessions

    def add_sessions(self, sessions: Collection[str], project: str | None) -> None:
        if not sessions and project is None:
            return
        self.refuse_held(sessions)
        self.describe(sessions)
        chosen = self.files_of(sessions, project)
        for file in chosen:
            self._erase_file(file)
        self.add_remarks(remark.id for remark in self.record.all_remarks() if remark.session_id in sessions)
        self.order.sessions |= forgetting.clients_of(self.reader, sessions)
        own, shared = self.mentioned_files(chosen, sessions)
        for file in own:
            self._erase_file(file)
        for file in shared:
            self.leave("file", file, "another session points to it")
        self._add_lines("prompt_history", forgetting.typed_lines(self.reader, sessions, project))
        self._add_lines("title", forgetting.title_lines(self.reader, sessions))
        self._add_listed(sessions)
        copies = forgetting.copied_lines(self.reader, sessions)
        self._remember_lines(sessions)
        if self.request.keep_copies:
            self._leave_copies(copies)
        else:
            self._add_lines("copied_message", [*copies, *self._copied_without_id(copies)])

    def _remember_lines(self, sessions: Collection[str]) -> None:
        """Let no copy of a line be stored in another session: the client may fork it from its own files, or these may have been copied."""
        for id_, start in sorted(forgetting.own_lines(self.reader, sessions).items()):
            client = self.files[self.generations[id_].file_id].root.client
            for line in named_lines(client_of(client), self.record.read(id_, mend=True)):
                if line.offset < start:
                    continue
                if len(self.order.lines) >= _MOST_LINES:
                    self.warnings.append(
                        f"only {_MOST_LINES:,} of its lines are remembered: a fork that is made later would be stored"
                    )
                    return
                self.order.lines.add((client, line.name))

    def _copied_without_id(self, copies: Iterable[Line]) -> Iterator[Line]:
        """The lines of copies that the index does not know by an id: titles, queued prompts, kinds that nobody knows."""
        for id_ in sorted({line.transcript for line in copies}):
            client = self.files[self.generations[id_].file_id].root.client
            for line in named_lines(client_of(client), self.record.read(id_, mend=True)):
                if (client, line.name) in self.order.lines:
                    yield Line(id_, line.offset, line.length, None)

    def refuse_held(self, sessions: Collection[str]) -> None:
        """Raise if any of these sessions is under a hold."""
        if stays := sorted(self.held.intersection(sessions)):
            raise UsageError(
                f"under a hold, so nothing can be erased: {', '.join(stays[:_NAMED])}"
                f"{f' and {len(stays) - _NAMED} more' if len(stays) > _NAMED else ''}."
                " `hold` below [retention] in the configuration names them"
            )

    def files_of(self, sessions: Collection[str], project: str | None = None) -> list[StoredFile]:
        """The files of sessions, or of a project."""
        paths = forgetting.paths_of(self.reader, sessions)
        folders = forgetting.project_folders(self.reader, project) if project is not None else set()
        return [
            file
            for file in self.files.values()
            if (file.root.path, file.path) in paths
            or self.session_of(file) in sessions
            or (file.root.path, client_of(file.root.client).path_info(file.path).project_dir) in folders
        ]

    def add_remarks(self, ids: Iterable[int]) -> None:
        """Tags, titles and notes, also those that were taken back."""
        sessions = {remark.id: remark.session_id for remark in self.record.all_remarks()}
        for id_ in ids:
            if id_ not in self.order.remarks and sessions[id_] not in self.held:
                self.order.remarks.add(id_)
                self._add("remarks", ERASE, sessions[id_], sessions[id_], lines=1)

    def describe(self, sessions: Collection[str]) -> None:
        for session_id in sorted(sessions):
            session = find_session(self.reader, session_id)
            roots = {root for root, _ in forgetting.paths_of(self.reader, [session_id])}
            self.sessions.append(
                ForgottenSession(
                    session_id=session_id,
                    client=session.client,
                    project=session.project,
                    title=session.title,
                    is_live=self.running.is_live(session_id, roots, session.ended_at),
                )
            )
        live = [session.session_id for session in self.sessions if session.is_live]
        if live and self.request.source:
            raise UsageError(
                f"{', '.join(live)}: the client is writing to it. End the session first, then run this again"
            )
        if live:
            self.warnings.append("the client is writing to it: nothing that it writes from now on will be stored")

    def _erase_file(self, file: StoredFile, kind: str = "") -> None:
        """Erase a file as a whole."""
        file_id = file.known.file_id
        if file_id in self.order.files or file.known.kind == FileKind.DATABASE:
            return
        if self.session_of(file) in self.held:
            self._add("file", LEAVE, file.path, self.session_of(file), size=file.known.size, reason=HELD)
            return
        self.order.files.add(file_id)
        if not any(session.session_id == self.session_of(file) for session in self.sessions):
            self.order.paths.add((file.root.path, file.path))  # its path does not say that it belongs to the session
        size = sum(made.size for made in self.record.generations_of(file_id))
        size += sum(snapshot.size for snapshot in self.record.snapshots_of(file_id))
        self._add(kind or kind_of(file.known.kind), ERASE, file.path, self.session_of(file), size=size)
        self._add_source(file)

    def _add_source(self, file: StoredFile) -> None:
        """The client's own file; that of an import lies in the data directory, and goes in any case."""
        place = self.place_of(file)
        if place is None or file.known.state != LIVE:
            return
        size = os.path.getsize(place) if os.path.exists(place) else file.known.size
        is_import = path_inside(self.home, place) is not None
        if reason := self.beyond_reach(file):
            self._add("source", LEAVE, place, self.session_of(file), size=size, reason=reason)
        elif is_import or self.request.source:
            self._add("import" if is_import else "source", REMOVE, place, self.session_of(file), size=size)
            self.order.copies.append((FILE_STEP, place))
            if not is_import:
                self._add_folders(file, os.path.dirname(place))
        else:
            self._add("source", LEAVE, place, self.session_of(file), size=size, reason="--source removes it")

    def _add_folders(self, file: StoredFile, folder: str) -> None:
        """The folders of a removed file that have the name of its session or project, and those in them."""
        info = client_of(file.root.client).path_info(file.path)
        names = file.path.split("/")[:-1]
        own = [depth for depth, name in enumerate(names) if name and name in (info.project_dir, self.session_of(file))]
        if own:
            self.order.copies.append(vacant_step(folder, len(names) - own[0]))

    def mentioned_files(
        self, chosen: Iterable[StoredFile], sessions: Collection[str]
    ) -> tuple[list[StoredFile], list[StoredFile]]:
        """Plans and pastes, whose names do not say whose they are: those that only these sessions point to, and those of others too."""
        candidates = {
            (file.root.id, file.path): file
            for file in self.files.values()
            if file.known.kind in (FileKind.PLAN, FileKind.PASTE)
        }
        if not candidates:
            return [], []
        own: set[Place] = set()
        others: set[Place] = set()
        for file in chosen:
            client = client_of(file.root.client)
            for made in self.record.generations_of(file.known.file_id):
                for piece in self.record.read(made.id, mend=True):
                    own.update((file.root.id, path) for path in client.mentioned_plans(piece))
        others.update(place for place in own & candidates.keys() if self._is_said_elsewhere(place[1], sessions))
        typed = {line[:2] for line in forgetting.typed_lines(self.reader, sessions, None)}
        for made in self.generations.values():
            if made.kind == FileKind.HISTORY:
                client = client_of(self.files[made.file_id].root.client)
                for offset, line in client.lines(self.record.read(made.id, mend=True), 0):
                    places = {(made.root_id, path) for path in client.mentioned_pastes(line)}
                    (own if (made.id, offset) in typed else others).update(places)
        found = own & candidates.keys()
        return [candidates[place] for place in sorted(found - others)], [
            candidates[place] for place in sorted(found & others)
        ]

    def _is_said_elsewhere(self, path: str, sessions: Collection[str]) -> bool:
        """Whether another session says the name of a file."""
        name = path.rpartition("/")[2].rpartition(".")[0]
        copied = (
            set() if self.request.keep_copies else {line[:2] for line in forgetting.copied_lines(self.reader, sessions)}
        )
        lines = forgetting.matching(self.reader, SearchRequest(f'"{name}"')).lines
        found = forgetting.sessions_at(self.reader, {line.transcript for line in lines if line[:2] not in copied})
        return not set(found.values()).issubset(sessions)

    # -- lines

    def _add_lines(self, kind: str, lines: Iterable[Line]) -> None:
        """Put markers in the place of lines."""
        of_log: defaultdict[int, list[Patch]] = defaultdict(list)
        for line in lines:
            made = self.generations.get(line.transcript)
            if made is None or made.file_id in self.order.files or line[:2] in self._lines:
                continue
            if self.is_held(made):
                self._add(kind, LEAVE, made.path, self.log_session(made), lines=1, reason=HELD)
                continue
            data = read_line(self.record, line)
            patch = Patch(line.offset, client_of(self.files[made.file_id].root.client).blank_line(data))
            if data and patch.data != data:
                self._lines.add(line[:2])
                of_log[made.id].append(patch)
        for generation, patches in of_log.items():
            self.patch_log(kind, self.generations[generation], patches, len(patches))

    def patch_log(self, kind: str, made: Generation, patches: Sequence[Patch], lines: int) -> None:
        """Overwrite stretches of a log."""
        self._patched[made.id] += patches
        file = self.files[made.file_id]
        size = sum(len(patch.data) for patch in patches)
        self._add(kind, OVERWRITE, file.path, self.session_of(file), size=size, lines=lines)
        if made.current:
            self._add_marked_source(file, size, lines)

    def patch_snapshot(self, kind: str, snapshot: Snapshot, patches: Sequence[Patch]) -> None:
        """Overwrite stretches of a small file as it was once seen."""
        self._marked[snapshot.id] += patches
        file = self.files[snapshot.file_id]
        size = sum(len(patch.data) for patch in patches)
        self._add(kind, OVERWRITE, file.path, self.session_of(file), size=size, lines=len(patches))
        if snapshot.current:
            self._add_marked_source(file, size, len(patches))

    def patched_files(self) -> set[int]:
        """The files of which stretches are overwritten."""
        snapshots = {snapshot.id: snapshot.file_id for snapshot in self.record.snapshots()} if self._marked else {}
        return {self.generations[id_].file_id for id_ in self._patched} | {snapshots[id_] for id_ in self._marked}

    def leave(self, kind: str, file: StoredFile, reason: str, *, size: int | None = None) -> None:
        """List a file that stays as it is."""
        size = file.known.size if size is None else size
        self._add(kind, LEAVE, file.path, self.session_of(file), size=size, reason=reason)

    def _add_marked_source(self, file: StoredFile, size: int, lines: int) -> None:
        """The same lines in the client's own file."""
        place = self.place_of(file)
        if place is None or file.known.state != LIVE:
            return
        is_given = not self.beyond_reach(file)
        reason = "--source overwrites them" if is_given and not self.request.source else self.stays(file, place)
        if reason:
            self._add("source", LEAVE, place, self.session_of(file), size=size, lines=lines, reason=reason)
            return
        self._add("source", OVERWRITE, place, self.session_of(file), lines=lines)
        self.order.copies.append(source_step(file.known.file_id, place))

    def _add_listed(self, sessions: Collection[str]) -> None:
        """Entries of lists of sessions."""
        for snapshot in self.record.snapshots([FileKind.SESSIONS_INDEX]):
            if snapshot.file_id in self.order.files:
                continue
            file = self.files[snapshot.file_id]
            data = self.record.read_snapshot(snapshot.id)
            patches = [
                Patch(start, blank(data[start:end], ONLY_KEYS))
                for session_id, start, end in client_of(file.root.client).listed_sessions(data)
                if session_id in sessions
            ]
            if patches:
                self.patch_snapshot("title", snapshot, patches)

    def _leave_copies(self, copies: Iterable[Line]) -> None:
        counts = Counter(line.transcript for line in copies)
        sessions = forgetting.sessions_at(self.reader, counts)
        for transcript, count in sorted(counts.items()):
            path = self.generations[transcript].path
            self._add("copied_message", LEAVE, path, sessions.get(transcript, ""), lines=count, reason="--keep-copies")

    # -- single messages and texts

    def add_messages(self, uuids: Collection[str]) -> None:
        found = {find_message(self.reader, uuid).uuid for uuid in uuids}
        self._add_copies_of(found, "message")

    def _add_copies_of(self, uuids: Collection[str], kind: str) -> None:
        lines = forgetting.same_lines(self.reader, uuids)
        self._add_lines(kind, lines)
        for line in lines:
            made = self.generations.get(line.transcript)
            if made is not None and line.uuid:
                self.order.messages.add((self.files[made.file_id].root.client, line.uuid))

    def _add_nameless(self, lines: Sequence[Line]) -> None:
        """Lines of which the index gives no id; those that have a name are not stored again."""
        self._add_lines("message", lines)
        offsets: defaultdict[int, set[int]] = defaultdict(set)
        for line in lines:
            if line[:2] in self._lines:
                offsets[line.transcript].add(line.offset)
        for id_, found in offsets.items():
            client = self.files[self.generations[id_].file_id].root.client
            for named in named_lines(client_of(client), self.record.read(id_, mend=True)):
                if named.offset in found:
                    self.order.messages.add((client, named.name))

    def add_matches(self, query: str) -> None:
        """Every line and file that a query finds, each copy of such a line, and what the full text does not have."""
        request = SearchRequest(query)
        found = forgetting.matching(self.reader, request)
        self._add_copies_of(set(forgetting.ids_of(found.lines)), "message")
        self._add_nameless([line for line in found.lines if line.uuid is None])
        snapshots = {snapshot.id: snapshot for snapshot in self.record.snapshots([FileKind.TOOL_RESULT])}
        for id_ in found.snapshots:
            if id_ in snapshots:
                self._erase_file(self.files[snapshots[id_].file_id])
        sessions = set(forgetting.sessions_at(self.reader, {line.transcript for line in found.lines}).values())
        for sweep in forgetting.sweeps(self.reader, request):
            self._sweep(sweep, sessions if sweep.is_limited else None)
            self.add_remarks(
                remark.id
                for remark in self.record.all_remarks()
                if (not sweep.is_limited or remark.session_id in sessions) and sweep.holds(remark.value)
            )

    def _sweep(self, sweep: Sweep, sessions: Collection[str] | None) -> None:
        """Lines that say the words somewhere: a repeated title, a record without a text, a plan, a paste."""
        request = GrepRequest(sweep.pattern, ignore_case=True, all_generations=True, around=None, sessions=sessions)
        logs = {(made.root_id, made.path, made.seq): made for made in self.generations.values()}
        roots = {root.path: root.id for root in self.record.roots()}
        lines: list[Line] = []
        patches: defaultdict[int, list[Patch]] = defaultdict(list)
        for hit in grep(self.reader, self.record, request):
            if not sweep.holds(text_of(hit.text)):
                continue
            root = roots[hit.file.root]
            made = logs.get((root, hit.file.path, hit.file.generation))
            if made is not None:
                lines.append(Line(made.id, hit.offset, hit.length, None))
                continue
            known = self.record.known_file(root, hit.file.path)
            if known is not None and known.file_id not in self.order.files:
                snapshot = self.record.snapshots_of(known.file_id)[hit.file.generation - 1]
                patches[snapshot.id].append(Patch(hit.offset, blank(hit.text, NOTHING)))
        self._add_nameless(lines)
        for id_, found in patches.items():
            self._mark_snapshot(id_, found)

    def _mark_snapshot(self, id_: int, patches: list[Patch]) -> None:
        """Put markers in a small file as it was once seen."""
        snapshot = next(self.record.snapshots(after=id_ - 1))
        file = self.files[snapshot.file_id]
        if file.known.kind == FileKind.TOOL_RESULT:
            self._erase_file(file)
            return
        if self.session_of(file) in self.held:
            self._add("file", LEAVE, file.path, self.session_of(file), lines=len(patches), reason=HELD)
            return
        self.patch_snapshot("file", snapshot, patches)
        if snapshot.current and file.known.state == LIVE and not self.request.source:
            self.warnings.append(
                f"{file.path}: stored again, with these words, when the client changes it. Use --source"
            )

    # -- single files

    def add_files(self, kinds: Mapping[int, str]) -> None:
        """Files as wholes, by their ids in the record, and what they are called."""
        for file_id, kind in kinds.items():
            self._erase_file(self.files[file_id], kind if kind in NAMED_KINDS else "")

    # -- the end

    def add_copies(self) -> None:
        """Copies outside of the record."""
        if not self._items:
            return
        sessions = {session.session_id for session in self.sessions}
        for patched in self._patched:
            made = self.generations[patched]
            sessions.add(self.session_of(self.files[made.file_id]))
        lines = self.order.lines | self.order.messages
        names = {name.encode() for name in sessions if name} | {name.encode() for _, name in lines}
        texts = {form.encode("utf-8", "surrogateescape") for text in self.texts for form in plain_forms(text)}
        typed = {self.request.match.strip(' "').encode()} if self.request.match else set()
        touched = sessions
        request = self.request
        if self.order.secrets and not (request.names or request.project or request.match or request.messages):
            sessions, names = set(), set()  # copies in which the secrets are redacted may stay
        for item, step in find_copies(self.home, Wanted(sessions, names, texts, typed, touched)):
            self._items[item.kind, item.action, item.place] = item
            if step is not None:
                self.order.copies.append(step)

    def end(self) -> tuple[ForgetPlan, Order]:
        order = self.order
        order.logs = {generation: apart(patches) for generation, patches in self._patched.items()}
        order.snapshots = {snapshot: apart(patches) for snapshot, patches in self._marked.items()}
        order.copies = [*dict.fromkeys(order.copies)]
        order.left = sum(item.action == LEAVE for item in self._items.values())
        plan = ForgetPlan(
            sessions=tuple(self.sessions), items=tuple(self._items.values()), warnings=tuple(self.warnings)
        )
        return plan, order

    def _add(
        self,
        kind: str,
        action: str,
        place: str,
        session_id: str = "",
        *,
        size: int = 0,
        lines: int = 0,
        reason: str = "",
    ) -> None:
        former = self._items.get((kind, action, place))
        self._items[kind, action, place] = ForgetItem(
            kind=kind,
            action=action,
            place=place,
            session_id=session_id,
            bytes=size + (former.bytes if former is not None else 0),
            lines=lines + (former.lines if former is not None else 0),
            reason=reason,
        )


def _reason(request: ForgetRequest) -> str:
    if request.project:
        return "project"
    return "session" if request.names else "match" if request.match else "secret" if request.secrets else "message"
