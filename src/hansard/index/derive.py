"""Derived rows: sessions, their tools and files, subagents and links, from the rows of all transcripts of a session.

Only dirty sessions are derived, each from the stored folds of its transcripts, so the work after an append depends
on the number of transcripts of the session and not on their length. Only its files are counted again from its tool calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from typing import Any

from msgspec import Struct

from hansard.clients.programs import UNIQUE_CALL_IDS, WORKTREES_PATTERN
from hansard.clients.state import State, countable, load
from hansard.index.agents import derive_agents
from hansard.index.links import derive_links, reorder_shared, see, touch_titled
from hansard.index.record_facts import file_title, own_title, project_folder, read_moves, repository_of
from hansard.index.sql import Sql
from hansard.model.names import follow_moves
from hansard.storage import OFFSET_BITS, OFFSET_MASK

# Every generation of a file that has several is former (rewritten) or not the first.
_SEVERAL = (
    "SELECT t.session_id, t.root, t.path, t.generation, t.id, t.current FROM {} t"
    " WHERE (t.generation > 1 OR t.state = 'rewritten') AND {}"
)
_CHANGED = _SEVERAL.format("dirty d CROSS JOIN transcripts", "t.session_id = d.session_id")
_WITHOUT_SESSION = _SEVERAL.format("transcripts", "t.session_id = ''")
# Rows of whole lines never change, so only new ones are read.
_COUNT = (
    "UPDATE transcripts SET counted = indexed, unique_records = iif(kind = 'history', records, unique_records +"
    " (SELECT count(DISTINCT r.uuid) FILTER (WHERE NOT EXISTS (SELECT 1 FROM records o WHERE o.uuid = r.uuid"
    f" AND o.id >= ?1 << {OFFSET_BITS} AND o.id < (?1 << {OFFSET_BITS}) + counted)) + count(*) - count(r.uuid) FROM records r"
    f" WHERE r.id >= (?1 << {OFFSET_BITS}) + counted AND r.id < (?1 << {OFFSET_BITS}) + indexed)) WHERE id = ?1 RETURNING unique_records"
)
_WORKTREE = re.compile(rf"[/\\](?:{WORKTREES_PATTERN}|\.worktrees)[/\\][^/\\].*", re.DOTALL)
_IS_UNIQUE = " OR ".join(f"c.tool_use_id GLOB '{beginning}*'" for beginning in UNIQUE_CALL_IDS)


class Part(Struct, eq=False):
    """One current transcript of a session with its fold."""

    id: int
    root: str
    client: str
    path: str
    kind: str
    source_state: str
    size: int
    agent_id: str
    project_dir: str
    root_uuid: str
    fork_uuid: str
    state: State

    @property
    def low(self) -> int:
        return self.id << OFFSET_BITS

    @property
    def high(self) -> int:
        return self.low + OFFSET_MASK


def derive(db: Sql, isolated: Callable[[str], AbstractContextManager[Any]] = nullcontext) -> int:
    """Derive the rows of every dirty session; returns the number of sessions.

    Each is derived inside `isolated(its id)`, which can contain its errors.
    """
    choose_generations(db)
    relinked = see(db)
    moves = read_moves(db)
    sessions = [row[0] for row in db.execute("SELECT session_id FROM dirty ORDER BY session_id")]
    for session_id in sessions:
        with isolated(session_id):
            parts = _parts(db, session_id)
            derive_agents(db, session_id, parts)
            _derive_session(db, session_id, parts, moves)
            derive_links(db, session_id, parts, _main(parts))
    for session_id in sorted(relinked.difference(sessions)):
        with isolated(session_id):
            parts = _parts(db, session_id)
            derive_links(db, session_id, parts, _main(parts))
    db.execute("DELETE FROM dirty")
    return len(sessions)


def _parts(db: Sql, session_id: str) -> list[Part]:
    rows = db.execute(
        "SELECT id, root, client, path, kind, iif(state = 'rewritten' AND NOT EXISTS (SELECT 1 FROM transcripts l WHERE l.session_id ="
        " t.session_id AND l.path = t.path AND l.root = t.root AND l.state = 'live'), 'gone', state), size, agent_id, project_dir,"
        " root_uuid, fork_uuid, coalesce(tail_fold, fold) FROM transcripts t WHERE session_id = ? AND current = 1 AND kind NOT IN ('history', 'cast')"
        " ORDER BY path, root",
        (session_id,),
    )
    values: Iterator[Any] = ((*facts, load(fold)) for *facts, fold in rows)
    return [Part(*value) for value in values]


def _main(parts: list[Part]) -> Part | None:
    """The main transcript; of several, as after a resume in a new file or in a synced copy, the one with the most conversation."""
    mains = [part for part in parts if part.kind in ("main", "log")]
    return min(mains, key=_order) if mains else None


def _order(part: Part) -> tuple[int, int, bool, str, str]:
    said = part.state.prompts + part.state.replies + part.state.tool_calls
    return -said, -part.size, part.source_state != "live", part.path, part.root


def _derive_session(db: Sql, session_id: str, parts: list[Part], moves: Mapping[str, str]) -> None:
    db.execute("DELETE FROM session_tools WHERE session_id = ?", (session_id,))
    if not parts:
        db.execute("DELETE FROM sessions WHERE session_id = ?", (session_id,))
        _derive_files(db, session_id, [])
        return
    mains = [part for part in parts if part.kind in ("main", "log")]
    main = _main(parts)
    subagents: dict[str, Part] = {}
    for part in parts:
        if part.kind == "agent" and (part.agent_id not in subagents or part.size > subagents[part.agent_id].size):
            subagents[part.agent_id] = part
    counted = ([main] if main else []) + list(subagents.values())
    lead = main or counted[0] if counted else parts[0]
    states = [part.state for part in counted] or [lead.state]
    first = lead.state
    title, title_source = _title(db, session_id, lead, is_main=main is not None)
    prompts = first.prompts + first.queued if main else 0
    replies = sum(state.replies + state.tool_calls for state in states)
    warmups_only = main is None and all(state.warmup for state in states)
    cwd = first.cwd or next((state.cwd for state in states if state.cwd), "")
    cwd = cwd or project_folder(db, lead.root, lead.project_dir or session_id)
    worktree_of = first.worktree_of or next((state.worktree_of for state in states if state.worktree_of), "")
    worktree_of = worktree_of or repository_of(db, cwd)
    done = _calls(db, counted)
    tools: dict[str, list[int]] = {}
    for tool, _, calls, errors, *_ in done:
        counts = tools.setdefault(countable(tool, tools), [0, 0])
        counts[0] += calls
        counts[1] += errors
    usage = db.execute(
        "SELECT input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, api_messages, lower_bound_messages"
        " FROM session_usage WHERE session_id = ?",
        (session_id,),
    ).fetchone() or (0, 0, 0, 0, 0, 0)
    starts = [state.first_ts for state in states if state.first_ts is not None]
    ends = [state.last_ts for state in states if state.last_ts is not None]
    agents = db.execute("SELECT count(*) FROM agents WHERE session_id = ? AND warmup = 0", (session_id,)).fetchone()
    db.execute(
        f"INSERT OR REPLACE INTO sessions VALUES ({','.join('?' * 44)})",
        (
            session_id,
            main.id if main else None,
            lead.root,
            lead.client,
            follow_moves(project_of(cwd, worktree_of), moves) or lead.project_dir,
            lead.project_dir,
            cwd,
            first.branches[0] if first.branches else "",
            json.dumps(_union([state.branches for state in states])),
            first.version,
            json.dumps(_union([state.versions for state in states])),
            json.dumps(_models(db, session_id, [*states, *(part.state for part in parts)])),
            title,
            title_source,
            first.first_prompt if main else "",
            min(starts, default=None),
            max(ends, default=None),
            prompts,
            first.commands,
            sum(row[2] for row in done),
            sum(row[3] for row in done),
            sum(state.api_errors for state in states),
            agents[0],
            sum(state.compactions for state in states),
            sum(state.hooks for state in states),
            sum(state.images for state in states),
            _derive_files(db, session_id, done),
            sum(row[7] for row in done),
            sum(row[8] for row in done),
            *usage,
            max(usage[4], sum(state.answers for state in states)),
            sum(part.state.issues for part in parts),
            sum(part.size for part in parts),
            len(parts),
            _source_state(mains or parts),
            int(warmups_only or (not prompts and not replies and not first.first_command)),
            first.team,
            json.dumps(_union([state.pull_requests for state in states])),
            first.cost_state,
        ),
    )
    db.executemany(
        "INSERT INTO session_tools VALUES (?,?,?,?)",
        ((session_id, tool, *counts) for tool, counts in sorted(tools.items())),
    )


def _models(db: Sql, session_id: str, states: list[State]) -> list[str]:
    """The models of a session: by their answers in its conversation, then by those in subagents, then as they were seen."""
    models = _union([state.models for state in states])
    if len(models) > 1:
        answers: dict[str, tuple[int, int]] = {
            model: (-own, -count)
            for model, own, count in db.execute(
                "SELECT model, sum(agent_id = ''), count(*) FROM usage WHERE session_id = ? GROUP BY model",
                (session_id,),
            )
        }
        models.sort(key=lambda model: answers.get(model, (0, 0)))
    return models


def _source_state(parts: list[Part]) -> str:
    """Live if a file still has what is shown; else rewritten if one has less of it, or freed if the user removed one."""
    states = {part.source_state for part in parts}
    return next((state for state in ("live", "rewritten", "freed") if state in states), "gone")


def _title(db: Sql, session_id: str, lead: Part, *, is_main: bool) -> tuple[str, str]:
    """The best available title, and its source."""
    state = lead.state
    custom = state.custom_title or file_title(db, session_id)
    yours = own_title(db, session_id)
    for title, source in ((yours, "yours"), (custom, "custom"), (state.agent_name, "agent"), (state.ai_title, "ai")):
        if title.strip():
            return title.strip(), source
    row = db.execute(
        "SELECT s.summary FROM sightings g CROSS JOIN summaries s ON s.leaf_uuid = g.uuid"
        f" CROSS JOIN transcripts t ON t.id = s.id >> {OFFSET_BITS}"
        " WHERE g.record_id BETWEEN ? AND ? AND t.current = 1 ORDER BY g.record_id DESC, t.mtime DESC, t.path, t.root, s.id & ? DESC LIMIT 1",
        (lead.low, lead.high, OFFSET_MASK),
    ).fetchone()
    if row is not None and row[0].strip():
        return row[0].strip(), "summary"
    if is_main and state.first_prompt:
        return _of_prompt(state.first_prompt), "prompt"
    if is_main and state.first_command:
        return state.first_command, "command"
    return "", "none"


def _of_prompt(prompt: str) -> str:
    """A prompt as a title; if it only hands over a plan, the plan's heading."""
    plan = prompt.removeprefix("Implement the following plan:").strip()
    if plan == prompt or not plan:
        return prompt
    heading = plan.lstrip("# ").partition(" ## ")[0].strip()
    return heading.removeprefix("Plan:").strip() or prompt


