"""Copies of a transcript that the client can resume: damage mended, and on request old bulk replaced by short stand-ins.

The client walks from the last record up the parentUuid chain, and what it does not reach is not in the conversation: a parent that
is null or in a circle loses every turn before it (2.1.112 to 2.1.326), an invalid time loses the session. In a copy every chain
ends at a beginning. Records keep their order, uuids and message ids, as in the client's own forks, and whatever is not mended or
replaced keeps its bytes. A transcript is read twice, line by line; in memory are its uuids.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from hansard.clients.claude_code.compaction import BOUNDARY, Summary, compaction_records
from hansard.clients.claude_code.decode import items, strict_object
from hansard.clients.lines import REFUSED, Issue, Lines, fit, is_ordinary, length_of
from hansard.lazy_regex import lazy_compile
from hansard.model.sessions import SessionCopy

Read = Callable[[], Iterable[bytes]]

NEWEST = 256 << 10
"""Bytes of the newest tool results, pictures and attachments that a slim copy keeps."""
CONTEXT = 360_000
"""Bytes of messages that a slim copy sends to the model: about 120,000 tokens. Older ones are put behind a compaction."""
_SMALL = 600  # bytes of a result, picture or attachment that is kept at any age
_BEGINNING = 120  # characters of a replaced result that are kept
_CONVERSATION = frozenset({"user", "assistant", "system", "attachment", "progress"})
# Of no use to a resumed conversation: the client writes requests and snapshots for its own caches and for the rewinding of files,
# whose former contents belong to the old id; progress is history, and attachments are announced again if they are missing.
_BULK = frozenset(
    {"api-request", "api-request-blob", "api-request-shape", "file-history-snapshot", "file-history-delta", "progress"}
)
_PEOPLES = frozenset({"queued_command"})  # attachments with words of people
_NO_LEAF = "00000000-0000-0000-0000-000000000000"  # the client's own mark for the time before the first prompt

_COUNTED = ("results", "pictures", "left_out", "dated", "leaves", "lines", "bytes", "context", "compacted")
_COMMON = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "timestamp")

_any = msgspec.json.Decoder().decode
_keys = msgspec.json.Decoder(dict[str, Raw]).decode
_parts = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode
_UUID = lazy_compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Keys = dict[str, Raw]


class _Row(NamedTuple):
    """A record as far as its place in the chain is concerned."""

    kind: str
    uuid: str
    parent: str | None
    side: str  # of which chain it is: empty for the conversation itself
    is_start: bool  # may have no parent


def copy_session(
    read: Read, session_id: str, new_id: str, *, slim: bool, join: bool
) -> tuple[SessionCopy, Callable[[], Iterator[bytes]]]:
    """Plan a copy under a new id: what it changes, and its content. With `join` later beginnings continue what was before them."""
    copier = _Copier(read, session_id, new_id, slim=slim, join=join)
    copier.survey()
    _run(copier.write())
    if slim and copier.compact():
        _run(copier.write())
    return copier.facts(), copier.write


def _run(lines: Iterator[bytes]) -> None:
    """Write to nowhere, for what is counted."""
    for _ in lines:
        pass


class _Copier:
    def __init__(self, read: Read, session_id: str, new_id: str, *, slim: bool, join: bool) -> None:
        self._read, self._old, self._new = read, session_id, new_id
        self._slim, self._join = slim, join
        self._parents: dict[str, str | None] = {}  # by uuid, in the order of the file
        self._before: dict[str, str | None] = {}  # the record before, of records whose parent was not seen before them
        self._left_out: set[str] = set()
        self._old_until = 0  # offset before which bulk is replaced
        self._trunk: set[str] = set()  # the last record and all above it
        self._places: list[
            tuple[str, int]
        ] = []  # records before which a compaction may be, and the context before them
        self._compacted_at = ""  # the record with a new compaction before it
        self._counts: dict[str, int] = {}

    # -- reading

    def _records(self) -> Iterator[tuple[int, Keys]]:
        """The records with their offsets; what cannot be read is counted."""
        lines = Lines(self._read(), 0)
        unreadable = split = 0
        for start, line in _with_rest(lines):
            last = None
            for offset, keys in _objects(line, start):
                if keys is None:
                    unreadable += 1
                    continue
                split += last is not None
                last = offset
                yield offset, keys
        self._counts.update(unreadable=unreadable, split=split, bytes_before=lines.end)

    def _row(self, offset: int, keys: Keys) -> _Row | None:
        """The place of a record in the chain, None if it is not in one."""
        kind = _text(keys, "type")
        if kind not in _CONVERSATION:
            return None
        name = _text(keys, "uuid") or str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._old}:{offset}"))
        is_aside = bytes(keys.get("isSidechain", b"")) == b"true"
        side = f"aside {_text(keys, 'agentId')}" if is_aside else ""
        is_start = is_aside or (kind == "system" and _text(keys, "subtype") == BOUNDARY)
        return _Row(kind, name, _text(keys, "parentUuid") or None, side, is_start)

    # -- the first reading: chains and sizes

    def survey(self) -> None:
        """Find out which parents must change and which records are left out."""
        last: dict[str, str] = {}
        heavy: list[tuple[int, int]] = []  # record and bytes
        candidates: list[tuple[int, str]] = []  # records that may be left out
        self._counts = dict.fromkeys(("relinked", "joined"), 0)
        roots: set[str] = set()
        for offset, keys in self._records():
            row = self._row(offset, keys)
            if row is None:
                continue
            if row.uuid not in self._parents:  # a record may be there twice: the first one decides
                if row.parent is None or row.parent not in self._parents:
                    self._before[row.uuid] = last.get(row.side)
                    if row.parent is None and row.is_start:
                        roots.add(row.uuid)
                self._parents[row.uuid] = row.parent
                last[row.side] = row.uuid
            if self._slim:
                if weight := _weight(row.kind, keys):
                    heavy.append((offset, weight))
                if _may_go(row.kind, keys):
                    candidates.append((-1 if row.kind in _BULK else offset, row.uuid))
        room = NEWEST
        for offset, weight in reversed(heavy):
            room -= weight
            if room < 0:
                self._old_until = offset + 1
                break
        self._left_out = {name for offset, name in candidates if offset < self._old_until}
        self._mend(roots)
        name = last.get("")
        while name is not None:
            self._trunk.add(name)
            name = self._parents[name]

    def _mend(self, roots: set[str]) -> None:
        """Give every record a parent that exists, and end circles."""
        forward: set[str] = set()
        for name, before in self._before.items():
            parent = self._parents[name]
            if parent is None:
                if self._join and name not in roots and before is not None:
                    self._parents[name] = before
                    self._counts["joined"] += 1
            elif parent not in self._parents:
                self._link_back([name])
            else:
                forward.add(name)  # results may be before their calls
        # A circle has at least one parent that is further down; the record before may lead into another circle.
        for _ in range(3):
            circles = self._circles()
            if not circles:
                break
            self._link_back(forward & circles)
            forward -= circles
        else:
            self._link_back(forward)
        self._bypass()

    def _link_back(self, names: Iterable[str]) -> None:
        for name in names:
            self._parents[name] = self._before[name]
            self._counts["relinked"] += 1

    def _circles(self) -> set[str]:
        """All records that are in a circle of parents."""
        done: set[str] = set()
        found: set[str] = set()
        for start in self._before:  # every circle has one of these
            path: dict[str, None] = {}
            name: str | None = start
            while name is not None and name not in done and name not in path:
                path[name] = None
                name = self._parents[name]
            if name is not None and name in path:
                ordered = list(path)
                found.update(ordered[ordered.index(name) :])
            done.update(path)
        return found

    def _bypass(self) -> None:
        """Let the children of what is left out hang on its parents; what has none stays."""
        self._left_out = {name for name in self._left_out if self._parents[name] is not None}
        for name in self._left_out:
            path = []
            parent: str | None = name
            while parent is not None and parent in self._left_out:
                path.append(parent)
                parent = self._parents[parent]
            for other in path:
                self._parents[other] = parent

    def _kept(self, name: str | None) -> str | None:
        """A record, or the nearest one above it that is in the copy."""
        return self._parents[name] if name is not None and name in self._left_out else name

    # -- the second reading: the copy

    def write(self) -> Iterator[bytes]:
        self._counts.update(dict.fromkeys(_COUNTED, 0))
        self._places.clear()
        summary = Summary(self._old)
        moment, is_begun = "", False
        for offset, keys in self._records():
            row = self._row(offset, keys)
            if row is not None:
                moment = self._timed(keys, moment)
            if not (self._in_conversation(keys, row, offset) if row is not None else self._beside(keys)):
                self._count("left_out")
                continue
            if "sessionId" in keys:
                keys["sessionId"] = _raw(self._new)
            lines = [_encode(keys) + b"\n"]
            if row is not None and not row.side and "message" in keys:
                # Results of parallel calls are beside the trunk, and the client sends them all the same.
                is_on_trunk = row.uuid in self._trunk
                if row.uuid == self._compacted_at and not is_begun:
                    is_begun = True
                    lines = self._compaction(keys, row, summary)
                elif summary.take(row.kind, keys, offset, is_listed=is_on_trunk) and is_on_trunk:
                    self._places.append((row.uuid, self._counts["context"]))
                self._count("context", _content_size(keys["message"]))
            for line in lines:
                self._count("lines")
                self._count("bytes", len(line))
                yield line

    def _count(self, name: str, by: int = 1) -> None:
        self._counts[name] += by

    def _timed(self, keys: Keys, moment: str) -> str:
        """Give a record a valid time, that of the one before; returns it."""
        stated = _text(keys, "timestamp")
        if _is_time(stated):
            return stated
        keys["timestamp"] = _raw(moment or "1970-01-01T00:00:00.000Z")
        self._count("dated")
        return moment

    def _in_conversation(self, keys: Keys, row: _Row, offset: int) -> bool:
        """Change a record of a chain; False if it is left out."""
        if row.uuid in self._left_out:
            return False
        if not _text(keys, "uuid"):
            keys["uuid"] = _raw(row.uuid)
        parent = self._kept(self._parents[row.uuid])
        if parent is None or parent != row.parent:  # no parent may be anything but a string
            keys["parentUuid"] = _raw(parent)
        for field in ("logicalParentUuid", "compactMetadata"):
            if self._left_out and field in keys:
                text = bytes(keys[field]).decode()
                keys[field] = Raw(_UUID.sub(lambda found: self._kept(found[0]) or found[0], text).encode())
        if row.kind == "system" and row.is_start and row.uuid in self._trunk:
            self._counts["context"] = 0
            self._places.clear()
        if row.kind == "assistant" and "requestSessionId" not in keys:
            keys["requestSessionId"] = _raw(self._old)  # as in the client's own copies: who paid
        if self._slim and row.kind == "user" and offset < self._old_until:
            self._shorten(keys, offset)
        return True

    def compact(self) -> bool:
        """Put old messages behind a compaction if there are too many; whether there are."""
        most = self._counts["context"] - CONTEXT
        self._compacted_at = next((name for name, before in self._places if before >= most > 0), "")
        return bool(self._compacted_at)

    def _compaction(self, keys: Keys, row: _Row, summary: Summary) -> list[bytes]:
        """A compaction as the client writes it, and the record behind it."""
        common = {name: keys[name] for name in _COMMON if name in keys}
        boundary, told = (str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._new}:{row.uuid}:{n}")) for n in (1, 2))
        parent, before = self._kept(self._parents[row.uuid]), self._counts["context"]
        lines = compaction_records(common, boundary, told, parent, before // 3, summary.text())
        self._counts.update(compacted=before, context=len(summary.text().encode()))
        keys["parentUuid"] = _raw(told)
        return [_encode(record) + b"\n" for record in (*lines, keys)]

    def _beside(self, keys: Keys) -> bool:
        """Change a record beside the conversation; False if it is left out."""
        kind = _text(keys, "type")
        if self._slim and kind in _BULK:
            return False
        if self._slim and kind == "queue-operation" and len(bytes(keys.get("content", b""))) > _SMALL:
            return False
        leaf = _text(keys, "leafUuid")
        if kind == "last-prompt" and leaf and leaf != _NO_LEAF:
            if leaf not in self._parents:
                self._count("leaves")
                return False
            if (kept := self._kept(leaf)) != leaf:
                keys["leafUuid"] = _raw(kept or _NO_LEAF)
        return True

    def _shorten(self, keys: Keys, offset: int) -> None:
        """Replace the results and pictures of an old record."""
        place = f"hansard show {self._old[:8]} --at {offset}"
        try:
            message = _keys(keys["message"])
            blocks = _parts(message["content"])
        except (KeyError, *REFUSED):
            return
        fresh = [self._block(block, place) for block in blocks]
        if all(new is old for new, old in zip(fresh, blocks, strict=True)):
            return
        message["content"] = Raw(_encode(fresh))
        keys["message"] = Raw(_encode(message))
        keys.pop("toolUseResult", None)  # the same again, for the client's screen

    def _block(self, block: Raw, place: str) -> Raw:
        if len(bytes(block)) <= _SMALL:
            return block
        try:
            keys = _keys(block)
        except REFUSED:
            return block
        kind = _text(keys, "type")
        if kind == "tool_result":
            self._count("results")
            if b'"base64"' in bytes(block):
                self._count("pictures")
            text = _result_text(keys.get("content"))
            size = len(bytes(keys.get("content", b"")))
            keys["content"] = _raw(f"{text[:_BEGINNING]}\n[{size:,} bytes left out: {place}]")
            return Raw(_encode(keys))
        if kind in ("image", "document"):
            self._count("pictures")
            return Raw(_encode({"type": "text", "text": f"[{kind} of {len(bytes(block)):,} bytes left out: {place}]"}))
        return block

    def facts(self) -> SessionCopy:
        counts = self._counts
        return SessionCopy(
            session_id=self._new,
            copied_from=self._old,
            bytes_before=counts["bytes_before"],
            bytes=counts["bytes"],
            records=counts["lines"],
            results=counts["results"],
            pictures=counts["pictures"],
            left_out=counts["left_out"] - counts["leaves"],
            unreadable=counts["unreadable"],
            split=counts["split"],
            relinked=counts["relinked"],
            joined=counts["joined"],
            dated=counts["dated"],
            leaves=counts["leaves"],
            compacted=counts["compacted"],
            context_bytes=counts["context"],
        )


def _with_rest(lines: Lines) -> Iterator[tuple[int, bytes]]:
    """All lines, the unfinished one at the end too."""
    yield from lines
    if length_of(lines.rest):
        yield lines.offset, lines.rest


def _objects(line: bytes, offset: int) -> Iterator[tuple[int, Keys | None]]:
    """The records of a line with their offsets, None for each stretch that cannot be read."""
    if is_ordinary(line) or fit(line)[0]:
        try:
            _any(line)  # `Raw` is not checked otherwise
            yield offset, _keys(line)
        except REFUSED:
            pass
        else:
            return
    for item in items(line, offset):
        if isinstance(item, Issue):
            if item.reason in ("not_json", "too_deep", "too_long", "too_many_values", "not_an_object", "nul_bytes"):
                yield item.offset, None
            continue
        start = item.offset - offset
        found = strict_object(line[start : start + item.length])
        if found:
            yield item.offset, _keys(found)


def _raw(value: str | None) -> Raw:
    return Raw(_encode(value))


def _text(keys: Keys, name: str) -> str:
    """A string of a record; empty if it is something else."""
    raw = bytes(keys.get(name, b""))
    if not raw.startswith(b'"'):
        return ""
    value = _any(raw)
    return value if isinstance(value, str) else ""


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return text[10:11] == "T"  # JavaScript reads fewer forms


def _weight(kind: str, keys: Keys) -> int:
    """Bytes of what a slim copy replaces once it is old."""
    if kind == "attachment":
        return len(bytes(keys.get("attachment", b""))) + len(bytes(keys.get("rendered", b"")))
    if kind != "user":
        return 0
    raw = bytes(keys.get("message", b""))
    return len(raw) if b'"tool_result"' in raw or b'"base64"' in raw else 0


def _content_size(message: Raw) -> int:
    try:
        return len(bytes(_keys(message)["content"]))
    except (KeyError, *REFUSED):
        return 0


def _may_go(kind: str, keys: Keys) -> bool:
    """Whether a record of a chain is left out of a slim copy if it is old; progress at any age."""
    if kind in _BULK:
        return True
    if kind != "attachment" or _weight(kind, keys) <= _SMALL:
        return False
    try:
        return _text(_keys(keys["attachment"]), "type") not in _PEOPLES
    except (KeyError, *REFUSED):
        return False


def _result_text(content: Raw | None) -> str:
    """The beginning of a result's text."""
    value: Any = _any(content) if content is not None else ""
    if isinstance(value, list):
        value = next((block.get("text") for block in value if isinstance(block, dict) and block.get("text")), "")
    return value if isinstance(value, str) else ""
