"""The usage table: any order of statements gives the same rows and the same sums."""

from __future__ import annotations

from contextlib import closing
from typing import Any, NamedTuple

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.clients.usage import Stated
from hansard.index import schema
from hansard.index.schema import QUARTER
from hansard.index.usage import UsageTable


class Copied(NamedTuple):
    """It turns out how much of a transcript was copied."""

    transcript: int
    size: int


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


def _filled(batches: list[tuple[str, Stated] | Copied]) -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute(schema.tables())
    for number, (path, session_id) in OWNERS.items():
        name, _, root = path.partition("\x00")
        db.execute(
            "INSERT INTO transcripts VALUES (?,?,'claude-code',?,'main',1,1,'live',0,0,0,0,?,'','','',0,'',0,0,0,0,0,0,0,'',0,x'',NULL)",
            (number, root, name, session_id),
        )
    table = UsageTable(db)
    settled: Any = []
    copied = dict.fromkeys(OWNERS, 0)
    for batch in batches:
        if isinstance(batch, Copied):
            copied[batch.transcript] = batch.size
            db.execute("UPDATE transcripts SET copied = ? WHERE id = ?", (batch.size, batch.transcript))
            table.recopy(*batch)
        else:
            key, stated = batch
            table.merge({key: stated}, copied[stated.record_id >> 40])
        settled = _settled(db, settled)
    return db


def _table(batches: list[tuple[str, Stated] | Copied]) -> list[Any]:
    with closing(_filled(batches)) as db:
        owned = "SELECT key, record_id, ts, session_id, model, branch, is_shared FROM usage ORDER BY key"
        rows: list[Any] = [db.execute(owned).fetchall(), db.execute("SELECT * FROM usage ORDER BY key").fetchall()]
        rows.append(db.execute("SELECT * FROM session_usage ORDER BY session_id").fetchall())
        counted = (
            "SELECT session_id, count(*), sum(final_output < output), sum(input), sum(output), sum(cache_read),"
            " sum(max(cache_write, cache_write_5m + cache_write_1h)) FROM usage GROUP BY session_id"
        )
        assert rows[2] == db.execute(counted).fetchall()
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
@given(
    st.lists(_statement(), max_size=8),
    st.fixed_dictionaries({transcript: st.integers(0, 4) for transcript in OWNERS}),
    st.randoms(use_true_random=False),
)
def test_order_does_not_matter(stated: list[tuple[str, Stated]], copied: dict[int, int], dice: Any) -> None:
    batches: list[tuple[str, Stated] | Copied] = [*stated, *(Copied(*item) for item in copied.items())]
    expected = _table(batches)
    assert expected[0] == _owned_by_rule(stated, copied)
    assert _table(batches + batches) == expected
    # What was taken for a copy too soon, or too late, is corrected.
    assert _table([*(Copied(transcript, 3) for transcript in OWNERS), *batches]) == expected
    dice.shuffle(batches)
    assert _table(batches) == expected


def _owned_by_rule(stated: list[tuple[str, Stated]], copied: dict[int, int]) -> list[Any]:
    """The owner's columns of `usage`, by the rule itself: of the earliest line of each transcript the first one that is no copy."""
    found = []
    for key in sorted({key for key, _ in stated}):
        firsts: dict[int, Stated] = {}
        for _, line in sorted((item for item in stated if item[0] == key), key=lambda item: item[1].owner()):
            firsts.setdefault(line.record_id >> 40, line)
        owner = min(
            firsts.values(),
            key=lambda line: (line.record_id & ((1 << 40) - 1) < copied[line.record_id >> 40], line.owner()),
        )
        found.append((key, owner.record_id, owner.ts, owner.session_id, owner.model, owner.branch, len(firsts) > 1))
    return found


@settings(deadline=None)
@given(st.lists(_statement(), max_size=6), st.sampled_from(sorted(OWNERS)))
def test_moving_a_transcript_to_another_session_moves_its_messages(
    batches: list[tuple[str, Stated]], transcript: int
) -> None:
    former = OWNERS[transcript][1]
    with closing(_filled([*batches])) as db:
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
