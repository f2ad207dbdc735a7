"""A search tells a login nothing about texts that it may not read, by whatever way the server is asked."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from hansard.model.requests import SearchRequest, SessionsRequest
from tests.team.conftest import Place
from tests.team.server import LOGINS

READ = {
    "keeper": {"/home/ann/webshop"},
    LOGINS[-1]: {"/home/ann/webshop"},
    "ann": {"/home/ann/webshop"},
    "bob": set[str](),
    "cia": {"/home/ann/webshop"},
    "dan": {"/home/ann/webshop"},
}
"""The projects of whose texts each login reads something: ann opened one."""
HIDDEN, ABSENT = "webshop", "zzyzxab"
"""A word of texts that bob may not read, and one that nobody wrote."""


@pytest.mark.parametrize("login", READ)
def test_a_login_finds_its_texts(login: str, shared: Place) -> None:
    with shared.team(login) as team:
        for query in ("", "answer", "webshop", "kind:prompt", "project:webshop", "-kind:title", "near(webshop answer)"):
            page = team.search(SearchRequest(query, facets=True, group=True))
            found = {one.project for one in page.sessions}
            assert found == READ[login], query
            assert bool(page.total) == bool(READ[login])
            assert page.facets is not None
            assert {name for name, _ in page.facets.project} == READ[login]
        for hidden in ("diary", "bob", "api"):
            page = team.search(SearchRequest(hidden, facets=True))
            assert (page.total, page.hits, page.partial) == (0, (), None)
            assert page.facets is not None
            assert page.facets.counted == 0
            assert page.notes == (f"'{hidden}' occurs in no text that you may read",)
            assert not team.sessions(SessionsRequest(query=f"kind:prompt {hidden}")).sessions


def test_what_is_closed_is_found_by_nobody_else(shared: Place) -> None:
    """At once, before the texts are removed."""
    close = "UPDATE scopes SET is_open = %s WHERE project = '/home/ann/webshop' RETURNING 1"
    shared.rows(close, (False,))
    try:
        for login, found in (("ann", True), ("keeper", True), ("cia", False), ("dan", False), ("bob", False)):
            with shared.team(login) as team:
                assert bool(team.search(SearchRequest("webshop")).total) == found, login
                assert bool(shared.rows("SELECT FROM texts", login=login)) == found, login
    finally:
        shared.rows(close, (True,))


FUNCTIONS = (
    "SELECT count(*)::text FROM match_texts({0}, NULL, NULL)",
    "SELECT count(*)::text FROM find_texts({0}, NULL, NULL, NULL, NULL, NULL, 0, 100)",
    "SELECT count_texts(ARRAY[{0}], 100)::text",
    "SELECT count(*)::text FROM pushed_texts WHERE words ~ 'webshop' OR strpos(marks, 'webshop') > 0",
    "SELECT count(*)::text FROM texts WHERE text ILIKE '%webshop%'",
)


@pytest.mark.parametrize("sql", FUNCTIONS)
def test_scopes_cannot_be_named(sql: str, shared: Place) -> None:
    """A word with the number of a scope in front is a word that nobody has."""
    ((scope,),) = shared.rows("SELECT id FROM scopes WHERE project = '/home/ann/webshop'")
    for lexeme in ("webshop", f"{scope}.webshop", f"''{scope}.webshop", f"\\\\{scope}.webshop"):
        asked = sql.format(f"'''{lexeme}'''::tsquery".replace("''''", "''''''")) if "{0}" in sql else sql
        try:
            assert shared.rows(asked, login="bob")[0][0] in ("0", "{0}")
        except psycopg.errors.SyntaxError:
            continue
    assert shared.rows(sql.format("'webshop'::tsquery"), login="dan")[0][0] not in ("0", "{0}")


def explained(database: Any, word: str) -> list[str]:
    """What EXPLAIN counts of a search, apart from its time."""
    sql = (
        "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM match_texts(%s::tsquery, NULL, NULL)",
        "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF) SELECT count_texts(ARRAY[%s::tsquery], 100)",
    )
    for one in sql:
        database.rows(one, (word,))  # the first reads pages into the cache
    return [row[0] for one in sql for row in database.rows(one, (word,))]


def test_counters_are_the_same_for_hidden_words_and_for_none(shared: Place) -> None:
    """With an index of words alone they would count the rows that are hidden."""
    with shared.database("bob") as database:
        assert explained(database, HIDDEN) == explained(database, ABSENT)
        assert explained(database, "web:*") == explained(database, "zzy:*")
    with shared.database("dan") as database:
        assert explained(database, HIDDEN) != explained(database, ABSENT)


def fetched(place: Place, login: str, word: str) -> int:
    """How many rows of the texts a search fetches, by the server's statistics, which every login reads."""
    counter = "SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE schemaname = %s AND relname = 'pushed_texts'"
    with place.database() as owner, place.database(login) as database:
        before = owner.one(counter, (place.schema,))[0]
        database.rows("SELECT FROM match_texts(%s::tsquery, NULL, NULL)", (word,))
        database.rows("SELECT pg_stat_force_next_flush()")
        return int(owner.one(counter, (place.schema,))[0] - before)


def test_statistics_count_no_hidden_rows(shared: Place) -> None:
    assert fetched(shared, "bob", HIDDEN) == fetched(shared, "bob", ABSENT) == 0
    assert fetched(shared, "dan", HIDDEN) > 0


