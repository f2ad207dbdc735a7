"""Sessions similar to a given one: linked to it, working on the same files, or prompted in the same words.

Each of the three scores how much of what is distinctive about the session another one shares, between 0 and 1 (links a
little more). Shared files count more than words within the project, and those more than words from another project,
which may be chance; branch and closeness in time only break ties. Distinctiveness is judged within the project, where
its name and its CLAUDE.md carry no information. The work is bounded by the session, not by the length of the history:
some files and some words, each with as many sessions as make it ordinary.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hansard.clients.programs import WORKTREES, WORKTREES_PATTERN
from hansard.errors import UsageError
from hansard.index.schema import TEXT_BITS
from hansard.index.tokens import fold, searchable
from hansard.model.sessions import Related, Session
from hansard.model.time import to_milliseconds
from hansard.query.search.spellings import STOP_WORDS
from hansard.query.sessions import find_session
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader

_LINKS = {"fork": 1.0, "branch": 1.0, "continued_in": 1.0, "resumed": 1.0, "context": 0.8, "clear": 0.4, "summary": 0.2}
_CHANGED, _READ = 1.0, 0.4  # what a file weighs in a session that changed it, or only read it
_SAME_PROJECT, _SAME_BRANCH, _SAME_TIME = 0.04, 0.02, 0.04
_WORDS = 0.8  # weight of words relative to files
# The score ranges of the kinds do not overlap: project, branch and time add at most 0.1.
_FILES_FLOOR, _NEAR_FLOOR = 0.4, 0.1
_NEAR_WORDS, _FAR_WORDS = 0.25, 0.2
_MOST_FILES, _MOST_ROWS, _MOST_WORDS = 1000, 50_000, 64
_MOST_TEXT = 200_000  # characters of the session's own prompts, the first 2,000 of each
_TELLING = 12  # this many files or words in common give the full score
_FEW = 4  # if a session has fewer, sharing all of them does not give the full score
_FEWEST = 10  # minimum assumed sessions per project, or nothing would be distinctive in a small one
_LARGE = 30  # a session with this many files or prompts may share things by chance
_ELSEWHERE = 0.35  # weight of words in another project, where they may be chance
_ALONE = 3  # this many words suffice without a file, link or project in common
_LEAST = 0.02  # below this, nothing in common
_WEEK = 7 * 86_400_000
_NOTHING_SPECIAL = 0.2  # the weight of a file that four fifths of the project's sessions touch
_SHOWN = 5

_WORKTREE = re.compile(rf"([/\\]){WORKTREES_PATTERN}[/\\][^/\\]+(?=[/\\])")
_MAIN_BRANCHES = frozenset({"", "main", "master", "HEAD"})
# Lowercase everything, replace all but letters and digits by spaces; keep line breaks.
_WORD_BYTES = bytes(
    byte if byte > 127 or byte == 10 else ord(chr(byte).lower() if chr(byte).isalnum() else " ") for byte in range(256)
)
# In a small history every word is rare; these are never distinctive.
_ORDINARY = STOP_WORDS | frozenset(
    "add all anything call change check come ensure even file files find first fix get give going good http https implement"
    " instead keep know last let line lines look made make need new next nice nothing plan please put read really right run"
    " said say see set show shows small sure take tell thank thanks thing things think try two update use used user using want"
    " way well work works write www yes com org".split()
)


@dataclass(slots=True)
class _Other:
    """What is known about another session, and what it shares."""

    session_id: str
    words: frozenset[str]  # those of the given session's words that are in its title and first prompt
    project: str
    branch: str
    started_at: int | None
    ended_at: int | None
    prompts: int
    links: set[str] = field(default_factory=set)
    shared_files: dict[str, float] = field(default_factory=dict)
    shared_words: dict[str, float] = field(default_factory=dict)
    score: float = 0.0


def list_related(reader: Reader, session: Session, *, limit: int | None = 10) -> list[Related]:
    """Sessions with something in common with this one, most similar first."""
    if limit is not None and limit < 1:
        raise UsageError("the limit must be at least 1; leave it out to get every session")
    own = _own_words(reader, session)
    others = _others(reader, session, own)
    known = sum(other.project == session.project for other in others.values()) + 1
    _link(reader, session, others)
    files = _share_files(reader, session, others, max(known, _FEWEST))
    words = _share_words(reader, session, own, others)
    found = []
    for other in others.values():
        linked = max((_LINKS.get(relation, 0.2) for relation in other.links), default=0.0)
        in_files, in_words = files.get(other.session_id, 0.0), words.get(other.session_id, 0.0)
        if linked + in_files + in_words >= _LEAST:
            is_near = other.project == session.project
            other.score = round(linked + _worth(in_files, in_words, is_near) + _closeness(session, other), 6)
            found.append(other)
    found.sort(key=lambda other: (-other.score, -(other.ended_at or 0), other.session_id))
    return [_related(reader, session, other) for other in found[:limit]]


def _worth(in_files: float, in_words: float, is_near: bool) -> float:
    """The score of shared files and words: files above words in the same project, and those above words in another."""
    if in_files >= _LEAST:
        return _FILES_FLOOR + (1 - _FILES_FLOOR) * in_files + _NEAR_WORDS * in_words
    if in_words <= 0:
        return in_files
    return _NEAR_FLOOR + _NEAR_WORDS * in_words if is_near else _FAR_WORDS * in_words


def _related(reader: Reader, session: Session, other: _Other) -> Related:
    return Related(
        session=find_session(reader, other.session_id),
        score=other.score,
        files=_best(other.shared_files),
        words=_best(other.shared_words),
        links=tuple(sorted(other.links, key=lambda relation: (-_LINKS.get(relation, 0.0), relation))),
        same_project=other.project == session.project,
        shared_files=len(other.shared_files),
    )


def _best(weights: dict[str, float]) -> tuple[str, ...]:
    return tuple(sorted(weights, key=lambda name: (-weights[name], name))[:_SHOWN])


def _others(reader: Reader, session: Session, own: Counter[str]) -> dict[str, _Other]:
    """All other sessions in which something was said."""
    rows = list(
        reader.rows(
            "SELECT session_id, project, branch, started_at, ended_at, prompts,"
            " replace(title || ' ' || first_prompt, char(10), ' ') FROM sessions"
            " WHERE debris = 0 AND session_id <> ? ORDER BY session_id",
            (session.session_id,),
        )
    )
    # All titles and prompts at once, mostly by byte lookup: word by word would take most of the time.
    lines = searchable("\n".join(row[6] for row in rows)).translate(_WORD_BYTES).split(b"\n")
    plain = {word.encode(): word for word in own if word.isascii()}
    others = {}
    for (session_id, *facts, _), line in zip(rows, lines, strict=False):  # with no sessions there is still one line
        words = {plain[piece] for piece in plain.keys() & line.split()} if line.isascii() else own.keys() & _words(line)
        others[session_id] = _Other(session_id, frozenset(words), *facts)
    return others


def _closeness(session: Session, other: _Other) -> float:
    """Project, branch and time: too little to make sessions similar, enough to order those that are."""
    score = 0.0
    if other.project == session.project:
        score += _SAME_PROJECT
        if session.branch == other.branch and session.branch not in _MAIN_BRANCHES:
            score += _SAME_BRANCH
    if session.started_at and session.ended_at and other.started_at and other.ended_at:
        first, last = map(to_milliseconds, (session.started_at, session.ended_at))
        apart = max(0, other.started_at - last, first - other.ended_at)
        score += _SAME_TIME / (1 + apart / _WEEK)
    return score


def _special(among: int, having: int) -> float:
    """How distinctive something is that `having` of `among` sessions have."""
    return math.log((max(among, having) + 1) / having)


def _whole(weights: Iterable[float], among: int) -> float:
    """The total weight of a session's most distinctive files or words."""
    return max(sum(sorted(weights, reverse=True)[:_TELLING]), _FEW * _special(among, 2))


