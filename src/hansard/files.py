"""Who may read the files that Hansard makes: only their owner."""

from __future__ import annotations

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