def _calls(db: Sql, parts: list[Part]) -> list[Any]:
    """The sums of a session's tool calls by tool and path; one that a subagent or a later line repeats counts once.

    Ids of the API identify a call; gateways number the calls of each message from the start.
    """
    # Without the hint SQLite would read the whole index on `path` to get the groups in order.
    return db.execute(
        "SELECT tool, path, sum(part = 0), sum(is_error * (part = 0)), count(change), sum(added), sum(removed), sum(added * (part = 0)), sum(removed * (part = 0)), count(*) FROM (SELECT min(c.tool) AS tool,"
        " max(c.path) AS path, max(c.is_error) AS is_error, max(c.change) AS change, max(c.added) AS added,"
        " max(c.removed) AS removed, c.part AS part FROM json_each(?) p CROSS JOIN tool_calls c NOT INDEXED"
        f" ON c.id BETWEEN p.value << {OFFSET_BITS} AND (p.value << {OFFSET_BITS}) + {OFFSET_MASK}"
        " LEFT JOIN messages m ON m.id = c.message_id"
        f" GROUP BY CASE WHEN {_IS_UNIQUE} THEN c.tool_use_id"
        " WHEN c.tool_use_id = '' OR m.key IS NULL THEN c.id ELSE m.key || ' ' || c.tool_use_id END) GROUP BY tool, path",
        (json.dumps([part.id for part in parts]),),
    ).fetchall()


