"""What could not be kept or indexed."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import Timestamp


class Problem(Struct, frozen=True):
    """A file or a part of the record that is in quarantine: everything else goes on without it until it changes."""

    stage: str
    """read: not kept; rows, text, session, side_file, snapshot: kept, and not indexed."""
    subject: str
    """The source file, or the session."""
    reason: str
    since: Timestamp | None

    @property
    def is_kept(self) -> bool:
        """Whether its bytes are in the record."""
        return self.stage != "read"
