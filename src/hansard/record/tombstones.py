"""Tombstones: keyed hashes of names, by which a sync recognises what it must not store again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

SESSION, FILE, LINE = "session", "file", "line"
"""What a tombstone is of: a session by its client and id, a file by its root and path, a line by its client and id, or `content_name`."""
MESSAGE = "message"
"""A line that was forgotten by itself, named like any line: it stays forgotten if its session is allowed again."""
MASKED, SECRET = "masked", "secret"
"""A line, by its client and id, that is kept with placeholders for its secrets, and such a secret, by its fingerprint."""
ALLOWED = "allowed"
"""A session whose lines may be stored again, by its client and id, although tombstones of single lines are left of it."""
IN_TABLE = {MESSAGE: LINE, MASKED: LINE, SECRET: LINE, ALLOWED: SESSION}
"""What these are called in the table, whose layout knows three kinds."""
_DIGEST = 16


def content_digest(content: bytes) -> bytes:
    """What `content_name` takes of a content."""
    from hashlib import blake2b

    return blake2b(content, digest_size=_DIGEST).digest()


def content_name(first: str, digest: bytes) -> str:
    """What a line without an id is called in its tombstone; `first` is the first id in its log: copies share it, and nobody can guess it."""
    from hashlib import blake2b

    named = first.encode("utf-8", "surrogatepass") + b"\0" + digest
    return f"={blake2b(named, digest_size=_DIGEST).hexdigest()}"


class Tombstones(NamedTuple):
    """The tombstones of a record that is open."""

    key: bytes
    contains: Callable[[bytes], bool]

    def digest(self, kind: str, *names: str) -> bytes:
        """The keyed hash by which something is recognised."""
        from hashlib import blake2b  # loads OpenSSL, which a sync without tombstones does not need

        named = "\0".join((kind, *names)).encode("utf-8", "surrogatepass")
        return blake2b(named, digest_size=_DIGEST, key=self.key).digest()

    def has(self, kind: str, *names: str) -> bool:
        return bool(self.key) and self.contains(self.digest(kind, *names))

    def has_file(self, client: str, session_id: str, root: str, path: str) -> bool:
        """Whether a file or its session has a tombstone."""
        return bool(self.key) and (
            (bool(session_id) and self.has(SESSION, client, session_id)) or self.has(FILE, root, path)
        )
