"""Answer a question: read the candidates, join what was said around them, and choose the best passages."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients import client_of
from hansard.errors import UsageError
from hansard.index.places import first_doc
from hansard.index.schema import TEXT_BITS, TEXT_MASK
from hansard.model.search import RecalledPassage, RecalledSession, Recollection
from hansard.model.time import from_milliseconds, to_milliseconds
from hansard.query.compile import ROLES
from hansard.query.language import And, InSession, Kind, Node, Not, Phrase
from hansard.query.language.nodes import several
from hansard.query.language.options import make_query
from hansard.query.recall.candidates import SEEDS, find_candidates
from hansard.query.recall.passages import (
    Piece,
    Window,
    cut,
    is_repeated,
    make_windows,
    most_for,
    prior,
    score,
    words_in,
)
from hansard.query.recall.question import Asked, Finder, asked_words, is_content, words_of
from hansard.query.search.blocks import TextBlock, Texts, command_outputs, describe, name_tools
from hansard.query.search.candidates import TALK, WORK, block_ids
from hansard.query.search.candidates import Finder as Matches
from hansard.query.search.pages import distinct
from hansard.query.search.plan import ANY_KIND, make_plan
from hansard.query.search.vocabulary import IndexedWords

if TYPE_CHECKING:
    from hansard.model.requests import RecallRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_LEFT_OUT = 8
_LAST_TURNS = 3
_OUTCOMES = 3  # of the first sessions, since each must be read
_LIKE_WORDS, _LIKE_BLOCKS = 8, 20
OUTCOME = 200
"""Characters of an outcome at most."""

_ANY_WORD = Phrase("word", prefix=False)  # each word of the question takes its place


class _Passage(Struct):
    """A passage and its score."""

    window: Window
    block: TextBlock  # the one with the rarest words
    words: frozenset[str]
    counts: dict[int, int]
    score: float

    @property
    def text(self) -> str:
        return "\n".join(text for _, _, text in self.window)


class Recall:
    """One question to a store."""

    def __init__(self, reader: Reader, record: Record | None, request: RecallRequest) -> None:
        self._reader = reader
        self._request = request
        self._texts = Texts(reader, record) if record is not None else None
        self._shown: dict[int, str] = {}
        self._now = to_milliseconds(request.now or datetime.now(UTC))
        self._asked: list[Asked] = []
        self._finder = Finder(())
        self._unknown = 0.0
        self._known: dict[tuple[int, int], tuple[list[str], dict[int, int]]] = {}

    def answer(self) -> Recollection:
        """The best passages by session."""
        began = time.perf_counter()
        vocabulary = IndexedWords(self._reader) if self._reader.has_text else None
        matcher = self._matches(vocabulary) if vocabulary is not None else None
        own = 0
        if vocabulary is not None and matcher is not None:
            own = len(words_of(self._request.question))
            self._asked = asked_words(self._request.question + self._like(matcher), vocabulary, self._request.also)
        self._finder = Finder(self._asked)
        chosen: list[_Passage] = []
        left_out: list[str] = []
        matches: Counter[str] = Counter()
        is_cut = False
        if self._asked and matcher is not None:
            found = find_candidates(self._reader, matcher, self._asked)
            self._unknown = found.unknown
            pieces = self._pieces(self._seeds(found.blocks[: SEEDS * 4]))
            chosen = self._choose(pieces)
            seen = {(piece.block.session_id, piece.block.id) for piece in pieces}
            matches.update(name for name, _ in seen)
            is_cut = most_for(found.rest) > (chosen[-1].score if chosen else 0.0)
            names = dict.fromkeys(piece.block.session_id for piece in pieces)
            left_out = [name for name in names if name not in {one.block.session_id for one in chosen}]
        return self._recollection(chosen, left_out, matches, began, own=own, is_cut=is_cut)

    def _like(self, matches: Matches) -> str:
        """The most frequent words of a message that further passages are to resemble; it must be in the scope of the question."""
        if self._request.like is None:
            return ""
        rows = self._reader.rows("SELECT id, length FROM records WHERE uuid = ?", (self._request.like,))
        docs = [
            doc
            for record, length in list(rows)
            for part in (TALK, WORK)
            for doc in matches.having(ANY_KIND, part, _LIKE_BLOCKS, record, record + length)
        ]
        ids = block_ids(self._reader, docs)
        words = Counter(
            word
            for block in distinct(describe(self._reader, [ids[doc] for doc in docs]).values())
            for word in words_in(self._text(block))
            if is_content(word) and len(word) > 2
        )
        if not words:
            raise UsageError("like: no message with this uuid; pass `message` of a passage")
        return " " + " ".join(word for word, _ in words.most_common(_LIKE_WORDS))

    def _matches(self, vocabulary: IndexedWords) -> Matches:
        """Finds blocks in the scope of the question: what was said, thought or called."""
        request = self._request
        nodes: list[Node] = [_ANY_WORD, Not(Kind("result")), Not(Kind("note"))]
        if request.session is not None:
            nodes.append(InSession(request.session))
        scope = make_query(None, request, now=datetime.now(UTC), zone=request.zone)
        nodes += [scope] if scope is not None else []
        return Matches(self._reader, make_plan(self._reader, several(And, nodes), vocabulary))

    def _seeds(self, ids: Sequence[int]) -> list[TextBlock]:
        """The first of these blocks that may be shown: each record once, without the output of commands that a person typed."""
        blocks = describe(self._reader, ids)
        found = list(distinct(blocks[id_] for id_ in ids if id_ in blocks))
        printed = command_outputs(
            self._reader, [block.uuid for block in found if block.kind == "command" and block.uuid]
        )
        found = [block for block in found if block.uuid not in printed and block.session_id != self._request.without]
        return found[:SEEDS]

    def _text(self, block: TextBlock) -> str:
        if block.id not in self._shown:
            text = self._texts.of(block) if self._texts is not None else ""
            self._shown[block.id] = text if self._request.prepare is None else self._request.prepare(text)
        return self._shown[block.id]

    def _pieces(self, blocks: Sequence[TextBlock]) -> list[_Passage]:
        """The passages of blocks and of what was said around them that have words of the question, best first."""
        found = [self._scored(window) for window in make_windows(self._reader, blocks, self._text, self._is_match)]
        return sorted(found, key=lambda piece: (-piece.score, -piece.block.id))

    def _is_match(self, piece: Piece) -> bool:
        return bool(self._counted(*piece)[1])

    def _scored(self, window: Window) -> _Passage:
        """A window with its BM25 score; it is named after the message with the rarest words."""
        words: list[str] = []
        counts: Counter[int] = Counter()
        block, most = window[0][0], 0.0
        for one, number, text in window:
            own, found = self._counted(one, number, text)
            words += own
            counts.update(found)
            worth = sum(self._asked[number].worth for number in found)
            if worth > most:
                block, most = one, worth
        value = score(counts, len(words), self._asked) * prior(block.kind, block.at, self._now)
        return _Passage(window, block, frozenset(words), counts, value)

    def _counted(self, block: TextBlock, number: int, text: str) -> tuple[list[str], dict[int, int]]:
        """The words of a piece, and those of the question among them; a piece is in several windows."""
        key = block.id, number
        if key not in self._known:
            words = words_in(text)
            self._known[key] = words, self._finder.count(words)
        return self._known[key]

    def _choose(self, pieces: Sequence[_Passage]) -> list[_Passage]:
        """The best pieces of not too many sessions; what is shown already is left out, for example a plan that was pasted again."""
        names: set[str] = set()
        shown: set[tuple[int, int]] = set()
        chosen: list[_Passage] = []
        for piece in pieces:
            if len(chosen) == self._request.passages:
                break
            name = piece.block.session_id
            if name not in names and len(names) == self._request.sessions:
                continue
            keys = {(block.id, number) for block, number, _ in piece.window}
            if len(keys & shown) * 2 > len(keys) or any(is_repeated(piece.words, one.words) for one in chosen):
                continue
            names.add(name)
            shown |= keys
            chosen.append(piece)
        return chosen

    def _recollection(
        self,
        chosen: list[_Passage],
        left_out: list[str],
        matches: Counter[str],
        began: float,
        *,
        own: int,
        is_cut: bool,
    ) -> Recollection:
        """The answer; rarities of words count only as far as shown text has them, since others may be secrets."""
        seen = {number for piece in chosen for number in piece.counts}
        worths = [one.worth if number in seen else self._unknown for number, one in enumerate(self._asked)]
        asked = self._asked[:own]  # without those of a message to resemble, and those that were guessed
        total = sum(worth for one, worth in zip(self._asked, worths, strict=True) if one.share == 1.0) or 1.0

        def found(piece: _Passage) -> float:
            return min(1.0, round(sum(worths[number] for number in piece.counts) / total, 2))

        name_tools(self._reader, [piece.block for piece in chosen])
        names = dict.fromkeys(piece.block.session_id for piece in chosen)
        facts = self._facts([*names, *left_out[:_LEFT_OUT]])
        sessions: list[RecalledSession] = []
        for name in names:
            pieces = [piece for piece in chosen if piece.block.session_id == name]
            project, title, started, ended, files, errors, transcript = facts.get(
                name, ("", "", None, None, 0, 0, None)
            )
            sessions.append(
                RecalledSession(
                    name,
                    project,
                    title,
                    from_milliseconds(started),
                    from_milliseconds(ended),
                    files,
                    errors,
                    tuple(self._passage(piece, found(piece)) for piece in pieces),
                    matches[name],
                    self._outcome(transcript, pieces[0].block.id)
                    if transcript is not None and len(sessions) < _OUTCOMES
                    else "",
                )
            )
        return Recollection(
            words=tuple(dict.fromkeys(one.typed for one in asked)),
            missing=tuple(dict.fromkeys(one.typed for number, one in enumerate(asked) if number not in seen)),
            sessions=tuple(sessions),
            left_out=tuple((name, facts[name][1]) for name in left_out[:_LEFT_OUT] if name in facts),
            is_cut=is_cut,
            confidence=max(map(found, chosen), default=0.0),
            took_ms=round((time.perf_counter() - began) * 1000, 2),
        )

    def _passage(self, piece: _Passage, found: float) -> RecalledPassage:
        block = piece.block
        client = client_of(block.client) if block.client else None
        kinds = [block.kind, *(one.kind for one, _, _ in piece.window)]
        return RecalledPassage(
            session_id=block.session_id,
            uuid=block.uuid,
            transcript=block.path,
            offset=block.offset,
            kind=block.kind,
            roles=tuple(dict.fromkeys(ROLES.get(kind, "system") for kind in kinds)),
            tool=block.tool or None,
            tool_kind=client.tool_kind(block.tool) if client is not None and block.tool else "other",
            agent_id=block.agent_id or None,
            timestamp=from_milliseconds(block.at),
            text=piece.text,
            score=round(piece.score, 4),
            found=found,
        )

    def _facts(self, names: Sequence[str]) -> dict[str, Any]:
        return {
            row[0]: row[1:]
            for row in self._reader.rows(
                "SELECT s.session_id, s.project, s.title, s.started_at, s.ended_at, s.files_changed, s.tool_errors + s.api_errors,"
                " s.transcript FROM json_each(?) v CROSS JOIN sessions s ON s.session_id = v.value",
                (json.dumps(names),),
            )
        }

    def _outcome(self, transcript: int, passage: int) -> str:
        """What a session came to: of the replies that end the passage's turn and the last turns, the piece that answers best.

        Without a word of the question in them it is the beginning of the very last.
        """
        blocks = describe(self._reader, ends_of_turns(self._reader, transcript, passage, _LAST_TURNS))
        best, found = 0.0, ""
        for block in sorted(blocks.values(), key=lambda block: -block.id):
            for piece in cut(self._text(block), OUTCOME):
                words = words_in(piece)
                value = score(self._finder.count(words), len(words), self._asked)
                if value > best or not found:
                    best, found = value, piece
        return found


def ends_of_turns(reader: Reader, transcript: int, block: int, most: int) -> list[int]:
    """The last reply of the turn that a block is in, and of the last turns of its transcript, at most `most`."""
    low, high = transcript << TEXT_BITS, transcript << TEXT_BITS | TEXT_MASK
    said = "SELECT rowid FROM full.talk WHERE talk MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid"
    prompts = reader.rows(f"{said} DESC LIMIT ?", ("mark : kindprompt", low, high, most))
    following = reader.rows(
        f"{said} LIMIT 1", ("mark : kindprompt", first_doc(reader.rows, block + 1, "full.places"), high)
    )
    ends = [high, *(row[0] for row in prompts), *(row[0] for row in following)]
    found = (next(reader.rows(f"{said} DESC LIMIT 1", ("mark : kindreply", low, end)), None) for end in ends)
    return sorted(block_ids(reader, {row[0] for row in found if row is not None}).values())
