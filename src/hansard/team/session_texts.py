"""The texts of one session in a team's database, in the order of its transcripts, for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.model.fields import Timestamp
from hansard.query.search.session_hits import known_client
from hansard.team.reader import TeamReader

if TYPE_CHECKING:
    from hansard.team.connect import Database

_LONGEST = 20_000  # characters of a text on a page


class SessionText(Struct, frozen=True):
    """A text of a session, or a part of a long one."""

    offset: int
    kind: str  # prompt, reply, thinking, call, result, title, command, note, reminder
    tool: str
    speaker: str
    is_error: bool
    at: Timestamp | None
    path: str  # of a file beside the transcripts
    text: str
    length: int  # in characters; more than `text` has if it is cut


class TextThread(Struct, frozen=True):
    """The session's own thread (an empty id) or that of a subagent."""

    agent_id: str
    texts: int


class SessionTexts(Struct, frozen=True):
    """Some texts of a thread."""

    machine: str  # from which they are; empty if no text may be read
    threads: tuple[TextThread, ...]
    texts: tuple[SessionText, ...]
    first: int  # the number of the first, from 0
    total: int


def read_texts(
    database: Database, session_id: str, home: str, *, agent_id: str, first: int, at: int | None, limit: int
) -> SessionTexts:
    """Texts of a thread from number `first` on, or those around the one at a byte offset.

    They are from the machine `home`, or from another one if that has none which the caller may read.
    """
    reader = TeamReader(database, looks_up=True)
    counts: dict[str, dict[str, int]] = {}
    for label, agent, count in reader.rows(
        "SELECT m.label, x.agent_id, count(*) FROM pushed_texts x JOIN machines m ON m.id = x.machine"
        " WHERE x.session_id = ? AND x.is_current GROUP BY 1, 2 ORDER BY min(x.at), 2",
        (session_id,),
    ):
        counts.setdefault(label, {})[agent or ""] = count
    if not counts:
        return SessionTexts("", (), (), 0, 0)
    machine = home if home in counts else max(counts, key=lambda label: (sum(counts[label].values()), label))
    threads = tuple(
        TextThread(agent, count) for agent, count in sorted(counts[machine].items(), key=lambda one: one[0] != "")
    )
    total = counts[machine].get(agent_id, 0)
    values = (session_id, machine, agent_id)
    numbered = (
        "SELECT f.*, row_number() OVER (ORDER BY f.began NULLS LAST, f.transcript, f.byte_offset, f.block, f.part) - 1 AS number FROM ("
        "SELECT x.*, min(x.at) OVER (PARTITION BY x.transcript) AS began FROM pushed_texts x JOIN machines m ON m.id = x.machine"
        " WHERE x.session_id = ? AND m.label = ? AND x.agent_id = ? AND x.is_current) f"
    )
    if at is not None:
        row = reader.one(f"SELECT min(n.number) FROM ({numbered}) n WHERE n.byte_offset = ?", (*values, at))
        if row[0] is not None:
            first = row[0] // limit * limit
    found = tuple(
        SessionText(offset, kind, tool or "", _speaker(client), is_error, moment, path or "", text, length)
        for offset, kind, tool, is_error, moment, path, text, length, client in reader.rows(
            f"SELECT n.byte_offset, n.kind, n.tool, n.is_error, n.at, n.path, left(n.text, {_LONGEST}), length(n.text), t.client"
            f" FROM ({numbered}) n LEFT JOIN pushed_transcripts t ON t.machine = n.machine AND t.transcript = n.transcript"
            " WHERE n.number >= ? AND n.number < ? ORDER BY n.number",
            (*values, first, first + limit),
        )
    )
    return SessionTexts(machine, threads, found, first, total)


def _speaker(client: str | None) -> str:
    known = known_client(client or "")
    return known.speaker if known is not None else ""
