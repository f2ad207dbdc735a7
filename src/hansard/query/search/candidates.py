"""Run a plan: which blocks match, newest first, and how well their words fit.

Every match of the whole history is weighed by an FTS5 function, up to a budget of work: a word that occurs in every other
block has too many matches to weigh in milliseconds. Then the newest come first, and those with all words side by side. Ids follow time, so FTS5 yields the
newest first and stops there; nothing is sorted, and memory does not grow with the number of matches. Later pages continue
where the budget ended, so every match is reached, and the answer says that there are more.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from functools import cached_property
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from hansard.index.places import first_doc
from hansard.index.schema import SNAPSHOT_TEXT, TEXT_BITS
from hansard.query.language import And, Kind, Node, Or
from hansard.query.search.plan import ANY_KIND, Leg, Plan, make_plan, values_of
from hansard.query.search.ranking import Weigh, rarity, weigher
from hansard.query.search.vocabulary import IndexedWords
from hansard.storage import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.query.reader import Reader

_SAMPLE = 120
_COMMON = 20_000  # blocks that have a word; in more, no words are looked for side by side
_PROMPT = "(mark : kindprompt)"
_MANY_RANGES = 24
_FIRST_STEP, _AT_ONCE = 64, 10_000
_LAST = (1 << 63) - 1


class Part(NamedTuple):
    """A part of the full text, how many of its blocks are weighed, and how many of these are ranked at once."""

    name: str
    table: str
    weighed: int
    most: int


PARTS = (
    TALK := Part("talk", "talk", 300, 120),
    WORK := Part("work", "work", 200, 80),
    FILES := Part("files", "work", 100, 16),  # overflowed tool results
    TITLES := Part("titles", "titles", 200, 40),
    REMINDERS := Part("reminders", "reminders", 200, 40),  # only if the query names them
)

Stops = dict[str, int | None]
"""For each part, the rowid below which the next page continues; None if nothing is left."""


class Candidates(Struct):
    """Matching blocks with the weight of their words, and where the next ones begin."""

    weights: dict[int, float] = field(default_factory=dict)
    total: int = 0  # blocks that were weighed; `weights` has the best of them, or the next best
    is_last: bool = True  # no more of those weighed are left to rank
    stops: Stops = field(default_factory=dict)

    @property
    def has_more(self) -> bool:
        """Whether there are further matches."""
        return any(stop is not None for stop in self.stops.values())


class Finder:
    """Queries the indexes for the blocks of a plan."""

    def __init__(self, reader: Reader, plan: Plan, *, all_typed: bool = False) -> None:
        """`all_typed`: also lines of history.jsonl whose prompts are in a transcript."""
        self._reader = reader
        self._parts = PARTS if plan.has_reminders else tuple(part for part in PARTS if part is not REMINDERS)
        self._scopes = [_Scope(reader, leg, all_typed=all_typed) for leg in plan.legs]

    @cached_property
    def _blocks(self) -> int:
        return count_blocks(self._reader)

    def candidates(self, stops: Stops | None = None, batch: int = 0) -> Candidates:
        """The best blocks of each part by their words, or those after `batch` times as many; below where earlier pages stopped."""
        found = Candidates()
        chosen: dict[int, float] = {}
        asked = [(scope, self._worths(scope.leg)) for scope in self._scopes]
        for part in self._parts:
            below = _LAST if stops is None else stops.get(part.name)
            found.stops[part.name] = None
            if below is None:
                continue
            weights: dict[int, float] = {}
            reached = 0
            for scope, worths in asked:
                rows = self._rows(scope, part, weigher(scope.leg.terms, worths, (batch + 1) * part.most), below)
                if len(rows) >= part.weighed:
                    reached = max(reached, rows[-1][0])
                for row_id, weight in rows:
                    weights[row_id] = max(weight, weights.get(row_id, 0.0))
            # Where one alternative stopped, the others must not run ahead: the next page continues there for all.
            if reached:
                found.stops[part.name] = reached
                weights = {row_id: weight for row_id, weight in weights.items() if row_id >= reached}
            if stops is not None or reached:
                early = {
                    row_id: weight for scope, worths in asked for row_id, weight in self._early(scope, part, worths)
                }
                if stops is None:
                    weights.update(early)
                else:
                    weights = {row_id: weight for row_id, weight in weights.items() if row_id not in early}
            found.total += len(weights)
            best = sorted(weights, key=lambda row_id: (-weights[row_id], -row_id))
            chosen.update((row_id, weights[row_id]) for row_id in best[batch * part.most : (batch + 1) * part.most])
            found.is_last = found.is_last and len(best) <= (batch + 1) * part.most
        ids = block_ids(self._reader, chosen)
        found.weights.update((ids[row_id], weight) for row_id, weight in chosen.items())
        return found

    def count(self) -> int:
        """The total number of matching blocks."""
        if len(self._scopes) != 1:
            return sum(1 for _ in self.docs())
        queries = (query for part in self._parts for query in self._scopes[0].queries("count(*)", part))
        return sum(self._reader.one(sql, values)[0] for sql, values in queries)

    def ids(self, above: int = 0, below: int = _LAST) -> Iterator[int]:
        """Every matching block once: those in transcripts from the newest id down, then files; or those in a range."""
        return self._in_steps(self.docs(above, below))

    def _in_steps(self, docs: Iterator[int]) -> Iterator[int]:
        """The ids of blocks, looked up for more and more of them at a time."""
        most = _FIRST_STEP
        while some := list(islice(docs, most)):
            ids = block_ids(self._reader, some)
            yield from (ids[doc] for doc in some)
            most = min(2 * most, _AT_ONCE)

    def docs(self, above: int = 0, below: int = _LAST) -> Iterator[int]:
        """The rowids of the same."""
        above, below = self._docs(above, below)
        for parts in ([part for part in self._parts if part is not FILES], [FILES]):
            streams = [self._stream(scope, part, above, below) for scope in self._scopes for part in parts]
            last = None
            for row_id in merge(*streams, reverse=True):
                if row_id != last:
                    yield row_id
                last = row_id

    def having(self, expression: str, part: Part, most: int, above: int = 0, below: int = _LAST) -> list[int]:
        """The rowids of the newest matches in one part, at most `most`, with a full-text expression in place of the plan's only word."""
        found: list[int] = []
        above, below = self._docs(above, below)
        for scope in self._scopes:
            (term,) = scope.leg.terms
            word = f'body : "{" ".join(term.spellings[0])}"'
            match = scope.leg.match.replace(f"({word})", f"({expression})")
            for sql, values in scope.queries("text.rowid AS doc", part, below, above, match):
                ids = f"SELECT json_group_array(doc) FROM ({sql} ORDER BY text.rowid DESC LIMIT ?)"
                found += json.loads(self._reader.one(ids, (*values, most - len(found)))[0])
        return found if len(self._scopes) == 1 else sorted(set(found), reverse=True)

    def apart(self) -> Iterator[int]:
        """Matches whose time may differ from their transcript's: titles of other sessions, and files."""
        for part in (TITLES, FILES):
            for scope in self._scopes:
                yield from self._in_steps(self._stream(scope, part, 0, _LAST))

    def _docs(self, above: int, below: int) -> tuple[int, int]:
        """The rowids of a range of ids."""
        above, below = (first_doc(self._reader.rows, id_, "full.places") for id_ in (above, below))
        return above, below

    def _stream(self, scope: _Scope, part: Part, above: int, below: int) -> Iterator[int]:
        for sql, values in scope.queries("text.rowid", part, below, above):
            for (row_id,) in self._reader.rows(f"{sql} ORDER BY text.rowid DESC", values):
                yield row_id

    def transcripts(self) -> set[int]:
        """The transcripts with any match; for files, their ids in the full text."""
        found: set[int] = set()
        for scope in self._scopes:
            for part in self._parts:
                column = "text.rowid" if part is FILES else f"text.rowid >> {TEXT_BITS}"
                for sql, values in scope.queries(f"DISTINCT {column}", part):
                    found.update(row[0] for row in self._reader.rows(sql, values))
        return found

    def _rows(self, scope: _Scope, part: Part, weigh: Weigh, below: int, match: str = "") -> list[tuple[int, float]]:
        self._reader.teach_text("weigh", weigh)
        found: list[tuple[int, float]] = []
        for sql, values in scope.queries(f"text.rowid, weigh({part.table})", part, below, 0, match):
            if len(found) >= part.weighed:
                break
            limit = part.weighed - len(found)
            found += self._reader.rows(f"{sql} ORDER BY text.rowid DESC LIMIT ?", (*values, limit))
        return found

    def _early(self, scope: _Scope, part: Part, worths: list[float]) -> list[tuple[int, float]]:
        """Matches of the whole history that are on the first pages however old they are: prompts, and words side by side."""
        prompts = self._prompts(scope, part, worths) if part is TALK else []
        return prompts + self._in_a_row(scope, part, worths)

    def _prompts(self, scope: _Scope, part: Part, worths: list[float]) -> list[tuple[int, float]]:
        """The newest matches that a person typed; they are few, and say what a session is about."""
        return self._rows(scope, part, weigher(scope.leg.terms, worths), _LAST, f"({scope.leg.match}) AND {_PROMPT}")

    def _in_a_row(self, scope: _Scope, part: Part, worths: list[float]) -> list[tuple[int, float]]:
        """The newest matches that have the words side by side. For words that are all common this would take too long."""
        terms = scope.leg.terms
        if len(terms) < 2 or any(term.prefix for term in terms) or max(worths) < rarity(_COMMON, self._blocks):
            return []
        words = " ".join(word for term in terms for word in term.spellings[0])
        match = f'({scope.leg.match}) AND (body : "{words}")'
        return self._rows(scope, part, weigher(terms, worths), _LAST, match)

    def _worths(self, leg: Leg) -> list[float]:
        """The weight of each term by its rarity; a single term needs no comparison.

        Uses are counted up to a limit; beyond it, their number is estimated by how far back the newest ones reach.
        """
        if len(leg.terms) < 2:
            return [1.0] * len(leg.terms)
        newest = self._reader.one("SELECT max(id) FROM transcripts")[0] or 1
        found = []
        for term in leg.terms:
            star = " *" if term.prefix else ""
            match = " OR ".join(f'body : "{" ".join(row)}"{star}' for row in term.spellings)
            often = 0.0
            for table in (TALK.table, WORK.table):
                count, oldest = self._reader.one(
                    f"SELECT count(*), min(doc) FROM (SELECT rowid AS doc FROM full.{table}"
                    f" WHERE {table} MATCH ? AND rowid < {SNAPSHOT_TEXT} ORDER BY rowid DESC LIMIT {_SAMPLE})",
                    (match,),
                )
                often += count if count < _SAMPLE else extrapolate(count, oldest >> TEXT_BITS, newest)
            found.append(rarity(often, self._blocks))
        return found