def test_the_planner_knows_no_words(shared: Place) -> None:
    with shared.database() as owner:
        owner.run("ANALYZE pushed_texts")
        assert not owner.rows(
            "SELECT * FROM pg_stats WHERE schemaname = %s AND tablename LIKE '%%text%%'", (shared.schema,)
        )
    with shared.database("bob") as database:
        plans = {
            re.sub(
                r"webshop|zzyzxab", "", str(database.rows(f"EXPLAIN SELECT FROM pushed_texts WHERE words ~ '{word}'"))
            )
            for word in (HIDDEN, ABSENT)
        }
        assert len(plans) == 1


WAYS = (
    "COPY pushed_texts TO STDOUT",
    "COPY (SELECT * FROM texts) TO STDOUT",
    "COPY pushed_sessions (project, title) TO STDOUT",
)


@pytest.mark.parametrize("sql", WAYS)
def test_copy_gives_what_a_select_does(sql: str, shared: Place) -> None:
    with shared.database("bob") as database, database.connection.cursor().copy(sql) as copy:
        assert b"ann" not in b"".join(bytes(piece) for piece in copy)
    with shared.database("dan") as database, database.connection.cursor().copy(sql) as copy:
        assert b"ann" in b"".join(bytes(piece) for piece in copy)


def test_other_ways_to_rows(shared: Place) -> None:
    """Prepared statements, views of one's own, cursors, sequences, and the settings that a session may change."""
    with shared.database("bob") as database:
        database.run("PREPARE all_texts AS SELECT text FROM pushed_texts")
        assert not database.rows("EXECUTE all_texts")
        database.run(
            "CREATE TEMP VIEW mine AS SELECT * FROM pushed_texts; CREATE TEMP VIEW barrier WITH (security_barrier) AS TABLE texts"
        )
        assert not database.rows("TABLE mine") + database.rows("TABLE barrier")
        database.run("BEGIN; DECLARE c CURSOR FOR SELECT text FROM pushed_texts")
        assert not database.rows("FETCH ALL FROM c")
        database.run("COMMIT")
        for setting in (
            "enable_seqscan = off",
            "enable_bitmapscan = off",
            "row_security = on",
            "session_replication_role = replica",
        ):
            try:
                database.run(f"SET {setting}")
            except psycopg.errors.InsufficientPrivilege:
                continue
            assert not database.rows("SELECT FROM pushed_texts")
            assert not database.rows("SELECT FROM match_texts('webshop', NULL, NULL)")
        for sequence in ("machines_id_seq", "scopes_id_seq"):
            for sql in (
                f"SELECT last_value FROM {sequence}",
                f"SELECT nextval('{sequence}')",
                f"SELECT currval('{sequence}')",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    database.rows(sql)
        for sql in (
            "SELECT * FROM pg_statistic",
            "SELECT lo_import('/etc/passwd')",
            "SELECT pg_read_file('postgresql.conf')",
            "COPY pushed_texts TO PROGRAM 'cat'",
            "ALTER TABLE pushed_texts DISABLE ROW LEVEL SECURITY",
            "CREATE POLICY mine ON pushed_texts USING (true)",
            "ALTER FUNCTION readable_scopes() RENAME TO other",
            "CREATE OR REPLACE FUNCTION readable_scopes() RETURNS integer[] LANGUAGE sql AS 'SELECT ARRAY[1,2,3]'",
            "CREATE INDEX ON pushed_texts (text)",
            "VACUUM FULL pushed_texts; SELECT 1",
            "REFRESH MATERIALIZED VIEW texts",
        ):
            with pytest.raises(
                (
                    psycopg.errors.InsufficientPrivilege,
                    psycopg.errors.ActiveSqlTransaction,
                    psycopg.errors.WrongObjectType,
                )
            ):
                database.rows(sql)


def test_tables_of_a_login_do_not_stand_in(shared: Place) -> None:
    """The functions that run as the owner use the owner's tables, operators and functions only."""
    with shared.database("bob") as database:
        database.run(
            "SET search_path = pg_temp; CREATE TEMP TABLE scopes (id int, machine int, project text, is_open bool);"
            "CREATE TEMP TABLE machines (id int, owner text); INSERT INTO machines VALUES (1, 'bob'), (2, 'bob'), (3, 'bob');"
            "INSERT INTO scopes SELECT s, m, 'x', true FROM generate_series(1, 9) s, generate_series(1, 3) m;"
            "CREATE FUNCTION pg_temp.readable_scopes() RETURNS integer[] LANGUAGE sql AS 'SELECT ARRAY[1, 2, 3, 4]';"
            "CREATE FUNCTION pg_temp.is_match(tsvector, tsquery) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
            "CREATE OPERATOR pg_temp.@@ (LEFTARG = tsvector, RIGHTARG = tsquery, FUNCTION = pg_temp.is_match)"
        )
        (schema,) = database.one("SELECT quote_ident(%s)", (shared.schema,))
        assert not database.rows(f"SELECT FROM {schema}.match_texts('webshop', NULL, NULL)")
        assert (
            database.one(f"SELECT {schema}.readable_scopes()")[0]
            == database.one(
                f"SELECT array_agg(s.id ORDER BY s.id) FROM {schema}.scopes s JOIN {schema}.machines m ON m.id = s.machine WHERE m.owner = 'bob'"
            )[0]
        )
