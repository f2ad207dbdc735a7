"""A team's database, opened: what the library and the front ends ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from hansard.model.fields import Timestamp
from hansard.team import roles, schema
from hansard.team.connect import SCHEMA, Database

if TYPE_CHECKING:
    from hansard.ledger.dimensions import Groups
    from hansard.model.ledger import PriceData, Rate, UsageReport
    from hansard.model.requests import FacetsRequest, SearchRequest, SessionsRequest, UsageRequest
    from hansard.model.search import Facets, SearchPage
    from hansard.model.sessions import Tagged
    from hansard.team.roles import Member
    from hansard.team.session_texts import SessionTexts
    from hansard.team.sessions import TeamSession, TeamSessionPage


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

    def __init__(self, url: str, *, schema: str = SCHEMA, read_only: bool = False) -> None:
        """With `read_only`, the server refuses every write."""
        self._database = Database(url, schema)
        if read_only:
            self._database.only_read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    @property
    def is_closed(self) -> bool:
        """Whether the connection is over, for example because the server is."""
        return self._database.connection.closed

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Ask several questions about one state of the database, if it was opened with `read_only`."""
        with self._database.transaction():
            yield

    def state(self) -> str:
        """A value that changes when anything in the database is written to."""
        with self._database.errors():
            return str(self._database.one("SELECT pg_current_snapshot()")[0])

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

    def facets(self, request: FacetsRequest, *, machine: str | None = None, person: str | None = None) -> Facets:
        """The newest matches of a query counted by project, tool, kind, model, day and month."""
        from hansard.team.search import TeamSearch

        schema.check_version(self._database)
        return TeamSearch(self._database, request, machine=machine, person=person).facets(request.most)

    def session(self, name: str) -> TeamSession:
        """The session with this id, or the only one whose id begins like this."""
        from hansard.team.sessions import read_session

        schema.check_version(self._database)
        return read_session(self._database, name)

    def texts(
        self, session: TeamSession, *, agent_id: str = "", first: int = 0, at: int | None = None, limit: int = 100
    ) -> SessionTexts:
        """Texts of a session in their order, from number `first` on, or those around the line at a byte offset."""
        from hansard.team.session_texts import read_texts

        return read_texts(
            self._database, session.session_id, session.machine, agent_id=agent_id, first=first, at=at, limit=limit
        )

    def tags(self) -> list[Tagged]:
        """All tags with their number of sessions."""
        from hansard.team.sessions import list_tags

        return list_tags(self._database)

    def field_values(self, field: str, *, limit: int = 200) -> list[str]:
        """The values of a field of the query language, the most frequent first."""
        from hansard.team.sessions import list_values

        return list_values(self._database, field, limit)

    def project_names(self) -> dict[str, str]:
        """The display name of each project by its path: the shortest unique suffix."""
        from hansard.team.sessions import project_names

        return project_names(self._database)

    def rates(self) -> list[Rate]:
        """The dated rates of every model, as the machines with the newest price data resolved them."""
        from hansard.team.usage import rates_of_team

        return rates_of_team(self._database)

    def price_data(self) -> PriceData:
        """Where the rates come from."""
        from hansard.team.usage import newest_price_data

        return newest_price_data(self._database)
