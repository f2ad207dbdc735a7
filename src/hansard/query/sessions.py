"""Sessions and projects: listing, filtering, paging, finding one by name; and the user's remarks on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.index.schema import NO_USAGE, TOKEN_COLUMNS, recorded, recorded_sum
from hansard.model.names import is_handle, shown_id
from hansard.model.requests import Dated, ProjectsRequest, SessionsRequest
from hansard.model.sessions import Project, Remarks, Session, SessionPage, Tagged
from hansard.model.time import from_milliseconds
from hansard.query.duplicates import REPEATED, find_repeated_work, once
from hansard.query.language.options import query_of, split_fields
from hansard.query.reader import Reader, like
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.cursors import read_cursor, write_cursor
from hansard.storage.sqlite import from_json

if TYPE_CHECKING:
    from decimal import Decimal

    from hansard.query.language import Node

COST = (
    f"CASE WHEN {NO_USAGE} THEN NULL WHEN api_messages = 0 THEN 0 ELSE"
    " (SELECT CAST(c.cost_usd AS REAL) FROM session_costs c WHERE c.session_id = sessions.session_id) END"
)
"""The cost of a session, over `sessions`, for filtering and sorting. The exact amount is text in `session_costs`."""
SORTS = {
    "ended": "ended_at",
    "started": "started_at",
    "prompts": "prompts",
    "messages": "messages",
    "tools": "tool_calls",
    "files": "files_changed",
    "errors": "tool_errors + api_errors",
    "tokens": "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens",
    "output": "output_tokens",
    "cost": COST,
    "size": "bytes",
    "title": "title COLLATE NOCASE",
    "project": "project COLLATE NOCASE",
}
_TEXT_SORTS = frozenset({"title", "project"})

_OF_COSTS = "(SELECT c.{0} FROM session_costs c WHERE c.session_id = sessions.session_id)"
_STORED = Session.__struct_fields__[: Session.__struct_fields__.index("pinned")]
"""The fields of a session with a column of the same name; the fields behind them are remarks."""
_ELSEWHERE = {name: recorded(name) for name in TOKEN_COLUMNS} | {
    name: _OF_COSTS.format(name) for name in ("cost_usd", "unpriced_models")
}
_COLUMNS = (
    f"{', '.join(_ELSEWHERE.get(name, name) for name in _STORED)}, (SELECT json_group_array(json_array(m.kind, m.value)) FROM"
    " (SELECT kind, value FROM remarks WHERE session_id = sessions.session_id ORDER BY id) m)"
)


PAUSE = timedelta(minutes=5)
"""The longest pause that still counts as active."""
TIMES = (
    "SELECT r.ts FROM transcripts t CROSS JOIN records r"
    f" ON r.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
    " WHERE t.session_id = {} AND t.current = 1 AND t.kind <> 'history' AND r.ts IS NOT NULL"
)
"""The times of a session's records; a SELECT without its id."""


def active_between(low: int, high: int) -> tuple[str, tuple[int, ...]]:
    """A condition over `sessions`: something was recorded in [low, high).

    A session that begins or ends in the period has a record there; only one that spans it whole may have paused throughout.
    """
    recorded = f"EXISTS ({TIMES.format('sessions.session_id')} AND r.ts >= ? AND r.ts < ?)"
    sql = f"(ended_at >= ? AND started_at < ? AND (started_at >= ? OR ended_at < ? OR {recorded}))"
    return sql, (low, high, low, high, low, high)


def where_sessions(
    reader: Reader, query: Node | None = None, text: str | None = None, *, debris: bool = False
) -> tuple[str, list[Any]]:
    """A condition over `sessions` with its values; `text` is words in the title or the first prompt."""
    terms = [] if debris else ["debris = 0"]
    values: list[Any] = []
    for word in (text or "").split():
        terms.append("(title LIKE ? ESCAPE '\\' OR first_prompt LIKE ? ESCAPE '\\')")
        values += [like(word)] * 2
    if query is not None:
        from hansard.query.compile import SESSIONS, Compiler

        asked = Compiler(reader, SESSIONS).condition(query)
        if asked is not None:
            terms.append(asked.sql)
            values += asked.values
    return " AND ".join(terms) or "1", values


def active_time(reader: Reader, session_id: str) -> timedelta:
    """How long a session was active: the sum of the gaps between its records, without pauses."""
    pause = PAUSE // timedelta(milliseconds=1)
    times = TIMES.format("?")
    gaps = f"SELECT ts - lag(ts) OVER (ORDER BY ts) AS gap FROM ({times})"
    row = reader.one(f"SELECT coalesce(sum(gap), 0) FROM ({gaps}) WHERE gap <= ?", (session_id, pause))
    return timedelta(milliseconds=row[0])


