"""Explain single messages: who owns them, their lines, which line decided each token class and why, and what that costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.clients import client_of
from hansard.clients.usage import NEVER, REPEATED_LINE, SIDECHAIN, Answer, Stated, dated, merge
from hansard.model.explain import Charge, ExplainedClass, ExplainedLine, ExplainedMessage
from hansard.model.ledger import Rate, Tokens
from hansard.model.time import from_milliseconds
from hansard.pricing.cost import charge, parts, recorded
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.ledger.report import Ledger
    from hansard.query.reader import Reader
    from hansard.record.store import Record

# The name of each class in a report row, in `Tokens` and the parts of a cost, and in a `Rate`.
CLASSES = (
    ("input_tokens", "input", "input"),
    ("output_tokens", "output", "output"),
    ("cache_read_tokens", "cache_read", "cache_read"),
    ("cache_write_5m_tokens", "cache_write_5m", "cache_write_5m"),
    ("cache_write_1h_tokens", "cache_write_1h", "cache_write_1h"),
    ("web_searches", "web_searches", "web_search"),
)
COLUMNS = (
    "rate, has_recorded, messages, lower_bounds, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches,"
    " recorded, progress_only, CASE WHEN first_ts > 0 THEN first_ts END, last_ts, key"
)
"""Columns read from `charges`: the fields of `Counted`."""

_PROGRESS_ONLY = (
    "the subagent's transcript is missing: counted once, from the progress records of the session that started it"
)
# Values on which the lines must agree with the ledger, in the order of the selected columns.
_MERGED = (
    "input",
    "output",
    "cache_read",
    "cache_write",
    "cache_write_5m",
    "cache_write_1h",
    "web_searches",
    "final_output",
    "recorded",
    "service_tier",
    "speed",
    "inference_geo",
    "ts",
    "record_id",
)
_USAGE = (
    f"SELECT {', '.join('u.' + name for name in _MERGED)}, u.model, u.session_id, u.agent_id, u.branch, u.tool,"
    " coalesce(s.title, ''), s.project, coalesce(a.agent_type, '') FROM usage u"
    " LEFT JOIN sessions s ON s.session_id = u.session_id"
    " LEFT JOIN agents a ON a.session_id = u.session_id AND a.agent_id = u.agent_id WHERE u.key = ?"
)


class Counted(NamedTuple):
    """A message as counted."""

    rate: int
    has_recorded: int
    messages: int
    lower_bounds: int
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    recorded: int  # billionths of a dollar
    progress_only: int
    first_ts: int | None
    last_ts: int
    key: str

    @property
    def numbers(self) -> tuple[Any, ...]:
        return self[2:14]

    @property
    def tokens(self) -> Tokens:
        return Tokens(*self[4:10])


def explain_messages(ledger: Ledger, record: Record, rows: Sequence[Counted]) -> Iterator[ExplainedMessage]:
    """Explain the messages of these rows of `charges`, in the same order."""
    lines = lines_of(ledger.reader, record, [row.key for row in rows])
    for row in rows:
        yield _explained(ledger, row, lines[row.key])


def _explained(ledger: Ledger, row: Counted, lines: list[Line]) -> ExplainedMessage:
    key = row.key
    found = ledger.reader.one(_USAGE, (key,))
    known = dict(zip(_MERGED, found, strict=False))
    model, session_id, agent_id, branch, tool, title, project, agent_type = found[len(_MERGED) :]
    rate, tokens, has_recorded = ledger.rates[row.rate], row.tokens, bool(row.has_recorded)
    how = found_by(rate, has_recorded=has_recorded, mode=ledger.mode)
    wrong = _wrong(known, lines)
    classes = tuple(_classes(known, lines, charges(rate, tokens, how)))
    return ExplainedMessage(
        key=key,
        at=from_milliseconds(known["ts"] or None),
        model=model,
        session_id=session_id,
        title=title,
        project=project or None,
        agent_id=agent_id,
        agent_type=agent_type,
        branch=branch or None,
        tool=tool or None,
        owner=_why_owner(lines),
        lines=tuple(_lines(ledger.reader, lines, classes)),
        classes=classes,
        is_lower_bound=bool(row.lower_bounds),
        lower_bound=_why_lower_bound(known) if row.lower_bounds else "",
        prompt_tokens=known["input"]
        + known["cache_read"]
        + max(known["cache_write"], known["cache_write_5m"] + known["cache_write_1h"]),
        rate=rate,
        found_by=how,
        recorded_usd=recorded(row.recorded) if has_recorded else None,
        cost_usd=charge(rate, tokens, has_recorded=has_recorded, billionths=row.recorded, mode=ledger.mode),
        agrees=not wrong,
        notes=tuple(
            note for note in (*_notes(ledger.reader, key, lines), _PROGRESS_ONLY * row.progress_only, wrong) if note
        ),
    )


def found_by(rate: Rate, *, has_recorded: bool, mode: str) -> str:
    """How a cost is determined: by a rate, as the client recorded it, or not at all."""
    if has_recorded and mode != "calculate":
        return "recorded"
    return "unpriced" if mode == "recorded" or not rate.is_priced else "rate"


def charges(rate: Rate, tokens: Tokens, how: str) -> tuple[Charge, ...]:
    """Each class at its price, if that is how the cost is determined."""
    costs = parts(rate, tokens) if how == "rate" else None
    return tuple(
        Charge(name, getattr(tokens, of), getattr(rate, price), None if costs is None else costs[of])
        for name, of, price in CLASSES
    )


def _classes(known: dict[str, Any], lines: list[Line], charged: Iterable[Charge]) -> Iterator[ExplainedClass]:
    """Each class with the first line, in ownership order, that states the counted value."""
    remainder = _remainder(known)
    for (name, of, _), item in zip(CLASSES, charged, strict=True):
        # Writes without a lifetime count as five minutes: then the flat figure decides.
        is_flat = of == "cache_write_5m" and remainder > 0
        stated = "cache_write" if is_flat else of
        number, why = _winner(lines, stated, known[stated])
        yield ExplainedClass(name, item.count, number, why, remainder if is_flat else 0, item.price, item.cost_usd)


def _remainder(known: dict[str, Any]) -> int:
    return int(max(0, known["cache_write"] - known["cache_write_5m"] - known["cache_write_1h"]))


def _winner(lines: list[Line], name: str, counted: int) -> tuple[int | None, str]:
    said = [getattr(line.stated, name) for line in lines if line.stated is not None]
    if not counted:
        return None, "no line reports any"
    for number, line in enumerate(lines, 1):
        if line.stated is not None and getattr(line.stated, name) == counted:
            if len(said) == 1:
                return number, "only line"
            return number, "all lines agree" if min(said) == counted else f"maximum of {len(said)} lines"
    return None, "no readable line reports that many"


def _lines(reader: Reader, lines: list[Line], classes: Sequence[ExplainedClass]) -> Iterator[ExplainedLine]:
    for number, line in enumerate(lines, 1):
        said = line.stated
        place = line.place
        yield ExplainedLine(
            number=number,
            root=place.root,
            transcript=place.path,
            generation=place.generation,
            state=place.state,
            offset=line.offset,
            length=line.length,
            uuid=line.uuid,
            at=from_milliseconds(line.ts or None),
            session_id=place.session_id,
            agent_id=line.agent_id,
            stop_reason=line.stop_reason,
            input_tokens=said.input if said else 0,
            output_tokens=said.output if said else 0,
            cache_read_tokens=said.cache_read if said else 0,
            cache_write_tokens=said.cache_write if said else 0,
            cache_write_5m_tokens=said.cache_write_5m if said else 0,
            cache_write_1h_tokens=said.cache_write_1h if said else 0,
            web_searches=said.web_searches if said else 0,
            recorded_usd=recorded(said.recorded) if said and said.recorded >= 0 else None,
            is_owner=number == 1,
            wins=tuple(item.name for item in classes if item.line == number),
            copy=None if line.transcript == lines[0].transcript else _relation(reader, lines[0], line),
            note=line.note,
            is_shown=bool(place.is_current),
        )


def _relation(reader: Reader, owner: Line, line: Line) -> str:
    """Why the transcript of a line contains a message of another one."""
    one, other = owner.place, line.place
    if (one.root, one.path) == (other.root, other.path):
        return "generation"
    ends = [{place.session_id, place.agent_id} - {""} for place in (one, other)]
    row = reader.one(
        "SELECT relation FROM links WHERE relation IN ('fork', 'branch', 'replay', 'resumed', 'context') AND"
        " (source IN (SELECT value FROM json_each(?1)) AND target IN (SELECT value FROM json_each(?2))"
        " OR source IN (SELECT value FROM json_each(?2)) AND target IN (SELECT value FROM json_each(?1))) ORDER BY relation",
        tuple(_listed(end) for end in ends),
    )
    if row is None and one.session_id != other.session_id:
        # A fork of a fork is linked to that one, and contains what the first one said.
        row = reader.one(
            "SELECT relation FROM links WHERE target = ? AND relation IN ('fork', 'branch')", (other.session_id,)
        )
    if row is not None:
        return str(row[0])
    return "file" if one.session_id == other.session_id else "session"


def _listed(names: set[str]) -> str:
    return to_json(sorted(names))


def _why_owner(lines: list[Line]) -> str:
    if not lines:
        return "its lines are not in the record"
    if len(lines) == 1:
        return "only line"
    original = [line for line in lines if not line.is_copy]
    if not original:
        return f"every line is a copy, the original is not kept; {_why_first(lines)}"
    copies = len(lines) - len(original)
    if not copies:
        return _why_first(lines)
    are_copies = "the other is a copy in a fork" if copies == 1 else f"the other {copies} are copies in forks"
    if len(original) == 1:
        return f"only line of the original, {are_copies}"
    return f"{_why_first(original)} of the original, {are_copies}"


def _why_first(lines: list[Line]) -> str:
    """Why the first line comes first, when all or none of the lines are copies."""
    if len(lines) == 1:
        return "only line"
    first, second = lines[0], lines[1]
    if first.ts != second.ts:
        return f"earliest of {len(lines)} lines"
    time = "tied for earliest" if first.ts else "no line has a time"
    if first.place.sort_path != second.place.sort_path:
        return f"{time}, first by path of {len(lines)} lines"
    if first.transcript != second.transcript:
        return f"{time}, in the oldest generation of {len(lines)} lines"
    return f"{time}, first in its transcript of {len(lines)} lines"


def _why_lower_bound(known: dict[str, Any]) -> str:
    if known["final_output"] < 0:
        return "no line has a stop_reason, so the final count was never recorded"
    return (
        f"lines with a stop_reason report at most {known['final_output']:,}, another line reports {known['output']:,}"
    )


def _notes(reader: Reader, key: str, lines: list[Line]) -> Iterator[str]:
    base, mark, number = key.rpartition(ADVISOR)
    if mark and number.isdecimal() and reader.one("SELECT 1 FROM usage WHERE key = ?", (base,)) is not None:
        yield f"a call to another model inside message {base}, counted separately"
    inside = f"{key}{ADVISOR}"
    advised = [
        row[0] for row in reader.rows("SELECT key FROM usage WHERE key >= ? AND key < ?", (inside, inside + chr(58)))
    ]
    if advised:
        yield f"calls to another model inside it are counted separately: {', '.join(advised)}"
    copies = sum(line.transcript != lines[0].transcript for line in lines)
    if copies:
        yield f"{copies} of its lines {'are' if copies > 1 else 'is'} in other transcripts: the message counts once"


def _wrong(known: dict[str, Any], lines: list[Line]) -> str:
    """How the lines, read again, differ from the ledger; empty if they agree."""
    said = [line.stated for line in lines if line.stated is not None]
    if not said:
        return "none of its lines can be read now: the counts come from the index"
    merged = reduce(merge, said)
    wrong = [name for name in _MERGED if getattr(merged, name) != known[name]]
    if not wrong:
        return ""
    told = ", ".join(f"{name} {getattr(merged, name)} instead of {known[name]}" for name in wrong)
    unread = sum(line.note == UNREADABLE for line in lines)
    lost = f" ({unread} of {len(lines)} cannot be read)" if unread else ""
    return f"its lines do not add up to the ledger's counts{lost}: {told}"


ADVISOR = "#advisor"
UNREADABLE = "no longer readable: `hansard verify` shows what is damaged"
SILENT = "reports no tokens"
_PIECE = 256 * 1024


class TranscriptFile(NamedTuple):
    """The transcript that contains a line."""

    client: str
    root: str
    path: str
    generation: int
    state: str
    session_id: str
    agent_id: str
    copied: int  # bytes at its beginning copied from another session
    is_current: int  # 1: the generation of its file that sessions are read from

    @property
    def sort_path(self) -> str:
        return f"{self.path}\x00{self.root}"

    def read_answer(self, line: bytes) -> Answer | None:
        """The answer in one of its lines."""
        return client_of(self.client).answer(line)


class Line(NamedTuple):
    """One line about a message, and what it states."""

    id: int
    place: TranscriptFile
    length: int
    uuid: str | None
    ts: int
    stop_reason: str | None
    agent_id: str
    stated: Stated | None
    note: str = ""
    is_copy: bool = False  # its transcript copied the message from another session

    @property
    def transcript(self) -> int:
        return self.id >> OFFSET_BITS

    @property
    def offset(self) -> int:
        return self.id & OFFSET_MASK

    def order(self) -> tuple[bool, int, str, int, int]:
        """The ownership order, as in `Stated.owner`."""
        return (self.is_copy, self.ts or NEVER, self.place.sort_path, self.offset, self.id)


def lines_of(reader: Reader, record: Record, keys: Collection[str]) -> dict[str, list[Line]]:
    """The lines of each of these messages in ownership order.

    The index maps a line to its message only, so each transcript that contains one of the messages is scanned once,
    starting at the first of their lines.
    """
    found: dict[str, list[Line]] = {key: [] for key in keys}
    wanted: dict[int, dict[int, list[str]]] = {}  # transcript -> its message -> keys
    bases: dict[int, str] = {}
    for key in keys:
        base, numbers = _messages(reader, key)
        for number in numbers:
            bases[number] = base
            wanted.setdefault(number >> OFFSET_BITS, {}).setdefault(number, []).append(key)
    for transcript, messages in sorted(wanted.items()):
        place = _place(reader, transcript)
        window = _Window(record, transcript)
        records: Iterator[Any] = reader.rows(
            "SELECT id, length, uuid, ts, message_id FROM records WHERE id BETWEEN ? AND ?"
            " AND message_id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (min(messages), (transcript << OFFSET_BITS) + OFFSET_MASK, to_json(list(messages))),
        )
        for record_id, length, uuid, ts, message in records:
            answer = place.read_answer(window.read(record_id & OFFSET_MASK, length))
            line = Line(record_id, place, length, uuid, dated(ts), None, place.agent_id, None, UNREADABLE)
            states: dict[str, Stated] = {}
            if answer is not None:
                agent_id = answer.agent_id or place.agent_id or (SIDECHAIN if answer.is_aside else "")
                line = line._replace(stop_reason=answer.stop_reason, agent_id=agent_id, note=SILENT)
                states = dict(
                    answer.stated(bases[message], record_id, line.ts, place.sort_path, place.session_id, agent_id)
                )
            for key in messages[message]:
                statement = states.get(key)
                if statement is not None:
                    found[key].append(line._replace(stated=statement, note=""))
                elif answer is None or key == bases[message]:
                    found[key].append(line)
    return {key: _ordered(lines) for key, lines in found.items()}


def _place(reader: Reader, transcript: int) -> TranscriptFile:
    row = reader.one(
        "SELECT client, root, path, generation, state, session_id, agent_id, copied, current FROM transcripts WHERE id = ?",
        (transcript,),
    )
    return TranscriptFile(*row)


def _ordered(lines: list[Line]) -> list[Line]:
    """Lines in ownership order; a transcript's earliest line that states something decides whether it copied the message."""
    is_copy: dict[int, bool] = {}
    for line in sorted(lines, key=lambda line: (line.stated is None, *line.order())):
        is_copy.setdefault(line.transcript, line.offset < line.place.copied)
    marked = [line._replace(is_copy=is_copy[line.transcript]) for line in lines]
    for line in marked:
        if line.stated is not None:
            line.stated.is_copy = line.is_copy
    return sorted(marked, key=Line.order)