def _derive_files(db: Sql, session_id: str, done: list[Any]) -> int:
    """Bring the rows of a session's files up to date; returns how many files it changed.

    Most calls name a known file, so only differences are written.
    """
    files: dict[str, tuple[int, ...]] = {}
    for _, path, _, _, *changed, _, _, calls in done:
        if path is not None:
            counts, known = (calls, *changed), files.get(path)
            files[path] = counts if known is None else tuple(map(sum, zip(known, counts, strict=True)))
    before = {
        path: tuple(counts)
        for path, *counts in db.execute(
            "SELECT path, calls, changes, added, removed FROM session_files WHERE session_id = ?", (session_id,)
        )
    }
    db.executemany(
        "DELETE FROM session_files WHERE session_id = ? AND path = ?",
        ((session_id, path) for path in before.keys() - files.keys()),
    )
    db.executemany(
        "INSERT OR REPLACE INTO session_files VALUES (?,?,?,?,?,?)",
        ((session_id, path, *counts) for path, counts in files.items() if before.get(path) != counts),
    )
    return sum(1 for counts in files.values() if counts[1])


def _union(lists: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(item for items in lists for item in items))


def project_of(cwd: str, worktree_of: str = "") -> str:
    """The project of a start directory: itself, or the repository whose worktree it is."""
    path = worktree_of or _WORKTREE.sub("", cwd)
    if len(path) > 1:
        path = path.rstrip("/\\") or path
    # Windows drive letters come in both cases for the same directory.
    if len(path) > 1 and path[1] == ":" and path[0].isalpha():
        path = path[0].upper() + path[1:]
    return path


