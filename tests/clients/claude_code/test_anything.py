"""Whatever bytes and whatever JSON: parse never raises, and forgets no byte."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import items, salvage
from hansard.clients.claude_code.texts import texts
from hansard.clients.lines import ParsedLine
from tests.clients.claude_code.making import assert_storable, folding, line, uncovered, user

GOOD = line(user("before"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["user", "text", "tool_use", "\ud800"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=6,
)
NAMES = sorted(
    "type message content usage id model role uuid timestamp sessionId session_id toolUseResult attachment data subtype "
    "isMeta origin forkedFrom prompt input name tool_use_id text thinking structuredPatch filePath lines iterations "
    "cache_creation server_tool_use operation modelUsage worktreeSession prUrl compactMetadata agentId version 0 1".split()
)
SHAPED = st.recursive(
    JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=8,
)
RECORD = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from(sorted(wire.ENTRY_KINDS | set(wire.METADATA))),
    st.dictionaries(st.sampled_from(NAMES), SHAPED, max_size=5),
)


def swallow(data: bytes) -> None:
    """Take a line through everything that parse does with it."""
    for each in data.split(b"\n"):
        found = list(items(each, 0)) if each else []
        assert uncovered(each, found) == b""
        again = list(salvage(each, 0))
        assert uncovered(each, again) == b""
        for item in (*found, *again):
            folded = folding()
            folded.feed(item)
            assert_storable(folded)
            if isinstance(item, ParsedLine):
                for _, _, shown, *_ in texts(item, sidechain=False):
                    shown.encode()


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    swallow(data)


@settings(deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_a_record_among_any_bytes(before: bytes, after: bytes) -> None:
    swallow(before + GOOD + after)


@settings(deadline=None)
@given(JSON | SHAPED)
def test_any_json(value: Any) -> None:
    swallow(json.dumps(value).encode())
    swallow(line(value))


@settings(deadline=None)
@given(RECORD)
def test_any_record(value: Any) -> None:
    swallow(json.dumps(value).encode())
