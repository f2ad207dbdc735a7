"""The schema of a team's database: made and upgraded by its owner, checked by everyone else.

Tables keep their rows from version to version; views, functions and policies are dropped and made again by each upgrade. All names are those of
one PostgreSQL schema, which is the only name that is written into a statement, and quoted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from hansard.sql.merging import USAGE_LINES
from hansard.sql.tables import EVERY, PRICES, Pushed
from hansard.sql.view import Type
from hansard.team.connect import Database, ServerUnusable, newer
from hansard.team.search_sql import LEXEMES, SEARCH_FUNCTIONS
from hansard.team.texts import TEXTS
from hansard.team.views import VIEWS_SQL

VERSION = 5
TYPES = {
    Type.TEXT: 'text COLLATE "C"',  # compared byte by byte, as SQLite does
    Type.INTEGER: "bigint",
    Type.BOOLEAN: "boolean",
    Type.TIME: "timestamptz",
    Type.MONEY: "numeric",
}
ROLES = {
    "admin": "everything",
    "lead": "its own machines, and all figures and opened content of the projects it leads",
    "member": "its own machines, and the opened sessions of the projects it belongs to",
}
"""What each role reads."""

TABLES = (*EVERY, TEXTS, PRICES)
"""What machines push."""
_TABLES = {
    "meta": "name text PRIMARY KEY, value text NOT NULL",
    "members": """
    login text COLLATE "C" PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('admin', 'lead', 'member'))""",
    "access": """
    login text COLLATE "C" NOT NULL REFERENCES members ON DELETE CASCADE,
    project text COLLATE "C" NOT NULL CHECK (project <> ''),
    PRIMARY KEY (login, project)""",
    "machines": """
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text COLLATE "C" NOT NULL DEFAULT session_user,
    name text COLLATE "C" NOT NULL,
    label text COLLATE "C" NOT NULL GENERATED ALWAYS AS (owner || '@' || name) STORED UNIQUE,
    state text NOT NULL DEFAULT '',
    price_data text NOT NULL DEFAULT '',
    version text NOT NULL DEFAULT '',
    pushed_at timestamptz,
    UNIQUE (owner, name)""",
    "scopes": """
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    machine integer NOT NULL REFERENCES machines ON DELETE CASCADE,
    project text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    UNIQUE (machine, project)""",
    "session_states": """
    machine integer NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (machine, session_id)""",
    **dict.fromkeys(
        ("pages", "text_pages"),
        """
    machine integer NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    transcript bigint NOT NULL,
    page bigint NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (machine, session_id, transcript, page)""",
    ),
}
_OWN = ("session_states", "pages", "text_pages")
"""Tables of which a machine's owner alone reads the rows."""

# Who asks is the login (session_user): inside of these functions current_user is their owner.
_FUNCTIONS = r"""
CREATE FUNCTION covers(granted text, project text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT project = granted OR right(project, length(granted) + 1) IN ('/' || granted, '\' || granted)
$$;
CREATE FUNCTION my_role() RETURNS text LANGUAGE sql STABLE {as_owner} AS $$
    SELECT role FROM members WHERE login = session_user
$$;
CREATE FUNCTION my_machines() RETURNS integer[] LANGUAGE sql STABLE {as_owner} AS $$
    SELECT coalesce(array_agg(id), '{{}}') FROM machines WHERE owner = session_user
$$;
CREATE FUNCTION my_scopes() RETURNS integer[] LANGUAGE sql STABLE {as_owner} AS $$
    SELECT coalesce(array_agg(s.id), '{{}}') FROM scopes s JOIN machines m ON m.id = s.machine WHERE m.owner = session_user
$$;
CREATE FUNCTION visible_scopes() RETURNS integer[] LANGUAGE sql STABLE {as_owner} AS $$
    SELECT coalesce(array_agg(s.id), '{{}}') FROM scopes s JOIN machines m ON m.id = s.machine
    WHERE m.owner = session_user OR EXISTS (
        SELECT FROM members p WHERE p.login = session_user AND (p.role = 'admin' OR (p.role = 'lead' OR s.is_open) AND EXISTS (
            SELECT FROM access a WHERE a.login = p.login AND covers(a.project, s.project)
        ))
    )
$$;
-- The scopes whose texts a login reads: what was closed is hidden from others before it is removed.
CREATE FUNCTION readable_scopes() RETURNS integer[] LANGUAGE sql STABLE {as_owner} AS $$
    SELECT coalesce(array_agg(s.id ORDER BY s.id), '{{}}') FROM scopes s JOIN machines m ON m.id = s.machine
    WHERE m.owner = session_user OR pg_has_role(session_user, current_user, 'MEMBER')
        OR s.is_open AND s.id = ANY ((SELECT visible_scopes())::integer[])
$$;
CREATE FUNCTION visible_machines() RETURNS integer[] LANGUAGE sql STABLE {as_owner} AS $$
    SELECT coalesce(array_agg(id), '{{}}') FROM machines
    WHERE owner = session_user OR id IN (SELECT machine FROM scopes WHERE id = ANY (visible_scopes()))
$$;
-- Notes which messages several machines have. One push at a time, from here to its commit: otherwise two could miss each other's rows.
CREATE FUNCTION note_shared(pushed_keys text[]) RETURNS void LANGUAGE plpgsql {as_owner} AS $$
BEGIN
    PERFORM pg_advisory_xact_lock('{lock}'::bigint);
    UPDATE pushed_usage_lines u SET is_shared = true
    WHERE u.message_key = ANY (pushed_keys) AND NOT u.is_shared
        AND EXISTS (SELECT FROM pushed_usage_lines o WHERE o.message_key = u.message_key AND o.machine <> u.machine);
END
$$;
"""
_SEEN = "scope = ANY ((SELECT visible_scopes())::integer[])"
_MINE = "machine = ANY ((SELECT my_machines())::integer[])"
_MY_SCOPE = f"{_MINE} AND scope = ANY ((SELECT my_scopes())::integer[])"


