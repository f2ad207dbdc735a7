"""The texts of opened projects as they are pushed: what the local full text has of them, redacted, with their words.

A page has the texts whose lines begin in one mebibyte of a transcript; a file beside the transcripts is a page of its own. The digest of a page is
made from what the index says about its texts, because lines never change: they are read only if it differs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients import client_of
from hansard.index.schema import SNAPSHOT_TEXT, TEXT_BITS, TEXT_MASK
from hansard.index.text_tags import marks
from hansard.query.search.blocks import NOT_PRINTED, TextBlock, Texts, describe, name_tools
from hansard.sql.local_rows import PAGE_BITS, Page, PageKey, storable
from hansard.sql.tables import Pushed
from hansard.sql.view import View, columns_of
from hansard.storage import OFFSET_BITS
from hansard.team.words import joined_names, parts, tokens_of

if TYPE_CHECKING:
    from hansard.clients.texts import Text
    from hansard.model.gate import Redact
    from hansard.query.reader import Reader
    from hansard.record.store import Record

TEXTS = Pushed(
    View(
        "texts",
        "One row per text of an opened project, or per part of a long one.",
        columns_of(
            ("session_id", "text", "", "the session"),
            ("agent_id", "text", "", "the subagent; empty in the session's own thread"),
            ("transcript", "integer", "", "`transcripts.transcript`; 0 for a file beside the transcripts"),
            ("byte_offset", "integer", "", "of the line in it"),
            ("block", "integer", "", "its number in the line"),
            ("part", "integer", "", "0, 1, ... of a text of more than 131,072 characters"),
            ("at", "time", "", ""),
            ("kind", "text", "", "prompt, reply, thinking, call, result, title, command, note, reminder"),
            ("tool", "text", "", "of calls and results"),
            ("is_error", "boolean", "", ""),
            ("is_aside", "boolean", "", "it belongs to a subagent"),
            ("is_current", "boolean", "", "false: of a former generation of its file"),
            ("is_copy", "boolean", "", "its transcript copied the line from another session"),
            ("uuid", "text", "", "of its message"),
            ("tool_use_id", "text", "", "of the call that it belongs to"),
            ("path", "text", "", "of a file beside the transcripts"),
            ("length", "integer", "", "in words"),
            ("text", "text", "", ""),
            ("marks", "text", "", "words that no text has: its kind, its tool, names written as one word"),
            ("words", "text", "", "its words in order, each between spaces"),
        ),
        "",
    ),
    ("machine", "transcript", "byte_offset", "block", "part"),
    by_place=True,
    indexes=("uuid", "session_id"),
)
"""Pushed of opened projects only."""
ANY, PRINTED = "any", "printed"
"""Marks of every text, and of what a command that somebody typed wrote."""
_AT_ONCE = 5000  # texts that are described together
_IDS = "SELECT id FROM full.places WHERE doc BETWEEN ? AND ? ORDER BY doc"
_STATES = (
    "SELECT t.session_id, c.transcript, c.indexed, c.size, c.tail FROM full.cursors c JOIN transcripts t ON t.id = c.transcript"
    " UNION ALL SELECT f.session_id, f.id, 0, 0, 0 FROM side_files f CROSS JOIN full.work_docsize d ON d.id = f.id + "
    f"{SNAPSHOT_TEXT} ORDER BY 1, 2"
)
_FILES = (
    "SELECT id FROM side_files WHERE session_id = ? AND EXISTS"
    f" (SELECT 1 FROM full.work_docsize d WHERE d.id = side_files.id + {SNAPSHOT_TEXT}) ORDER BY id"
)
_CALLS = (
    "SELECT b.id, b.tool_use_id FROM json_each(?) v JOIN blocks b ON b.id = v.value WHERE b.tool_use_id IS NOT NULL"
)
_NOT_PRINTED = f"SELECT place.id FROM (SELECT value AS id FROM json_each(?)) AS place WHERE {NOT_PRINTED.sql}"
_encode = msgspec.msgpack.Encoder().encode
_Row = list[Any]


class LocalTexts:
    """Reads the texts of this machine."""

    def __init__(self, reader: Reader, record: Callable[[], Record], redact: Redact | None) -> None:
        self._reader = reader
        self._record = record
        self._redact: Callable[[str], str] = redact or str
        self._version = getattr(redact, "version", str(redact is not None))

    def states(self) -> dict[str, bytes]:
        """For each session what changes when more of its texts are indexed, or they are redacted in another way."""
        if not self._reader.has_text:
            return {}
        found: dict[str, Any] = {}
        for session_id, *rest in self._reader.rows(_STATES):
            found.setdefault(session_id, hashlib.blake2b(self._version.encode(), digest_size=8)).update(_encode(rest))
        return {session_id: state.digest() for session_id, state in found.items()}

    def pages(self, session_ids: Sequence[str], known: Mapping[PageKey, bytes]) -> Generator[Page]:
        """The pages of some sessions; without rows where the digest is the known one."""
        if not session_ids or not self._reader.has_text:
            return
        for session_id in session_ids:
            for id_, size in list(
                self._reader.rows(
                    "SELECT id, size FROM transcripts WHERE session_id = ? AND kind <> 'history' ORDER BY id",
                    (session_id,),
                )
            ):
                yield from self._of_transcript(session_id, id_, size, known)
            files = [SNAPSHOT_TEXT + row[0] for row in self._reader.rows(_FILES, (session_id,))]
            for block in describe(self._reader, files).values():
                yield self._page(self._key(session_id, block), [block], 0, known)

    def _key(self, session_id: str, block: TextBlock) -> PageKey:
        return PageKey(session_id, block.transcript, _offset(block) >> PAGE_BITS)

    def _of_transcript(self, session_id: str, id_: int, size: int, known: Mapping[PageKey, bytes]) -> Iterator[Page]:
        first = id_ << TEXT_BITS
        waiting: list[TextBlock] = []
        ids = [row[0] for row in self._reader.rows(_IDS, (first, first | TEXT_MASK))]
        for start in range(0, len(ids), _AT_ONCE):
            found = describe(self._reader, ids[start : start + _AT_ONCE])
            # A file may have titles of other sessions, whose projects need not be opened.
            waiting += [block for _, block in sorted(found.items()) if block.session_id == session_id]
            is_last = start + _AT_ONCE >= len(ids)
            while waiting:
                key = self._key(session_id, waiting[0])
                if not is_last and self._key(session_id, waiting[-1]) == key:
                    break  # more of this page may come
                here = [block for block in waiting if self._key(session_id, block) == key]
                waiting = waiting[len(here) :]
                yield self._page(key, here, size, known)

    def _page(self, key: PageKey, blocks: list[TextBlock], size: int, known: Mapping[PageKey, bytes]) -> Page:
        name_tools(self._reader, blocks)
        last = blocks[-1]
        # Only the last line of a transcript may be unfinished, and then grow.
        grows = size if last.length is None or last.offset + last.length >= size else 0
        digested = _encode((self._version, grows, [msgspec.structs.astuple(block) for block in blocks]))
        digest = hashlib.blake2b(digested, digest_size=16).digest()
        rows = [] if known.get(key) == digest else list(self._rows(blocks))
        return Page(key, {TEXTS.name: rows}, digest)

    def _rows(self, blocks: Sequence[TextBlock]) -> Iterator[_Row]:
        ids = json.dumps([block.id for block in blocks])
        calls = dict(self._reader.rows(_CALLS, (ids,)))
        unprinted = {row[0] for row in self._reader.rows(_NOT_PRINTED, (ids,))}
        for block, text, is_aside in self._texts(blocks):
            tool = storable(self._redact(block.tool or text.tool))
            shown = storable(self._redact(text.text))
            said = [*marks(text._replace(tool=tool), is_aside=is_aside).split(), ANY]
            said += [PRINTED] * (block.id not in unprinted)
            for number, part in enumerate(parts(shown)):
                words = tokens_of(part)
                yield [
                    block.session_id,
                    storable(block.agent_id),
                    block.transcript,
                    _offset(block),
                    block.number,
                    number,
                    block.at,
                    block.kind,
                    tool or None,
                    block.is_error,
                    block.is_aside,
                    block.is_current,
                    block.is_copy,
                    None if block.uuid is None else storable(block.uuid),
                    None if (call := calls.get(block.id)) is None else storable(call),
                    None if block.transcript else storable(self._redact(block.path)),
                    len(words),
                    part,
                    " ".join([f"={mark}" for mark in said] + [f"~{joined}" for joined in joined_names(part)]),
                    f" {' '.join(words)} ",
                ]

    def _texts(self, blocks: Sequence[TextBlock]) -> Iterator[tuple[TextBlock, Text, bool]]:
        """The blocks with their texts, and whether each belongs to a subagent as the full text sees it."""
        from hansard.clients.texts import Text

        alone = Texts(self._reader, self._record())
        for transcript, group in groupby(blocks, lambda block: block.transcript):
            here = list(group)
            found = self._of_lines(here) if transcript else {}
            for block in here:
                text, is_aside = found.get(block.id, (None, block.is_aside))
                if text is None:
                    text = Text(block.number, block.kind, alone.of(block), block.tool, block.is_error)
                yield block, text, is_aside

    def _of_lines(self, blocks: Sequence[TextBlock]) -> dict[int, tuple[Text, bool]]:
        """The texts of lines of one transcript, which are read in one go."""
        wanted = {block.offset: block for block in blocks if block.length is not None}
        if not wanted:
            return {}
        client = client_of(blocks[0].client)
        start, last = min(wanted), wanted[max(wanted)]
        found: dict[int, tuple[Text, bool]] = {}
        base = last.transcript << OFFSET_BITS
        pieces = self._record().read(last.transcript, start, last.offset + (last.length or 0) + 1)
        for offset, line in client.lines(pieces, start):
            block = wanted.get(offset)
            if block is None:
                continue
            for record in client.texts(line, offset, is_aside=block.log_kind == "agent"):
                for text in record.texts:
                    found[base + record.offset + text.number] = text, record.is_aside
        return found


def _offset(block: TextBlock) -> int:
    """Where its page says that it is: files have a place of their own."""
    return block.offset if block.transcript else (block.id - SNAPSHOT_TEXT) << PAGE_BITS


def characters(page: Page) -> int:
    """How long the texts of a page are."""
    place = TEXTS.columns.index("text")
    return sum(len(row[place]) for row in page.rows[TEXTS.name])
