"""The index of words in a team's database, and the functions that search it.

A text's lexemes are its marks and words, each behind the number of its scope. So a search looks up and reads what its caller may read and nothing
else: neither its time nor the counters of EXPLAIN and of the statistics depend on anybody else's words. The functions run as the owner of the tables
because PostgreSQL does not use an index on words under row-level security: it would compare rows before it knows whether they may be seen.
"""

from __future__ import annotations

from hansard.clients.texts import KINDS
from hansard.team.texts import TEXTS

LEXEMES = (
    "array_to_tsvector(string_to_array("
    "scope::text || '.' || replace(marks || rtrim(words), ' ', ' ' || scope::text || '.'), ' '))"
)
"""Over a row of the texts: each word once, without its places, which are in `words`."""
KEY = ", ".join(TEXTS.key)
_KEY = ", ".join(f"t.{name}" for name in TEXTS.key)
_PLACES = "machine integer, transcript bigint, byte_offset bigint, block bigint, part bigint"
_WEIGHT = " ".join(f"WHEN '{kind}' THEN prior[{number}]" for number, kind in enumerate(KINDS, 5))


_LOOK_UP = "SET work_mem = '64MB' SET enable_seqscan = off"


def _matches(wanted: str) -> str:
    return f"""FROM unnest(readable_scopes()) s (scope) CROSS JOIN LATERAL (
        SELECT * FROM {TEXTS.name} t WHERE {LEXEMES} @@ in_scope({wanted}, s.scope) AND t.scope = s.scope
        OFFSET 0  -- else the planner joins all rows with the scopes, and compares words then
    ) t"""


SEARCH_FUNCTIONS = rf"""
CREATE FUNCTION in_scope(wanted tsquery, scope integer) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT regexp_replace(wanted::text, '''((?:[^'']|'''')*)''', '''' || scope || '.\1''', 'g')::tsquery
$$;
-- Of prior: the time of asking, what the oldest text loses, how fast (per second), the weight of subagents' texts, and that of each kind.
CREATE FUNCTION text_worth(kind text, is_aside boolean, at timestamptz, prior float8[]) RETURNS float8 LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN prior IS NULL THEN coalesce(extract(epoch FROM at), 0)::float8
        ELSE CASE kind {_WEIGHT} ELSE 0 END * CASE WHEN is_aside THEN prior[4] ELSE 1 END
            * (1 - prior[2] * (1 - exp(-prior[3] * greatest(0, prior[1] - coalesce(extract(epoch FROM at)::float8, 0))))) END
$$;
-- Whether a row has all of several phrases, with a limited number of words between the first and the last.
CREATE FUNCTION is_near(words text, phrases text[], distance bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    WITH found AS (
        SELECT p.number, o.place, cardinality(p.tokens) AS size
        FROM (SELECT string_to_array(btrim(words), ' ') AS tokens) w,
            (SELECT number, string_to_array(phrase, ' ') AS tokens FROM unnest(phrases) WITH ORDINALITY x (phrase, number)) p,
            unnest(array_positions(w.tokens, p.tokens[1])) o (place)
        WHERE w.tokens[o.place : o.place + cardinality(p.tokens) - 1] = p.tokens
    )
    SELECT EXISTS (SELECT FROM found f WHERE cardinality(phrases) = (
        SELECT count(DISTINCT g.number) FROM found g WHERE g.place >= f.place AND g.place - f.place - f.size <= distance
    ))
$$;
CREATE FUNCTION match_texts(wanted tsquery, only_sessions text[], only_machines integer[])
RETURNS TABLE ({_PLACES}, session_id text, kind text, is_aside boolean, at timestamptz)
LANGUAGE sql STABLE {{as_owner}} {_LOOK_UP} AS $$
    SELECT {_KEY}, t.session_id, t.kind, t.is_aside, t.at {_matches("match_texts.wanted")}
    WHERE (only_sessions IS NULL OR t.session_id = ANY (only_sessions)) AND (only_machines IS NULL OR t.machine = ANY (only_machines))
$$;
-- The best of the texts that match by kind and age, or without `prior` the newest; and how many match.
CREATE FUNCTION find_texts(
    wanted tsquery, only_sessions text[], only_machines integer[], since timestamptz, until timestamptz,
    prior float8[], skip bigint, most bigint
) RETURNS TABLE ({_PLACES}, total bigint) LANGUAGE sql STABLE {{as_owner}} {_LOOK_UP} AS $$
    SELECT {_KEY}, count(*) OVER () {_matches("find_texts.wanted")}
    WHERE (only_sessions IS NULL OR t.session_id = ANY (only_sessions)) AND (only_machines IS NULL OR t.machine = ANY (only_machines))
        AND (since IS NULL OR t.at >= since) AND (until IS NULL OR t.at < until)
    ORDER BY text_worth(t.kind, t.is_aside, t.at, prior) DESC, {_KEY}
    LIMIT most OFFSET skip
$$;
-- How many texts match each of several queries, up to `most`.
CREATE FUNCTION count_texts(wanted tsquery[], most bigint) RETURNS bigint[] LANGUAGE sql STABLE {{as_owner}} {_LOOK_UP} AS $$
    SELECT array(
        SELECT (SELECT count(*) FROM (SELECT {_matches("w.one")} LIMIT most) found)
        FROM unnest(wanted) WITH ORDINALITY w (one, place) ORDER BY place
    )
$$;
"""
