"""Sessions as JSON: the same as the tree, turn by turn, and as the conversation, entry by entry."""

from __future__ import annotations

import json

from msgspec.structs import replace

from hansard.engine import Hansard
from hansard.model.serialize import encoded, plain
from hansard.render.document import conversation, pieces


def test_the_document_is_the_tree(hard: tuple[Hansard, str]) -> None:
    h, name = hard
    for session in h.sessions(limit=None, debris=True).sessions:
        data = b"".join(pieces(h.read(session)))
        assert json.loads(data) == json.loads(json.dumps(plain(h.read(session).display())))
    assert b'"kind": "tool"' in b"".join(pieces(h.read(name)))


def test_half_a_character_is_escaped(hard: tuple[Hansard, str]) -> None:
    h, name = hard
    session = replace(h.session(name), title="half \ud800 a pair")
    data = b"".join(pieces(h.read(session)))
    assert json.loads(data)["session"]["title"] == "half \ud800 a pair"


def test_a_conversation_entry_by_entry(hard: tuple[Hansard, str]) -> None:
    h, _ = hard
    for session in h.sessions(limit=None, debris=True).sessions:
        if not h.read(session).has_log:
            continue
        whole = h.read(session).conversation()
        thread = h.read(session)
        assert b"".join(conversation(thread, thread.entries())) == encoded({"session": session, **plain(whole)})
        starts = [start.offset for start in thread.starts]
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            turn = [entry for entry in whole.entries if start <= entry.offset and (end is None or entry.offset < end)]
            assert list(thread.entries(start, end)) == turn
