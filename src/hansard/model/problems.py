"""What could not be kept or indexed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or a part of the record that is in quarantine: everything else goes on without it until it changes."""

    stage: str
    """read: not kept; rows, text, session, side_file, snapshot: kept, and not indexed."""
    subject: str
    """The source file, or the session."""
    reason: str
    since: datetime | None

    @property
    def is_kept(self) -> bool:
        """Whether its bytes are in the record."""
        return self.stage != "read"