def block_ids(reader: Reader, docs: Collection[int]) -> dict[int, int]:
    """The ids of the blocks whose texts have these rowids."""
    # Without any there may be no full text yet.
    return dict(reader.rows(_BLOCKS, (json.dumps(list(docs)),))) if docs else {}


def count_blocks(reader: Reader) -> int:
    """How many blocks were said or done."""
    reader.teach_text("rows_of", lambda api: api.row_count)
    found = 0
    for table in (TALK.table, WORK.table):
        row = reader.one(f"SELECT rows_of({table}) FROM full.{table} WHERE {table} MATCH ? LIMIT 1", (ANY_KIND,))
        found += row[0] if row is not None else 0
    return max(found, 1)


def extrapolate(count: int, oldest: int, newest: int) -> float:
    """About how many blocks have a word if its newest `count` uses reach back from the newest transcript to this one."""
    return count * newest / max(newest - oldest + 1, 1)


class _Scope:
    """One alternative of a query, and the ranges of rowids in which it may match."""

    def __init__(self, reader: Reader, leg: Leg, *, all_typed: bool) -> None:
        self.leg = leg
        self._conditions: list[str] = [condition.sql for condition in leg.rows]
        self._values: tuple[Any, ...] = values_of(leg.rows)
        self._allowed: str | None = None
        has_files = reader.one(f"SELECT 1 FROM full.work_docsize WHERE id >= {SNAPSHOT_TEXT} LIMIT 1") is not None
        self._files: str | None = "" if has_files else None
        self._file_values: tuple[Any, ...] = ()
        self._typed_values: tuple[Any, ...] = ()
        self.ranges: list[tuple[int, int]] = [(0, SNAPSHOT_TEXT - 1)]
        histories = [row[0] for row in reader.rows("SELECT id FROM transcripts WHERE kind = 'history'")]
        if leg.sessions or leg.transcripts:
            self._limit(reader)
        if histories:
            self._typed(histories, all_typed=all_typed)

    def _limit(self, reader: Reader) -> None:
        """Restrict to matching transcripts."""
        leg = self.leg
        values = values_of(leg.sessions)
        among = _of_sessions(leg, "session_id")
        where = [f"({among} OR kind = 'history')", *(condition.sql for condition in leg.transcripts)]
        ids = [
            row[0]
            for row in reader.rows(
                f"SELECT id FROM transcripts WHERE {' AND '.join(where)} ORDER BY id DESC",
                (*values, *values_of(leg.transcripts)),
            )
        ]
        runs = list(_runs(ids))
        if len(runs) > _MANY_RANGES:
            self._conditions.append(f"text.rowid >> {TEXT_BITS} IN (SELECT value FROM json_each(?))")
            self._allowed = "[" + ",".join(map(str, ids)) + "]"
            runs = [(ids[-1], ids[0])]
        self.ranges = [(low << TEXT_BITS, (high + 1 << TEXT_BITS) - 1) for low, high in runs]
        if leg.only_agents:
            self._files = None
        elif leg.sessions and self._files is not None:
            self._files = f" AND text.rowid - {SNAPSHOT_TEXT} IN (SELECT id FROM side_files WHERE {among})"
            self._file_values = values

    def _typed(self, histories: list[int], *, all_typed: bool) -> None:
        """Count lines of history.jsonl only if no transcript has the prompt itself."""
        lost = (
            "NOT EXISTS (SELECT 1 FROM sessions k WHERE k.session_id = p.session_id AND k.transcript IS NOT NULL)"
            " AND NOT EXISTS (SELECT 1 FROM prompts q WHERE q.ts BETWEEN p.ts - 5000 AND p.ts + 60000"
            " AND q.source <> 'history' AND trim(q.text) = trim(p.text))"
        )
        self._conditions.append(
            f"(text.rowid >> {TEXT_BITS} NOT IN ({', '.join(map(str, histories))}) OR EXISTS (SELECT 1 FROM prompts p"
            f" WHERE p.id = (SELECT id FROM full.places WHERE doc = text.rowid) AND {_of_sessions(self.leg, 'p.session_id')} AND {'1' if all_typed else lost}))"
        )
        self._typed_values = values_of(self.leg.sessions)

    def _of_titles(self, head: str, match: str, below: int, above: int) -> tuple[str, tuple[Any, ...]]:
        """Titles are few: the session of each is looked up."""
        leg = self.leg
        conditions = [condition.sql for condition in leg.rows]
        if leg.sessions:
            conditions.append(_of_sessions(leg, _TITLED))
        if leg.transcripts:
            among = " AND ".join(condition.sql for condition in leg.transcripts)
            conditions.append(f"text.rowid >> {TEXT_BITS} IN (SELECT id FROM transcripts WHERE {among})")
        values = (*values_of(leg.rows), *values_of(leg.sessions), *values_of(leg.transcripts))
        return _placed(head + "".join(f" AND {sql}" for sql in conditions)), (match, above, below - 1, *values)

    def queries(
        self, columns: str, part: Part, below: int = _LAST, above: int = 0, match: str = ""
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """The SQL for one part of the full text, range by range, newest first; `match` replaces the full-text expression."""
        head = (
            f"SELECT {columns} FROM full.{part.table} AS text WHERE {part.table} MATCH ? AND text.rowid BETWEEN ? AND ?"
        )
        match = match or self.leg.match
        if part is FILES:
            if self._files is not None and below > SNAPSHOT_TEXT:
                rows = "".join(f" AND {condition.sql}" for condition in self.leg.rows)
                values = (*values_of(self.leg.rows), *self._file_values)
                yield _placed(f"{head}{rows}{self._files}"), (match, SNAPSHOT_TEXT, below - 1, *values)
            return
        if part is TITLES:
            yield self._of_titles(head, match, below, above)
            return
        conditions = "".join(f" AND {sql}" for sql in self._conditions)
        values = (*self._values, *(() if self._allowed is None else (self._allowed,)), *self._typed_values)
        for low, high in self.ranges:
            bottom, top = max(low, above), min(high, below - 1)
            if top >= bottom:
                yield _placed(f"{head}{conditions}"), (match, bottom, top, *values)


# A title may be in the file of a session other than its own.
_TITLED = (
    f"coalesce((SELECT t.session_id FROM summaries s JOIN records r ON r.uuid = s.leaf_uuid JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS}"
    " WHERE s.id = place.id AND t.session_id <> '' ORDER BY t.current DESC, r.ts, t.path LIMIT 1),"
    f" (SELECT session_id FROM transcripts WHERE id = text.rowid >> {TEXT_BITS}))"
)
_BLOCKS = "SELECT doc, id FROM full.places WHERE doc IN (SELECT value FROM json_each(?))"


def _placed(sql: str) -> str:
    """A query of the full text, joined with the blocks' ids if it uses them."""
    join = " AS text CROSS JOIN full.places AS place ON place.doc = text.rowid WHERE "
    return sql.replace(" AS text WHERE ", join, 1) if "place.id" in sql else sql


def _of_sessions(leg: Leg, column: str) -> str:
    return " AND ".join(f"coalesce({column}, '') {condition.sql}" for condition in leg.sessions) or "1"


def _runs(ids: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of consecutive ids, from descending ids, as (lowest, highest)."""
    high = low = None
    for id_ in ids:
        if low is not None and id_ == low - 1:
            low = id_
            continue
        if low is not None and high is not None:
            yield low, high
        high = low = id_
    if low is not None and high is not None:
        yield low, high


_TYPED = Or((Kind("prompt"), Kind("command")))


def find_typed(reader: Reader, node: Node) -> list[int]:
    """Ids of the prompts that a search would find, including lines of history.jsonl."""
    finder = Finder(reader, make_plan(reader, And((node, _TYPED)), IndexedWords(reader)), all_typed=True)
    found: set[int] = set()
    ids = finder.ids()
    while some := list(islice(ids, _AT_ONCE)):
        found.update(
            row[0]
            for row in reader.rows(
                "SELECT p.id FROM json_each(?) v JOIN prompts p ON p.id = coalesce((SELECT r.id FROM records r"
                " WHERE r.id = (SELECT max(id) FROM records WHERE id <= v.value) AND r.id + r.length > v.value), v.value)",
                (json.dumps(some),),
            )
        )
    return sorted(found)
