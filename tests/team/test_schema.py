"""The schema: made, upgraded, and refused where it is newer."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import hansard
from benchmarks.postgres import Server
from hansard.errors import StoreNewer, UsageError
from hansard.sql.views import VIEWS
from hansard.team import schema
from hansard.team.connect import Database, ServerUnusable, hide_password
from hansard.team.schema import TABLES, VERSION, create
from hansard.team.search_sql import LEXEMES, SEARCH_FUNCTIONS
from hansard.team.store import Team
from hansard.team.views import VIEWS_SQL
from tests.team.conftest import Place, push, write_session

MADE_BY = {
    1: "c32311d2147c98fd",
    2: "c1ed1ba07518992d",
    3: "711560a6cac4243f",
    4: "c64e3cb9ea9aac54",
    5: "cbaeec30f4c2ef5f",
}
"""For each version a digest of all it makes: a change of tables, views, functions or policies is a new version."""


def test_a_change_of_the_schema_is_a_version() -> None:
    made = [
        *schema._TABLES.values(),
        schema._FUNCTIONS,
        SEARCH_FUNCTIONS,
        LEXEMES,
        *schema._policies(),
        *VIEWS_SQL.values(),
    ]
    made += [create(table) for table in TABLES]
    assert MADE_BY[VERSION] == hashlib.sha256("\n".join(made).encode()).hexdigest()[:16], (
        "raise VERSION and add its digest"
    )


def test_every_public_view_is_there() -> None:
    assert set(VIEWS) <= set(VIEWS_SQL)


def test_init_is_repeated_without_loss(place: Place) -> None:
    with place.team() as team:
        team.grant("ann", "lead", ["webshop"])
        assert team.init() == (VERSION, VERSION)
        assert [member.projects for member in team.members()] == [("webshop",)]
    assert place.rows("SELECT count(*) FROM sessions", login="ann") == [(0,)]


def test_columns_that_views_gained_are_added(place: Place) -> None:
    with place.database() as database:
        database.run("UPDATE meta SET value = '0' WHERE name = 'version'")
        for name in reversed(VIEWS_SQL):
            database.run(f"DROP VIEW {name}")
        database.run("ALTER TABLE pushed_sessions DROP COLUMN team")
        database.run("UPDATE meta SET value = '1'")
    with place.team() as team:
        team.init()
    assert place.rows("SELECT team FROM sessions") == []


def test_an_upgrade_keeps_what_was_pushed(tmp_path: Path, place: Place) -> None:
    """Version 2 had no texts; the next push brings them, and nothing else again."""
    write_session(tmp_path / "claude", "/src/webshop", "heron")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        first = push(h, place, "laptop", opened=("webshop",))
        with place.database() as database:
            database.run(f"DROP VIEW {', '.join(VIEWS_SQL)}")
            database.run(
                "DROP TABLE pushed_texts, text_pages; UPDATE session_states SET state = ''; UPDATE meta SET value = '2'"
            )
        with place.team() as team, pytest.raises(ServerUnusable, match="runs `hansard team init` to upgrade"):
            team.status()
        with place.team() as team:
            assert team.init() == (2, VERSION)
        assert place.rows("SELECT title FROM sessions") == [("heron title",)]
        again = push(h, place, "laptop", opened=("webshop",))
        assert (first.pages, again.pages) == (3, 1)
    assert place.rows("SELECT text FROM texts WHERE kind = 'reply'") == [("heron answer",)]


def test_a_newer_schema_is_refused(place: Place) -> None:
    place.rows("UPDATE meta SET value = '99' WHERE name = 'version' RETURNING 1")
    with place.team() as team:
        for ask in (team.init, team.status, team.members):
            with pytest.raises(StoreNewer, match="update Hansard"):
                ask()


def test_a_database_without_tables_says_what_to_do(server: Server) -> None:
    with (
        Team(server.url("ann"), schema="nothing here") as team,
        pytest.raises(ServerUnusable, match="hansard team init"),
    ):
        team.status()
    with (
        Team(server.url("ann"), schema="nothing here") as team,
        pytest.raises(ServerUnusable, match="permission denied"),
    ):
        team.init()


@pytest.mark.parametrize("url", ["mysql://x", "host=x dbname=y", "", "postgresql"])
def test_an_address_is_one_of_postgresql(url: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a PostgreSQL database"):
        Database(url)


def test_passwords_are_not_shown() -> None:
    assert hide_password("postgresql://ann:s3cret@db/x?password=s3cret&sslmode=require") == (
        "postgresql://ann@db/x?password=...&sslmode=require"
    )
    with pytest.raises(ServerUnusable) as caught:
        Database("postgresql://ann:s3cret@/nothing?host=/nowhere")
    assert "s3cret" not in str(caught.value)
