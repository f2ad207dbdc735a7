"""Equal conditions give equal answers, however they are asked: by the library, a query, the API or a command.

They are those of a slow look at every session, call and text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hansard
from hansard.index.schema import SNAPSHOT_TEXT
from hansard.model.requests import SearchRequest
from hansard.query import language as q
from hansard.query.language.options import make_query
from hansard.query.search.pages import Search
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from tests.cli.conftest import runner
from tests.query.search import slowly

if TYPE_CHECKING:
    import httpx

    from hansard.engine import Hansard
    from hansard.model.calls import Call
    from hansard.model.sessions import Session
    from tests.web.serving import Site

NOW = datetime.now(UTC)
FLAGS = {"has_errors": "is:error", "pinned": "is:pinned"}
PARAMETERS = {"has_errors": "errors", "source_state": "state"}
OPTIONS = {"has_errors": "--errors", "version": "--client-version"}
Conditions = dict[str, Any]


class History:
    """A store, a client of its API, and all that it holds."""

    def __init__(self, h: Hansard, client: httpx.Client, places: tuple[Path, Path]) -> None:
        self.h = h
        self.client = client
        self.places = places
        self.sessions = {one.session_id: one for one in h.sessions(limit=None, debris=True).sessions}
        self.tools: dict[str, set[str]] = {}
        for session_id, tool in h.reader.rows("SELECT session_id, tool FROM session_tools"):
            self.tools.setdefault(session_id, set()).add(tool)
        self.calls = list(every_call(h, None))
        self.texts = [said for said in slowly.everything(h) if said.kind != "reminder"]  # found only by its name

    def get(self, path: str, **parameters: Any) -> Any:
        answer = self.client.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def history(demo: Site, demo_store: tuple[Path, Path]) -> Iterator[History]:
    root, home = demo_store
    with hansard.open(home, [root]) as h, demo.client() as client:
        yield History(h, client, (root, home))


def moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def as_text(conditions: Conditions) -> str:
    """The conditions in the query language."""
    words = []
    for name, value in conditions.items():
        if name in FLAGS:
            words.append(FLAGS[name])
        elif isinstance(value, datetime):
            words.append(f"{'since' if name == 'since' else 'before'}:{moment(value)}")
        elif name == "source_state":
            words.append(f"is:{value}")
        else:
            words.append(f"{name}:{value}")
    return " ".join(words)


def as_parameters(conditions: Conditions) -> dict[str, str]:
    def written(value: Any) -> str:
        return "true" if value is True else moment(value) if isinstance(value, datetime) else str(value)

    return {PARAMETERS.get(name, name): written(value) for name, value in conditions.items()}


def as_options(conditions: Conditions) -> list[str]:
    words = []
    for name, value in conditions.items():
        if name == "source_state":
            words.append(f"--{value}")
        else:
            words.append(OPTIONS.get(name, f"--{name}"))
            words += [] if value is True else [moment(value) if isinstance(value, datetime) else value]
    return words


def within(at: datetime | None, name: str, bound: datetime) -> bool:
    return at is not None and (at >= bound if name == "since" else at < bound)


def fits_session(history: History, one: Session, name: str, value: Any) -> bool:
    match name:
        case "since":
            return within(one.ended_at, name, value)
        case "until":
            return within(one.started_at, name, value)
        case "project":
            return value.lower() in one.project.lower()
        case "branch":
            return any(value.lower() in branch.lower() for branch in one.branches)
        case "model":
            return any(value.lower() in model.lower() for model in one.models)
        case "version":
            return any(version == value or version.startswith(value.rstrip(".") + ".") for version in one.versions)
        case "tool":
            wanted, prefix = value.removesuffix("*"), value.endswith("*")
            tools = history.tools.get(one.session_id, ())
            return any(slowly.has_tool(tool, wanted, prefix=prefix) for tool in tools)
        case "has_errors":
            return one.tool_errors + one.api_errors > 0
        case "source_state":
            return bool(one.source_state == value)
    raise NotImplementedError(name)


def fits_call(history: History, one: Call, name: str, value: Any) -> bool:
    match name:
        case "since" | "until":
            return within(one.at, name, value)
        case "tool":
            return slowly.has_tool(one.tool, value.removesuffix("*"), prefix=value.endswith("*"))
        case "has_errors":
            return one.is_error
    owner = history.sessions.get(one.session_id)
    return owner is not None and fits_session(history, owner, name, value)


TIMES = st.integers(0, 60 * 24 * 60).map(
    lambda minutes: datetime.fromtimestamp(NOW.timestamp() // 60 * 60 - minutes * 60, UTC)
)
PROJECTS = st.sampled_from(["tide", "TIDEWATER", "app", "none-such", "e"])
TOOLS = st.sampled_from(
    ["Bash", "bash", "Read", "Edit*", "mcp*", "mcp__tracker__find", "web_fetch", "WebFetch", "none", "T*"]
)
COMMON = {"project": PROJECTS, "since": TIMES, "until": TIMES, "tool": TOOLS, "has_errors": st.just(value=True)}
OF_SESSIONS = {
    **COMMON,
    "branch": st.sampled_from(["main", "FIX", "none-such"]),
    "model": st.sampled_from(["opus", "SONNET", "none-such"]),
    "version": st.sampled_from(["2", "2.1", "2.0", "1.0", "2.1.", "2.1.1"]),
    "source_state": st.sampled_from(["live", "gone"]),
}


def some(choices: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Conditions]:
    return st.fixed_dictionaries({}, optional=choices).filter(lambda one: 0 < len(one) < 4)


once = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@once
@given(conditions=some(OF_SESSIONS))
def test_sessions(history: History, conditions: Conditions) -> None:
    wanted = {
        id_
        for id_, one in history.sessions.items()
        if not one.debris and all(fits_session(history, one, *item) for item in conditions.items())
    }

    def ids(page: Any) -> set[str]:
        return {one.session_id for one in page.sessions}

    assert ids(history.h.sessions(limit=None, **conditions)) == wanted
    assert ids(history.h.sessions(as_text(conditions), limit=None)) == wanted
    answer = history.get("/api/sessions", limit="500", **as_parameters(conditions))
    assert {one["session_id"] for one in answer["sessions"]} == wanted
    groups = history.h.session_groups(by="project", limit=500, each=500, **conditions)
    assert {one.session_id for group in groups.groups for one in group.sessions} == wanted


@once
@given(conditions=some(COMMON))
def test_calls(history: History, conditions: Conditions) -> None:
    def key(one: Call) -> tuple[str, int, int]:
        return one.transcript, one.offset, one.block

    wanted = {key(one) for one in history.calls if all(fits_call(history, one, *item) for item in conditions.items())}
    assert set(map(key, every_call(history.h, None, **conditions))) == wanted
    assert set(map(key, every_call(history.h, as_text(conditions)))) == wanted
    parameters = as_parameters({name: value for name, value in conditions.items() if name != "has_errors"})
    if "has_errors" in conditions:
        parameters["kind"] = "errors"
    assert history.get("/api/calls", limit="1", **parameters)["total"] == len(wanted)


@once
@given(conditions=some(OF_SESSIONS), word=st.sampled_from(["", "the", "kind:prompt", "test OR file"]))
def test_search(history: History, conditions: Conditions, word: str) -> None:
    query = word or "kind:prompt,reply,call,result,thinking,command,title,note"
    node = make_query(query, SearchRequest(query, **conditions), now=NOW)
    assert node is not None

    def fits(node: q.Node, said: slowly.Said) -> bool:
        match node:
            case q.And(nodes):
                return all(fits(part, said) for part in nodes)
            case q.Or(nodes):
                return any(fits(part, said) for part in nodes)
        return slowly.fits(node, said, lambda _: 0)

    wanted = {said.place for said in history.texts if fits(node, said)}
    reader = history.h.reader
    for request in (
        SearchRequest(query, now=NOW, **conditions),
        SearchRequest(f"({query}) {as_text(conditions)}", now=NOW),
    ):
        ids = {id_ for id_ in Search(reader, request).finder.ids() if id_ < SNAPSHOT_TEXT}
        assert {(id_ >> OFFSET_BITS, id_ & OFFSET_MASK) for id_ in ids} == wanted


@once
@given(conditions=some(OF_SESSIONS))
def test_prompts_usage_and_tools(history: History, conditions: Conditions) -> None:
    h, text = history.h, as_text(conditions)
    assert h.prompts(limit=None, **conditions) == h.prompts(text, limit=None)
    one, other = h.usage(by="model", **conditions), h.usage(text, by="model")
    assert (one.rows, one.totals) == (other.rows, other.totals)
    assert h.tools(**conditions).tools == h.tools(text).tools
    assert h.files(limit=500, **conditions).total == len(
        {call.path for call in every_call(h, text, kind="changes")} - {None}
    )


def every_call(h: Hansard, query: str | None, **options: Any) -> Iterator[Call]:
    cursor = None
    while True:
        page = h.calls(query, limit=500, cursor=cursor, **options)
        yield from page.calls
        cursor = page.next_cursor
        if cursor is None:
            return


@pytest.mark.parametrize(
    "conditions",
    [
        {"tool": "bash"},
        {"tool": "mcp*"},
        {"version": "2.1"},
        {"version": "2"},
        {"project": "TIDE", "has_errors": True},
        {"branch": "main", "model": "opus"},
        {"since": datetime(2026, 1, 1, tzinfo=UTC), "tool": "edit"},
        {"source_state": "gone"},
    ],
)
def test_commands(history: History, conditions: Conditions) -> None:
    run = runner(*history.places)
    asked = ["sessions", *as_options(conditions), "--limit", "0", "--no-sync", "--json"]
    told = run("sessions", as_text(conditions), "--limit", "0", "--no-sync", "--json", code=None)
    found = run(*asked, code=None)
    assert json.loads(found.stdout)["sessions"] == json.loads(told.stdout)["sessions"]
    wanted = {one.session_id for one in history.h.sessions(limit=None, **conditions).sessions}
    assert {one["session_id"] for one in json.loads(found.stdout)["sessions"]} == wanted


def test_an_unknown_condition_is_refused(history: History) -> None:
    with pytest.raises(TypeError, match="colour"):
        history.h.sessions(colour="blue")  # type: ignore[call-overload]
