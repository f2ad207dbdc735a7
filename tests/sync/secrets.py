"""A history with a word that can be searched for in every byte of a store, and the order to erase it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from hansard.clients import CLAUDE_CODE
from hansard.clients.blanking import ONLY_KEYS, blank
from hansard.clients.claude_code.lines import blank_line
from hansard.clients.claude_code.side_files import listed_sessions
from hansard.record.erase import Patch
from hansard.sync.erasing import FILE_STEP, Order
from hansard.sync.remarking import naming, remark
from tests.sync.hard import OLD, files
from tests.sync.making import FOLDER, Tree, agent_path, assistant, at, main_path, raw, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.record.store import Generation, Record, Snapshot

WORD = "quetzalcoatlus"
SECRET = session(77)
COPY = "copy.md"
"""A copy in the data directory that is to go, too."""


def everything(record: Record) -> Iterator[Generation | Snapshot]:
    yield from record.generations()
    yield from record.snapshots()


def files_of(record: Record, part: str) -> list[int]:
    return sorted({item.file_id for item in everything(record) if part in item.path})


def secret_tree(tree: Tree) -> Tree:
    """A history with a session that has a word of its own in every place, and a neighbour without it."""
    first = user(SECRET, "p1", f"Tell {WORD} about it.", 0)
    tree.write(main_path(SECRET), [first, assistant(SECRET, "p2", "msg_01sec", f"I told {WORD}.", 1, "p1")])
    tree.write(agent_path(SECRET, "a1"), [{**user(SECRET, "q1", WORD, 1), "isSidechain": True, "agentId": "a1"}])
    tree.write(f"{FOLDER}/{SECRET}/tool-results/out.txt", f"output of {WORD}".encode())
    tree.write(f"todos/{SECRET}-agent-{SECRET}.json", json.dumps([{"content": WORD, "status": "pending"}]).encode())
    tree.write(main_path(OLD), files()[main_path(OLD)])
    typed = [
        {"display": text, "timestamp": 1_770_000_000_000 + number, "project": "/home/mira/src/app", "sessionId": id_}
        for number, (text, id_) in enumerate([("before", OLD), (WORD, SECRET), ("after", OLD)])
    ]
    tree.write("history.jsonl", raw(typed))
    entry = {"sessionId": SECRET, "firstPrompt": "{" + WORD + '} " }', "modified": at(1)}
    index = {"version": 1, "entries": [entry, {"sessionId": OLD}]}
    tree.write(f"{FOLDER}/sessions-index.json", json.dumps(index).encode())
    tree.sync()
    remark(str(tree.home), naming(SECRET, f"About {WORD}"))
    return tree


def order_for(record: Record, session_id: str) -> Order:
    order = Order(
        "session",
        copies=[(FILE_STEP, os.path.join(os.path.dirname(record.path), COPY))],
        files=set(files_of(record, session_id)),
        remarks={remark.id for remark in record.all_remarks() if remark.session_id == session_id},
        sessions={(CLAUDE_CODE, session_id)},
    )
    for made in record.generations():
        if made.path == "history.jsonl":
            place = 0
            for line in b"".join(record.read(made.id)).splitlines(keepends=True):
                if session_id.encode() in line:
                    order.logs.setdefault(made.id, []).append(Patch(place, blank_line(line)))
                place += len(line)
    for snapshot in record.snapshots():
        if snapshot.path.endswith("sessions-index.json"):
            data = record.read_snapshot(snapshot.id)
            order.snapshots[snapshot.id] = [
                Patch(start, blank(data[start:end], ONLY_KEYS))
                for name, start, end in listed_sessions(data)
                if name == session_id
            ]
    return order