def list_sessions(reader: Reader, request: SessionsRequest) -> SessionPage:
    """One page of sessions, newest first by default; with `around`, the page centred on that session, or the first page."""
    where, values = where_sessions(reader, query_of(request, request.query), request.text, debris=request.debris)
    if request.fuzzy:
        reader.teach("is_similar", is_similar)
        where += " AND is_similar(title || ' ' || project, ?)"
        values.append(request.fuzzy)
    if request.within is not None:
        from hansard.query.session_groups import of_group

        group = of_group(*request.within, request.zone)
        where += f" AND {group.sql}"
        values += group.values
    found, next_cursor = in_order(
        reader,
        where,
        values,
        sort=request.sort,
        ascending=request.ascending,
        limit=request.limit,
        cursor=request.cursor,
        around=request.around,
    )
    total = reader.one(f"SELECT count(*) FROM sessions WHERE {where}", tuple(values))[0]
    return SessionPage(found, next_cursor, total)


def in_order(
    reader: Reader,
    where: str,
    values: Sequence[Any],
    *,
    sort: str,
    ascending: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    around: str | None = None,
) -> tuple[tuple[Session, ...], str | None]:
    """The sessions that match a condition, in order, and where the next ones begin if there are more."""
    if sort not in SORTS:
        raise UsageError(f"cannot sort by {sort!r}; choose one of {', '.join(SORTS)}")
    if ascending is None:
        ascending = sort in _TEXT_SORTS
    if limit is not None and limit < 1:
        raise UsageError("the limit must be at least 1; leave it out to get every session")
    order = SORTS[sort]
    key = f"coalesce({order.removesuffix(' COLLATE NOCASE')}, {chr(39) * 2 if sort in _TEXT_SORTS else 0})"
    collate = " COLLATE NOCASE" if sort in _TEXT_SORTS else ""
    direction = "ASC" if ascending else "DESC"
    if cursor is not None:
        value, session_id = read_cursor(cursor, ["sessions", sort], (int, float, str), str)
        compare = ">" if ascending else "<"
        where += f" AND ({key}{collate} {compare} ? OR ({key}{collate} = ? AND session_id > ?))"
        values = (*values, value, value, session_id)
    in_front = 0
    if around is not None and limit is not None:
        ahead = ">" if direction == "DESC" else "<"
        (count,) = reader.one(
            f"""WITH here AS (SELECT {key} AS value, session_id AS id FROM sessions WHERE {where} AND session_id = ?)
                SELECT count(*) FROM sessions, here WHERE {where}
                   AND ({key}{collate} {ahead} here.value OR ({key}{collate} = here.value AND session_id < here.id))""",
            (*values, around, *values),
        )
        in_front = max(0, count - limit // 2)
    rows = list(
        reader.rows(
            f"SELECT {_COLUMNS}, {key} FROM sessions WHERE {where} ORDER BY {key}{collate} {direction}, session_id LIMIT ? OFFSET ?",
            (*values, -1 if limit is None else limit + 1, in_front),
        )
    )
    more = limit is not None and len(rows) > limit
    rows = rows[:limit]
    next_cursor = write_cursor(["sessions", sort], (rows[-1][-1], rows[-1][0])) if more else None
    return tuple(_session(row) for row in rows), next_cursor


def _list(value: str | None) -> tuple[str, ...]:
    return tuple(from_json(value or "[]"))


_CONVERTED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("started_at", "ended_at"), from_milliseconds),
    **dict.fromkeys(("models", "unpriced_models", "branches", "versions", "pull_requests"), _list),
    "debris": bool,
}
_READ = [(_STORED.index(name), read) for name, read in _CONVERTED.items()]
_COST, _MESSAGES, _API_MESSAGES = map(_STORED.index, ("cost_usd", "messages", "api_messages"))


def _session(row: Any) -> Session:
    values: list[Any] = list(row[: len(_STORED)])
    for place, read in _READ:
        values[place] = read(values[place])
    values[_COST] = _cost(values[_COST], values[_MESSAGES] + values[_API_MESSAGES])
    said = row[len(_STORED)]
    remarks = [] if said == "[]" else from_json(said)
    pins = [value for kind, value in remarks if kind == "pin"]
    tags, notes = (tuple(value for kind, value in remarks if kind == wanted) for wanted in ("tag", "note"))
    return Session(*values, *["" in pins, tags, notes, tuple(filter(None, pins))])


