"""A team's database, opened: what the library and the front ends ask."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from hansard.model.fields import Timestamp
from hansard.team import roles, schema
from hansard.team.connect import SCHEMA, Database

if TYPE_CHECKING:
    from hansard.ledger.dimensions import Groups
    from hansard.model.ledger import UsageReport
    from hansard.model.requests import SearchRequest, SessionsRequest, UsageRequest
    from hansard.model.search import SearchPage
    from hansard.team.roles import Member
    from hansard.team.sessions import TeamSessionPage


class Machine(Struct, frozen=True):
    """A machine that has pushed."""

    machine: str
    owner: str
    version: str  # of Hansard, at its last push
    pushed_at: Timestamp | None
    sessions: int  # of which the caller may read something
    opened: tuple[str, ...]  # projects with content


class TeamStatus(Struct, frozen=True):
    """A team's database at a glance, as far as the caller may see it."""

    login: str
    role: str  # owner: of the tables; none: not a member
    schema_version: int
    machines: tuple[Machine, ...]


class Team:
    """A team's database. Use it in a `with`, or call `close()`."""

    def __init__(self, url: str, *, schema: str = SCHEMA) -> None:
        self._database = Database(url, schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def init(self) -> tuple[int, int]:
        """Create the tables or upgrade them; returns the version of the schema before and after."""
        return schema.init(self._database)

    def grant(self, login: str, role: str = "member", projects: Sequence[str] = ()) -> Member:
        """Make a login of the server a member, and give it projects."""
        schema.check_version(self._database)
        return roles.grant(self._database, login, role, projects)

    def revoke(self, login: str, projects: Sequence[str] = ()) -> None:
        """Take projects from a member, or all rights."""
        schema.check_version(self._database)
        roles.revoke(self._database, login, projects)

    def members(self) -> list[Member]:
        """The members that the caller may see."""
        schema.check_version(self._database)
        return roles.members(self._database)

    def status(self) -> TeamStatus:
        """The machines that have pushed, and who the caller is."""
        database = self._database
        schema.check_version(database)
        with database.errors():
            login, role = database.one(
                "SELECT session_user, CASE WHEN pg_has_role(session_user, relowner, 'MEMBER') THEN 'owner' ELSE coalesce(my_role(), 'none') END"
                " FROM pg_class WHERE oid = 'machines'::regclass"
            )
            machines = database.rows(
                "SELECT m.label, m.owner, m.version, m.pushed_at, (SELECT count(*) FROM pushed_sessions s WHERE s.machine = m.id),"
                " array(SELECT project FROM scopes c WHERE c.machine = m.id AND c.is_open ORDER BY project)"
                " FROM machines m ORDER BY m.label"
            )
            version = schema.version_of(database)
        found = [
            Machine(label, owner, made_by, at, sessions, tuple(opened))
            for label, owner, made_by, at, sessions, opened in machines
        ]
        return TeamStatus(login, role, version, tuple(found))

    def usage(
        self,
        request: UsageRequest,
        *,
        machine: str | None = None,
        person: str | None = None,
        groups: Groups = MappingProxyType({}),
    ) -> UsageReport:
        """Tokens and cost of what the caller may read, as `Hansard.usage` reports them; `by` may be machine and person too."""
        from hansard.team.usage import team_usage

        schema.check_version(self._database)
        return team_usage(self._database, request, machine=machine, person=person, groups=groups)

    def sessions(
        self, request: SessionsRequest, *, machine: str | None = None, person: str | None = None
    ) -> TeamSessionPage:
        """A page of the sessions that the caller may read, as `Hansard.sessions` lists them."""
        from hansard.team.sessions import list_sessions

        schema.check_version(self._database)
        return list_sessions(self._database, request, machine=machine, person=person)

    def search(self, request: SearchRequest, *, machine: str | None = None, person: str | None = None) -> SearchPage:
        """The matches of a query in texts of opened projects that the caller may read, as `Hansard.search` finds them."""
        from hansard.team.search import TeamSearch

        schema.check_version(self._database)
        return TeamSearch(self._database, request, machine=machine, person=person).page()
