"""A role reads what it may and nothing else, by any SQL."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

import hansard
from hansard.errors import NotFound, UsageError
from hansard.team.connect import ServerUnusable
from hansard.team.schema import TABLES, _secured
from hansard.team.views import VIEWS_SQL
from tests.team.conftest import PROJECTS, Place, push, write_session
from tests.team.server import LOGINS

SEEN = {
    "keeper": {*PROJECTS["ann"], *PROJECTS["bob"]},
    LOGINS[-1]: {*PROJECTS["ann"], *PROJECTS["bob"]},
    "ann": {*PROJECTS["ann"]},
    "bob": {*PROJECTS["bob"]},
    "cia": {"/home/ann/webshop", "/home/bob/webshop"},
    "dan": {"/home/ann/webshop"},
}
"""The projects that each login reads something of."""


@pytest.mark.parametrize("login", SEEN)
def test_a_login_sees_its_projects(login: str, shared: Place) -> None:
    people = {project.split("/")[2] for project in SEEN[login]}
    sessions = {project.replace("/", "-") for project in SEEN[login]}
    with shared.database(login) as database:
        for view in ("sessions", "usage", "projects"):
            assert {row[0] for row in database.rows(f"SELECT project FROM {view}")} == SEEN[login]
        for name in (*(table.name for table in TABLES), *VIEWS_SQL):
            cursor = database.run(f"SELECT * FROM {name}")
            names = [column.name for column in cursor.description]
            rows = cursor.fetchall()
            if "session_id" in names:
                assert {row[names.index("session_id")] for row in rows} <= sessions, name
            if "person" in names:
                assert {row[names.index("person")] for row in rows} <= people, name
        assert {row[0] for row in database.rows("SELECT owner FROM machines")} <= people | {login}


def every_word(place: Place, login: str) -> str:
    """All that a login reads of all tables, views and functions without arguments, as text."""
    found = []
    with place.database(login) as database:
        for (name,) in database.rows(
            "SELECT quote_ident(relname) FROM pg_class WHERE relnamespace = quote_ident(%s)::regnamespace AND relkind IN ('r', 'v')",
            (place.schema,),
        ):
            found += [row[0] for row in database.rows(f"SELECT x::text FROM {name} x")]
        for (name,) in database.rows(
            "SELECT quote_ident(proname) FROM pg_proc WHERE pronamespace = quote_ident(%s)::regnamespace AND pronargs = 0",
            (place.schema,),
        ):
            found += [str(row) for row in database.rows(f"SELECT {name}()::text")]
    return "\n".join(found)


@pytest.mark.parametrize("login", SEEN)
def test_no_word_of_others_is_in_anything_a_login_reads(login: str, shared: Place) -> None:
    said = every_word(shared, login)
    for projects in PROJECTS.values():
        for project in projects:
            assert (project.replace("/", "-") in said) == (project in SEEN[login]), project
    assert ("ann's webshop title" in said) == ("/home/ann/webshop" in SEEN[login])
    for closed in ("ann's diary", "bob's webshop", "bob's api"):
        assert closed not in said


def test_no_statistics_of_values_are_kept(shared: Place) -> None:
    """The catalogue and the planner's estimates would tell what is in rows that a login does not read."""
    with shared.database() as owner:
        for name in _secured():
            owner.run(f"ANALYZE {name}")
        for catalogue in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
            assert not owner.rows(f"SELECT * FROM {catalogue} WHERE schemaname = %s", (shared.schema,))


PROBES = (
    "SELECT 1 / (CASE WHEN project = '/home/bob/api' THEN 0 ELSE 1 END) FROM {0}",
    "SELECT project::integer FROM {0} WHERE project LIKE '%api'",
    "SELECT pg_temp.tell(project) FROM {0}",
    "SELECT * FROM {0} WHERE pg_temp.tell(project)",
    "SELECT * FROM {0} ORDER BY pg_temp.tell(project)",
)


@pytest.mark.parametrize("sql", PROBES)
@pytest.mark.parametrize("name", ["pushed_sessions", "sessions", "usage", "projects", "scopes"])
def test_errors_and_functions_see_no_hidden_rows(name: str, sql: str, shared: Place) -> None:
    """A function that is cheap would be called first, if row-level security allowed that."""
    told: list[str] = []
    with shared.database("ann") as database:
        database.connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        database.run(
            "CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
            " $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
        )
        with contextlib.suppress(psycopg.errors.InvalidTextRepresentation):
            database.run(sql.format(name))
    assert "bob" not in "".join(told)
    assert "ann" in "".join(told) or "tell" not in sql


def refused(place: Place, login: str, sql: str, values: tuple[Any, ...] = ()) -> bool:
    """Whether a statement is refused, or changes nothing."""
    with place.database(login) as database:
        try:
            cursor = database.run(sql, values)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.GeneratedAlways):
            return True
        return bool(cursor.rowcount == 0)