def _policies() -> Iterator[str]:
    """Row-level security: what a login reads, and that it writes rows of its own machines only."""
    reads = {table.name: _SEEN for table in EVERY}
    reads[TEXTS.name] = "scope = ANY ((SELECT readable_scopes())::integer[])"
    reads[PRICES.name] = "machine = ANY ((SELECT visible_machines())::integer[])"
    writes = {table.name: _MY_SCOPE for table in (*EVERY, TEXTS)} | {PRICES.name: _MINE}
    reads |= dict.fromkeys(_OWN, _MINE)
    writes |= dict.fromkeys(_OWN, _MINE)
    # A new row must be readable before the functions can see it.
    reads["machines"] = "owner = session_user OR id = ANY ((SELECT visible_machines())::integer[])"
    writes["machines"] = "owner = session_user"
    reads["scopes"] = f"{_MINE} OR id = ANY ((SELECT visible_scopes())::integer[])"
    writes["scopes"] = _MINE
    for name, seen in reads.items():
        mine = writes[name]
        yield f"CREATE POLICY reads ON {name} FOR SELECT USING ({seen})"
        yield f"CREATE POLICY adds ON {name} FOR INSERT WITH CHECK ({mine})"
        yield f"CREATE POLICY changes ON {name} FOR UPDATE USING ({mine}) WITH CHECK ({mine})"
        yield f"CREATE POLICY removes ON {name} FOR DELETE USING ({mine})"
    for name in ("members", "access"):
        yield f"CREATE POLICY reads ON {name} FOR SELECT USING (login = session_user OR (SELECT my_role()) = 'admin')"


def version_of(database: Database) -> int:
    """The version of the schema; 0 if there is none."""
    row = database.one("SELECT to_regclass(quote_ident(%s) || '.meta') IS NOT NULL", (database.schema,))
    if not row[0]:
        return 0
    found = database.one("SELECT value FROM meta WHERE name = 'version'")
    return int(found[0]) if found else 0


def check_version(database: Database) -> None:
    """Refuse a database that was made by another version of the schema."""
    with database.errors():
        made_by = version_of(database)
    if made_by > VERSION:
        raise newer(made_by, VERSION)
    if made_by == 0:
        raise ServerUnusable(
            "the database has no tables of Hansard, or you have no rights: its owner runs `hansard team init`"
        )
    if made_by < VERSION:
        raise ServerUnusable(
            "the database was made by an older Hansard: its owner runs `hansard team init` to upgrade it"
        )


def init(database: Database) -> tuple[int, int]:
    """Create the schema or upgrade it; returns the version before and after. One transaction: all of it or nothing."""
    with database.transaction():
        # Two owners at once: the second finds what the first has made.
        database.run("SELECT pg_advisory_xact_lock(%s)", (lock_of(database.schema),))
        before = version_of(database)
        if before > VERSION:
            raise newer(before, VERSION)
        schema = database.one("SELECT quote_ident(%s)", (database.schema,))[0]
        if before == 0:
            database.run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        _make_tables(database)
        _remake(database, schema)
        database.run(
            "INSERT INTO meta VALUES ('version', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (str(VERSION),),
        )
    return before, VERSION


