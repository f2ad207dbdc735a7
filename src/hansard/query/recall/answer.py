"""Answer a question: read the candidates, join what was said around them, and choose the best passages."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients import client_of
from hansard.errors import UsageError
from hansard.model.recall import RecalledPassage, RecalledSession, Recollection
from hansard.model.time import from_milliseconds, to_milliseconds
from hansard.query.compile import ROLES
from hansard.query.language import And, InSession, Kind, Node, Not, Phrase
from hansard.query.language.nodes import several
from hansard.query.language.options import make_query
from hansard.query.recall.candidates import SEEDS, find_candidates
from hansard.query.recall.passages import SIZE, cut, prior, score, words_in
from hansard.query.recall.question import Asked, Finder, asked_words, is_content, words_of
from hansard.query.search.blocks import TextBlock, Texts, command_outputs, describe, name_tools
from hansard.query.search.candidates import TALK, WORK
from hansard.query.search.candidates import Finder as Matches
from hansard.query.search.pages import distinct
from hansard.query.search.plan import ANY_KIND, make_plan
from hansard.query.search.vocabulary import IndexedWords
from hansard.storage import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.model.requests import RecallRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_SAID = frozenset({"prompt", "reply"})
_JOINED = 16  # of the best pieces that get what was said around them
_AROUND = 3  # messages on each side at most
_SHARE = 0.9  # each further passage of a session counts less
_PER_SESSION = 6
_LEFT_OUT = 8
_LAST_REPLIES = 3
_OUTCOMES = 4  # of the first sessions, since each must be read
_LIKE_WORDS, _LIKE_BLOCKS = 8, 20
_ANY_WORD = Phrase("word", prefix=False)  # each word of the question takes its place


class _Piece(Struct):
    """A piece of a block, or of several that follow each other, and its score."""

    block: TextBlock
    text: str
    counts: dict[int, int]
    score: float
    number: int = 0  # of the piece in its block
    of: int = 1
    others: tuple[TextBlock, ...] = ()  # whole messages around it

    @property
    def keys(self) -> set[tuple[int, int]]:
        return {(self.block.id, self.number), *((block.id, 0) for block in self.others)}


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

    def answer(self) -> Recollection:
        """The best passages by session."""
        began = time.perf_counter()
        vocabulary = IndexedWords(self._reader) if self._reader.has_text else None
        matcher = self._matches(vocabulary) if vocabulary is not None else None
        own = 0
        if vocabulary is not None and matcher is not None:
            own = len(words_of(self._request.question))
            self._asked = asked_words(self._request.question + self._like(matcher), vocabulary)
        self._finder = Finder(self._asked)
        chosen: list[_Piece] = []
        left_out: list[str] = []
        matches: Counter[str] = Counter()
        is_cut = False
        if self._asked and matcher is not None:
            found = find_candidates(self._reader, matcher, self._asked)
            self._unknown = found.unknown
            pieces = self._joined(self._pieces(self._seeds(found.blocks[: SEEDS * 4])))
            chosen = self._choose(pieces)
            matches.update(piece.block.session_id for piece in pieces)
            is_cut = found.rest > (chosen[-1].score if chosen else 0.0)
            names = dict.fromkeys(piece.block.session_id for piece in pieces)
            left_out = [name for name in names if name not in {one.block.session_id for one in chosen}]
        return self._recollection(chosen, left_out, matches, began, own=own, is_cut=is_cut)

    def _like(self, matches: Matches) -> str:
        """The most frequent words of a message that further passages are to resemble; it must be in the scope of the question."""
        if self._request.like is None:
            return ""
        rows = self._reader.rows("SELECT id, length FROM records WHERE uuid = ?", (self._request.like,))
        ids = [
            id_
            for record, length in list(rows)
            for part in (TALK, WORK)
            for id_ in matches.having(ANY_KIND, part, _LIKE_BLOCKS, record, record + length)
        ]
        words = Counter(
            word
            for block in distinct(describe(self._reader, ids).values())
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

    def _scored(self, block: TextBlock, text: str) -> tuple[dict[int, int], float]:
        words = words_in(text)
        counts = self._finder.count(words)
        weight = prior(block.kind, block.at, self._now, is_aside=block.is_aside)
        return counts, score(counts, len(words), self._asked) * weight if counts else 0.0

    def _pieces(self, blocks: Sequence[TextBlock]) -> list[_Piece]:
        """The pieces of blocks that have words of the question, best first."""
        found: list[_Piece] = []
        for block in sorted(blocks, key=lambda block: -block.id):  # the last line of a chunk makes the others available
            texts = list(cut(self._text(block)))
            for number, text in enumerate(texts):
                counts, value = self._scored(block, text)
                if counts:
                    found.append(_Piece(block, text, counts, value, number, len(texts)))
        return sorted(found, key=lambda piece: (-piece.score, -piece.block.id, piece.number))

    def _joined(self, pieces: list[_Piece]) -> list[_Piece]:
        """The best pieces with the messages around them that fit, scored anew."""
        some = [piece for piece in pieces[:_JOINED] if piece.block.kind in _SAID and not piece.block.is_aside]
        around = self._around({piece.block.id for piece in some if len(piece.text) < SIZE})
        for piece in some:
            self._join(piece, *around.get(piece.block.id, ((), ())))
        return sorted(pieces, key=lambda piece: (-piece.score, -piece.block.id, piece.number))

    def _join(self, piece: _Piece, before: Sequence[TextBlock], after: Sequence[TextBlock]) -> None:
        texts, blocks = [piece.text], []
        room = SIZE - len(piece.text)
        sides = [iter(after if piece.number == piece.of - 1 else ()), iter(before if piece.number == 0 else ())]
        while sides:
            for side in tuple(sides):
                block = next(side, None)
                text = self._text(block).strip() if block is not None else ""
                if block is None or len(text) >= room:
                    sides.remove(side)
                    continue
                room -= len(text) + 1
                blocks.append(block)
                texts.insert(len(texts) if block.id > piece.block.id else 0, text)
        if blocks:
            piece.text, piece.others = "\n".join(texts), tuple(blocks)
            piece.counts, value = self._scored(piece.block, piece.text)
            piece.score = max(piece.score, value)  # what is around it may add to a message, but does not dilute it

    def _around(self, ids: Collection[int]) -> dict[int, tuple[list[TextBlock], list[TextBlock]]]:
        """For each block the messages before it, nearest first, and those after it."""
        near: dict[int, tuple[list[int], list[int]]] = {}
        for id_ in ids:
            low, high = id_ >> OFFSET_BITS << OFFSET_BITS, (id_ >> OFFSET_BITS) + 1 << OFFSET_BITS
            before = self._reader.rows(
                "SELECT id FROM full.talk_docsize WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?",
                (low, id_ - 1, _AROUND),
            )
            after = self._reader.rows(
                "SELECT id FROM full.talk_docsize WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
                (id_ + 1, high - 1, _AROUND),
            )
            near[id_] = [row[0] for row in before], [row[0] for row in after]
        blocks = describe(self._reader, list({id_ for both in near.values() for side in both for id_ in side}))
        said = {id_: block for id_, block in blocks.items() if block.kind in _SAID}
        return {
            id_: ([said[one] for one in before if one in said], [said[one] for one in after if one in said])
            for id_, (before, after) in near.items()
        }

    def _choose(self, pieces: Sequence[_Piece]) -> list[_Piece]:
        """The best pieces that do not overlap; those of a session that has some already count less."""
        request = self._request
        waiting = [(-piece.score, number, 0) for number, piece in enumerate(pieces)]
        heapify(waiting)
        chosen: list[_Piece] = []
        used: set[tuple[int, int]] = set()
        taken: Counter[str] = Counter()
        while waiting and len(chosen) < request.passages:
            _, number, known = heappop(waiting)
            piece = pieces[number]
            already = taken[piece.block.session_id]
            if len(piece.keys & used) * 2 > len(piece.keys) or (piece.block.id, piece.number) in used:
                continue
            if already >= _PER_SESSION or (not already and len(taken) >= request.sessions):
                continue
            if already > known:
                heappush(waiting, (-piece.score * _SHARE**already, number, already))
                continue
            piece.score *= _SHARE**already
            taken[piece.block.session_id] += 1
            used |= piece.keys
            chosen.append(piece)
        return chosen

    def _recollection(
        self, chosen: list[_Piece], left_out: list[str], matches: Counter[str], began: float, *, own: int, is_cut: bool
    ) -> Recollection:
        """The answer; rarities of words count only as far as shown text has them, since others may be secrets."""
        seen = {number for piece in chosen for number in piece.counts}
        worths = [one.worth if number in seen else self._unknown for number, one in enumerate(self._asked)]
        total = sum(worths) or 1.0
        asked = self._asked[:own]  # without those of a message to resemble

        def found(piece: _Piece) -> float:
            return round(sum(worths[number] for number in piece.counts) / total, 2)

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
                    self._outcome(transcript) if transcript is not None and len(sessions) < _OUTCOMES else "",
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

    def _passage(self, piece: _Piece, found: float) -> RecalledPassage:
        block = piece.block
        client = client_of(block.client) if block.client else None
        kinds = [block.kind, *(other.kind for other in piece.others)]
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

    def _outcome(self, transcript: int) -> str:
        """The latest of a session's last replies that has words of the question, or the very last."""
        low, high = transcript << OFFSET_BITS, (transcript + 1 << OFFSET_BITS) - 1
        rows = self._reader.rows(
            "SELECT rowid FROM full.talk WHERE talk MATCH 'mark : kindreply' AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?",
            (low, high, _LAST_REPLIES),
        )
        blocks = describe(self._reader, [row[0] for row in rows])
        pieces = self._pieces([block for block in blocks.values() if block.kind == "reply"])
        if pieces:
            return max(pieces, key=lambda piece: (piece.block.id, piece.score)).text
        last = max(blocks, default=None)
        return next(cut(self._text(blocks[last])), "") if last is not None else ""
