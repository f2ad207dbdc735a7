"""The display tree as JSON: the same as the tree, turn by turn."""

from __future__ import annotations

import json

from msgspec.structs import replace

from hansard.engine import Hansard
from hansard.model.serialize import plain
from hansard.render.document import pieces


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
