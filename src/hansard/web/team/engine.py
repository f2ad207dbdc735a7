"""What the pages ask, answered by a team's database; its connections, one for each thread; and the filters of all questions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import parse_qsl

from hansard.errors import UsageError
from hansard.model import requests
from hansard.model.gate import put_behind_gate
from hansard.model.questions import takes
from hansard.secrets.redactor import store_redactor
from hansard.team import Team
from hansard.web.engine_pool import EnginePool
from hansard.web.parameters import NARROWED, NARROWING

if TYPE_CHECKING:
    from datetime import datetime

    from starlette.types import ASGIApp, Receive, Scope, Send

    from hansard.config import Settings
    from hansard.engine import Hansard
    from hansard.ledger.dimensions import Groups
    from hansard.model.ledger import PriceData, Rate, UsageReport
    from hansard.model.search import Facets, SearchPage
    from hansard.model.sessions import Tagged
    from hansard.team import SessionTexts, TeamSession, TeamSessionPage, TeamStatus

_Answer = TypeVar("_Answer")
_narrowed: ContextVar[Mapping[str, str | None]] = ContextVar("narrowed", default=MappingProxyType({}))


class TeamAddress(NamedTuple):
    """A team's database."""

    url: str
    schema: str


class TeamEngine:
    """Answers the questions of pages as the library's engine does, from what the caller may read in a team's database."""

    def __init__(self, place: TeamAddress, groups: Groups, redact: Callable[[str], str] | None) -> None:
        self._team = Team(place.url, schema=place.schema, read_only=True)
        self._groups = groups
        self.narrowed: Mapping[str, str | None] = {}
        """Parts of the names of the machine and the person to which answers are limited."""
        self.redact = redact
        if redact is not None:
            put_behind_gate(self)

    def close(self) -> None:
        self._team.close()

    @property
    def is_closed(self) -> bool:
        return self._team.is_closed

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Ask several questions about one state of the database."""
        with self._team.at_once():
            yield

    def state(self) -> tuple[str | None, ...]:
        """A value that changes when an answer may change."""
        return self._team.state(), *(self.narrowed.get(name) for name in NARROWING)

    def revision(self) -> int:
        """Always the same: pages of a team get no events."""
        return 0

    def status(self) -> TeamStatus:
        return self._team.status()

    @takes(lambda: requests.UsageRequest)
    def usage(self, request: requests.UsageRequest) -> UsageReport:
        return self._team.usage(request, groups=self._groups, **self.narrowed)

    @takes(lambda: requests.SessionsRequest)
    def sessions(self, request: requests.SessionsRequest) -> TeamSessionPage:
        return self._team.sessions(request, **self.narrowed)

    def session_groups(self, _: requests.SessionGroupsRequest) -> None:
        raise UsageError("sessions of a team's database cannot be grouped here: use the usage report by project or day")

    @takes(lambda: requests.SearchRequest)
    def search(self, request: requests.SearchRequest) -> SearchPage:
        return self._team.search(request, **self.narrowed)

    @takes(lambda: requests.FacetsRequest)
    def facets(self, request: requests.FacetsRequest) -> Facets:
        return self._team.facets(request, **self.narrowed)

    def session(self, name: str) -> TeamSession:
        return self._team.session(name)

    def texts(
        self, session: TeamSession, *, agent_id: str = "", first: int = 0, at: int | None = None, limit: int = 100
    ) -> SessionTexts:
        return self._team.texts(session, agent_id=agent_id, first=first, at=at, limit=limit)

    def tags(self) -> list[Tagged]:
        return self._team.tags()

    def field_values(self, field: str) -> list[str]:
        return self._team.field_values(field)

    def project_names(self) -> dict[str, str]:
        return self._team.project_names()

    def rates(self) -> list[Rate]:
        return self._team.rates()

    def price_data(self) -> PriceData:
        return self._team.price_data()

    def budgets(self, *_: object, **__: object) -> list[Any]:
        """None: the limits of the configuration are those of one person."""
        return []

    def live(self, _: datetime) -> dict[str, datetime]:
        """None: what was pushed is of earlier."""
        return {}

    def secret_counts(self) -> dict[str, int]:
        """None: findings are not pushed."""
        return {}


class TeamPool(EnginePool):
    """Asks a team's database on threads; a connection that broke is made again."""

    def __init__(self, settings: Settings, redact: str, place: TeamAddress) -> None:
        super().__init__(settings, redact)
        self._place = place

    def engine(self) -> Hansard:
        redact = None if self._redact == "off" else store_redactor(self.settings.home, self._redact)
        return cast("Hansard", TeamEngine(self._place, self.settings.groups, redact))

    async def read(self, question: Callable[[Hansard], _Answer]) -> _Answer:
        narrowed = _narrowed.get()

        def narrow(h: Hansard) -> _Answer:
            cast("Any", h).narrowed = narrowed
            return question(h)

        return await super().read(narrow)

    def state(self) -> object:
        """Always the same: what it would take to know is a question to the server. Pages are fresh for a second only."""
        return None

    def fingerprint(self) -> str:
        raise UsageError("answers of a team's database have no tags")  # the endpoints here do not ask for them

    def _read(self, question: Callable[[Hansard], _Answer]) -> _Answer:
        h = self._own_engine()
        with h.at_once():
            self.names = h.project_names()
            return question(h)

    def _own_engine(self) -> Hansard:
        h: Any = getattr(self._own, "engine", None)
        if h is None or h.is_closed:
            if h is not None:
                self._opened.remove(h)
            h = self._own.engine = self.engine()
            self._opened.append(h)
        return cast("Hansard", h)


def narrowing(app: ASGIApp) -> ASGIApp:
    """Limit what requests ask to the machine and the person that their address names, for example `?person=ann`."""

    async def narrowed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(parse_qsl(scope["query_string"].decode("latin-1")))
            values = {name: given.get(name, "").strip() or None for name in NARROWING}
            _narrowed.set(values)
            scope = {**scope, NARROWED: values}
        await app(scope, receive, send)

    return narrowed
