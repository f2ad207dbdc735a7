"""How much of a history is indexed while its first sync is not complete."""

from __future__ import annotations

from msgspec import Struct


class Coverage(Struct, frozen=True):
    """What answers are made from, the newest transcripts, and what there is."""

    transcripts: int
    transcripts_total: int
    bytes: int
    bytes_total: int