def choose_generations(db: Sql) -> None:
    """Choose the generation to read (`current`) of each rewritten file, in sessions that changed.

    Clients only append, also when they compact or rewind, so a file that was truncated or rewritten met an accident, an editor or a tool
    that syncs folders. Of the generations that name one session, the one with the most distinct records (by uuid) is read. That
    order is total, so comparing them in any order gives the same answer. A later generation that continues an earlier one
    therefore wins, and among equals the latest, which may be a deliberate edit. Generations that name different sessions, as when
    a saved stream is overwritten, are all read. Only generations that grew are counted again.
    """
    rows = sorted([*db.execute(_CHANGED).fetchall(), *db.execute(_WITHOUT_SESSION).fetchall()])
    for _, group in groupby(rows, key=lambda row: row[:3]):
        former: dict[int, int] = {}
        sizes: dict[int, int] = {}
        for *_, transcript, current in group:
            former[transcript] = current
            sizes[transcript] = db.execute(_COUNT, (transcript,)).fetchall()[0][0]
        best = max(sizes, key=lambda transcript: (sizes[transcript], transcript))
        for transcript, current in former.items():
            if current != (transcript == best):
                db.execute("UPDATE transcripts SET current = 1 - current WHERE id = ?", (transcript,))
                reorder_shared(db, transcript)
                touch_titled(db, transcript)