def _make_tables(database: Database) -> None:
    """Create the tables that are missing, and add columns that views have gained; machines fill them when they push next."""
    there: dict[str, set[str]] = {}
    for table, column in database.rows(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s", (database.schema,)
    ):
        there.setdefault(table, set()).add(column)
    for name, columns in _TABLES.items():
        if name not in there:
            database.run(f"CREATE TABLE {name} ({columns})")
    for table in TABLES:
        if table.name not in there:
            database.run(create(table))
            continue
        for column in table.view.columns:
            if column.name not in there[table.name]:
                database.run(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {TYPES[column.type]}")
    database.run(f"CREATE INDEX IF NOT EXISTS texts_by_word ON {TEXTS.name} USING gin ({LEXEMES})")


def _remake(database: Database, schema: str) -> None:
    for name in reversed(VIEWS_SQL):
        database.run(f"DROP VIEW IF EXISTS {name}")
    for name in _secured():
        for policy in ("reads", "adds", "changes", "removes"):
            database.run(f"DROP POLICY IF EXISTS {policy} ON {name}")
    for statement in database.rows(
        "SELECT 'DROP FUNCTION ' || oid::regprocedure FROM pg_proc WHERE pronamespace = quote_ident(%s)::regnamespace",
        (database.schema,),
    ):
        database.run(statement[0])
    as_owner = f"SECURITY DEFINER SET search_path = {schema}, pg_temp"
    database.run(_FUNCTIONS.format(as_owner=as_owner, lock=lock_of(database.schema)))
    database.run(SEARCH_FUNCTIONS.format(as_owner=as_owner))
    for name in _secured():
        database.run(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
    for statement in _policies():
        database.run(statement)
    for name, sql in VIEWS_SQL.items():
        database.run(f"CREATE VIEW {name} WITH (security_invoker = true) AS\n{sql}")
    _hide_statistics(database)
    database.run(f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC")
    for (login,) in database.rows("SELECT login FROM members WHERE login IN (SELECT rolname FROM pg_roles)"):
        give_rights(database, login)


def _hide_statistics(database: Database) -> None:
    """Keep no samples of values: the planner's estimates would tell a role about rows that it may not read."""
    for name in _secured():
        columns = database.rows(
            "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
            (name,),
        )
        database.run(
            f"ALTER TABLE {name} " + ", ".join(f"ALTER COLUMN {column[0]} SET STATISTICS 0" for column in columns)
        )
    database.run("ALTER INDEX texts_by_word ALTER COLUMN 1 SET STATISTICS 0")


def _secured() -> list[str]:
    return [*(table.name for table in TABLES), *_OWN, "machines", "scopes", "members", "access"]


def give_rights(database: Database, login: str) -> None:
    """Let a login use the schema; row-level security decides which rows it reads and writes."""
    schema, who = database.one("SELECT quote_ident(%s), quote_ident(%s)", (database.schema, login))
    database.run(f"GRANT USAGE ON SCHEMA {schema} TO {who}")
    database.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {who}")
    written = [*(table.name for table in TABLES), *_OWN, "machines", "scopes"]
    database.run(f"GRANT INSERT, UPDATE, DELETE ON {', '.join(written)} TO {who}")
    database.run(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {who}")


def take_rights(database: Database, login: str) -> None:
    schema, who = database.one("SELECT quote_ident(%s), quote_ident(%s)", (database.schema, login))
    for what in ("TABLES", "FUNCTIONS"):
        database.run(f"REVOKE ALL ON ALL {what} IN SCHEMA {schema} FROM {who}")
    database.run(f"REVOKE ALL ON SCHEMA {schema} FROM {who}")


def lock_of(name: str) -> int:
    """The number of an advisory lock."""
    return int.from_bytes(hashlib.blake2b(f"hansard {name}".encode(), digest_size=7).digest())


def create(table: Pushed) -> str:
    """The statements that create a table with its indexes, in the current schema."""
    columns = [f"    {column.name} {TYPES[column.type]}" for column in table.view.columns]
    head = (
        ["    machine integer NOT NULL", "    scope integer NOT NULL"]
        if table is not PRICES
        else ["    machine integer NOT NULL"]
    )
    more = []
    if table.view is USAGE_LINES:
        # The ledger counts in milliseconds; `is_shared` spares the merge of messages that only one machine has.
        more += [
            "    ts bigint NOT NULL GENERATED ALWAYS AS (coalesce((extract(epoch FROM at - timestamptz '1970-01-01 00:00:00+00') * 1000)::bigint, 0)) STORED",
            "    is_shared boolean NOT NULL DEFAULT false",
        ]
    key = [f"    PRIMARY KEY ({', '.join(table.key)})"] if table.key else []
    statements = [f"CREATE TABLE {table.name} (\n" + ",\n".join([*head, *columns, *more, *key]) + "\n)"]
    statements += [f"CREATE INDEX ON {table.name} ({columns})" for columns in table.indexes]
    return ";\n".join(statements)