# -- links


def _link(reader: Reader, session: Session, others: dict[str, _Other]) -> None:
    rows = reader.rows(
        "SELECT source, target, relation FROM links WHERE source = ?1 OR target = ?1", (session.session_id,)
    )
    for source, target, relation in rows:
        other = others.get(target if source == session.session_id else source)
        if other is not None:  # the other end of a replay is a subagent
            other.links.add(relation)


# -- files


def _share_files(reader: Reader, session: Session, others: dict[str, _Other], among: int) -> dict[str, float]:
    """How much of the session's work on files each other session shares."""
    own: dict[str, float] = {}
    places: dict[str, set[str]] = defaultdict(set)
    rows = reader.rows(
        "SELECT path, changes FROM session_files WHERE session_id = ? ORDER BY changes > 0 DESC, calls DESC, path LIMIT ?",
        (session.session_id, _MOST_FILES),
    )
    for path, changes in rows:
        name = _WORKTREE.sub("", path)
        own[name] = max(own.get(name, 0.0), _CHANGED if changes else _READ)
        places[name] |= {path, name}
    if not own:
        return {}
    in_worktrees = _in_worktrees(reader, session.project, own)
    weights: dict[str, float] = {}
    left = _MOST_ROWS
    for name, weight in own.items():
        if left < 0:
            break
        having: dict[str, float] = dict(in_worktrees.get(name, {}))
        for path in sorted(places[name]):
            # One more than the project has sessions: then it is not distinctive.
            rows = reader.rows(
                "SELECT session_id, changes FROM session_files WHERE path = ? LIMIT ?", (path, among + 1)
            )
            for session_id, changes in rows:
                having[session_id] = max(having.get(session_id, 0.0), _CHANGED if changes else _READ)
        left -= len(having)
        special = _special(among, len(having))
        if special < _NOTHING_SPECIAL:
            continue
        weights[name] = special * weight
        for session_id, other_weight in having.items():
            if session_id in others:
                others[session_id].shared_files[name] = special * weight * other_weight
    whole = _whole(weights.values(), among)
    sizes = _sizes(reader, [other.session_id for other in others.values() if other.shared_files])
    return {
        session_id: min(1.0, sum(others[session_id].shared_files.values()) / whole) / math.sqrt(1 + size / _LARGE)
        for session_id, size in sizes.items()
    }