def _cost(amount: str | None, messages: int) -> Decimal | None:
    from decimal import Decimal

    # A session without answers cost nothing; without a price or recorded usage, the cost is unknown.
    return Decimal(amount) if amount is not None else None if messages else Decimal(0)


def find_session(reader: Reader, name: str, folder: str | None = None) -> Session:
    """Find a session by id, unique id prefix, handle, `@last` (or `@2` for the one before), or title.

    With a folder, only sessions of projects in it are considered, so that results and errors do not reveal others.
    """
    inside, values = in_folder(folder)
    if name.startswith("@"):
        return _recent(reader, name, inside, values)
    for where, wanted in _readings(reader, name):
        sql = f"SELECT {_COLUMNS} FROM sessions WHERE ({where}) AND {inside} ORDER BY coalesce(ended_at, 0) DESC, session_id"
        if rows := list(reader.rows(sql, (*wanted, *values))):
            break
    else:
        raise NotFound(
            f"no session matches {name!r}: give a session's id or the beginning of one, words of its title, or @last"
        )
    if len(rows) > 1:
        shown = "\n".join(f"  {row[0]}  {row[2][:60]}" for row in rows[:8])
        more = f"\n  and {len(rows) - 8} more" if len(rows) > 8 else ""
        raise Ambiguous(f"{len(rows)} sessions match {name!r}:\n{shown}{more}")
    return _session(rows[0])


def session_with_id(reader: Reader, session_id: str, folder: str | None = None) -> Session | None:
    """The session with exactly this id, if it is in the folder."""
    inside, values = in_folder(folder)
    row = reader.one(f"SELECT {_COLUMNS} FROM sessions WHERE session_id = ? AND {inside}", (session_id, *values))
    return None if row is None else _session(row)


def in_folder(folder: str | None) -> tuple[str, tuple[str, ...]]:
    """A condition over `sessions`: the project is at this path or below it, not just a path prefix; None: any project."""
    if folder is None:
        return "1", ()
    folder = folder.rstrip("/\\") or folder
    below = f" OR substr(project, 1, {len(folder) + 1}) IN (?, ?)"
    return f"(project = ?{below})", (folder, folder + "/", folder + "\\")


