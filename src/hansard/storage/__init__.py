"""What the databases share: how SQLite is opened, ids, lists as JSON, cursors, and the state of the last sync.

An id contains its place: the transcript in the upper bits, the byte offset of the line (plus a block's number) below.
"""

from typing import Any

OFFSET_BITS = 40
OFFSET_MASK = (1 << OFFSET_BITS) - 1


def to_json(value: Any) -> str:
    """A list for `json_each`, or another value, as JSON. The standard library's module takes long to import."""
    import msgspec

    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate
        import json

        return json.dumps(value)


def from_json(text: str | bytes) -> Any:
    """Decode JSON as `json.loads` does."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (
        msgspec.MsgspecError,
        UnicodeEncodeError,
    ):  # invalid, or a lone surrogate or an infinity, which Python accepts
        import json

        return json.loads(text)