def _in_worktrees(reader: Reader, project: str, own: dict[str, float]) -> dict[str, dict[str, float]]:
    """Which sessions touched the same files in worktrees of the project."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    separator = "\\" if "\\" in project else "/"
    beginning = separator.join((project, *WORKTREES, ""))
    rows = reader.rows(
        "SELECT path, session_id, changes FROM session_files WHERE path >= ? AND path < ? LIMIT 20000",
        (beginning, beginning[:-1] + chr(ord(separator) + 1)),
    )
    for path, session_id, changes in rows:
        name = _WORKTREE.sub("", path)
        if name in own:
            found[name][session_id] = max(found[name].get(session_id, 0.0), _CHANGED if changes else _READ)
    return found


def _sizes(reader: Reader, sessions: list[str]) -> dict[str, int]:
    return {
        session_id: reader.one("SELECT count(*) FROM session_files WHERE session_id = ?", (session_id,))[0]
        for session_id in sessions
    }


# -- words


def _own_words(reader: Reader, session: Session) -> Counter[str]:
    """How often each word occurs in the prompts; the title counts twice."""
    texts = [session.title, session.title, session.first_prompt]
    left = _MOST_TEXT
    rows = reader.rows(
        "SELECT substr(p.text, 1, 2000) FROM transcripts t"
        f" CROSS JOIN prompts p ON p.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
        " WHERE t.session_id = ? AND t.current = 1 AND t.kind IN ('main', 'log') AND p.source IN ('prompt', 'queued')"
        " ORDER BY t.path, t.root, p.id",
        (session.session_id,),
    )
    for (text,) in rows:
        texts.append(text)
        left -= len(text)
        if left < 0:
            break
    return Counter(_words(searchable("\n".join(texts)).translate(_WORD_BYTES)))


def _words(data: bytes) -> list[str]:
    """Words that may say what a text is about: no numbers, ids or stop words; scripts without spaces as bigrams."""
    found = []
    before = ""
    for piece in data.split():
        if piece.isalpha():  # on bytes: ASCII letters only
            word = piece.decode("ascii")
            before = ""
            if len(word) > 2 and word not in _ORDINARY:
                found.append(word)
        elif not piece.isascii():
            word = fold(piece.decode("utf-8", "replace"))
            single = len(word) == 1 and word.isalpha()
            if single and before:
                found.append(before + word)
            elif len(word) > 2 and word.isalpha():
                found.append(word)
            before = word if single else ""
    return found


def _share_words(reader: Reader, session: Session, own: Counter[str], others: dict[str, _Other]) -> dict[str, float]:
    """How much of the session's vocabulary each other session shares."""
    having: dict[str, set[str]] = defaultdict(set)
    for other in others.values():
        for word in other.words:
            having[word].add(other.session_id)
    among = max(len(others) + 1, _FEWEST)
    ordinary = max(_FEWEST, among // 10)  # a word that this many sessions have is not distinctive
    rough = {
        word: (1 + math.log(count)) * _special(among, len(having.get(word, ())) + 1)
        for word, count in own.items()
        if len(having.get(word, ())) < ordinary
    }
    chosen = sorted(rough, key=lambda word: (-rough[word], word))[:_MOST_WORDS]
    typed = _Typed(reader, ordinary) if chosen else None
    near = {other.session_id for other in others.values() if other.project == session.project}
    among_near = max(len(near) + 1, _FEWEST)
    weights: dict[str, float] = {}
    for word in chosen:
        found = typed.sessions(word) if typed is not None else set()
        if found is None:
            continue
        found = (found | having.get(word, set())) & others.keys()
        if len(found) >= ordinary:
            continue
        special = min(_special(among, len(found) + 1), _special(among_near, len(found & near) + 1))
        weights[word] = (1 + math.log(own[word])) * special
        for session_id in found:
            others[session_id].shared_words[word] = weights[word]
    whole = _whole(weights.values(), among)
    scores = {}
    for other in others.values():
        shared = other.shared_words
        if len(shared) < _ALONE and other.session_id not in near and not other.links and not other.shared_files:
            shared.clear()  # a word may mean something else in another project
        if shared:
            portion = min(1.0, sum(shared.values()) / whole)
            worth = _WORDS * portion / math.sqrt(1 + other.prompts / _LARGE)
            known = other.session_id in near or other.links or other.shared_files
            scores[other.session_id] = worth if known else worth * _ELSEWHERE
    return scores


class _Typed:
    """Which sessions have a word in their prompts, from the full text."""

    def __init__(self, reader: Reader, most: int) -> None:
        self._reader = reader
        self._most = most
        self._sessions: dict[int, str] = {}
        if reader.has_text:
            rows = reader.rows("SELECT id, session_id FROM transcripts WHERE current = 1 AND kind IN ('main', 'log')")
            self._sessions.update((row[0], row[1]) for row in rows)

    def sessions(self, word: str) -> set[str] | None:
        """The sessions; None if there are too many to be distinctive."""
        if not self._sessions:
            return set()
        phrase = word if word.isascii() or len(word) != 2 else " ".join(word)
        rows = self._reader.rows(
            f"SELECT DISTINCT rowid >> {TEXT_BITS} FROM full.talk WHERE talk MATCH ? LIMIT ?",
            (f'mark : "kindprompt" AND body : "{phrase}"', self._most + 1),
        )
        found = [row[0] for row in rows]
        return None if len(found) > self._most else {self._sessions[id_] for id_ in found if id_ in self._sessions}