def _messages(reader: Reader, key: str) -> tuple[str, list[int]]:
    """The key of a message in its lines, and its first line in each transcript; advisors are in another message's lines."""
    numbers = _first_lines(reader, key)
    base, mark, number = key.rpartition(ADVISOR)
    if not numbers and mark and number.isdecimal():
        return base, _first_lines(reader, base)
    return key, numbers


def _first_lines(reader: Reader, key: str) -> list[int]:
    """The message's first line in each transcript; progress records that repeat it only where no other line has it."""
    rows = list(
        reader.rows(
            "SELECT m.id, r.sub FROM messages m LEFT JOIN records r ON r.id = m.id WHERE m.key = ? ORDER BY m.id",
            (key,),
        )
    )
    own = [number for number, sub in rows if sub != REPEATED_LINE]
    return own or [number for number, _ in rows]


class _Window:
    """The bytes of one transcript, read forwards a piece at a time: adjacent lines are decompressed once."""

    def __init__(self, record: Record, transcript: int) -> None:
        self._record = record
        self._transcript = transcript
        self._start = 0
        self._bytes = b""

    def read(self, start: int, length: int) -> bytes:
        """The bytes of a line; NULs where it is damaged."""
        end = start + length
        if not self._start <= start <= end <= self._start + len(self._bytes):
            piece_end = -(-end // _PIECE) * _PIECE
            self._bytes = b"".join(self._record.read(self._transcript, start, piece_end, mend=True))
            self._start = start
        return self._bytes[start - self._start : end - self._start]
