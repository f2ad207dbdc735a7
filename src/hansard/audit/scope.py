"""The sessions of an audit, and what the record keeps of them and cannot say."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hansard.audit.calls import Source
from hansard.audit.paths import Scene
from hansard.clients import client_of
from hansard.model.audit import AgentCount, ClientScope, Completeness, Gap
from hansard.query.compile import SESSIONS, Compiler
from hansard.query.language.options import report_query
from hansard.query.sessions import find_session
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.sqlite import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Collection

    from hansard.model.store_requests import AuditRequest
    from hansard.query.reader import Reader
    from hansard.record.chain import Revision
    from hansard.record.store import Record

_SCENES = 1_000  # kept at hand
_ONE_OF = "session_id IN (SELECT value FROM json_each(?))"
_FACTS = ("modes", "approvals", "denials")
_MODES = (
    "SELECT t.session_id, coalesce(p.ts, 0), p.value, p.detail, p.id FROM permissions p"
    f" CROSS JOIN transcripts t ON t.id = p.id >> {OFFSET_BITS} WHERE p.kind = 'mode' AND t.current = 1"
    " AND t.session_id IN ({sessions}) ORDER BY 1, 2, 5"
)
_SUMS = (
    "SELECT count(*), coalesce(sum(bytes), 0), coalesce(sum(source_state = 'live'), 0), coalesce(sum(source_state = 'gone'), 0),"
    " coalesce(sum(source_state = 'rewritten'), 0), coalesce(sum(issues > 0), 0), coalesce(sum(issues), 0),"
    " coalesce(sum(transcript IS NULL), 0) FROM sessions WHERE {where}"
)


class ModeRow(Struct, frozen=True):
    """A permission mode, from a place on."""

    at: int  # ms; 0: unknown
    mode: str
    words: str
    transcript: int
    offset: int


class Scope:
    """The sessions that a request names, with what calls are judged by; `sessions` are only these."""

    def __init__(self, reader: Reader, request: AuditRequest, sessions: Collection[str] | None = None) -> None:
        self.reader = reader
        self.request = request
        self.asked = request
        if request.session is not None:
            session_id = find_session(reader, request.session).session_id
            words = f"session:{session_id}"
            self.asked = replace(request, filter=f"{request.filter} {words}" if request.filter else words)
        asked = Compiler(reader, SESSIONS).condition(report_query(self.asked))
        self._where, self._values = ("1", ()) if asked is None else (asked.sql, asked.values)
        self._where = f"debris = 0 AND ({self._where})"
        self._only = None if sessions is None else to_json(list(sessions))
        if self._only is not None:
            self._where = f"{_ONE_OF} AND {self._where}"
            self._values = (self._only, *self._values)
        self._scenes: dict[tuple[str, str], Scene] = {}

    def filters(self) -> tuple[str, ...]:
        """The conditions besides the period, as a reader of the report would type them."""
        given = self.asked.given()
        named = [f"{name}: {value}" for name, value in given.items() if name not in ("since", "until")]
        return (
            *named,
            *(
                f"{name}: {value}"
                for name, value in (("query", self.asked.query), ("match", self.asked.match))
                if value is not None
            ),
        )

    # -- what calls are judged by

    @cached_property
    def modes(self) -> dict[str, list[ModeRow]]:
        """The permission modes of each session, in the order of time."""
        found: dict[str, list[ModeRow]] = {}
        sessions = f"SELECT session_id FROM sessions WHERE {self._where}"
        for session_id, at, mode, words, id_ in self.reader.rows(_MODES.format(sessions=sessions), self._values):
            row = ModeRow(at, mode, words, id_ >> OFFSET_BITS, id_ & OFFSET_MASK)
            found.setdefault(session_id, []).append(row)
        return found

    @cached_property
    def _folders(self) -> dict[str, tuple[str, str]]:
        only, values = ("", ()) if self._only is None else (f" WHERE {_ONE_OF}", (self._only,))
        rows = self.reader.rows(f"SELECT session_id, cwd, project FROM sessions{only}", values)
        return {row[0]: row[1:] for row in rows}

    def folder_of(self, session_id: str) -> str:
        """The folder that a session was started in."""
        return self._folders.get(session_id, ("", ""))[0]

    def project_of(self, session_id: str) -> str:
        """The project of a session."""
        return self._folders.get(session_id, ("", ""))[1]

    def scene(self, session_id: str, folder: str, root: str) -> Scene:
        """The surroundings of a call."""
        scene = self._scenes.get((session_id, folder))
        if scene is None:
            if len(self._scenes) >= _SCENES:
                self._scenes.clear()
            projects = tuple(sorted(set(self._folders.get(session_id, ())) - {""}))
            scene = self._scenes[session_id, folder] = Scene(folder or None, projects, root)
        return scene

    def source(self, transcript: int) -> Source:
        """A transcript by its id."""
        columns = "client, session_id, root, path, generation"
        return Source(*self.reader.one(f"SELECT {columns} FROM transcripts WHERE id = ?", (transcript,)))

    # -- what there is

    @cached_property
    def _sums(self) -> Any:
        return self.reader.one(_SUMS.format(where=self._where), self._values)

    @property
    def sessions(self) -> int:
        """Sessions in which something was said."""
        return int(self._sums[0])

    def clients(self) -> tuple[ClientScope, ...]:
        """The clients of the sessions, and what they record about permissions."""
        rows = self.reader.rows(
            f"SELECT client, count(*), json_group_array(DISTINCT version) FROM sessions WHERE {self._where} GROUP BY client ORDER BY 2 DESC, 1",
            self._values,
        )
        return tuple(
            ClientScope(
                client,
                count,
                tuple(fact for fact in _FACTS if fact in client_of(client).permission_facts),
                tuple(sorted(filter(None, from_json(versions)))),
            )
            for client, count, versions in rows
        )

    def agents(self) -> tuple[AgentCount, ...]:
        """The subagents of the sessions, by type."""
        rows = self.reader.rows(
            "SELECT agent_type, count(*), sum(tool_calls) FROM agents WHERE warmup = 0"
            f" AND session_id IN (SELECT session_id FROM sessions WHERE {self._where}) GROUP BY 1 ORDER BY 2 DESC, 1",
            self._values,
        )
        return tuple(AgentCount(*row) for row in rows)

    @property
    def subagents(self) -> int:
        """The number of subagents that the sessions started."""
        return sum(row.agents for row in self.agents())

    def revision(self, record: Record) -> tuple[Revision, str]:
        """The revision of the record that the answers were made from, and when it was written."""
        number = self.reader.revision()  # below 0 during a first sync
        return record.read_revision(number) if number > 0 else record.read_revision(record.head().number)

    def completeness(
        self, record: Record, erasures: int, *, unclear: int, unread: int, unjudged: int, modeless: int
    ) -> Completeness:
        """The extent of the record and its known gaps."""
        from hansard.query.health import list_problems

        sessions, size, live, gone, rewritten, odd, lines, lost = self._sums
        silent = self.reader.one(
            f"SELECT count(*) FROM sessions WHERE {self._where} AND tool_calls > 0 AND session_id NOT IN"
            f" (SELECT t.session_id FROM permissions p CROSS JOIN transcripts t ON t.id = p.id >> {OFFSET_BITS} WHERE p.kind = 'mode')",
            self._values,
        )[0]
        undated = self.reader.one("SELECT count(*) FROM tool_calls WHERE ts IS NULL AND part = 0")[0]
        coverage = self.reader.coverage()
        has_period = self.request.since is not None or self.request.until is not None
        counts = (
            ("sessions with unreadable lines", odd, f"{lines:,} lines are kept, but could not be read as they should"),
            ("sessions without a main transcript", lost, "only subagents, or prompts in the client's history, are left"),
            (
                "calls in a mode that is not recorded",
                modeless,
                f"{silent:,} of the sessions with calls never state a mode, others only after their first calls",
            ),
            ("calls without a time", undated if has_period else 0, "in the whole record; no period contains them"),
            ("calls whose input cannot be read", unread, "counted, not judged: damaged, or too long"),
            ("command lines not understood", unclear, "not valid, or nested too deeply: judged as far as they were understood"),
            ("calls of MCP servers and unknown tools", unjudged, "counted by name, not judged: rules know commands and files"),
            ("erasures", erasures, "from the whole record, by its owner; `hansard forget` has the receipts, without content"),
            ("files not stored or not indexed", len(list_problems(self.reader, record)), "`hansard doctor` lists them"),
            (
                "transcripts not indexed yet",
                coverage.transcripts_total - coverage.transcripts if coverage is not None else 0,
                "the first sync is not complete",
            ),
        )  # fmt: skip
        return Completeness(
            sessions=sessions,
            bytes=size,
            live=live,
            gone=gone,
            rewritten=rewritten,
            gaps=tuple(Gap(*row) for row in counts if row[1]),
        )