def _readings(reader: Reader, name: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What a name can mean, as conditions over `sessions`, most specific first."""
    if not name:
        return
    if is_handle(name):  # before ids: an id spelled like another session's handle must not win
        reader.teach("shown_id", shown_id)
        yield "shown_id(session_id) = ? AND session_id <> ?", (name, name)
    yield "session_id = ?", (name,)
    yield "session_id LIKE ? ESCAPE '\\'", (like(name)[1:],)
    yield "title = ? COLLATE NOCASE AND debris = 0", (name,)
    where, values = where_sessions(reader, text=name)
    yield where, tuple(values)


def _recent(reader: Reader, name: str, inside: str, values: tuple[str, ...]) -> Session:
    number = 1 if name == "@last" else int(name[1:]) if name[1:].isdecimal() and len(name) < 12 else 0
    if number < 1:
        raise UsageError(f"{name!r} is not a session: use @last for the newest, @2 for the one before it")
    row = reader.one(
        f"SELECT {_COLUMNS} FROM sessions WHERE debris = 0 AND {inside}"
        " ORDER BY coalesce(ended_at, 0) DESC, session_id LIMIT 1 OFFSET ?",
        (*values, number - 1),
    )
    if row is None:
        raise NotFound("there are no sessions yet" if number == 1 else f"there is no session number {number}")
    return _session(row)


def list_history_folders(reader: Reader) -> list[tuple[str, str, str]]:
    """The root, the folder under projects/ and the working directory of every session, each once."""
    return [tuple(row) for row in reader.rows("SELECT DISTINCT root, project_dir, cwd FROM sessions WHERE cwd <> ''")]


def list_projects(reader: Reader, request: ProjectsRequest) -> list[Project]:
    """Projects with their totals, most recent first."""
    fields, words = split_fields(request.text)
    wanted = Dated(project=words or None, since=request.since, until=request.until)
    # Empty sessions may have cost money: they do not count as sessions, but their messages do, as in reports.
    where, values = where_sessions(reader, query_of(wanted, fields), debris=True)
    rows = reader.rows(
        f"SELECT project, sum(debris = 0), {once('prompts')}, sum(messages), {once('calls')},"
        f" {', '.join(recorded_sum(name) for name in TOKEN_COLUMNS)}, {once('files')}, {once('added')}, {once('removed')},"
        " min(started_at), max(ended_at), json_group_array(DISTINCT project_dir), sum(source_state = 'live' AND debris = 0),"
        " json_group_array((SELECT c.cost_usd FROM session_costs c WHERE c.session_id = sessions.session_id)), sum(messages + api_messages),"
        " sum(lower_bound_messages), json_group_array((SELECT c.unpriced_models FROM session_costs c WHERE c.session_id = sessions.session_id))"
        f" FROM sessions {REPEATED} WHERE {where} GROUP BY project HAVING sum(debris = 0) ORDER BY max(ended_at) DESC, project",
        (find_repeated_work(reader), *values),
    )
    names = reader.project_names()
    return [_project(row, names[row[0]]) for row in rows]


def _project(row: Any, name: str) -> Project:
    values: Any = (
        row[0],
        name,
        *row[1:12],
        from_milliseconds(row[12]),
        from_milliseconds(row[13]),
        tuple(sorted(from_json(row[14]))),
        row[15],
        together(from_json(row[16]), messages=row[17]),
        row[18],
        tuple(sorted({model for models in from_json(row[19]) for model in from_json(models or "[]")})),
    )
    return Project(*values)


def together(costs: Iterable[str | None], *, messages: int) -> Decimal | None:
    """The total cost of several sessions; None if the model answered and nothing has a price."""
    from decimal import Decimal, localcontext

    known = [Decimal(cost) for cost in costs if cost is not None]
    with localcontext() as context:
        context.prec = 200  # exact
        return sum(known, Decimal(0)) if known or not messages else None


def edited_projects(reader: Reader) -> list[str]:
    """The projects in which sessions changed files."""
    return [row[0] for row in reader.rows("SELECT DISTINCT project FROM sessions WHERE files_changed > 0")]


_UNKNOWN = """
SELECT DISTINCT session_id FROM (
    SELECT session_id FROM prompts WHERE source = 'history' UNION ALL SELECT session_id FROM remarks
) WHERE session_id LIKE ? ESCAPE '\\' AND session_id NOT IN (SELECT session_id FROM sessions) ORDER BY session_id
"""


def find_remarks(reader: Reader, name: str) -> Remarks:
    """The remarks on the session of that name, which may be known only from history.jsonl."""
    session_id = _find_id(reader, name)
    found: dict[str, list[str]] = {}
    for kind, value in reader.rows("SELECT kind, value FROM remarks WHERE session_id = ? ORDER BY id", (session_id,)):
        found.setdefault(kind, []).append(value)
    known = reader.one("SELECT title FROM sessions WHERE session_id = ?", (session_id,))
    own = found.get("title", [])
    return Remarks(
        session_id,
        known[0] if known is not None else own[-1] if own else "",
        renamed=bool(own),
        pinned="" in found.get("pin", ()),
        tags=tuple(found.get("tag", ())),
        notes=tuple(found.get("note", ())),
        pinned_messages=tuple(filter(None, found.get("pin", ()))),
    )


def _find_id(reader: Reader, name: str) -> str:
    try:
        return find_session(reader, name).session_id
    except NotFound:
        found = [] if not name else [str(row[0]) for row in reader.rows(_UNKNOWN, (like(name)[1:],))]
        if name in found or len(found) == 1:
            return name if name in found else found[0]
        if not found:
            raise
        shown = "".join(f"\n  {session_id}" for session_id in found[:8])
        more = f"\n  and {len(found) - 8} more" if len(found) > 8 else ""
        raise Ambiguous(f"{len(found)} sessions match {name!r}:{shown}{more}") from None


def list_tags(reader: Reader) -> list[Tagged]:
    """Every tag and how many sessions have it, most used first; of several spellings, the newest."""
    return [
        Tagged(tag, sessions)
        for tag, sessions, _ in reader.rows(
            "SELECT value, count(DISTINCT session_id), max(id) FROM remarks WHERE kind = 'tag'"
            " GROUP BY folded ORDER BY 2 DESC, folded"
        )
    ]


_GAP = 3  # letters that may be missing between two


def is_similar(text: str, words: str) -> bool:
    """Whether a text has the letters of every word in order and close together."""
    text = text.casefold()
    return all(_has(text, word) for word in words.casefold().split())


def _has(text: str, word: str) -> bool:
    """Whether a text has the letters of a word; a regular expression could try every combination of gaps."""
    ends = [place + 1 for place, letter in enumerate(text) if letter == word[0]]  # behind the letters found so far
    for wanted in word[1:]:
        near = sorted({place for end in ends for place in range(end, min(end + _GAP + 1, len(text)))})
        ends = [place + 1 for place in near if text[place] == wanted]
    return bool(ends)
