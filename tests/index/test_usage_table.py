"""The usage table: any order of statements gives the same rows and the same sums."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import apsw
from hypothesis import given
from hypothesis import strategies as st

from hansard.index import schema
from hansard.index.usage import UsageTable
from hansard.parse.usage import Stated

OWNERS = {1: ("a\x00/r", "s1"), 2: ("b\x00/r", "s2"), 3: ("b\x00/r", "s2")}  # 3 is the next generation of 2


@st.composite
def _statement(draw: st.DrawFn) -> tuple[str, Stated]:
    transcript = draw(st.sampled_from(sorted(OWNERS)))
    path, session_id = OWNERS[transcript]
    small = st.integers(0, 3)
    stated = Stated(
        ts=draw(small), path=path, record_id=(transcript << 40) + draw(small), model=f"m{transcript}",
        session_id=session_id, agent_id="", input=draw(small), output=draw(small), cache_read=draw(small),
        cache_write=draw(small), cache_write_5m=draw(small), cache_write_1h=draw(small), web_searches=draw(small),
        final_output=draw(st.sampled_from([-1, 2])), service_tier="", speed="", inference_geo="",
    )  # fmt: skip
    return draw(st.sampled_from(["k1", "k2"])), stated


def _table(batches: list[tuple[str, Stated]]) -> list[Any]:
    with closing(apsw.Connection(":memory:")) as db:
        db.execute(schema.TABLES)
        for number, (path, session_id) in OWNERS.items():
            name, _, root = path.partition("\x00")
            db.execute(
                "INSERT INTO transcripts VALUES (?,?,?,'main',1,1,'live',0,0,0,0,?,'','','',0,0,0,0,0,'',0,x'',NULL)",
                (number, root, name, session_id),
            )
        table = UsageTable(db)
        for key, stated in batches:
            table.merge({key: stated})
        rows: list[Any] = [db.execute("SELECT * FROM usage ORDER BY key").fetchall()]
        rows.append(db.execute("SELECT * FROM session_usage ORDER BY session_id").fetchall())
        counted = (
            "SELECT session_id, count(*), sum(final_output < output), sum(input), sum(output), sum(cache_read),"
            " sum(max(cache_write, cache_write_5m + cache_write_1h)) FROM usage GROUP BY session_id"
        )
        assert rows[1] == db.execute(counted).fetchall()
        return rows


@given(st.lists(_statement(), max_size=8), st.randoms(use_true_random=False))
def test_order_does_not_matter(batches: list[tuple[str, Stated]], dice: Any) -> None:
    expected = _table(batches)
    assert _table(batches + batches) == expected
    dice.shuffle(batches)
    assert _table(batches) == expected
