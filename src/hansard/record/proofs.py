"""Which contents of the record are not yet proven: read while their file was being written, and not yet compared with it."""

from __future__ import annotations

from typing import NamedTuple

from hansard.record.files import Files
from hansard.record.names import read_name

_UNPROVEN = """\
SELECT f.path, u.kind = 'log', u.ref, u.proven, coalesce(g.size, c.size) FROM unproven u
LEFT JOIN generation g ON u.kind = 'log' AND g.id = u.ref
LEFT JOIN snapshot s ON u.kind = 'snapshot' AND s.id = u.ref LEFT JOIN content c ON c.id = s.content_id
JOIN file f ON f.id = coalesce(g.file_id, s.file_id)"""


class Unproven(NamedTuple):
    """A content of which no comparison has shown that the file held all of it at one moment."""

    path: str
    generation: int | None
    snapshot: int | None
    proven: int  # bytes from the start
    size: int


class Proofs(Files):
    """The part of the record that knows which contents are proven.

    Reading a file takes time, so its parts may come from different moments. A content is proven when the file was at rest while it
    was read, or when every byte was found again in a second reading: then the file held all of it between the two. Everything that
    has no row here is proven.
    """

    def doubt(self, kind: str, ref: int, proven: int) -> None:
        """Note that a content is proven up to this size only, unless an earlier doubt says less."""
        self._must_write()
        self._run(
            "INSERT INTO unproven (kind, ref, proven, target, compared) VALUES (?, ?, ?, 0, 0) ON CONFLICT DO NOTHING",
            (kind, ref, proven),
        )

    def vouch(self, kind: str, ref: int) -> None:
        """Note that a content is proven."""
        self._must_write()
        self._run("DELETE FROM unproven WHERE kind = ? AND ref = ?", (kind, ref))

    def unproven(self) -> list[Unproven]:
        """Every content that is not proven, by path."""
        return [
            Unproven(read_name(path), ref if is_log else None, None if is_log else ref, proven, size)
            for path, is_log, ref, proven, size in self._rows(f"{_UNPROVEN} ORDER BY f.path, u.ref")
        ]

    def unproven_from(self, kind: str, ref: int) -> int | None:
        """The offset from which on a content is not proven, None if all of it is."""
        row = self._one_or_none("SELECT proven FROM unproven WHERE kind = ? AND ref = ?", (kind, ref))
        return None if row is None else int(row[0])