@pytest.mark.parametrize("login", ["ann", "cia", "dan", LOGINS[-1]])
def test_nobody_writes_rows_of_others(login: str, shared: Place) -> None:
    """Not even an admin; nor does anybody but the owner change who may read what."""
    ((machine, scope),) = shared.rows(
        "SELECT m.id, s.id FROM machines m JOIN scopes s ON s.machine = m.id WHERE m.owner = 'bob' AND project LIKE '%api'"
    )
    for table in TABLES:
        assert refused(shared, login, f"UPDATE {table.name} SET machine = machine WHERE machine = %s", (machine,))
        assert refused(shared, login, f"DELETE FROM {table.name} WHERE machine = %s", (machine,))
    assert refused(
        shared, login, "INSERT INTO pushed_sessions (machine, scope, session_id) VALUES (%s, %s, 'x')", (machine, scope)
    )
    assert refused(shared, login, "INSERT INTO machines (owner, name) VALUES ('bob', 'x')")
    assert refused(shared, login, "UPDATE machines SET owner = session_user WHERE id = %s", (machine,))
    assert refused(shared, login, "UPDATE scopes SET is_open = true WHERE id = %s", (scope,))
    assert refused(shared, login, "INSERT INTO scopes (machine, project, is_open) VALUES (%s, 'x', true)", (machine,))
    assert refused(shared, login, "UPDATE members SET role = 'admin'")
    assert refused(shared, login, "INSERT INTO access VALUES (session_user, 'api')")
    assert refused(shared, login, "UPDATE meta SET value = '99'")
    assert refused(shared, login, "TRUNCATE pushed_sessions")
    assert refused(shared, login, "CREATE TABLE mine ()")
    assert refused(shared, login, "SET ROLE keeper")
    assert refused(shared, login, "SET SESSION AUTHORIZATION bob")
    with shared.database(login) as database:
        database.run("SET row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            database.rows("SELECT * FROM pushed_sessions")


def test_a_row_of_ones_own_cannot_be_put_into_anothers_project(shared: Place) -> None:
    ((scope,),) = shared.rows("SELECT id FROM scopes WHERE project = '/home/bob/api'")
    ((machine,),) = shared.rows("SELECT id FROM machines WHERE owner = 'ann'")
    assert refused(shared, "ann", "UPDATE pushed_sessions SET scope = %s WHERE machine = %s", (scope, machine))
    assert not refused(shared, "ann", "UPDATE pushed_sessions SET title = title WHERE machine = %s", (machine,))


def test_a_stranger_reads_nothing(shared: Place, make_place: Callable[[], Place]) -> None:
    other = make_place()
    with pytest.raises(ServerUnusable, match="permission denied"), other.team("ann") as team:
        team.status()
    with other.team() as team:
        team.grant("ann")
        team.revoke("ann")
    with pytest.raises(psycopg.errors.UndefinedTable):
        other.rows("SELECT * FROM pushed_sessions", login="ann")
    assert shared.rows("SELECT count(*) FROM sessions", login="ann") == [(2,)]


def test_rights_are_given_and_taken(place: Place) -> None:
    hostile = LOGINS[-1]
    with place.team() as team:
        assert team.grant(hostile, "lead", ["/src/webshop/", "api"]).projects == ("/src/webshop", "api")
        assert team.grant(hostile, "member", ["x'; DROP TABLE access; --"]).role == "member"
        team.revoke(hostile, ["api", "/src/webshop"])
        (member,) = team.members()
        assert (member.login, member.projects) == (hostile, ("x'; DROP TABLE access; --",))
        with pytest.raises(NotFound, match="no login 'nobody'"):
            team.grant("nobody")
        with pytest.raises(NotFound, match="not a member"):
            team.revoke("ann")
        with pytest.raises(UsageError, match="unknown role"):
            team.grant("ann", "king")
        with pytest.raises(UsageError, match="a project is a path"):
            team.grant("ann", projects=["/"])
    with place.team(hostile) as team, pytest.raises(ServerUnusable, match="permission denied"):
        team.grant("ann")
    with place.team(hostile) as team:
        assert [one.login for one in team.members()] == [hostile]
        assert team.status().role == "member"
    with place.team() as team:
        team.revoke(hostile)
        assert team.members() == []


def test_the_name_of_a_project_covers_whole_parts_of_paths(place: Place, tmp_path: Path) -> None:
    with place.team() as team:
        team.grant("ann")
        team.grant("cia", "lead", ["shop"])
    for cwd in ("/src/shop", "/src/webshop", "/src/shop/api", r"C:\src\shop", "shop"):
        write_session(tmp_path / "claude", cwd, "heron")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        push(h, place, "laptop", login="ann")
    found = {row[0] for row in place.rows("SELECT project FROM sessions", login="cia")}
    assert found == {"/src/shop", r"C:\src\shop", "shop"}
