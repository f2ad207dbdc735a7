"""The shapes themselves: every one can be absent, and none of them can be made to hold what a database would refuse."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from hansard.clients.claude_code import wire
from tests.clients.claude_code.making import line, records, user

SHAPES = [
    shape
    for _, shape in inspect.getmembers(wire, inspect.isclass)
    if issubclass(shape, msgspec.Struct) and shape is not msgspec.Struct
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_field_may_be_missing(shape: type[msgspec.Struct]) -> None:
    assert msgspec.json.decode(b"{}", type=shape) == shape()


@pytest.mark.parametrize(
    "shape", [shape for shape in SHAPES if shape is not wire.Hunk], ids=lambda shape: shape.__name__
)
def test_every_field_may_be_null(shape: type[msgspec.Struct]) -> None:
    nothing = dict.fromkeys(field.encode_name for field in msgspec.structs.fields(shape))
    msgspec.json.decode(msgspec.json.encode(nothing), type=shape)


def test_entries_are_the_same_but_for_what_they_forbid() -> None:
    named = {field.encode_name for field in msgspec.structs.fields(wire.Entry)}
    strict = {field.encode_name for field in msgspec.structs.fields(wire.StrictEntry)}
    assert strict == named | set(wire.HOT_FIELDS)
    assert not strict & wire.RARE_FIELDS
    assert wire.StrictEntry.__struct_config__.forbid_unknown_fields
    assert not wire.ENTRY_KINDS & set(wire.METADATA)


@pytest.mark.parametrize("moment", [b"1e300", b"-1e300", b"9" * 30, b"true", b"[]"])
def test_a_moment_is_within_reason(moment: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"timestamp":' + moment + b"}", type=wire.HistoryLine)


@pytest.mark.parametrize("moment", [b"1712345678901", b"1712345678901.5", b'"2026-01-01"', b"null"])
def test_the_forms_of_a_moment(moment: bytes) -> None:
    line = msgspec.json.decode(b'{"timestamp":' + moment + b"}", type=wire.HistoryLine)
    assert line.timestamp == msgspec.json.decode(moment)


# Fields of 2.1.250 to 2.1.325 by the kind of record that they were seen on, and some that its code names and no transcript has.
SEEN = {
    "user": "classifierBoundary repeatsCompactSummary permissionDecision sandboxed turnOrigin turnPosition mcpCallNotReadOnly"
    " mcpMeta",
    "assistant": "requestRef requestedModel thinkingDisplay resendCannotCure toolInputStreamMs promptCacheRequested madeBy"
    " apiErrorType failedResponseHadNoToolCall attributionPlugin apiBlockIndex perTurnEffort thinkingDurationMs"
    " serverClassifierRequest",
    "system": "contextUsage commandRun",
    "attachment": "rendered renderedRole",
    "queue-operation": "commandUuid deliveryId",
}
UNSEEN = "promptShellHandOff invokedSkill ephemeral isVirtual sandboxViolations holdsPersonsWords interruptedByShutdown".split()


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind in SEEN for field in SEEN[kind].split()])
def test_a_field_that_was_seen_is_known(kind: str, field: str) -> None:
    (record,) = records(line({"type": kind, "sessionId": "s", field: True}))
    assert record.strange == ()


@pytest.mark.parametrize("field", UNSEEN)
def test_a_field_that_was_not_seen_is_told(field: str) -> None:
    (record,) = records(line(user("hi", **{field: True})))
    assert record.strange == (field,)
