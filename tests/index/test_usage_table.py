"""The usage table: any order of statements gives the same rows and the same sums."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.index import schema
from hansard.index.schema import QUARTER
from hansard.index.usage import UsageTable
from hansard.parse.usage import Stated

OWNERS = {1: ("a\x00/r", "s1"), 2: ("b\x00/r", "s2"), 3: ("b\x00/r", "s2")}  # 3 is the next generation of 2


@st.composite
def _statement(draw: st.DrawFn) -> tuple[str, Stated]:
    transcript = draw(st.sampled_from(sorted(OWNERS)))
    path, session_id = OWNERS[transcript]
    small = st.integers(0, 3)
    tool = draw(st.sampled_from(["", "Bash", "Read"]))
    stated = Stated(
        ts=draw(st.sampled_from([0, 1, 2, QUARTER, QUARTER + 1])), path=path, record_id=(transcript << 40) + draw(small), model=f"m{transcript}",
        session_id=session_id, agent_id="", input=draw(small), output=draw(small), cache_read=draw(small),
        cache_write=draw(small), cache_write_5m=draw(small), cache_write_1h=draw(small), web_searches=draw(small),
        final_output=draw(st.sampled_from([-1, 2])), service_tier=draw(st.sampled_from(["", "standard"])), speed="",
        inference_geo="", branch=draw(st.sampled_from(["", "main", "fix"])), tool=tool, tool_ts=draw(small) if tool else 0,
        recorded=draw(st.integers(-1, 2)),
    )  # fmt: skip
    return draw(st.sampled_from(["k1", "k2"])), stated


def _filled(batches: list[tuple[str, Stated]]) -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute(schema.TABLES)
    for number, (path, session_id) in OWNERS.items():
        name, _, root = path.partition("\x00")
        db.execute(
            "INSERT INTO transcripts VALUES (?,?,?,'main',1,1,'live',0,0,0,0,?,'','','',0,0,0,0,0,'',0,x'',NULL)",
            (number, root, name, session_id),
        )
    table = UsageTable(db)
    settled: Any = []
    for key, stated in batches:
        table.merge({key: stated})
        settled = _settled(db, settled)
    return db


def _table(batches: list[tuple[str, Stated]]) -> list[Any]:
    with closing(_filled(batches)) as db:
        rows: list[Any] = [db.execute("SELECT * FROM usage ORDER BY key").fetchall()]
        rows.append(db.execute("SELECT * FROM session_usage ORDER BY session_id").fetchall())
        counted = (
            "SELECT session_id, count(*), sum(final_output < output), sum(input), sum(output), sum(cache_read),"
            " sum(max(cache_write, cache_write_5m + cache_write_1h)) FROM usage GROUP BY session_id"
        )
        assert rows[1] == db.execute(counted).fetchall()
        return rows


def _settled(db: apsw.Connection, before: Any) -> Any:
    """The messages by session and quarter; where they are not as before, that is noted for the money side."""
    now = db.execute(
        f"SELECT DISTINCT session_id, ts / {QUARTER}, group_concat(usage.key || input || output || cache_read || model || branch,"
        f" ' ' ORDER BY key) FROM usage GROUP BY session_id, ts / {QUARTER}"
    ).fetchall()
    noted = set(db.execute("SELECT session_id, quarter FROM unsettled"))
    assert {row[:2] for row in set(before) ^ set(now)} <= noted
    db.execute("DELETE FROM unsettled")
    return now


@settings(deadline=None)
@given(st.lists(_statement(), max_size=8), st.randoms(use_true_random=False))
def test_order_does_not_matter(batches: list[tuple[str, Stated]], dice: Any) -> None:
    expected = _table(batches)
    assert _table(batches + batches) == expected
    dice.shuffle(batches)
    assert _table(batches) == expected


@settings(deadline=None)
@given(st.lists(_statement(), max_size=6), st.sampled_from(sorted(OWNERS)))
def test_moving_a_transcript_to_another_session_moves_its_messages(
    batches: list[tuple[str, Stated]], transcript: int
) -> None:
    former = OWNERS[transcript][1]
    with closing(_filled(batches)) as db:
        owned = [(row[0], row[2] // QUARTER) for row in _owned(db, transcript, former)]
        db.execute("DELETE FROM unsettled")
        UsageTable(db).move(transcript, former, "s9")
        assert not _owned(db, transcript, former)
        assert len(_owned(db, transcript, "s9")) == len(owned)
        noted = set(db.execute("SELECT session_id, quarter FROM unsettled"))
        assert noted == {(session_id, quarter) for _, quarter in owned for session_id in (former, "s9")}
        sums = db.execute("SELECT session_id, api_messages FROM session_usage ORDER BY session_id").fetchall()
        assert sums == db.execute("SELECT session_id, count(*) FROM usage GROUP BY session_id").fetchall()


def _owned(db: apsw.Connection, transcript: int, session_id: str) -> list[Any]:
    return db.execute(
        "SELECT key, record_id, ts FROM usage WHERE session_id = ? AND record_id >> 40 = ?", (session_id, transcript)
    ).fetchall()
